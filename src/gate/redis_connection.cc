#include "gate/redis_connection.h"

#include "config/limits.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace weir {
namespace {

constexpr int kMajorMin = 6;
constexpr int kMinorMin = 2;

/// The value of `name:value` in an answer of INFO; empty if it is not there.
std::string fact(std::string_view info, std::string_view name) {
  std::size_t at = 0;
  while (at < info.size()) {
    const std::size_t end = std::min(info.find("\r\n", at), info.size());
    const std::string_view line = info.substr(at, end - at);
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ':') {
      return std::string(line.substr(name.size() + 1));
    }
    at = end + 2;
  }
  return {};
}

bool is_new_enough(std::string_view version) {
  int major = 0;
  int minor = 0;
  const auto [dot, problem] = std::from_chars(version.begin(), version.end(), major);
  if (problem != std::errc{} || dot == version.end()) return false;
  std::from_chars(dot + 1, version.end(), minor);
  return std::pair(major, minor) >= std::pair(kMajorMin, kMinorMin);
}

}  // namespace

RedisConnection::RedisConnection(RedisAddress address, std::unique_ptr<RedisStream> stream, const Clock& clock)
    : address_(std::move(address)), stream_(std::move(stream)), clock_(clock) {}

Result<std::unique_ptr<RedisConnection>> RedisConnection::open(const RedisAddress& address, const RedisLogin& login,
                                                               const RedisTls* tls, const Clock& clock,
                                                               Deadline deadline) {
  const auto named = [&](const Error& why) {
    return fail(why.failure, fmt::format("Redis at {}: {}", address.text(), why.message));
  };
  auto stream = RedisStream::connect(address, tls, clock, deadline);
  if (!stream) return named(stream.error());
  std::unique_ptr<RedisConnection> made(new RedisConnection(address, std::move(*stream), clock));
  if (auto done = made->sign_in(login, deadline); !done) return std::unexpected(done.error());
  if (auto done = made->read_facts(deadline); !done) return std::unexpected(done.error());
  if (auto done = made->check_facts(); !done) return named(done.error());
  return made;
}

std::unexpected<Error> RedisConnection::broken(const Error& why) {
  is_broken_ = true;
  return fail(why.failure, fmt::format("Redis at {}: {}", address_.text(), why.message));
}

bool RedisConnection::is_usable() { return !is_broken_ && under_way_ == 0 && !stream_->is_stale(); }

Result<void> RedisConnection::flush(Deadline deadline) {
  const std::string bytes = std::exchange(out_, {});
  if (is_broken_) return broken({Failure::unavailable, "the connection is broken"});
  if (auto sent = stream_->write(bytes, deadline); !sent) return broken(sent.error());
  return {};
}

Result<RedisReply> RedisConnection::receive(Deadline deadline) {
  if (is_broken_) return broken({Failure::unavailable, "the connection is broken"});
  std::array<char, kRedisReadBytes> bytes;
  for (;;) {  // Ends at the deadline.
    auto reply = reader_.next();
    if (!reply) return broken(reply.error());
    if (*reply) {
      --under_way_;
      return std::move(**reply);
    }
    const auto got = stream_->read(bytes, deadline);
    if (!got) return broken(got.error());
    if (auto fed = reader_.feed({bytes.data(), *got}); !fed) return broken(fed.error());
  }
}

Result<RedisReply> RedisConnection::ask(const RedisCommand& command, Deadline deadline) {
  queue(command);
  if (auto sent = flush(deadline); !sent) return std::unexpected(sent.error());
  return receive(deadline);
}

Result<void> RedisConnection::sign_in(const RedisLogin& login, Deadline deadline) {
  if (login.password.empty()) return {};
  const RedisCommand command =
      login.user.empty() ? RedisCommand{"AUTH", login.password} : RedisCommand{"AUTH", login.user, login.password};
  const auto reply = ask(command, deadline);
  if (!reply) return std::unexpected(reply.error());
  if (!reply->is_error()) return {};
  if (reply->is_error("LOADING")) return broken({Failure::unavailable, "it is loading its data"});
  return broken({Failure::unfit, fmt::format("it refuses the user or the password ({}); see `redis.user` and "
                                             "`redis.password_file`",
                                             reply->text.substr(0, reply->text.find(' ')))});
}

Result<void> RedisConnection::read_facts(Deadline deadline) {
  for (const char* const section : {"server", "memory", "cluster", "replication"}) queue({"INFO", section});
  if (auto sent = flush(deadline); !sent) return std::unexpected(sent.error());
  std::array<RedisReply, 4> replies;
  for (RedisReply& reply : replies) {
    auto received = receive(deadline);
    if (!received) return std::unexpected(received.error());
    reply = std::move(*received);
    if (reply.is_error("NOAUTH")) return broken({Failure::unfit, "it asks for a password; see `redis.password_file`"});
    if (reply.is_error("NOPERM")) return broken({Failure::unfit, "the user may not call INFO; see `redis.user`"});
    if (reply.is_error())
      return broken({Failure::unavailable, fmt::format("it does not say who it is: {}", reply.text)});
  }
  facts_.version = fact(replies[0].text, "redis_version");
  facts_.run_id = fact(replies[0].text, "run_id");
  facts_.eviction = fact(replies[1].text, "maxmemory_policy");
  facts_.is_cluster = fact(replies[2].text, "cluster_enabled") == "1";
  take_history(replies[3]);
  return {};
}

void RedisConnection::take_history(const RedisReply& replication) {
  facts_.replication_id = fact(replication.text, "master_replid");
  facts_.is_primary = fact(replication.text, "role") == "master";
  pin_ = facts_.pin();
  pin_asked_at_ = clock_.ticks();
}

Result<void> RedisConnection::check_facts() const {
  if (!is_new_enough(facts_.version)) {
    return fail(Failure::unfit,
                fmt::format("version {} is too old; {}.{} or newer is needed", facts_.version, kMajorMin, kMinorMin));
  }
  if (facts_.run_id.empty() || facts_.replication_id.empty()) {
    return fail(Failure::unfit, "it does not tell `run_id` and `master_replid`, so it cannot be pinned");
  }
  if (facts_.eviction != "noeviction") {
    return fail(Failure::unfit,
                fmt::format("`maxmemory-policy` is {} and would throw orders away; set it to noeviction",
                            facts_.eviction.empty() ? "unknown" : facts_.eviction));
  }
  return {};
}

Result<void> RedisConnection::ask_pin(Deadline deadline) {
  const auto reply = ask({"INFO", "replication"}, deadline);
  if (!reply) return std::unexpected(reply.error());
  if (reply->is_error()) return broken({Failure::unavailable, reply->text});
  take_history(*reply);
  return {};
}

}  // namespace weir
