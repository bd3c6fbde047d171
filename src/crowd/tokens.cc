#include "crowd/tokens.h"

#include "base/check.h"
#include "config/limits.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

namespace weir::crowd {

Result<std::unique_ptr<TokenFile>> TokenFile::open(const std::string& path) {
  const auto refuse = [&](std::string_view what) {
    return fail(Failure::unfit, fmt::format("token file {} {}: {}", path, what, std::strerror(errno)));
  };
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return refuse("cannot be opened");
  struct stat status{};
  const bool has_size = ::fstat(file, &status) == 0;
  const auto size = static_cast<std::size_t>(has_size ? status.st_size : 0);
  if (size == 0) {
    ::close(file);
    return fail(Failure::unfit, fmt::format("token file {} is empty; `weir token issue --count N` writes one", path));
  }
  void* bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  ::close(file);
  if (bytes == MAP_FAILED) return refuse("cannot be mapped");
  std::unique_ptr<TokenFile> tokens(new TokenFile(static_cast<const char*>(bytes), size));
  if (auto indexed = tokens->index_lines(path); !indexed) return std::unexpected(std::move(indexed.error()));
  return tokens;
}

TokenFile::~TokenFile() { ::munmap(const_cast<char*>(bytes_), size_); }

Result<void> TokenFile::index_lines(const std::string& path) {
  const std::string_view all(bytes_, size_);
  const auto is_token_byte = [](char c) { return c > ' ' && c < 127; };
  for (std::size_t at = 0; at < size_;) {
    const std::size_t end = std::min(all.find('\n', at), size_);
    const std::string_view line = all.substr(at, end - at);
    line_at_.push_back(at);
    if (line.empty() || line.size() > kTokenBytesMax || !std::all_of(line.begin(), line.end(), is_token_byte)) {
      return fail(Failure::unfit, fmt::format("token file {} line {}: not one token of 1 to {} printable bytes", path,
                                              line_at_.size(), kTokenBytesMax));
    }
    at = end + 1;
  }
  line_at_.push_back(all.back() == '\n' ? size_ : size_ + 1);
  return {};
}

std::string_view TokenFile::token(std::uint32_t buyer) const {
  CHECK(buyer >= 1 && buyer <= count(), "buyer={} count={}", buyer, count());
  return {bytes_ + line_at_[buyer - 1], line_at_[buyer] - line_at_[buyer - 1] - 1};
}

}  // namespace weir::crowd
