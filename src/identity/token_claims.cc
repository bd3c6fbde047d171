#include "identity/token_claims.h"

#include "config/limits.h"
#include "identity/json_cursor.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace weir {
namespace {

using MaybeRefusal = std::optional<TokenRefusal>;

constexpr std::int64_t kUsPerSecond = 1'000'000;
constexpr std::array<std::string_view, 6> kHeaderMembersNotAllowed{"crit", "jku", "jwk", "x5u", "x5c", "b64"};
/// What an access token calls itself, in the header or in members that issuers add to the payload. Id tokens, refresh
/// tokens and passes call themselves something else, and signing in is not what they were made for.
constexpr std::array<std::string_view, 5> kAccessTypes{"jwt", "at+jwt", "application/at+jwt", "bearer", "access"};

bool is_same_but_case(std::string_view text, std::string_view lower) {
  return std::ranges::equal(text, lower, [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
}

MaybeRefusal check_type(JsonCursor& cursor) {
  const std::optional<std::string_view> type = cursor.text();
  const bool is_access =
      type && std::ranges::any_of(kAccessTypes, [&](std::string_view known) { return is_same_but_case(*type, known); });
  if (is_access) return std::nullopt;
  return TokenRefusal::wrong_type;
}

/// What remains to be said when all members were read.
MaybeRefusal trouble_of(JsonCursor& cursor) {
  if (cursor.is_complete()) return std::nullopt;
  const bool is_repeated = cursor.trouble() == JsonCursor::Trouble::repeated_member;
  return is_repeated ? TokenRefusal::repeated_member : TokenRefusal::malformed;
}

/// Reads the members of a payload one by one. A member of the wrong type ends the reading at once.
class ClaimReader {
 public:
  ClaimReader(JsonCursor& cursor, const VerifierOptions& options, Instant now)
      : cursor_(cursor), options_(options), now_(now) {}

  [[nodiscard]] MaybeRefusal read(std::string_view member) {
    if (member == "sub") return read_subject();
    if (member == "exp") return read_expiry();
    if (member == "iat") return read_start(identity_.issued_at);
    if (member == "nbf") return read_start(not_before_);
    if (member == "role") return read_role();
    if (member == "tenant") return read_tenant();
    if (member == "iss") return read_issuer();
    if (member == "aud") return read_audience();
    if (member == "typ" || member == "token_use") return check_type(cursor_);
    cursor_.skip();
    return std::nullopt;
  }

  /// What can be said only when every member was seen.
  [[nodiscard]] std::expected<Identity, TokenRefusal> finish() const {
    if (identity_.subject.view().empty()) return std::unexpected(TokenRefusal::wrong_subject);
    if (!has_expiry_) return std::unexpected(TokenRefusal::wrong_expiry);
    if (!options_.issuer.empty() && !is_our_issuer_) return std::unexpected(TokenRefusal::wrong_issuer);
    if (!options_.audience.empty() && !is_our_audience_) return std::unexpected(TokenRefusal::wrong_audience);
    return identity_;
  }

 private:
  [[nodiscard]] std::optional<Instant> read_seconds() {
    const std::optional<std::int64_t> seconds = cursor_.whole_number();
    if (!seconds || *seconds > kTokenTimeMaxS) return std::nullopt;
    return Instant{*seconds * kUsPerSecond};
  }

  MaybeRefusal read_expiry() {
    const std::optional<Instant> expiry = read_seconds();
    if (!expiry) return TokenRefusal::wrong_expiry;
    if (now_ >= *expiry) return TokenRefusal::expired;
    identity_.expires_at = *expiry;
    has_expiry_ = true;
    return std::nullopt;
  }

  MaybeRefusal read_start(Instant& start) {
    const std::optional<Instant> read = read_seconds();
    if (!read) return TokenRefusal::wrong_time;
    start = *read;
    if (start > now_ + Micros{kTokenLeewayUs}) return TokenRefusal::not_yet_valid;
    return std::nullopt;
  }

  MaybeRefusal read_subject() {
    const std::optional<std::string_view> text = cursor_.text();
    if (!text || !is_subject_text(*text)) return TokenRefusal::wrong_subject;
    identity_.subject = *BuyerName::from(*text);
    return std::nullopt;
  }

  MaybeRefusal read_role() {
    const std::optional<std::string_view> text = cursor_.text();
    const std::optional<Role> role = text ? parse_role(*text) : std::nullopt;
    if (!role) return TokenRefusal::unknown_role;
    identity_.role = *role;
    return std::nullopt;
  }

  MaybeRefusal read_tenant() {
    const std::optional<std::string_view> text = cursor_.text();
    const std::optional<TenantText> tenant = text ? TenantText::from(*text) : std::nullopt;
    if (!tenant) return TokenRefusal::wrong_tenant;
    identity_.tenant = *tenant;
    return std::nullopt;
  }

  MaybeRefusal read_issuer() {
    const std::optional<std::string_view> text = cursor_.text();
    if (!text) return TokenRefusal::wrong_issuer;
    is_our_issuer_ = *text == options_.issuer;
    return std::nullopt;
  }

  /// One audience, or a list of them that must contain ours.
  MaybeRefusal read_audience() {
    if (const std::optional<std::string_view> text = cursor_.text()) {
      is_our_audience_ = *text == options_.audience;
      return std::nullopt;
    }
    if (!cursor_.enter_array()) return TokenRefusal::wrong_audience;
    while (cursor_.next_element()) {
      const std::optional<std::string_view> element = cursor_.text();
      if (!element) return TokenRefusal::wrong_audience;
      is_our_audience_ = is_our_audience_ || *element == options_.audience;
    }
    return std::nullopt;
  }

  JsonCursor& cursor_;
  const VerifierOptions& options_;
  Instant now_;
  Identity identity_;
  Instant not_before_;
  bool has_expiry_ = false;
  bool is_our_issuer_ = false;
  bool is_our_audience_ = false;
};

/// A value of the wrong type and a text that is broken look alike to the reader: the broken text is told first.
TokenRefusal told(TokenRefusal refusal, const JsonCursor& cursor) {
  return cursor.trouble() == JsonCursor::Trouble::none ? refusal : TokenRefusal::malformed;
}

}  // namespace

std::expected<TokenHeader, TokenRefusal> parse_token_header(std::span<char> json) {
  JsonCursor cursor{json};
  if (!cursor.enter_object()) return std::unexpected(TokenRefusal::malformed);
  TokenHeader header;
  bool has_alg = false;
  while (const std::optional<std::string_view> member = cursor.next_member()) {
    if (*member == "alg") {
      const std::optional<std::string_view> alg = cursor.text();
      if (!alg) return std::unexpected(told(TokenRefusal::wrong_algorithm, cursor));
      header.alg = *alg;
      has_alg = true;
    } else if (*member == "kid") {
      header.kid = cursor.text();
      if (!header.kid) return std::unexpected(told(TokenRefusal::unknown_key, cursor));
    } else if (*member == "typ") {
      if (const MaybeRefusal refusal = check_type(cursor)) return std::unexpected(told(*refusal, cursor));
    } else if (std::ranges::find(kHeaderMembersNotAllowed, *member) != kHeaderMembersNotAllowed.end()) {
      return std::unexpected(TokenRefusal::header_not_allowed);
    } else {
      cursor.skip();
    }
  }
  if (const MaybeRefusal refusal = trouble_of(cursor)) return std::unexpected(*refusal);
  if (!has_alg) return std::unexpected(TokenRefusal::wrong_algorithm);
  return header;
}

std::expected<Identity, TokenRefusal> parse_token_claims(std::span<char> json, const VerifierOptions& options,
                                                         Instant now) {
  JsonCursor cursor{json};
  if (!cursor.enter_object()) return std::unexpected(TokenRefusal::malformed);
  ClaimReader reader{cursor, options, now};
  while (const std::optional<std::string_view> member = cursor.next_member()) {
    if (const MaybeRefusal refusal = reader.read(*member)) return std::unexpected(told(*refusal, cursor));
  }
  if (const MaybeRefusal refusal = trouble_of(cursor)) return std::unexpected(*refusal);
  return reader.finish();
}

}  // namespace weir
