#include "ledger/sqlite_statements.h"

#include "ledger/sqlite_rows.h"

#include <fmt/format.h>

namespace weir {
namespace {

using sqlite::kOrderColumns;
using sqlite::kPaymentColumns;
using sqlite::kRefundColumns;
using sqlite::kRefundOfOrder;

std::string payments_where(std::string_view condition) {
  return fmt::format("SELECT {} FROM flash_sale_payment WHERE {}", kPaymentColumns, condition);
}

}  // namespace

SqliteLedger::Statements::Statements(const sqlite::Connection& db)
    : begin(db.prepare("BEGIN IMMEDIATE")),
      commit(db.prepare("COMMIT")),
      rollback(db.prepare("ROLLBACK")),
      read_sale(db.prepare("SELECT tenant_no, limit_per_buyer, pay_within_us FROM flash_sale WHERE sale_no = ?1")),
      read_item(db.prepare("SELECT sale_no, price, currency, total - held - sold, numbered, first_number, total "
                           "FROM flash_sale_item WHERE item_no = ?1")),
      read_buyer(db.prepare("SELECT units, last_order FROM flash_sale_buyer "
                            "WHERE tenant_no = ?1 AND buyer = ?2 AND sale_no = ?3")),
      find_order(db.prepare(fmt::format("SELECT {} FROM flash_sale_order WHERE order_id = ?1", kOrderColumns))),
      find_request_key(db.prepare("SELECT digest FROM flash_sale_request_key WHERE id = ?1")),
      find_payment(db.prepare(payments_where("payment_id = ?1"))),
      live_payment(db.prepare(payments_where("order_id = ?1 AND state IN (0, 1, 2)"))),
      captured_payment(db.prepare(payments_where("order_id = ?1 AND state = 2"))),
      refund_of_order(db.prepare(fmt::format("SELECT {} {}", kRefundColumns, kRefundOfOrder))),
      refund_of_payment(db.prepare(
          fmt::format("SELECT {}, of_order, restock FROM flash_sale_refund WHERE payment_id = ?1", kRefundColumns))),
      asked_refund(db.prepare("SELECT 1 FROM flash_sale_refund WHERE order_id = ?1 AND of_order = 1")),
      due_orders(
          db.prepare("SELECT order_id, tenant_no, sale_no, item_no, quantity, numbers, buyer FROM flash_sale_order "
                     "WHERE status = 0 AND pay_by <= ?1 ORDER BY pay_by LIMIT ?2")),
      first_due(db.prepare("SELECT pay_by FROM flash_sale_order WHERE status = 0 ORDER BY pay_by LIMIT 1")),
      read_kept(db.prepare("SELECT kept_units FROM flash_sale_order WHERE order_id = ?1")),
      put_buyer(db.prepare("INSERT INTO flash_sale_buyer (tenant_no, buyer, sale_no, units, max_units, last_order) "
                           "VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING")),
      drop_buyer(db.prepare("DELETE FROM flash_sale_buyer WHERE tenant_no = ?1 AND buyer = ?2 AND sale_no = ?3")),
      add_to_buyer(db.prepare("UPDATE flash_sale_buyer SET units = units + ?4, max_units = ?5, last_order = ?6 "
                              "WHERE tenant_no = ?1 AND buyer = ?2 AND sale_no = ?3")),
      put_order(
          db.prepare("INSERT INTO flash_sale_order (order_id, tenant_no, sale_no, item_no, buyer, quantity, "
                     "amount, currency, status, digest, created_at, pay_by, previous_order, numbers) "
                     "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0, ?9, ?10, ?11, ?12, ?13) ON CONFLICT DO NOTHING")),
      take_held(db.prepare("UPDATE flash_sale_item SET held = held + ?2 WHERE item_no = ?1")),
      take_number(db.prepare("INSERT INTO flash_sale_number (item_no, number, order_id) VALUES (?1, ?2, ?3) "
                             "ON CONFLICT DO NOTHING")),
      free_number(db.prepare("DELETE FROM flash_sale_number WHERE item_no = ?1 AND number = ?2 AND order_id = ?3")),
      pay_order(db.prepare("UPDATE flash_sale_order SET status = 1, paid_at = ?2 WHERE order_id = ?1 AND status = 0")),
      end_order(db.prepare("UPDATE flash_sale_order SET status = ?2, ended_at = ?3 "
                           "WHERE order_id = ?1 AND status = 0")),
      retake_order(db.prepare("UPDATE flash_sale_order SET status = 1, paid_at = ?2, ended_at = NULL "
                              "WHERE order_id = ?1 AND status = 2")),
      refund_order(db.prepare("UPDATE flash_sale_order SET status = 5, ended_at = ?2, kept_units = ?3 "
                              "WHERE order_id = ?1 AND status = 1")),
      extend_order(db.prepare("UPDATE flash_sale_order SET pay_by = ?2, extended = 1 "
                              "WHERE order_id = ?1 AND status = 0 AND extended = 0 AND pay_by < ?2")),
      move_units(db.prepare("UPDATE flash_sale_item SET held = held + ?2, sold = sold + ?3 WHERE item_no = ?1")),
      move_buyer(db.prepare("UPDATE flash_sale_buyer SET units = units + ?4, max_units = max(max_units, units + ?4) "
                            "WHERE tenant_no = ?1 AND buyer = ?2 AND sale_no = ?3")),
      add_event(db.prepare("INSERT INTO flash_sale_event (order_id, event, at, detail) VALUES (?1, ?2, ?3, ?4)")),
      put_request_key(db.prepare("INSERT INTO flash_sale_request_key (id, digest, created_at) VALUES (?1, ?2, ?3) "
                                 "ON CONFLICT DO NOTHING")),
      put_payment(db.prepare("INSERT INTO flash_sale_payment (payment_id, order_id, tenant_no, gateway, amount, "
                             "currency, state, created_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7, ?8) "
                             "ON CONFLICT DO NOTHING")),
      set_payment_state(db.prepare("UPDATE flash_sale_payment SET state = ?2 WHERE payment_id = ?1")),
      set_captured(db.prepare("UPDATE flash_sale_payment SET captured = ?2 WHERE payment_id = ?1")),
      put_inbox(db.prepare("INSERT INTO flash_sale_inbox (gateway, event_id, payment_id, kind, refund_id, amount, "
                           "currency, body, received_at, applied) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) "
                           "ON CONFLICT DO NOTHING")),
      early_events(db.prepare("SELECT event_id, kind, refund_id, amount, currency FROM flash_sale_inbox "
                              "WHERE payment_id = ?1 AND applied = 0 AND gateway = ?2 ORDER BY received_at, event_id")),
      close_inbox(db.prepare("UPDATE flash_sale_inbox SET applied = 1 WHERE gateway = ?1 AND event_id = ?2")),
      put_refund(db.prepare("INSERT INTO flash_sale_refund (refund_id, payment_id, order_id, amount, currency, state, "
                            "of_order, restock, reason, created_at) VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6, ?7, ?8, ?9) "
                            "ON CONFLICT DO NOTHING")),
      finish_refund(db.prepare("UPDATE flash_sale_refund SET state = 1, done_at = ?2 "
                               "WHERE refund_id = ?1 AND state = 0")) {}

}  // namespace weir
