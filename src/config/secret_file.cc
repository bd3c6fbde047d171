#include "config/secret_file.h"

#include "base/durable_file.h"
#include "base/encoding.h"
#include "config/limits.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

namespace weir {
namespace {

/// A file descriptor with one owner.
class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }

 private:
  int fd_;
};

std::unexpected<Error> unfit(std::string_view setting, const std::string& path, std::string_view what) {
  return fail(Failure::unfit, fmt::format("{}: {} {}", setting, path, what));
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {  // Every turn writes at least one byte or ends.
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// Makes `path` with `content` in one step: a finished file appears under the name, or nothing does. An existing file
/// is left as it is. Null, or why not.
std::optional<std::string> make_file(const std::string& path, std::string_view content, std::string_view suffix) {
  const std::string draft = fmt::format("{}.{}", path, suffix);
  {
    const File file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.is_open() || !write_all(file.fd(), content)) {
      std::string why = std::strerror(errno);
      if (file.is_open()) ::unlink(draft.c_str());
      return why;
    }
  }
  const auto named = publish_draft(draft, path);
  return named ? std::nullopt : std::optional{named.error().message};
}

/// The bytes of a plain file without one trailing newline, between `least` and kSecretBytesMax of them.
Result<std::string> read_bytes(const std::string& path, std::string_view setting, std::size_t least) {
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) return unfit(setting, path, fmt::format("cannot be read: {}", std::strerror(errno)));
  struct stat facts{};
  if (::fstat(file.fd(), &facts) != 0 || !S_ISREG(facts.st_mode)) return unfit(setting, path, "is no plain file");
  std::array<char, kSecretBytesMax + 2> buffer{};
  std::size_t size = 0;
  while (size < buffer.size()) {  // Every turn reads at least one byte or ends.
    const ssize_t got = ::read(file.fd(), buffer.data() + size, buffer.size() - size);
    if (got < 0) return unfit(setting, path, fmt::format("cannot be read: {}", std::strerror(errno)));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  std::string secret(buffer.data(), size);
  if (secret.ends_with('\n')) secret.pop_back();
  if (secret.size() < least || secret.size() > kSecretBytesMax) {
    return unfit(setting, path, fmt::format("must hold {} to {} bytes", least, kSecretBytesMax));
  }
  return secret;
}

}  // namespace

Result<std::string> read_secret_file(const std::string& path, std::string_view setting) {
  return read_bytes(path, setting, kSecretBytesMin);
}

Result<std::string> read_password_file(const std::string& path, std::string_view setting) {
  Result<std::string> password = read_bytes(path, setting, 1);
  if (password && password->find('\0') != std::string::npos) return unfit(setting, path, "holds a zero byte");
  return password;
}

Result<std::string> read_or_make_secret_file(const std::string& path, std::string_view setting, Random& random) {
  if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT) {
    std::array<std::byte, kSecretBytesMin> bytes{};
    random.fill(bytes);
    std::string raw(bytes.size(), '\0');
    std::memcpy(raw.data(), bytes.data(), bytes.size());
    const std::string suffix = fmt::format("new-{:016x}", random.next());
    if (const auto why = make_file(path, hex_text(raw) + '\n', suffix)) {
      return unfit(setting, path, fmt::format("cannot be made: {}", *why));
    }
  } else {
    // Whoever made it may have ended before its name was durable. Where a folder cannot be synced, nobody here made it.
    static_cast<void>(sync_folder_of(path));
  }
  return read_secret_file(path, setting);
}

SecretQuality judge_secret(std::string_view secret) {
  if (secret.size() < kSecretBytesMin) return SecretQuality::too_short;
  static constexpr std::array<std::string_view, 14> kSamples{
      "changeme", "change-me", "change_me", "secret",   "password", "example",  "default",
      "sample",   "your-",     "your_",     "insecure", "test-key", "01234567", "abcdefgh"};
  std::string lower(secret);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  for (const std::string_view sample : kSamples) {
    if (lower.find(sample) != std::string::npos) return SecretQuality::sample;
  }
  std::array<bool, 256> seen{};
  for (const char c : secret) seen[static_cast<unsigned char>(c)] = true;
  const auto kinds = std::ranges::count(seen, true);
  return kinds < 8 ? SecretQuality::repetitive : SecretQuality::good;
}

}  // namespace weir
