#include "base/encoding.h"
#include "config/limits.h"
#include "ledger/sqlite_ledger.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace weir {
namespace {

using sqlite::Connection;
using sqlite::Statement;

std::optional<TenantNo> find_tenant(const Connection& db, std::string_view id) {
  Statement find = db.prepare("SELECT tenant_no FROM flash_sale_tenant WHERE id = ?1");
  if (!find.bind(1, id).step()) return std::nullopt;
  return find.number<TenantNo>(0);
}

std::string_view bytes_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string random_text(Random& random) {
  std::array<std::byte, 16> bytes{};
  random.fill(bytes);
  return base64url_text(bytes_of(bytes));
}

/// One domain a line, as the row has them.
std::string lines_of(std::span<const std::string> domains) {
  std::string text;
  for (const std::string& domain : domains) text += (text.empty() ? "" : "\n") + domain;
  return text;
}

bool is_domain(std::string_view text) {
  return !text.empty() && text.size() <= kHostBytesMax && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == ':' || c == '[' || c == ']';
  });
}

/// A domain leads to one tenant.
bool is_domain_taken(const Connection& db, std::span<const std::string> domains) {
  Statement all = db.prepare("SELECT 1 FROM flash_sale_tenant WHERE instr(char(10) || domains || char(10), ?1) > 0");
  return std::ranges::any_of(domains, [&](const std::string& domain) {
    const sqlite::ResetLater later{all};
    return all.bind(1, "\n" + domain + "\n").step();
  });
}

bool is_lawful(const SaleDraft& draft) {
  return is_id_text(draft.id) && draft.title.size() <= kTitleBytesMax && draft.opens_at < draft.closes_at &&
         draft.limit_per_buyer >= 1 && draft.limit_per_buyer <= kBuyerLimitMax &&
         draft.pay_within.count() >= kPayWithinUsMin && draft.pay_within.count() <= kPayWithinUsMax;
}

/// A count has neither numbers nor labels for them.
bool has_lawful_numbers(const ItemDraft& draft) {
  if (!draft.numbered) return draft.first_number == 0 && draft.labels.empty();
  return draft.units >= 1 && draft.units <= kNumbersPerItemMax &&
         draft.first_number + draft.units - 1 <= std::int64_t{kNumberMax} &&
         NumberLabels::parse(draft.labels, draft.first_number, draft.units).has_value();
}

bool is_lawful(const ItemDraft& draft) {
  return is_id_text(draft.id) && draft.title.size() <= kTitleBytesMax && draft.price.value >= 0 &&
         draft.price.value <= kPriceMinorMax && draft.units >= 0 && draft.units <= kUnitsPerItemMax &&
         has_lawful_numbers(draft);
}

/// Whether the row that a look-up stands on says the same as the draft.
bool is_same_sale(const Statement& row, const SaleDraft& draft) {
  return row.text(0) == draft.title && row.moment(1) == draft.opens_at && row.moment(2) == draft.closes_at &&
         row.whole(3) == draft.limit_per_buyer && row.whole(4) == draft.pay_within.count() &&
         (row.whole(5) != 0) == draft.secret_url;
}

bool has_room_for_item(const Connection& db, std::int64_t sale) {
  Statement count = db.prepare(
      "SELECT (SELECT count(*) FROM flash_sale_item), (SELECT count(*) FROM flash_sale_item WHERE sale_no = ?1)");
  return count.bind(1, sale).step() && count.whole(0) + 1 < static_cast<std::int64_t>(kItemsMax) &&
         count.whole(1) < static_cast<std::int64_t>(kItemsPerSaleMax);
}

ChangeResult changed(Changed what) {
  ChangeResult result;
  result.changed = what;
  return result;
}

}  // namespace

Result<ChangeResult> SqliteLedger::change(const std::function<ChangeResult()>& work) {
  ChangeResult result;
  const auto done = transact(clock_.ticks() + Micros{kLedgerWaitUs}, [&] { result = work(); });
  if (!done) return std::unexpected(done.error());
  return result;
}

Result<ChangeResult> SqliteLedger::create_tenant(std::string_view id, std::span<const std::string> domains) {
  if (!is_id_text(id) || domains.size() > kDomainsMax || !std::ranges::all_of(domains, is_domain)) {
    return changed(Changed::refused);
  }
  return change([&] {
    const std::string text = lines_of(domains);
    Statement find = connection_->prepare("SELECT domains FROM flash_sale_tenant WHERE id = ?1");
    if (find.bind(1, id).step()) return changed(find.text(0) == text ? Changed::repeated : Changed::exists);
    if (is_domain_taken(*connection_, domains)) return changed(Changed::exists);
    std::array<std::byte, 32> keys{};
    random_.fill(keys);
    const std::string_view bytes = bytes_of(keys);
    Statement put = connection_->prepare(
        "INSERT INTO flash_sale_tenant (id, domains, order_key_0, order_key_1) VALUES (?1, ?2, ?3, ?4)");
    put.bind(1, id).bind(2, text).bind_blob(3, bytes.substr(0, 16)).bind_blob(4, bytes.substr(16)).run();
    return changed(Changed::done);
  });
}

Result<ChangeResult> SqliteLedger::create_sale(const SaleDraft& draft) {
  if (!is_lawful(draft)) return changed(Changed::refused);
  return change([&] {
    const auto tenant = find_tenant(*connection_, draft.tenant);
    if (!tenant) return changed(Changed::unknown);
    Statement find = connection_->prepare(
        "SELECT title, opens_at, closes_at, limit_per_buyer, pay_within_us, secret <> '' FROM flash_sale "
        "WHERE tenant_no = ?1 AND id = ?2");
    if (find.bind(1, *tenant).bind(2, draft.id).step()) {
      return changed(is_same_sale(find, draft) ? Changed::repeated : Changed::exists);
    }
    Statement put = connection_->prepare(
        "INSERT INTO flash_sale (tenant_no, id, title, opens_at, closes_at, limit_per_buyer, pay_within_us, secret) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
    put.bind(1, *tenant).bind(2, draft.id).bind(3, draft.title).bind(4, draft.opens_at).bind(5, draft.closes_at);
    put.bind(6, std::int64_t{draft.limit_per_buyer}).bind(7, draft.pay_within.count());
    put.bind(8, draft.secret_url ? random_text(random_) : std::string{}).run();
    return changed(Changed::done);
  });
}

Result<ChangeResult> SqliteLedger::change_sale(std::string_view tenant_id, std::string_view sale, SaleAction action) {
  return change([&] {
    const auto tenant = find_tenant(*connection_, tenant_id);
    Statement find = connection_->prepare(
        "SELECT sale_no, opens_at, closes_at, paused, closed FROM flash_sale WHERE tenant_no = ?1 AND id = ?2");
    if (!find.bind(1, tenant.value_or(TenantNo{})).bind(2, sale).step()) return changed(Changed::unknown);
    const std::int64_t no = find.whole(0);
    const Instant now = clock_.now();
    const bool is_closed = find.whole(4) != 0 || find.moment(2) <= now;
    if (is_closed) return changed(action == SaleAction::close ? Changed::repeated : Changed::refused);
    const bool is_open = find.moment(1) <= now;
    const bool is_paused = find.whole(3) != 0;
    std::string set;
    switch (action) {
      case SaleAction::open: set = is_open ? "" : fmt::format("opens_at = {}", now.us); break;
      case SaleAction::pause: set = is_paused ? "" : "paused = 1"; break;
      case SaleAction::resume: set = is_paused ? "paused = 0" : ""; break;
      case SaleAction::close: set = "closed = 1"; break;
    }
    if (set.empty()) return changed(Changed::repeated);
    find.reset();
    connection_->execute(fmt::format("UPDATE flash_sale SET {} WHERE sale_no = {}", set, no));
    return changed(Changed::done);
  });
}

Result<ChangeResult> SqliteLedger::add_item(const ItemDraft& draft) {
  if (!is_lawful(draft)) return changed(Changed::refused);
  return change([&] {
    const auto tenant = find_tenant(*connection_, draft.tenant);
    Statement find_sale = connection_->prepare("SELECT sale_no FROM flash_sale WHERE tenant_no = ?1 AND id = ?2");
    if (!find_sale.bind(1, tenant.value_or(TenantNo{})).bind(2, draft.sale).step()) return changed(Changed::unknown);
    const std::int64_t sale = find_sale.whole(0);
    Statement find = connection_->prepare(
        "SELECT item_no, sale_no, title, price, currency, total - coalesce((SELECT sum(delta) "
        "FROM flash_sale_stock_change c WHERE c.item_no = i.item_no), 0), total, numbered, first_number, labels "
        "FROM flash_sale_item i WHERE tenant_no = ?1 AND id = ?2");
    ChangeResult result;
    if (find.bind(1, *tenant).bind(2, draft.id).step()) {
      const bool is_same = find.whole(1) == sale && find.text(2) == draft.title && find.money(3, 4) == draft.price &&
                           find.whole(5) == draft.units && (find.whole(7) != 0) == draft.numbered &&
                           find.whole(8) == draft.first_number && find.text(9) == draft.labels;
      if (!is_same) return changed(Changed::exists);
      result.changed = Changed::repeated;
      result.total = find.whole(6);
      result.item = find.number<ItemNo>(0);
      return result;
    }
    if (!has_room_for_item(*connection_, sale)) return changed(Changed::refused);
    Statement put = connection_->prepare(
        "INSERT INTO flash_sale_item (sale_no, tenant_no, id, title, price, currency, total, numbered, first_number, "
        "labels) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)");
    put.bind(1, sale).bind(2, *tenant).bind(3, draft.id).bind(4, draft.title);
    put.bind(5, draft.price.value).bind(6, draft.price.currency.view()).bind(7, draft.units);
    put.bind(8, std::int64_t{draft.numbered}).bind(9, std::int64_t{draft.first_number}).bind(10, draft.labels).run();
    result.changed = Changed::done;
    result.total = draft.units;
    result.item = {static_cast<std::uint32_t>(sqlite3_last_insert_rowid(connection_->get()))};
    if (draft.numbered) make_seed(result.item);
    return result;
  });
}

Result<ChangeResult> SqliteLedger::change_stock(std::string_view tenant_id, std::string_view item, std::int64_t delta,
                                                std::string_view key) {
  if (key.empty() || key.size() > kChangeKeyBytesMax || delta == 0) return changed(Changed::refused);
  return change([&] {
    const auto tenant = find_tenant(*connection_, tenant_id);
    Statement find = connection_->prepare(
        "SELECT item_no, total, held + sold, numbered FROM flash_sale_item WHERE tenant_no = ?1 AND id = ?2");
    if (!find.bind(1, tenant.value_or(TenantNo{})).bind(2, item).step()) return changed(Changed::unknown);
    ChangeResult result{.changed = Changed::refused,
                        .minimum = find.whole(2),
                        .total = find.whole(1),
                        .change_id = 0,
                        .item = find.number<ItemNo>(0)};
    const bool is_numbered = find.whole(3) != 0;
    if (is_numbered) return result;  // Its numbers are what they are.
    Statement earlier = connection_->prepare(
        "SELECT delta, change_no FROM flash_sale_stock_change WHERE item_no = ?1 AND change_key = ?2");
    if (earlier.bind(1, result.item).bind(2, key).step()) {
      result.changed = earlier.whole(0) == delta ? Changed::repeated : Changed::exists;
      result.change_id = static_cast<std::uint64_t>(earlier.whole(1));
      return result;
    }
    std::int64_t total = 0;
    if (__builtin_add_overflow(result.total, delta, &total) || total > kUnitsPerItemMax) return result;
    if (total < result.minimum) {
      result.changed = Changed::below_committed;
      return result;
    }
    Statement put = connection_->prepare(
        "INSERT INTO flash_sale_stock_change (item_no, change_key, delta, at) VALUES (?1, ?2, ?3, ?4)");
    put.bind(1, result.item).bind(2, key).bind(3, delta).bind(4, clock_.now()).run();
    result.change_id = static_cast<std::uint64_t>(sqlite3_last_insert_rowid(connection_->get()));
    Statement set = connection_->prepare("UPDATE flash_sale_item SET total = ?2 WHERE item_no = ?1");
    set.bind(1, result.item).bind(2, total).run();
    result.total = total;
    result.changed = Changed::done;
    return result;
  });
}

}  // namespace weir
