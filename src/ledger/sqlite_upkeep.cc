#include "base/log.h"
#include "config/limits.h"
#include "ledger/sqlite_ledger.h"
#include "ledger/sqlite_statements.h"

#include <algorithm>

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <fmt/format.h>

namespace weir {
namespace {

constexpr std::int64_t kFrameBytes = 4096 + 24;
constexpr std::int64_t kFloorBytesMin = 256 * 1024;
constexpr Micros kShortenWait{20'000};  // How long a copy of the log waits for readers that still look at it.
constexpr Micros kRecoverWaitMin{1'000};

std::string reserve_file(const std::string& folder) { return fmt::format("{}/ledger.reserve", folder); }

}  // namespace

std::int64_t SqliteLedger::log_bytes() const { return log_frames_ * kFrameBytes; }

std::int64_t SqliteLedger::free_bytes() const {
  if (options_.free_bytes) return options_.free_bytes();
  struct statvfs space{};
  if (::statvfs(options_.data.c_str(), &space) != 0) return INT64_MAX;
  return static_cast<std::int64_t>(space.f_bavail) * static_cast<std::int64_t>(space.f_frsize);
}

bool SqliteLedger::is_tight() const { return options_.reserve_bytes > 0 && free_bytes() < floor_bytes_; }

Result<void> SqliteLedger::check_room() const {
  if (log_bytes() > options_.log_bytes_max) {
    return fail(Failure::unavailable, fmt::format("the ledger's log has {} bytes and cannot be copied: another program "
                                                  "has been reading the ledger for too long (data)",
                                                  log_bytes()));
  }
  if (!is_tight()) return {};
  return fail(Failure::unavailable, fmt::format("the ledger's disk has {} bytes free, {} are kept for payments "
                                                "(sqlite.reserve_bytes)",
                                                free_bytes(), floor_bytes_));
}

void SqliteLedger::make_reserve() {
  if (options_.reserve_bytes == 0 || has_reserve_) return;
  const std::int64_t free = free_bytes();
  if (floor_bytes_ == 0) {
    floor_bytes_ = std::clamp(free / 8, std::min(kFloorBytesMin, options_.reserve_bytes), options_.reserve_bytes);
  }
  // On a simulated disk the floor alone is kept: this file would lie on the real one.
  if (!options_.vfs.empty() || free < 3 * floor_bytes_) return;
  const std::string path = reserve_file(options_.data);
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return;
  has_reserve_ = ::posix_fallocate(descriptor, 0, floor_bytes_) == 0;
  ::close(descriptor);
  if (!has_reserve_) ::unlink(path.c_str());
}

void SqliteLedger::drop_reserve() {
  if (!has_reserve_) return;
  ::unlink(reserve_file(options_.data).c_str());
  has_reserve_ = false;
  log::warn("ledger_reserve_given_up", {{"bytes", floor_bytes_}});
}

void SqliteLedger::copy_log(int mode, Micros wait) {
  connection_->wait_when_busy(wait);
  int frames = 0;
  int copied = 0;
  const int code = sqlite3_wal_checkpoint_v2(connection_->get(), nullptr, mode, &frames, &copied);
  if (code == SQLITE_OK && frames == copied) log_frames_ = 0;
  // Busy: a reader still looks at the log.
  if (code != SQLITE_OK && (code & 0xff) != SQLITE_BUSY) throw connection_->failure(code);
}

/// After a commit: when the log has become long it is copied here, and the next time this is looked at is a good piece
/// later, also when a reader did not let the whole of it be copied.
void SqliteLedger::shorten_log() {
  const std::int64_t step = options_.log_bytes_max / kLedgerLogCopyPart / kFrameBytes;
  if (log_frames_ < std::max(copy_at_frames_, step)) return;
  copy_at_frames_ = log_frames_ + step;
  if (const auto tidied = tidy_up(); !tidied) {
    log::warn("ledger_log_not_copied", {{"message", tidied.error().message}});
  }
}

/// The disk is full: what is copied leaves its place in the log to what comes next.
void SqliteLedger::reuse_log() {
  try {
    copy_log(SQLITE_CHECKPOINT_RESTART, kShortenWait);
  } catch (const sqlite::SqliteFailure& failure) {
    if (sqlite::error_of(failure, sqlite::Stage::working).failure == Failure::timed_out) is_unknown_ = true;
  }
}

Result<void> SqliteLedger::tidy_up() {
  if (is_unknown_) return fail(Failure::timed_out, "a commit is unknown: the ledger has to recover first");
  make_reserve();
  const bool is_tight_now = is_tight() && log_frames_ > 0;
  const bool is_long = log_bytes() >= options_.log_bytes_max / kLedgerLogCopyPart;
  if (!is_tight_now && log_bytes() < options_.log_bytes_max / kLedgerLogTidyPart) return {};
  try {
    copy_log(SQLITE_CHECKPOINT_PASSIVE, kShortenWait);
    // Copied whole, the log starts from its beginning again, unless readers overlap for ever: these are waited for.
    if (is_tight_now)
      copy_log(SQLITE_CHECKPOINT_TRUNCATE, kShortenWait);
    else if (is_long && log_frames_ == 0)
      copy_log(SQLITE_CHECKPOINT_RESTART, kShortenWait);
    if (log_frames_ == 0) copy_at_frames_ = 0;
    return {};
  } catch (const sqlite::SqliteFailure& failure) {
    // A full disk: another time. The log still has everything.
    if (failure.kind() == SQLITE_FULL) return {};
    const Error error = sqlite::error_of(failure, sqlite::Stage::working);
    if (error.failure == Failure::timed_out) is_unknown_ = true;
    return std::unexpected(error);
  }
}

/// A failed sync, in this process or in the one before, may have left parts of the log in memory that storage does not
/// have and never asks for again. So the log is copied whole and cut: after that nothing that counts depends on those
/// parts, and a transaction that was reported as failed and is not part of the log can no longer come back. False: a
/// reader did not let that happen.
bool SqliteLedger::start_anew(Micros wait) {
  statements_ = std::make_unique<Statements>(*connection_);
  raise_epoch();  // The first write proves that storage takes commits.
  copy_log(SQLITE_CHECKPOINT_TRUNCATE, wait);
  return log_frames_ == 0;
}

Result<void> SqliteLedger::recover(Deadline deadline) {
  if (!is_unknown_) return {};
  auto stage = sqlite::Stage::opening;
  try {
    connect(sqlite::Access::write);
    stage = sqlite::Stage::working;
    if (!start_anew(std::max(deadline - clock_.ticks(), kRecoverWaitMin))) {
      return fail(Failure::unavailable, "the ledger cannot be recovered while another program reads it (data)");
    }
  } catch (const sqlite::SqliteFailure& failure) {
    if (failure.kind() == SQLITE_FULL) drop_reserve();
    Error error = sqlite::error_of(failure, stage);
    if (error.failure == Failure::timed_out) error.failure = Failure::unavailable;  // What it asked for is asked again.
    return std::unexpected(error);
  }
  is_unknown_ = false;
  return {};
}

}  // namespace weir
