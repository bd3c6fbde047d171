#include "domain/catalog.h"

#include "base/check.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace weir {
namespace {

constexpr std::size_t kNone = SIZE_MAX;

/// The key of an index entry. Ids are ASCII words, so the separator cannot occur in one.
std::string_view scoped(TenantNo tenant, std::string_view id, std::array<char, kIdBytesMax + 16>& room) {
  if (id.size() > kIdBytesMax) return {};
  // Every press comes by here, so the number is not written by a formatter that first reads its own pattern.
  char* end = std::to_chars(room.data(), room.data() + room.size(), tenant.value).ptr;
  *end++ = '/';
  return {room.data(), static_cast<std::size_t>(std::copy(id.begin(), id.end(), end) - room.data())};
}

}  // namespace

std::size_t Catalog::TextHash::operator()(std::string_view text) const {
  // Ids in the index come from the organiser, not from the crowd: a fixed key is enough.
  return siphash({0x77656972, 0x63617461}, text);
}

Catalog::Catalog(std::vector<Tenant> tenants, std::vector<Sale> sales, std::vector<Item> items)
    : tenants_(std::move(tenants)), sales_(std::move(sales)), items_(std::move(items)) {
  std::array<char, kIdBytesMax + 16> room{};
  for (std::size_t i = 0; i < tenants_.size(); ++i) {
    for (const std::string& domain : tenants_[i].domains) domains_.emplace(domain, i);
  }
  for (std::size_t i = 0; i < sales_.size(); ++i) {
    const std::size_t no = sales_[i].no.value;
    if (sale_at_.size() <= no) sale_at_.resize(no + 1, kNone);
    sale_at_[no] = i;
    sale_ids_.emplace(scoped(sales_[i].tenant, sales_[i].id, room), i);
  }
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const std::size_t no = items_[i].no.value;
    if (item_at_.size() <= no) item_at_.resize(no + 1, kNone);
    item_at_[no] = i;
    const Sale* owner = sale(items_[i].sale);
    CHECK(owner != nullptr, "item {} names sale {}", items_[i].id, items_[i].sale.value);
    item_ids_.emplace(scoped(owner->tenant, items_[i].id, room), i);
  }
}

const Tenant* Catalog::tenant(TenantNo no) const {
  const auto found = std::find_if(tenants_.begin(), tenants_.end(), [&](const Tenant& t) { return t.no == no; });
  return found == tenants_.end() ? nullptr : &*found;
}

const Tenant* Catalog::tenant_by_id(std::string_view id) const {
  const auto found = std::find_if(tenants_.begin(), tenants_.end(), [&](const Tenant& t) { return t.id == id; });
  return found == tenants_.end() ? nullptr : &*found;
}

const Tenant* Catalog::tenant_by_host(std::string_view host) const {
  if (tenants_.size() == 1) return &tenants_.front();
  const auto found = domains_.find(host);
  return found == domains_.end() ? nullptr : &tenants_[found->second];
}

const Sale* Catalog::sale(SaleNo no) const {
  return no.value < sale_at_.size() && sale_at_[no.value] != kNone ? &sales_[sale_at_[no.value]] : nullptr;
}

const Item* Catalog::item(ItemNo no) const {
  return no.value < item_at_.size() && item_at_[no.value] != kNone ? &items_[item_at_[no.value]] : nullptr;
}

std::size_t Catalog::find(const Index& index, TenantNo tenant, std::string_view id) {
  std::array<char, kIdBytesMax + 16> room{};
  const auto found = index.find(scoped(tenant, id, room));
  return found == index.end() ? kNone : found->second;
}

const Sale* Catalog::sale_by_id(TenantNo tenant, std::string_view id) const {
  const std::size_t at = find(sale_ids_, tenant, id);
  return at == kNone ? nullptr : &sales_[at];
}

const Item* Catalog::item_by_id(TenantNo tenant, std::string_view id) const {
  const std::size_t at = find(item_ids_, tenant, id);
  return at == kNone ? nullptr : &items_[at];
}

std::vector<const Item*> Catalog::items_of(SaleNo sale) const {
  std::vector<const Item*> found;
  for (const Item& item : items_) {
    if (item.sale == sale) found.push_back(&item);
  }
  return found;
}

OrderId derived_order_id(const Tenant& tenant, std::string_view buyer, std::string_view key) {
  // Length first: ("ab", "c") and ("a", "bc") differ.
  std::array<char, 4 + kBuyerBytesMax + kIdempotencyKeyBytesMax> room{};
  CHECK(buyer.size() <= kBuyerBytesMax && key.size() <= kIdempotencyKeyBytesMax);
  const auto start = fmt::format_to(room.data(), "{:03}:", buyer.size());
  const auto end = std::copy(key.begin(), key.end(), std::copy(buyer.begin(), buyer.end(), start));
  const std::string_view text{room.data(), static_cast<std::size_t>(end - room.data())};
  return {siphash(tenant.order_id_key_0, text), siphash(tenant.order_id_key_1, text)};
}

RequestDigest purchase_digest(ItemNo item, std::int32_t units) {
  return {static_cast<std::uint64_t>(item.value) << 32 | static_cast<std::uint32_t>(units)};
}

RequestDigest purchase_digest(const Claim& claim) {
  if (claim.wish == Wish::units) return purchase_digest(claim.item, claim.units);
  // The digest is stored and compared for ever: neither the key nor the spelling may change.
  constexpr SipKey kDigestKey{0x6e756d6265727320, 0x6f6620616e206974};
  const bool is_random = claim.wish == Wish::random;
  std::string text = fmt::format("{}:{}:{}:", claim.item.value, static_cast<int>(claim.wish),
                                 is_random ? claim.units : static_cast<std::int32_t>(claim.numbers.size()));
  if (!is_random) text += claim.numbers.bytes();
  return {siphash(kDigestKey, text)};
}

}  // namespace weir
