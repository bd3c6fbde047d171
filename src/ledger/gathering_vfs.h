#pragma once

#include <memory>
#include <string>

namespace weir::sqlite {

/// A layer between SQLite and a file system that gathers what is written to a write-ahead log, and hands it on as one
/// write when the log is synced.
///
/// SQLite writes each page of a commit by two calls, and a commit of many orders has hundreds of pages. Nothing else
/// may look at them before the sync: with `synchronous` FULL readers hear of a commit after it. So the order of writes
/// and syncs at the file system stays as it was: all pages of a commit in the order of the file, then its sync. A log
/// that is read, cut or asked for its size is written first. All other files are the file system's own.
///
/// A write that fails fails at the sync, or at the call that made it necessary, with the file system's own code.
/// Threads: as the connection that uses it. It must outlive the connection, and stays usable for closing when the file
/// system below is gone.
class GatheringVfs {
 public:
  /// Over the file system of this name; empty: the machine's. Throws SqliteFailure if there is none of the name.
  explicit GatheringVfs(const std::string& below);
  ~GatheringVfs();
  GatheringVfs(const GatheringVfs&) = delete;
  GatheringVfs& operator=(const GatheringVfs&) = delete;

  /// For `sqlite3_open_v2`.
  [[nodiscard]] const std::string& name() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weir::sqlite
