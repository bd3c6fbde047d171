#include "base/json_text.h"
#include "base/time_text.h"
#include "config/limits.h"
#include "http/front_door.h"

#include <cstdint>
#include <iterator>
#include <memory>

#include <fmt/format.h>

namespace weir::http {
namespace {

Response change_refused(const ChangeResult& result, Code unknown) {
  switch (result.changed) {
    case Changed::done:
    case Changed::repeated: break;
    case Changed::exists: return error_response(Code::already_exists);
    case Changed::unknown: return error_response(unknown);
    case Changed::refused: return error_response(Code::not_allowed);
    case Changed::below_committed:
      return error_response(Code::below_committed, fmt::format("\"minimum\":{}", result.minimum));
  }
  return error_response(Code::unavailable);
}

ChangeRequest on_ledger(std::function<Result<ChangeResult>(Ledger&)> run) {
  ChangeRequest request;
  request.run = std::move(run);
  return request;
}

bool is_made(const ChangeResult& result) {
  return result.changed == Changed::done || result.changed == Changed::repeated;
}

/// Reads members of an admin body one after the other; the first that is wrong is kept.
class Reader {
 public:
  Reader(const JsonBody& body, Instant now) : body_(body), now_(now) {}

  std::string id(std::string_view member) {
    const std::string value = text(member, true);
    if (!wrong_ && !is_id_text(value)) fail(member, "An id has 1 to 64 letters, digits, '.', '_' and '-'.");
    return value;
  }
  std::string text(std::string_view member, bool is_required) {
    const JsonMember* found = body_.find(member);
    if (found == nullptr) {
      if (is_required) fail(member, "This member is required.");
      return {};
    }
    const auto value = found->text();
    if (!value || value->empty() || value->size() > kTitleBytesMax) fail(member, "A text of 1 to 200 bytes is needed.");
    return value.value_or("");
  }
  std::int64_t whole(std::string_view member, std::int64_t least, std::int64_t most,
                     std::optional<std::int64_t> otherwise) {
    const JsonMember* found = body_.find(member);
    if (found == nullptr && otherwise) return *otherwise;
    const auto value = found == nullptr ? std::nullopt : found->whole();
    if (!value || *value < least || *value > most) {
      fail(member, fmt::format("A whole number from {} to {} is needed.", least, most));
      return least;
    }
    return *value;
  }
  Instant moment(std::string_view member) {
    const std::string value = text(member, true);
    const auto at = parse_moment(value, now_);
    if (!wrong_ && !at) fail(member, at.error());
    return at.value_or(Instant{});
  }
  Micros duration(std::string_view member, Micros otherwise) {
    if (body_.find(member) == nullptr) return otherwise;
    const auto span = parse_duration(text(member, true));
    if (!wrong_ && (!span || span->count() < 1'000'000))
      fail(member, "A duration such as 10m, at least 1s, is needed.");
    return span.value_or(otherwise);
  }
  bool flag(std::string_view member, bool otherwise) {
    const JsonMember* found = body_.find(member);
    if (found == nullptr) return otherwise;
    const auto value = found->boolean();
    if (!value) fail(member, "true or false is needed.");
    return value.value_or(otherwise);
  }
  Money money(std::string_view member) {
    const JsonMember* found = body_.find(member);
    if (found == nullptr || found->kind != JsonMember::Kind::object) {
      fail(member, "{\"value\": minor units, \"currency\": \"EUR\"} is needed.");
      return {};
    }
    const auto inner = JsonBody::parse(found->raw);
    const JsonMember* value = inner ? inner->find("value") : nullptr;
    const JsonMember* code = inner ? inner->find("currency") : nullptr;
    const std::int64_t whole = value == nullptr ? -1 : value->whole().value_or(-1);
    const auto currency = code == nullptr ? std::nullopt : Currency::parse(code->text().value_or(""));
    if (whole < 0 || whole > kPriceMinorMax || !currency || inner->size() != 2) {
      fail(member, "{\"value\": minor units, \"currency\": \"EUR\"} is needed.");
      return {};
    }
    return {whole, *currency};
  }
  /// `"numbers": {"first": 1, "last": 1000}` and `"labels"`.
  void numbers(ItemDraft& draft) {
    const JsonMember* found = body_.find("numbers");
    const auto inner = found->kind == JsonMember::Kind::object ? JsonBody::parse(found->raw) : Parsed<JsonBody>{};
    const JsonMember* first = inner ? inner->find("first") : nullptr;
    const JsonMember* last = inner ? inner->find("last") : nullptr;
    if (body_.find("units") != nullptr) return fail("units", "Send units or numbers, not both.");
    if (first == nullptr || last == nullptr || inner->size() != 2 || !first->whole() || !last->whole())
      return fail("numbers", "{\"first\": 1, \"last\": 1000} is needed.");
    const JsonMember* labels = body_.find("labels");
    if (labels != nullptr && !labels->text()) return fail("labels", "A text is needed.");
    draft.labels = labels == nullptr ? "" : labels->text().value_or("");
    const std::string problem = numbers_problem(*first->whole(), *last->whole(), draft.labels);
    if (!problem.empty()) return fail("numbers", problem);
    draft.numbered = true;
    draft.first_number = static_cast<std::uint32_t>(*first->whole());
    draft.units = *last->whole() - *first->whole() + 1;
  }
  void fail(std::string_view member, std::string why) {
    if (!wrong_) wrong_ = invalid(member, why);
  }
  [[nodiscard]] const std::optional<Response>& wrong() const { return wrong_; }

 private:
  const JsonBody& body_;
  Instant now_;
  std::optional<Response> wrong_;
};

/// An order that nobody knows is unknown only if everybody could be asked.
Response life_response(const Result<Explained>& explained, TenantNo tenant) {
  if (!explained) return error_response(Code::unavailable, {}, explained.error().message);
  if (!explained->tenant && !explained->is_complete) return error_response(Code::unavailable);
  const bool is_ours = explained->tenant && *explained->tenant == tenant;
  return is_ours ? personal(life_json(explained->lines)) : error_response(Code::unknown_order);
}

Response refunds_response(const Result<std::vector<RefundDue>>& refunds) {
  if (!refunds) return error_response(Code::unavailable);
  std::string body = "{\"refunds\":[";
  for (std::size_t i = 0; i < refunds->size(); ++i) {
    const RefundDue& due = (*refunds)[i];
    fmt::format_to(std::back_inserter(body),
                   "{}{{\"refundId\":\"{}\",\"orderId\":\"{}\",\"paymentId\":\"{}\",\"state\":\"{}\",\"amount\":",
                   i == 0 ? "" : ",", due.refund.id.text(), due.order.text(), due.payment.text(),
                   name(due.refund.state));
    append_money(body, due.refund.amount);
    body += ",\"since\":";
    append_time(body, due.since);
    body += '}';
  }
  return personal(body + "]}");
}

Response findings_response(const Result<Findings>& findings, bool dry_run) {
  return findings ? personal(findings_json(*findings, dry_run))
                  : error_response(Code::unavailable, {}, findings.error().message);
}

}  // namespace

void FrontDoor::admin(const Route& route, const Tenant& tenant, const Identity& identity, std::string_view parameter,
                      const Request& request, Exchange& exchange) {
  const RouteId id = route.id;
  if (id == RouteId::admin_create_sale) return admin_create_sale(tenant, request, exchange);
  if (id == RouteId::admin_open) return admin_change_sale(tenant, parameter, SaleAction::open, exchange);
  if (id == RouteId::admin_pause) return admin_change_sale(tenant, parameter, SaleAction::pause, exchange);
  if (id == RouteId::admin_resume) return admin_change_sale(tenant, parameter, SaleAction::resume, exchange);
  if (id == RouteId::admin_close) return admin_change_sale(tenant, parameter, SaleAction::close, exchange);
  if (id == RouteId::admin_add_item) return admin_add_item(tenant, request, exchange);
  if (id == RouteId::admin_stock) return admin_stock(tenant, parameter, request, exchange);
  if (id == RouteId::admin_draw) return admin_draw(tenant, parameter, request, exchange);
  if (id == RouteId::admin_refund) return admin_refund(tenant, identity, parameter, request, exchange);
  if (id == RouteId::admin_create_tenant && identity.role != Role::admin) return refuse(exchange, Code::forbidden);
  if (id == RouteId::admin_create_tenant) return admin_create_tenant(request, exchange);
  if (id == RouteId::admin_sales || id == RouteId::admin_tenants) {
    return admin_lists(id == RouteId::admin_sales, tenant, identity.role == Role::admin, exchange);
  }
  // Audit and reconcile span every tenant's rows, so an organiser of one tenant may not have them.
  const bool spans_tenants =
      id == RouteId::admin_audit || id == RouteId::admin_reconcile || id == RouteId::admin_refunds;
  if (spans_tenants && catalog_->tenants().size() > 1 && identity.role != Role::admin) {
    return refuse(exchange, Code::forbidden);
  }
  if (id == RouteId::admin_reconcile) return admin_reconcile(request, exchange);
  admin_reads(route, tenant, parameter, exchange);
}

void FrontDoor::change(Exchange& exchange, ChangeRequest request, std::function<Response(const ChangeResult&)> answer) {
  const ReplyTo to = exchange.defer();
  Services& services = services_;
  request.done = [to, &services, answer = std::move(answer)](const Result<ChangeResult>& result) {
    services.mailbox().post(to,
                            result ? answer(*result) : error_response(Code::unavailable, {}, result.error().message));
  };
  const bool is_taken = services_.change(std::move(request));
  outcomes_.count(is_taken ? Code::ok : Code::unavailable);
  if (!is_taken) reactor_.complete(to, replies_[static_cast<std::size_t>(Code::unavailable)]);
}

void FrontDoor::admin_create_sale(const Tenant& tenant, const Request& request, Exchange& exchange) {
  JsonBody body;
  if (!read_body(request, exchange,
                 {"saleId", "title", "opensAt", "closesAt", "limitPerBuyer", "payWithin", "secretUrl"}, body))
    return;
  Reader reader{body, now_};
  SaleDraft draft;
  draft.tenant = tenant.id;
  draft.id = reader.id("saleId");
  draft.title = reader.text("title", true);
  draft.opens_at = reader.moment("opensAt");
  draft.closes_at = reader.moment("closesAt");
  draft.limit_per_buyer = static_cast<std::int32_t>(reader.whole("limitPerBuyer", 1, kBuyerLimitMax, 1));
  draft.pay_within = reader.duration("payWithin", Micros{600'000'000});
  draft.secret_url = reader.flag("secretUrl", false);
  if (!reader.wrong() && draft.closes_at <= draft.opens_at)
    reader.fail("closesAt", "The sale must close after it opens.");
  if (reader.wrong()) return answer(exchange, Code::invalid_request, *reader.wrong());
  change(exchange, on_ledger([draft](Ledger& ledger) { return ledger.create_sale(draft); }),
         [draft](const ChangeResult& result) -> Response {
           if (!is_made(result)) return change_refused(result, Code::unknown_tenant);
           return personal(sale_created_json(draft), 201);
         });
}

void FrontDoor::admin_change_sale(const Tenant& tenant, std::string_view sale, SaleAction action, Exchange& exchange) {
  // The answer shows the sale as it is after the change, so its moment is read after it: `now_` is before an opening
  // now.
  const auto changed_at = std::make_shared<Instant>(now_);
  change(exchange, on_ledger([tenant_id = tenant.id, id = std::string{sale}, action, changed_at](Ledger& ledger) {
           auto result = ledger.change_sale(tenant_id, id, action);
           *changed_at = ledger.now();
           return result;
         }),
         [&services = services_, tenant_no = tenant.no, id = std::string{sale},
          changed_at](const ChangeResult& result) -> Response {
           if (!is_made(result)) return change_refused(result, Code::unknown_sale);
           const auto catalog = services.catalog();
           const Sale* changed = catalog->sale_by_id(tenant_no, id);
           return changed == nullptr ? error_response(Code::unknown_sale) : personal(sale_json(*changed, *changed_at));
         });
}

void FrontDoor::admin_add_item(const Tenant& tenant, const Request& request, Exchange& exchange) {
  JsonBody body;
  if (!read_body(request, exchange, {"saleId", "itemId", "title", "price", "units", "numbers", "labels"}, body)) return;
  Reader reader{body, now_};
  ItemDraft draft;
  draft.tenant = tenant.id;
  draft.sale = reader.id("saleId");
  draft.id = reader.id("itemId");
  draft.title = reader.text("title", true);
  draft.price = reader.money("price");
  if (body.find("numbers") == nullptr) {
    draft.units = reader.whole("units", 0, kUnitsPerItemMax, std::nullopt);
    if (body.find("labels") != nullptr) reader.fail("labels", "Only numbers have labels.");
  } else {
    reader.numbers(draft);
  }
  if (reader.wrong()) return answer(exchange, Code::invalid_request, *reader.wrong());
  change(exchange, on_ledger([draft](Ledger& ledger) { return ledger.add_item(draft); }),
         [draft](const ChangeResult& result) -> Response {
           if (!is_made(result)) return change_refused(result, Code::unknown_sale);
           return personal(item_added_json(draft), 201);
         });
}

void FrontDoor::admin_stock(const Tenant& tenant, std::string_view item, const Request& request, Exchange& exchange) {
  JsonBody body;
  if (!read_body(request, exchange, {"delta", "key"}, body)) return;
  Reader reader{body, now_};
  const std::int64_t delta = reader.whole("delta", -kUnitsPerItemMax, kUnitsPerItemMax, std::nullopt);
  const std::string key = body.find("key") == nullptr && request.has_idempotency_key
                              ? std::string{request.idempotency_key}
                              : reader.text("key", true);
  if (key.empty() || key.size() > kIdempotencyKeyBytesMax) reader.fail("key", "The key must have 1 to 255 characters.");
  if (!reader.wrong() && delta == 0) reader.fail("delta", "A change of 0 changes nothing.");
  if (reader.wrong()) return answer(exchange, Code::invalid_request, *reader.wrong());
  ChangeRequest request_change = on_ledger([tenant_id = tenant.id, id = std::string{item}, delta, key](Ledger& ledger) {
    return ledger.change_stock(tenant_id, id, delta, key);
  });
  const Item* changed = catalog_->item_by_id(tenant.no, item);
  if (changed != nullptr && changed->numbered) {
    return answer(exchange, Code::not_allowed,
                  error_response(Code::not_allowed, {}, "The numbers of an item are fixed when it is made."));
  }
  if (delta > 0) request_change.add = delta;
  if (changed != nullptr && delta < 0) {
    request_change.item = changed->no;
    request_change.withdraw = -delta;
    // A change that no total can bear is refused under a new key, and meets the earlier change under a known one.
    request_change.was_made = [tenant_id = tenant.id, id = std::string{item}, key](Ledger& ledger) {
      const auto seen = ledger.change_stock(tenant_id, id, INT64_MIN, key);
      return seen && seen->changed == Changed::exists;
    };
  }
  change(exchange, std::move(request_change), [](const ChangeResult& result) -> Response {
    if (!is_made(result)) return change_refused(result, Code::unknown_item);
    return personal(stock_json(result));
  });
}

void FrontDoor::admin_refund(const Tenant& tenant, const Identity& identity, std::string_view order,
                             const Request& request, Exchange& exchange) {
  JsonBody body;
  if (!read_body(request, exchange, {"reason", "restock", "amount"}, body)) return;
  const auto id = OrderId::parse(order);
  if (!id) return refuse(exchange, Code::unknown_order);
  Reader reader{body, now_};
  RefundOrder command{.tenant = tenant.no,
                      .order = *id,
                      .refund = RefundId::random(*random_),
                      .amount = std::nullopt,
                      .restock = reader.flag("restock", true),
                      .reason = reader.text("reason", false),
                      .key = std::nullopt};
  if (const JsonMember* amount = body.find("amount")) {
    command.amount = amount->kind == JsonMember::Kind::object
                         ? reader.money("amount").value
                         : reader.whole("amount", 1, kPriceMinorMax * kUnitsPerClaimMax, std::nullopt);
  }
  if (reader.wrong()) return answer(exchange, Code::invalid_request, *reader.wrong());
  const std::string what = fmt::format("refund/{}/{}/{}", order, command.amount.value_or(0), command.restock);
  if (!read_key(tenant, identity, request, what, exchange, command.key)) return;
  Services& services = services_;
  in_ledger(exchange, command, [catalog = catalog_, &services](const Settlement& settlement) -> Response {
    switch (settlement.settled) {
      case Settled::done:
      case Settled::repeated:
      case Settled::refund_due:
        services.refund_due();
        return settlement.order ? personal(order_json(*settlement.order, *catalog)) : error_response(Code::unavailable);
      case Settled::unknown_order: return error_response(Code::unknown_order);
      case Settled::key_reused: return error_response(Code::key_reused);
      case Settled::refused:
      case Settled::late: break;
    }
    return error_response(Code::not_refundable);
  });
}

/// The sales of this tenant; or the tenants: for an admin all, for everybody else this one.
void FrontDoor::admin_lists(bool is_sales, const Tenant& tenant, bool sees_all, Exchange& exchange) {
  std::string rows;
  for (const Sale& sale : catalog_->sales()) {
    if (is_sales && sale.tenant == tenant.no) rows += (rows.empty() ? "" : ",") + sale_json(sale, now_);
  }
  for (const Tenant& other : catalog_->tenants()) {
    if (!is_sales && (sees_all || other.no == tenant.no)) rows += (rows.empty() ? "" : ",") + tenant_json(other);
  }
  answer(exchange, Code::ok, personal(fmt::format("{{\"{}\":[{}]}}", is_sales ? "sales" : "tenants", rows)));
}

void FrontDoor::admin_reads(const Route& route, const Tenant& tenant, std::string_view parameter, Exchange& exchange) {
  if (route.id == RouteId::admin_audit) {
    return in_pool(exchange, [](LedgerReader& ledger) -> Response {
      const auto report = ledger.audit();
      return report ? personal(audit_json(*report)) : error_response(Code::unavailable, {}, report.error().message);
    });
  }
  if (route.id == RouteId::admin_refunds) {
    return in_pool(exchange, [](LedgerReader& ledger) { return refunds_response(ledger.refunds_due(1000)); });
  }
  const auto id = OrderId::parse(parameter);
  if (!id) return refuse(exchange, Code::unknown_order);
  if (route.id == RouteId::admin_explain) {
    return in_pool(exchange, [&services = services_, id = *id, tenant_no = tenant.no](LedgerReader& ledger) {
      return life_response(services.explain(id, ledger), tenant_no);
    });
  }
  in_pool(exchange, [catalog = catalog_, id = *id, tenant_no = tenant.no](LedgerReader& ledger) -> Response {
    const auto order = ledger.order(id);
    if (!order) return error_response(Code::unavailable);
    if (!*order || (*order)->tenant != tenant_no) return error_response(Code::unknown_order);
    return personal(order_json(**order, *catalog));
  });
}

void FrontDoor::admin_reconcile(const Request& request, Exchange& exchange) {
  JsonBody body;
  if (!read_body(request, exchange, {"dryRun"}, body)) return;
  Reader reader{body, now_};
  const bool dry_run = reader.flag("dryRun", false);
  if (reader.wrong()) return answer(exchange, Code::invalid_request, *reader.wrong());
  const ReplyTo to = exchange.defer();
  Services& services = services_;
  const bool is_taken = services_.reconcile(dry_run, [to, &services, dry_run](const Result<Findings>& findings) {
    services.mailbox().post(to, findings_response(findings, dry_run));
  });
  outcomes_.count(is_taken ? Code::ok : Code::unavailable);
  if (!is_taken) reactor_.complete(to, replies_[static_cast<std::size_t>(Code::unavailable)]);
}

void FrontDoor::admin_create_tenant(const Request& request, Exchange& exchange) {
  JsonBody body;
  if (!read_body(request, exchange, {"tenantId", "domain"}, body)) return;
  Reader reader{body, now_};
  const std::string id = reader.id("tenantId");
  const std::string domain = reader.text("domain", true);
  if (reader.wrong()) return answer(exchange, Code::invalid_request, *reader.wrong());
  change(exchange, on_ledger([id, domain](Ledger& ledger) { return ledger.create_tenant(id, std::span{&domain, 1}); }),
         [id](const ChangeResult& result) -> Response {
           if (!is_made(result)) return change_refused(result, Code::unknown_tenant);
           return personal(fmt::format("{{\"tenantId\":\"{}\"}}", id), 201);
         });
}

}  // namespace weir::http
