#include "app/api_client.h"
#include "app/command.h"
#include "app/crowd_tokens.h"
#include "app/demo_servers.h"
#include "app/rehearsal.h"
#include "app/stop_signal.h"
#include "app/temporary_folder.h"
#include "app/wiring.h"
#include "base/time_text.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace weir {
namespace {

/// Between the sale's creation and its opening: enough to open the crowd's connections.
constexpr Micros kOpensAfter{2'000'000};
constexpr Micros kNextOpensAfter{30'000'000};
/// The same where workers first have to build the sale's gate, and nodes to hear of it.
constexpr Micros kDistributedOpensAfter{8'000'000};
/// Until then every order that was promised has reached the ledger.
constexpr Micros kRecordWait{15'000'000};

struct DemoFlags {
  std::int64_t units = 10'000;
  std::uint32_t buyers = 500'000;
  std::string burst = "2s";
  bool is_once = false;
  bool is_distributed = false;
  std::string report = "weir-demo.html";
};

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

Result<void> run_sale(CommandContext& context, const DemoFlags& flags, const Settings& settings,
                      const DemoServers& shop, const ApiClient& client, RehearsalOrder order) {
  const auto tokens = issue_crowd_tokens(settings, flags.buyers, context.clock, context.random);
  if (!tokens) return std::unexpected(tokens.error());
  // Stores that are shared have had other sales.
  const std::string mark = flags.is_distributed ? fmt::format("-{:08x}", context.random.next() >> 32) : "";
  const std::string sale = "rehearsal" + mark;
  const std::string item = "poster" + mark;
  const Instant opens_at = context.clock.now() + (flags.is_distributed ? kDistributedOpensAfter : kOpensAfter);
  if (auto made = create_sale(client, sale, "Ten thousand posters", opens_at, Micros{3'600'000'000}); !made)
    return made;
  if (auto made = add_item(client, sale, item, "Poster", 1999, flags.units); !made) return made;
  if (auto stocked = wait_for_stock(shop, item, flags.units, context.clock); !stocked) return stocked;
  order.url = shop.urls.front();
  order.more_urls.assign(shop.urls.begin() + 1, shop.urls.end());
  order.item = item;
  order.are_buyers_new = true;
  order.servers = shop.pids();
  if (flags.is_distributed) order.record_wait = kRecordWait;
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
Result<void> leave_open(CommandContext& context, DemoServers& shop, const ApiClient& client) {
  const Instant opens_at = context.clock.now() + kNextOpensAfter;
  if (auto made = create_sale(client, "yours", "A sale of your own", opens_at, Micros{7'200'000'000}); !made)
    return made;
  if (auto made = add_item(client, "yours", "shirt", "Shirt", 2500, 20); !made) return made;
  if (auto made = add_item(client, "yours", "mug", "Mug", 1200, 3); !made) return made;
  std::fprintf(stderr, "\nThe shop stays open: %s/?sale=yours\nIts next sale opens in %lld s. Ctrl-C ends it.\n",
               shop.urls.front().c_str(), static_cast<long long>(kNextOpensAfter.count() / 1'000'000));
  while (!stop_on_signal().load() && shop.are_running()) std::this_thread::sleep_for(std::chrono::milliseconds{100});
  return {};
}

Result<void> demonstrate(CommandContext& context, const DemoFlags& flags, const Settings& settings,
                         const RehearsalOrder& order) {
  auto shop = flags.is_distributed ? start_demo_cluster(context, settings) : start_demo_server(context, flags.is_once);
  if (!shop) return std::unexpected(shop.error());
  std::fprintf(stderr, "A shop of its own runs at %s; %u buyers come for %lld units.\n",
               fmt::format("{}", fmt::join(shop->urls, " and ")).c_str(), flags.buyers,
               static_cast<long long>(flags.units));
  auto client = ApiClient::make(shop->urls.front(), {});
  if (!client) return std::unexpected(client.error());
  client->set_token(order.admin_token);
  if (auto sold = run_sale(context, flags, settings, *shop, *client, order); !sold) return sold;
  if (flags.is_once || flags.is_distributed || stop_on_signal().load()) return {};
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
  command->add_flag("--distributed", flags->is_distributed,
                    "Two nodes and two workers on the Redis, Kafka and PostgreSQL that the settings name; ends after "
                    "the sale. `./dev demo --distributed` starts those servers too");
  command->add_option("--report", flags->report, "Where the report goes; the JSON stands beside it")
      ->capture_default_str();
  command->add_flag("--json", context.is_json, "Print the report as JSON");
  add_setting_flags(*command, context);
  command->callback([&context, flags] { run(context, *flags); });
}

}  // namespace weir
