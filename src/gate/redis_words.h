#pragma once

#include "domain/claim.h"
#include "domain/sale.h"
#include "gate/redis_reply.h"
#include "gate/shared_gate.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

// How the gate's values are spelled in Redis. Ids are their 16 bytes, digests 16 hexadecimal digits (mixed with the
// id; `0` where unknown), counts decimal; the same spelling stands in `redis/*.lua`.

/// The arguments of `reserve`.
void add_claim(RedisCommand& to, const Claim& claim);
/// The arguments of `adopt`.
void add_straggler(RedisCommand& to, const Claim& claim);
/// The arguments of `restore`.
void add_hold(RedisCommand& to, const SharedHold& hold);
void add_id(RedisCommand& to, OrderId id);

[[nodiscard]] std::string_view name(HoldKind kind);

/// Null when the answer is none of those that the script gives.
[[nodiscard]] std::optional<Verdict> verdict_of(const RedisReply& reply);
/// Counts of one item at an epoch. Null when it is unknown.
[[nodiscard]] std::optional<Shelf> shelf_of(const RedisReply& reply, std::int64_t epoch);

/// A hold as it stands in `held`. Sale, tenant and the buyer's key are left to the caller; `recorded` as well.
[[nodiscard]] std::optional<SharedHold> read_hold(std::string_view id, std::string_view record);

}  // namespace weir
