#include "base/encoding.h"
#include "config/limits.h"
#include "ledger/postgres_ledger.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace weir {

using postgres::is_storable;
using postgres::Rows;
using postgres::Session;
using postgres::Statement;
using postgres::Values;

namespace {

constexpr Statement kFindTenant{"change_find_tenant", "SELECT domains FROM flash_sale_tenant WHERE id = $1"};
/// A domain leads to one tenant.
constexpr Statement kDomainTaken{"change_domain_taken",
                                 "SELECT 1 FROM flash_sale_tenant t, unnest($1::text[]) d WHERE d = "
                                 "ANY(string_to_array(t.domains, E'\\n')) LIMIT 1"};
constexpr Statement kPutTenant{
    "change_put_tenant",
    "INSERT INTO flash_sale_tenant (tenant_no, id, domains, order_key_0, order_key_1) "
    "SELECT coalesce(max(tenant_no), 0) + 1, $1, $2, $3::uuid, $4::uuid FROM flash_sale_tenant"};

constexpr Statement kTenantNo{"change_tenant_no", "SELECT tenant_no FROM flash_sale_tenant WHERE id = $1"};
constexpr Statement kFindSale{
    "change_find_sale",
    "SELECT s.sale_no, s.title, s.opens_at, s.closes_at, s.limit_per_buyer, s.pay_within_us, s.secret <> '', s.paused, "
    "s.closed, flash_sale_now($3) FROM flash_sale s JOIN flash_sale_tenant t USING (tenant_no) "
    "WHERE t.id = $1 AND s.id = $2"};
constexpr Statement kPutSale{
    "change_put_sale",
    "INSERT INTO flash_sale (sale_no, tenant_no, id, title, opens_at, closes_at, limit_per_buyer, pay_within_us, "
    "secret) SELECT coalesce(max(sale_no), 0) + 1, $1, $2, $3, $4, $5, $6, $7, $8 FROM flash_sale"};
constexpr Statement kSetSale{"change_set_sale",
                             "UPDATE flash_sale SET opens_at = coalesce($2, opens_at), paused = coalesce($3, paused), "
                             "closed = coalesce($4, closed) WHERE sale_no = $1"};

constexpr Statement kFindItem{
    "change_find_item",
    "SELECT i.item_no, i.sale_no, i.title, i.price, i.currency, i.total - coalesce((SELECT sum(delta) "
    "FROM flash_sale_stock_change c WHERE c.item_no = i.item_no), 0), i.total FROM flash_sale_item i "
    "JOIN flash_sale_tenant t USING (tenant_no) WHERE t.id = $1 AND i.id = $2"};
constexpr Statement kCountItems{"change_count_items",
                                "SELECT (SELECT coalesce(max(item_no), 0) FROM flash_sale_item), "
                                "(SELECT count(*) FROM flash_sale_item WHERE sale_no = $1)"};
constexpr Statement kPutItem{
    "change_put_item",
    "INSERT INTO flash_sale_item (item_no, sale_no, tenant_no, id, title, price, currency, total) "
    "SELECT $1, $2, tenant_no, $3, $4, $5, $6, $7 FROM flash_sale WHERE sale_no = $2"};

constexpr Statement kLockStock{
    "change_lock_stock",
    "SELECT i.item_no, i.total, i.held + i.sold FROM flash_sale_item i JOIN flash_sale_tenant t USING (tenant_no) "
    "WHERE t.id = $1 AND i.id = $2 FOR NO KEY UPDATE OF i"};
constexpr Statement kFindChange{
    "change_find_change",
    "SELECT delta, change_no FROM flash_sale_stock_change WHERE item_no = $1 AND change_key = $2"};
constexpr Statement kPutChange{"change_put_change",
                               "INSERT INTO flash_sale_stock_change (item_no, change_key, delta, at) "
                               "VALUES ($1, $2, $3, flash_sale_now($4)) RETURNING change_no"};
constexpr Statement kSetTotal{"change_set_total", "UPDATE flash_sale_item SET total = $2 WHERE item_no = $1"};

std::string random_text(Random& random) {
  std::array<std::byte, 16> bytes{};
  random.fill(bytes);
  return base64url_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
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

bool is_title(std::string_view text) { return text.size() <= kTitleBytesMax && is_storable(text); }

bool is_lawful(const SaleDraft& draft) {
  return is_storable(draft.tenant) && is_id_text(draft.id) && is_title(draft.title) &&
         draft.opens_at < draft.closes_at && draft.limit_per_buyer >= 1 && draft.limit_per_buyer <= kBuyerLimitMax &&
         draft.pay_within.count() >= kPayWithinUsMin && draft.pay_within.count() <= kPayWithinUsMax;
}

bool is_lawful(const ItemDraft& draft) {
  return is_storable(draft.tenant) && is_storable(draft.sale) && is_id_text(draft.id) && is_title(draft.title) &&
         draft.price.value >= 0 && draft.price.value <= kPriceMinorMax && draft.units >= 0 &&
         draft.units <= kUnitsPerItemMax;
}

/// Whether the row of `kFindSale` says the same as the draft.
bool is_same_sale(const Rows& row, const SaleDraft& draft) {
  return row.text(0, 1) == draft.title && row.moment(0, 2) == draft.opens_at && row.moment(0, 3) == draft.closes_at &&
         row.whole(0, 4) == draft.limit_per_buyer && row.whole(0, 5) == draft.pay_within.count() &&
         row.truth(0, 6) == draft.secret_url;
}

ChangeResult changed(Changed what) {
  ChangeResult result;
  result.changed = what;
  return result;
}

Rows find_sale(Session& session, std::string_view tenant, std::string_view sale) {
  return session.run(kFindSale, Values{}.add(tenant).add(sale).add(session.given()));
}

}  // namespace

/// One organiser at a time: numbers of sales and items are dense, and a domain leads to one tenant.
Result<ChangeResult> PostgresLedger::change(const std::function<ChangeResult(Session&)>& work) {
  ChangeResult result;
  const auto done = transact(clock_.ticks() + Micros{kLedgerWaitUs}, [&](Session& session) {
    session.queue(postgres::sql::kLockCatalog);
    static_cast<void>(session.run());
    result = work(session);
    return Finish::commit;
  });
  if (!done) return std::unexpected(done.error());
  return result;
}

Result<ChangeResult> PostgresLedger::create_tenant(std::string_view id, std::span<const std::string> domains) {
  if (!is_id_text(id) || domains.size() > kDomainsMax || !std::ranges::all_of(domains, is_domain)) {
    return changed(Changed::refused);
  }
  return change([&](Session& session) {
    const std::string text = lines_of(domains);
    const Rows same = session.run(kFindTenant, Values{}.add(id));
    if (same.size() > 0) return changed(same.text(0, 0) == text ? Changed::repeated : Changed::exists);
    postgres::Array names;
    for (const std::string& domain : domains) names.add(std::string_view{domain});
    if (session.run(kDomainTaken, Values{}.add(std::move(names))).size() > 0) return changed(Changed::exists);
    session.queue(
        kPutTenant,
        Values{}.add(id).add(std::string_view{text}).add(OrderId::random(random_)).add(OrderId::random(random_)));
    return changed(Changed::done);
  });
}

Result<ChangeResult> PostgresLedger::create_sale(const SaleDraft& draft) {
  if (!is_lawful(draft)) return changed(Changed::refused);
  return change([&](Session& session) {
    const Rows tenant = session.run(kTenantNo, Values{}.add(std::string_view{draft.tenant}));
    if (tenant.size() == 0) return changed(Changed::unknown);
    const Rows same = find_sale(session, draft.tenant, draft.id);
    if (same.size() > 0) return changed(is_same_sale(same, draft) ? Changed::repeated : Changed::exists);
    session.queue(kPutSale, Values{}
                                .add(tenant.whole(0, 0))
                                .add(std::string_view{draft.id})
                                .add(std::string_view{draft.title})
                                .add(draft.opens_at)
                                .add(draft.closes_at)
                                .add(std::int64_t{draft.limit_per_buyer})
                                .add(draft.pay_within.count())
                                .add(std::string_view{draft.secret_url ? random_text(random_) : std::string{}}));
    return changed(Changed::done);
  });
}

Result<ChangeResult> PostgresLedger::change_sale(std::string_view tenant, std::string_view sale, SaleAction action) {
  if (!is_storable(tenant) || !is_storable(sale)) return changed(Changed::unknown);
  return change([&](Session& session) {
    const Rows row = find_sale(session, tenant, sale);
    if (row.size() == 0) return changed(Changed::unknown);
    const Instant now_at = row.moment(0, 9);
    const bool is_closed = row.truth(0, 8) || row.moment(0, 3) <= now_at;
    if (is_closed) return changed(action == SaleAction::close ? Changed::repeated : Changed::refused);
    const bool is_open = row.moment(0, 2) <= now_at;
    const bool is_paused = row.truth(0, 7);
    std::optional<Instant> opens_at;
    std::optional<bool> paused, closed;
    switch (action) {
      case SaleAction::open:
        if (!is_open) opens_at = now_at;
        break;
      case SaleAction::pause:
        if (!is_paused) paused = true;
        break;
      case SaleAction::resume:
        if (is_paused) paused = false;
        break;
      case SaleAction::close: closed = true; break;
    }
    if (!opens_at && !paused && !closed) return changed(Changed::repeated);
    session.queue(kSetSale, Values{}.add(row.whole(0, 0)).add(opens_at).add(paused).add(closed));
    return changed(Changed::done);
  });
}

Result<ChangeResult> PostgresLedger::add_item(const ItemDraft& draft) {
  if (!is_lawful(draft)) return changed(Changed::refused);
  if (draft.numbered) {
    return fail(Failure::unfit, fmt::format("item '{}': this ledger keeps no numbered stock", draft.id));
  }
  return change([&](Session& session) {
    const Rows sale = find_sale(session, draft.tenant, draft.sale);
    if (sale.size() == 0) return changed(Changed::unknown);
    const std::int64_t sale_no = sale.whole(0, 0);
    const Rows same =
        session.run(kFindItem, Values{}.add(std::string_view{draft.tenant}).add(std::string_view{draft.id}));
    ChangeResult result;
    if (same.size() > 0) {
      const bool is_same = same.whole(0, 1) == sale_no && same.text(0, 2) == draft.title &&
                           same.money(0, 3, 4) == draft.price && same.whole(0, 5) == draft.units;
      if (!is_same) return changed(Changed::exists);
      result.changed = Changed::repeated;
      result.total = same.whole(0, 6);
      result.item = same.number<ItemNo>(0, 0);
      return result;
    }
    const Rows counts = session.run(kCountItems, Values{}.add(sale_no));
    const std::int64_t item_no = counts.whole(0, 0) + 1;
    const bool has_room = item_no < static_cast<std::int64_t>(kItemsMax) &&
                          counts.whole(0, 1) < static_cast<std::int64_t>(kItemsPerSaleMax);
    if (!has_room) return changed(Changed::refused);
    session.queue(kPutItem, Values{}
                                .add(item_no)
                                .add(sale_no)
                                .add(std::string_view{draft.id})
                                .add(std::string_view{draft.title})
                                .add(draft.price.value)
                                .add(draft.price.currency.view())
                                .add(draft.units));
    result.changed = Changed::done;
    result.total = draft.units;
    result.item = {static_cast<std::uint32_t>(item_no)};
    return result;
  });
}

Result<ChangeResult> PostgresLedger::change_stock(std::string_view tenant, std::string_view item, std::int64_t delta,
                                                  std::string_view key) {
  const bool is_lawful_key = !key.empty() && key.size() <= kChangeKeyBytesMax && is_storable(key);
  if (!is_lawful_key || delta == 0) return changed(Changed::refused);
  if (!is_storable(tenant) || !is_storable(item)) return changed(Changed::unknown);
  return change([&](Session& session) {
    const Rows stock = session.run(kLockStock, Values{}.add(tenant).add(item));
    if (stock.size() == 0) return changed(Changed::unknown);
    ChangeResult result{.changed = Changed::refused,
                        .minimum = stock.whole(0, 2),
                        .total = stock.whole(0, 1),
                        .change_id = 0,
                        .item = stock.number<ItemNo>(0, 0)};
    const Rows earlier = session.run(kFindChange, Values{}.add(result.item).add(key));
    if (earlier.size() > 0) {
      result.changed = earlier.whole(0, 0) == delta ? Changed::repeated : Changed::exists;
      result.change_id = static_cast<std::uint64_t>(earlier.whole(0, 1));
      return result;
    }
    std::int64_t total = 0;
    if (__builtin_add_overflow(result.total, delta, &total) || total > kUnitsPerItemMax) return result;
    if (total < result.minimum) {
      result.changed = Changed::below_committed;
      return result;
    }
    const Rows put = session.run(kPutChange, Values{}.add(result.item).add(key).add(delta).add(session.given()));
    result.change_id = static_cast<std::uint64_t>(put.whole(0, 0));
    session.queue(kSetTotal, Values{}.add(result.item).add(total));
    result.total = total;
    result.changed = Changed::done;
    return result;
  });
}

}  // namespace weir
