#include "base/durable_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

namespace weir {
namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::unexpected<Error> failed(std::string_view what, const std::string& path, int reason) {
  return fail(Failure::unavailable, fmt::format("cannot {} '{}': {}", what, path, std::strerror(reason)));
}

Result<void> sync(const std::string& path, int flags) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
  if (descriptor < 0) return failed("open", path, errno);
  const int reason = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  if (reason != 0) return failed("sync", path, reason);
  return {};
}

}  // namespace

Result<void> sync_folder_of(const std::string& path) { return sync(folder_of(path), O_DIRECTORY); }

Result<bool> publish_draft(const std::string& draft, const std::string& path) {
  const auto synced = sync(draft, 0);
  // A link never replaces a file, as a rename would.
  const int reason = !synced || ::link(draft.c_str(), path.c_str()) == 0 ? 0 : errno;
  ::unlink(draft.c_str());
  if (!synced) return std::unexpected(synced.error());
  if (reason != 0 && reason != EEXIST) return failed("make", path, reason);
  if (const auto named = sync_folder_of(path); !named) return std::unexpected(named.error());
  return reason == 0;
}

Result<void> replace_with_draft(const std::string& draft, const std::string& path) {
  const auto synced = sync(draft, 0);
  const int reason = !synced || ::rename(draft.c_str(), path.c_str()) == 0 ? 0 : errno;
  if (!synced || reason != 0) ::unlink(draft.c_str());
  if (!synced) return synced;
  if (reason != 0) return failed("replace", path, reason);
  return sync_folder_of(path);
}

}  // namespace weir
