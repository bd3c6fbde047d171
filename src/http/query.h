#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

namespace weir::http {

/// The value of the first `wanted=…` in a query, as sent; null when it is absent.
[[nodiscard]] inline std::optional<std::string_view> query_value(std::string_view query, std::string_view wanted) {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    const std::size_t equals = pair.find('=');
    if (equals != std::string_view::npos && pair.substr(0, equals) == wanted) return pair.substr(equals + 1);
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return std::nullopt;
}

}  // namespace weir::http
