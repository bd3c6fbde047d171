#pragma once

#include "base/result.h"
#include "base/time.h"
#include "gate/redis_reply.h"
#include "gate/redis_stream.h"

#include <array>
#include <memory>
#include <string>

namespace weir {

/// Who we are to a server. The password never appears in a message.
struct RedisLogin {
  std::string user;  // Empty: the default user.
  std::string password;
};

/// What a server said about itself.
struct RedisFacts {
  std::string version;
  std::string run_id;          // Of the process: another one after every start.
  std::string replication_id;  // Of the history of writes that it continues.
  std::string eviction;        // `maxmemory_policy`.
  bool is_cluster = false;
  bool is_primary = false;

  /// The one process with the one history. Every failover, restart, full synchronisation and move to another node
  /// changes it.
  [[nodiscard]] std::string pin() const { return run_id + ":" + replication_id; }
};

/// A connection to one Redis server, over which commands go out in a row and their answers come back in order.
///
/// Threads: one owner thread. Blocking: `flush`, `receive` and `ask_pin` until the deadline.
/// Failures: after one the connection is broken and answers nothing more: an answer that comes late must not be taken
/// for the next one. Whether the commands that were sent have run is then unknown.
class RedisConnection {
 public:
  /// Connects, signs in and reads the facts. Failures: `unavailable`, or `unfit` for a password that is wrong, a
  /// certificate that is not trusted, a Redis before 6.2, and a policy that evicts.
  [[nodiscard]] static Result<std::unique_ptr<RedisConnection>> open(const RedisAddress& address,
                                                                     const RedisLogin& login, const RedisTls* tls,
                                                                     const Clock& clock, Deadline deadline);

  [[nodiscard]] const RedisAddress& address() const { return address_; }
  [[nodiscard]] const RedisFacts& facts() const { return facts_; }
  [[nodiscard]] const std::string& pin() const { return pin_; }
  [[nodiscard]] Ticks pin_asked_at() const { return pin_asked_at_; }
  /// False once something failed, or when the server has closed it. Never waits.
  [[nodiscard]] bool is_usable();

  /// `first` goes before the words of `command`.
  void queue(const RedisCommand& command, const RedisCommand& first = RedisCommand()) {
    command.write(out_, first);
    ++under_way_;
  }
  [[nodiscard]] Result<void> flush(Deadline deadline);
  [[nodiscard]] Result<RedisReply> receive(Deadline deadline);

  /// One command and its answer. Requires: nothing is under way.
  [[nodiscard]] Result<RedisReply> ask(const RedisCommand& command, Deadline deadline);
  /// Asks who it is now. The process stays the same on a connection; the history may not.
  [[nodiscard]] Result<void> ask_pin(Deadline deadline);

 private:
  RedisConnection(RedisAddress address, std::unique_ptr<RedisStream> stream, const Clock& clock);

  [[nodiscard]] Result<void> sign_in(const RedisLogin& login, Deadline deadline);
  [[nodiscard]] Result<void> read_facts(Deadline deadline);
  [[nodiscard]] Result<void> check_facts() const;
  [[nodiscard]] std::unexpected<Error> broken(const Error& why);
  void take_history(const RedisReply& replication);

  RedisAddress address_;
  std::unique_ptr<RedisStream> stream_;
  const Clock& clock_;
  RedisReader reader_;
  RedisFacts facts_;
  std::string pin_;
  Ticks pin_asked_at_;
  std::string out_;
  bool is_broken_ = false;
  std::size_t under_way_ = 0;  // Commands without an answer.
};

}  // namespace weir
