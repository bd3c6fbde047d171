#include "base/encoding.h"
#include "ledger/sqlite_ledger.h"
#include "ledger/sqlite_statements.h"

#include <fmt/format.h>

#include <array>

namespace weir {
namespace {

using sqlite::Connection;
using sqlite::Statement;

constexpr Micros kChangeWait{2'000'000};

std::optional<TenantNo> find_tenant(const Connection& db, std::string_view id) {
  Statement find = db.prepare("SELECT tenant_no FROM flash_sale_tenant WHERE id = ?1");
  find.bind(1, id);
  if (!find.step()) return std::nullopt;
  return TenantNo{static_cast<std::uint32_t>(find.whole(0))};
}

std::string random_text(Random& random) {
  std::array<std::byte, 16> bytes{};
  random.fill(bytes);
  return base64url_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::string joined(std::span<const std::string> lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + line;
  return text;
}

}  // namespace

Result<ChangeResult> SqliteLedger::create_tenant(std::string_view id, std::span<const std::string> domains) {
  ChangeResult result;
  const auto done = transact(clock_.ticks() + kChangeWait, [&] {
    const std::string text = joined(domains);
    Statement find = connection_->prepare("SELECT domains FROM flash_sale_tenant WHERE id = ?1");
    find.bind(1, id);
    if (find.step()) {
      result.changed = find.text(0) == text ? Changed::repeated : Changed::exists;
      return;
    }
    std::array<std::byte, 32> keys{};
    random_.fill(keys);
    const auto* bytes = reinterpret_cast<const char*>(keys.data());
    Statement put = connection_->prepare("INSERT INTO flash_sale_tenant (id, domains, order_key_0, order_key_1) VALUES (?1, ?2, ?3, ?4)");
    put.bind(1, id).bind(2, std::string_view{text}).bind_blob(3, {bytes, 16}).bind_blob(4, {bytes + 16, 16}).run();
    result.changed = Changed::done;
  });
  if (!done) return std::unexpected(done.error());
  return result;
}

Result<ChangeResult> SqliteLedger::create_sale(const SaleDraft& draft) {
  ChangeResult result;
  const auto done = transact(clock_.ticks() + kChangeWait, [&] {
    const auto tenant = find_tenant(*connection_, draft.tenant);
    if (!tenant) {
      result.changed = Changed::unknown;
      return;
    }
    Statement find = connection_->prepare(
        "SELECT title, opens_at, closes_at, limit_per_buyer, pay_within_us, secret <> '' FROM flash_sale WHERE tenant_no = ?1 AND id = ?2");
    find.bind(1, *tenant).bind(2, std::string_view{draft.id});
    if (find.step()) {
      const bool is_same = find.text(0) == draft.title && find.moment(1) == draft.opens_at && find.moment(2) == draft.closes_at &&
                           find.whole(3) == draft.limit_per_buyer && find.whole(4) == draft.pay_within.count() &&
                           (find.whole(5) != 0) == draft.secret_url;
      result.changed = is_same ? Changed::repeated : Changed::exists;
      return;
    }
    Statement put = connection_->prepare(
        "INSERT INTO flash_sale (tenant_no, id, title, opens_at, closes_at, limit_per_buyer, pay_within_us, secret) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
    put.bind(1, *tenant).bind(2, std::string_view{draft.id}).bind(3, std::string_view{draft.title}).bind(4, draft.opens_at);
    put.bind(5, draft.closes_at).bind(6, std::int64_t{draft.limit_per_buyer}).bind(7, draft.pay_within.count());
    put.bind(8, std::string_view{draft.secret_url ? random_text(random_) : std::string{}}).run();
    result.changed = Changed::done;
  });
  if (!done) return std::unexpected(done.error());
  return result;
}

Result<ChangeResult> SqliteLedger::change_sale(std::string_view tenant_id, std::string_view sale, SaleAction action) {
  ChangeResult result;
  const auto done = transact(clock_.ticks() + kChangeWait, [&] {
    const auto tenant = find_tenant(*connection_, tenant_id);
    Statement find = connection_->prepare("SELECT sale_no, opens_at, closes_at, paused, closed FROM flash_sale WHERE tenant_no = ?1 AND id = ?2");
    find.bind(1, tenant.value_or(TenantNo{})).bind(2, sale);
    if (!find.step()) {
      result.changed = Changed::unknown;
      return;
    }
    const std::int64_t no = find.whole(0);
    const Instant now = clock_.now();
    const bool is_closed = find.whole(4) != 0 || find.moment(2) <= now;
    const bool is_paused = find.whole(3) != 0;
    const bool is_open = find.moment(1) <= now;
    find.reset();
    std::string set;
    switch (action) {
      case SaleAction::open: set = is_open ? "" : fmt::format("opens_at = {}", now.us); break;
      case SaleAction::pause: set = is_paused ? "" : "paused = 1"; break;
      case SaleAction::resume: set = is_paused ? "paused = 0" : ""; break;
      case SaleAction::close: set = "closed = 1"; break;
    }
    if (is_closed) {
      result.changed = action == SaleAction::close ? Changed::repeated : Changed::refused;
      return;
    }
    result.changed = set.empty() ? Changed::repeated : Changed::done;
    if (!set.empty()) connection_->execute(fmt::format("UPDATE flash_sale SET {} WHERE sale_no = {}", set, no));
  });
  if (!done) return std::unexpected(done.error());
  return result;
}

Result<ChangeResult> SqliteLedger::add_item(const ItemDraft& draft) {
  ChangeResult result;
  const auto done = transact(clock_.ticks() + kChangeWait, [&] {
    const auto tenant = find_tenant(*connection_, draft.tenant);
    Statement find_sale = connection_->prepare("SELECT sale_no FROM flash_sale WHERE tenant_no = ?1 AND id = ?2");
    find_sale.bind(1, tenant.value_or(TenantNo{})).bind(2, std::string_view{draft.sale});
    if (!find_sale.step()) {
      result.changed = Changed::unknown;
      return;
    }
    const std::int64_t sale = find_sale.whole(0);
    Statement find = connection_->prepare("SELECT item_no, sale_no, title, price, currency, total FROM flash_sale_item WHERE tenant_no = ?1 AND id = ?2");
    find.bind(1, *tenant).bind(2, std::string_view{draft.id});
    if (find.step()) {
      const bool is_same = find.whole(1) == sale && find.text(2) == draft.title && find.money(3, 4) == draft.price && find.whole(5) == draft.units;
      result.changed = is_same ? Changed::repeated : Changed::exists;
      return;
    }
    Statement count = connection_->prepare("SELECT (SELECT count(*) FROM flash_sale_item), (SELECT count(*) FROM flash_sale_item WHERE sale_no = ?1)");
    count.bind(1, sale);
    const bool is_full = count.step() && (count.whole(0) + 1 >= static_cast<std::int64_t>(kItemsMax) || count.whole(1) >= static_cast<std::int64_t>(kItemsPerSaleMax));
    count.reset();
    if (is_full) {
      result.changed = Changed::refused;
      return;
    }
    Statement put = connection_->prepare(
        "INSERT INTO flash_sale_item (sale_no, tenant_no, id, title, price, currency, total) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)");
    put.bind(1, sale).bind(2, *tenant).bind(3, std::string_view{draft.id}).bind(4, std::string_view{draft.title});
    put.bind(5, draft.price.value).bind(6, draft.price.currency.view()).bind(7, draft.units).run();
    result.changed = Changed::done;
    result.total = draft.units;
    result.item = {static_cast<std::uint32_t>(sqlite3_last_insert_rowid(connection_->get()))};
  });
  if (!done) return std::unexpected(done.error());
  return result;
}

Result<ChangeResult> SqliteLedger::change_stock(std::string_view tenant_id, std::string_view item, std::int64_t delta, std::string_view key) {
  ChangeResult result;
  const auto done = transact(clock_.ticks() + kChangeWait, [&] {
    const auto tenant = find_tenant(*connection_, tenant_id);
    Statement find = connection_->prepare("SELECT item_no, total, held + sold FROM flash_sale_item WHERE tenant_no = ?1 AND id = ?2");
    find.bind(1, tenant.value_or(TenantNo{})).bind(2, item);
    if (!find.step()) {
      result.changed = Changed::unknown;
      return;
    }
    const std::int64_t no = find.whole(0);
    result.item = {static_cast<std::uint32_t>(no)};
    result.total = find.whole(1);
    result.minimum = find.whole(2);
    find.reset();
    Statement earlier = connection_->prepare("SELECT delta FROM flash_sale_stock_change WHERE item_no = ?1 AND change_key = ?2");
    earlier.bind(1, no).bind(2, key);
    if (earlier.step()) {
      result.changed = earlier.whole(0) == delta ? Changed::repeated : Changed::exists;
      return;
    }
    std::int64_t total = 0;
    if (__builtin_add_overflow(result.total, delta, &total) || total > kUnitsPerItemMax) {
      result.changed = Changed::refused;
      return;
    }
    if (total < result.minimum) {
      result.changed = Changed::below_committed;
      return;
    }
    Statement put = connection_->prepare("INSERT INTO flash_sale_stock_change (item_no, change_key, delta, at) VALUES (?1, ?2, ?3, ?4)");
    put.bind(1, no).bind(2, key).bind(3, delta).bind(4, clock_.now()).run();
    result.change_id = static_cast<std::uint64_t>(sqlite3_last_insert_rowid(connection_->get()));
    Statement set = connection_->prepare("UPDATE flash_sale_item SET total = ?2 WHERE item_no = ?1");
    set.bind(1, no).bind(2, total).run();
    result.total = total;
    result.changed = Changed::done;
  });
  if (!done) return std::unexpected(done.error());
  return result;
}

}  // namespace weir
