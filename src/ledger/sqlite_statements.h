#pragma once

#include "ledger/sqlite_ledger.h"

#include <fmt/format.h>

namespace weir {

/// Every statement of the writer, prepared once a connection.
struct SqliteLedger::Statements {
  explicit Statements(const sqlite::Connection& db);

  sqlite::Statement begin, commit, rollback;
  // record
  sqlite::Statement find_order, find_request_key, read_sale, read_item, read_buyer, put_buyer, put_order, take_held;
  // settle
  sqlite::Statement find_payment, live_payment, put_payment, set_payment_state, set_captured, extend_order, put_inbox,
      open_inbox, close_inbox, put_request_key, pay_order, end_order, retake_order, move_units, move_buyer, add_event,
      refund_of_order, refund_of_payment, put_refund, finish_refund, refund_order, buyer_units, item_counts,
      payment_of_order;
  // expire
  sqlite::Statement due_orders, first_due;
};

}  // namespace weir
