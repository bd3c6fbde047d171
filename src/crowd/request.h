#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::crowd {

/// Writes purchase requests: everything that all buyers share is made once, the rest is copied in.
///
/// Threads: never changes once made.
class RequestText {
 public:
  struct Options {
    std::string_view authority;
    std::string_view path;     // Of the purchase.
    std::string_view body;     // JSON; empty: none.
    std::string_view key_tag;  // Not empty: presses of one buyer share the Idempotency-Key `TAG-BUYER`.
  };
  explicit RequestText(const Options& options);

  /// Appends the request of a buyer. His address, 10.a.b.c, is made of his number, so that limits per address see as
  /// many addresses as there are buyers.
  void append(std::uint32_t buyer, std::string_view token, std::string& out) const;

 private:
  std::string before_token_;
  std::string before_key_;  // Empty: no key.
  std::string after_;
};

}  // namespace weir::crowd
