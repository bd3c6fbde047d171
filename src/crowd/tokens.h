#pragma once

#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weir::crowd {

/// The bearer tokens of a crowd: buyer N presents token N, counted from 1.
///
/// Threads: never changes once made. Blocking: never; file pages are touched when the source is opened.
class TokenSource {
 public:
  virtual ~TokenSource() = default;
  [[nodiscard]] virtual std::size_t count() const = 0;
  /// Requires 1 <= buyer <= count().
  [[nodiscard]] virtual std::string_view token(std::uint32_t buyer) const = 0;
};

/// Tokens that are in memory already.
class TokenList final : public TokenSource {
 public:
  explicit TokenList(std::vector<std::string> tokens) : tokens_(std::move(tokens)) {}
  [[nodiscard]] std::size_t count() const override { return tokens_.size(); }
  [[nodiscard]] std::string_view token(std::uint32_t buyer) const override { return tokens_[buyer - 1]; }

 private:
  std::vector<std::string> tokens_;
};

/// A file with one token a line, mapped into memory.
class TokenFile final : public TokenSource {
 public:
  /// Fails with `unfit`: no such file, an empty line, a line beyond kTokenBytesMax, or a byte that no token has (it
  /// could forge a header). The message names the line.
  [[nodiscard]] static Result<std::unique_ptr<TokenFile>> open(const std::string& path);
  ~TokenFile() override;
  TokenFile(const TokenFile&) = delete;
  TokenFile& operator=(const TokenFile&) = delete;

  [[nodiscard]] std::size_t count() const override { return line_at_.size() - 1; }
  [[nodiscard]] std::string_view token(std::uint32_t buyer) const override;

 private:
  TokenFile(const char* bytes, std::size_t size) : bytes_(bytes), size_(size) {}
  [[nodiscard]] Result<void> index_lines(const std::string& path);

  const char* bytes_;
  std::size_t size_;
  std::vector<std::uint64_t> line_at_;  // Where each line begins; the last entry is where a next one would.
};

}  // namespace weir::crowd
