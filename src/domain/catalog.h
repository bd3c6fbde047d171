#pragma once

#include "domain/claim.h"
#include "domain/sale.h"

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weir {

struct Tenant {
  TenantNo no;
  std::string id;
  std::vector<std::string> domains;  // Lower case, without a port. Empty on a single tenant: any Host.
  SipKey order_id_key_0;             // Two keys make the 128 bits of a derived order id; kept in the ledger for ever.
  SipKey order_id_key_1;
  bool operator==(const Tenant&) const = default;
};

/// What is for sale, as one value that never changes: readers keep the snapshot they took, changes make a new one.
///
/// Threads: any, by `shared_ptr<const Catalog>`.
class Catalog {
 public:
  Catalog() = default;
  Catalog(std::vector<Tenant> tenants, std::vector<Sale> sales, std::vector<Item> items);

  [[nodiscard]] const std::vector<Tenant>& tenants() const { return tenants_; }
  [[nodiscard]] const std::vector<Sale>& sales() const { return sales_; }
  [[nodiscard]] const std::vector<Item>& items() const { return items_; }

  /// Null when there is none.
  [[nodiscard]] const Tenant* tenant(TenantNo no) const;
  [[nodiscard]] const Tenant* tenant_by_id(std::string_view id) const;
  /// The tenant that serves this Host; with a single tenant, that one.
  [[nodiscard]] const Tenant* tenant_by_host(std::string_view host) const;
  [[nodiscard]] const Sale* sale(SaleNo no) const;
  [[nodiscard]] const Sale* sale_by_id(TenantNo tenant, std::string_view id) const;
  [[nodiscard]] const Item* item(ItemNo no) const;
  [[nodiscard]] const Item* item_by_id(TenantNo tenant, std::string_view id) const;
  [[nodiscard]] std::vector<const Item*> items_of(SaleNo sale) const;

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const;
  };
  using Index = std::unordered_map<std::string, std::size_t, TextHash, std::equal_to<>>;
  [[nodiscard]] static std::size_t find(const Index& index, TenantNo tenant, std::string_view id);

  std::vector<Tenant> tenants_;
  std::vector<Sale> sales_;
  std::vector<Item> items_;
  std::vector<std::size_t> sale_at_;  // By number.
  std::vector<std::size_t> item_at_;
  std::unordered_map<std::string, std::size_t, TextHash, std::equal_to<>> domains_;
  Index sale_ids_;
  Index item_ids_;
};

/// The order id that an Idempotency-Key stands for: a keyed hash of buyer and key, so that a retry meets itself.
[[nodiscard]] OrderId derived_order_id(const Tenant& tenant, std::string_view buyer, std::string_view key);

/// What a purchase of counted stock asks for, in canonical form.
[[nodiscard]] RequestDigest purchase_digest(ItemNo item, std::int32_t units);
/// What a claim asks for, whatever its stock: of the wish as it was made, so before the claim is admitted.
[[nodiscard]] RequestDigest purchase_digest(const Claim& claim);

}  // namespace weir
