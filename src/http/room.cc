#include "http/room.h"

#include "base/check.h"

#include <algorithm>
#include <string_view>

namespace weir::http {
namespace {

bool is_mapped_v4(const Address& address) {
  return std::all_of(address.bytes.begin(), address.bytes.begin() + 10, [](std::uint8_t b) { return b == 0; }) &&
         address.bytes[10] == 0xff && address.bytes[11] == 0xff;
}

Address holder(Address address) {
  if (!is_mapped_v4(address)) std::fill(address.bytes.begin() + 8, address.bytes.end(), std::uint8_t{0});
  return address;
}

}  // namespace

std::size_t Room::Hash::operator()(const Address& address) const {
  std::array<char, 16> text{};
  std::copy(address.bytes.begin(), address.bytes.end(), text.begin());
  return siphash(key, {text.data(), text.size()});
}

bool Room::is_counted(const Address& peer) const {
  if (caps_.per_address_max == 0) return false;
  return !is_exempt_ || !is_exempt_(peer);
}

bool Room::enter() {
  if (open_count_.fetch_add(1, std::memory_order_relaxed) < caps_.connections_max) return true;
  leave();
  return false;
}

bool Room::enter_from(const Address& peer) {
  if (!is_counted(peer)) return true;
  const std::scoped_lock lock(mutex_);
  std::size_t& count = by_address_[holder(peer)];
  if (count >= caps_.per_address_max) return false;
  ++count;
  return true;
}

void Room::leave() { open_count_.fetch_sub(1, std::memory_order_relaxed); }

void Room::leave_from(const Address& peer) {
  if (!is_counted(peer)) return;
  const std::scoped_lock lock(mutex_);
  const auto entry = by_address_.find(holder(peer));
  CHECK(entry != by_address_.end() && entry->second > 0);
  if (--entry->second == 0) by_address_.erase(entry);
}

}  // namespace weir::http
