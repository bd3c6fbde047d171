#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace weir {

/// Lower-case hexadecimal.
[[nodiscard]] std::string hex_text(std::string_view bytes);
/// Reads hexadecimal of either case; null unless every character is a digit and their number is even.
[[nodiscard]] std::optional<std::string> parse_hex(std::string_view text);

/// Base64 with padding (RFC 4648, section 4).
[[nodiscard]] std::string base64_text(std::string_view bytes);
/// Base64url without padding (RFC 7515, appendix C).
[[nodiscard]] std::string base64url_text(std::string_view bytes);
/// Decodes strict base64url: no padding, no white space, no other alphabet, and unused trailing bits must be zero, so
/// that one value has one spelling. Writes at most `out.size()` bytes; null if it is malformed or does not fit.
[[nodiscard]] std::optional<std::size_t> decode_base64url(std::string_view text, std::span<char> out);

}  // namespace weir
