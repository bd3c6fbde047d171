#include "ledger/gathering_vfs.h"

#include "ledger/sqlite_connection.h"

#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#include <fmt/format.h>
#include <sqlite3.h>

namespace weir::sqlite {
namespace {

/// SQLite's file system for Unix looks at the lower 17 bits of a write's size and at nothing else.
constexpr std::size_t kGatherBytesMax = 120 * 1024;
static_assert(kGatherBytesMax < 1U << 17);

/// The log as SQLite has it open. The file of the file system below lies behind it in the same memory, which SQLite
/// gives and takes back.
struct GatheringFile {
  sqlite3_file base;
  char* gathered;  // kGatherBytesMax bytes, of which the first `size` wait.
  std::size_t size;
  sqlite3_int64 begin;  // Where in the log the first of them belongs.

  [[nodiscard]] sqlite3_file* below() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

// SQLite's memory is aligned to eight bytes and to no more.
static_assert(alignof(GatheringFile) == 8 && sizeof(GatheringFile) % 8 == 0);

GatheringFile& self(sqlite3_file* file) { return *reinterpret_cast<GatheringFile*>(file); }

int hand_on(GatheringFile& file) {
  if (file.size == 0) return SQLITE_OK;
  sqlite3_file* below = file.below();
  // What could not be written is not tried again: SQLite takes the transaction back, or its end is unknown.
  const auto size = static_cast<int>(std::exchange(file.size, 0));
  return below->pMethods->xWrite(below, file.gathered, size, file.begin);
}

int close_file(sqlite3_file* file) {
  // What was not synced was promised to nobody.
  delete[] self(file).gathered;
  sqlite3_file* below = self(file).below();
  return below->pMethods == nullptr ? SQLITE_OK : below->pMethods->xClose(below);
}

int read_file(sqlite3_file* file, void* out, int size, sqlite3_int64 from) {
  if (const int code = hand_on(self(file)); code != SQLITE_OK) return code;
  sqlite3_file* below = self(file).below();
  return below->pMethods->xRead(below, out, size, from);
}

int write_file(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 at) {
  GatheringFile& log = self(file);
  const auto end = log.begin + static_cast<sqlite3_int64>(log.size);
  const auto count = static_cast<std::size_t>(size);
  if (at != end || log.size + count > kGatherBytesMax) {
    if (const int code = hand_on(log); code != SQLITE_OK) return code;
  }
  if (count > kGatherBytesMax) return log.below()->pMethods->xWrite(log.below(), bytes, size, at);
  if (log.size == 0) log.begin = at;
  std::memcpy(log.gathered + log.size, bytes, count);
  log.size += count;
  return SQLITE_OK;
}

int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  if (const int code = hand_on(self(file)); code != SQLITE_OK) return code;
  sqlite3_file* below = self(file).below();
  return below->pMethods->xTruncate(below, size);
}

int sync_file(sqlite3_file* file, int flags) {
  if (const int code = hand_on(self(file)); code != SQLITE_OK) return code;
  sqlite3_file* below = self(file).below();
  return below->pMethods->xSync(below, flags);
}

int file_size(sqlite3_file* file, sqlite3_int64* size) {
  if (const int code = hand_on(self(file)); code != SQLITE_OK) return code;
  sqlite3_file* below = self(file).below();
  return below->pMethods->xFileSize(below, size);
}

int lock_file(sqlite3_file* file, int level) { return self(file).below()->pMethods->xLock(self(file).below(), level); }
int unlock_file(sqlite3_file* file, int level) {
  return self(file).below()->pMethods->xUnlock(self(file).below(), level);
}
int is_reserved(sqlite3_file* file, int* answer) {
  return self(file).below()->pMethods->xCheckReservedLock(self(file).below(), answer);
}
int control_file(sqlite3_file* file, int operation, void* argument) {
  return self(file).below()->pMethods->xFileControl(self(file).below(), operation, argument);
}
int sector_size(sqlite3_file* file) { return self(file).below()->pMethods->xSectorSize(self(file).below()); }
int characteristics(sqlite3_file* file) {
  return self(file).below()->pMethods->xDeviceCharacteristics(self(file).below());
}

constexpr sqlite3_io_methods kMethods{.iVersion = 1,
                                      .xClose = &close_file,
                                      .xRead = &read_file,
                                      .xWrite = &write_file,
                                      .xTruncate = &truncate_file,
                                      .xSync = &sync_file,
                                      .xFileSize = &file_size,
                                      .xLock = &lock_file,
                                      .xUnlock = &unlock_file,
                                      .xCheckReservedLock = &is_reserved,
                                      .xFileControl = &control_file,
                                      .xSectorSize = &sector_size,
                                      .xDeviceCharacteristics = &characteristics,
                                      .xShmMap = nullptr,
                                      .xShmLock = nullptr,
                                      .xShmBarrier = nullptr,
                                      .xShmUnmap = nullptr,
                                      .xFetch = nullptr,
                                      .xUnfetch = nullptr};

/// What stands in SQLite's list. Calls that are not about files go to the functions of the file system below, which see
/// their own `pAppData` in it.
struct Layer {
  sqlite3_vfs vfs;  // First: SQLite hands its address back.
  sqlite3_vfs* below;
};

int open_file(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* flags_out) {
  sqlite3_vfs& below = *reinterpret_cast<Layer*>(vfs)->below;
  // Other files are the file system's own: it fills the memory as if nobody stood between.
  if ((flags & SQLITE_OPEN_WAL) == 0) return below.xOpen(&below, path, file, flags, flags_out);
  GatheringFile& log =
      *new (file) GatheringFile{.base = {.pMethods = nullptr}, .gathered = nullptr, .size = 0, .begin = 0};
  log.below()->pMethods = nullptr;
  int code = below.xOpen(&below, path, log.below(), flags, flags_out);
  if (code == SQLITE_OK) {
    log.gathered = new (std::nothrow) char[kGatherBytesMax];
    if (log.gathered == nullptr) code = SQLITE_NOMEM;
  }
  if (code == SQLITE_OK)
    log.base.pMethods = &kMethods;
  else if (log.below()->pMethods != nullptr)
    log.below()->pMethods->xClose(log.below());
  return code;
}

}  // namespace

struct GatheringVfs::State {
  std::string name;
  Layer layer{};
};

GatheringVfs::GatheringVfs(const std::string& below) : state_(std::make_unique<State>()) {
  sqlite3_vfs* found = sqlite3_vfs_find(below.empty() ? nullptr : below.c_str());
  if (found == nullptr) throw SqliteFailure{SQLITE_MISUSE, fmt::format("no file system '{}'", below)};
  state_->name = fmt::format("gathering-{}", static_cast<const void*>(this));
  state_->layer = {.vfs = *found, .below = found};
  sqlite3_vfs& vfs = state_->layer.vfs;
  vfs.pNext = nullptr;
  vfs.zName = state_->name.c_str();
  vfs.szOsFile = found->szOsFile + static_cast<int>(sizeof(GatheringFile));
  vfs.xOpen = &open_file;
  const int code = sqlite3_vfs_register(&vfs, 0);
  if (code != SQLITE_OK) throw SqliteFailure{code, "a file system could not be registered"};
}

GatheringVfs::~GatheringVfs() { sqlite3_vfs_unregister(&state_->layer.vfs); }

const std::string& GatheringVfs::name() const { return state_->name; }

}  // namespace weir::sqlite
