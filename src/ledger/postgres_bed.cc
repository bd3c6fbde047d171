#include "ledger/postgres_bed.h"

#include "base/check.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <list>
#include <mutex>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <libpq-fe.h>
#include <pwd.h>

namespace weir {
namespace {

constexpr int kStartTriesMax = 1000;
constexpr int kStartPauseMs = 20;  // Between two looks whether a server answers: it tells nobody when it is ready.
constexpr std::size_t kChunkBytes = 64 * 1024;
constexpr std::string_view kSocketName = ".s.PGSQL.5432";

std::string program_folder() {
  for (const int version : {15, 16, 17, 14}) {
    const std::string folder = fmt::format("/usr/lib/postgresql/{}/bin", version);
    if (std::filesystem::exists(folder + "/initdb")) return folder;
  }
  return {};
}

/// PostgreSQL refuses to run as root.
const passwd* other_user() { return ::geteuid() == 0 ? ::getpwnam("postgres") : nullptr; }

/// Starts a program as the server's user, in `folder`, its words into a file there. It ends when this process does.
pid_t spawn(const std::vector<std::string>& words, const std::string& folder) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const passwd* user = other_user();
  const std::string log = folder + "/server.log";
  const pid_t child = ::fork();
  if (child != 0) return child;
  if (user != nullptr && (::setgid(user->pw_gid) != 0 || ::setuid(user->pw_uid) != 0)) ::_exit(126);
  ::prctl(PR_SET_PDEATHSIG, SIGQUIT);
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  if (::chdir(folder.c_str()) != 0) ::_exit(126);
  ::execv(arguments[0], arguments.data());
  ::_exit(127);
}

bool has_ended_well(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  CHECK(path.size() < sizeof address.sun_path, "path={}", path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

}  // namespace

Result<std::unique_ptr<PostgresCluster>> PostgresCluster::start(Storage storage) {
  std::unique_ptr<PostgresCluster> cluster{new PostgresCluster{storage}};
  if (const auto ready = cluster->prepare(); !ready) return std::unexpected(ready.error());
  cluster->run();
  return cluster;
}

Result<void> PostgresCluster::prepare() {
  const std::string programs = program_folder();
  if (programs.empty()) return fail(Failure::unfit, "PostgreSQL is not installed (postgresql-15)");
  if (::geteuid() == 0 && other_user() == nullptr) return fail(Failure::unfit, "there is no user postgres");
  std::string pattern = (std::filesystem::temp_directory_path() / "weir-postgres-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) return fail(Failure::unfit, "no temporary folder");
  folder_ = pattern;
  if (const passwd* user = other_user(); user != nullptr && ::chown(folder_.c_str(), user->pw_uid, user->pw_gid) != 0) {
    return fail(Failure::unfit, "the temporary folder cannot be given to postgres");
  }
  const pid_t made = spawn({programs + "/initdb", "-D", folder_ + "/data", "-A", "trust", "-U", "weir", "-E", "UTF8",
                            "--locale=C", "--no-sync"},
                           folder_);
  if (!has_ended_well(made)) return fail(Failure::unfit, "initdb failed, see " + folder_ + "/server.log");
  return {};
}

PostgresCluster::~PostgresCluster() {
  if (server_ > 0) {
    ::kill(server_, SIGQUIT);
    ::waitpid(server_, nullptr, 0);
  }
  std::error_code error;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, error);
}

std::string PostgresCluster::dsn(std::string_view schema, std::string_view socket_folder) const {
  return fmt::format(
      "host={} port=5432 user=weir dbname=postgres options='-c search_path={} -c client_min_messages=error'",
      socket_folder.empty() ? folder_ : socket_folder, schema);
}

bool PostgresCluster::answers() const { return PQping(dsn("public").c_str()) == PQPING_OK; }

void PostgresCluster::run() {
  const std::string synced = storage_ == Storage::durable ? "on" : "off";
  const std::vector<std::string> words{program_folder() + "/postgres",
                                       "-D",
                                       folder_ + "/data",
                                       "-k",
                                       folder_,
                                       "-c",
                                       "listen_addresses=",
                                       "-c",
                                       "port=5432",
                                       "-c",
                                       "max_connections=40",
                                       "-c",
                                       "shared_buffers=128MB",
                                       "-c",
                                       "max_wal_size=2GB",
                                       "-c",
                                       "deadlock_timeout=1s",
                                       "-c",
                                       "fsync=" + synced,
                                       "-c",
                                       "full_page_writes=" + synced};
  server_ = spawn(words, folder_);
  for (int tries = 0; tries < kStartTriesMax && !answers(); ++tries) {
    // After a kill the first start may meet what is left of the server before it.
    if (::waitpid(server_, nullptr, WNOHANG) == server_) server_ = spawn(words, folder_);
    ::poll(nullptr, 0, kStartPauseMs);
  }
  EXPECT_TRUE(answers()) << "see " << folder_ << "/server.log";
}

void PostgresCluster::kill() {
  ::kill(server_, SIGKILL);
  ::waitpid(server_, nullptr, 0);
  server_ = -1;
}

void PostgresCluster::stop() {
  ::kill(server_, SIGINT);
  ::waitpid(server_, nullptr, 0);
  server_ = -1;
}

void PostgresCluster::become_standby() {
  const std::string path = folder_ + "/data/standby.signal";
  std::ofstream{path}.flush();
  std::filesystem::permissions(path, std::filesystem::perms::others_read, std::filesystem::perm_options::add);
  if (const passwd* user = other_user(); user != nullptr) {
    EXPECT_EQ(::chown(path.c_str(), user->pw_uid, user->pw_gid), 0);
  }
}

std::string PostgresCluster::make_schema() {
  std::string name = fmt::format("bed_{}", ++schemas_);
  ask("public", "CREATE SCHEMA " + name);
  return name;
}

void PostgresCluster::drop_schema(const std::string& name) {
  ask("public", fmt::format("DROP SCHEMA {} CASCADE", name));
}

std::string PostgresCluster::ask(std::string_view schema, const std::string& sql) const {
  struct Close {
    void operator()(PGconn* connection) const { PQfinish(connection); }
    void operator()(PGresult* result) const { PQclear(result); }
  };
  const std::unique_ptr<PGconn, Close> connection{PQconnectdb(dsn(schema).c_str())};
  const std::unique_ptr<PGresult, Close> result{PQexec(connection.get(), sql.c_str())};
  EXPECT_NE(PQresultStatus(result.get()), PGRES_FATAL_ERROR) << sql << ": " << PQerrorMessage(connection.get());
  return PQntuples(result.get()) > 0 ? PQgetvalue(result.get(), 0, 0) : "";
}

/// One connection through the cutter.
struct Line {
  int client = -1;
  int server = -1;
  bool is_answer_awaited = false;  // The next COMMIT that the server reports is kept from the client.

  void close() {
    ::close(client);
    ::close(server);
    client = -1;
  }
};

struct LineCutter::State {
  int listener = -1;
  int stop = -1;
  std::string server_path;
  std::mutex mutex;
  Cut next = Cut::never;  // Guarded by `mutex`, as is `word`.
  std::string word;
  std::list<Line> lines;  // The thread's own.

  Cut cut_for(std::string_view request) {
    const std::lock_guard lock{mutex};
    if (next == Cut::never || request.find(word) == std::string_view::npos) return Cut::never;
    return std::exchange(next, Cut::never);
  }
  void take_line();
  void pass_request(Line& line);
  void pass_answer(Line& line);
};

void LineCutter::State::take_line() {
  Line line;
  line.client = ::accept(listener, nullptr, nullptr);
  line.server = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = address_of(server_path);
  if (::connect(line.server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    line.close();
    return;
  }
  lines.push_back(line);
}

bool pass(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void LineCutter::State::pass_request(Line& line) {
  std::array<char, kChunkBytes> chunk{};
  const ssize_t got = ::recv(line.client, chunk.data(), chunk.size(), 0);
  if (got <= 0) return line.close();
  const std::string_view bytes{chunk.data(), static_cast<std::size_t>(got)};
  const Cut cut = cut_for(bytes);
  if (cut == Cut::request) return line.close();
  line.is_answer_awaited = line.is_answer_awaited || cut == Cut::answer;
  if (!pass(line.server, bytes)) line.close();
}

void LineCutter::State::pass_answer(Line& line) {
  std::array<char, kChunkBytes> chunk{};
  const ssize_t got = ::recv(line.server, chunk.data(), chunk.size(), 0);
  if (got <= 0) return line.close();
  const std::string_view bytes{chunk.data(), static_cast<std::size_t>(got)};
  const bool is_cut = line.is_answer_awaited && bytes.find("COMMIT") != std::string_view::npos;
  if (is_cut || (!line.is_answer_awaited && !pass(line.client, bytes))) line.close();
}

LineCutter::LineCutter(const PostgresCluster& cluster, std::string folder)
    : folder_(std::move(folder)), state_(std::make_unique<State>()) {
  std::filesystem::create_directories(folder_);
  state_->server_path = fmt::format("{}/{}", cluster.folder(), kSocketName);
  state_->listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = address_of(fmt::format("{}/{}", folder_, kSocketName));
  CHECK(::bind(state_->listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0, "{}", errno);
  CHECK(::listen(state_->listener, 16) == 0, "{}", errno);
  state_->stop = ::eventfd(0, EFD_CLOEXEC);
  thread_ = std::thread{[this] { serve(); }};
}

LineCutter::~LineCutter() {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(state_->stop, &one, sizeof one));
  thread_.join();
  for (Line& line : state_->lines) line.close();
  ::close(state_->listener);
  ::close(state_->stop);
}

void LineCutter::cut(Cut cut, std::string word) {
  const std::lock_guard lock{state_->mutex};
  state_->next = cut;
  state_->word = std::move(word);
}

void LineCutter::serve() {
  for (;;) {  // Until the destructor says stop.
    std::vector<pollfd> waits{{.fd = state_->stop, .events = POLLIN, .revents = 0},
                              {.fd = state_->listener, .events = POLLIN, .revents = 0}};
    for (const Line& line : state_->lines) {
      waits.push_back({.fd = line.client, .events = POLLIN, .revents = 0});
      waits.push_back({.fd = line.server, .events = POLLIN, .revents = 0});
    }
    ::poll(waits.data(), waits.size(), -1);
    if (waits[0].revents != 0) return;
    std::size_t at = 2;
    for (Line& line : state_->lines) {
      const bool has_request = waits[at].revents != 0;
      const bool has_answer = waits[at + 1].revents != 0;
      at += 2;
      if (has_request) state_->pass_request(line);
      if (has_answer && line.client >= 0) state_->pass_answer(line);
    }
    state_->lines.remove_if([](const Line& line) { return line.client < 0; });
    if (waits[1].revents != 0) state_->take_line();
  }
}

PostgresBed::PostgresBed(PostgresCluster& cluster, bool sells_alone)
    : options{.dsn = {}, .sells_alone = sells_alone, .takes_time_from_clock = true, .allows_unsafe_storage = true},
      cluster_(cluster),
      schema_(cluster.make_schema()) {
  options.dsn = cluster.dsn(schema_);
  const auto migrated = PostgresLedger::migrate(options, clock_, random_);
  EXPECT_TRUE(migrated) << migrated.error().message;
  open();
}

PostgresBed::~PostgresBed() {
  close();
  cluster_.drop_schema(schema_);
}

void PostgresBed::open() {
  writer = open_another();
  auto reading = PostgresReader::open(options, clock_);
  ASSERT_TRUE(reading) << reading.error().message;
  look = std::move(*reading);
}

std::unique_ptr<PostgresLedger> PostgresBed::open_another() {
  auto opened = PostgresLedger::open(options, clock_, random_);
  EXPECT_TRUE(opened) << opened.error().message;
  return opened ? std::move(*opened) : nullptr;
}

}  // namespace weir
