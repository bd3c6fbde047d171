#pragma once

#include "base/result.h"
#include "base/time.h"
#include "domain/catalog.h"
#include "domain/claim.h"

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

/// An admitted claim as it stands in a shared log: everything by the names that people use, so that the log outlives
/// the numbers of one ledger. `docs/claim_message.schema.json` is the same for readers of other houses.
struct ClaimMessage {
  OrderId order;
  std::string tenant;  // These three are texts by `is_id_text`.
  std::string sale;
  std::string item;
  BuyerName buyer;
  std::int32_t quantity = 1;          // 1 to kUnitsPerClaimMax.
  std::vector<std::int32_t> numbers;  // Of numbered stock, final: as many as `quantity`, none twice. Else empty.
  std::int64_t price_version = 0;
  std::int64_t epoch = 0;   // Of the gate that admitted it; from 1 on.
  Instant promised_pay_by;  // What the buyer was told.
  RequestDigest digest;
  Instant admitted_at;
  bool operator==(const ClaimMessage&) const = default;
};

/// Why bytes of the log are no claim. Nothing is skipped for it: the bytes are parked in the ledger.
enum class Unreadable : std::uint8_t {
  empty,            // No value, as compaction or a stranger leaves it.
  too_large,        // Above kClaimMessageBytesMax.
  unknown_version,  // The header `v` is missing or not `1`: perhaps a newer weir wrote it.
  malformed,        // Not one JSON object, or a member is missing, repeated or out of its bounds.
};

[[nodiscard]] constexpr std::string_view name(Unreadable why) {
  switch (why) {
    case Unreadable::empty: return "empty";
    case Unreadable::too_large: return "too_large";
    case Unreadable::unknown_version: return "unknown_version";
    case Unreadable::malformed: return "malformed";
  }
  return "?";
}

struct UnreadableMessage {
  Unreadable why = Unreadable::malformed;
  std::string detail;            // One sentence for people. Holds nothing of the message but names of members.
  std::optional<OrderId> order;  // When at least this could be read: its hold has to be given back.
};

/// The header of every message that says how to read it, and its only value so far.
inline constexpr std::string_view kVersionHeader = "v";
inline constexpr std::string_view kClaimMessageVersion = "1";

/// The value of a message. Fails, with a sentence, on what no reader would take: a buyer that is not UTF-8, a member
/// out of its bounds. Pure.
[[nodiscard]] Parsed<std::string> write_claim_message(const ClaimMessage& message);

/// Reads a value strictly: every member must be there once and within its bounds, numbers in digits only. Members that
/// version 1 does not know are ignored, whatever they hold. `version` is the header's value, null when it is missing.
/// Pure; memory is bounded by kClaimMessageBytesMax.
[[nodiscard]] std::expected<ClaimMessage, UnreadableMessage> read_claim_message(
    std::string_view value, std::optional<std::string_view> version);

/// The message of a claim that the gate admitted at `epoch`. Null when the catalog lacks its tenant, sale or item.
[[nodiscard]] std::optional<ClaimMessage> message_of(const Claim& claim, std::int64_t epoch, Instant admitted_at,
                                                     const Catalog& catalog);

/// The claim of a message, by the numbers of this ledger; its `buyer_key` is left for the process that needs one. Null
/// when the catalog knows no such tenant, sale or item of that sale: read a newer catalog before parking it.
[[nodiscard]] std::optional<Claim> claim_of(const ClaimMessage& message, const Catalog& catalog);

}  // namespace weir
