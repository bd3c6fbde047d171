#include "queue/claim_message.h"

#include "base/check.h"
#include "base/encoding.h"
#include "base/json_text.h"
#include "config/limits.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <boost/json/basic_parser_impl.hpp>
#include <fmt/format.h>

namespace weir {
namespace {

/// The members of version 1, each exactly once in every message.
enum class Member : std::uint8_t {
  order,
  tenant,
  sale,
  item,
  buyer,
  quantity,
  numbers,
  price_version,
  epoch,
  promised_pay_by,
  digest,
  admitted_at,
  unknown,
};

struct MemberText {
  Member member;
  std::string_view text;
};
constexpr std::array kMembers{
    MemberText{Member::order, "orderId"},        MemberText{Member::tenant, "tenant"},
    MemberText{Member::sale, "saleId"},          MemberText{Member::item, "itemId"},
    MemberText{Member::buyer, "buyer"},          MemberText{Member::quantity, "quantity"},
    MemberText{Member::numbers, "numbers"},      MemberText{Member::price_version, "priceVersion"},
    MemberText{Member::epoch, "epoch"},          MemberText{Member::promised_pay_by, "promisedPayBy"},
    MemberText{Member::digest, "requestDigest"}, MemberText{Member::admitted_at, "admittedAt"},
};
constexpr std::size_t kMemberNameBytesMax = 16;                  // Longer names are unknown ones, and are not kept.
constexpr std::int64_t kExactMax = (std::int64_t{1} << 53) - 1;  // Every reader's numbers are exact up to here.

static_assert(std::ranges::all_of(kMembers, [](MemberText m) { return m.text.size() <= kMemberNameBytesMax; }));
static_assert(kUnitsPerClaimMax * 9 + kBuyerBytesMax * 6 + 3 * kIdBytesMax + 1024 <= kClaimMessageBytesMax,
              "the largest lawful claim fits a message");

Member member_named(std::string_view text) {
  const auto* found = std::ranges::find(kMembers, text, &MemberText::text);
  return found == kMembers.end() ? Member::unknown : found->member;
}

std::string_view text_of(Member member) {
  const auto* found = std::ranges::find(kMembers, member, &MemberText::member);
  return found == kMembers.end() ? std::string_view{"?"} : found->text;
}

std::string digest_text(RequestDigest digest) { return fmt::format("{:016x}", digest.value); }

std::optional<RequestDigest> parse_digest(std::string_view text) {
  if (text.size() != 16) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit && (c < 'a' || c > 'f')) return std::nullopt;
    value = value << 4 | static_cast<std::uint64_t>(is_digit ? c - '0' : c - 'a' + 10);
  }
  return RequestDigest{value};
}

/// Whether the numbers are as many as the quantity, none twice. Empty: counted stock.
bool numbers_fit(const ClaimMessage& message) {
  if (message.numbers.empty()) return true;
  if (message.numbers.size() != static_cast<std::size_t>(message.quantity)) return false;
  std::vector<std::int32_t> sorted = message.numbers;
  std::ranges::sort(sorted);
  return std::ranges::adjacent_find(sorted) == sorted.end();
}

/// Hears the events of the parser and keeps the members that it knows. A false answer ends the parse; `wrong` says why.
class Handler {
 public:
  // The parser asks for these bounds by name; longer ones end the parse before anything grows.
  constexpr static std::size_t max_object_size = kClaimMessageBytesMax;
  constexpr static std::size_t max_array_size = kClaimMessageBytesMax;
  constexpr static std::size_t max_key_size = kClaimMessageBytesMax;
  constexpr static std::size_t max_string_size = kClaimMessageBytesMax;
  using Code = boost::system::error_code;

  ClaimMessage message;
  std::string wrong;
  std::uint32_t seen = 0;
  bool order_is_read = false;

  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }

  bool on_object_begin(Code& code) {
    if (depth_ == 1 && current_ != Member::unknown) return refuse(code, "is an object");
    if (in_numbers()) return refuse(code, "holds an object");
    ++depth_;
    return true;
  }
  bool on_object_end(std::size_t, Code&) {
    --depth_;
    return true;
  }
  bool on_array_begin(Code& code) {
    if (depth_ == 0) return fail(code, "the value is an array");
    if (in_numbers()) return refuse(code, "holds an array");
    if (depth_ == 1 && current_ != Member::unknown && current_ != Member::numbers) return refuse(code, "is an array");
    ++depth_;
    return true;
  }
  bool on_array_end(std::size_t, Code&) {
    --depth_;
    return true;
  }

  bool on_key_part(boost::json::string_view part, std::size_t, Code&) {
    keep(part, kMemberNameBytesMax);
    return true;
  }
  bool on_key(boost::json::string_view part, std::size_t, Code& code) {
    keep(part, kMemberNameBytesMax);
    const std::string key = std::exchange(text_, {});
    if (depth_ != 1) return true;
    current_ = member_named(key);
    if (current_ == Member::unknown) return true;
    const std::uint32_t bit = 1U << std::to_underlying(current_);
    if ((seen & bit) != 0) {
      if (current_ == Member::order) order_is_read = false;  // Nobody knows which one was meant.
      return refuse(code, "stands there twice");
    }
    seen |= bit;
    return true;
  }

  bool on_string_part(boost::json::string_view part, std::size_t, Code&) {
    keep(part, kBuyerBytesMax);
    return true;
  }
  bool on_string(boost::json::string_view part, std::size_t, Code& code) {
    keep(part, kBuyerBytesMax);
    const std::string text = std::exchange(text_, {});
    if (depth_ == 0) return fail(code, "the value is a text");
    if (in_numbers()) return refuse(code, "holds a text");
    if (depth_ != 1 || current_ == Member::unknown) return true;
    return take_text(text) || refuse(code, "is not the text that belongs there");
  }

  bool on_number_part(boost::json::string_view, Code&) { return true; }
  bool on_int64(std::int64_t value, boost::json::string_view, Code& code) { return number(value, code); }
  bool on_uint64(std::uint64_t, boost::json::string_view, Code& code) { return number(std::nullopt, code); }
  bool on_double(double, boost::json::string_view, Code& code) { return number(std::nullopt, code); }
  bool on_bool(bool, Code& code) { return number(std::nullopt, code); }
  bool on_null(Code& code) { return number(std::nullopt, code); }
  bool on_comment_part(boost::json::string_view, Code&) { return true; }
  bool on_comment(boost::json::string_view, Code&) { return true; }

 private:
  [[nodiscard]] bool in_numbers() const { return depth_ == 2 && current_ == Member::numbers; }

  /// One byte beyond the bound is enough to see that it was passed.
  void keep(boost::json::string_view part, std::size_t bytes_max) {
    const std::size_t room = bytes_max + 1 - std::min(bytes_max + 1, text_.size());
    text_.append(part.data(), std::min(room, part.size()));
  }

  bool fail(Code& code, std::string why) {
    wrong = std::move(why);
    code = boost::json::error::syntax;
    return false;
  }
  bool refuse(Code& code, std::string_view why) { return fail(code, fmt::format("`{}` {}", text_of(current_), why)); }

  bool take_text(const std::string& text) {
    switch (current_) {
      case Member::order:
        if (const auto id = OrderId::parse(text)) {
          message.order = *id;
          order_is_read = true;
        }
        return order_is_read;
      case Member::tenant: message.tenant = text; return is_id_text(text);
      case Member::sale: message.sale = text; return is_id_text(text);
      case Member::item: message.item = text; return is_id_text(text);
      case Member::buyer:
        if (const auto buyer = BuyerName::from(text)) {
          message.buyer = *buyer;
          return true;
        }
        return false;
      case Member::digest:
        if (const auto digest = parse_digest(text)) {
          message.digest = *digest;
          return true;
        }
        return false;
      case Member::quantity:
      case Member::numbers:
      case Member::price_version:
      case Member::epoch:
      case Member::promised_pay_by:
      case Member::admitted_at:
      case Member::unknown: return false;
    }
    return false;
  }

  /// Null stands for what is no whole number: a fraction, an exponent, a word.
  bool number(std::optional<std::int64_t> value, Code& code) {
    if (depth_ == 0) return fail(code, "the value is no object");
    if (in_numbers()) {
      if (!value || *value < 0 || *value > kUnitsPerItemMax) return refuse(code, "holds what is no number of a unit");
      if (message.numbers.size() == kUnitsPerClaimMax) return refuse(code, "holds too many");
      message.numbers.push_back(static_cast<std::int32_t>(*value));
      return true;
    }
    if (depth_ != 1 || current_ == Member::unknown) return true;
    return (value && take_whole(*value)) || refuse(code, "is not the whole number that belongs there");
  }

  bool take_whole(std::int64_t value) {
    const auto fits = [value](std::int64_t least, std::int64_t most) { return value >= least && value <= most; };
    switch (current_) {
      case Member::quantity: message.quantity = static_cast<std::int32_t>(value); return fits(1, kUnitsPerClaimMax);
      case Member::price_version: message.price_version = value; return fits(0, kExactMax);
      case Member::epoch: message.epoch = value; return fits(1, kExactMax);
      case Member::promised_pay_by: message.promised_pay_by.us = value; return fits(0, kExactMax);
      case Member::admitted_at: message.admitted_at.us = value; return fits(0, kExactMax);
      case Member::order:
      case Member::tenant:
      case Member::sale:
      case Member::item:
      case Member::buyer:
      case Member::numbers:
      case Member::digest:
      case Member::unknown: return false;
    }
    return false;
  }

  std::size_t depth_ = 0;             // Objects and arrays that are open.
  Member current_ = Member::unknown;  // The member of the outermost object whose value is being read.
  std::string text_;                  // The key or string being read, at most one byte more than its bound.
};

std::unexpected<UnreadableMessage> unreadable(Unreadable why, std::string detail,
                                              std::optional<OrderId> order = std::nullopt) {
  return std::unexpected(UnreadableMessage{why, std::move(detail), order});
}

void append_text(std::string& out, Member member, std::string_view text) {
  fmt::format_to(std::back_inserter(out), "{}\"{}\":", out.empty() ? "{" : ",", text_of(member));
  append_json_string(out, text);
}

void append_whole(std::string& out, Member member, std::int64_t value) {
  fmt::format_to(std::back_inserter(out), ",\"{}\":{}", text_of(member), value);
}

}  // namespace

Parsed<std::string> write_claim_message(const ClaimMessage& message) {
  std::string out;
  out.reserve(512);
  append_text(out, Member::order, message.order.text());
  append_text(out, Member::tenant, message.tenant);
  append_text(out, Member::sale, message.sale);
  append_text(out, Member::item, message.item);
  append_text(out, Member::buyer, message.buyer.view());
  append_whole(out, Member::quantity, message.quantity);
  fmt::format_to(std::back_inserter(out), ",\"{}\":[{}]", text_of(Member::numbers), fmt::join(message.numbers, ","));
  append_whole(out, Member::price_version, message.price_version);
  append_whole(out, Member::epoch, message.epoch);
  append_whole(out, Member::promised_pay_by, message.promised_pay_by.us);
  append_text(out, Member::digest, digest_text(message.digest));
  append_whole(out, Member::admitted_at, message.admitted_at.us);
  out += '}';
  // What no reader would take is refused here, where somebody can still be told. Reading it back costs a microsecond
  // for each of ten thousand winners and finds every way in which the two could come apart.
  const auto back = read_claim_message(out, kClaimMessageVersion);
  if (!back) return std::unexpected(back.error().detail);
  if (*back != message) return std::unexpected("a text of the claim is not UTF-8");
  return out;
}

std::expected<ClaimMessage, UnreadableMessage> read_claim_message(std::string_view value,
                                                                  std::optional<std::string_view> version) {
  if (!version) return unreadable(Unreadable::unknown_version, "the header `v` is missing");
  if (*version != kClaimMessageVersion)
    return unreadable(Unreadable::unknown_version, "the header `v` names a version that this reader does not know");
  if (value.empty()) return unreadable(Unreadable::empty, "the message has no value");
  if (value.size() > kClaimMessageBytesMax)
    return unreadable(Unreadable::too_large, fmt::format("{} bytes, {} at most", value.size(), kClaimMessageBytesMax));

  boost::json::parse_options options;
  options.max_depth = kJsonDepthMax;
  boost::json::basic_parser<Handler> parser{options};
  boost::system::error_code code;
  const std::size_t used = parser.write_some(false, value.data(), value.size(), code);
  Handler& handler = parser.handler();
  const std::optional<OrderId> order = handler.order_is_read ? std::optional{handler.message.order} : std::nullopt;
  if (code)
    return unreadable(Unreadable::malformed, handler.wrong.empty() ? "not JSON: " + code.message() : handler.wrong,
                      order);
  if (used != value.size()) return unreadable(Unreadable::malformed, "something stands behind the object", order);
  for (const MemberText& member : kMembers)
    if ((handler.seen & 1U << std::to_underlying(member.member)) == 0)
      return unreadable(Unreadable::malformed, fmt::format("`{}` is missing", member.text), order);
  if (!numbers_fit(handler.message))
    return unreadable(Unreadable::malformed, "`numbers` are not as many as `quantity`, or one stands there twice",
                      order);
  return std::move(handler.message);
}

std::optional<ClaimMessage> message_of(const Claim& claim, std::int64_t epoch, Instant admitted_at,
                                       const Catalog& catalog) {
  const Tenant* tenant = catalog.tenant(claim.tenant);
  const Sale* sale = catalog.sale(claim.sale);
  const Item* item = catalog.item(claim.item);
  if (tenant == nullptr || sale == nullptr || item == nullptr) return std::nullopt;
  CHECK(item->sale == sale->no && sale->tenant == tenant->no, "order {}: an item of another sale", claim.order.text());
  return ClaimMessage{.order = claim.order,
                      .tenant = tenant->id,
                      .sale = sale->id,
                      .item = item->id,
                      .buyer = claim.buyer,
                      .quantity = claim.units,
                      .numbers = {},
                      .price_version = 0,
                      .epoch = epoch,
                      .promised_pay_by = claim.promised_pay_by,
                      .digest = claim.digest,
                      .admitted_at = admitted_at};
}

std::optional<Claim> claim_of(const ClaimMessage& message, const Catalog& catalog) {
  const Tenant* tenant = catalog.tenant_by_id(message.tenant);
  if (tenant == nullptr) return std::nullopt;
  const Sale* sale = catalog.sale_by_id(tenant->no, message.sale);
  const Item* item = catalog.item_by_id(tenant->no, message.item);
  if (sale == nullptr || item == nullptr || item->sale != sale->no) return std::nullopt;
  Claim claim;
  claim.order = message.order;
  claim.tenant = tenant->no;
  claim.sale = sale->no;
  claim.item = item->no;
  claim.units = message.quantity;
  claim.digest = message.digest;
  claim.promised_pay_by = message.promised_pay_by;
  claim.buyer = message.buyer;
  return claim;
}

}  // namespace weir
