#include "app/api_client.h"
#include "app/command.h"
#include "app/wiring.h"
#include "base/json_text.h"
#include "base/time_text.h"
#include "http/answers.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>

#include <boost/json.hpp>
#include <fmt/format.h>

namespace weir {
namespace {

/// Where a command acts: on the ledger in the data folder, or on a running server.
struct Where {
  std::string url;
  std::string token_file;
};

void add_where(CLI::App& command, CommandContext& context, Where& where) {
  command.add_option("--url", where.url, "Act on the running server at this address instead of the ledger in --data");
  command.add_option("--token-file", where.token_file, "File with an organiser's token, for --url");
  command.add_flag("--json", context.is_json, "Print the answer as JSON");
  add_setting_flags(command, context);
}

/// What a change came to, whichever way it went.
struct ShopAnswer {
  Exit exit = Exit::failed;
  std::string json;      // As the server would answer.
  std::string sentence;  // For a person.
};

void print(CommandContext& context, const ShopAnswer& answer) {
  context.exit = answer.exit;
  if (context.is_json) {
    std::printf("%s\n", answer.json.c_str());
  } else {
    std::fprintf(answer.exit == Exit::done ? stdout : stderr, "%s\n", answer.sentence.c_str());
  }
}

ShopAnswer refusal(http::Code code, const std::string& members, const std::string& sentence) {
  return {Exit::failed, http::error_response(code, members).body, "weir: " + sentence};
}

ShopAnswer answer_of(const Result<ChangeResult>& result, std::string json, std::string sentence,
                     const std::string& id) {
  if (!result) {
    return {exit_of(result.error()), http::error_response(http::Code::unavailable, {}, result.error().message).body,
            "weir: " + result.error().message};
  }
  switch (result->changed) {
    case Changed::done: return {Exit::done, std::move(json), std::move(sentence)};
    case Changed::repeated: return {Exit::done, std::move(json), sentence + " (it was so already)"};
    case Changed::exists:
      return refusal(http::Code::already_exists, {}, fmt::format("the id '{}' is taken (--id)", id));
    case Changed::unknown:
      return refusal(http::Code::not_found, {}, fmt::format("there is no such tenant, sale or item for '{}'", id));
    case Changed::refused:
      return refusal(http::Code::not_allowed, {}, fmt::format("the state of '{}' does not allow this", id));
    case Changed::below_committed:
      return refusal(http::Code::below_committed, fmt::format("\"minimum\":{}", result->minimum),
                     fmt::format("{} units of '{}' are held or sold; the total cannot be lower", result->minimum, id));
  }
  return {};
}

ShopAnswer answer_of(const Result<ApiClient::Answer>& answer, const std::string& sentence) {
  if (!answer)
    return {Exit::unfit, http::error_response(http::Code::unavailable, {}, answer.error().message).body,
            "weir: " + answer.error().message};
  const bool is_good = answer->status >= 200 && answer->status < 300;
  return {is_good ? Exit::done : Exit::failed, answer->body, is_good ? sentence : "weir: refused: " + answer->body};
}

/// Runs a change on the ledger in the data folder.
void on_ledger(CommandContext& context, const std::function<ShopAnswer(Ledger&, LedgerReader&)>& run) {
  const auto settings = read_settings(context);
  if (!settings) return give_up(context, Exit::usage, settings.error());
  const auto ledger = open_ledger(*settings, context.clock, context.random);
  if (!ledger)
    return give_up(context, exit_of(ledger.error()),
                   ledger.error().message + "; a running server is reached with --url and --token-file");
  const auto reader = open_reader(*settings, context.clock);
  if (!reader) return give_up(context, exit_of(reader.error()), reader.error().message);
  print(context, run(**ledger, **reader));
}

void on_server(CommandContext& context, const Where& where, const std::function<ShopAnswer(const ApiClient&)>& run) {
  const auto client = ApiClient::make(where.url, where.token_file);
  if (!client) return give_up(context, exit_of(client.error()), client.error().message);
  print(context, run(*client));
}

std::string member(std::string_view name, std::string_view text) {
  std::string out = fmt::format("\"{}\":", name);
  append_json_string(out, text);
  return out;
}

struct SaleFlags {
  Where where;
  SaleDraft draft;
  std::string opens_at;
  std::string closes_at;
  std::string pay_within;
  bool has_limit = false;
};

void create_sale(CommandContext& context, SaleFlags& flags) {
  SaleDraft& draft = flags.draft;
  const auto settings = read_settings(context);
  if (!settings) return give_up(context, Exit::usage, settings.error());
  const Instant now = context.clock.now();
  const auto opens = parse_moment(flags.opens_at, now);
  const auto closes = parse_moment(flags.closes_at, now);
  if (!opens) return give_up(context, Exit::usage, opens.error() + " (--opens-at)");
  if (!closes) return give_up(context, Exit::usage, closes.error() + " (--closes-at)");
  draft.opens_at = *opens;
  draft.closes_at = *closes;
  draft.pay_within = Micros{settings->sale_pay_within_s * 1'000'000};
  if (!flags.pay_within.empty()) {
    const auto span = parse_duration(flags.pay_within);
    if (!span) return give_up(context, Exit::usage, span.error() + " (--pay-within)");
    if (*span < Micros{1'000'000})
      return give_up(context, Exit::usage, "a time to pay must be at least 1s (--pay-within)");
    draft.pay_within = *span;
  }
  if (!flags.has_limit) draft.limit_per_buyer = static_cast<std::int32_t>(settings->sale_limit_per_buyer);
  if (draft.title.empty()) draft.title = draft.id;
  if (!is_id_text(draft.id))
    return give_up(context, Exit::usage,
                   fmt::format("'{}' is no id: use letters, digits, '.', '_' and '-' (--id)", draft.id));
  if (draft.closes_at <= draft.opens_at)
    return give_up(context, Exit::usage, "the sale must close after it opens (--closes-at)");
  const std::string sentence =
      fmt::format("sale {} opens {} and closes {}", draft.id, iso_text(draft.opens_at), iso_text(draft.closes_at));
  if (flags.where.url.empty()) {
    return on_ledger(context, [&](Ledger& ledger, LedgerReader&) {
      return answer_of(ledger.create_sale(draft), http::sale_created_json(draft), sentence, draft.id);
    });
  }
  on_server(context, flags.where, [&](const ApiClient& client) {
    const std::string body =
        fmt::format("{{{},{},{},{},\"limitPerBuyer\":{},{},\"secretUrl\":{}}}", member("saleId", draft.id),
                    member("title", draft.title), member("opensAt", iso_text(draft.opens_at)),
                    member("closesAt", iso_text(draft.closes_at)), draft.limit_per_buyer,
                    member("payWithin", duration_text(draft.pay_within)), draft.secret_url);
    return answer_of(client.post("/api/admin/sales", body), sentence);
  });
}

std::string_view verb(SaleAction action) {
  switch (action) {
    case SaleAction::open: return "open";
    case SaleAction::pause: return "pause";
    case SaleAction::resume: return "resume";
    case SaleAction::close: return "close";
  }
  return "?";
}

void change_sale(CommandContext& context, const SaleFlags& flags, SaleAction action) {
  const std::string& id = flags.draft.id;
  const std::string sentence = fmt::format("sale {}: {} done", id, verb(action));
  if (!flags.where.url.empty()) {
    return on_server(context, flags.where, [&](const ApiClient& client) {
      return answer_of(client.post(fmt::format("/api/admin/sales/{}/{}", id, verb(action)), "{}"), sentence);
    });
  }
  on_ledger(context, [&](Ledger& ledger, LedgerReader& reader) {
    const auto changed = ledger.change_sale(flags.draft.tenant, id, action);
    std::string json = "{}";
    const auto catalog = reader.catalog();
    const Tenant* tenant = catalog ? catalog->tenant_by_id(flags.draft.tenant) : nullptr;
    const Sale* sale = tenant == nullptr ? nullptr : catalog->sale_by_id(tenant->no, id);
    if (sale != nullptr) json = http::sale_json(*sale, context.clock.now());
    return answer_of(changed, json, sentence, id);
  });
}

/// How a list of the server or the ledger is told to a person.
struct Listed {
  const char* list;     // The list's name in the JSON.
  const char* id;       // The member that names a row.
  http::Code unknown;   // When the one that is asked for is not there.
  const char* nothing;  // The sentence for an empty list.
  std::function<std::string(const boost::json::value&)> line;
};

std::string text_of(const boost::json::value& row, std::string_view name) {
  return std::string{row.at(name).as_string()};
}

const Listed& listed_sales() {
  static const Listed kSales{"sales", "saleId", http::Code::unknown_sale, "no sales yet: weir sale create --help",
                             [](const boost::json::value& sale) {
                               return fmt::format("{}  {}  {} to {}  {}", text_of(sale, "saleId"),
                                                  text_of(sale, "state"), text_of(sale, "opensAt"),
                                                  text_of(sale, "closesAt"), text_of(sale, "title"));
                             }};
  return kSales;
}

const Listed& listed_tenants() {
  static const Listed kTenants{"tenants", "tenantId", http::Code::unknown_tenant, "no tenants",
                               [](const boost::json::value& tenant) {
                                 std::string line = text_of(tenant, "tenantId");
                                 for (const auto& domain : tenant.at("domains").as_array())
                                   line += "  " + std::string{domain.as_string()};
                                 return line;
                               }};
  return kTenants;
}

/// The answer to `list` and `show`, from the list as the server and the ledger both tell it. `one`: only this row.
ShopAnswer list_answer(const Listed& of, const std::string& json, const std::optional<std::string>& one) try {
  const boost::json::value list = boost::json::parse(json);
  ShopAnswer answer{.exit = Exit::done, .json = json, .sentence = ""};
  for (const boost::json::value& row : list.at(of.list).as_array()) {
    if (one && text_of(row, of.id) == *one) {
      const std::string text = boost::json::serialize(row);
      return {Exit::done, text, text};
    }
    answer.sentence += (answer.sentence.empty() ? "" : "\n") + of.line(row);
  }
  if (one) return refusal(of.unknown, {}, fmt::format("there is no '{}' (--id)", *one));
  if (answer.sentence.empty()) answer.sentence = of.nothing;
  return answer;
} catch (const std::exception& error) {
  return refusal(http::Code::unavailable, {}, fmt::format("the list of {} cannot be read: {}", of.list, error.what()));
}

/// Prints a list of the catalog, from the server or the ledger.
void list(CommandContext& context, const Where& where, const Listed& of, const std::optional<std::string>& one,
          const std::function<std::string(const Catalog&)>& rows) {
  if (!where.url.empty()) {
    return on_server(context, where, [&](const ApiClient& client) {
      const auto answer = client.get(fmt::format("/api/admin/{}", of.list));
      return answer && answer->status == 200 ? list_answer(of, answer->body, one) : answer_of(answer, "");
    });
  }
  const auto settings = read_settings(context);
  if (!settings) return give_up(context, Exit::usage, settings.error());
  const auto reader = open_reader(*settings, context.clock);
  if (!reader) return give_up(context, exit_of(reader.error()), reader.error().message);
  const auto catalog = (*reader)->catalog();
  if (!catalog) return give_up(context, Exit::failed, catalog.error().message);
  print(context, list_answer(of, fmt::format("{{\"{}\":[{}]}}", of.list, rows(*catalog)), one));
}

void list_sales(CommandContext& context, const SaleFlags& flags, bool only_one) {
  list(context, flags.where, listed_sales(), only_one ? std::optional{flags.draft.id} : std::nullopt,
       [&](const Catalog& catalog) {
         const Tenant* tenant = catalog.tenant_by_id(flags.draft.tenant);
         std::string rows;
         for (const Sale& sale : catalog.sales()) {
           if (tenant == nullptr || sale.tenant != tenant->no) continue;
           rows += (rows.empty() ? "" : ",") + http::sale_json(sale, context.clock.now());
         }
         return rows;
       });
}

void list_tenants(CommandContext& context, const Where& where, const std::optional<std::string>& one) {
  list(context, where, listed_tenants(), one, [](const Catalog& catalog) {
    std::string rows;
    for (const Tenant& tenant : catalog.tenants()) rows += (rows.empty() ? "" : ",") + http::tenant_json(tenant);
    return rows;
  });
}

void add_sale_commands(CLI::App& program, CommandContext& context) {
  CLI::App* sale = program.add_subcommand("sale", "Make and run sales");
  sale->require_subcommand(1);
  auto flags = std::make_shared<SaleFlags>();
  CLI::App* create = sale->add_subcommand(
      "create",
      "Make a sale\n\nExample: weir sale create --id spring --title 'Spring drop' --opens-at +10m --closes-at +2h");
  create->add_option("--id", flags->draft.id, "The sale's id in addresses: letters, digits, '.', '_', '-'")->required();
  create->add_option("--title", flags->draft.title, "What people read");
  create
      ->add_option("--opens-at", flags->opens_at, "now, +10m, or a time with offset such as 2026-12-01T12:00:00+01:00")
      ->required();
  create->add_option("--closes-at", flags->closes_at, "+2h, or a time with offset")->required();
  CLI::Option* limit = create
                           ->add_option("--limit-per-buyer", flags->draft.limit_per_buyer,
                                        "Units a buyer may hold across the sale's items")
                           ->check(CLI::Range(1, kBuyerLimitMax));
  create->add_option("--pay-within", flags->pay_within, "Time to pay, such as 10m");
  create->add_flag("--secret-url", flags->draft.secret_url,
                   "The purchase address has a key that is published at the opening");
  create->add_option("--tenant", flags->draft.tenant, "The tenant whose sale it is");
  add_where(*create, context, flags->where);
  create->callback([&context, flags, limit] {
    flags->has_limit = limit->count() > 0;
    create_sale(context, *flags);
  });
  const auto add_action = [&](const char* name, const char* help, std::function<void()> run, bool needs_id) {
    CLI::App* command = sale->add_subcommand(name, help);
    CLI::Option* id = command->add_option("--id", flags->draft.id, "The sale");
    if (needs_id) id->required();
    command->add_option("--tenant", flags->draft.tenant, "The tenant whose sale it is");
    add_where(*command, context, flags->where);
    command->callback(std::move(run));
  };
  add_action("list", "All sales and their state", [&context, flags] { list_sales(context, *flags, false); }, false);
  add_action("show", "One sale", [&context, flags] { list_sales(context, *flags, true); }, true);
  add_action("open", "Open it now", [&context, flags] { change_sale(context, *flags, SaleAction::open); }, true);
  add_action(
      "pause", "Stop taking claims; payments go on",
      [&context, flags] { change_sale(context, *flags, SaleAction::pause); }, true);
  add_action(
      "resume", "Take claims again", [&context, flags] { change_sale(context, *flags, SaleAction::resume); }, true);
  add_action("close", "End it for ever", [&context, flags] { change_sale(context, *flags, SaleAction::close); }, true);
}

struct ItemFlags {
  Where where;
  ItemDraft draft;
  std::string currency = "EUR";
  std::string numbers;
  std::int64_t add = 0;
  std::int64_t remove = 0;
  std::string key;
};

/// `first-last` into the draft; what is wrong, or nothing.
std::string read_numbers(const std::string& text, ItemDraft& draft) {
  std::int64_t first = 0;
  std::int64_t last = 0;
  const char* const end = text.data() + text.size();
  const auto first_read = std::from_chars(text.data(), end, first);
  const bool has_dash = first_read.ec == std::errc{} && first_read.ptr != end && *first_read.ptr == '-';
  const auto last_read = has_dash ? std::from_chars(first_read.ptr + 1, end, last) : first_read;
  if (!has_dash || last_read.ec != std::errc{} || last_read.ptr != end)
    return fmt::format("'{}' is no range of numbers: first-last, such as 1-1000000", text);
  std::string problem = numbers_problem(first, last, draft.labels);
  draft.numbered = true;
  draft.first_number = static_cast<std::uint32_t>(std::clamp<std::int64_t>(first, 0, kNumberMax));
  draft.units = last - first + 1;
  return problem;
}

/// The stock of a draft as a request names it.
std::string stock_members(const ItemDraft& draft) {
  if (!draft.numbered) return fmt::format("\"units\":{}", draft.units);
  const std::string labels = draft.labels.empty() ? "" : "," + member("labels", draft.labels);
  return fmt::format("\"numbers\":{{\"first\":{},\"last\":{}}}{}", draft.first_number,
                     draft.first_number + draft.units - 1, labels);
}

void add_item(CommandContext& context, ItemFlags& flags) {
  ItemDraft& draft = flags.draft;
  const auto currency = Currency::parse(flags.currency);
  if (!currency)
    return give_up(context, Exit::usage,
                   fmt::format("'{}' is no currency: three capital letters (--currency)", flags.currency));
  if (!flags.numbers.empty()) {
    const std::string problem = read_numbers(flags.numbers, draft);
    if (!problem.empty()) return give_up(context, Exit::usage, fmt::format("{} (--numbers, --labels)", problem));
  } else if (!draft.labels.empty()) {
    return give_up(context, Exit::usage, "only numbers have labels: use --numbers (--labels)");
  }
  if (!is_id_text(draft.id))
    return give_up(context, Exit::usage,
                   fmt::format("'{}' is no id: use letters, digits, '.', '_' and '-' (--id)", draft.id));
  draft.price.currency = *currency;
  if (draft.title.empty()) draft.title = draft.id;
  const std::string sentence = fmt::format("item {}: {} {} at {} {} (minor units)", draft.id, draft.units,
                                           draft.numbered ? "numbers" : "units", draft.price.value, currency->view());
  if (flags.where.url.empty()) {
    return on_ledger(context, [&](Ledger& ledger, LedgerReader&) {
      return answer_of(ledger.add_item(draft), http::item_added_json(draft), sentence, draft.id);
    });
  }
  on_server(context, flags.where, [&](const ApiClient& client) {
    const std::string body =
        fmt::format("{{{},{},{},\"price\":{{\"value\":{},\"currency\":\"{}\"}},{}}}", member("saleId", draft.sale),
                    member("itemId", draft.id), member("title", draft.title), draft.price.value, currency->view(),
                    stock_members(draft));
    return answer_of(client.post("/api/admin/items", body), sentence);
  });
}

void change_stock(CommandContext& context, const ItemFlags& flags) {
  const std::int64_t delta = flags.add - flags.remove;
  if (delta == 0) return give_up(context, Exit::usage, "say how many: --add N or --remove N");
  const std::string sentence = fmt::format("item {}: {:+} units", flags.draft.id, delta);
  if (flags.where.url.empty()) {
    const auto settings = read_settings(context);
    if (settings && settings->gate == GateKind::redis && delta < 0)
      return give_up(context, Exit::failed, "units cannot be taken out of a sale that several processes sell (gate)");
    return on_ledger(context, [&](Ledger& ledger, LedgerReader&) {
      const auto result = ledger.change_stock(flags.draft.tenant, flags.draft.id, delta, flags.key);
      return answer_of(result, result ? http::stock_json(*result) : "", sentence, flags.draft.id);
    });
  }
  on_server(context, flags.where, [&](const ApiClient& client) {
    return answer_of(client.post(fmt::format("/api/admin/items/{}/stock", flags.draft.id),
                                 fmt::format("{{\"delta\":{},{}}}", delta, member("key", flags.key))),
                     sentence);
  });
}

void add_item_commands(CLI::App& program, CommandContext& context) {
  CLI::App* item = program.add_subcommand("item", "What a sale sells");
  item->require_subcommand(1);
  auto flags = std::make_shared<ItemFlags>();
  CLI::App* add = item->add_subcommand("add",
                                       "Add an item to a sale\n\nExample: weir item add --sale spring --id shirt "
                                       "--title Shirt --price 1999 --currency EUR --units 10000");
  add->add_option("--sale", flags->draft.sale, "The sale")->required();
  add->add_option("--id", flags->draft.id, "The item's id in addresses")->required();
  add->add_option("--title", flags->draft.title, "What people read");
  add->add_option("--price", flags->draft.price.value, "Price in minor units: 1999 is 19.99")
      ->required()
      ->check(CLI::Range(std::int64_t{0}, kPriceMinorMax));
  add->add_option("--currency", flags->currency, "Three capital letters, such as EUR");
  CLI::Option* units = add->add_option("--units", flags->draft.units, "How many there are")
                           ->check(CLI::Range(std::int64_t{0}, kUnitsPerItemMax));
  CLI::Option* numbers = add->add_option("--numbers", flags->numbers, "Numbered stock: first-last, such as 1-1000000");
  add->add_option("--labels", flags->draft.labels,
                  "How numbers are shown: A-### (at least three digits), or rows of seats: A:12,B:14");
  units->excludes(numbers);
  add->add_option("--tenant", flags->draft.tenant, "The tenant whose sale it is");
  add_where(*add, context, flags->where);
  add->callback([&context, flags, units, numbers] {
    if (units->count() + numbers->count() == 0)
      return give_up(context, Exit::usage, "say how many there are: --units N, or --numbers first-last");
    add_item(context, *flags);
  });
  CLI::App* stock = item->add_subcommand("stock", "Change the stock by a signed amount, once per key");
  stock->add_option("--id", flags->draft.id, "The item")->required();
  CLI::Option* more =
      stock->add_option("--add", flags->add, "Units to add")->check(CLI::Range(std::int64_t{1}, kUnitsPerItemMax));
  stock->add_option("--remove", flags->remove, "Units to take away; refused below what is held and sold")
      ->check(CLI::Range(std::int64_t{1}, kUnitsPerItemMax))
      ->excludes(more);
  stock->add_option("--key", flags->key, "The same key again changes nothing")->required();
  stock->add_option("--tenant", flags->draft.tenant, "The tenant whose item it is");
  add_where(*stock, context, flags->where);
  stock->callback([&context, flags] { change_stock(context, *flags); });
}

void add_tenant_commands(CLI::App& program, CommandContext& context) {
  CLI::App* tenant = program.add_subcommand("tenant", "The shops of this installation");
  tenant->require_subcommand(1);
  struct Flags {
    Where where;
    std::string id;
    std::vector<std::string> domains;
  };
  auto flags = std::make_shared<Flags>();
  const auto add_look = [&](const char* name, const char* help, bool is_one) {
    CLI::App* look = tenant->add_subcommand(name, help);
    if (is_one) look->add_option("--id", flags->id, "The tenant")->required();
    add_where(*look, context, flags->where);
    look->callback([&context, flags, is_one] {
      list_tenants(context, flags->where, is_one ? std::optional{flags->id} : std::nullopt);
    });
  };
  add_look("list", "All tenants with their domains; a server shows all to an admin, to an organiser his own", false);
  add_look("show", "One tenant", true);
  CLI::App* create = tenant->add_subcommand("create", "Make a tenant with the domains that serve it");
  create->add_option("--id", flags->id, "The tenant's id")->required();
  create->add_option("--domain", flags->domains, "A domain of its shop")->required();
  add_where(*create, context, flags->where);
  create->callback([&context, flags] {
    if (!is_id_text(flags->id)) return give_up(context, Exit::usage, fmt::format("'{}' is no id (--id)", flags->id));
    if (!flags->where.url.empty() && flags->domains.size() > 1)
      return give_up(context, Exit::usage, "a running server takes one --domain");
    const std::string json = fmt::format("{{{}}}", member("tenantId", flags->id));
    if (flags->where.url.empty()) {
      return on_ledger(context, [&](Ledger& ledger, LedgerReader&) {
        return answer_of(ledger.create_tenant(flags->id, flags->domains), json, "tenant " + flags->id + " made",
                         flags->id);
      });
    }
    on_server(context, flags->where, [&](const ApiClient& client) {
      const std::string body =
          fmt::format("{{{},{}}}", member("tenantId", flags->id), member("domain", flags->domains.front()));
      return answer_of(client.post("/api/admin/tenants", body), "tenant " + flags->id + " made");
    });
  });
}

}  // namespace

void add_shop_commands(CLI::App& program, CommandContext& context) {
  add_sale_commands(program, context);
  add_item_commands(program, context);
  add_tenant_commands(program, context);
}

}  // namespace weir
