#include "app/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

namespace weir {

Result<TemporaryFolder> TemporaryFolder::make() {
  const char* chosen = std::getenv("TMPDIR");
  std::string path = fmt::format("{}/weir-XXXXXX", chosen != nullptr && *chosen != '\0' ? chosen : "/var/tmp");
  if (::mkdtemp(path.data()) == nullptr) {
    return fail(Failure::unfit, fmt::format("cannot make a folder like {}: {} (TMPDIR)", path, std::strerror(errno)));
  }
  return TemporaryFolder{std::move(path)};
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

bool is_free_port(int port) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return false;
  const int yes = 1;
  ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool is_free = ::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(descriptor);
  return is_free;
}

}  // namespace weir
