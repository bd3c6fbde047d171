#pragma once

#include "base/random.h"

#include <array>

namespace weir {

/// The machine's random source (`getrandom`), read in blocks so that an id costs no system call.
///
/// Threads: one owner thread. Failures: none; a kernel without a random source stops the process.
class SystemRandom final : public Random {
 public:
  void fill(std::span<std::byte> out) override;

 private:
  std::array<std::byte, 1024> block_{};
  std::size_t left_ = 0;
};

}  // namespace weir
