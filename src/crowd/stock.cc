#include "crowd/stock.h"

#include "crowd/answer.h"

#include <charconv>

namespace weir::crowd {
namespace {

template <typename T>
bool read_member(std::string_view body, std::string_view quoted_member, T& out) {
  const std::string_view text = member_text(body, quoted_member);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return !text.empty() && error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::optional<StockSample> read_stock(std::string_view body) {
  StockSample sample;
  const bool is_whole = read_member(body, "\"total\"", sample.total) && read_member(body, "\"free\"", sample.free) &&
                        read_member(body, "\"held\"", sample.held) && read_member(body, "\"sold\"", sample.sold) &&
                        read_member(body, "\"version\"", sample.version);
  if (!is_whole) return std::nullopt;
  return sample;
}

}  // namespace weir::crowd
