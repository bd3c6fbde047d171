#include "base/check.h"
#include "config/limits.h"
#include "ledger/postgres_ledger.h"

#include <algorithm>
#include <unordered_map>

namespace weir {

using postgres::Array;
using postgres::Rows;
using postgres::Session;
using postgres::Statement;
using postgres::Values;

namespace {

constexpr Statement kMarks{"log_marks",
                           "SELECT partition, next_offset FROM flash_sale_log_offset WHERE topic_id = $1 "
                           "ORDER BY partition"};
constexpr Statement kStartLog{"log_start",
                              "INSERT INTO flash_sale_log_offset (topic_id, partition, next_offset) "
                              "VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"};
constexpr Statement kWhereLog{"log_where",
                              "SELECT next_offset FROM flash_sale_log_offset WHERE topic_id = $1 AND partition = $2"};

constexpr Statement kReleases{"releases",
                              "SELECT id, hold_id FROM flash_sale_release WHERE sale_no = $1 ORDER BY id LIMIT $2"};
/// Fenced by the epoch: what ran on a gate that has been replaced has to run again (P6).
constexpr Statement kDropReleases{
    "releases_drop",
    "DELETE FROM flash_sale_release r USING flash_sale_gate g WHERE r.id = ANY($1::bigint[]) AND r.sale_no = $2 "
    "AND g.sale_no = r.sale_no AND g.epoch = $3 AND g.open"};

constexpr Statement kHoldsOfOrders{
    "holds_of_orders",
    "SELECT order_id, status IN (0, 1) OR kept_units > 0, hold_id IS NOT NULL FROM flash_sale_order "
    "WHERE order_id = ANY($1::uuid[])"};
constexpr Statement kHoldsOfRetakes{
    "holds_of_retakes",
    "SELECT r.hold_id, r.kept, o.status IN (0, 1) OR o.kept_units > 0 FROM flash_sale_retake r "
    "JOIN flash_sale_order o ON o.order_id = r.order_id WHERE r.hold_id = ANY($1::uuid[])"};

constexpr Statement kParked{
    "parked",
    "SELECT topic_id, partition, log_offset, message_key, bytes, problem, parked_at FROM flash_sale_parked "
    "WHERE NOT replayed ORDER BY parked_at, topic_id, partition, log_offset LIMIT $1"};
constexpr Statement kMarkReplayed{
    "parked_replayed",
    "UPDATE flash_sale_parked p SET replayed = true FROM unnest($1::text[], $2::int[], $3::bigint[]) "
    "AS d(topic_id, partition, log_offset) WHERE p.topic_id = d.topic_id AND p.partition = d.partition "
    "AND p.log_offset = d.log_offset"};

std::int64_t bounded(std::size_t count) { return static_cast<std::int64_t>(std::min(count, kOutboxBatchMax)); }

}  // namespace

Result<std::vector<LogMark>> PostgresLedger::log_marks(std::string_view topic_id, Deadline deadline) {
  std::vector<LogMark> marks;
  const auto done = look(deadline, [&](Session& session) {
    marks.clear();
    const Rows rows = session.run(kMarks, Values{}.add(topic_id));
    for (int row = 0; row < rows.size(); ++row) {
      marks.push_back({.topic_id = std::string{topic_id},
                       .partition = static_cast<std::int32_t>(rows.whole(row, 0)),
                       .offset = rows.whole(row, 1)});
    }
  });
  if (!done) return std::unexpected(done.error());
  return marks;
}

Result<std::int64_t> PostgresLedger::start_log(const LogMark& mark, Deadline deadline) {
  std::int64_t offset = 0;
  const auto done = transact(deadline, [&](Session& session) {
    const Values place = Values{}.add(std::string_view{mark.topic_id}).add(std::int64_t{mark.partition});
    session.queue(kStartLog, Values{place}.add(mark.offset));
    session.queue(kWhereLog, place);
    offset = session.run().back().whole(0, 0);
    return Finish::commit;
  });
  if (!done) return std::unexpected(done.error());
  return offset;
}

Result<std::vector<Release>> PostgresLedger::releases(SaleNo sale, std::size_t count, Deadline deadline) {
  std::vector<Release> found;
  const auto done = look(deadline, [&](Session& session) {
    found.clear();
    const Rows rows = session.run(kReleases, Values{}.add(sale).add(bounded(count)));
    for (int row = 0; row < rows.size(); ++row) {
      found.push_back({.id = static_cast<std::uint64_t>(rows.whole(row, 0)), .hold = rows.id<OrderId>(row, 1)});
    }
  });
  if (!done) return std::unexpected(done.error());
  return found;
}

Result<std::size_t> PostgresLedger::drop_releases(SaleNo sale, std::int64_t epoch, std::span<const std::uint64_t> ids,
                                                  Deadline deadline) {
  CHECK(ids.size() <= kOutboxBatchMax, "ids={}", ids.size());
  std::int64_t dropped = 0;
  const auto done = transact(deadline, [&](Session& session) {
    Array sales, numbers;
    sales.add(sale);
    for (const std::uint64_t id : ids) numbers.add(static_cast<std::int64_t>(id));
    session.queue(postgres::sql::kShareGates, Values{}.add(std::move(sales)));  // No build starts in between.
    session.queue(kDropReleases, Values{}.add(std::move(numbers)).add(sale).add(epoch));
    dropped = session.run().back().changed();
    return Finish::commit;
  });
  if (!done) return std::unexpected(done.error());
  return static_cast<std::size_t>(dropped);
}

Result<void> PostgresLedger::look_up_holds(std::span<const OrderId> holds, std::span<HoldStanding> standings,
                                           Deadline deadline) {
  CHECK(holds.size() == standings.size() && holds.size() <= kOutboxBatchMax, "holds={}", holds.size());
  return look(deadline, [&](Session& session) {
    Array of_orders, of_retakes;
    for (const OrderId& hold : holds) {
      of_orders.add(hold);
      of_retakes.add(hold);
    }
    session.queue(kHoldsOfOrders, Values{}.add(std::move(of_orders)));
    session.queue(kHoldsOfRetakes, Values{}.add(std::move(of_retakes)));
    const std::vector<Rows> answers = session.run();
    std::unordered_map<OrderId, HoldStanding> known;
    const auto live_if = [](bool is_live) { return is_live ? HoldStanding::live : HoldStanding::ended; };
    for (int row = 0; row < answers[0].size(); ++row) {
      // Once late money has taken the units again, another hold has them.
      const bool is_live = answers[0].truth(row, 1) && !answers[0].truth(row, 2);
      known[answers[0].id<OrderId>(row, 0)] = live_if(is_live);
    }
    for (int row = 0; row < answers[1].size(); ++row) {
      const bool is_decided = !answers[1].is_null(row, 1);
      const bool is_live = answers[1].truth(row, 1) && answers[1].truth(row, 2);
      known[answers[1].id<OrderId>(row, 0)] = is_decided ? live_if(is_live) : HoldStanding::undecided;
    }
    for (std::size_t i = 0; i < holds.size(); ++i) {
      const auto found = known.find(holds[i]);
      standings[i] = found == known.end() ? HoldStanding::unknown : found->second;
    }
  });
}

Result<std::vector<ParkedMessage>> PostgresLedger::parked(std::size_t count, Deadline deadline) {
  std::vector<ParkedMessage> messages;
  const auto done = look(deadline, [&](Session& session) {
    messages.clear();
    const Rows rows = session.run(kParked, Values{}.add(bounded(count)));
    for (int row = 0; row < rows.size(); ++row) {
      messages.push_back({.topic_id = std::string{rows.text(row, 0)},
                          .partition = static_cast<std::int32_t>(rows.whole(row, 1)),
                          .offset = rows.whole(row, 2),
                          .key = rows.bytes(row, 3),
                          .bytes = rows.bytes(row, 4),
                          .problem = std::string{rows.text(row, 5)},
                          .since = rows.moment(row, 6)});
    }
  });
  if (!done) return std::unexpected(done.error());
  return messages;
}

Result<void> PostgresLedger::mark_replayed(std::span<const LogMark> places, Deadline deadline) {
  CHECK(places.size() <= kOutboxBatchMax, "places={}", places.size());
  return transact(deadline, [&](Session& session) {
    Array topics, partitions, offsets;
    for (const LogMark& place : places) {
      topics.add(std::string_view{place.topic_id});
      partitions.add(std::int64_t{place.partition});
      offsets.add(place.offset);
    }
    session.queue(kMarkReplayed, Values{}.add(std::move(topics)).add(std::move(partitions)).add(std::move(offsets)));
    return Finish::commit;
  });
}

}  // namespace weir
