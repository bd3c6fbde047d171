#pragma once

#include "base/random.h"
#include "ledger/fault_vfs.h"
#include "ledger/ledger_bed.h"
#include "ledger/sqlite_ledger.h"
#include "ledger/sqlite_reader.h"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace weir {

/// A folder of its own under the machine's temporary one; gone at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "weir-ledger-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data()) == nullptr ? "" : pattern;
    EXPECT_NE(path_, "");
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// A SQLite ledger and a reader beside it.
class SqliteBed : public LedgerBed {
 public:
  explicit SqliteBed(SqliteOptions options_in) : options(std::move(options_in)) { open(); }

  Ledger& ledger() override { return *writer; }
  LedgerReader& reader() override { return *look; }
  ManualClock& clock() override { return clock_; }
  void restart() override {
    close();
    open();
  }

  void close() {
    look.reset();
    writer.reset();
  }
  void open() {
    auto opened = SqliteLedger::open(options, clock_, random_);
    ASSERT_TRUE(opened) << opened.error().message;
    writer = std::move(*opened);
    open_reader();
  }
  void open_reader() {
    auto reading = SqliteReader::open(options, clock_);
    ASSERT_TRUE(reading) << reading.error().message;
    look = std::move(*reading);
  }

  SqliteOptions options;
  std::unique_ptr<SqliteLedger> writer;
  std::unique_ptr<SqliteReader> look;

 private:
  ManualClock clock_;
  SeededRandom random_{20261129};
};

/// On files, as it is shipped.
class SqliteFileBed final : public SqliteBed {
 public:
  SqliteFileBed() : SqliteFileBed(std::make_unique<TemporaryFolder>()) {}
  ~SqliteFileBed() override { close(); }
  [[nodiscard]] const std::string& folder() const { return folder_->path(); }

 private:
  explicit SqliteFileBed(std::unique_ptr<TemporaryFolder> folder)
      : SqliteBed({.data = folder->path()}), folder_(std::move(folder)) {}
  std::unique_ptr<TemporaryFolder> folder_;
};

inline SqliteOptions options_on(const FaultDisk& disk) {
  return {.data = "ledger", .vfs = disk.vfs_name(), .uses_lock = false, .reserve_bytes = 0};
}

/// On a simulated disk.
class SqliteDiskBed final : public SqliteBed {
 public:
  explicit SqliteDiskBed(std::uint64_t seed = 1) : SqliteDiskBed(std::make_unique<FaultDisk>(seed)) {}
  ~SqliteDiskBed() override { close(); }
  FaultDisk& disk() { return *disk_; }

 private:
  explicit SqliteDiskBed(std::unique_ptr<FaultDisk> disk) : SqliteBed(options_on(*disk)), disk_(std::move(disk)) {}
  std::unique_ptr<FaultDisk> disk_;
};

}  // namespace weir
