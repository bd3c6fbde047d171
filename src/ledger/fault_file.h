#pragma once

#include "base/random.h"

#include <array>
#include <cstddef>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <vector>

namespace weir::fault {

inline constexpr std::size_t kSectorBytes = 512;

/// The locks of a file between its handles, by SQLite's five levels.
class FileLocks {
 public:
  /// Raises `held` to `level` for `owner`, or leaves it (or at PENDING) and says false.
  [[nodiscard]] bool take(const void* owner, int level, int& held);
  /// Lowers `held` to `level`.
  void release(const void* owner, int level, int& held);
  [[nodiscard]] bool is_reserved() const { return reserved_ != nullptr; }

 private:
  int readers_ = 0;
  const void* reserved_ = nullptr;
  const void* pending_ = nullptr;
  const void* exclusive_ = nullptr;
};

/// The memory that connections of one process share beside a file in WAL mode, and its eight locks.
class SharedMemory {
 public:
  static constexpr std::size_t kLocks = 8;

  /// Null when the region is not there and is not to be made.
  [[nodiscard]] char* region(std::size_t index, std::size_t size, bool make);
  [[nodiscard]] bool lock(const void* owner, int first, int count, bool is_exclusive);
  void unlock(const void* owner, int first, int count);

  std::set<const void*> users;

 private:
  struct Lock {
    const void* exclusive = nullptr;
    std::set<const void*> shared;
  };
  std::vector<std::unique_ptr<char[]>> regions_;
  std::array<Lock, kLocks> locks_;
};

/// The contents of one file: as the process sees them, and as a power cut may leave them.
class File {
 public:
  [[nodiscard]] const std::vector<char>& bytes() const { return now_; }
  /// Reads what is there and zeros behind it; returns how much was there.
  [[nodiscard]] std::size_t read(std::size_t offset, std::span<char> out) const;
  void write(std::size_t offset, std::string_view bytes);
  void truncate(std::size_t size);
  void sync();
  /// The sync failed: its sectors are not written by a later one, unless they are written to again.
  void fail_sync();
  void lose_power(SeededRandom& random);

  [[nodiscard]] std::shared_ptr<SharedMemory> join_shared_memory(const void* owner);
  void leave_shared_memory(const void* owner);
  /// The process died: its locks and its shared memory are gone.
  void forget_process();

  FileLocks locks;

 private:
  [[nodiscard]] std::span<const char> sector(const std::vector<char>& bytes, std::size_t index) const;

  std::vector<char> now_;
  std::vector<char> safe_;
  std::set<std::size_t> dirty_;   // Sectors that the next sync makes safe.
  std::set<std::size_t> doomed_;  // Sectors of a failed sync.
  std::shared_ptr<SharedMemory> shm_;
};

}  // namespace weir::fault
