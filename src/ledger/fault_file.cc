#include "ledger/fault_file.h"

#include <algorithm>
#include <cstring>

#include <sqlite3.h>

namespace weir::fault {

bool FileLocks::take(const void* owner, int level, int& held) {
  if (held >= level) return true;
  if (level == SQLITE_LOCK_SHARED) {
    if (pending_ != nullptr || exclusive_ != nullptr) return false;
    ++readers_;
    held = level;
    return true;
  }
  if (reserved_ != nullptr && reserved_ != owner) return false;
  reserved_ = owner;
  if (level == SQLITE_LOCK_RESERVED) {
    held = level;
    return true;
  }
  pending_ = owner;
  held = SQLITE_LOCK_PENDING;
  if (readers_ > 1) return false;
  exclusive_ = owner;
  held = level;
  return true;
}

void FileLocks::release(const void* owner, int level, int& held) {
  if (held <= level) return;
  if (reserved_ == owner) reserved_ = nullptr;
  if (pending_ == owner) pending_ = nullptr;
  if (exclusive_ == owner) exclusive_ = nullptr;
  if (level == SQLITE_LOCK_NONE && held >= SQLITE_LOCK_SHARED) --readers_;
  held = level;
}

char* SharedMemory::region(std::size_t index, std::size_t size, bool make) {
  while (make && regions_.size() <= index) regions_.push_back(std::make_unique<char[]>(size));
  return index < regions_.size() ? regions_[index].get() : nullptr;
}

bool SharedMemory::lock(const void* owner, int first, int count, bool is_exclusive) {
  const auto range = std::span{locks_}.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
  for (const Lock& lock : range) {
    const bool is_shared_by_others = lock.shared.size() > lock.shared.count(owner);
    if (lock.exclusive != nullptr && lock.exclusive != owner) return false;
    if (is_exclusive && is_shared_by_others) return false;
  }
  for (Lock& lock : range) {
    if (is_exclusive)
      lock.exclusive = owner;
    else
      lock.shared.insert(owner);
  }
  return true;
}

void SharedMemory::unlock(const void* owner, int first, int count) {
  for (Lock& lock : std::span{locks_}.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count))) {
    if (lock.exclusive == owner) lock.exclusive = nullptr;
    lock.shared.erase(owner);
  }
}

std::size_t File::read(std::size_t offset, std::span<char> out) const {
  const std::size_t there = offset < now_.size() ? std::min(out.size(), now_.size() - offset) : 0;
  if (there > 0) std::memcpy(out.data(), now_.data() + offset, there);
  std::ranges::fill(out.subspan(there), '\0');
  return there;
}

void File::write(std::size_t offset, std::string_view bytes) {
  if (bytes.empty()) return;
  if (now_.size() < offset + bytes.size()) now_.resize(offset + bytes.size());
  std::memcpy(now_.data() + offset, bytes.data(), bytes.size());
  for (std::size_t at = offset / kSectorBytes; at * kSectorBytes < offset + bytes.size(); ++at) {
    dirty_.insert(at);
    doomed_.erase(at);
  }
}

void File::truncate(std::size_t size) {
  now_.resize(size);
  const std::size_t first_gone = (size + kSectorBytes - 1) / kSectorBytes;
  dirty_.erase(dirty_.lower_bound(first_gone), dirty_.end());
  doomed_.erase(doomed_.lower_bound(first_gone), doomed_.end());
}

void File::sync() {
  safe_.resize(now_.size());
  for (const std::size_t at : dirty_) {
    const auto from = sector(now_, at);
    std::ranges::copy(from, safe_.begin() + static_cast<std::ptrdiff_t>(at * kSectorBytes));
  }
  dirty_.clear();
}

void File::fail_sync() {
  doomed_.insert(dirty_.begin(), dirty_.end());
  dirty_.clear();
}

std::span<const char> File::sector(const std::vector<char>& bytes, std::size_t index) const {
  const std::size_t begin = index * kSectorBytes;
  if (begin >= bytes.size()) return {};
  return std::span{bytes}.subspan(begin, std::min(kSectorBytes, bytes.size() - begin));
}

void File::lose_power(SeededRandom& random) {
  std::vector<char> left = safe_;
  left.resize(random.below(2) == 0 ? safe_.size() : now_.size());
  doomed_.merge(dirty_);
  const std::uint64_t kept_of_8 = random.below(9);  // From nothing to everything, anew at each cut.
  for (const std::size_t at : doomed_) {
    const auto written = sector(now_, at);
    const std::size_t begin = at * kSectorBytes;
    if (begin >= left.size() || random.below(8) >= kept_of_8) continue;
    std::size_t size = std::min(written.size(), left.size() - begin);
    if (random.below(8) == 0) size = static_cast<std::size_t>(random.below(size + 1));  // Torn.
    std::ranges::copy(written.first(size), left.begin() + static_cast<std::ptrdiff_t>(begin));
  }
  now_ = left;
  safe_ = std::move(left);
  doomed_.clear();
  dirty_.clear();
}

std::shared_ptr<SharedMemory> File::join_shared_memory(const void* owner) {
  if (!shm_) shm_ = std::make_shared<SharedMemory>();
  shm_->users.insert(owner);
  return shm_;
}

void File::leave_shared_memory(const void* owner) {
  if (!shm_) return;
  shm_->unlock(owner, 0, static_cast<int>(SharedMemory::kLocks));
  shm_->users.erase(owner);
  if (shm_->users.empty()) shm_.reset();
}

void File::forget_process() {
  locks = {};
  shm_.reset();
}

}  // namespace weir::fault
