#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace weir {

/// A disk in memory, for SQLite, that loses power, fills up and fails on demand. For tests and the simulator.
///
/// What was written and not synced is, after `power_cut`, there, lost or torn, sector by sector, as the seed has it.
/// After a failed sync nothing asks storage for those sectors again, though reads still show them: only a power cut
/// tells whether they were there. Names are like contents: a new file is safe from its first
/// sync on, a deletion from the next sync of the folder on.
///
/// Writer and readers may be open at once; shared memory is simulated too. Sleeping takes no time.
/// Threads: one. It may be destroyed before the connections that use it, but not used by them afterwards.
class FaultDisk {
 public:
  enum class WriteFault : std::uint8_t { io_error, full };

  explicit FaultDisk(std::uint64_t seed);
  ~FaultDisk();
  FaultDisk(const FaultDisk&) = delete;
  FaultDisk& operator=(const FaultDisk&) = delete;

  /// For `SqliteOptions::vfs`, together with `uses_lock = false`.
  [[nodiscard]] const std::string& vfs_name() const;

  // From now on, the n-th call of its kind fails, once; 1 is the next. 0: none does.
  void fail_nth_write(std::uint64_t n, WriteFault fault = WriteFault::io_error);
  void fail_nth_sync(std::uint64_t n);
  void fail_nth_open(std::uint64_t n);
  void fail_nth_read(std::uint64_t n);
  /// No fault waits any more. The capacity stays.
  void heal();

  /// What all files together may have.
  void set_capacity(std::int64_t bytes);
  [[nodiscard]] std::int64_t free_bytes() const;
  [[nodiscard]] std::int64_t file_bytes(std::string_view path) const;

  /// The process dies: what it has open is dead for ever, what it wrote stays.
  void kill();
  /// The machine dies: `kill`, and what was not synced may be lost or torn.
  void power_cut();

  /// A disk that lies: syncs succeed and do nothing. For tests that must find that out.
  void ignore_syncs(bool ignore);
  /// Turns bits of a stored byte over.
  void damage(std::string_view path, std::size_t offset);

  [[nodiscard]] std::uint64_t writes() const;
  [[nodiscard]] std::uint64_t syncs() const;

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace weir
