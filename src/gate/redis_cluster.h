#pragma once

#include "base/random.h"
#include "base/result.h"
#include "base/time.h"
#include "gate/redis_connection.h"
#include "gate/redis_reply.h"
#include "gate/redis_scripts.h"
#include "gate/redis_slot.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

struct RedisServers {
  std::vector<std::string> nodes;  // `host:port`; of a cluster, some of its nodes.
  RedisLogin login;
  bool tls = false;
  std::string tls_ca_file;  // Empty: what the machine trusts.
};

enum class RedisOutcome : std::uint8_t {
  answered,     // See `reply`; it may still be an error that no other node cures.
  wrong_pin,    // Who answers for the slot is not who was wanted. Nothing happened.
  unavailable,  // Nothing happened.
  timed_out,    // It may have happened.
  unfit,        // Nothing happened: a setting is wrong.
};

/// A command to whoever holds a slot, and what became of it.
struct RedisRequest {
  int slot = 0;
  bool wants_pin = false;  // Only the process `pin` may run it.
  bool asks_anew = false;  // However young its last answer is.
  std::string_view pin;
  const RedisScript* script = nullptr;  // `command` is then what follows the script's name.
  RedisCommand command;
  std::int64_t writes_before = 0;  // For the caller: what he knew when he asked.

  RedisOutcome outcome = RedisOutcome::unavailable;
  RedisReply reply;
  std::string answered_by;  // The pin of who answered, or would have.
  std::string answered_at;  // His host.
  std::string message;      // When it was not answered: why, for the operator.
};

/// Redis servers as one: finds who holds a slot, follows redirects, connects again. A single server holds every slot.
///
/// Redirects are followed a bounded number of times and never lead past a pin. A node that cannot be reached is left
/// alone for a while that doubles and is spread by chance; a call in that time fails at once. Nothing here sleeps.
///
/// Threads: one owner thread. Blocking: until the deadline.
class RedisCluster {
 public:
  RedisCluster(RedisServers servers, const Clock& clock, Random& random);

  /// Connects to every server that holds slots. Failures: `unfit`, naming the setting or the server's; `unavailable`
  /// when none can be reached.
  [[nodiscard]] Result<void> start(Deadline deadline);

  /// Runs requests: those to one node are sent together. Every one of them gets an outcome.
  void run(std::span<RedisRequest> requests, Deadline deadline);
  void run(RedisRequest& request, Deadline deadline) { run({&request, 1}, deadline); }

 private:
  // Shared, because a request may still wait on a connection that another one has replaced.
  using Connection = std::shared_ptr<RedisConnection>;
  struct Node {
    Connection connection;
    int failures = 0;  // In a row, to connect.
    Ticks next_try;
    Error last_error{Failure::unavailable, ""};
  };

  [[nodiscard]] Result<Connection> connect(const RedisAddress& address, Deadline deadline);
  [[nodiscard]] Result<Connection> owner(int slot, Deadline deadline);

  [[nodiscard]] Result<void> read_map(Deadline deadline);
  [[nodiscard]] Result<void> read_map_from(RedisConnection& connection, Deadline deadline);
  [[nodiscard]] bool take_map(const RedisReply& ranges, const std::string& asked_host);
  [[nodiscard]] bool refresh_map(Deadline deadline);
  [[nodiscard]] bool move_slot(int slot, const RedisAddress& to);
  void forget_strangers();

  // Each of these gives the request an outcome where it cannot go on.
  [[nodiscard]] Connection find(RedisRequest& request, Deadline deadline);
  [[nodiscard]] Connection admit(RedisRequest& request, Result<Connection> found, Deadline deadline);
  [[nodiscard]] bool check_pin(RedisRequest& request, RedisConnection& connection, Deadline deadline);
  void exchange(RedisRequest& request, RedisConnection& connection, bool whole_script, bool is_asking,
                Deadline deadline);
  void pursue(RedisRequest& request, Deadline deadline);

  RedisServers servers_;
  const Clock& clock_;
  Random& random_;
  std::unique_ptr<RedisTls> tls_;
  std::vector<RedisAddress> seeds_;
  std::map<RedisAddress, Node> nodes_;
  std::vector<RedisAddress> owners_;                   // Of ranges of slots.
  std::array<std::uint16_t, kRedisSlots> owner_of_{};  // By slot: 1 + place in `owners_`; 0: nobody is known.
  Ticks map_read_at_{INT64_MIN / 2};
};

}  // namespace weir
