#include "base/check.h"
#include "base/fault.h"
#include "config/limits.h"
#include "ledger/postgres_ledger.h"
#include "ledger/postgres_rows.h"
#include "ledger/postgres_settle_book.h"

#include <algorithm>

namespace weir {

using postgres::Rows;
using postgres::Session;
using postgres::SettleBook;
using postgres::Statement;
using postgres::Values;

namespace {

constexpr Statement kOpenRetakes{"open_retakes",
                                 "SELECT " WEIR_ORDER_COLUMNS
                                 ", r.hold_id, r.payment_id FROM flash_sale_retake r JOIN flash_sale_order o "
                                 "ON o.order_id = r.order_id WHERE r.kept IS NULL ORDER BY r.created_at LIMIT $1"};

/// Finds and locks what the book wants, up to the point at which it can decide.
void lock(SettleBook& book, Session& session) {
  book.queue_search(session);
  const std::vector<Rows> found = session.run();
  book.read_search(found.back());
  book.queue_locks(session);
  const std::vector<Rows> answers = session.run();
  book.read_locks(answers);
}

}  // namespace

Result<void> PostgresLedger::settle(std::span<const SettleCommand> commands, std::span<Settlement> settlements,
                                    Deadline deadline) {
  CHECK(commands.size() == settlements.size() && commands.size() <= kLedgerBatchMax, "commands={}", commands.size());
  if (commands.empty()) return {};
  return transact(deadline, [&](Session& session) {
    SettleBook book{random_};
    for (const SettleCommand& command : commands) book.add(command);
    lock(book, session);
    note_time(book.now());
    for (std::size_t i = 0; i < commands.size(); ++i) {
      settlements[i] = book.settle(commands[i]);
      FAULT("settled_one");
    }
    book.queue_writes(session);
    return Finish::commit;
  });
}

Result<std::vector<Retake>> PostgresLedger::undecided_retakes(std::size_t count, Deadline deadline) {
  std::vector<Retake> retakes;
  const auto done = look(deadline, [&](Session& session) {
    retakes.clear();
    const auto most = static_cast<std::int64_t>(std::min(count, kOutboxBatchMax));
    const Rows rows = session.run(kOpenRetakes, Values{}.add(most));
    for (int row = 0; row < rows.size(); ++row) {
      retakes.push_back({.hold = rows.id<OrderId>(row, postgres::kOrderColumns),
                         .payment = rows.id<PaymentId>(row, postgres::kOrderColumns + 1),
                         .order = postgres::read_order(rows, row)});
    }
  });
  if (!done) return std::unexpected(done.error());
  return retakes;
}

Result<void> PostgresLedger::decide_retakes(std::span<const RetakeDecision> decisions, std::span<RetakeEnd> ends,
                                            Deadline deadline) {
  CHECK(decisions.size() == ends.size() && ends.size() <= kOutboxBatchMax, "decisions={}", decisions.size());
  if (decisions.empty()) return {};
  return transact(deadline, [&](Session& session) {
    SettleBook book{random_};
    for (const RetakeDecision& decision : decisions) book.add_payment(decision.payment);
    lock(book, session);
    for (std::size_t i = 0; i < decisions.size(); ++i) ends[i] = book.decide(decisions[i]);
    book.queue_writes(session);
    return Finish::commit;
  });
}

}  // namespace weir
