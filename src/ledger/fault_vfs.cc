#include "ledger/fault_vfs.h"

#include "base/random.h"
#include "ledger/fault_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <new>
#include <utility>

#include <fmt/format.h>
#include <sqlite3.h>

namespace weir {

using fault::File;

/// A fault that waits for its turn.
struct Countdown {
  std::uint64_t left = 0;
  [[nodiscard]] bool is_due() { return left > 0 && --left == 0; }
};

struct FaultDisk::State : std::enable_shared_from_this<FaultDisk::State> {
  explicit State(std::uint64_t seed) : random(seed) {}

  [[nodiscard]] std::int64_t used() const {
    std::int64_t bytes = 0;
    for (const auto& [path, file] : names) bytes += static_cast<std::int64_t>(file->bytes().size());
    return bytes;
  }

  SeededRandom random;
  std::map<std::string, std::shared_ptr<File>, std::less<>> names;       // What the process sees.
  std::map<std::string, std::shared_ptr<File>, std::less<>> safe_names;  // What a power cut leaves.
  std::uint64_t generation = 0;  // Of the process; a handle of an earlier one is dead.
  std::int64_t capacity = INT64_MAX;
  std::uint64_t writes = 0;
  std::uint64_t syncs = 0;
  std::int64_t clock_ms = 210'000'000'000'000;
  Countdown write_fault, sync_fault, open_fault, read_fault;
  WriteFault write_fault_kind = WriteFault::io_error;
  bool ignores_syncs = false;
  std::string name;
  sqlite3_vfs vfs{};
};

namespace {

using State = FaultDisk::State;

/// An open file as SQLite holds it. SQLite gives the memory; this is constructed in it.
struct Handle {
  sqlite3_file base{};
  std::shared_ptr<State> disk;
  std::shared_ptr<File> file;
  std::string name;  // Empty: a temporary file.
  std::uint64_t generation = 0;
  bool syncs_folder = false;  // A new journal or log: its first sync also syncs the folder, as SQLite does on files.
  int level = SQLITE_LOCK_NONE;
  std::shared_ptr<fault::SharedMemory> shm;

  [[nodiscard]] bool is_dead() const { return generation != disk->generation; }
};

Handle& handle_of(sqlite3_file* file) { return *reinterpret_cast<Handle*>(file); }
State& state_of(sqlite3_vfs* vfs) { return *static_cast<State*>(vfs->pAppData); }

int close_file(sqlite3_file* raw) {
  Handle& handle = handle_of(raw);
  if (!handle.is_dead()) {
    handle.file->locks.release(&handle, SQLITE_LOCK_NONE, handle.level);
    if (handle.shm) handle.file->leave_shared_memory(&handle);
  }
  handle.~Handle();
  return SQLITE_OK;
}

int read_file(sqlite3_file* raw, void* out, int size, sqlite3_int64 offset) {
  Handle& handle = handle_of(raw);
  if (handle.is_dead() || handle.disk->read_fault.is_due()) return SQLITE_IOERR_READ;
  const std::size_t got =
      handle.file->read(static_cast<std::size_t>(offset), {static_cast<char*>(out), static_cast<std::size_t>(size)});
  return got == static_cast<std::size_t>(size) ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

int write_file(sqlite3_file* raw, const void* data, int size, sqlite3_int64 offset) {
  Handle& handle = handle_of(raw);
  if (handle.is_dead()) return SQLITE_IOERR_WRITE;
  State& disk = *handle.disk;
  ++disk.writes;
  const std::string_view bytes{static_cast<const char*>(data), static_cast<std::size_t>(size)};
  const auto at = static_cast<std::size_t>(offset);
  const bool fails = disk.write_fault.is_due();
  const std::int64_t growth = offset + size - static_cast<std::int64_t>(handle.file->bytes().size());
  const bool is_full = growth > 0 && disk.used() + growth > disk.capacity;
  if (!fails && !is_full) {
    handle.file->write(at, bytes);
    return SQLITE_OK;
  }
  // A failed write may have done a part of its work; a full disk adds nothing.
  if (!is_full) handle.file->write(at, bytes.substr(0, static_cast<std::size_t>(disk.random.below(bytes.size()))));
  return is_full || disk.write_fault_kind == FaultDisk::WriteFault::full ? SQLITE_FULL : SQLITE_IOERR_WRITE;
}

int truncate_file(sqlite3_file* raw, sqlite3_int64 size) {
  Handle& handle = handle_of(raw);
  if (handle.is_dead()) return SQLITE_IOERR_TRUNCATE;
  handle.file->truncate(static_cast<std::size_t>(size));
  return SQLITE_OK;
}

int sync_file(sqlite3_file* raw, int) {
  Handle& handle = handle_of(raw);
  if (handle.is_dead()) return SQLITE_IOERR_FSYNC;
  State& disk = *handle.disk;
  ++disk.syncs;
  if (disk.sync_fault.is_due()) {
    handle.file->fail_sync();
    return SQLITE_IOERR_FSYNC;
  }
  if (disk.ignores_syncs) return SQLITE_OK;
  handle.file->sync();
  if (!handle.name.empty()) disk.safe_names[handle.name] = handle.file;
  if (std::exchange(handle.syncs_folder, false)) disk.safe_names = disk.names;
  return SQLITE_OK;
}

int size_of_file(sqlite3_file* raw, sqlite3_int64* size) {
  Handle& handle = handle_of(raw);
  if (handle.is_dead()) return SQLITE_IOERR_FSTAT;
  *size = static_cast<sqlite3_int64>(handle.file->bytes().size());
  return SQLITE_OK;
}

int lock_file(sqlite3_file* raw, int level) {
  Handle& handle = handle_of(raw);
  if (handle.is_dead()) return SQLITE_IOERR_LOCK;
  return handle.file->locks.take(&handle, level, handle.level) ? SQLITE_OK : SQLITE_BUSY;
}

int unlock_file(sqlite3_file* raw, int level) {
  Handle& handle = handle_of(raw);
  if (handle.is_dead()) return SQLITE_OK;
  handle.file->locks.release(&handle, level, handle.level);
  return SQLITE_OK;
}

int is_reserved(sqlite3_file* raw, int* out) {
  Handle& handle = handle_of(raw);
  *out = !handle.is_dead() && handle.file->locks.is_reserved() ? 1 : 0;
  return SQLITE_OK;
}

int control_file(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
int sector_size(sqlite3_file*) { return static_cast<int>(fault::kSectorBytes); }
int device_features(sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }

int map_shared(sqlite3_file* raw, int region, int size, int extend, void volatile** out) {
  Handle& handle = handle_of(raw);
  *out = nullptr;
  if (handle.is_dead()) return SQLITE_IOERR_SHMMAP;
  if (!handle.shm) handle.shm = handle.file->join_shared_memory(&handle);
  *out = handle.shm->region(static_cast<std::size_t>(region), static_cast<std::size_t>(size), extend != 0);
  return SQLITE_OK;
}

int lock_shared(sqlite3_file* raw, int offset, int count, int flags) {
  Handle& handle = handle_of(raw);
  if (handle.is_dead() || !handle.shm) return SQLITE_IOERR_SHMLOCK;
  const bool is_exclusive = (flags & SQLITE_SHM_EXCLUSIVE) != 0;
  if ((flags & SQLITE_SHM_UNLOCK) != 0) {
    handle.shm->unlock(&handle, offset, count);
    return SQLITE_OK;
  }
  return handle.shm->lock(&handle, offset, count, is_exclusive) ? SQLITE_OK : SQLITE_BUSY;
}

void order_shared(sqlite3_file*) {}

int unmap_shared(sqlite3_file* raw, int) {
  Handle& handle = handle_of(raw);
  if (handle.shm && !handle.is_dead()) handle.file->leave_shared_memory(&handle);
  handle.shm.reset();
  return SQLITE_OK;
}

constexpr sqlite3_io_methods kMethods{.iVersion = 2,
                                      .xClose = close_file,
                                      .xRead = read_file,
                                      .xWrite = write_file,
                                      .xTruncate = truncate_file,
                                      .xSync = sync_file,
                                      .xFileSize = size_of_file,
                                      .xLock = lock_file,
                                      .xUnlock = unlock_file,
                                      .xCheckReservedLock = is_reserved,
                                      .xFileControl = control_file,
                                      .xSectorSize = sector_size,
                                      .xDeviceCharacteristics = device_features,
                                      .xShmMap = map_shared,
                                      .xShmLock = lock_shared,
                                      .xShmBarrier = order_shared,
                                      .xShmUnmap = unmap_shared,
                                      .xFetch = nullptr,
                                      .xUnfetch = nullptr};

int open_file(sqlite3_vfs* vfs, const char* path, sqlite3_file* raw, int flags, int* out_flags) {
  State& disk = state_of(vfs);
  raw->pMethods = nullptr;
  if (disk.open_fault.is_due()) return SQLITE_CANTOPEN;
  const std::string name = path == nullptr ? "" : path;
  std::shared_ptr<File> file;
  bool is_new = false;
  if (const auto found = disk.names.find(name); found != disk.names.end()) {
    file = found->second;
  } else {
    if ((flags & SQLITE_OPEN_CREATE) == 0) return SQLITE_CANTOPEN;
    file = std::make_shared<File>();
    is_new = true;
    if (!name.empty()) disk.names[name] = file;
  }
  auto* handle = new (raw) Handle{};
  handle->base.pMethods = &kMethods;
  handle->disk = disk.shared_from_this();
  handle->file = std::move(file);
  handle->name = name;
  handle->generation = disk.generation;
  handle->syncs_folder = is_new && (flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL)) != 0;
  if (out_flags != nullptr) *out_flags = flags;
  return SQLITE_OK;
}

int delete_file(sqlite3_vfs* vfs, const char* path, int sync_folder) {
  State& disk = state_of(vfs);
  const auto found = disk.names.find(path);
  if (found == disk.names.end()) return SQLITE_IOERR_DELETE_NOENT;
  disk.names.erase(found);
  if (sync_folder != 0) disk.safe_names = disk.names;
  return SQLITE_OK;
}

int find_file(sqlite3_vfs* vfs, const char* path, int, int* out) {
  *out = state_of(vfs).names.contains(path) ? 1 : 0;
  return SQLITE_OK;
}

int full_path(sqlite3_vfs*, const char* path, int size, char* out) {
  const std::size_t length = std::strlen(path);
  if (length + 1 > static_cast<std::size_t>(size)) return SQLITE_CANTOPEN;
  std::memcpy(out, path, length + 1);
  return SQLITE_OK;
}

int fill_random(sqlite3_vfs* vfs, int size, char* out) {
  state_of(vfs).random.fill(std::as_writable_bytes(std::span{out, static_cast<std::size_t>(size)}));
  return size;
}

int sleep_no_time(sqlite3_vfs* vfs, int us) {
  state_of(vfs).clock_ms += us / 1000;
  return us;
}

int tell_time(sqlite3_vfs* vfs, sqlite3_int64* out) {
  *out = ++state_of(vfs).clock_ms;
  return SQLITE_OK;
}

int last_error(sqlite3_vfs*, int, char*) { return 0; }

}  // namespace

FaultDisk::FaultDisk(std::uint64_t seed) : state_(std::make_shared<State>(seed)) {
  State& disk = *state_;
  disk.name = fmt::format("weir-fault-{}", static_cast<const void*>(&disk));
  disk.vfs.iVersion = 2;
  disk.vfs.szOsFile = static_cast<int>(sizeof(Handle));
  disk.vfs.mxPathname = 512;
  disk.vfs.zName = disk.name.c_str();
  disk.vfs.pAppData = &disk;
  disk.vfs.xOpen = open_file;
  disk.vfs.xDelete = delete_file;
  disk.vfs.xAccess = find_file;
  disk.vfs.xFullPathname = full_path;
  disk.vfs.xRandomness = fill_random;
  disk.vfs.xSleep = sleep_no_time;
  disk.vfs.xGetLastError = last_error;
  disk.vfs.xCurrentTimeInt64 = tell_time;
  sqlite3_vfs_register(&disk.vfs, 0);
}

FaultDisk::~FaultDisk() {
  kill();
  sqlite3_vfs_unregister(&state_->vfs);
}

const std::string& FaultDisk::vfs_name() const { return state_->name; }

void FaultDisk::fail_nth_write(std::uint64_t n, WriteFault fault) {
  state_->write_fault = {n};
  state_->write_fault_kind = fault;
}
void FaultDisk::fail_nth_sync(std::uint64_t n) { state_->sync_fault = {n}; }
void FaultDisk::fail_nth_open(std::uint64_t n) { state_->open_fault = {n}; }
void FaultDisk::fail_nth_read(std::uint64_t n) { state_->read_fault = {n}; }

void FaultDisk::heal() {
  state_->write_fault = {};
  state_->sync_fault = {};
  state_->open_fault = {};
  state_->read_fault = {};
}

void FaultDisk::set_capacity(std::int64_t bytes) { state_->capacity = bytes; }
std::int64_t FaultDisk::free_bytes() const {
  if (state_->capacity == INT64_MAX) return INT64_MAX;
  return std::max<std::int64_t>(0, state_->capacity - state_->used());
}

std::int64_t FaultDisk::file_bytes(std::string_view path) const {
  const auto found = state_->names.find(path);
  return found == state_->names.end() ? 0 : static_cast<std::int64_t>(found->second->bytes().size());
}

void FaultDisk::kill() {
  ++state_->generation;
  for (const auto& [name, file] : state_->names) file->forget_process();
  for (const auto& [name, file] : state_->safe_names) file->forget_process();
}

void FaultDisk::power_cut() {
  kill();
  State& disk = *state_;
  std::map<std::string, std::shared_ptr<File>, std::less<>> left;
  for (const auto& [name, file] : disk.names) {
    const auto safe = disk.safe_names.find(name);
    const bool is_safe = safe != disk.safe_names.end() && safe->second == file;
    if (is_safe || disk.random.below(2) == 0)
      left[name] = file;
    else if (safe != disk.safe_names.end())
      left[name] = safe->second;
  }
  for (const auto& [name, file] : disk.safe_names) {
    // A file that was deleted without syncing the folder may come back.
    if (!disk.names.contains(name) && disk.random.below(2) == 0) left[name] = file;
  }
  for (const auto& [name, file] : left) file->lose_power(disk.random);
  disk.names = left;
  disk.safe_names = left;
}

void FaultDisk::ignore_syncs(bool ignore) { state_->ignores_syncs = ignore; }

void FaultDisk::damage(std::string_view path, std::size_t offset) {
  const auto found = state_->names.find(path);
  if (found == state_->names.end() || offset >= found->second->bytes().size()) return;
  const char turned = static_cast<char>(found->second->bytes()[offset] ^ 0x55);
  found->second->write(offset, {&turned, 1});
}

std::uint64_t FaultDisk::writes() const { return state_->writes; }
std::uint64_t FaultDisk::syncs() const { return state_->syncs; }

}  // namespace weir
