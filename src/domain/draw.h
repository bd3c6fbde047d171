#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

/// How the winners of a raffle follow from a secret that was promised before the first number was sold. Anyone can
/// compute them again: `docs/numbered.md` has the script.
///
/// The seed is 64 hexadecimal digits; its commitment, the SHA-256 of the 32 bytes that they spell, is public from the
/// start. The entrants are the paid numbers, ascending. `mix` is any text that nobody could know when the commitment
/// was made (a public lottery's numbers, a block's hash); empty: none.

/// The SHA-256 of a seed, as it is published. Empty for what is no seed.
[[nodiscard]] std::string draw_commitment(std::string_view seed_hex);

/// The SHA-256 of the entrants in decimal, with a comma between two, in hexadecimal.
[[nodiscard]] std::string entrants_hash(std::span<const std::uint32_t> entrants);

/// The key of the draw is the SHA-256 of `seed:mix:entrants hash`; a number's lot is the SHA-256 of `key:number`, both
/// in hexadecimal. The `count` smallest lots win, the smallest first; all entrants when there are fewer. Cost: two
/// hashes an entrant; a million take about a second.
[[nodiscard]] std::vector<std::uint32_t> draw_winners(std::string_view seed_hex, std::string_view mix,
                                                      std::span<const std::uint32_t> entrants, std::size_t count);

}  // namespace weir
