#pragma once

#include "base/result.h"
#include "base/system_clock.h"
#include "gate/redis_connection.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace weir {

/// Null when real servers can be started here; else why not. For tests that say that they were skipped.
[[nodiscard]] std::optional<std::string> redis_is_missing();

/// Looks again and again, a few milliseconds apart, until `done` says true; false when `limit` has passed before.
[[nodiscard]] bool wait_until(const std::function<bool()>& done, Micros limit = Micros{30'000'000});

/// A port of this machine that nobody listens on.
[[nodiscard]] std::uint16_t free_port();

/// A temporary folder with all that is in it, until the end of its life.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// A `redis-server` of our own on a private port, with its own folder. For tests.
///
/// Ends with this object, and with the process that made it, even if that is killed.
class RedisServer {
 public:
  /// `settings` go on the command line, as `--name value` each.
  explicit RedisServer(std::vector<std::string> settings = {});
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  void start();
  /// `kill -9`: what it had in memory is gone.
  void kill();
  void freeze();  // SIGSTOP: it is there and does not answer.
  void thaw();

  /// Writes what it has to its file, and keeps that aside for `restart_from_snapshot`.
  void take_snapshot();
  void restart_empty();
  void restart_from_snapshot();

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string address() const;
  [[nodiscard]] const std::string& folder() const { return folder_.path(); }

  /// One command, its words separated by spaces, over a connection of the bed's own.
  RedisReply ask(std::string_view command);
  RedisReply ask(const RedisCommand& command);
  /// The value of `name:value` in INFO.
  [[nodiscard]] std::string info(std::string_view name);
  /// Whether this process is the primary of its shard.
  [[nodiscard]] bool is_primary() { return info("role") == "master"; }

 private:
  [[nodiscard]] bool answers();

  TestFolder folder_;
  std::vector<std::string> settings_;
  std::uint16_t port_ = 0;
  pid_t pid_ = -1;
  std::unique_ptr<RedisStream> stream_;
  std::unique_ptr<RedisReader> reader_;
};

/// Six servers as a Redis Cluster: three primaries, a replica each. For tests.
class RedisClusterBed {
 public:
  RedisClusterBed();

  [[nodiscard]] std::vector<std::string> addresses() const;
  [[nodiscard]] std::vector<std::unique_ptr<RedisServer>>& servers() { return servers_; }
  /// The primary that holds the slot of this key now, and a replica of it.
  [[nodiscard]] RedisServer& owner_of(std::string_view key);
  [[nodiscard]] RedisServer& replica_of(RedisServer& primary);
  /// Until every server says that all is well and every replica follows.
  [[nodiscard]] bool is_whole(Micros limit = Micros{30'000'000});

  /// A planned change of places: the replica takes over without loss.
  void fail_over_to(RedisServer& replica);
  /// Moves the slot of this key with all its keys to another primary.
  void move_slot(std::string_view key);
  /// Begins the move and leaves it half done: the slot is being imported, its keys are still where they were.
  void begin_to_move_slot(std::string_view key);

 private:
  [[nodiscard]] std::string node_id(RedisServer& server);
  [[nodiscard]] RedisServer& other_primary(RedisServer& than);

  std::vector<std::unique_ptr<RedisServer>> servers_;
};

}  // namespace weir
