#include "gate/redis_words.h"

#include "config/limits.h"

#include <charconv>

#include <fmt/format.h>

namespace weir {
namespace {

/// Cuts the word before the next space off; null when there is none.
std::optional<std::string_view> next_word(std::string_view& rest) {
  const std::size_t space = rest.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const std::string_view word = rest.substr(0, space);
  rest.remove_prefix(space + 1);
  return word;
}

template <typename Integer>
bool read_number(std::string_view text, Integer& into, int base = 10) {
  const auto [stop, problem] = std::from_chars(text.begin(), text.end(), into, base);
  return !text.empty() && problem == std::errc{} && stop == text.end();
}

std::optional<HoldKind> kind_of(std::string_view text) {
  for (const HoldKind kind : {HoldKind::claim, HoldKind::retake, HoldKind::withdrawal}) {
    if (text == name(kind)) return kind;
  }
  return std::nullopt;
}

/// The digest as it is kept: mixed with the id. All claims for one item have one digest, and the table of texts inside
/// Lua looks at a part of a long text only; without the id's bytes in it, records of one sale would crowd into few rows
/// of that table, and a script would take ten times as long.
std::string digest_text(const Claim& claim) {
  if (claim.digest.value == 0) return "0";  // Unknown.
  return fmt::format("{:016x}", claim.digest.value ^ claim.order.low);
}

std::optional<RequestDigest> read_digest(std::string_view text, OrderId order) {
  if (text == "0") return RequestDigest{};
  RequestDigest digest;
  if (!read_number(text, digest.value, 16)) return std::nullopt;
  digest.value ^= order.low;
  return digest;
}

void add_contents(RedisCommand& to, const Claim& claim) {
  add_id(to, claim.order);
  to.add(std::int64_t{claim.item.value}).add(std::int64_t{claim.units}).add(claim.buyer.view());
  to.add(digest_text(claim)).add(claim.promised_pay_by.us);
}

}  // namespace

std::string_view name(HoldKind kind) {
  switch (kind) {
    case HoldKind::claim: return "claim";
    case HoldKind::retake: return "retake";
    case HoldKind::withdrawal: return "withdrawal";
  }
  return "?";
}

void add_id(RedisCommand& to, OrderId id) {
  const auto bytes = id.bytes();
  to.add(std::string_view(bytes.data(), bytes.size()));
}

void add_claim(RedisCommand& to, const Claim& claim) {
  add_contents(to, claim);
  to.add(name(claim.retake ? HoldKind::retake : HoldKind::claim));
}

void add_straggler(RedisCommand& to, const Claim& claim) { add_contents(to, claim); }

void add_hold(RedisCommand& to, const SharedHold& hold) {
  add_contents(to, hold.claim);
  to.add(name(hold.kind)).add(std::string_view(hold.sold ? "1" : "0")).add(std::string_view(hold.recorded ? "1" : "0"));
}

std::optional<Verdict> verdict_of(const RedisReply& reply) {
  Verdict verdict;
  if (reply.kind == RedisReply::Kind::list) {
    const auto units = reply.at(1).number();
    if (reply.at(0).text != "over_limit" || !units) return std::nullopt;
    verdict.admission = Admission::over_limit;
    verdict.units_held = static_cast<std::int32_t>(*units);
    verdict.standing = OrderId::from_bytes(reply.at(2).text).value_or(OrderId{});
    return verdict;
  }
  const std::string_view word = reply.text;
  verdict.recorded = word == "recorded";
  verdict.may_return = word == "all_held";
  if (verdict.recorded) {
    verdict.admission = Admission::repeated;
  } else if (verdict.may_return) {
    verdict.admission = Admission::sold_out;
  } else {
    for (const Admission one : {Admission::admitted, Admission::repeated, Admission::key_reused, Admission::ended,
                                Admission::sold_out, Admission::not_on_sale}) {
      if (word != name(one)) continue;
      verdict.admission = one;
      return verdict;
    }
    return std::nullopt;
  }
  return verdict;
}

std::optional<Shelf> shelf_of(const RedisReply& reply, std::int64_t epoch) {
  const auto free = reply.at(0).number();
  const auto held = reply.at(1).number();
  const auto sold = reply.at(2).number();
  const auto version = reply.at(3).number();
  if (!free || !held || !sold || !version) return std::nullopt;
  return Shelf{.total = *free + *held + *sold,
               .free = *free,
               .held = *held,
               .sold = *sold,
               .version = static_cast<std::uint64_t>(epoch * kGateVersionMax + *version)};
}

std::optional<SharedHold> read_hold(std::string_view id, std::string_view record) {
  SharedHold hold;
  const auto order = OrderId::from_bytes(id);
  const auto item = next_word(record);
  const auto units = next_word(record);
  const auto kind = next_word(record);
  const auto sold = next_word(record);
  const auto digest = next_word(record);
  const auto promise = next_word(record);
  if (!order || !promise) return std::nullopt;
  const auto known_kind = kind_of(*kind);
  const auto known_digest = read_digest(*digest, *order);
  if (!known_kind || !known_digest || !read_number(*item, hold.claim.item.value) ||
      !read_number(*units, hold.claim.units) || !read_number(*promise, hold.claim.promised_pay_by.us))
    return std::nullopt;
  hold.claim.digest = *known_digest;
  hold.claim.order = *order;
  hold.kind = *known_kind;
  hold.sold = *sold == "1";
  // A withdrawal has no buyer.
  if (const auto buyer = BuyerName::from(record)) hold.claim.buyer = *buyer;
  return hold;
}

}  // namespace weir
