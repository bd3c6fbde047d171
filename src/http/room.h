#pragma once

#include "base/siphash.h"
#include "http/exchange.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace weir::http {

/// How many connections all reactors together may have: in total, and from one address.
///
/// An IPv6 address counts as its /64, because whoever has one address of it has them all.
/// Threads: any. Blocking: a short lock, only if there is a cap an address.
class Room {
 public:
  struct Caps {
    std::size_t connections_max;
    std::size_t per_address_max;  // 0: no cap.
  };
  /// `is_exempt` must always give the same answer for an address.
  Room(const Caps& caps, const SipKey& key, std::function<bool(const Address&)> is_exempt)
      : caps_(caps), is_exempt_(std::move(is_exempt)), by_address_(0, Hash{key}) {}

  /// Takes a place of the total; false if there is none.
  [[nodiscard]] bool enter();
  /// Takes a place of the address's share; false if it has none left.
  [[nodiscard]] bool enter_from(const Address& peer);
  void leave();
  void leave_from(const Address& peer);

  [[nodiscard]] std::size_t open_count() const { return open_count_.load(std::memory_order_relaxed); }

 private:
  struct Hash {
    SipKey key;
    std::size_t operator()(const Address& address) const;
  };
  [[nodiscard]] bool is_counted(const Address& peer) const;

  const Caps caps_;
  const std::function<bool(const Address&)> is_exempt_;
  std::atomic<std::size_t> open_count_{0};
  std::mutex mutex_;
  std::unordered_map<Address, std::size_t, Hash> by_address_;  // Guarded by mutex_; one entry an open address.
};

}  // namespace weir::http
