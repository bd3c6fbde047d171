#include "ledger/ledger_move.h"

#include "config/limits.h"
#include "ledger/postgres_array.h"
#include "ledger/postgres_connection.h"
#include "ledger/postgres_reader.h"
#include "ledger/postgres_session.h"
#include "ledger/sqlite_connection.h"
#include "ledger/sqlite_ledger.h"
#include "ledger/sqlite_reader.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace weir {
namespace {

using postgres::PostgresFailure;
using sqlite::SqliteFailure;

/// How a column's values are carried over.
enum class Kind : std::uint8_t { whole, text, id, bytes, truth };

struct Column {
  std::string_view column_name;
  Kind kind = Kind::whole;
  std::string_view from = {};  // What it is called there, if it has another name.
};

struct Table {
  std::string_view table_name;
  std::span<const Column> columns;
  std::string_view counter = {};  // The column that the server numbers by itself from here on.
};

constexpr std::array kTenantColumns{Column{"tenant_no"}, Column{"id", Kind::text}, Column{"domains", Kind::text},
                                    Column{"order_key_0", Kind::id}, Column{"order_key_1", Kind::id}};
constexpr std::array kSaleColumns{
    Column{"sale_no"},       Column{"tenant_no"},       Column{"id", Kind::text},      Column{"title", Kind::text},
    Column{"opens_at"},      Column{"closes_at"},       Column{"paused", Kind::truth}, Column{"closed", Kind::truth},
    Column{"pay_within_us"}, Column{"limit_per_buyer"}, Column{"secret", Kind::text}};
constexpr std::array kItemColumns{Column{"item_no"},
                                  Column{"sale_no"},
                                  Column{"tenant_no"},
                                  Column{"id", Kind::text},
                                  Column{"title", Kind::text},
                                  Column{"price"},
                                  Column{"currency", Kind::text},
                                  Column{"total"},
                                  Column{"held"},
                                  Column{"sold"}};
constexpr std::array kBuyerColumns{Column{"sale_no"}, Column{"buyer", Kind::text}, Column{"units"}, Column{"max_units"},
                                   Column{"last_order", Kind::id}};
constexpr std::array kOrderColumns{Column{"order_id", Kind::id},
                                   Column{"tenant_no"},
                                   Column{"sale_no"},
                                   Column{"item_no"},
                                   Column{"buyer", Kind::text},
                                   Column{"quantity"},
                                   Column{"amount"},
                                   Column{"currency", Kind::text},
                                   Column{"status"},
                                   Column{"reason", Kind::text},
                                   Column{"digest"},
                                   Column{"created_at"},
                                   Column{"pay_by"},
                                   Column{"paid_at"},
                                   Column{"ended_at"},
                                   Column{"extended", Kind::truth},
                                   Column{"kept_units"}};
constexpr std::array kPaymentColumns{Column{"payment_id", Kind::id},
                                     Column{"order_id", Kind::id},
                                     Column{"tenant_no"},
                                     Column{"gateway", Kind::text},
                                     Column{"amount"},
                                     Column{"currency", Kind::text},
                                     Column{"state"},
                                     Column{"captured"},
                                     Column{"created_at"},
                                     Column{"expires_at"}};
constexpr std::array kRefundColumns{Column{"refund_id", Kind::id},
                                    Column{"payment_id", Kind::id},
                                    Column{"order_id", Kind::id},
                                    Column{"amount"},
                                    Column{"currency", Kind::text},
                                    Column{"done", Kind::truth, "state"},
                                    Column{"of_order", Kind::truth},
                                    Column{"restock", Kind::truth},
                                    Column{"reason", Kind::text},
                                    Column{"created_at"},
                                    Column{"done_at"}};
constexpr std::array kInboxColumns{Column{"gateway", Kind::text},  Column{"event_id", Kind::text},
                                   Column{"payment_id", Kind::id}, Column{"kind"},
                                   Column{"refund_id", Kind::id},  Column{"amount"},
                                   Column{"currency", Kind::text}, Column{"body", Kind::bytes},
                                   Column{"received_at"},          Column{"applied", Kind::truth}};
constexpr std::array kKeyColumns{Column{"id", Kind::id}, Column{"digest"}, Column{"created_at"}};
constexpr std::array kChangeColumns{Column{"change_no"}, Column{"item_no"}, Column{"change_key", Kind::text},
                                    Column{"delta"}, Column{"at"}};
constexpr std::array kEventColumns{Column{"seq"}, Column{"order_id", Kind::id}, Column{"event", Kind::text},
                                   Column{"at"}, Column{"detail", Kind::text}};

// In an order in which every row finds what it refers to.
constexpr std::array kTables{
    Table{"flash_sale_tenant", kTenantColumns},     Table{"flash_sale", kSaleColumns},
    Table{"flash_sale_item", kItemColumns},         Table{"flash_sale_buyer", kBuyerColumns},
    Table{"flash_sale_order", kOrderColumns},       Table{"flash_sale_payment", kPaymentColumns},
    Table{"flash_sale_refund", kRefundColumns},     Table{"flash_sale_inbox", kInboxColumns},
    Table{"flash_sale_request_key", kKeyColumns},   Table{"flash_sale_stock_change", kChangeColumns, "change_no"},
    Table{"flash_sale_event", kEventColumns, "seq"}};

std::string_view array_type(Kind kind) {
  switch (kind) {
    case Kind::whole: return "bigint[]";
    case Kind::text: return "text[]";
    case Kind::id: return "uuid[]";
    case Kind::bytes: return "bytea[]";
    case Kind::truth: return "boolean[]";
  }
  return "?";
}

PostgresFailure unfit(std::string sentence) {
  return {.state = "", .message = std::move(sentence), .is_lost = false, .is_unfit = true};
}

void add_value(postgres::Array& to, sqlite::Statement& row, int at, Kind kind) {
  if (row.is_null(at)) {
    to.add_null();
    return;
  }
  switch (kind) {
    case Kind::whole: to.add(row.whole(at)); break;
    case Kind::text: to.add(row.text(at)); break;
    case Kind::id: to.add(row.id<OrderId>(at)); break;  // Every id of ours is 128 bits.
    case Kind::bytes: to.add_bytes(row.blob(at)); break;
    case Kind::truth: to.add(row.whole(at) != 0); break;
  }
}

/// Carries one table over in batches, so that its size does not matter.
class TableMove {
 public:
  TableMove(const Table& table, sqlite::Connection& from, postgres::Session& to)
      : table_(table), to_(to), insert_(insert_text(table)), rows_(from.prepare(select_text(table))) {}

  std::int64_t run() {
    std::int64_t moved = 0;
    while (const std::int64_t count = move_batch()) moved += count;  // Each turn takes rows, or there are none left.
    if (!table_.counter.empty()) {
      static_cast<void>(
          to_.ask(fmt::format("SELECT setval(pg_get_serial_sequence('{0}', '{1}'), (SELECT coalesce(max({1}), 0) + 1 "
                              "FROM {0}), false)",
                              table_.table_name, table_.counter)));
    }
    return moved;
  }

 private:
  static std::string names(const Table& table, bool as_there) {
    std::vector<std::string_view> out;
    for (const Column& column : table.columns) {
      out.push_back(as_there && !column.from.empty() ? column.from : column.column_name);
    }
    return fmt::format("{}", fmt::join(out, ", "));
  }
  static std::string select_text(const Table& table) {
    return fmt::format("SELECT {} FROM {}", names(table, true), table.table_name);
  }
  static std::string insert_text(const Table& table) {
    std::vector<std::string> arrays;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      arrays.push_back(fmt::format("${}::{}", i + 1, array_type(table.columns[i].kind)));
    }
    return fmt::format("INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE SELECT * FROM unnest({})", table.table_name,
                       names(table, false), fmt::join(arrays, ", "));
  }

  std::int64_t move_batch() {
    std::vector<postgres::Array> arrays(table_.columns.size());
    std::int64_t count = 0;
    while (!is_done_ && count < static_cast<std::int64_t>(kLedgerBatchMax)) {
      if (!rows_.step()) {
        is_done_ = true;
        break;
      }
      for (std::size_t i = 0; i < arrays.size(); ++i) {
        add_value(arrays[i], rows_, static_cast<int>(i), table_.columns[i].kind);
      }
      ++count;
    }
    if (count == 0) return 0;
    postgres::Values values;
    for (postgres::Array& array : arrays) values.add(std::move(array));
    const std::string statement_name = fmt::format("move_{}", table_.table_name);
    static_cast<void>(to_.run({statement_name.c_str(), insert_.c_str()}, values));
    return count;
  }

  const Table& table_;
  postgres::Session& to_;
  const std::string insert_;
  sqlite::Statement rows_;
  bool is_done_ = false;
};

void check_empty(postgres::Session& to) {
  for (const Table& table : kTables) {
    if (table.table_name == "flash_sale_tenant") continue;  // It was founded with one, which is replaced.
    const bool has_rows = to.ask(fmt::format("SELECT EXISTS (SELECT FROM {})", table.table_name)).truth(0, 0);
    if (has_rows) {
      throw unfit(fmt::format("the target is not empty: {} has rows (postgres.dsn)", table.table_name));
    }
  }
  if (to.ask("SELECT count(*) FROM flash_sale_tenant").whole(0, 0) != 1) {
    throw unfit("the target is not empty: it has tenants of its own (postgres.dsn)");
  }
}

/// The counts of an audit as one text, in one order.
std::string counts_text(const AuditReport& report) {
  std::vector<std::string> lines;
  for (const AuditItem& item : report.items) {
    lines.push_back(fmt::format("item {} {} {} {}", item.id, item.shelf.total, item.shelf.held, item.shelf.sold));
  }
  for (const auto& [status, count] : report.orders) {
    if (count > 0) lines.push_back(fmt::format("{} {}", name(status), count));
  }
  std::ranges::sort(lines);
  return fmt::format("{}", fmt::join(lines, "; "));
}

void check_same(const AuditReport& before, const AuditReport& after) {
  for (const AuditReport* report : {&before, &after}) {
    for (const AuditInvariant& invariant : report->invariants) {
      if (invariant.violations.empty()) continue;
      throw unfit(fmt::format("{} is broken {}: {}", invariant.id, report == &before ? "in the folder" : "in the copy",
                              invariant.violations.front()));
    }
  }
  if (counts_text(before) != counts_text(after)) {
    throw unfit(
        fmt::format("the two ledgers do not agree: {} there, {} here", counts_text(before), counts_text(after)));
  }
}

void check_counted(const sqlite::Connection& from) {
  sqlite::Statement numbered = from.prepare("SELECT id FROM flash_sale_item WHERE numbered <> 0 LIMIT 1");
  if (!numbered.step()) return;
  throw unfit(fmt::format("item '{}' has numbers: a ledger on PostgreSQL keeps no numbered stock", numbered.text(0)));
}

Result<AuditReport> audit_of(const SqliteOptions& from, const Clock& clock) {
  const auto reader = SqliteReader::open(from, clock);
  if (!reader) return std::unexpected(reader.error());
  return (*reader)->audit();
}

}  // namespace

Result<LedgerMove> move_ledger(const SqliteOptions& from, const PostgresOptions& to, const Clock& clock,
                               Random& random) {
  const std::string file = from.data + "/ledger.db";
  std::error_code unknown;
  if (!std::filesystem::exists(file, unknown)) {
    return fail(Failure::unfit, fmt::format("'{}' has no ledger", from.data));
  }
  // As its writer: nobody else serves it meanwhile, and what a crash left in its log is in it.
  const auto held = SqliteLedger::open(from, clock, random);
  if (!held) return std::unexpected(held.error());
  const auto before = audit_of(from, clock);
  if (!before) return std::unexpected(before.error());
  auto stage = postgres::Stage::connecting;
  try {
    sqlite::Connection source{{.path = file, .vfs = {}, .access = sqlite::Access::read}};
    check_counted(source);
    postgres::Countdown countdown{Micros{kPostgresMoveUsMax}};
    postgres::Connection target{to.dsn, "SET client_min_messages = error", to.allows_unsafe_storage, countdown};
    postgres::Session session{target, countdown, std::nullopt};
    stage = postgres::Stage::working;
    LedgerMove move;
    target.execute("BEGIN; LOCK TABLE flash_sale_tenant, flash_sale, flash_sale_order IN EXCLUSIVE MODE", countdown);
    check_empty(session);
    target.execute("DELETE FROM flash_sale_tenant", countdown);
    for (const Table& table : kTables) {
      move.tables.push_back({std::string{table.table_name}, TableMove{table, source, session}.run()});
    }
    sqlite::Statement id = source.prepare("SELECT value FROM flash_sale_meta WHERE name = 'ledger_id'");
    const std::int64_t ledger_id = id.step() ? id.whole(0) : 0;
    id.reset();
    target.execute(fmt::format("UPDATE flash_sale_meta SET value = {} WHERE name = 'ledger_id'", ledger_id), countdown);
    move.audit = postgres::audit_rows(session);
    check_same(*before, move.audit);
    stage = postgres::Stage::committing;
    target.execute("COMMIT", countdown);
    return move;
  } catch (const PostgresFailure& failure) {
    return std::unexpected(postgres::error_of(failure, stage));
  } catch (const SqliteFailure& failure) {
    return std::unexpected(sqlite::error_of(failure, sqlite::Stage::reading));
  }
}

}  // namespace weir
