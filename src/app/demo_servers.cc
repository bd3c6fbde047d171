#include "app/demo_servers.h"

#include "app/api_client.h"
#include "app/distributed_wiring.h"
#include "app/temporary_folder.h"
#include "config/stores.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

namespace weir {
namespace {

constexpr Micros kStartWait{30'000'000};
constexpr Micros kStockWait{30'000'000};
constexpr std::chrono::milliseconds kStockLook{50};
constexpr int kNodes = 2;
constexpr int kWorkers = 2;

/// Starts our own program as `role` with these settings, and waits for the line in which it names its port.
Result<int> start_one(const CommandContext& context, std::string_view role, std::string_view begins_with,
                      const std::map<std::string, std::string>& flags, DemoServers& servers) {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return fail(Failure::unfit, "cannot tell where this program is: /proc is not there");
  std::vector<std::string> arguments{program.string(), std::string{role}, "--end-with-parent", "--config",
                                     context.config_file};
  for (const auto& [key, value] : flags) {
    arguments.push_back("--" + key);
    arguments.push_back(value);
  }
  auto process = ChildProcess::start(arguments);
  if (!process) return std::unexpected(process.error());
  const auto line = process->read_line(context.clock.ticks() + kStartWait, context.clock);
  if (!line) return std::unexpected(line.error());
  int port = 0;
  if (line->starts_with(begins_with)) {
    std::from_chars(line->data() + begins_with.size(), line->data() + line->size(), port);
  }
  if (port == 0) return fail(Failure::unfit, fmt::format("`weir {}` began with an unexpected line: {}", role, *line));
  servers.processes.push_back(std::move(*process));
  return port;
}

Result<void> start_door(const CommandContext& context, std::string_view role,
                        const std::map<std::string, std::string>& flags, DemoServers& servers) {
  const auto port = start_one(context, role, "weir serves on port ", flags, servers);
  if (!port) return std::unexpected(port.error());
  servers.urls.push_back(fmt::format("http://127.0.0.1:{}", *port));
  return {};
}

/// What an item's public counts say is free; null while the door does not know the item.
std::optional<std::int64_t> free_units(const Result<ApiClient::Answer>& answer) {
  if (!answer || answer->status != 200) return std::nullopt;
  boost::system::error_code error;
  const boost::json::value counts = boost::json::parse(answer->body, error);
  if (error || !counts.is_object()) return std::nullopt;
  const boost::json::value* const free = counts.get_object().if_contains("free");
  if (free == nullptr || !free->is_int64()) return std::nullopt;
  return free->get_int64();
}

}  // namespace

bool DemoServers::are_running() {
  return std::ranges::all_of(processes, [](ChildProcess& process) { return process.is_running(); });
}

std::vector<pid_t> DemoServers::pids() const {
  std::vector<pid_t> out;
  for (const ChildProcess& process : processes) out.push_back(process.pid());
  return out;
}

Result<void> wait_for_stock(const DemoServers& servers, std::string_view item, std::int64_t units, const Clock& clock) {
  const std::string path = fmt::format("/api/flash-sales/items/{}", item);
  const Deadline deadline = clock.ticks() + kStockWait;
  for (const std::string& url : servers.urls) {
    const auto client = ApiClient::make(url, {});
    if (!client) return std::unexpected(client.error());
    while (free_units(client->get(path)) != units) {
      if (clock.ticks() >= deadline) {
        return fail(Failure::unavailable, fmt::format("{} does not show the {} units of {}", url, units, item));
      }
      std::this_thread::sleep_for(kStockLook);
    }
  }
  return {};
}

Result<DemoServers> start_demo_server(CommandContext& context, bool is_once) {
  auto flags = context.flags;
  flags.try_emplace("http.listen", !is_once && is_free_port(8080) ? "127.0.0.1:8080" : "127.0.0.1:0");
  DemoServers servers;
  if (const auto started = start_door(context, "serve", flags, servers); !started)
    return std::unexpected(started.error());
  return servers;
}

Result<DemoServers> start_demo_cluster(CommandContext& context, const Settings& settings) {
  if (const auto fit = check_stores(settings, ProcessRole::api); !fit) return std::unexpected(fit.error());
  const auto version = migrate_ledger(settings, context.clock, context.random);
  if (!version) return std::unexpected(version.error());
  auto flags = context.flags;
  // Tokens and webhooks are good at every node; everything else of a process lies in a folder of its own.
  flags["auth.hs256_secret_file"] = settings.auth_hs256_secret_file;
  flags["payment.sandbox_secret_file"] = settings.payment_sandbox_secret_file;
  flags["ops.listen"] = "127.0.0.1:0";
  flags["http.listen"] = "127.0.0.1:0";
  DemoServers servers;
  for (int i = 1; i <= kWorkers; ++i) {
    flags["data"] = fmt::format("{}/worker-{}", settings.data, i);
    const auto started = start_one(context, "worker", "weir works, operations on port ", flags, servers);
    if (!started) return std::unexpected(started.error());
  }
  for (int i = 1; i <= kNodes; ++i) {
    flags["data"] = fmt::format("{}/node-{}", settings.data, i);
    if (const auto started = start_door(context, "api", flags, servers); !started)
      return std::unexpected(started.error());
  }
  return servers;
}

}  // namespace weir
