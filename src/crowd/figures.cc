#include "crowd/figures.h"

#include <fmt/format.h>

namespace weir::crowd {

std::string with_commas(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::string span_text(std::uint64_t us) {
  const auto value = static_cast<double>(us);
  if (us < 1'000) return fmt::format("{} µs", us);
  if (us < 10'000) return fmt::format("{:.2f} ms", value / 1e3);
  if (us < 100'000) return fmt::format("{:.1f} ms", value / 1e3);
  if (us < 1'000'000) return fmt::format("{:.0f} ms", value / 1e3);
  return fmt::format("{:.2f} s", value / 1e6);
}

std::string share_text(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "0 %";
  const double share = 100 * static_cast<double>(part) / static_cast<double>(whole);
  if (part > 0 && share < 0.01) return "under 0.01 %";
  return share < 1 ? fmt::format("{:.2f} %", share) : fmt::format("{:.1f} %", share);
}

std::string bytes_text(std::uint64_t bytes) { return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / 1048576); }

std::string html_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace weir::crowd
