#pragma once

#include "base/result.h"
#include "base/time.h"
#include "domain/claim.h"
#include "domain/recording.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace weir {

/// The producing end: what was admitted goes in, what became of it comes out.
///
/// Order per item is kept. Nothing that was appended is dropped.
/// Threads: one owner thread (the desk).
/// Blocking: never.
class QueueProducer {
 public:
  virtual ~QueueProducer() = default;

  /// How many claims are sure to be taken now. Felt before the gate is asked.
  [[nodiscard]] virtual std::size_t room() = 0;

  /// Requires: `claims.size() <= room()`.
  virtual void append(std::span<const Claim> claims) = 0;

  /// Takes outcomes that have arrived; returns how many. Each appended claim has exactly one.
  [[nodiscard]] virtual std::size_t outcomes(std::span<Outcome> out) = 0;
};

/// The consuming end: a batch out, then its decisions in. At least once: a batch that was not finished comes again.
///
/// Threads: one owner thread (the recorder).
class QueueConsumer {
 public:
  virtual ~QueueConsumer() = default;

  /// The next claims, oldest first, at most `out.size()`. The same ones again until `finish`. Never waits.
  [[nodiscard]] virtual std::size_t peek(std::span<Claim> out) = 0;

  /// The first `outcomes.size()` claims of the last peek are done with.
  virtual void finish(std::span<const Outcome> outcomes) = 0;
};

}  // namespace weir
