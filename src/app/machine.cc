#include "app/machine.h"

#include "base/siphash.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

namespace weir {
namespace {

FileFacts facts_of(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return {};
  return {.exists = true,
          .is_ours = status.st_uid == ::geteuid(),
          .permissions = status.st_mode & 0777U,
          .device = status.st_dev,
          .inode = status.st_ino};
}

Filesystem filesystem_of(const std::string& path) {
  struct statfs status{};
  if (::statfs(path.c_str(), &status) != 0) return Filesystem::unknown;
  switch (static_cast<unsigned long>(status.f_type)) {
    case 0x01021994:  // tmpfs
    case 0x858458f6:  // ramfs
      return Filesystem::memory;
    case 0x6969:      // nfs
    case 0xff534d42:  // cifs
    case 0xfe534d42:  // smb2
      return Filesystem::network;
    default: return Filesystem::disk;
  }
}

std::string first_line(const char* path) {
  std::ifstream file{path};
  std::string line;
  std::getline(file, line);
  return line;
}

std::int64_t whole_or_zero(const std::string& text) {
  std::int64_t value = 0;
  std::istringstream{text} >> value;
  return value;
}

void add_key(Machine& machine, std::string setting, const std::string& path, bool is_public) {
  if (path.empty()) return;
  KeyFile key{.setting = std::move(setting), .path = path, .facts = facts_of(path), .is_public = is_public};
  std::ifstream file{path};
  std::ostringstream text;
  text << file.rdbuf();
  std::string secret = text.str();
  if (secret.ends_with('\n')) secret.pop_back();
  if (key.facts.exists && !is_public) {
    key.quality = judge_secret(secret);
    key.content_hash = siphash({0x646f63, 0x746f72}, secret);
  }
  machine.keys.push_back(std::move(key));
}

}  // namespace

Machine look_at_machine(const Settings& settings) {
  Machine machine;
  add_key(machine, "auth.hs256_secret_file", settings.auth_hs256_secret_file, false);
  add_key(machine, "auth.jwks_file", settings.auth_jwks_file, true);
  if (settings.payment_sandbox)
    add_key(machine, "payment.sandbox_secret_file", settings.payment_sandbox_secret_file, false);
  machine.data = facts_of(settings.data);
  const std::string place = machine.data.exists ? settings.data : ".";
  machine.data_filesystem = filesystem_of(place);
  struct statvfs space{};
  if (::statvfs(place.c_str(), &space) == 0) {
    machine.data_free_bytes = static_cast<std::int64_t>(space.f_bavail) * static_cast<std::int64_t>(space.f_frsize);
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0)
    machine.open_files_max = static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_max, INT64_MAX));
  if (::getrlimit(RLIMIT_CORE, &limit) == 0) machine.core_dumps_on = limit.rlim_cur > 0;
  machine.listen_backlog_max = whole_or_zero(first_line("/proc/sys/net/core/somaxconn"));
  machine.memory_bytes = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  machine.cores = std::max(1U, std::thread::hardware_concurrency());
  timex state{};
  if (::adjtimex(&state) >= 0) machine.clock_is_synchronised = (static_cast<unsigned>(state.status) & STA_UNSYNC) == 0;
  machine.is_root = ::geteuid() == 0;
#ifdef WEIR_FAULTS
  machine.has_fault_points = true;
#endif
  return machine;
}

void raise_open_files_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
}

}  // namespace weir
