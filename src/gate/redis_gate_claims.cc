#include "base/check.h"
#include "config/limits.h"
#include "gate/redis_gate.h"
#include "gate/redis_words.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

// What the desk and the workers ask of a gate that stands.
namespace weir {
namespace {

Error port_error(const GateError& error) { return {failure_of(error.trouble), error.message}; }

/// Calls `act` with runs of holds of one sale, each at most kGateBatchMax long, until it fails.
template <typename Act>
Result<void> in_runs_of_a_sale(std::span<const Hold> all, Act act) {
  for (std::size_t at = 0; at < all.size();) {
    std::size_t end = at + 1;
    while (end < all.size() && end - at < kGateBatchMax && all[end].sale == all[at].sale) ++end;
    if (Result<void> done = act(all.subspan(at, end - at)); !done) return done;
    at = end;
  }
  return {};
}

}  // namespace

void RedisGate::reserve_batches(std::span<ReserveBatch> batches, Deadline deadline) {
  std::vector<RedisRequest> asked;
  std::vector<std::pair<ReserveBatch*, Sale*>> askers;
  asked.reserve(batches.size());
  for (ReserveBatch& batch : batches) {
    CHECK(batch.claims.size() == batch.verdicts.size() && batch.claims.size() <= kGateBatchMax, "claims={} verdicts={}",
          batch.claims.size(), batch.verdicts.size());
    Sale* const sale = find(batch.sale);
    batch.trouble = sale == nullptr ? GateTrouble::unattached : GateTrouble::none;
    if (sale == nullptr || batch.claims.empty()) continue;
    RedisCommand arguments;
    for (const Claim& claim : batch.claims) {
      CHECK(claim.sale == batch.sale && claim.units >= 1 && claim.units <= kUnitsPerClaimMax, "order={} units={}",
            claim.order.text(), claim.units);
      CHECK(!claim.buyer.view().empty(), "order={} names no buyer", claim.order.text());
      add_claim(arguments, claim);
    }
    asked.push_back(request(*sale, scripts_.reserve, arguments));
    askers.emplace_back(&batch, sale);
  }
  cluster_.run(asked, deadline);
  for (std::size_t i = 0; i < asked.size(); ++i) take_verdicts(*askers[i].first, *askers[i].second, asked[i]);
}

void RedisGate::take_verdicts(ReserveBatch& batch, Sale& sale, RedisRequest& answered) {
  const auto reply = judge(sale, answered);
  if (!reply) {
    batch.trouble = reply.error().trouble;
    batch.message = reply.error().message;
    return;
  }
  for (std::size_t i = 0; i < batch.claims.size(); ++i) {
    const auto verdict = verdict_of(reply->at(2 + i));
    if (!verdict) {
      batch.trouble = GateTrouble::missing;
      batch.message = trouble_of(sale, GateTrouble::missing, "no verdict could be read").error().message;
      return;
    }
    batch.verdicts[i] = *verdict;
  }
}

Result<void> RedisGate::reserve(std::span<const Claim> claims, std::span<Verdict> verdicts, Deadline deadline) {
  CHECK(claims.size() == verdicts.size() && claims.size() <= kGateBatchMax, "claims={} verdicts={}", claims.size(),
        verdicts.size());
  if (claims.empty()) return {};
  const SaleNo sale = claims.front().sale;
  const bool is_one_sale =
      std::all_of(claims.begin(), claims.end(), [&](const Claim& one) { return one.sale == sale; });
  if (!is_one_sale) return reserve_mixed(claims, verdicts, deadline);
  ReserveBatch batch{.sale = sale, .claims = claims, .verdicts = verdicts, .trouble = {}, .message = {}};
  reserve_batches({&batch, 1}, deadline);
  if (batch.trouble == GateTrouble::unattached) {
    // A sale that this process does not host is not on sale here.
    std::fill(verdicts.begin(), verdicts.end(), Verdict{});
    return {};
  }
  if (batch.trouble != GateTrouble::none) return fail(failure_of(batch.trouble), batch.message);
  return {};
}

Result<void> RedisGate::reserve_mixed(std::span<const Claim> claims, std::span<Verdict> verdicts, Deadline deadline) {
  std::vector<SaleNo> sales;
  for (const Claim& claim : claims) {
    if (std::find(sales.begin(), sales.end(), claim.sale) == sales.end()) sales.push_back(claim.sale);
  }
  std::vector<std::vector<Claim>> parts(sales.size());
  std::vector<std::vector<Verdict>> answers(sales.size());
  std::vector<ReserveBatch> batches(sales.size());
  for (std::size_t i = 0; i < sales.size(); ++i) {
    std::copy_if(claims.begin(), claims.end(), std::back_inserter(parts[i]),
                 [&](const Claim& claim) { return claim.sale == sales[i]; });
    answers[i].resize(parts[i].size());
    batches[i].sale = sales[i];
    batches[i].claims = parts[i];
    batches[i].verdicts = answers[i];
  }
  reserve_batches(batches, deadline);
  const bool has_happened = std::any_of(batches.begin(), batches.end(), [](const ReserveBatch& batch) {
    return batch.trouble == GateTrouble::none || failure_of(batch.trouble) == Failure::timed_out;
  });
  for (const ReserveBatch& batch : batches) {
    if (batch.trouble == GateTrouble::none || batch.trouble == GateTrouble::unattached) continue;
    return fail(has_happened ? Failure::timed_out : failure_of(batch.trouble), batch.message);
  }
  std::vector<std::size_t> taken(sales.size(), 0);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const auto of = static_cast<std::size_t>(std::find(sales.begin(), sales.end(), claims[i].sale) - sales.begin());
    verdicts[i] = answers[of][taken[of]++];
  }
  return {};
}

Result<std::int64_t> RedisGate::end_holds(std::span<const Hold> holds, const RedisScript& script, bool with_recorded,
                                          Deadline deadline) {
  std::int64_t units = 0;
  auto done = in_runs_of_a_sale(holds, [&](std::span<const Hold> run) -> Result<void> {
    const auto sale = attached(run.front().sale);
    if (!sale) return std::unexpected(port_error(sale.error()));
    RedisCommand arguments;
    for (const Hold& hold : run) {
      add_id(arguments, hold.order);
      if (with_recorded) arguments.add(std::string_view(hold.recorded ? "1" : "0"));
    }
    const auto reply = ask(**sale, script, arguments, deadline);
    if (!reply) return std::unexpected(port_error(reply.error()));
    units += reply->at(2).number().value_or(0);
    return {};
  });
  if (!done) return std::unexpected(done.error());
  return units;
}

Result<std::int64_t> RedisGate::release(std::span<const Hold> holds, Deadline deadline) {
  return end_holds(holds, scripts_.release, true, deadline);
}

Result<void> RedisGate::confirm(std::span<const Hold> holds, Deadline deadline) {
  const auto done = end_holds(holds, scripts_.confirm, false, deadline);
  if (!done) return std::unexpected(done.error());
  return {};
}

Result<void> RedisGate::sell(std::span<const Hold> holds, Deadline deadline) {
  const auto done = end_holds(holds, scripts_.sell, false, deadline);
  if (!done) return std::unexpected(done.error());
  return {};
}

Result<void> RedisGate::adopt(std::span<const Hold> holds, Deadline deadline) {
  return in_runs_of_a_sale(holds, [&](std::span<const Hold> run) -> Result<void> {
    const auto sale = attached(run.front().sale);
    if (!sale) return std::unexpected(port_error(sale.error()));
    std::vector<SharedHold> known;
    for (const Hold& hold : run) {
      SharedHold one{.claim = {}, .kind = HoldKind::claim, .sold = hold.sold, .recorded = hold.recorded};
      one.claim.order = hold.order;
      one.claim.item = hold.item;
      one.claim.units = hold.units;
      one.claim.buyer = hold.buyer;
      known.push_back(one);
    }
    const auto done = restore(**sale, "open", known, deadline);
    if (!done) return std::unexpected(port_error(done.error()));
    return {};
  });
}

GateAnswer<void> RedisGate::adopt_stragglers(SaleNo no, HoldKind kind, std::span<const Claim> claims,
                                             std::span<Adopted> adopted, Deadline deadline) {
  CHECK(claims.size() == adopted.size() && claims.size() <= kGateBatchMax, "claims={} adopted={}", claims.size(),
        adopted.size());
  const auto sale = attached(no);
  if (!sale) return std::unexpected(sale.error());
  if (claims.empty()) return {};
  RedisCommand arguments;
  arguments.add(name(kind));
  for (const Claim& claim : claims) {
    CHECK(claim.units >= 1 && (kind == HoldKind::withdrawal || !claim.buyer.view().empty()), "hold={} units={}",
          claim.order.text(), claim.units);
    add_straggler(arguments, claim);
  }
  const auto reply = ask(**sale, scripts_.adopt, arguments, deadline);
  if (!reply) return std::unexpected(reply.error());
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const RedisReply& answer = reply->at(2 + i);
    const bool is_other = answer.kind == RedisReply::Kind::list;
    const std::string& word = is_other ? answer.at(0).text : answer.text;
    const auto bytes = claims[i].order.bytes();
    const auto held = hold_of(**sale, {bytes.data(), bytes.size()}, answer.at(1).text);
    bool is_known = false;
    for (const Adoption one : {Adoption::adopted, Adoption::other, Adoption::refused, Adoption::ended}) {
      if (word != name(one)) continue;
      adopted[i].adoption = one;
      is_known = !is_other || held.has_value();
    }
    if (is_other && held) adopted[i].held = held->claim;
    if (!is_known) return trouble_of(**sale, GateTrouble::missing, "no answer for a straggler could be read");
  }
  return {};
}

Result<void> RedisGate::restock(ItemNo item, std::int64_t delta, std::uint64_t change_id, Deadline deadline) {
  const auto sale = sale_of(item);
  if (!sale) return std::unexpected(port_error(sale.error()));
  if (delta < -kUnitsPerItemMax || delta > kUnitsPerItemMax) {
    return fail(Failure::unfit, fmt::format("item {}: a change by {} is beyond kUnitsPerItemMax={}", item.value, delta,
                                            kUnitsPerItemMax));
  }
  RedisCommand arguments;
  arguments.add(std::int64_t{item.value}).add(delta).add(std::to_string(change_id)).add(kUnitsPerItemMax);
  arguments.add(static_cast<std::int64_t>(kStockChangesMax));
  const auto reply = ask(**sale, scripts_.restock, arguments, deadline);
  if (!reply) return std::unexpected(port_error(reply.error()));
  const std::string& word = reply->at(2).text;
  const std::int64_t count = reply->at(3).number().value_or(0);
  if (word == "done") return {};
  if (word == "unknown") return fail(Failure::unavailable, fmt::format("item {} was never opened", item.value));
  if (word == "full") return fail(Failure::overloaded, fmt::format("kStockChangesMax={} changes", kStockChangesMax));
  if (word == "short") {
    return fail(Failure::unavailable,
                fmt::format("item {}: {} units cannot be taken away, {} are free", item.value, delta, count));
  }
  return fail(Failure::unfit, fmt::format("item {}: {} and {} units are more than kUnitsPerItemMax={}", item.value,
                                          count, delta, kUnitsPerItemMax));
}

Result<Shelf> RedisGate::shelf(ItemNo item, Deadline deadline) {
  const auto sale = sale_of(item);
  if (!sale) return std::unexpected(port_error(sale.error()));
  Shelf found;
  const auto done = shelves((*sale)->place.sale, {&item, 1}, {&found, 1}, deadline);
  if (!done) return std::unexpected(port_error(done.error()));
  return found;
}

GateAnswer<void> RedisGate::shelves(SaleNo no, std::span<const ItemNo> items, std::span<Shelf> shelves,
                                    Deadline deadline) {
  CHECK(items.size() == shelves.size() && items.size() <= kGateBatchMax, "items={} shelves={}", items.size(),
        shelves.size());
  const auto sale = attached(no);
  if (!sale) return std::unexpected(sale.error());
  RedisCommand arguments;
  for (const ItemNo item : items) arguments.add(std::int64_t{item.value});
  const auto reply = ask(**sale, scripts_.shelf, arguments, deadline);
  if (!reply) return std::unexpected(reply.error());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto found = shelf_of(reply->at(2 + i), (*sale)->place.epoch);
    if (!found) {
      return std::unexpected(
          GateError{GateTrouble::unavailable, fmt::format("item {} is not in the gate", items[i].value)});
    }
    shelves[i] = *found;
  }
  return {};
}

GateAnswer<std::vector<InFlight>> RedisGate::in_flight(SaleNo no, Micros age, std::size_t count, Deadline deadline) {
  const auto sale = attached(no);
  if (!sale) return std::unexpected(sale.error());
  RedisCommand arguments;
  arguments.add(age.count()).add(static_cast<std::int64_t>(std::min(count, kGateBatchMax)));
  const auto reply = ask(**sale, scripts_.in_flight, arguments, deadline);
  if (!reply) return std::unexpected(reply.error());
  std::vector<InFlight> found;
  for (std::size_t at = 2; at + 2 < reply->items.size(); at += 3) {
    const auto hold = hold_of(**sale, reply->at(at).text, reply->at(at + 1).text);
    if (!hold) return trouble_of(**sale, GateTrouble::missing, "a hold could not be read");
    found.push_back({.hold = *hold, .age = Micros{reply->at(at + 2).number().value_or(0)}});
  }
  return found;
}

GateAnswer<std::optional<SharedHold>> RedisGate::find_hold(SaleNo no, OrderId id, Deadline deadline) {
  const auto sale = attached(no);
  if (!sale) return std::unexpected(sale.error());
  RedisCommand arguments;
  add_id(arguments, id);
  const auto reply = ask(**sale, scripts_.hold, arguments, deadline);
  if (!reply) return std::unexpected(reply.error());
  if (reply->items.size() < 4) return std::optional<SharedHold>{};
  const auto bytes = id.bytes();
  auto hold = hold_of(**sale, {bytes.data(), bytes.size()}, reply->at(2).text);
  if (!hold) return trouble_of(**sale, GateTrouble::missing, "a hold could not be read");
  hold->recorded = reply->at(3).number() == 0;
  return hold;
}

std::optional<SharedHold> RedisGate::hold_of(const Sale& sale, std::string_view id, std::string_view record) const {
  auto hold = read_hold(id, record);
  if (!hold) return std::nullopt;
  hold->claim.sale = sale.place.sale;
  hold->claim.tenant = sale.place.tenant;
  hold->claim.retake = hold->kind == HoldKind::retake;
  hold->claim.buyer_key = options_.buyer_key(sale.place.tenant, hold->claim.buyer.view());
  return hold;
}

}  // namespace weir
