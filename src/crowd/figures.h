#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::crowd {

/// Figures as people read them.
[[nodiscard]] std::string with_commas(std::uint64_t number);                    // 1,234,567
[[nodiscard]] std::string span_text(std::uint64_t us);                          // 830 µs, 12.4 ms, 3.20 s
[[nodiscard]] std::string share_text(std::uint64_t part, std::uint64_t whole);  // 98.4 %
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);                      // 41.3 MiB
/// Safe inside HTML text and quoted attributes.
[[nodiscard]] std::string html_text(std::string_view text);

}  // namespace weir::crowd
