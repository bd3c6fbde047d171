#include "http/answers.h"

#include "base/json_text.h"
#include "base/siphash.h"
#include "base/time_text.h"
#include "domain/numbers.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace weir::http {
namespace {

void append_member(std::string& out, std::string_view member, std::string_view text) {
  fmt::format_to(std::back_inserter(out), ",\"{}\":", member);
  append_json_string(out, text);
}

void append_moment(std::string& out, std::string_view member, Instant at) {
  fmt::format_to(std::back_inserter(out), ",\"{}\":", member);
  append_time(out, at);
}

void append_numbers(std::string& out, std::string_view member, std::span<const std::uint32_t> numbers) {
  fmt::format_to(std::back_inserter(out), ",\"{}\":[{}]", member, fmt::join(numbers, ","));
}

void append_labels(std::string& out, const Item& item, const NumberList& numbers) {
  const auto labels = NumberLabels::parse(item.labels, item.first_number, item.total);
  if (item.labels.empty() || !labels) return;
  out += ",\"labels\":[";
  for (const std::uint32_t number : numbers.view()) {
    if (out.back() != '[') out += ',';
    append_json_string(out, labels->label(number));
  }
  out += ']';
}

constexpr std::size_t kFindingsShownMax = 1000;  // Of each list.

std::string in_capitals(std::string_view word) {
  std::string out{word};
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

void append_findings(std::string& out, const std::vector<Mismatch>& findings) {
  out += "\"findings\":[";
  for (std::size_t i = 0; i < findings.size() && i < kFindingsShownMax; ++i) {
    const Mismatch& finding = findings[i];
    out += i == 0 ? "{\"what\":" : ",{\"what\":";
    append_json_string(out, in_capitals(name(finding.what)));
    const bool is_of_order = finding.what != Disagreement::dead_letter && !finding.hold.order.is_none();
    if (is_of_order) append_member(out, "orderId", finding.hold.order.text());
    append_member(out, "detail", finding.detail);
    fmt::format_to(std::back_inserter(out), ",\"repaired\":{}", finding.is_repaired);
    if (!finding.repair.empty()) append_member(out, "repair", finding.repair);
    out += '}';
  }
  out += ']';
}

void append_holds(std::string& out, std::string_view member, const std::vector<Hold>& holds) {
  fmt::format_to(std::back_inserter(out), "\"{}\":[", member);
  for (std::size_t i = 0; i < holds.size() && i < kFindingsShownMax; ++i) {
    fmt::format_to(std::back_inserter(out), "{}\"{}\"", i == 0 ? "" : ",", holds[i].order.text());
  }
  out += "],";
}

}  // namespace

Response error_response(Code code, std::string_view members, std::string_view message) {
  const CodeText& text = text_of(code);
  Response response;
  response.status = text.status;
  response.body = fmt::format("{{\"error\":\"{}\",\"message\":", text.text);
  append_json_string(response.body, message.empty() ? text.message : message);
  if (!members.empty()) {
    response.body += ',';
    response.body += members;
  }
  response.body += '}';
  response.headers.emplace_back("Cache-Control", "no-store");
  if (text.status == 429 || text.status == 503) response.headers.emplace_back("Retry-After", "1");
  if (text.status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

Response invalid(std::string_view field, std::string_view why) {
  std::string members = "\"field\":";
  append_json_string(members, field);
  return error_response(Code::invalid_request, members, why);
}

Response unavailable_with(OrderId order) {
  return error_response(Code::unavailable, fmt::format("\"orderId\":\"{}\"", order.text()),
                        "It is not known yet: ask for this order, or send again with the same key.");
}

Response personal(std::string body, int status) {
  Response response;
  response.status = status;
  response.body = std::move(body);
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

Response shared(std::string body, std::string_view max_age, std::string etag) {
  Response response;
  response.body = std::move(body);
  response.headers.emplace_back("Cache-Control", fmt::format("public, max-age={}", max_age));
  response.headers.emplace_back("ETag", std::move(etag));
  return response;
}

std::string content_tag(std::string_view content) {
  return fmt::format("\"{:016x}\"", siphash({0x636f6e74, 0x656e7421}, content));
}

bool is_unchanged(std::string_view if_none_match, std::string_view etag) {
  while (!if_none_match.empty()) {  // Every turn drops at least one character.
    const std::size_t end = std::min(if_none_match.find(','), if_none_match.size());
    std::string_view one = if_none_match.substr(0, end);
    if_none_match.remove_prefix(std::min(end + 1, if_none_match.size()));
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    if (one.starts_with("W/")) one.remove_prefix(2);
    if (one == etag || one == "*") return true;
  }
  return false;
}

Response not_modified(std::string_view max_age, std::string etag) {
  Response response = shared({}, max_age, std::move(etag));
  response.status = 304;
  response.content_type = {};
  return response;
}

void append_money(std::string& out, Money money) {
  fmt::format_to(std::back_inserter(out), "{{\"value\":{},\"currency\":\"{}\"}}", money.value, money.currency.view());
}

void append_time(std::string& out, Instant at) {
  out += '"';
  const std::size_t from = out.size();
  out.resize(from + 24);
  write_iso_text(at, out.data() + from);
  out += '"';
}

std::string order_json(const Order& order, const Catalog& catalog) {
  const Item* item = catalog.item(order.item);
  const Sale* sale = catalog.sale(order.sale);
  std::string out = fmt::format("{{\"orderId\":\"{}\",\"status\":\"{}\"", order.id.text(), name(order.status));
  if (item != nullptr) append_member(out, "itemId", item->id);
  if (sale != nullptr) append_member(out, "saleId", sale->id);
  fmt::format_to(std::back_inserter(out), ",\"quantity\":{}", order.units);
  if (!order.numbers.is_empty()) append_numbers(out, "numbers", order.numbers.view());
  if (!order.numbers.is_empty() && item != nullptr) append_labels(out, *item, order.numbers);
  out += ",\"amount\":";
  append_money(out, order.amount);
  append_moment(out, "createdAt", order.created_at);
  append_moment(out, "payBy", order.pay_by);
  if (order.paid_at) append_moment(out, "paidAt", *order.paid_at);
  if (!order.reason.empty()) append_member(out, "reason", order.reason);
  if (order.refund) {
    fmt::format_to(std::back_inserter(out),
                   ",\"refund\":{{\"refundId\":\"{}\",\"state\":\"{}\",\"amount\":", order.refund->id.text(),
                   name(order.refund->state));
    append_money(out, order.refund->amount);
    out += '}';
  }
  out += '}';
  return out;
}

Response number_taken_response(std::span<const std::uint32_t> taken) {
  return error_response(Code::number_taken, fmt::format("\"taken\":[{}]", fmt::join(taken, ",")));
}

Response accepted_response(const Accepted& accepted) {
  const std::string id = accepted.order.text();
  Response response;
  response.status = 202;
  response.body =
      fmt::format("{{\"orderId\":\"{}\",\"status\":\"{}\",\"quantity\":{}", id, name(accepted.status), accepted.units);
  if (!accepted.numbers.is_empty()) append_numbers(response.body, "numbers", accepted.numbers.view());
  if (!accepted.taken.is_empty()) append_numbers(response.body, "taken", accepted.taken.view());
  response.body += ",\"amount\":";
  append_money(response.body, accepted.amount);
  append_moment(response.body, "payBy", accepted.pay_by);
  fmt::format_to(std::back_inserter(response.body), ",\"statusUrl\":\"/api/flash-sales/orders/{}\"}}", id);
  response.headers.emplace_back("Location", "/api/flash-sales/orders/" + id);
  response.headers.emplace_back("Retry-After", "1");
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

std::string payment_json(const Payment& payment, const std::string& client_secret, const std::string& redirect_url) {
  std::string out = fmt::format("{{\"paymentId\":\"{}\"", payment.id.text());
  append_member(out, "gateway", payment.gateway);
  if (!client_secret.empty()) append_member(out, "clientSecret", client_secret);
  if (!redirect_url.empty()) append_member(out, "redirectUrl", redirect_url);
  append_moment(out, "expiresAt", payment.expires_at);
  out += '}';
  return out;
}

std::string shelf_members(const Shelf& shelf) {
  return fmt::format("\"total\":{},\"free\":{},\"held\":{},\"sold\":{},\"state\":\"{}\"", shelf.total, shelf.free,
                     shelf.held, shelf.sold, availability(shelf));
}

std::string stock_kind_members(const Item& item) {
  if (!item.numbered) return {};
  std::string out =
      fmt::format(",\"numbers\":{{\"first\":{},\"last\":{}}}", item.first_number, item.first_number + item.total - 1);
  if (!item.labels.empty()) append_member(out, "labels", item.labels);
  if (!item.draw_commitment.empty()) append_member(out, "drawCommitment", item.draw_commitment);
  return out;
}

std::string audit_json(const AuditReport& report) {
  std::string out = fmt::format("{{\"ok\":{},\"invariants\":[", report.ok);
  for (std::size_t i = 0; i < report.invariants.size(); ++i) {
    const AuditInvariant& invariant = report.invariants[i];
    fmt::format_to(std::back_inserter(out), "{}{{\"id\":\"{}\",\"checked\":{},\"violations\":[", i == 0 ? "" : ",",
                   invariant.id, invariant.checked);
    for (std::size_t k = 0; k < invariant.violations.size(); ++k) {
      if (k > 0) out += ',';
      append_json_string(out, invariant.violations[k]);
    }
    out += "]}";
  }
  out += "],\"items\":[";
  for (std::size_t i = 0; i < report.items.size(); ++i) {
    if (i > 0) out += ',';
    out += "{\"itemId\":";
    append_json_string(out, report.items[i].id);
    const Shelf& shelf = report.items[i].shelf;
    fmt::format_to(std::back_inserter(out), ",\"total\":{},\"free\":{},\"held\":{},\"sold\":{}}}", shelf.total,
                   shelf.free, shelf.held, shelf.sold);
  }
  out += "],\"orders\":{";
  for (std::size_t i = 0; i < report.orders.size(); ++i) {
    fmt::format_to(std::back_inserter(out), "{}\"{}\":{}", i == 0 ? "" : ",", name(report.orders[i].first),
                   report.orders[i].second);
  }
  out += "}}";
  return out;
}

std::string sale_json(const Sale& sale, Instant now) {
  std::string out = "{\"saleId\":";
  append_json_string(out, sale.id);
  out += ",\"title\":";
  append_json_string(out, sale.title);
  fmt::format_to(std::back_inserter(out), ",\"state\":\"{}\",\"opensAt\":", name(phase(sale, now)));
  append_time(out, sale.opens_at);
  out += ",\"closesAt\":";
  append_time(out, sale.closes_at);
  fmt::format_to(std::back_inserter(out), ",\"limitPerBuyer\":{},\"payWithin\":\"{}\"}}", sale.limit_per_buyer,
                 duration_text(sale.pay_within));
  return out;
}

std::string tenant_json(const Tenant& tenant) {
  std::string json = "{\"tenantId\":";
  append_json_string(json, tenant.id);
  json += ",\"domains\":[";
  for (std::size_t i = 0; i < tenant.domains.size(); ++i) {
    if (i > 0) json += ',';
    append_json_string(json, tenant.domains[i]);
  }
  return json + "]}";
}

std::string sale_created_json(const SaleDraft& draft) {
  std::string out = "{\"saleId\":";
  append_json_string(out, draft.id);
  out += ",\"opensAt\":";
  append_time(out, draft.opens_at);
  out += ",\"closesAt\":";
  append_time(out, draft.closes_at);
  return out + "}";
}

std::string item_added_json(const ItemDraft& draft) {
  std::string out = "{\"itemId\":";
  append_json_string(out, draft.id);
  fmt::format_to(std::back_inserter(out), ",\"total\":{}", draft.units);
  if (draft.numbered) {
    fmt::format_to(std::back_inserter(out), ",\"numbers\":{{\"first\":{},\"last\":{}}}", draft.first_number,
                   draft.first_number + draft.units - 1);
  }
  if (!draft.labels.empty()) append_member(out, "labels", draft.labels);
  return out + "}";
}

std::string stock_json(const ChangeResult& result) {
  return fmt::format("{{\"total\":{},\"repeated\":{}}}", result.total, result.changed == Changed::repeated);
}

std::string draw_json(const Draw& draw, std::string_view item_id, bool is_repeated) {
  std::string out = "{\"itemId\":";
  append_json_string(out, item_id);
  append_member(out, "commitment", draw.commitment);
  append_member(out, "seed", draw.seed);
  append_member(out, "mix", draw.mix);
  append_moment(out, "drawnAt", draw.drawn_at);
  fmt::format_to(std::back_inserter(out), ",\"repeated\":{}", is_repeated);
  append_numbers(out, "winners", draw.winners);
  append_member(out, "entrantsHash", draw.entrants_hash);
  fmt::format_to(std::back_inserter(out), ",\"entrantsCount\":{},\"entrants\":[", draw.entrants.size());
  for (std::size_t from = 0; from < draw.entrants.size();) {  // Runs of neighbours, first and last.
    std::size_t to = from;
    while (to + 1 < draw.entrants.size() && draw.entrants[to + 1] == draw.entrants[to] + 1) ++to;
    fmt::format_to(std::back_inserter(out), "{}[{},{}]", from == 0 ? "" : ",", draw.entrants[from], draw.entrants[to]);
    from = to + 1;
  }
  return out + "]}";
}

std::string draw_problem(const DrawOutcome& outcome) {
  switch (outcome.kind) {
    case DrawOutcome::Kind::counted: return "The item has no numbers to draw from.";
    case DrawOutcome::Kind::open: return "The sale is still open: close it first.";
    case DrawOutcome::Kind::pending: {
      std::string until;
      if (outcome.pending_until) append_time(until, *outcome.pending_until);
      return fmt::format("{} orders may still be paid, the last until {}: draw after that.", outcome.pending, until);
    }
    case DrawOutcome::Kind::empty: return "No number was paid for.";
    case DrawOutcome::Kind::drawn:
    case DrawOutcome::Kind::repeated:
    case DrawOutcome::Kind::moved: break;
  }
  return "An order changed just now: ask again.";
}

std::string life_json(const std::vector<TraceLine>& life) {
  std::string out = "{\"lines\":[";
  for (std::size_t i = 0; i < life.size(); ++i) {
    out += i == 0 ? "{\"at\":" : ",{\"at\":";
    append_time(out, life[i].at);
    append_member(out, "source", life[i].source);
    append_member(out, "what", life[i].what);
    append_member(out, "detail", life[i].detail);
    out += '}';
  }
  return out + "]}";
}

std::string findings_json(const Findings& findings, bool dry_run) {
  std::string out =
      fmt::format("{{\"ok\":{},\"dryRun\":{},\"compared\":{},", findings.is_clean(), dry_run, findings.compared);
  append_holds(out, "gateOnly", findings.gate_only);
  append_holds(out, "ledgerOnly", findings.ledger_only);
  append_holds(out, "unsold", findings.unsold);
  out += "\"totals\":[";
  for (std::size_t i = 0; i < findings.totals.size(); ++i) {
    const TotalMismatch& total = findings.totals[i];
    fmt::format_to(std::back_inserter(out), "{}{{\"item\":{},\"gate\":{},\"ledger\":{}}}", i == 0 ? "" : ",",
                   total.item.value, total.gate_total, total.ledger_total);
  }
  out += "],";
  append_findings(out, findings.shared);
  fmt::format_to(std::back_inserter(out), ",\"waiting\":{},\"waitingMs\":{},\"notCompared\":[", findings.waiting,
                 findings.waiting_since.count() / 1000);
  for (std::size_t i = 0; i < findings.not_compared.size() && i < kFindingsShownMax; ++i) {
    if (i > 0) out += ',';
    append_json_string(out, findings.not_compared[i]);
  }
  return out + "]}";
}

}  // namespace weir::http
