#include "base/encoding.h"
#include "base/json_text.h"
#include "config/limits.h"
#include "http/front_door.h"
#include "http/query.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace weir::http {
namespace {

constexpr std::size_t kOrdersPageMax = 50;
constexpr Micros kStateLife{1'000'000};

void append_sale_head(std::string& out, const Sale& sale, Instant now) {
  out += "\"saleId\":";
  append_json_string(out, sale.id);
  out += ",\"title\":";
  append_json_string(out, sale.title);
  fmt::format_to(std::back_inserter(out), ",\"state\":\"{}\",\"opensAt\":", name(phase(sale, now)));
  append_time(out, sale.opens_at);
  out += ",\"closesAt\":";
  append_time(out, sale.closes_at);
}

std::string purchase_url(const Sale& sale, const Item& item) {
  std::string url = "/api/flash-sales/items/" + item.id + "/purchase";
  if (!sale.secret.empty()) url += "?k=" + sale.secret;
  return url;
}

/// The addresses appear only once the sale is open; until then no answer contains them.
bool shows_purchase_url(const Sale& sale, Instant now) { return phase(sale, now) == SalePhase::open; }

/// How long a page should wait before it asks again, from what it can see.
std::int64_t poll_after_ms(const Sale& sale, Instant now) {
  if (now < sale.opens_at) return sale.opens_at - now > Micros{60'000'000} ? 15'000 : 2'000;
  return phase(sale, now) == SalePhase::closed ? 60'000 : 4'000;
}

std::string waiting_order_json(const Claim& claim, const Catalog& catalog) {
  Order order;
  order.id = claim.order;
  order.sale = claim.sale;
  order.item = claim.item;
  order.units = claim.units;
  order.numbers = claim.numbers;
  const Item* item = catalog.item(claim.item);
  if (item != nullptr) order.amount = times(item->price, claim.units).value_or(Money{});
  order.pay_by = claim.promised_pay_by;
  const Sale* sale = catalog.sale(claim.sale);
  order.created_at = sale == nullptr ? claim.promised_pay_by : claim.promised_pay_by - sale->pay_within;
  return order_json(order, catalog);
}

}  // namespace

void FrontDoor::get_time(Exchange& exchange) {
  std::string body = "{\"now\":";
  append_time(body, now_);
  body += '}';
  answer(exchange, Code::ok, personal(std::move(body)));
}

/// A public answer with its moment, or 304 when the client has it but for the moment. `content` is the body up to
/// there.
void FrontDoor::answer_shared(std::string content, const Request& request, Exchange& exchange) {
  std::string etag = content_tag(content);
  if (is_unchanged(request.if_none_match, etag)) {
    return answer(exchange, Code::not_modified, not_modified("1", std::move(etag)));
  }
  content += ",\"asOf\":";
  append_time(content, now_);
  content += '}';
  answer(exchange, Code::ok, shared(std::move(content), "1", std::move(etag)));
}

void FrontDoor::get_sales(const Tenant& tenant, const Request& request, Exchange& exchange) {
  std::string body = "{\"sales\":[";
  bool is_first = true;
  for (const Sale& sale : catalog_->sales()) {
    if (sale.tenant != tenant.no) continue;
    body += is_first ? "{" : ",{";
    is_first = false;
    append_sale_head(body, sale, now_);
    body += '}';
  }
  answer_shared(body + ']', request, exchange);
}

void FrontDoor::get_sale(const Tenant& tenant, std::string_view sale_id, const Request& request, Exchange& exchange) {
  const Sale* sale = catalog_->sale_by_id(tenant.no, sale_id);
  if (sale == nullptr) return refuse(exchange, Code::unknown_sale);
  std::string body = "{";
  append_sale_head(body, *sale, now_);
  fmt::format_to(std::back_inserter(body), ",\"limitPerBuyer\":{},\"payWithinSeconds\":{},\"items\":[",
                 sale->limit_per_buyer, sale->pay_within.count() / 1'000'000);
  bool is_first = true;
  for (const Item* item : catalog_->items_of(sale->no)) {
    body += is_first ? "{\"itemId\":" : ",{\"itemId\":";
    is_first = false;
    append_json_string(body, item->id);
    body += ",\"title\":";
    append_json_string(body, item->title);
    body += ",\"price\":";
    append_money(body, item->price);
    fmt::format_to(std::back_inserter(body), ",{}{}", shelf_members(services_.shelves().read(item->no)),
                   stock_kind_members(*item));
    if (shows_purchase_url(*sale, now_)) {
      body += ",\"purchaseUrl\":";
      append_json_string(body, purchase_url(*sale, *item));
    }
    body += '}';
  }
  answer_shared(body + ']', request, exchange);
}

void FrontDoor::get_item(const Tenant& tenant, std::string_view item_id, const Request& request, Exchange& exchange) {
  const Item* item = catalog_->item_by_id(tenant.no, item_id);
  if (item == nullptr) return refuse(exchange, Code::unknown_item);
  const Shelf shelf = services_.shelves().read(item->no);
  std::string body = "{\"itemId\":";
  append_json_string(body, item->id);
  fmt::format_to(std::back_inserter(body), ",{},\"version\":{}{}", shelf_members(shelf), shelf.version,
                 stock_kind_members(*item));
  answer_shared(std::move(body), request, exchange);
}

std::string FrontDoor::state_body(const Sale& sale, std::string& etag) const {
  std::string stock;
  std::string urls;
  std::uint64_t version = catalog_version_;
  for (const Item* item : catalog_->items_of(sale.no)) {
    const Shelf shelf = services_.shelves().read(item->no);
    version += shelf.version;
    if (!stock.empty()) stock += ',';
    append_json_string(stock, item->id);
    fmt::format_to(std::back_inserter(stock), ":{{{}", shelf_members(shelf));
    if (shelf.free == 0 && shelf.held > 0) {
      // Nobody's time to pay that runs now ends later than this.
      stock += ",\"returnsUntil\":";
      append_time(stock, now_ + sale.pay_within + parts_.payment_grace);
    }
    stock += '}';
    if (!urls.empty()) urls += ',';
    append_json_string(urls, item->id);
    urls += ':';
    append_json_string(urls, purchase_url(sale, *item));
  }
  const SalePhase now_phase = phase(sale, now_);
  std::string head = fmt::format(",\"phase\":\"{}\",\"opensAt\":", name(now_phase));
  append_time(head, sale.opens_at);
  head += ",\"closesAt\":";
  append_time(head, sale.closes_at);
  if (shows_purchase_url(sale, now_)) head += ",\"purchaseUrls\":{" + urls + "}";
  const std::int64_t poll_after = poll_after_ms(sale, now_);
  // `returnsUntil` moves with the clock, but while no shelf has changed nobody has been given more time: what the
  // client has is still a bound. The process is part of it, since versions begin anew in the next.
  etag = content_tag(fmt::format("{} {} {} {} {}", parts_.started_at.us, version, poll_after, head, sale.id));
  std::string body = fmt::format("{{\"version\":{},\"asOf\":", version);
  append_time(body, now_);
  return fmt::format("{}{},\"stock\":{{{}}},\"pollAfterMs\":{}}}", body, head, stock, poll_after);
}

void FrontDoor::get_state(const Tenant& tenant, std::string_view sale_id, const Request& request, Exchange& exchange) {
  const Sale* sale = catalog_->sale_by_id(tenant.no, sale_id);
  if (sale == nullptr) return refuse(exchange, Code::unknown_sale);
  CachedState& cached = states_[sale->no.value];
  // Made once a second, whatever the crowd; and at once when the sale opens or closes in between.
  const bool is_fresh = !cached.etag.empty() && ticks_ - cached.made_at < kStateLife &&
                        (now_ < sale->opens_at || now_ - sale->opens_at >= ticks_ - cached.made_at);
  if (!is_fresh) {
    cached.made_at = ticks_;
    const std::string body = state_body(*sale, cached.etag);
    cached.reply = FixedReply{shared(body, "1", cached.etag)};
  }
  if (is_unchanged(request.if_none_match, cached.etag)) {
    return answer(exchange, Code::not_modified, not_modified("1", cached.etag));
  }
  outcomes_.count(Code::ok);
  exchange.send(cached.reply);
}

std::string attempt_id(const Tenant& tenant, const Sale& sale, std::string_view buyer, std::size_t attempts) {
  const OrderId id = derived_order_id(tenant, buyer, fmt::format("attempt/{}/{}", sale.id, attempts));
  return "a-" + id.text();
}

void FrontDoor::get_me(const Tenant& tenant, const Identity& identity, std::string_view sale_id, Exchange& exchange) {
  const Sale* sale = catalog_->sale_by_id(tenant.no, sale_id);
  if (sale == nullptr) return refuse(exchange, Code::unknown_sale);
  in_pool(exchange,
          [catalog = catalog_, tenant_no = tenant.no, sale_no = sale->no,
           buyer = identity.subject](LedgerReader& ledger) -> Response {
            const Tenant& of = *catalog->tenant(tenant_no);
            const Sale& in = *catalog->sale(sale_no);
            std::string cursor;
            std::string orders;
            std::size_t ended = 0;
            std::int32_t bought = 0;
            const std::size_t pages_max = 20;
            for (std::size_t page = 0; page < pages_max; ++page) {
              const auto found = ledger.orders_of(tenant_no, buyer.view(), kOrdersPageMax, cursor);
              if (!found) return error_response(Code::unavailable);
              for (const Order& order : *found) {
                if (order.sale != sale_no) continue;
                // The attempt of a PENDING order is the one that made it; any other state has concluded its attempt.
                if (order.status != OrderStatus::pending) ++ended;
                if (is_live(order.status)) bought += order.units;
                if (!orders.empty()) orders += ',';
                orders += order_json(order, *catalog);
              }
              if (cursor.empty()) break;
            }
            return personal(fmt::format("{{\"attemptId\":\"{}\",\"bought\":{},\"limit\":{},\"orders\":[{}]}}",
                                        attempt_id(of, in, buyer.view(), ended), bought, in.limit_per_buyer, orders));
          });
}

void FrontDoor::get_order(const Tenant& tenant, const Identity& identity, std::string_view order_id,
                          Exchange& exchange) {
  const auto id = OrderId::parse(order_id);
  if (!id) return refuse(exchange, Code::unknown_order);
  const ReplyTo to = exchange.defer();
  Services& services = services_;
  // Answers from the row if there is one, and says whether there was.
  const auto from_ledger = [id = *id, to, &services, catalog = catalog_, tenant_no = tenant.no,
                            buyer = identity.subject](LedgerReader& ledger) {
    const auto order = ledger.order(id);
    if (order && !*order) return false;
    if (!order) {
      services.mailbox().post(to, error_response(Code::unavailable));
      return true;
    }
    const bool is_own = (*order)->tenant == tenant_no && (*order)->buyer == buyer.view();
    services.mailbox().post(to, is_own ? personal(order_json(**order, *catalog)) : error_response(Code::unknown_order));
    return true;
  };
  const bool is_taken = services.read([from_ledger, id = *id, to, &services, catalog = catalog_, tenant_no = tenant.no,
                                       buyer = identity.subject](LedgerReader& ledger) {
    if (from_ledger(ledger)) return;
    // No row: it may be admitted and on its way. If nobody has heard of it either, it may have become durable between
    // the two looks, so the ledger is asked once more.
    services.find_waiting(
        id, [from_ledger, to, &services, catalog, tenant_no, buyer](const Services::WaitingClaim& found) {
          if (!found) return services.mailbox().post(to, error_response(Code::unavailable));
          if (const std::optional<Claim>& claim = *found) {
            const bool is_own = claim->tenant == tenant_no && claim->buyer == buyer;
            return services.mailbox().post(
                to, is_own ? personal(waiting_order_json(*claim, *catalog)) : error_response(Code::unknown_order));
          }
          const bool is_asked = services.read([from_ledger, to, &services](LedgerReader& again) {
            if (!from_ledger(again)) services.mailbox().post(to, error_response(Code::unknown_order));
          });
          if (!is_asked) services.mailbox().post(to, error_response(Code::unavailable));
        });
  });
  outcomes_.count(is_taken ? Code::ok : Code::unavailable);
  if (!is_taken) reactor_.complete(to, replies_[static_cast<std::size_t>(Code::unavailable)]);
}

void FrontDoor::get_orders(const Tenant& tenant, const Identity& identity, std::string_view query, Exchange& exchange) {
  const std::string given{query_value(query, "cursor").value_or("")};
  in_pool(
      exchange,
      [catalog = catalog_, tenant_no = tenant.no, buyer = identity.subject, given](LedgerReader& ledger) -> Response {
        std::string cursor = given;
        const auto orders = ledger.orders_of(tenant_no, buyer.view(), kOrdersPageMax, cursor);
        if (!orders) {
          return orders.error().failure == Failure::unfit ? invalid("cursor", orders.error().message)
                                                          : error_response(Code::unavailable);
        }
        std::string body = "{\"orders\":[";
        for (std::size_t i = 0; i < orders->size(); ++i) {
          if (i > 0) body += ',';
          body += order_json((*orders)[i], *catalog);
        }
        body += ']';
        if (!cursor.empty()) {
          body += ",\"cursor\":";
          append_json_string(body, cursor);
        }
        body += '}';
        return personal(std::move(body));
      });
}

}  // namespace weir::http
