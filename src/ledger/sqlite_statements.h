#pragma once

#include "ledger/sqlite_ledger.h"

namespace weir {

/// Every statement of the writer, prepared once a connection. What changes rows changes them by compare-and-set where
/// more than one event wants the same row.
struct SqliteLedger::Statements {
  explicit Statements(const sqlite::Connection& db);

  sqlite::Statement begin, commit, rollback;
  // Reading.
  sqlite::Statement read_sale, read_item, read_buyer, find_order, find_request_key, find_payment, live_payment,
      captured_payment, refund_of_order, refund_of_payment, asked_refund, due_orders, first_due, read_kept;
  // Recording.
  sqlite::Statement put_buyer, drop_buyer, add_to_buyer, put_order, take_held;
  // Numbers.
  sqlite::Statement take_number, free_number;
  // Orders.
  sqlite::Statement pay_order, end_order, retake_order, refund_order, extend_order;
  sqlite::Statement move_units, move_buyer, add_event, put_request_key;
  // Money.
  sqlite::Statement put_payment, set_payment_state, set_captured, put_inbox, early_events, close_inbox, put_refund,
      finish_refund;
};

}  // namespace weir
