#pragma once

#include "base/result.h"
#include "crowd/outcome.h"
#include "domain/ids.h"

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace weir::crowd {

/// What became of one request. Moments are microseconds from the opening of the run. `sent_us` was read before the
/// request left and `answered_us` after its answer came, so the truth lies between them.
struct Record {
  std::uint32_t buyer = 0;
  std::uint32_t planned_us = 0;
  std::uint32_t sent_us = 0;
  std::uint32_t answered_us = 0;  // Without an answer: when the buyer gave up.
  OrderId order;                  // None if the answer named none.
  std::uint16_t status = 0;       // Of HTTP; 0 without an answer.
  Outcome outcome = Outcome::not_sent;
  std::uint8_t click = 0;
  std::uint8_t retry = 0;
  bool may_return = false;
  std::uint16_t spare = 0;
};
static_assert(sizeof(Record) == 40 && std::is_trivially_copyable_v<Record>);

/// Every request of one run, in the order of the answers.
struct History {
  std::uint32_t units_per_claim = 1;
  bool is_keyed = false;  // Requests carried an Idempotency-Key, the same one for all presses of a buyer.
  std::vector<Record> records;
};

/// A file: 32 bytes of head (`weirhist`, version, record size, count, units per claim, flags), then the records as they
/// are in memory on a little-endian machine. Fails with `unfit`: the file cannot be written.
[[nodiscard]] Result<void> write_history(const std::string& path, const History& history);

/// Fails with `unfit`: no such file; with `corrupt`: not a history, cut short, or an outcome without a name.
[[nodiscard]] Result<History> read_history(const std::string& path);

}  // namespace weir::crowd
