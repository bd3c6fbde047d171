#include "app/progress.h"

#include "crowd/figures.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include <unistd.h>

#include <fmt/format.h>

namespace weir {
namespace {

constexpr std::size_t kBarCells = 28;
constexpr std::int64_t kLineEveryUs = 1'000'000;

std::string bar(std::uint64_t done, std::uint64_t all) {
  const std::size_t full =
      all == 0 ? 0 : static_cast<std::size_t>(std::min<std::uint64_t>(done, all) * kBarCells / all);
  std::string cells;
  for (std::size_t i = 0; i < kBarCells; ++i) cells += i < full ? "█" : "░";
  return cells;
}

std::string figures(const crowd::Progress& at) {
  const std::string stock =
      at.stock ? fmt::format(", {} free", crowd::with_commas(static_cast<std::uint64_t>(std::max(at.stock->free, 0))))
               : std::string{};
  return fmt::format("{} of {} presses answered, {} orders{}", crowd::with_commas(at.answered),
                     crowd::with_commas(at.planned),
                     crowd::with_commas(at.outcomes[crowd::index_of(crowd::Outcome::accepted)]), stock);
}

}  // namespace

Progress::Progress() : is_terminal_(::isatty(STDERR_FILENO) == 1) {}

void Progress::show(const crowd::Progress& at) {
  const std::string text =
      at.elapsed_us < 0 ? fmt::format("opens in {:.1f} s", static_cast<double>(-at.elapsed_us) / 1e6) : figures(at);
  if (is_terminal_) {
    std::fprintf(stderr, "\r\033[2K%s %s", bar(at.answered, at.planned).c_str(), text.c_str());
    std::fflush(stderr);
    is_drawn_ = true;
    return;
  }
  if (at.elapsed_us < next_line_us_) return;
  next_line_us_ = at.elapsed_us + kLineEveryUs;
  std::fprintf(stderr, "%6.1f s  %s\n", static_cast<double>(at.elapsed_us) / 1e6, text.c_str());
}

void Progress::end() {
  if (is_drawn_) std::fputc('\n', stderr);
  is_drawn_ = false;
}

}  // namespace weir
