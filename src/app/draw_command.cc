#include "app/command.h"
#include "app/proof_flags.h"
#include "app/wiring.h"
#include "base/json_text.h"
#include "config/limits.h"
#include "flow/draw.h"
#include "http/answers.h"

#include <cstdio>
#include <fstream>
#include <memory>

#include <boost/json.hpp>
#include <fmt/format.h>

namespace weir {
namespace {

struct DrawFlags {
  ProofFlags where;
  std::string tenant = "default";
  std::string item;
  std::int64_t winners = 0;
  std::string mix;
  std::string proof;
};

/// The proof as JSON. `unavailable`: why there is none.
Result<std::string> draw_here(CommandContext& context, const Settings& settings, const DrawFlags& flags) {
  const auto ledger = open_ledger(settings, context.clock, context.random);
  if (!ledger) {
    return fail(ledger.error().failure,
                ledger.error().message + "; a running server is reached with --url and --token-file");
  }
  const auto reader = open_reader(settings, context.clock);
  if (!reader) return std::unexpected(reader.error());
  const auto catalog = (*reader)->catalog();
  if (!catalog) return std::unexpected(catalog.error());
  const Tenant* const tenant = catalog->tenant_by_id(flags.tenant);
  const Item* const item = tenant == nullptr ? nullptr : catalog->item_by_id(tenant->no, flags.item);
  if (item == nullptr) return fail(Failure::unavailable, fmt::format("there is no item '{}' (--item)", flags.item));
  const auto outcome = draw_item({item->no, static_cast<std::size_t>(flags.winners), flags.mix}, **reader,
                                 [&ledger](ItemNo no, const Draw& draw) { return (*ledger)->record_draw(no, draw); });
  if (!outcome) return std::unexpected(outcome.error());
  if (!outcome->draw) return fail(Failure::unavailable, http::draw_problem(*outcome));
  return http::draw_json(*outcome->draw, item->id, outcome->kind == DrawOutcome::Kind::repeated);
}

Result<std::string> draw_there(const DrawFlags& flags) {
  std::string body = fmt::format("{{\"winners\":{},\"mix\":", flags.winners);
  append_json_string(body, flags.mix);
  body += '}';
  return ask_server(flags.where, fmt::format("/api/admin/items/{}/draw", flags.item), &body);
}

void print_draw(const std::string& json) {
  const boost::json::value draw = boost::json::parse(json);
  const auto text = [&](const char* name) { return draw.at(name).as_string().c_str(); };
  if (draw.at("repeated").as_bool()) std::printf("This item was drawn before: its result stands for ever.\n");
  std::printf("drawn at    %s among %lld paid numbers\n", text("drawnAt"),
              static_cast<long long>(draw.at("entrantsCount").to_number<std::int64_t>()));
  std::printf("commitment  %s\nseed        %s\n", text("commitment"), text("seed"));
  int place = 0;
  for (const auto& winner : draw.at("winners").as_array())
    std::printf("%5d.  %lld\n", ++place, static_cast<long long>(winner.to_number<std::int64_t>()));
}

void draw(CommandContext& context, const DrawFlags& flags) {
  const auto settings = read_settings(context);
  if (!settings) return give_up(context, Exit::usage, settings.error());
  const auto json = flags.where.url.empty() ? draw_here(context, *settings, flags) : draw_there(flags);
  if (!json) return give_up(context, exit_of(json.error()), json.error().message);
  if (!flags.proof.empty()) {
    // The draw is kept already: a proof that could not be written is written by the next call.
    std::ofstream file{flags.proof, std::ios::binary | std::ios::trunc};
    file << *json << '\n';
    if (!file.flush())
      return give_up(context, Exit::unfit, fmt::format("the proof cannot be written to '{}' (--proof)", flags.proof));
  }
  if (context.is_json)
    std::printf("%s\n", json->c_str());
  else
    print_draw(*json);
}

}  // namespace

void add_draw_command(CLI::App& program, CommandContext& context) {
  auto flags = std::make_shared<DrawFlags>();
  CLI::App* command = program.add_subcommand(
      "draw",
      "Draw the winners of a raffle, once and for ever\n\nThe sale must be closed and every order paid or ended. The "
      "seed was promised when the item was made (drawCommitment); the proof holds all that anyone needs to compute the "
      "winners again.\n\nExample: weir draw --item raffle --winners 3 --proof raffle-proof.json");
  command->add_option("--item", flags->item, "The item with the numbers")->required();
  command->add_option("--winners", flags->winners, "How many win; the first drawn has the first prize")
      ->required()
      ->check(CLI::Range(std::int64_t{1}, kDrawWinnersMax));
  command->add_option("--mix", flags->mix, "Public randomness that nobody knew before, mixed into the draw")
      ->check([](const std::string& text) {
        return text.size() <= kDrawMixBytesMax ? std::string{} : fmt::format("at most {} bytes", kDrawMixBytesMax);
      });
  command->add_option("--proof", flags->proof, "Write the proof into this file");
  command->add_option("--tenant", flags->tenant, "The tenant whose item it is");
  add_proof_flags(*command, context, flags->where);
  command->callback([&context, flags] { draw(context, *flags); });
}

}  // namespace weir
