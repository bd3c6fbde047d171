#include "http/number_pages.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

namespace weir::http {
namespace {

constexpr std::uint32_t kWordBits = 64;
constexpr std::uint32_t kByteBits = 8;
constexpr int kShiftMax = 15;

std::uint8_t reversed(std::uint8_t byte) {
  std::uint8_t out = 0;
  for (std::uint32_t bit = 0; bit < kByteBits; ++bit) out = static_cast<std::uint8_t>(out << 1 | (byte >> bit & 1));
  return out;
}

class BitWriter {
 public:
  explicit BitWriter(std::string& out) : out_(out) {}
  void put(std::uint32_t value, int bits) {
    for (int bit = bits - 1; bit >= 0; --bit) put_bit((value >> bit & 1) != 0);
  }
  void put_bit(bool bit) {
    if (used_ == 0) out_.push_back('\0');
    if (bit) out_.back() = static_cast<char>(static_cast<unsigned char>(out_.back()) | 0x80U >> used_);
    used_ = (used_ + 1) % kByteBits;
  }

 private:
  std::string& out_;
  std::uint32_t used_ = 0;  // Bits of the last byte.
};

/// The k for which the code is shortest when each number is listed with the same chance.
int shift_for(std::uint32_t listed, std::uint32_t count) {
  if (listed == 0) return 0;
  const double mean_gap = static_cast<double>(count - listed) / listed;
  const double wanted = std::log2(std::max(1.0, mean_gap * std::numbers::ln2));
  return std::min(kShiftMax, static_cast<int>(wanted));
}

}  // namespace

std::uint32_t free_of_page(std::span<const std::uint64_t> words) {
  std::uint32_t free = 0;
  for (const std::uint64_t word : words) free += static_cast<std::uint32_t>(std::popcount(word));
  return free;
}

std::string octets_of_page(std::span<const std::uint64_t> words, std::uint32_t count) {
  std::string out((count + kByteBits - 1) / kByteBits, '\0');
  for (std::uint32_t at = 0; at < out.size(); ++at) {
    const std::uint64_t word = words[at * kByteBits / kWordBits];
    out[at] = static_cast<char>(reversed(static_cast<std::uint8_t>(word >> (at * kByteBits % kWordBits))));
  }
  return out;
}

std::string gaps_of_page(std::span<const std::uint64_t> words, std::uint32_t count) {
  const std::uint32_t free = free_of_page(words);
  const bool lists_free = free * 2 <= count;
  const std::uint32_t listed = lists_free ? free : count - free;
  const int shift = shift_for(listed, count);
  std::string out;
  out.push_back(static_cast<char>((lists_free ? 0x80 : 0) | shift));
  for (int at = 16; at >= 0; at -= 8) out.push_back(static_cast<char>(listed >> at & 0xff));
  BitWriter bits{out};
  std::uint32_t from = 0;  // Behind the last one that was listed.
  for (std::uint32_t at = 0; at < words.size(); ++at) {
    std::uint64_t word = lists_free ? words[at] : ~words[at];
    for (; word != 0; word &= word - 1) {
      const std::uint32_t place = at * kWordBits + static_cast<std::uint32_t>(std::countr_zero(word));
      if (place >= count) break;
      const std::uint32_t gap = place - from;
      for (std::uint32_t i = 0; i < gap >> shift; ++i) bits.put_bit(true);
      bits.put_bit(false);
      bits.put(gap, shift);
      from = place + 1;
    }
  }
  return out;
}

}  // namespace weir::http
