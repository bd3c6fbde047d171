#include "base/system_random.h"

#include "base/check.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/random.h>

namespace weir {

void SystemRandom::fill(std::span<std::byte> out) {
  while (!out.empty()) {
    if (left_ == 0) {
      // 256 bytes and fewer are never cut short by a signal; four reads fill the block.
      for (std::size_t at = 0; at < block_.size(); at += 256) {
        const ssize_t got = ::getrandom(block_.data() + at, 256, 0);
        CHECK(got == 256, "getrandom returned {}, errno {}", got, errno);
      }
      left_ = block_.size();
    }
    const std::size_t count = std::min(out.size(), left_);
    std::byte* const source = block_.data() + (block_.size() - left_);
    std::memcpy(out.data(), source, count);
    std::memset(source, 0, count);  // What was handed out is not kept: it may have become a secret.
    left_ -= count;
    out = out.subspan(count);
  }
}

}  // namespace weir
