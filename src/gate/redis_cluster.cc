#include "gate/redis_cluster.h"

#include "config/limits.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace weir {
namespace {

/// The node in `MOVED 3999 host:port` and `ASK …`. A server that does not know its own host leaves it empty, or `?`.
std::optional<RedisAddress> redirect_in(const RedisReply& reply, const std::string& host) {
  const std::size_t space = reply.text.rfind(' ');
  if (space == std::string::npos) return std::nullopt;
  std::string_view where = std::string_view(reply.text).substr(space + 1);
  if (where.starts_with("?:")) where.remove_prefix(1);
  return RedisAddress::parse(where.starts_with(':') ? host + std::string(where) : std::string(where));
}

/// Errors with which a server says that it did nothing because of its place in the cluster or its state.
bool is_passing(const RedisReply& reply) {
  return reply.is_error("TRYAGAIN") || reply.is_error("CLUSTERDOWN") || reply.is_error("LOADING") ||
         reply.is_error("MASTERDOWN") || reply.is_error("READONLY") || reply.is_error("BUSY") ||
         reply.is_error("NOREPLICAS") || reply.is_error("MISCONF") || reply.is_error("UNBLOCKED");
}

void queue(RedisConnection& connection, const RedisRequest& request, bool whole_script) {
  if (request.script == nullptr) {
    connection.queue(request.command);
  } else if (whole_script) {
    connection.queue(request.command, {"EVAL", request.script->text});
  } else {
    connection.queue(request.command, {"EVALSHA", request.script->sha});
  }
}

void settle(RedisRequest& request, Result<RedisReply> reply) {
  if (!reply) {
    request.outcome = RedisOutcome::timed_out;
    request.message = reply.error().message;
    return;
  }
  request.outcome = RedisOutcome::answered;
  request.reply = std::move(*reply);
}

/// What an error means that no other node cures. One that is not known here is left to the caller.
void conclude(RedisRequest& request) {
  if (request.outcome != RedisOutcome::answered || !request.reply.is_error()) return;
  const RedisReply& error = request.reply;
  if (error.is_error("OOM")) {
    request.outcome = RedisOutcome::unavailable;
    request.message = fmt::format("Redis at {} is out of memory; raise its `maxmemory`", request.answered_at);
  } else if (error.is_error("NOPERM") || error.is_error("NOAUTH")) {
    request.outcome = RedisOutcome::unfit;
    request.message = fmt::format("Redis at {}: {}; see `redis.user`", request.answered_at, error.text);
  } else if (is_passing(error) || error.is_error("MOVED") || error.is_error("ASK") || error.is_error("NOSCRIPT")) {
    request.outcome = RedisOutcome::unavailable;
    request.message = fmt::format("Redis at {}: {}", request.answered_at, error.text);
  }
}

/// Errors after which the cluster's map is worth reading again.
bool is_of_the_map(const RedisReply& reply) { return reply.is_error("CLUSTERDOWN") || reply.is_error("READONLY"); }

}  // namespace

RedisCluster::RedisCluster(RedisServers servers, const Clock& clock, Random& random)
    : servers_(std::move(servers)), clock_(clock), random_(random) {}

Result<void> RedisCluster::start(Deadline deadline) {
  seeds_.clear();
  for (const std::string& node : servers_.nodes) {
    const auto address = RedisAddress::parse(node);
    if (!address) return fail(Failure::unfit, fmt::format("`redis.nodes`: {} is no host:port", node));
    seeds_.push_back(*address);
  }
  if (seeds_.empty()) return fail(Failure::unfit, "`redis.nodes` is empty");
  if (servers_.tls && !tls_) {
    auto loaded = RedisTls::load(servers_.tls_ca_file);
    if (!loaded) return std::unexpected(loaded.error());
    tls_ = std::move(*loaded);
  }
  if (auto read = read_map(deadline); !read) return read;
  const std::vector<RedisAddress> owners = owners_;
  for (const RedisAddress& address : owners) {
    const auto connected = connect(address, deadline);
    if (!connected) return std::unexpected(connected.error());
  }
  return {};
}

Result<RedisCluster::Connection> RedisCluster::connect(const RedisAddress& address, Deadline deadline) {
  Node& node = nodes_[address];
  if (node.connection && node.connection->is_usable()) return node.connection;
  node.connection.reset();
  const Ticks now = clock_.ticks();
  if (now < node.next_try) return std::unexpected(node.last_error);
  auto made = RedisConnection::open(address, servers_.login, tls_.get(), clock_,
                                    std::min(deadline, now + Micros{kRedisConnectUs}));
  if (made) {
    node.failures = 0;
    node.connection = std::move(*made);
    return node.connection;
  }
  const std::int64_t longest = std::min(kRedisBackOffUs << std::min(node.failures, 10), kRedisBackOffMaxUs);
  const auto half = static_cast<std::uint64_t>(longest / 2);
  node.next_try = clock_.ticks() + Micros{longest / 2 + static_cast<std::int64_t>(random_.below(half + 1))};
  ++node.failures;
  node.last_error = made.error();
  if (made.error().failure == Failure::unavailable) node.last_error.message += "; see `redis.nodes`";
  return std::unexpected(node.last_error);
}

Result<RedisCluster::Connection> RedisCluster::owner(int slot, Deadline deadline) {
  const std::uint16_t place = owner_of_[static_cast<std::size_t>(slot)];
  if (place == 0) return fail(Failure::unavailable, fmt::format("no Redis node is known to hold slot {}", slot));
  const RedisAddress address = owners_[place - 1U];
  return connect(address, deadline);
}

Result<void> RedisCluster::read_map(Deadline deadline) {
  map_read_at_ = clock_.ticks();
  // Who is connected answers soonest; after them the nodes of the present map, then the seeds.
  std::vector<RedisAddress> asked;
  for (auto& [address, node] : nodes_) {
    if (node.connection && node.connection->is_usable()) asked.push_back(address);
  }
  asked.insert(asked.end(), owners_.begin(), owners_.end());
  asked.insert(asked.end(), seeds_.begin(), seeds_.end());
  Result<void> result = fail(Failure::unavailable, "no Redis node was asked; see `redis.nodes`");
  std::set<RedisAddress> tried;
  for (const RedisAddress& address : asked) {
    if (!tried.insert(address).second) continue;
    if (tried.size() > static_cast<std::size_t>(kRedisMapTriesMax) || clock_.ticks() >= deadline) break;
    const auto connection = connect(address, deadline);
    if (!connection) {
      // What an operator has to mend says more than a node that is away.
      if (result || result.error().failure != Failure::unfit) result = std::unexpected(connection.error());
      continue;
    }
    result = read_map_from(**connection, deadline);
    if (result) return result;
  }
  return result;
}

Result<void> RedisCluster::read_map_from(RedisConnection& connection, Deadline deadline) {
  if (!connection.facts().is_cluster) {
    if (!connection.facts().is_primary) {
      return fail(Failure::unavailable, fmt::format("Redis at {} is a replica; name its primary in `redis.nodes`",
                                                    connection.address().text()));
    }
    owners_ = {connection.address()};
    owner_of_.fill(1);
    return {};
  }
  const auto reply = connection.ask({"CLUSTER", "SLOTS"}, std::min(deadline, clock_.ticks() + Micros{kRedisConnectUs}));
  if (!reply) return std::unexpected(reply.error());
  if (reply->is_error() || !take_map(*reply, connection.address().host)) {
    return fail(Failure::unavailable, fmt::format("Redis at {} does not tell who holds which slot: {}",
                                                  connection.address().text(), reply->text));
  }
  forget_strangers();
  return {};
}

bool RedisCluster::take_map(const RedisReply& ranges, const std::string& asked_host) {
  std::vector<RedisAddress> owners;
  std::array<std::uint16_t, kRedisSlots> owner_of{};
  for (const RedisReply& range : ranges.items) {
    const auto first = range.at(0).number();
    const auto last = range.at(1).number();
    const auto port = range.at(2).at(1).number();
    if (!first || !last || !port || *first < 0 || *last >= kRedisSlots || *first > *last || *port < 1 || *port > 65'535)
      return false;
    const std::string& host = range.at(2).at(0).text;
    const RedisAddress address{host.empty() ? asked_host : host, static_cast<std::uint16_t>(*port)};
    auto place = std::find(owners.begin(), owners.end(), address);
    if (place == owners.end()) {
      if (owners.size() == kRedisNodesMax) return false;
      place = owners.insert(owners.end(), address);
    }
    const auto number = static_cast<std::uint16_t>(place - owners.begin() + 1);
    std::fill(owner_of.begin() + *first, owner_of.begin() + *last + 1, number);
  }
  if (owners.empty()) return false;
  owners_ = std::move(owners);
  owner_of_ = owner_of;
  return true;
}

void RedisCluster::forget_strangers() {
  std::erase_if(nodes_, [this](const auto& entry) {
    const auto is_in = [&](const std::vector<RedisAddress>& list) {
      return std::find(list.begin(), list.end(), entry.first) != list.end();
    };
    return !is_in(owners_) && !is_in(seeds_);
  });
}

bool RedisCluster::refresh_map(Deadline deadline) {
  if (clock_.ticks() - map_read_at_ < Micros{kRedisMapAgeMinUs}) return false;
  return read_map(deadline).has_value();
}

bool RedisCluster::move_slot(int slot, const RedisAddress& to) {
  auto place = std::find(owners_.begin(), owners_.end(), to);
  if (place == owners_.end()) {
    if (owners_.size() == kRedisNodesMax) return false;
    place = owners_.insert(owners_.end(), to);
  }
  owner_of_[static_cast<std::size_t>(slot)] = static_cast<std::uint16_t>(place - owners_.begin() + 1);
  return true;
}

bool RedisCluster::check_pin(RedisRequest& request, RedisConnection& connection, Deadline deadline) {
  request.answered_by = connection.pin();
  request.answered_at = connection.address().host;
  request.outcome = RedisOutcome::unavailable;
  if (clock_.ticks() >= deadline) {
    request.message = "the deadline passed before anything was sent";
    return false;
  }
  if (request.asks_anew || clock_.ticks() - connection.pin_asked_at() >= Micros{kGatePinAgeUs}) {
    if (auto asked = connection.ask_pin(deadline); !asked) {
      request.message = asked.error().message;
      return false;
    }
    request.answered_by = connection.pin();
  }
  if (!request.wants_pin || request.pin == connection.pin()) return true;
  request.outcome = RedisOutcome::wrong_pin;
  request.message =
      fmt::format("slot {} is held by Redis at {}, process {}, and the gate was built on {}", request.slot,
                  connection.address().text(), connection.pin(), request.pin.empty() ? "none yet" : request.pin);
  return false;
}

RedisCluster::Connection RedisCluster::admit(RedisRequest& request, Result<Connection> found, Deadline deadline) {
  if (!found) {
    request.outcome = found.error().failure == Failure::unfit ? RedisOutcome::unfit : RedisOutcome::unavailable;
    request.message = found.error().message;
    return nullptr;
  }
  return check_pin(request, **found, deadline) ? *found : nullptr;
}

RedisCluster::Connection RedisCluster::find(RedisRequest& request, Deadline deadline) {
  Connection found = admit(request, owner(request.slot, deadline), deadline);
  if (found || request.outcome == RedisOutcome::unfit) return found;
  // The node is away, or another one than was wanted: perhaps the map is old.
  if (!refresh_map(deadline)) return nullptr;
  return admit(request, owner(request.slot, deadline), deadline);
}

void RedisCluster::exchange(RedisRequest& request, RedisConnection& connection, bool whole_script, bool is_asking,
                            Deadline deadline) {
  if (is_asking) connection.queue({"ASKING"});
  queue(connection, request, whole_script);
  auto sent = connection.flush(deadline);
  Result<RedisReply> reply = RedisReply{};
  if (!sent) reply = std::unexpected(sent.error());
  if (reply && is_asking) reply = connection.receive(deadline);
  if (reply) reply = connection.receive(deadline);
  settle(request, std::move(reply));
}

void RedisCluster::run(std::span<RedisRequest> requests, Deadline deadline) {
  // Connections first: looking for one may ask questions of its own, and nothing may be under way then.
  std::vector<Connection> connections(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) connections[i] = find(requests[i], deadline);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (connections[i] && !check_pin(requests[i], *connections[i], deadline)) connections[i] = nullptr;
  }
  std::set<RedisConnection*> distinct;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!connections[i]) continue;
    queue(*connections[i], requests[i], false);
    distinct.insert(connections[i].get());
  }
  // A failure shows again when the answer is awaited.
  for (RedisConnection* const one : distinct) static_cast<void>(one->flush(deadline));
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (connections[i]) settle(requests[i], connections[i]->receive(deadline));
  }
  for (RedisRequest& request : requests) pursue(request, deadline);
}

void RedisCluster::pursue(RedisRequest& request, Deadline deadline) {
  bool whole_script = false;
  std::optional<RedisAddress> importer;  // Who is taking the slot over just now.
  for (int i = 0; i < kRedisRedirectsMax; ++i) {
    if (request.outcome != RedisOutcome::answered || !request.reply.is_error()) return;
    const RedisReply& error = request.reply;
    const auto redirect = redirect_in(error, request.answered_at);
    if (error.is_error("NOSCRIPT")) {
      whole_script = true;
    } else if (error.is_error("MOVED")) {
      importer.reset();
      if (!redirect || !move_slot(request.slot, *redirect)) break;
    } else if (error.is_error("ASK")) {
      importer = redirect;
      if (!importer) break;
    } else if (is_of_the_map(error) && refresh_map(deadline)) {
      importer.reset();
    } else {
      break;
    }
    const Connection connection =
        importer ? admit(request, connect(*importer, deadline), deadline) : find(request, deadline);
    if (!connection) return;
    exchange(request, *connection, whole_script, importer.has_value(), deadline);
  }
  conclude(request);
}

}  // namespace weir
