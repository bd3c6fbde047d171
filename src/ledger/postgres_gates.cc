#include "base/fault.h"
#include "base/log.h"
#include "config/limits.h"
#include "ledger/postgres_ledger.h"
#include "ledger/postgres_rows.h"

#include <algorithm>

#include <fmt/format.h>

namespace weir {

using postgres::Rows;
using postgres::Session;
using postgres::Statement;
using postgres::Values;

namespace {

constexpr Statement kAllGates{
    "gates_all",
    "SELECT sale_no, epoch, open, last_open, pin, builder, builder_seen_at FROM flash_sale_gate ORDER BY sale_no"};
constexpr Statement kOneGate{
    "gates_one",
    "SELECT sale_no, epoch, open, last_open, pin, builder, builder_seen_at FROM flash_sale_gate WHERE sale_no = $1"};
constexpr Statement kHasSale{"gates_has_sale", "SELECT 1 FROM flash_sale WHERE sale_no = $1"};
constexpr Statement kFirstBuild{
    "gates_first_build",
    "INSERT INTO flash_sale_gate (sale_no, epoch, open, last_open, pin, builder, builder_seen_at) "
    "VALUES ($1, $2, false, 0, '', $3, flash_sale_now($4))"};
constexpr Statement kBuild{"gates_build",
                           "UPDATE flash_sale_gate SET epoch = $2, open = false, builder = $3, "
                           "builder_seen_at = flash_sale_now($4) WHERE sale_no = $1"};
constexpr Statement kHeartbeat{"gates_heartbeat",
                               "UPDATE flash_sale_gate SET builder_seen_at = flash_sale_now($4) "
                               "WHERE sale_no = $1 AND epoch = $2 AND builder = $3 AND NOT open RETURNING 1"};
constexpr Statement kOpen{"gates_open",
                          "UPDATE flash_sale_gate SET open = true, last_open = epoch, pin = $2, "
                          "builder_seen_at = flash_sale_now($3) WHERE sale_no = $1"};
constexpr Statement kBehind{
    "gates_behind",
    "SELECT 1 FROM unnest($1::text[], $2::int[], $3::bigint[]) AS m(topic_id, partition, next_offset) "
    "LEFT JOIN flash_sale_log_offset o ON o.topic_id = m.topic_id AND o.partition = m.partition "
    "WHERE coalesce(o.next_offset, 0) < m.next_offset LIMIT 1"};

constexpr Statement kTotals{"snapshot_totals",
                            "SELECT i.item_no, i.total, s.limit_per_buyer FROM flash_sale_item i "
                            "JOIN flash_sale s ON s.sale_no = i.sale_no WHERE i.sale_no = $1 ORDER BY i.item_no"};
constexpr std::string_view kLive =
    "SELECT coalesce(hold_id, order_id), order_id, item_no, quantity, status <> 0, buyer, digest, pay_by "
    "FROM flash_sale_order WHERE sale_no = {} AND (status IN (0, 1) OR kept_units > 0)";
/// The first hold of an order that late money has taken again ended as well, and so did each hold that was refused.
constexpr std::string_view kEnded =
    "SELECT order_id FROM flash_sale_order "
    "WHERE sale_no = {0} AND (hold_id IS NOT NULL OR (status >= 2 AND kept_units = 0)) UNION ALL "
    "SELECT hold_id FROM flash_sale_order WHERE sale_no = {0} AND hold_id IS NOT NULL AND status >= 2 "
    "AND kept_units = 0 UNION ALL SELECT hold_id FROM flash_sale_retake WHERE sale_no = {0} AND NOT kept";

GateSnapshot read_snapshot(Session& session, SaleNo sale) {
  GateSnapshot snapshot;
  const Rows totals = session.run(kTotals, Values{}.add(sale));
  for (int row = 0; row < totals.size(); ++row) {
    snapshot.totals.emplace_back(totals.number<ItemNo>(row, 0), totals.whole(row, 1));
    snapshot.limit_per_buyer = static_cast<std::int32_t>(totals.whole(row, 2));
  }
  // The orders of one sale are most of the table: no index is worth its price at every claim.
  static_cast<void>(session.ask(
      fmt::format("SET LOCAL enable_seqscan = on; SET LOCAL statement_timeout = {}", kPostgresLongUsMax / 1000)));
  postgres::fetch_all(session, fmt::format(kLive, sale.value), [&](const Rows& rows, int row) {
    snapshot.live.push_back({.hold = rows.id<OrderId>(row, 0),
                             .order = rows.id<OrderId>(row, 1),
                             .item = rows.number<ItemNo>(row, 2),
                             .units = static_cast<std::int32_t>(rows.whole(row, 3)),
                             .sold = rows.truth(row, 4),
                             .buyer = std::string{rows.text(row, 5)},
                             .digest = {static_cast<std::uint64_t>(rows.whole(row, 6))},
                             .pay_by = rows.moment(row, 7)});
  });
  postgres::fetch_all(session, fmt::format(kEnded, sale.value),
                      [&](const Rows& rows, int row) { snapshot.ended.push_back(rows.id<OrderId>(row, 0)); });
  return snapshot;
}

bool is_behind(Session& session, std::span<const LogMark> marks) {
  postgres::Array topics, partitions, offsets;
  for (const LogMark& mark : marks) {
    topics.add(std::string_view{mark.topic_id});
    partitions.add(std::int64_t{mark.partition});
    offsets.add(mark.offset);
  }
  return session.run(kBehind, Values{}.add(std::move(topics)).add(std::move(partitions)).add(std::move(offsets)))
             .size() > 0;
}

}  // namespace

Result<std::vector<GateState>> PostgresLedger::gate_states(Deadline deadline) {
  std::vector<GateState> gates;
  const auto done = look(deadline, [&](Session& session) { gates = postgres::read_gates(session.run(kAllGates)); });
  if (!done) return std::unexpected(done.error());
  return gates;
}

Result<std::optional<std::int64_t>> PostgresLedger::begin_build(const BuildStart& start, Deadline deadline) {
  std::optional<std::int64_t> epoch;
  const auto done = transact(deadline, [&](Session& session) {
    epoch.reset();
    session.queue(postgres::sql::kHoldGate, Values{}.add(start.sale));
    session.queue(kHasSale, Values{}.add(start.sale));
    session.queue(kOneGate, Values{}.add(start.sale));
    const std::vector<Rows> answers = session.run();
    if (answers[answers.size() - 2].size() == 0) return Finish::roll_back;
    const std::vector<GateState> gates = postgres::read_gates(answers.back());
    const std::int64_t now_at = gates.empty() ? 0 : gates.front().epoch;
    const std::int64_t next = std::max({start.believed, start.seen_in_gate, start.seen_in_log}) + 1;
    const bool is_own = now_at == next && gates.front().builder == start.builder;
    if (is_own && gates.front().phase == GatePhase::building) epoch = next;  // Its own start, met again.
    if (epoch || now_at != start.believed) return Finish::roll_back;
    session.queue(gates.empty() ? kFirstBuild : kBuild,
                  Values{}.add(start.sale).add(next).add(std::string_view{start.builder}).add(session.given()));
    epoch = next;
    return Finish::commit;
  });
  if (!done) return std::unexpected(done.error());
  if (epoch) log::warn("gate_build_started", {{"sale", std::int64_t{start.sale.value}}, {"epoch", *epoch}});
  return epoch;
}

Result<bool> PostgresLedger::keep_building(SaleNo sale, std::int64_t epoch, std::string_view builder,
                                           Deadline deadline) {
  bool is_ours = false;
  const auto done = transact(deadline, [&](Session& session) {
    is_ours = session.run(kHeartbeat, Values{}.add(sale).add(epoch).add(builder).add(session.given())).size() > 0;
    return Finish::commit;
  });
  if (!done) return std::unexpected(done.error());
  return is_ours;
}

Result<BuildResult> PostgresLedger::finish_build(const BuildFinish& finish, Deadline deadline) {
  BuildResult result;
  const auto work = [&](Session& session) {
    result = {};
    session.queue(postgres::sql::kHoldGate, Values{}.add(finish.sale));
    session.queue(kOneGate, Values{}.add(finish.sale));
    const std::vector<GateState> gates = postgres::read_gates(session.run().back());
    const bool is_ours =
        !gates.empty() && gates.front().epoch == finish.epoch && gates.front().builder == finish.builder;
    if (!is_ours) return Finish::roll_back;
    const GateState& gate = gates.front();
    if (gate.phase == GatePhase::open && gate.pin != finish.pin) return Finish::roll_back;
    if (gate.phase == GatePhase::building && is_behind(session, finish.marks)) {
      result.end = BuildEnd::behind;
      return Finish::roll_back;
    }
    result.snapshot = read_snapshot(session, finish.sale);
    result.end = BuildEnd::open;
    FAULT("snapshot_read");
    session.queue(kOpen, Values{}.add(finish.sale).add(std::string_view{finish.pin}).add(session.given()));
    return Finish::commit;
  };
  const auto done = transact(deadline, work, Micros{kPostgresLongUsMax});
  if (!done) return std::unexpected(done.error());
  return result;
}

}  // namespace weir
