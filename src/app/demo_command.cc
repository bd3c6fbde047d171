#include "app/api_client.h"
#include "app/child_process.h"
#include "app/command.h"
#include "app/crowd_tokens.h"
#include "app/rehearsal.h"
#include "app/stop_signal.h"
#include "app/temporary_folder.h"
#include "app/wiring.h"
#include "base/time_text.h"

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/format.h>

namespace weir {
namespace {

constexpr Micros kStartWait{30'000'000};
/// Between the sale's creation and its opening: enough to open the crowd's connections.
constexpr Micros kOpensAfter{2'000'000};
constexpr Micros kNextOpensAfter{30'000'000};
constexpr std::string_view kSale = "rehearsal";
constexpr std::string_view kItem = "poster";

struct DemoFlags {
  std::int64_t units = 10'000;
  std::uint32_t buyers = 500'000;
  std::string burst = "2s";
  bool is_once = false;
  std::string report = "weir-demo.html";
};

/// The shop of a demonstration: a server of our own binary on a folder of its own.
struct DemoShop {
  ChildProcess server;
  std::string url;
};

Result<std::string> url_in(const std::string& line) {
  constexpr std::string_view kBefore = "weir serves on port ";
  int port = 0;
  if (line.starts_with(kBefore)) std::from_chars(line.data() + kBefore.size(), line.data() + line.size(), port);
  if (port == 0) return fail(Failure::unfit, fmt::format("the server began with an unexpected line: {}", line));
  return fmt::format("http://127.0.0.1:{}", port);
}

Result<DemoShop> start_server(const CommandContext& context, const std::string& listen) {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return fail(Failure::unfit, "cannot tell where this program is: /proc is not there");
  std::vector<std::string> arguments{program.string(), "serve", "--end-with-parent", "--config", context.config_file};
  auto flags = context.flags;
  flags["http.listen"] = listen;
  for (const auto& [key, value] : flags) {
    arguments.push_back("--" + key);
    arguments.push_back(value);
  }
  auto server = ChildProcess::start(arguments);
  if (!server) return std::unexpected(server.error());
  const auto line = server->read_line(context.clock.ticks() + kStartWait, context.clock);
  if (!line) return std::unexpected(line.error());
  auto url = url_in(*line);
  if (!url) return std::unexpected(url.error());
  return DemoShop{std::move(*server), std::move(*url)};
}

/// The usual port if nobody has it: a person will type it. Otherwise any.
Result<DemoShop> start_shop(CommandContext& context, bool is_once) {
  const auto chosen = context.flags.find("http.listen");
  if (chosen != context.flags.end()) return start_server(context, chosen->second);
  if (!is_once && is_free_port(8080)) return start_server(context, "127.0.0.1:8080");
  return start_server(context, "127.0.0.1:0");
}

Result<void> expect_made(const Result<ApiClient::Answer>& answer) {
  if (!answer) return std::unexpected(answer.error());
  if (answer->status >= 200 && answer->status < 300) return {};
  return fail(Failure::unavailable, fmt::format("the shop refused: {} {}", answer->status, answer->body));
}

Result<void> create_sale(const ApiClient& client, std::string_view id, std::string_view title, Instant opens_at,
                         Micros lasts) {
  return expect_made(client.post(
      "/api/admin/sales",
      fmt::format(
          R"({{"saleId":"{}","title":"{}","opensAt":"{}","closesAt":"{}","limitPerBuyer":1,"payWithin":"10m"}})", id,
          title, iso_text(opens_at), iso_text(opens_at + lasts))));
}

Result<void> add_item(const ApiClient& client, std::string_view sale, std::string_view id, std::string_view title,
                      int price, std::int64_t units) {
  return expect_made(client.post(
      "/api/admin/items",
      fmt::format(R"({{"saleId":"{}","itemId":"{}","title":"{}","price":{{"value":{},"currency":"EUR"}},"units":{}}})",
                  sale, id, title, price, units)));
}

Result<void> run_sale(CommandContext& context, const DemoFlags& flags, const Settings& settings, const DemoShop& shop,
                      const ApiClient& client, RehearsalOrder order) {
  const auto tokens = issue_crowd_tokens(settings, flags.buyers, context.clock, context.random);
  if (!tokens) return std::unexpected(tokens.error());
  const Instant opens_at = context.clock.now() + kOpensAfter;
  if (auto made = create_sale(client, kSale, "Ten thousand posters", opens_at, Micros{3'600'000'000}); !made)
    return made;
  if (auto made = add_item(client, kSale, kItem, "Poster", 1999, flags.units); !made) return made;
  order.url = shop.url;
  order.item = kItem;
  order.are_buyers_new = true;
  order.server = shop.server.pid();
  Rehearsal rehearsal;
  if (auto done = rehearse(order, **tokens, context.clock, rehearsal); !done) return done;
  if (auto written = crowd::write_report(flags.report, rehearsal.input, rehearsal.verdict); !written) return written;
  std::fprintf(stderr, "The report is %s\n", flags.report.c_str());
  std::printf("%s\n", context.is_json ? crowd::report_json(rehearsal.input, rehearsal.verdict).c_str()
                                      : rehearsal_text(rehearsal).c_str());
  std::fflush(stdout);
  context.exit = rehearsal.verdict.is_go ? Exit::done : Exit::failed;
  return {};
}

/// A sale for the person who looks on, about to open.
Result<void> leave_open(CommandContext& context, DemoShop& shop, const ApiClient& client) {
  const Instant opens_at = context.clock.now() + kNextOpensAfter;
  if (auto made = create_sale(client, "yours", "A sale of your own", opens_at, Micros{7'200'000'000}); !made)
    return made;
  if (auto made = add_item(client, "yours", "shirt", "Shirt", 2500, 20); !made) return made;
  if (auto made = add_item(client, "yours", "mug", "Mug", 1200, 3); !made) return made;
  std::fprintf(stderr, "\nThe shop stays open: %s/?sale=yours\nIts next sale opens in %lld s. Ctrl-C ends it.\n",
               shop.url.c_str(), static_cast<long long>(kNextOpensAfter.count() / 1'000'000));
  while (!stop_on_signal().load() && shop.server.is_running())
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
  return {};
}

Result<void> demonstrate(CommandContext& context, const DemoFlags& flags, const Settings& settings,
                         const RehearsalOrder& order) {
  auto shop = start_shop(context, flags.is_once);
  if (!shop) return std::unexpected(shop.error());
  std::fprintf(stderr, "A shop of its own runs at %s; %u buyers come for %lld units.\n", shop->url.c_str(),
               flags.buyers, static_cast<long long>(flags.units));
  auto client = ApiClient::make(shop->url, {});
  if (!client) return std::unexpected(client.error());
  client->set_token(order.admin_token);
  if (auto sold = run_sale(context, flags, settings, *shop, *client, order); !sold) return sold;
  if (flags.is_once || stop_on_signal().load()) return {};
  return leave_open(context, *shop, *client);
}

void run(CommandContext& context, const DemoFlags& flags) {
  const auto span = parse_duration(flags.burst);
  if (!span) return give_up(context, Exit::usage, span.error() + " (--burst)");
  RehearsalOrder order;
  order.crowd.buyers = flags.buyers;
  order.crowd.burst_over = *span;
  order.stop = &stop_on_signal();  // Before there is a folder to clear away.
  std::optional<TemporaryFolder> folder;
  if (!context.flags.contains("data")) {
    auto made = TemporaryFolder::make();
    if (!made) return give_up(context, Exit::unfit, made.error().message);
    folder.emplace(std::move(*made));
    context.flags["data"] = folder->path();
  }
  // A demonstration is the same wherever it is started: a settings file of the place is not read unless it is named.
  if (context.config_file.empty()) context.config_file = "/dev/null";
  context.flags.try_emplace("ops.listen", "127.0.0.1:0");
  context.flags.try_emplace("http.trusted_proxies", "127.0.0.1");
  context.flags.try_emplace("log.level", "error");
  const auto settings = read_settings(context);
  if (!settings) return give_up(context, Exit::usage, settings.error());
  auto admin_token = issue_admin_token(*settings, context.clock, context.random);
  if (!admin_token) return give_up(context, exit_of(admin_token.error()), admin_token.error().message);
  order.admin_token = std::move(*admin_token);
  if (const auto done = demonstrate(context, flags, *settings, order); !done) {
    give_up(context, exit_of(done.error()), done.error().message);
  }
}

}  // namespace

void add_demo_command(CLI::App& program, CommandContext& context) {
  CLI::App* command = program.add_subcommand(
      "demo",
      "Make a throw-away shop, run a whole sale against it, prove it, and leave the shop open\n\n"
      "The shop is a server of its own with its data in a temporary folder; the crowd comes over real HTTP.\n\n"
      "Example: weir demo --units 1000 --buyers 50000 --once");
  auto flags = std::make_shared<DemoFlags>();
  command->add_option("--units", flags->units, "Units on sale")
      ->check(CLI::Range(std::int64_t{1}, kUnitsPerItemMax))
      ->capture_default_str();
  command->add_option("--buyers", flags->buyers, "Buyers who want one")
      ->check(CLI::Range(std::size_t{1}, kCrowdBuyersMax))
      ->capture_default_str();
  command->add_option("--burst", flags->burst, "All come at the opening, within this time")->capture_default_str();
  command->add_flag("--once", flags->is_once, "End after the sale instead of leaving the shop open");
  command->add_option("--report", flags->report, "Where the report goes; the JSON stands beside it")
      ->capture_default_str();
  command->add_flag("--json", context.is_json, "Print the report as JSON");
  add_setting_flags(*command, context);
  command->callback([&context, flags] { run(context, *flags); });
}

}  // namespace weir
