#include "app/command.h"
#include "app/wiring.h"
#include "base/time_text.h"
#include "identity/token.h"
#include "identity/token_issuer.h"

#include <cstdio>
#include <fstream>
#include <memory>

#include <fmt/format.h>

namespace weir {
namespace {

constexpr std::int64_t kTokenCountMax = 10'000'000;

struct TokenFlags {
  std::string subject;
  std::string role = "buyer";
  std::string ttl = "1h";
  std::string tenant;
  std::int64_t count = 0;
  std::string prefix;
  std::string out;
};

void issue(CommandContext& context, const TokenFlags& flags) {
  const auto settings = read_settings(context);
  if (!settings) return give_up(context, Exit::usage, settings.error());
  const auto ttl = parse_duration(flags.ttl);
  if (!ttl) return give_up(context, Exit::usage, ttl.error() + " (--ttl)");
  const auto role = parse_role(flags.role);
  if (!role)
    return give_up(context, Exit::usage,
                   fmt::format("'{}' is no role: buyer, support, organiser or admin (--role)", flags.role));
  const auto issuer = open_issuer(*settings, context.random);
  if (!issuer) return give_up(context, exit_of(issuer.error()), issuer.error().message);
  const Instant now = context.clock.now();
  if (flags.count == 0) {
    if (!is_subject_text(flags.subject))
      return give_up(context, Exit::usage, "a subject has 1 to 128 bytes of text (--sub)");
    const std::string token = (*issuer)->issue(flags.subject, *role, flags.tenant, now + *ttl, now);
    if (context.is_json)
      std::printf("{\"token\":\"%s\",\"expiresAt\":\"%s\"}\n", token.c_str(), iso_text(now + *ttl).c_str());
    else
      std::printf("%s\n", token.c_str());
    return;
  }
  if (!is_subject_text(fmt::format("{}{}", flags.prefix, flags.count)))
    return give_up(context, Exit::usage, "a subject has 1 to 128 bytes of text, its number included (--prefix)");
  std::ofstream file{flags.out, std::ios::trunc};
  if (!file) return give_up(context, Exit::unfit, fmt::format("cannot write '{}' (--out)", flags.out));
  for (std::int64_t i = 1; i <= flags.count; ++i) {
    file << (*issuer)->issue(fmt::format("{}{}", flags.prefix, i), *role, flags.tenant, now + *ttl, now) << '\n';
  }
  file.close();
  if (!file)
    return give_up(context, Exit::unfit, fmt::format("cannot write '{}' (--out): is the disk full?", flags.out));
  if (context.is_json)
    std::printf("{\"count\":%lld}\n", static_cast<long long>(flags.count));
  else
    std::printf("%lld tokens in %s\n", static_cast<long long>(flags.count), flags.out.c_str());
}

/// There is no list of staff: whoever signs tokens says in them who may do what. So nothing can be granted here that a
/// token would not have to say again.
void add_staff_command(CLI::App& program, CommandContext& context) {
  CLI::App* staff = program.add_subcommand("staff", "Who may do what: said by tokens, see `weir token issue`");
  staff->require_subcommand(1);
  CLI::App* grant = staff->add_subcommand("grant", "Refused: a role stands in its bearer's token");
  auto flags = std::make_shared<TokenFlags>();
  grant->add_option("--sub", flags->subject, "Who it is for");
  grant->add_option("--role", flags->role, "support, organiser or admin");
  grant->callback([&context] {
    give_up(context, Exit::failed,
            "roles are not kept here: a role stands in its bearer's token, and whoever signs the token grants it "
            "(weir token issue --sub S --role R --ttl 8h, or your own issuer)");
  });
}

}  // namespace

void add_token_command(CLI::App& program, CommandContext& context) {
  add_staff_command(program, context);
  CLI::App* token = program.add_subcommand("token", "Tokens for tests and staff");
  token->require_subcommand(1);
  auto flags = std::make_shared<TokenFlags>();
  CLI::App* issue_command = token->add_subcommand(
      "issue",
      "Print a token signed with the configured key\n\nExample: weir token issue --sub ana --role organiser --ttl 8h");
  CLI::Option* subject = issue_command->add_option("--sub", flags->subject, "Who it is for");
  issue_command->add_option("--role", flags->role, "buyer, support, organiser or admin");
  issue_command->add_option("--ttl", flags->ttl, "How long it is valid, such as 1h");
  issue_command->add_option("--tenant", flags->tenant, "Valid at this tenant only");
  CLI::Option* count =
      issue_command->add_option("--count", flags->count, "Write this many tokens, for PREFIX1 to PREFIXN")
          ->check(CLI::Range(std::int64_t{1}, kTokenCountMax));
  issue_command->add_option("--prefix", flags->prefix, "Of the subjects, with --count")->needs(count);
  CLI::Option* out = issue_command->add_option("--out", flags->out, "File for them, one a line")->needs(count);
  issue_command->add_flag("--json", context.is_json, "Print the answer as JSON");
  add_setting_flags(*issue_command, context);
  issue_command->callback([&context, flags, subject, count, out] {
    if (count->count() == 0 && subject->count() == 0)
      return give_up(context, Exit::usage, "say who the token is for: --sub S, or --count N --prefix P --out FILE");
    if (count->count() > 0 && out->count() == 0)
      return give_up(context, Exit::usage, "say where the tokens go: --out FILE");
    issue(context, *flags);
  });
}

}  // namespace weir
