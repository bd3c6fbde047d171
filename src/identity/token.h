#pragma once

#include "base/time.h"
#include "config/limits.h"
#include "domain/ids.h"
#include "identity/utf8_text.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

/// What a signed-in person may do. A token that names no role is a buyer's.
enum class Role : std::uint8_t { buyer, support, organiser, admin };

[[nodiscard]] constexpr std::string_view name(Role role) {
  switch (role) {
    case Role::buyer: return "buyer";
    case Role::support: return "support";
    case Role::organiser: return "organiser";
    case Role::admin: return "admin";
  }
  return "?";
}

/// Reads the one spelling that `name` writes.
[[nodiscard]] constexpr std::optional<Role> parse_role(std::string_view text) {
  for (const Role role : {Role::buyer, Role::support, Role::organiser, Role::admin}) {
    if (text == name(role)) return role;
  }
  return std::nullopt;
}

/// The tenant as a token names it, kept in place; empty when the token names none.
class TenantText {
 public:
  TenantText() = default;
  /// Null unless `is_id_text(text)`.
  [[nodiscard]] static std::optional<TenantText> from(std::string_view text) {
    if (!is_id_text(text)) return std::nullopt;
    TenantText tenant;
    tenant.size_ = static_cast<std::uint8_t>(text.size());
    std::memcpy(tenant.bytes_.data(), text.data(), text.size());
    return tenant;
  }
  [[nodiscard]] std::string_view view() const { return {bytes_.data(), size_}; }
  [[nodiscard]] bool is_none() const { return size_ == 0; }
  bool operator==(const TenantText& other) const { return view() == other.view(); }

 private:
  std::uint8_t size_ = 0;
  std::array<char, kIdBytesMax> bytes_{};
};
static_assert(kIdBytesMax <= 255);

/// What a token must say besides who it is for: `iss` and `aud` as they are written and, unless empty, required.
struct VerifierOptions {
  std::string issuer;
  std::string audience;
};

/// A buyer's name as tokens may carry it: 1 to kBuyerBytesMax bytes of well-formed UTF-8 without control characters,
/// so that it can be logged, shown and stored as it is.
[[nodiscard]] constexpr bool is_subject_text(std::string_view text) {
  if (text.empty() || text.size() > kBuyerBytesMax) return false;
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    if (character.bytes == 0 || is_control(character.code_point)) return false;
    text.remove_prefix(character.bytes);
  }
  return true;
}

/// Who sent a request, as a verified token says it.
struct Identity {
  BuyerName subject;
  Role role = Role::buyer;
  TenantText tenant;
  Instant expires_at;
  Instant issued_at;  // 0 when the token does not say. A block can thus end the tokens that were issued before it.
  bool operator==(const Identity&) const = default;
};

}  // namespace weir
