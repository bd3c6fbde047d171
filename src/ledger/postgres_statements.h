#pragma once

#include "ledger/postgres_connection.h"

/// The statements of the writer that more than one of its files sends. Writes are set-wise: one statement a table,
/// whatever the size of the batch. Locks are taken in one order by everybody: payments and request keys, gates, log
/// offset, items, buyers, orders, each by ascending key.
namespace weir::postgres::sql {

inline constexpr Statement kBegin{"begin", "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"};
inline constexpr Statement kCommit{"commit", "COMMIT"};
inline constexpr Statement kRollBack{"roll_back", "ROLLBACK"};
inline constexpr Statement kNow{"now", "SELECT flash_sale_now($1)"};

// Advisory locks: the first number says what for, the second which one.
inline constexpr Statement kShareGates{"share_gates",
                                       "SELECT pg_advisory_xact_lock_shared(1464158545, s) FROM unnest($1::int[]) s"};
inline constexpr Statement kHoldGate{"hold_gate", "SELECT pg_advisory_xact_lock(1464158545, $1::int)"};
inline constexpr Statement kLockBuckets{"lock_buckets",
                                        "SELECT pg_advisory_xact_lock(1464158546, b) FROM unnest($1::int[]) b"};
inline constexpr Statement kLockCatalog{"lock_catalog", "SELECT pg_advisory_xact_lock(1464158547, 0)"};
inline constexpr std::string_view kTakeShop = "SELECT pg_try_advisory_lock(1464158548, 0)";
inline constexpr std::string_view kLockSchema = "SELECT pg_advisory_xact_lock(1464158549, 0)";

inline constexpr Statement kLockItems{
    "lock_items",
    "SELECT item_no, sale_no, price, currency, total, held, sold FROM flash_sale_item WHERE item_no = ANY($1::int[]) "
    "ORDER BY item_no FOR NO KEY UPDATE"};
inline constexpr Statement kReadSales{
    "read_sales",
    "SELECT s.sale_no, s.tenant_no, s.limit_per_buyer, s.pay_within_us, t.order_key_0, t.order_key_1 "
    "FROM flash_sale s JOIN flash_sale_tenant t USING (tenant_no) WHERE s.sale_no = ANY($1::int[])"};
inline constexpr Statement kLockBuyers{
    "lock_buyers",
    "SELECT b.sale_no, b.buyer, b.units, b.last_order FROM flash_sale_buyer b "
    "JOIN unnest($1::int[], $2::text[]) AS w(sale_no, buyer) ON b.sale_no = w.sale_no AND b.buyer = w.buyer "
    "ORDER BY b.sale_no, b.buyer FOR NO KEY UPDATE OF b"};
inline constexpr Statement kReadKeys{"read_keys",
                                     "SELECT id, digest FROM flash_sale_request_key WHERE id = ANY($1::uuid[])"};

inline constexpr Statement kMoveItems{
    "move_items",
    "WITH changed AS (UPDATE flash_sale_item i SET held = i.held + d.held, sold = i.sold + d.sold "
    "FROM unnest($1::int[], $2::bigint[], $3::bigint[]) AS d(item_no, held, sold) WHERE i.item_no = d.item_no "
    "RETURNING 1) SELECT flash_sale_all(count(*), $4) FROM changed"};
/// `max_units` and `last_order` may be null: then they stay, but for a buyer who takes units again above his limit of
/// then.
inline constexpr Statement kMoveBuyers{
    "move_buyers",
    "WITH changed AS (UPDATE flash_sale_buyer b SET units = b.units + d.units, "
    "max_units = greatest(coalesce(d.max_units, b.max_units), b.units + d.units), "
    "last_order = coalesce(d.last_order, b.last_order) "
    "FROM unnest($1::int[], $2::text[], $3::bigint[], $4::bigint[], $5::uuid[]) "
    "AS d(sale_no, buyer, units, max_units, last_order) WHERE b.sale_no = d.sale_no AND b.buyer = d.buyer "
    "RETURNING 1) SELECT flash_sale_all(count(*), $6) FROM changed"};
inline constexpr Statement kAddEvents{
    "add_events",
    "INSERT INTO flash_sale_event (order_id, event, at, detail) SELECT e.order_id, e.event, e.at, e.detail "
    "FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::text[]) WITH ORDINALITY AS e(order_id, event, at, detail, "
    "n) "
    "ORDER BY e.n"};
/// A sale without a gate state has its gate in the process that asked, and hears of releases from the answer.
inline constexpr Statement kAddReleases{
    "add_releases",
    "INSERT INTO flash_sale_release (sale_no, hold_id) SELECT r.sale_no, r.hold_id "
    "FROM unnest($1::int[], $2::uuid[]) AS r(sale_no, hold_id) JOIN flash_sale_gate g ON g.sale_no = r.sale_no"};

inline constexpr Statement kReadGates{
    "read_gates",
    "SELECT sale_no, epoch, open, last_open, pin, builder, builder_seen_at FROM flash_sale_gate "
    "WHERE sale_no = ANY($1::int[]) ORDER BY sale_no"};

}  // namespace weir::postgres::sql
