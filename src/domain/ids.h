#pragma once

#include "base/random.h"
#include "base/siphash.h"
#include "config/limits.h"

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace weir {

/// A number with a meaning: two kinds never mix, and 0 means "none".
template <typename Tag, typename Rep = std::uint32_t>
struct Number {
  Rep value = 0;
  auto operator<=>(const Number&) const = default;
};

using TenantNo = Number<struct TenantTag>;  // Row of the tenant in the ledger.
using SaleNo = Number<struct SaleTag>;      // Row of the sale in the ledger.
using ItemNo = Number<struct ItemTag>;      // Row of the item in the ledger; dense from 1, at most kItemsMax.

/// A buyer inside one process: a keyed hash of tenant and `sub`. Never stored and never shown.
using BuyerKey = Number<struct BuyerTag, std::uint64_t>;

/// What was asked for under an order id, as a hash of its canonical form: tells a repeat from another request.
using RequestDigest = Number<struct DigestTag, std::uint64_t>;

/// 128 bits, 32 lower-case hexadecimal digits outside. Random, or derived from an idempotency key.
template <typename Tag>
struct Id128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const Id128&) const = default;
  [[nodiscard]] bool is_none() const { return high == 0 && low == 0; }

  [[nodiscard]] static Id128 random(Random& random) { return {random.next(), random.next()}; }

  /// The 16 bytes that are stored, high word first, most significant byte first.
  [[nodiscard]] std::array<char, 16> bytes() const {
    std::array<char, 16> out{};
    for (std::size_t i = 0; i < 8; ++i) {
      out[i] = static_cast<char>((high >> (56 - 8 * i)) & 0xff);
      out[8 + i] = static_cast<char>((low >> (56 - 8 * i)) & 0xff);
    }
    return out;
  }
  [[nodiscard]] static std::optional<Id128> from_bytes(std::string_view bytes) {
    if (bytes.size() != 16) return std::nullopt;
    Id128 id;
    for (std::size_t i = 0; i < 8; ++i) {
      id.high = id.high << 8 | static_cast<unsigned char>(bytes[i]);
      id.low = id.low << 8 | static_cast<unsigned char>(bytes[8 + i]);
    }
    return id;
  }

  void write_text(char* out) const {
    constexpr char kDigits[] = "0123456789abcdef";
    for (int i = 0; i < 16; ++i) {
      out[i] = kDigits[(high >> (60 - 4 * i)) & 15];
      out[16 + i] = kDigits[(low >> (60 - 4 * i)) & 15];
    }
  }
  [[nodiscard]] std::string text() const {
    std::string out(32, '0');
    write_text(out.data());
    return out;
  }
  /// Reads the one spelling that `text` writes; anything else is no id.
  [[nodiscard]] static std::optional<Id128> parse(std::string_view text) {
    if (text.size() != 32) return std::nullopt;
    Id128 id;
    for (std::size_t i = 0; i < 32; ++i) {
      const char c = text[i];
      std::uint64_t digit = 0;
      if (c >= '0' && c <= '9')
        digit = static_cast<std::uint64_t>(c - '0');
      else if (c >= 'a' && c <= 'f')
        digit = static_cast<std::uint64_t>(c - 'a') + 10;
      else
        return std::nullopt;
      std::uint64_t& word = i < 16 ? id.high : id.low;
      word = word << 4 | digit;
    }
    return id;
  }
};

using OrderId = Id128<struct OrderTag>;
using PaymentId = Id128<struct PaymentTag>;
using RefundId = Id128<struct RefundTag>;

/// The buyer as the token names him, kept in place: a claim crosses threads without an allocation.
class BuyerName {
 public:
  BuyerName() = default;
  /// Null unless `text` has 1 to kBuyerBytesMax bytes.
  [[nodiscard]] static std::optional<BuyerName> from(std::string_view text) {
    if (text.empty() || text.size() > kBuyerBytesMax) return std::nullopt;
    BuyerName name;
    name.size_ = static_cast<std::uint8_t>(text.size());
    std::memcpy(name.bytes_.data(), text.data(), text.size());
    return name;
  }
  [[nodiscard]] std::string_view view() const { return {bytes_.data(), size_}; }
  bool operator==(const BuyerName& other) const { return view() == other.view(); }

 private:
  std::uint8_t size_ = 0;
  std::array<char, kBuyerBytesMax> bytes_{};
};
static_assert(kBuyerBytesMax <= 255);

[[nodiscard]] inline BuyerKey buyer_key(const SipKey& key, TenantNo tenant, std::string_view buyer) {
  const SipKey of_tenant{key.k0 ^ tenant.value, key.k1};
  const std::uint64_t hash = siphash(of_tenant, buyer);
  return {hash == 0 ? 1 : hash};  // 0 means "nobody".
}

/// Letters, digits, `.`, `_` and `-`, 1 to kIdBytesMax of them, the first a letter or digit.
[[nodiscard]] constexpr bool is_id_text(std::string_view text) {
  if (text.empty() || text.size() > kIdBytesMax) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!word && (i == 0 || (c != '.' && c != '_' && c != '-'))) return false;
  }
  return true;
}
static_assert(is_id_text("spring-drop.2026") && !is_id_text("") && !is_id_text("-a") && !is_id_text("a b"));

}  // namespace weir

template <typename Tag, typename Rep>
struct std::hash<weir::Number<Tag, Rep>> {
  std::size_t operator()(weir::Number<Tag, Rep> number) const noexcept { return std::hash<Rep>{}(number.value); }
};

template <typename Tag>
struct std::hash<weir::Id128<Tag>> {
  // Ids are random or keyed hashes: their own bits are as good as any.
  std::size_t operator()(const weir::Id128<Tag>& id) const noexcept { return id.low ^ id.high; }
};
