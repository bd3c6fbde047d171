#include "http/connection.h"

#include "base/check.h"

namespace weir::http {

void WaitList::push(Connection& connection) {
  connection.previous = last_;
  connection.next = nullptr;
  (last_ == nullptr ? first_ : last_->next) = &connection;
  last_ = &connection;
}

void WaitList::remove(Connection& connection) {
  (connection.previous == nullptr ? first_ : connection.previous->next) = connection.next;
  (connection.next == nullptr ? last_ : connection.next->previous) = connection.previous;
  connection.previous = connection.next = nullptr;
}

Connection& ConnectionTable::take() {
  if (free_ == nullptr) {
    auto block = std::make_unique<Connection[]>(kBlockSize);
    for (std::size_t i = kBlockSize; i-- > 0;) {
      block[i].slot = static_cast<std::uint32_t>(blocks_.size() * kBlockSize + i);
      block[i].next = free_;
      free_ = &block[i];
    }
    blocks_.push_back(std::move(block));
  }
  Connection& connection = *free_;
  free_ = connection.next;
  connection.next = nullptr;
  ++open_count_;
  return connection;
}

void ConnectionTable::give_back(Connection& connection) {
  CHECK(connection.wait == Wait::none && open_count_ > 0);
  const std::uint32_t slot = connection.slot;
  const std::uint32_t generation = connection.generation + 1;
  const bool is_queued = connection.is_queued;  // The reactor's list still names the slot.
  connection = Connection{};
  connection.slot = slot;
  connection.generation = generation;
  connection.is_queued = is_queued;
  connection.next = free_;
  free_ = &connection;
  --open_count_;
}

Connection* ConnectionTable::at(std::uint32_t slot) {
  const std::size_t block = slot / kBlockSize;
  return block < blocks_.size() ? &blocks_[block][slot % kBlockSize] : nullptr;
}

}  // namespace weir::http
