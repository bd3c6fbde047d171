#pragma once

#include "domain/catalog.h"
#include "domain/order.h"
#include "domain/sale.h"
#include "flow/draw.h"
#include "flow/explain.h"
#include "flow/reconcile.h"
#include "http/codes.h"
#include "http/exchange.h"
#include "ledger/ledger.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::http {

/// The body of an error and its headers. `members` is appended after the message, such as `"field":"quantity"`.
[[nodiscard]] Response error_response(Code code, std::string_view members = {}, std::string_view message = {});

/// 400 with the field that is wrong and why.
[[nodiscard]] Response invalid(std::string_view field, std::string_view why);

/// 503 that names the order: it may be taken, so ask for it or send again with the same key.
[[nodiscard]] Response unavailable_with(OrderId order);

/// A 200 (or `status`) that depends on the buyer: never stored by a cache.
[[nodiscard]] Response personal(std::string body, int status = 200);

/// A public answer that caches may keep.
[[nodiscard]] Response shared(std::string body, std::string_view max_age, std::string etag);

/// The ETag of a public answer: a hash of what it says, without the moment at which it was said. So it means the same
/// on every reactor, in every process, and after a restart.
[[nodiscard]] std::string content_tag(std::string_view content);

/// Whether an If-None-Match names this ETag, alone or in a list. Compared weakly: a proxy that compresses weakens
/// ETags.
[[nodiscard]] bool is_unchanged(std::string_view if_none_match, std::string_view etag);

/// The 304 of a public answer.
[[nodiscard]] Response not_modified(std::string_view max_age, std::string etag);

void append_money(std::string& out, Money money);
void append_time(std::string& out, Instant at);

/// The order as buyers and staff read it. Absent members are omitted.
[[nodiscard]] std::string order_json(const Order& order, const Catalog& catalog);

/// The 202 of a purchase.
struct Accepted {
  OrderId order;
  OrderStatus status = OrderStatus::pending;
  std::int32_t units = 1;
  NumberList numbers{};
  NumberList taken{};  // Asked for in part: what could not be had.
  Money amount;
  Instant pay_by;
};
/// 409 with those of the named numbers that are not free.
[[nodiscard]] Response number_taken_response(std::span<const std::uint32_t> taken);
[[nodiscard]] Response accepted_response(const Accepted& accepted);

[[nodiscard]] std::string payment_json(const Payment& payment, const std::string& client_secret,
                                       const std::string& redirect_url);
[[nodiscard]] std::string shelf_members(const Shelf& shelf);
/// `,"numbers":{"first":…,"last":…}` and the labels of numbered stock; nothing for counted.
[[nodiscard]] std::string stock_kind_members(const Item& item);
[[nodiscard]] std::string audit_json(const AuditReport& report);
[[nodiscard]] std::string sale_json(const Sale& sale, Instant now);
[[nodiscard]] std::string tenant_json(const Tenant& tenant);
[[nodiscard]] std::string sale_created_json(const SaleDraft& draft);
[[nodiscard]] std::string item_added_json(const ItemDraft& draft);
[[nodiscard]] std::string stock_json(const ChangeResult& result);
/// The proof of a draw: what anyone needs to compute the winners again.
[[nodiscard]] std::string draw_json(const Draw& draw, std::string_view item_id, bool is_repeated);
/// Why an item cannot be drawn now, for a person.
[[nodiscard]] std::string draw_problem(const DrawOutcome& outcome);
[[nodiscard]] std::string life_json(const std::vector<TraceLine>& life);
[[nodiscard]] std::string findings_json(const Findings& findings, bool dry_run);

}  // namespace weir::http
