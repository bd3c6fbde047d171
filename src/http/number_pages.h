#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace weir::http {

/// The bits of a page of numbers (1: free) as bytes: the lowest number first, in the most significant bit. `words` has
/// the lowest number in the lowest bit; the bytes behind the last of `count` numbers are left out.
[[nodiscard]] std::string octets_of_page(std::span<const std::uint64_t> words, std::uint32_t count);

/// The same page as gaps, for items of which few numbers are free, or few are taken: within a few per cent of the
/// entropy of bits that are set at random.
///
/// Byte 0: 128 when the free numbers are listed, 0 when the taken ones are; plus k, 0 to 15. Bytes 1 to 3: how many are
/// listed, most significant byte first. Then a stream of bits, most significant first. For each listed number g, the
/// count of numbers that are not listed between it and the listed one before (or the start): g / 2^k as that many 1
/// bits and a 0 bit, then the k low bits of g.
/// Source: R. F. Rice, "Some practical universal noiseless coding techniques", JPL 1979.
[[nodiscard]] std::string gaps_of_page(std::span<const std::uint64_t> words, std::uint32_t count);

[[nodiscard]] std::uint32_t free_of_page(std::span<const std::uint64_t> words);

}  // namespace weir::http
