#include "app/api_client.h"
#include "app/command.h"
#include "app/crowd_tokens.h"
#include "app/rehearsal.h"
#include "app/stop_signal.h"
#include "app/wiring.h"
#include "base/time_text.h"

#include <cstdio>
#include <memory>

#include <fmt/format.h>

namespace weir {
namespace {

struct RehearseFlags {
  RehearsalOrder order;
  std::string burst;
  std::string tokens_file;
  std::string token_file;
  std::string report;
  std::int64_t server_pid = 0;
};

/// The crowd's tokens: the file's, or new ones signed with this installation's key.
Result<std::unique_ptr<crowd::TokenSource>> tokens_of(CommandContext& context, const Settings& settings,
                                                      RehearseFlags& flags) {
  if (!flags.tokens_file.empty()) {
    auto file = crowd::TokenFile::open(flags.tokens_file);
    if (!file) return std::unexpected(file.error());
    return std::unique_ptr<crowd::TokenSource>{std::move(*file)};
  }
  flags.order.are_buyers_new = true;
  return issue_crowd_tokens(settings, flags.order.crowd.buyers, context.clock, context.random);
}

/// The token that may ask for the audit: the file's, or one signed here.
Result<std::string> admin_token_of(CommandContext& context, const Settings& settings, const RehearseFlags& flags) {
  if (flags.token_file.empty() && flags.tokens_file.empty()) {
    return issue_admin_token(settings, context.clock, context.random);
  }
  if (flags.token_file.empty()) return std::string{};
  return read_token_file(flags.token_file);
}

void run(CommandContext& context, RehearseFlags& flags) {
  const auto settings = read_settings(context);
  if (!settings) return give_up(context, Exit::usage, settings.error());
  if (!flags.burst.empty()) {
    const auto span = parse_duration(flags.burst);
    if (!span) return give_up(context, Exit::usage, span.error() + " (--burst)");
    flags.order.crowd.shape = crowd::Shape::burst;
    flags.order.crowd.burst_over = *span;
  } else {
    flags.order.crowd.shape = crowd::Shape::steady;
  }
  const auto tokens = tokens_of(context, *settings, flags);
  if (!tokens) return give_up(context, exit_of(tokens.error()), tokens.error().message);
  auto admin_token = admin_token_of(context, *settings, flags);
  if (!admin_token) return give_up(context, exit_of(admin_token.error()), admin_token.error().message);
  flags.order.admin_token = std::move(*admin_token);
  if (flags.server_pid > 0) flags.order.servers = {static_cast<pid_t>(flags.server_pid)};
  flags.order.stop = &stop_on_signal();
  Rehearsal rehearsal;
  if (const auto done = rehearse(flags.order, **tokens, context.clock, rehearsal); !done) {
    return give_up(context, exit_of(done.error()), done.error().message);
  }
  if (const auto written = crowd::write_report(flags.report, rehearsal.input, rehearsal.verdict); !written) {
    return give_up(context, exit_of(written.error()), written.error().message + " (--report)");
  }
  std::fprintf(stderr, "The report is %s\n", flags.report.c_str());
  std::printf("%s\n", context.is_json ? crowd::report_json(rehearsal.input, rehearsal.verdict).c_str()
                                      : rehearsal_text(rehearsal).c_str());
  context.exit = rehearsal.verdict.is_go ? Exit::done : Exit::failed;
}

}  // namespace

void add_rehearse_command(CLI::App& program, CommandContext& context) {
  CLI::App* command = program.add_subcommand(
      "rehearse",
      "Send a crowd at a running shop and say GO or NO-GO\n\n"
      "Every press has its planned moment and its latency is counted from there, so a server that stalls cannot hide "
      "it. "
      "The server must list this machine in `http.trusted_proxies`: each buyer comes with an address of his own. "
      "Without "
      "--tokens the buyers' tokens are signed with the key of --data.\n\n"
      "Example: weir rehearse --url http://127.0.0.1:8080 --item poster --buyers 50000 --burst 2s");
  auto flags = std::make_shared<RehearseFlags>();
  flags->report = "weir-rehearsal.html";
  command->add_option("--url", flags->order.url, "The shop, such as http://127.0.0.1:8080")->required();
  command->add_option("--item", flags->order.item, "What everybody wants")->required();
  command->add_option("--buyers", flags->order.crowd.buyers, "How many come")
      ->required()
      ->check(CLI::Range(std::size_t{1}, kCrowdBuyersMax));
  CLI::Option* burst = command->add_option("--burst", flags->burst, "All come at the opening, within this time: 2s");
  CLI::Option* rate =
      command->add_option("--rate", flags->order.crowd.rate_per_s, "They come evenly, this many a second")
          ->check(CLI::Range(0.001, 10e6));
  burst->excludes(rate);
  command->add_option("--quantity", flags->order.units_per_claim, "Units each of them asks for")
      ->check(CLI::Range(1, kUnitsPerClaimMax));
  command->add_option("--tokens", flags->tokens_file,
                      "Their tokens, one a line, as `weir token issue --out` writes them");
  command->add_option("--token-file", flags->token_file, "File with an organiser's token, for the audit");
  command->add_option("--report", flags->report, "Where the report goes; the JSON stands beside it")
      ->capture_default_str();
  command->add_option("--connections", flags->order.connections, "Connections they share, as behind a proxy")
      ->check(CLI::Range(std::size_t{1}, kCrowdConnectionsMax))
      ->capture_default_str();
  command->add_option("--repeat-share", flags->order.crowd.repeat_share, "Of the buyers: they press more than once")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command
      ->add_option("--impatient-share", flags->order.crowd.impatient_share,
                   "Of the buyers: they press again after a 503 or no answer")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_option("--seed", flags->order.crowd.seed, "The same seed plans the same crowd")->capture_default_str();
  command->add_option("--server-pid", flags->server_pid, "The server's process, to count its CPU and memory");
  command->add_flag("--json", context.is_json, "Print the report as JSON");
  add_setting_flags(*command, context);
  command->callback([&context, flags, burst, rate] {
    if (burst->count() + rate->count() == 0) {
      return give_up(context, Exit::usage, "say how they come: --burst 2s or --rate 1000");
    }
    run(context, *flags);
  });
}

}  // namespace weir
