#include "base/check.h"
#include "config/limits.h"
#include "gate/redis_gate.h"
#include "gate/redis_words.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

// What builders, operators and the reconciler ask of a gate.
namespace weir {
namespace {

constexpr std::size_t kItemsAtOnce = 500;
constexpr std::uint64_t kTermsVersionMax = std::uint64_t{1} << 53;  // Lua counts exactly up to here.

Result<void> port_result(const GateAnswer<void>& answer) {
  if (answer) return {};
  return fail(failure_of(answer.error().trouble), answer.error().message);
}

std::unexpected<GateError> unfit(std::string why) {
  return std::unexpected(GateError{GateTrouble::unfit, std::move(why)});
}

GateAnswer<void> check_terms(const GateTerms& terms, std::span<const GateItem> items) {
  if (terms.limit_per_buyer < 1 || terms.limit_per_buyer > kBuyerLimitMax) {
    return unfit(
        fmt::format("a limit of {} is not within 1 and kBuyerLimitMax={}", terms.limit_per_buyer, kBuyerLimitMax));
  }
  if (terms.version > kTermsVersionMax) return unfit("a version of terms is beyond 2^53");
  for (const GateItem& item : items) {
    if (item.total < 0 || item.total > kUnitsPerItemMax) {
      return unfit(fmt::format("item {}: a total of {} is not within 0 and kUnitsPerItemMax={}", item.no.value,
                               item.total, kUnitsPerItemMax));
    }
  }
  return {};
}

RedisCommand terms_words(const GateTerms& terms, std::span<const GateItem> items) {
  RedisCommand words;
  words.add(static_cast<std::int64_t>(terms.version)).add(std::int64_t{terms.limit_per_buyer});
  words.add(std::string_view(terms.selling ? "1" : "0"));
  for (const GateItem& item : items) words.add(std::int64_t{item.no.value}).add(item.total);
  return words;
}

/// Makes the arguments of one script call for each portion of a span.
template <typename T, typename Add>
std::vector<RedisCommand> in_portions(std::span<const T> all, std::size_t size, std::string_view first, Add add) {
  std::vector<RedisCommand> made;
  for (std::size_t at = 0; at < all.size(); at += size) {
    RedisCommand& words = made.emplace_back();
    words.add(first);
    for (const T& one : all.subspan(at, std::min(size, all.size() - at))) add(words, one);
  }
  return made;
}

}  // namespace

Result<void> RedisGate::open(const GateSale& sale, std::span<const GateItem> items, Deadline deadline) {
  const GateTerms terms{.limit_per_buyer = sale.limit_per_buyer, .selling = sale.selling, .version = sale.version};
  for (const GateItem& item : items) {
    const auto known = sale_of_item_.find(item.no);
    if (known != sale_of_item_.end() && known->second != sale.no) {
      return fail(Failure::corrupt, fmt::format("item {} is opened for sale {} and belongs to sale {}", item.no.value,
                                                sale.no.value, known->second.value));
    }
  }
  if (auto done = put_terms(sale.no, terms, items, deadline); !done) return port_result(done);
  for (const GateItem& item : items) sale_of_item_.insert_or_assign(item.no, sale.no);
  return {};
}

GateAnswer<void> RedisGate::set_terms(SaleNo no, const GateTerms& terms, Deadline deadline) {
  return put_terms(no, terms, {}, deadline);
}

GateAnswer<void> RedisGate::put_terms(SaleNo no, const GateTerms& terms, std::span<const GateItem> items,
                                      Deadline deadline) {
  const auto sale = attached(no);
  if (!sale) return std::unexpected(sale.error());
  if (auto lawful = check_terms(terms, items); !lawful) return lawful;
  std::vector<RedisCommand> portions;
  std::size_t at = 0;
  do {
    const std::size_t count = std::min(kItemsAtOnce, items.size() - at);
    portions.push_back(terms_words(terms, items.subspan(at, count)));
    at += count;
  } while (at < items.size());
  return ask_all(**sale, scripts_.terms, portions, deadline);
}

GateAnswer<void> RedisGate::restore(Sale& sale, std::string_view state, std::span<const SharedHold> holds,
                                    Deadline deadline) {
  for (const SharedHold& hold : holds) {
    const Claim& claim = hold.claim;
    const bool has_buyer = !claim.buyer.view().empty() || hold.kind == HoldKind::withdrawal;
    if (claim.units >= 1 && claim.units <= kUnitsPerItemMax && has_buyer) continue;
    return trouble_of(sale, GateTrouble::corrupt,
                      fmt::format("hold {} with {} units of item {}: no lawful number of units, or no buyer",
                                  claim.order.text(), claim.units, claim.item.value));
  }
  return ask_all(sale, scripts_.restore, in_portions(holds, kGateBatchMax, state, add_hold), deadline);
}

Result<void> RedisGate::each_hold(const std::function<void(const Hold&)>& each, Deadline deadline) {
  for (auto& [no, sale] : sales_) {
    if (auto listed = list_holds(sale, each, deadline); !listed) return port_result(listed);
  }
  return {};
}

GateAnswer<void> RedisGate::list_holds(Sale& sale, const std::function<void(const Hold&)>& each, Deadline deadline) {
  std::unordered_set<OrderId> seen;  // A walk may show a hold twice.
  std::string cursor = "0";
  do {
    const auto reply = ask_plainly(
        sale,
        [&](RedisCommand& words, const std::string& prefix) {
          words.add("HSCAN").add(prefix + "held").add(cursor).add("COUNT").add(std::to_string(kRedisScanCount));
        },
        deadline);
    if (!reply) return std::unexpected(reply.error());
    cursor = reply->at(0).text;
    std::vector<SharedHold> page;
    const RedisReply& entries = reply->at(1);
    for (std::size_t i = 0; i + 1 < entries.items.size(); i += 2) {
      const std::string& id = entries.at(i).text;
      if (id.size() != sizeof(OrderId)) continue;  // The sentinel.
      const auto hold = hold_of(sale, id, entries.at(i + 1).text);
      if (!hold) return trouble_of(sale, GateTrouble::missing, "a hold could not be read");
      if (seen.insert(hold->claim.order).second) page.push_back(*hold);
    }
    if (auto listed = list_page(sale, page, each, deadline); !listed) return listed;
    if (seen.size() > kRedisListedMax) {
      return trouble_of(sale, GateTrouble::unavailable, fmt::format("more than kRedisListedMax={}", kRedisListedMax));
    }
  } while (cursor != "0");
  // A key that was lost on the way looks like a short list. The gate says whether it stands.
  if (auto stands = ask(sale, scripts_.shelf, {}, deadline); !stands) return std::unexpected(stands.error());
  return {};
}

/// Asked after the holds: one that is not in flight then has been recorded before, or has ended.
GateAnswer<void> RedisGate::list_page(Sale& sale, std::span<const SharedHold> page,
                                      const std::function<void(const Hold&)>& each, Deadline deadline) {
  if (page.empty()) return {};
  const auto scores = ask_plainly(
      sale,
      [&](RedisCommand& words, const std::string& prefix) {
        words.add("ZMSCORE").add(prefix + "inflight");
        for (const SharedHold& hold : page) add_id(words, hold.claim.order);
      },
      deadline);
  if (!scores) return std::unexpected(scores.error());
  for (std::size_t i = 0; i < page.size(); ++i) {
    const Claim& claim = page[i].claim;
    each({.order = claim.order,
          .sale = claim.sale,
          .item = claim.item,
          .units = claim.units,
          .buyer_key = claim.buyer_key,
          .sold = page[i].sold,
          .recorded = scores->at(i).kind == RedisReply::Kind::nothing,
          .buyer = claim.buyer});
  }
  return {};
}

/// A command of Redis itself on a key of the epoch, from the pinned process.
GateAnswer<RedisReply> RedisGate::ask_plainly(
    Sale& sale, const std::function<void(RedisCommand&, const std::string& prefix)>& write, Deadline deadline) {
  RedisRequest asked;
  asked.slot = sale.slot;
  asked.wants_pin = true;
  asked.pin = sale.place.pin;
  write(asked.command, fmt::format("{}{}:", sale.prefix, sale.place.epoch));
  cluster_.run(asked, deadline);
  if (asked.outcome != RedisOutcome::answered || asked.reply.is_error())
    return std::unexpected(judge(sale, asked).error());
  return std::move(asked.reply);
}

GateAnswer<RedisReply> RedisGate::look_at(Sale& sale, Deadline deadline, std::string* pin) {
  RedisRequest asked = request(sale, scripts_.look, {}, Pin::any);
  cluster_.run(asked, deadline);
  if (pin != nullptr) *pin = asked.answered_by;
  return judge(sale, asked, Count::ignored);
}

GateAnswer<GateLook> RedisGate::look(SaleNo no, Deadline deadline) {
  const auto sale = attached(no);
  if (!sale) return std::unexpected(sale.error());
  GateLook seen;
  const auto reply = look_at(**sale, deadline, &seen.pin);
  if (!reply) return std::unexpected(reply.error());
  const auto number = [&](std::size_t place) { return reply->at(place).number().value_or(0); };
  seen.writes = static_cast<std::uint64_t>(number(1));
  seen.epoch = number(2);
  seen.layout = number(3);
  seen.open = number(4) == 1;
  seen.selling = number(5) == 1;
  seen.missing = number(6) == 1;
  seen.limit_per_buyer = static_cast<std::int32_t>(number(7));
  seen.ledger = reply->at(8).text;
  return seen;
}

GateAnswer<void> RedisGate::close(SaleNo no, Deadline deadline) {
  const auto sale = attached(no);
  if (!sale) return std::unexpected(sale.error());
  RedisCommand arguments;
  arguments.add(std::max<std::int64_t>(1, (*sale)->place.epoch - kGateOlderEpochsMax));
  const auto reply = ask(**sale, scripts_.close, arguments, deadline, Pin::any, Count::anew);
  if (!reply) return std::unexpected(reply.error());
  return {};
}

GateAnswer<void> RedisGate::start_build(SaleNo no, const GateTerms& terms, std::span<const GateItem> items,
                                        Deadline deadline) {
  const auto sale = attached(no);
  if (!sale) return std::unexpected(sale.error());
  if (auto lawful = check_terms(terms, items); !lawful) return lawful;
  if (items.size() > kItemsPerSaleMax) return unfit(fmt::format("more than kItemsPerSaleMax={}", kItemsPerSaleMax));
  const auto reply = ask(**sale, scripts_.start_build, terms_words(terms, items), deadline);
  if (!reply) return std::unexpected(reply.error());
  for (const GateItem& item : items) sale_of_item_.insert_or_assign(item.no, no);
  return {};
}

GateAnswer<void> RedisGate::build_holds(SaleNo no, std::span<const SharedHold> holds, Deadline deadline) {
  const auto sale = attached(no);
  if (!sale) return std::unexpected(sale.error());
  return restore(**sale, "closed", holds, deadline);
}

GateAnswer<void> RedisGate::build_ended(SaleNo no, std::span<const OrderId> holds, Deadline deadline) {
  const auto sale = attached(no);
  if (!sale) return std::unexpected(sale.error());
  return ask_all(**sale, scripts_.remember, in_portions(holds, kGateBatchMax, "ended", add_id), deadline);
}

GateAnswer<void> RedisGate::build_changes(SaleNo no, std::span<const StockChange> changes, Deadline deadline) {
  const auto sale = attached(no);
  if (!sale) return std::unexpected(sale.error());
  const auto add = [](RedisCommand& words, const StockChange& change) {
    words.add(fmt::format("{}:{}", change.item.value, change.id));
  };
  return ask_all(**sale, scripts_.remember, in_portions(changes, kGateBatchMax, "changes", add), deadline);
}

GateAnswer<void> RedisGate::open_epoch(SaleNo no, Deadline deadline) {
  const auto sale = attached(no);
  if (!sale) return std::unexpected(sale.error());
  // The second call asks for the pin after the gate was opened: it must still be the process that was built on.
  for (int i = 0; i < 2; ++i) {
    const auto reply = ask(**sale, scripts_.open_epoch, {}, deadline, Pin::anew);
    if (!reply) return std::unexpected(reply.error());
  }
  return {};
}

GateAnswer<void> RedisGate::drop_older(SaleNo no, Deadline deadline) {
  const auto sale = attached(no);
  if (!sale) return std::unexpected(sale.error());
  const GatePlace& place = (*sale)->place;
  const auto seen = look_at(**sale, deadline, nullptr);
  if (!seen) return std::unexpected(seen.error());
  const std::int64_t oldest = std::max<std::int64_t>(1, seen->at(9).number().value_or(1));
  const std::int64_t next = std::min(place.epoch, oldest + kGateOlderEpochsMax);
  RedisCommand older;
  for (std::int64_t epoch = oldest; epoch < next; ++epoch) add_epoch_keys(older, (*sale)->prefix, epoch);
  RedisCommand arguments;
  arguments.add(next);
  RedisRequest asked = request(**sale, scripts_.drop_older, arguments, Pin::wanted, older);
  cluster_.run(asked, deadline);
  if (auto reply = judge(**sale, asked); !reply) return std::unexpected(reply.error());
  return {};
}

}  // namespace weir
