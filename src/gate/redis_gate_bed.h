#pragma once

#include "base/system_clock.h"
#include "base/system_random.h"
#include "gate/redis_gate.h"

#include <charconv>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace weir {

inline constexpr Deadline kNoDeadline{INT64_MAX};

/// What tests of the Redis gate need over and over: a gate on given servers, and a sale built on it.
namespace redis_bed {

inline const SystemClock& clock() {
  static const SystemClock kClock;
  return kClock;
}
[[nodiscard]] inline Deadline in(Micros span) { return clock().ticks() + span; }

/// Buyers are called `buyer-7`, and their key is 7.
inline BuyerKey key_of(TenantNo /*tenant*/, std::string_view name) {
  BuyerKey key;
  const std::size_t dash = name.find('-');
  if (dash != std::string_view::npos) std::from_chars(name.data() + dash + 1, name.data() + name.size(), key.value);
  return key;
}

[[nodiscard]] inline RedisGateOptions options_for(std::vector<std::string> nodes) {
  RedisGateOptions options;
  options.servers.nodes = std::move(nodes);
  options.ledger = "ledger-of-the-tests";
  options.buyer_key = key_of;
  return options;
}

[[nodiscard]] inline Result<std::unique_ptr<RedisGate>> try_connect(RedisGateOptions options) {
  return RedisGate::connect(std::move(options), clock(), std::make_unique<SystemRandom>(), in(Micros{5'000'000}));
}
[[nodiscard]] inline std::unique_ptr<RedisGate> connect(const std::vector<std::string>& nodes) {
  auto made = try_connect(options_for(nodes));
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  return made ? std::move(*made) : nullptr;
}

/// Attaches a sale at an epoch, on whoever serves it now, and builds and opens it.
inline GateAnswer<void> build(SharedGate& gate, GatePlace place, const GateTerms& terms,
                              std::span<const GateItem> items, std::span<const SharedHold> holds = {},
                              std::span<const OrderId> ended = {}) {
  if (auto done = gate.attach(place); !done) return done;
  if (auto done = gate.close(place.sale, kNoDeadline); !done) return done;
  auto seen = gate.look(place.sale, kNoDeadline);
  if (!seen) return std::unexpected(seen.error());
  place.pin = seen->pin;
  if (auto done = gate.attach(place); !done) return done;
  if (auto done = gate.start_build(place.sale, terms, items, kNoDeadline); !done) return done;
  if (auto done = gate.build_holds(place.sale, holds, kNoDeadline); !done) return done;
  if (auto done = gate.build_ended(place.sale, ended, kNoDeadline); !done) return done;
  return gate.open_epoch(place.sale, kNoDeadline);
}

[[nodiscard]] inline Claim claim(std::uint64_t order, std::uint64_t buyer, std::int32_t units = 1, ItemNo item = {1}) {
  Claim made;
  made.order = {order << 32, order};
  made.tenant = {1};
  made.sale = {1};
  made.item = item;
  made.units = units;
  made.buyer_key = {buyer};
  made.buyer = *BuyerName::from(fmt::format("buyer-{}", buyer));
  made.digest = {order * 0x9e3779b97f4a7c15U};
  made.promised_pay_by = {1'700'000'000'000'000 + static_cast<std::int64_t>(order)};
  return made;
}
[[nodiscard]] inline Hold hold(const Claim& of) {
  return {.order = of.order,
          .sale = of.sale,
          .item = of.item,
          .units = of.units,
          .buyer_key = of.buyer_key,
          .sold = false,
          .recorded = true,
          .buyer = of.buyer};
}

/// The admission, or the trouble, by name.
[[nodiscard]] inline std::string reserve(SharedGate& gate, const Claim& one, Deadline deadline = kNoDeadline) {
  Verdict verdict;
  const auto done = gate.reserve({&one, 1}, {&verdict, 1}, deadline);
  return std::string(done ? name(verdict.admission) : name(gate.trouble(one.sale)));
}

}  // namespace redis_bed
}  // namespace weir
