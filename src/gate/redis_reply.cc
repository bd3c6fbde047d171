#include "gate/redis_reply.h"

#include "config/limits.h"

#include <charconv>

#include <fmt/format.h>
#include <hiredis/hiredis.h>

namespace weir {
namespace {

/// Depth is bounded by the reader, which takes seven lists in each other.
RedisReply value_of(const redisReply& from) {
  RedisReply made;
  switch (from.type) {
    case REDIS_REPLY_STATUS: made.kind = RedisReply::Kind::status; break;
    case REDIS_REPLY_ERROR: made.kind = RedisReply::Kind::error; break;
    case REDIS_REPLY_STRING: made.kind = RedisReply::Kind::text; break;
    case REDIS_REPLY_INTEGER:
      made.kind = RedisReply::Kind::integer;
      made.integer = from.integer;
      return made;
    case REDIS_REPLY_ARRAY:
      made.kind = RedisReply::Kind::list;
      made.items.reserve(from.elements);
      for (std::size_t i = 0; i < from.elements; ++i) made.items.push_back(value_of(*from.element[i]));
      return made;
    default: return made;
  }
  made.text.assign(from.str, from.len);
  return made;
}

}  // namespace

bool RedisReply::is_error(std::string_view code) const {
  return kind == Kind::error && text.starts_with(code) && (text.size() == code.size() || text[code.size()] == ' ');
}

const RedisReply& RedisReply::at(std::size_t place) const {
  static const RedisReply kNothing;
  return place < items.size() ? items[place] : kNothing;
}

std::optional<std::int64_t> RedisReply::number() const {
  if (kind == Kind::integer) return integer;
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  if (text.empty() || problem != std::errc{} || stop != end) return std::nullopt;
  return value;
}

void RedisReader::Free::operator()(redisReader* reader) const { redisReaderFree(reader); }

RedisReader::RedisReader() : reader_(redisReaderCreate()) {}
RedisReader::~RedisReader() = default;

Result<void> RedisReader::feed(std::string_view bytes) {
  if (reader_->len - reader_->pos + bytes.size() > kRedisReplyBytesMax) {
    return fail(Failure::unavailable,
                fmt::format("an answer is longer than kRedisReplyBytesMax={}", kRedisReplyBytesMax));
  }
  if (redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) != REDIS_OK) {
    return fail(Failure::unavailable, fmt::format("what was received is not Redis's protocol: {}", reader_->errstr));
  }
  return {};
}

Result<std::optional<RedisReply>> RedisReader::next() {
  void* found = nullptr;
  if (redisReaderGetReply(reader_.get(), &found) != REDIS_OK) {
    return fail(Failure::unavailable, fmt::format("what was received is not Redis's protocol: {}", reader_->errstr));
  }
  if (found == nullptr) return std::nullopt;
  const std::unique_ptr<void, decltype(&freeReplyObject)> owned(found, freeReplyObject);
  return value_of(*static_cast<const redisReply*>(found));
}

RedisCommand& RedisCommand::add(std::string_view word) {
  fmt::format_to(std::back_inserter(body_), "${}\r\n", word.size());
  body_.append(word);
  body_.append("\r\n");
  ++words_;
  return *this;
}

RedisCommand& RedisCommand::add(std::int64_t number) {
  const fmt::format_int text(number);
  return add(std::string_view(text.data(), text.size()));
}

RedisCommand& RedisCommand::add(const RedisCommand& words) {
  body_.append(words.body_);
  words_ += words.words_;
  return *this;
}

void RedisCommand::write(std::string& out, const RedisCommand& first) const {
  fmt::format_to(std::back_inserter(out), "*{}\r\n", first.words_ + words_);
  out.append(first.body_);
  out.append(body_);
}

}  // namespace weir
