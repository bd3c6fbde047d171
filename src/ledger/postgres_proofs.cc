#include "base/check.h"
#include "config/limits.h"
#include "ledger/postgres_ledger.h"

#include <fmt/format.h>

namespace weir {

using postgres::Array;
using postgres::Rows;
using postgres::Session;
using postgres::Statement;
using postgres::Values;

namespace {

constexpr std::string_view kLiveHolds =
    "SELECT coalesce(hold_id, order_id), order_id, item_no, quantity, status <> 0, buyer, digest, pay_by "
    "FROM flash_sale_order WHERE sale_no = {} AND (status IN (0, 1) OR kept_units > 0)";

constexpr Statement kRow{"proof_row", "SELECT sale_no, epoch FROM flash_sale_order WHERE order_id = $1"};
/// The outbox has no index by hold: it is short, and this is asked by people.
constexpr Statement kReleasesOf{"proof_releases",
                                "SELECT id, hold_id FROM flash_sale_release WHERE hold_id = $1 OR hold_id IN "
                                "(SELECT hold_id FROM flash_sale_retake WHERE order_id = $1) ORDER BY id"};
constexpr Statement kRetakesOf{"proof_retakes",
                               "SELECT hold_id, payment_id, kept, created_at FROM flash_sale_retake "
                               "WHERE order_id = $1 ORDER BY created_at, hold_id"};
constexpr Statement kParkedOf{"proof_parked",
                              "SELECT topic_id, partition, log_offset, problem, replayed, parked_at "
                              "FROM flash_sale_parked WHERE order_id = $1 ORDER BY parked_at, partition, log_offset"};
constexpr Statement kRepairsOf{
    "proof_repairs", "SELECT at, finding, detail FROM flash_sale_repair WHERE order_id = $1 ORDER BY repair_no"};
constexpr Statement kNoteRepairs{"proof_note",
                                 "INSERT INTO flash_sale_repair (sale_no, order_id, finding, detail, at) "
                                 "SELECT r.sale_no, r.order_id, r.finding, r.detail, flash_sale_now($5) "
                                 "FROM unnest($1::int[], $2::uuid[], $3::text[], $4::text[]) WITH ORDINALITY "
                                 "AS r(sale_no, order_id, finding, detail, n) ORDER BY r.n"};

OrderTraces read_traces(const std::vector<Rows>& answers) {
  OrderTraces traces;
  if (answers[0].size() > 0) {
    traces.sale = answers[0].number<SaleNo>(0, 0);
    traces.epoch = answers[0].whole(0, 1);
  }
  for (int row = 0; row < answers[1].size(); ++row) {
    traces.releases.push_back(
        {.id = static_cast<std::uint64_t>(answers[1].whole(row, 0)), .hold = answers[1].id<OrderId>(row, 1)});
  }
  for (int row = 0; row < answers[2].size(); ++row) {
    const Rows& late = answers[2];
    traces.late.push_back({.hold = late.id<OrderId>(row, 0),
                           .payment = late.id<PaymentId>(row, 1),
                           .is_kept = late.is_null(row, 2) ? std::nullopt : std::optional{late.truth(row, 2)},
                           .since = late.moment(row, 3)});
  }
  for (int row = 0; row < answers[3].size(); ++row) {
    const Rows& parked = answers[3];
    traces.parked.push_back({.place = {.topic_id = std::string{parked.text(row, 0)},
                                       .partition = static_cast<std::int32_t>(parked.whole(row, 1)),
                                       .offset = parked.whole(row, 2)},
                             .problem = std::string{parked.text(row, 3)},
                             .is_shown = parked.truth(row, 4),
                             .at = parked.moment(row, 5)});
  }
  for (int row = 0; row < answers[4].size(); ++row) {
    traces.repairs.push_back({.at = answers[4].moment(row, 0),
                              .finding = std::string{answers[4].text(row, 1)},
                              .detail = std::string{answers[4].text(row, 2)}});
  }
  return traces;
}

}  // namespace

Result<void> PostgresLedger::live_holds(SaleNo sale, const std::function<void(const LiveHold&)>& each) {
  bool has_given = false;
  const auto read = [&](Session& session) {
    if (has_given) return Finish::roll_back;  // What was given out is not given out twice: the caller asks again.
    static_cast<void>(session.run());
    // The orders of one sale are most of the table.
    static_cast<void>(session.ask(
        fmt::format("SET LOCAL enable_seqscan = on; SET LOCAL statement_timeout = {}", kPostgresLongUsMax / 1000)));
    has_given = true;
    postgres::fetch_all(session, fmt::format(kLiveHolds, sale.value), [&](const Rows& rows, int row) {
      each({.hold = rows.id<OrderId>(row, 0),
            .order = rows.id<OrderId>(row, 1),
            .item = rows.number<ItemNo>(row, 2),
            .units = static_cast<std::int32_t>(rows.whole(row, 3)),
            .sold = rows.truth(row, 4),
            .buyer = std::string{rows.text(row, 5)},
            .digest = {static_cast<std::uint64_t>(rows.whole(row, 6))},
            .pay_by = rows.moment(row, 7)});
    });
    has_given = false;  // All of it.
    return Finish::roll_back;
  };
  const auto done = transact(clock_.ticks() + Micros{kPostgresLongUsMax}, read, Micros{kPostgresLongUsMax});
  if (!done) return done;
  if (has_given) return fail(Failure::unavailable, "the ledger was lost while its live holds were read");
  return {};
}

Result<OrderTraces> PostgresLedger::traces_of(OrderId order, Deadline deadline) {
  OrderTraces traces;
  const auto done = look(deadline, [&](Session& session) {
    for (const Statement& statement : {kRow, kReleasesOf, kRetakesOf, kParkedOf, kRepairsOf}) {
      session.queue(statement, Values{}.add(order));
    }
    traces = read_traces(session.run());
  });
  if (!done) return std::unexpected(done.error());
  return traces;
}

Result<void> PostgresLedger::note_repairs(std::span<const Repair> repairs, Deadline deadline) {
  CHECK(repairs.size() <= kOutboxBatchMax, "repairs={}", repairs.size());
  return transact(deadline, [&](Session& session) {
    Array sales, orders, findings, details;
    for (const Repair& repair : repairs) {
      sales.add(repair.sale);
      if (repair.order.is_none())
        orders.add_null();
      else
        orders.add(repair.order);
      findings.add(std::string_view{repair.finding});
      details.add(std::string_view{postgres::storable(repair.detail)});
    }
    session.queue(kNoteRepairs, Values{}
                                    .add(std::move(sales))
                                    .add(std::move(orders))
                                    .add(std::move(findings))
                                    .add(std::move(details))
                                    .add(session.given()));
    return Finish::commit;
  });
}

}  // namespace weir
