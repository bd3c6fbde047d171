#include "gate/redis_bed.h"

#include "base/check.h"
#include "gate/redis_slot.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

namespace weir {
namespace {

constexpr Micros kAskWait{5'000'000};
constexpr int kLookEveryMs = 5;
constexpr const char* kServer = "/usr/bin/redis-server";

const SystemClock& clock_of_the_bed() {
  static const SystemClock kClock;
  return kClock;
}

std::string value_of(std::string_view info, std::string_view name) {
  const std::string start = fmt::format("\n{}:", name);
  const std::size_t at = info.find(start);
  if (at == std::string_view::npos) return {};
  const std::size_t from = at + start.size();
  return std::string(info.substr(from, info.find("\r\n", from) - from));
}

RedisCommand words_of(std::string_view command) {
  RedisCommand words;
  while (!command.empty()) {
    const std::size_t space = std::min(command.find(' '), command.size());
    if (space > 0) words.add(command.substr(0, space));
    command.remove_prefix(std::min(space + 1, command.size()));
  }
  return words;
}

/// Starts a program that ends with this process; its output goes to a file.
pid_t spawn(const std::vector<std::string>& words, const std::string& output) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  CHECK(pid >= 0);
  if (pid != 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  const int log = ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::execv(arguments[0], arguments.data());
  ::_exit(127);
}

}  // namespace

std::uint16_t free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  CHECK(fd >= 0 && ::bind(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0);
  CHECK(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  ::close(fd);
  return ntohs(address.sin_port);
}

std::optional<std::string> redis_is_missing() {
  if (::access(kServer, X_OK) == 0) return std::nullopt;
  return fmt::format("{} is not there; install the package redis-server", kServer);
}

bool wait_until(const std::function<bool()>& done, Micros limit) {
  const Ticks end = clock_of_the_bed().ticks() + limit;
  while (clock_of_the_bed().ticks() < end) {
    if (done()) return true;
    ::poll(nullptr, 0, kLookEveryMs);
  }
  return done();
}

TestFolder::TestFolder() {
  std::string pattern = std::filesystem::temp_directory_path() / "weir-redis-XXXXXX";
  CHECK(::mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}

TestFolder::~TestFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

RedisServer::RedisServer(std::vector<std::string> settings) : settings_(std::move(settings)), port_(free_port()) {}

RedisServer::~RedisServer() { kill(); }

std::string RedisServer::address() const { return fmt::format("127.0.0.1:{}", port_); }

void RedisServer::start() {
  CHECK(pid_ < 0);
  std::vector<std::string> words{
      kServer,        "--port", std::to_string(port_),        "--bind", "127.0.0.1", "--dir", folder(), "--save", "",
      "--appendonly", "no",     "--repl-diskless-sync-delay", "0"};
  words.insert(words.end(), settings_.begin(), settings_.end());
  pid_ = spawn(words, folder() + "/log");
  CHECK(wait_until([this] { return answers(); }), "redis-server on port {} does not answer", port_);
}

void RedisServer::kill() {
  stream_.reset();
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void RedisServer::freeze() { ::kill(pid_, SIGSTOP); }
void RedisServer::thaw() { ::kill(pid_, SIGCONT); }

void RedisServer::take_snapshot() {
  CHECK(!ask("SAVE").is_error());
  std::filesystem::copy_file(folder() + "/dump.rdb", folder() + "/aside.rdb",
                             std::filesystem::copy_options::overwrite_existing);
}

void RedisServer::restart_empty() {
  kill();
  std::filesystem::remove(folder() + "/dump.rdb");
  start();
}

void RedisServer::restart_from_snapshot() {
  kill();
  std::filesystem::copy_file(folder() + "/aside.rdb", folder() + "/dump.rdb",
                             std::filesystem::copy_options::overwrite_existing);
  start();
}

bool RedisServer::answers() {
  const RedisReply reply = ask("PING");
  return reply.text == "PONG" || reply.is_error("NOAUTH");
}

RedisReply RedisServer::ask(std::string_view command) { return ask(words_of(command)); }

RedisReply RedisServer::ask(const RedisCommand& command) {
  const Deadline deadline = clock_of_the_bed().ticks() + kAskWait;
  RedisReply failed;
  failed.kind = RedisReply::Kind::error;
  failed.text = "BED no answer";
  if (!stream_ || stream_->is_stale()) {
    auto stream = RedisStream::connect({"127.0.0.1", port_}, nullptr, clock_of_the_bed(), deadline);
    if (!stream) return failed;
    stream_ = std::move(*stream);
    reader_ = std::make_unique<RedisReader>();
  }
  std::string bytes;
  command.write(bytes, {});
  if (!stream_->write(bytes, deadline)) return failed;
  std::vector<char> into(1 << 16);
  for (;;) {  // Ends at the deadline.
    auto reply = reader_->next();
    if (reply && *reply) return std::move(**reply);
    const auto got = stream_->read(into, deadline);
    if (!got || !reader_->feed({into.data(), *got})) {
      stream_.reset();
      return failed;
    }
  }
}

std::string RedisServer::info(std::string_view name) { return value_of("\n" + ask("INFO").text, name); }

RedisClusterBed::RedisClusterBed() {
  for (int i = 0; i < 6; ++i) {
    auto& server = servers_.emplace_back(std::make_unique<RedisServer>(std::vector<std::string>{
        "--cluster-enabled", "yes", "--cluster-node-timeout", "1500", "--cluster-port", std::to_string(free_port())}));
    server->start();
  }
  for (int i = 0; i < 3; ++i) {
    const int first = i * kRedisSlots / 3;
    const int last = (i + 1) * kRedisSlots / 3 - 1;
    RedisServer& primary = *servers_[static_cast<std::size_t>(i)];
    CHECK(!primary.ask(fmt::format("CLUSTER ADDSLOTSRANGE {} {}", first, last)).is_error());
    CHECK(!primary.ask(fmt::format("CLUSTER SET-CONFIG-EPOCH {}", i + 1)).is_error());
  }
  for (auto& server : servers_) {
    const std::string bus = server->ask("CONFIG GET cluster-port").at(1).text;
    CHECK(!servers_[0]->ask(fmt::format("CLUSTER MEET 127.0.0.1 {} {}", server->port(), bus)).is_error());
  }
  for (std::size_t i = 3; i < 6; ++i) {
    const std::string primary = node_id(*servers_[i - 3]);
    CHECK(wait_until([&] { return !servers_[i]->ask("CLUSTER REPLICATE " + primary).is_error(); }));
  }
  CHECK(is_whole(), "six servers did not become a cluster");
}

std::vector<std::string> RedisClusterBed::addresses() const {
  std::vector<std::string> all;
  for (const auto& server : servers_) all.push_back(server->address());
  return all;
}

std::string RedisClusterBed::node_id(RedisServer& server) { return server.ask("CLUSTER MYID").text; }

RedisServer& RedisClusterBed::owner_of(std::string_view key) {
  const int slot = redis_slot(key);
  for (auto& asked : servers_) {
    const RedisReply ranges = asked->ask("CLUSTER SLOTS");
    for (const RedisReply& range : ranges.items) {
      if (slot < range.at(0).number().value_or(-1) || slot > range.at(1).number().value_or(-1)) continue;
      for (auto& server : servers_) {
        if (server->port() == range.at(2).at(1).number()) return *server;
      }
    }
  }
  CHECK(false, "nobody holds slot {}", slot);
  return *servers_[0];
}

RedisServer& RedisClusterBed::replica_of(RedisServer& primary) {
  const std::string port = std::to_string(primary.port());
  for (auto& server : servers_) {
    if (server->info("role") == "slave" && server->info("master_port") == port) return *server;
  }
  CHECK(false, "the server on port {} has no replica", port);
  return primary;
}

bool RedisClusterBed::is_whole(Micros limit) {
  return wait_until(
      [this] {
        return std::all_of(servers_.begin(), servers_.end(), [](const auto& server) {
          const std::string state = value_of("\n" + server->ask("CLUSTER INFO").text, "cluster_state");
          const std::string known = value_of("\n" + server->ask("CLUSTER INFO").text, "cluster_known_nodes");
          const std::string info = "\n" + server->ask("INFO replication").text;
          if (state != "ok" || known != "6") return false;
          return value_of(info, "role") == "master" ? value_of(info, "connected_slaves") == "1"
                                                    : value_of(info, "master_link_status") == "up";
        });
      },
      limit);
}

void RedisClusterBed::fail_over_to(RedisServer& replica) {
  // A primary votes only for whom it knows to be a replica, and the news of the last failover travels slowly.
  const std::string id = node_id(replica);
  CHECK(wait_until([&] {
    return std::all_of(servers_.begin(), servers_.end(), [&](const auto& server) {
      const std::string nodes = server->ask("CLUSTER NODES").text;
      const std::size_t at = nodes.find(id + " ");
      return at != std::string::npos && nodes.substr(at, nodes.find('\n', at) - at).find("slave ") != std::string::npos;
    });
  }));
  CHECK(wait_until([&] { return replica.ask("CLUSTER FAILOVER").text == "OK" || replica.is_primary(); }));
  CHECK(wait_until([&] { return replica.is_primary(); }), "the replica did not take over");
  CHECK(is_whole());
}

RedisServer& RedisClusterBed::other_primary(RedisServer& than) {
  for (auto& server : servers_) {
    if (server.get() != &than && server->is_primary()) return *server;
  }
  CHECK(false, "there is no other primary");
  return than;
}

void RedisClusterBed::begin_to_move_slot(std::string_view key) {
  const int slot = redis_slot(key);
  RedisServer& from = owner_of(key);
  RedisServer& to = other_primary(from);
  CHECK(!to.ask(fmt::format("CLUSTER SETSLOT {} IMPORTING {}", slot, node_id(from))).is_error());
  CHECK(!from.ask(fmt::format("CLUSTER SETSLOT {} MIGRATING {}", slot, node_id(to))).is_error());
}

void RedisClusterBed::move_slot(std::string_view key) {
  const int slot = redis_slot(key);
  RedisServer& from = owner_of(key);
  RedisServer& to = other_primary(from);
  begin_to_move_slot(key);
  const RedisReply keys = from.ask(fmt::format("CLUSTER GETKEYSINSLOT {} 1000", slot));
  for (const RedisReply& one : keys.items) {
    RedisCommand move{"MIGRATE", "127.0.0.1"};
    move.add(std::int64_t{to.port()}).add(one.text).add("0").add("5000");
    CHECK(!from.ask(move).is_error());
  }
  const std::string id = node_id(to);
  for (RedisServer* const told : {&to, &from}) {
    CHECK(!told->ask(fmt::format("CLUSTER SETSLOT {} NODE {}", slot, id)).is_error());
  }
  CHECK(wait_until([&] {
    return std::all_of(servers_.begin(), servers_.end(), [&](const auto& server) {
      const RedisReply ranges = server->ask("CLUSTER SLOTS");
      return std::any_of(ranges.items.begin(), ranges.items.end(), [&](const RedisReply& range) {
        return range.at(0).number() <= slot && slot <= range.at(1).number() && range.at(2).at(1).number() == to.port();
      });
    });
  }));
}

}  // namespace weir
