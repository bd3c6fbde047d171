#include "base/check.h"
#include "base/fault.h"
#include "base/log.h"
#include "config/limits.h"
#include "ledger/order_events.h"
#include "ledger/postgres_ledger.h"
#include "ledger/postgres_record_book.h"
#include "ledger/postgres_rows.h"

#include <algorithm>

namespace weir {

using postgres::Array;
using postgres::RecordBook;
using postgres::Rows;
using postgres::Session;
using postgres::Statement;
using postgres::Values;

namespace {

constexpr Statement kProbe{"probe", "UPDATE flash_sale_meta SET value = value + 1 WHERE name = 'probe'"};

/// No row: somebody else records this partition, or it is not known yet.
constexpr Statement kMoveOffset{"move_offset",
                                "UPDATE flash_sale_log_offset SET next_offset = $4 WHERE topic_id = $1 "
                                "AND partition = $2 AND next_offset = $3 RETURNING 1"};
constexpr Statement kReadOffset{"read_offset",
                                "SELECT next_offset FROM flash_sale_log_offset WHERE topic_id = $1 AND partition = $2"};

constexpr Statement kPark{
    "park",
    "INSERT INTO flash_sale_parked (topic_id, partition, log_offset, order_id, message_key, bytes, problem, parked_at) "
    "SELECT $1::text, $2::int, p.* FROM unnest($3::bigint[], $4::uuid[], $5::bytea[], $6::bytea[], $7::text[], "
    "$8::bigint[]) p"};

/// An id of which nothing else is known: it counts as ended from now on, unless a live order has it.
constexpr Statement kBuryId{
    "bury_id",
    "WITH dead AS (INSERT INTO flash_sale_order (order_id, tenant_no, sale_no, item_no, buyer, quantity, amount, "
    "currency, status, reason, digest, created_at, pay_by, ended_at) SELECT d.order_id, 0, d.sale_no, 0, '', 0, 0, "
    "'XXX', 4, 'GATE_LOST', 0, $3, $3, $3 FROM unnest($1::uuid[], $2::int[]) AS d(order_id, sale_no) "
    "ORDER BY d.order_id ON CONFLICT DO NOTHING RETURNING order_id, sale_no), "
    "told AS (INSERT INTO flash_sale_event (order_id, event, at, detail) "
    "SELECT order_id, 'rejected', $3, 'nobody could read it' FROM dead) "
    "INSERT INTO flash_sale_release (sale_no, hold_id) SELECT dead.sale_no, dead.order_id FROM dead "
    "JOIN flash_sale_gate g ON g.sale_no = dead.sale_no"};

/// Nearly every buyer is new, and hardly ever to two recorders at once: only who has met another one locks first.
RecordBook::NewBuyers new_buyers_in(int round) {
  return round == 0 ? RecordBook::NewBuyers::by_inserting : RecordBook::NewBuyers::by_locking;
}

/// One run of a log while its transaction decides it.
class SliceBook {
 public:
  SliceBook(const LogSlice& slice, std::span<LogOutcome> outcomes) : slice_(slice), outcomes_(outcomes) {
    for (const LogClaim& one : slice.claims) {
      if (const Claim* claim = claim_of(one)) book_.add(*claim);
      if (one.claim) continue;
      if (one.order) book_.look_for(*one.order);
      if (one.sale != SaleNo{}) sales_.insert(one.sale.value);
    }
    for (const std::uint32_t sale : book_.sales()) sales_.insert(sale);
  }

  void queue_locks(Session& session, RecordBook::NewBuyers new_buyers) const {
    Array locks, sales;
    for (const std::uint32_t sale : sales_) {
      locks.add(std::int64_t{sale});
      sales.add(std::int64_t{sale});
    }
    session.queue(postgres::sql::kShareGates, Values{}.add(std::move(locks)));
    session.queue(postgres::sql::kReadGates, Values{}.add(std::move(sales)));
    queue_offset(session, slice_.expected, slice_.next);
    book_.queue_locks(session, new_buyers);
  }

  /// Decides everything, or says why nothing can be.
  [[nodiscard]] SliceResult decide(std::span<const Rows> answers);
  void queue_writes(Session& session) const;
  [[nodiscard]] Instant now() const { return book_.now(); }

 private:
  /// What is to be recorded: what the gate holds under the id, where that is known to differ.
  [[nodiscard]] static const Claim* claim_of(const LogClaim& one) {
    if (one.answer == StragglerAnswer::adopted_other && one.held) return &*one.held;
    return one.claim ? &*one.claim : nullptr;
  }
  [[nodiscard]] bool has_log() const { return !slice_.topic_id.empty(); }
  void queue_offset(Session& session, std::int64_t from, std::int64_t to) const {
    if (!has_log()) return;
    session.queue(kMoveOffset, Values{}.add(slice_.topic_id).add(std::int64_t{slice_.partition}).add(from).add(to));
  }
  [[nodiscard]] const GateState* gate_of(SaleNo sale) const {
    const auto found = std::ranges::find(gates_, sale, &GateState::sale);
    return found == gates_.end() ? nullptr : &*found;
  }
  [[nodiscard]] std::int64_t largest_unknown_epoch() const;
  [[nodiscard]] LogOutcome decide_one(const LogClaim& one);
  /// Whether a claim whose id is new may be judged by stock and limit; null: it needs another answer of the gate.
  [[nodiscard]] std::optional<Rejection> check_epoch(const LogClaim& one, const GateState& gate) const;
  [[nodiscard]] LogOutcome admit(const Claim& claim, std::int64_t epoch);
  [[nodiscard]] LogOutcome end(const Claim& claim, std::int64_t epoch, Rejection why);
  [[nodiscard]] LogOutcome park(const LogClaim& one, std::string_view problem, std::optional<OrderId> order,
                                SaleNo sale);

  struct Parked {
    std::int64_t offset = 0;
    std::optional<OrderId> order;
    std::string_view key;
    std::string_view bytes;
    std::string problem;
  };

  const LogSlice& slice_;
  std::span<LogOutcome> outcomes_;
  RecordBook book_;
  std::set<std::uint32_t> sales_;
  std::vector<GateState> gates_;
  std::vector<Parked> parked_;
  std::vector<std::pair<OrderId, SaleNo>> buried_;
  std::int64_t next_ = 0;
};

SliceResult SliceBook::decide(std::span<const Rows> answers) {
  gates_ = postgres::read_gates(answers[1]);
  SliceResult result{.end = SliceEnd::fenced, .next = slice_.next, .epoch_seen = 0, .gates = gates_};
  if (has_log() && answers[2].size() == 0) return result;
  book_.read_locks(answers.subspan(has_log() ? 3 : 2));
  result.epoch_seen = largest_unknown_epoch();
  result.end = result.epoch_seen > 0 ? SliceEnd::lost_commits : SliceEnd::recorded;
  if (result.end != SliceEnd::recorded) return result;
  next_ = slice_.next;
  for (std::size_t i = 0; i < slice_.claims.size(); ++i) {
    outcomes_[i] = decide_one(slice_.claims[i]);
    if (outcomes_[i].fate != LogFate::left) continue;
    // The run ends before it: what comes after it has to wait as well, the offset knows no gaps.
    for (std::size_t later = i; later < slice_.claims.size(); ++later) outcomes_[later] = {};
    next_ = slice_.claims[i].offset;
    break;
  }
  result.next = next_;
  return result;
}

std::int64_t SliceBook::largest_unknown_epoch() const {
  std::int64_t largest = 0;
  for (const LogClaim& one : slice_.claims) {
    const Claim* claim = claim_of(one);
    if (claim == nullptr || !book_.knows_item(*claim)) continue;
    const GateState* gate = gate_of(claim->sale);
    if (one.epoch > (gate == nullptr ? 0 : gate->epoch)) largest = std::max(largest, one.epoch);
  }
  return largest;
}

LogOutcome SliceBook::decide_one(const LogClaim& one) {
  const Claim* claim = claim_of(one);
  if (claim == nullptr) return park(one, one.problem, one.order, one.sale);
  if (const auto status = book_.status_of(claim->order)) {
    // The id decides, whatever the message says besides: a live order keeps its hold.
    const Outcome met = book_.decide(*claim, one.epoch);
    if (is_live(*status) && met.recording == Recording::key_reused) {
      log::error("order_id_reused", {{"order", claim->order.text()}, {"offset", one.offset}});
    }
    if (!is_live(*status)) book_.release(claim->sale, claim->order);
    return {.fate = is_live(*status) ? LogFate::repeated : LogFate::ended,
            .why = Rejection::none,
            .status = *status,
            .pay_by = met.pay_by};
  }
  if (!book_.knows_item(*claim)) return park(one, "of no item that is for sale", claim->order, claim->sale);
  const GateState* gate = gate_of(claim->sale);
  if (gate == nullptr) return admit(*claim, one.epoch);  // Epoch 0 of a sale without a shared gate.
  const auto why = check_epoch(one, *gate);
  if (!why) return {};
  return *why == Rejection::none ? admit(*claim, one.epoch) : end(*claim, one.epoch, *why);
}

std::optional<Rejection> SliceBook::check_epoch(const LogClaim& one, const GateState& gate) const {
  if (gate.phase == GatePhase::building) {
    return one.epoch >= gate.last_open ? Rejection::none : Rejection::gate_lost;
  }
  if (one.epoch == gate.epoch) return Rejection::none;
  if (one.answered_at != gate.epoch) return std::nullopt;
  switch (one.answer) {
    case StragglerAnswer::adopted:
    case StragglerAnswer::adopted_other: return Rejection::none;
    case StragglerAnswer::refused:
    case StragglerAnswer::ended: return Rejection::gate_refused;
    case StragglerAnswer::not_asked: break;
  }
  return std::nullopt;
}

LogOutcome SliceBook::admit(const Claim& claim, std::int64_t epoch) {
  const Outcome outcome = book_.decide(claim, epoch);
  switch (outcome.recording) {
    case Recording::recorded:
      return {
          .fate = LogFate::recorded, .why = Rejection::none, .status = OrderStatus::pending, .pay_by = outcome.pay_by};
    case Recording::over_limit: return end(claim, epoch, Rejection::over_limit);
    case Recording::exceeds_stock: return end(claim, epoch, Rejection::exceeds_stock);
    case Recording::key_reused: return end(claim, epoch, Rejection::key_reused);
    case Recording::repeated:
    case Recording::ended:
    case Recording::number_taken:
    case Recording::unknown_item: break;
  }
  CHECK(false, "order {} was new and is {}", claim.order.text(), name(outcome.recording));
  return {};
}

LogOutcome SliceBook::end(const Claim& claim, std::int64_t epoch, Rejection why) {
  book_.reject(claim, epoch, why);
  log::warn("order_rejected", {{"order", claim.order.text()}, {"why", name(why)}});
  return {.fate = LogFate::rejected, .why = why, .status = OrderStatus::rejected, .pay_by = {}};
}

LogOutcome SliceBook::park(const LogClaim& one, std::string_view problem, std::optional<OrderId> order, SaleNo sale) {
  parked_.push_back({.offset = one.offset,
                     .order = order,
                     .key = one.key,
                     .bytes = one.bytes,
                     .problem = postgres::storable(problem)});
  log::error("message_parked", {{"offset", one.offset}, {"problem", parked_.back().problem}});
  if (order) {
    const auto status = book_.status_of(*order);
    if (status && !is_live(*status)) book_.release(sale, *order);
    if (!status) buried_.emplace_back(*order, sale);
  }
  return {.fate = LogFate::parked, .why = Rejection::none, .status = OrderStatus::rejected, .pay_by = {}};
}

void SliceBook::queue_writes(Session& session) const {
  book_.queue_writes(session);
  if (!parked_.empty() && has_log()) {
    Array offsets, orders, keys, bytes, problems, moments;
    for (const Parked& one : parked_) {
      offsets.add(one.offset);
      orders.add(one.order);
      keys.add_bytes(one.key);
      bytes.add_bytes(one.bytes);
      problems.add(std::string_view{one.problem});
      moments.add(now());
    }
    Values values = Values{}.add(slice_.topic_id).add(std::int64_t{slice_.partition});
    for (Array* column : {&offsets, &orders, &keys, &bytes, &problems, &moments}) values.add(std::move(*column));
    session.queue(kPark, values);
  }
  if (!buried_.empty()) {
    Array orders, sales;
    for (const auto& [order, sale] : buried_) {
      orders.add(order);
      sales.add(sale);
    }
    session.queue(kBuryId, Values{}.add(std::move(orders)).add(std::move(sales)).add(now()));
  }
  if (next_ != slice_.next) queue_offset(session, slice_.next, next_);
}

}  // namespace

Result<void> PostgresLedger::record(std::span<const Claim> claims, std::span<Outcome> outcomes, Deadline deadline) {
  CHECK(claims.size() == outcomes.size() && claims.size() <= kLedgerBatchMax, "claims={}", claims.size());
  int round = 0;
  return transact(deadline, [&](Session& session) {
    if (claims.empty()) {
      // Whether the server would take a commit now. It writes, because an empty transaction would not ask.
      session.queue(kProbe);
      return Finish::commit;
    }
    RecordBook book;
    for (const Claim& claim : claims) book.add(claim);
    book.queue_locks(session, new_buyers_in(round++));
    const std::vector<Rows> answers = session.run();
    book.read_locks(std::span{answers}.subspan(1));  // After BEGIN's.
    for (std::size_t i = 0; i < claims.size(); ++i) outcomes[i] = book.decide(claims[i], 0);
    note_time(book.now());
    book.queue_writes(session);
    return Finish::commit;
  });
}

Result<SliceResult> PostgresLedger::record_log(const LogSlice& slice, std::span<LogOutcome> outcomes,
                                               Deadline deadline) {
  CHECK(slice.claims.size() == outcomes.size() && outcomes.size() <= kLedgerBatchMax, "claims={}", outcomes.size());
  SliceResult result;
  int round = 0;
  const auto done = transact(deadline, [&](Session& session) {
    SliceBook book{slice, outcomes};
    book.queue_locks(session, new_buyers_in(round++));
    const std::vector<Rows> answers = session.run();
    result = book.decide(std::span{answers}.subspan(1));
    if (result.end == SliceEnd::fenced) {
      const Rows offset = session.run(kReadOffset, Values{}.add(slice.topic_id).add(std::int64_t{slice.partition}));
      result.next = offset.size() == 1 ? offset.whole(0, 0) : 0;
    }
    if (result.end != SliceEnd::recorded) return Finish::roll_back;
    note_time(book.now());
    FAULT("slice_decided");
    book.queue_writes(session);
    return Finish::commit;
  });
  if (!done) return std::unexpected(done.error());
  return result;
}

}  // namespace weir
