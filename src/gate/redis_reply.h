#pragma once

#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct redisReader;

namespace weir {

/// One answer of a Redis server, as a value.
struct RedisReply {
  enum class Kind : std::uint8_t { nothing, status, error, integer, text, list };

  Kind kind = Kind::nothing;
  std::int64_t integer = 0;
  std::string text;  // `status`, `error`, `text`.
  std::vector<RedisReply> items;

  [[nodiscard]] bool is_error() const { return kind == Kind::error; }
  /// Whether it is an error whose first word is this one.
  [[nodiscard]] bool is_error(std::string_view code) const;
  /// The element, or an answer of kind `nothing` where there is none.
  [[nodiscard]] const RedisReply& at(std::size_t place) const;
  /// An integer, also where it is spelled as text. Null if it is neither.
  [[nodiscard]] std::optional<std::int64_t> number() const;
};

/// Cuts a stream of bytes into answers.
///
/// Invariant: holds at most kRedisReplyBytesMax bytes that are no whole answer yet. Threads: one owner.
class RedisReader {
 public:
  RedisReader();
  ~RedisReader();
  RedisReader(const RedisReader&) = delete;
  RedisReader& operator=(const RedisReader&) = delete;

  /// Failures: `unavailable` when the bytes are not Redis's protocol or an answer is too long. Then the stream is lost.
  [[nodiscard]] Result<void> feed(std::string_view bytes);
  /// The next whole answer; null when more bytes are needed.
  [[nodiscard]] Result<std::optional<RedisReply>> next();

 private:
  struct Free {
    void operator()(redisReader* reader) const;
  };
  std::unique_ptr<redisReader, Free> reader_;
};

/// A command as Redis reads it: a list of words, each with its length in front, so that a word may hold any byte.
class RedisCommand {
 public:
  RedisCommand() = default;
  RedisCommand(std::initializer_list<std::string_view> words) {
    for (const std::string_view word : words) add(word);
  }

  RedisCommand& add(std::string_view word);
  RedisCommand& add(std::int64_t number);
  RedisCommand& add(const RedisCommand& words);

  [[nodiscard]] std::size_t words() const { return words_; }
  /// Appends the whole command to what will be sent, `first` before it.
  void write(std::string& out, const RedisCommand& first) const;

 private:
  std::size_t words_ = 0;
  std::string body_;
};

}  // namespace weir
