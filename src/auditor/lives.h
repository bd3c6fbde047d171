#pragma once

#include "auditor/auditor.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

namespace weir::auditor {

/// What the history tells about one order: when it may have begun and ended, and when it certainly had.
struct Life {
  OrderName order;
  std::uint64_t buyer = 0;
  std::uint64_t key = 0;
  std::int32_t units = 0;
  std::vector<std::uint32_t> numbers;
  std::size_t event = 0;               // The first 202 that named it.
  std::int64_t may_begin_us = kNever;  // Its earliest claim was sent.
  std::int64_t has_begun_us = kNever;  // Its first 202 arrived: from here on it certainly holds its units,
  std::int64_t may_end_us = kNever;    // until here,
  std::int64_t has_ended_us = kNever;  // and here it certainly has ended.
  std::int64_t may_be_paid_us = kNever;
  std::int64_t is_paid_us = kNever;
  std::int64_t seen_ended_us = kNever;  // A look at its state showed that it had ended, or had been paid.
  std::int64_t seen_paid_us = kNever;
};

/// A claim whose fate nobody was told. It may hold its units from the moment it was sent, for ever.
struct Doubt {
  std::uint64_t buyer = 0;
  std::uint64_t key = 0;
  OrderName order;  // None if it was not named.
  std::int32_t units = 0;
  std::int64_t sent_us = 0;
};

/// The orders of a history, and the doubts about others.
class Lives {
 public:
  Lives(std::span<const Event> history, const Terms& terms);

  [[nodiscard]] const std::vector<Life>& all() const { return lives_; }
  [[nodiscard]] const std::vector<Doubt>& doubts() const { return doubts_; }
  /// Null if no 202 named the order.
  [[nodiscard]] const Life* find(const OrderName& order) const;
  [[nodiscard]] std::span<const std::size_t> of_buyer(std::uint64_t buyer) const;   // Indices into all().
  [[nodiscard]] std::span<const std::size_t> doubts_of(std::uint64_t buyer) const;  // Indices into doubts().

 private:
  void read_claim(const Event& event, std::size_t index);
  void read_ending(const Event& event);

  std::vector<Life> lives_;
  std::vector<Doubt> doubts_;
  std::map<OrderName, std::size_t> by_order_;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> by_buyer_;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> doubts_by_buyer_;
};

/// `at` later by `span`, never past the end of time.
[[nodiscard]] constexpr std::int64_t later(std::int64_t at_us, std::int64_t span_us) {
  return at_us >= kNever - span_us ? kNever : at_us + span_us;
}

}  // namespace weir::auditor
