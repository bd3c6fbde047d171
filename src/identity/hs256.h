#pragma once

#include "identity/openssl_handle.h"

#include <array>
#include <string_view>

namespace weir {

/// HMAC-SHA256 under one key, with the keyed context made once: a signature costs two to four blocks of SHA-256.
///
/// Threads: one owner thread. Blocking: never. Failures: none; a process whose OpenSSL has no SHA-256 stops.
class Hs256 {
 public:
  static constexpr std::size_t kBytes = 32;

  explicit Hs256(std::string_view secret);
  [[nodiscard]] std::array<char, kBytes> sign(std::string_view text);

 private:
  MacContext context_;
};

}  // namespace weir
