#include "base/siphash.h"

#include <array>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace weir {
namespace {

constexpr SipKey kPaperKey{0x0706050403020100U, 0x0f0e0d0c0b0a0908U};

TEST(SipHash, MatchesThePublishedVectors) {
  // Key 00 01 … 0f, message 00 01 … of each length; the last is the worked example of the paper's appendix A.
  const std::array<std::pair<std::size_t, std::uint64_t>, 10> vectors{{{0, 0x726fdb47dd0e0e31U},
                                                                       {1, 0x74f839c593dc67fdU},
                                                                       {2, 0x0d6c8009d9a94f5aU},
                                                                       {3, 0x85676696d7fb7e2dU},
                                                                       {4, 0xcf2794e0277187b7U},
                                                                       {5, 0x18765564cd99a68dU},
                                                                       {6, 0xcbc9466e58fee3ceU},
                                                                       {7, 0xab0200f58b01d137U},
                                                                       {8, 0x93f5f5799a932462U},
                                                                       {15, 0xa129ca6149be45e5U}}};
  for (const auto& [length, hash] : vectors) {
    std::string message;
    for (std::size_t i = 0; i < length; ++i) message += static_cast<char>(i);
    EXPECT_EQ(siphash(kPaperKey, message), hash) << "length " << length;
  }
}

TEST(SipHash, EveryByteAndBothHalvesOfTheKeyCount) {
  std::set<std::uint64_t> seen;
  const std::string text(33, 'a');
  seen.insert(siphash(kPaperKey, text));
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] = '\x80';
    seen.insert(siphash(kPaperKey, other));
  }
  seen.insert(siphash({kPaperKey.k0 + 1, kPaperKey.k1}, text));
  seen.insert(siphash({kPaperKey.k0, kPaperKey.k1 + 1}, text));
  EXPECT_EQ(seen.size(), text.size() + 3);
}

}  // namespace
}  // namespace weir
