#include "base/time_text.h"

#include <array>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace weir {
namespace {

constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kDay = 86'400 * kSecond;
constexpr Micros kDurationMax{3660 * kDay};
constexpr std::int64_t kYear10000 = 253'402'300'800 * kSecond;

struct Civil {
  int year;
  unsigned month;
  unsigned day;
};

Civil civil_from_days(std::int64_t days) {
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{days}}};
  return {static_cast<int>(date.year()), static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day())};
}

void put_digits(char* out, int width, std::int64_t value) {
  for (int i = width - 1; i >= 0; --i) {
    out[i] = static_cast<char>('0' + value % 10);
    value /= 10;
  }
}

/// Takes exactly `width` digits from the front of `text`.
std::optional<int> take_digits(std::string_view& text, std::size_t width) {
  if (text.size() < width) return std::nullopt;
  int value = 0;
  for (std::size_t i = 0; i < width; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(width);
  return value;
}

bool take(std::string_view& text, char wanted) {
  if (text.empty() || text.front() != wanted) return false;
  text.remove_prefix(1);
  return true;
}

/// Reads `.123456`; digits past the microsecond are dropped.
std::optional<std::int64_t> take_fraction(std::string_view& text) {
  if (!take(text, '.')) return 0;
  std::int64_t us = 0;
  std::int64_t unit = 100'000;
  std::size_t digits = 0;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9' && digits < 12) {
    us += (text.front() - '0') * unit;
    unit /= 10;
    ++digits;
    text.remove_prefix(1);
  }
  if (digits == 0) return std::nullopt;
  return us;
}

/// Reads `Z` or `+hh:mm`. The value is what to subtract to get UTC.
std::optional<std::int64_t> take_offset(std::string_view& text) {
  if (take(text, 'Z')) return 0;
  if (text.empty() || (text.front() != '+' && text.front() != '-')) return std::nullopt;
  const std::int64_t sign = text.front() == '-' ? -1 : 1;
  text.remove_prefix(1);
  const auto hours = take_digits(text, 2);
  if (!hours || !take(text, ':')) return std::nullopt;
  const auto minutes = take_digits(text, 2);
  if (!minutes || *hours > 14 || *minutes > 59) return std::nullopt;
  return sign * (*hours * 60 + *minutes) * 60 * kSecond;
}

std::string not_a_time(std::string_view text) {
  return fmt::format("'{}' is not a time: use ISO 8601 with an offset, such as 2026-12-01T12:00:00Z or …+01:00", text);
}

}  // namespace

void write_iso_text(Instant at, char* out) {
  std::int64_t days = at.us / kDay;
  std::int64_t rest = at.us % kDay;
  if (rest < 0) {
    rest += kDay;
    --days;
  }
  const Civil date = civil_from_days(days);
  put_digits(out, 4, date.year);
  out[4] = '-';
  put_digits(out + 5, 2, date.month);
  out[7] = '-';
  put_digits(out + 8, 2, date.day);
  out[10] = 'T';
  put_digits(out + 11, 2, rest / (3600 * kSecond));
  out[13] = ':';
  put_digits(out + 14, 2, rest / (60 * kSecond) % 60);
  out[16] = ':';
  put_digits(out + 17, 2, rest / kSecond % 60);
  out[19] = '.';
  put_digits(out + 20, 3, rest / 1000 % 1000);
  out[23] = 'Z';
}

std::string iso_text(Instant at) {
  std::string text(24, '\0');
  write_iso_text(at, text.data());
  return text;
}

Parsed<Instant> parse_iso(std::string_view text) {
  const std::string_view whole = text;
  const auto wrong = [&] { return std::unexpected(not_a_time(whole)); };
  const auto year = take_digits(text, 4);
  if (!year || !take(text, '-')) return wrong();
  const auto month = take_digits(text, 2);
  if (!month || !take(text, '-')) return wrong();
  const auto day = take_digits(text, 2);
  if (!day || !(take(text, 'T') || take(text, ' '))) return wrong();
  const auto hour = take_digits(text, 2);
  if (!hour || !take(text, ':')) return wrong();
  const auto minute = take_digits(text, 2);
  if (!minute) return wrong();
  int second = 0;
  std::int64_t fraction_us = 0;
  if (take(text, ':')) {
    const auto read = take_digits(text, 2);
    const auto fraction = read ? take_fraction(text) : std::nullopt;
    if (!fraction) return wrong();
    second = *read;
    fraction_us = *fraction;
  }
  const auto offset_us = take_offset(text);
  if (!offset_us || !text.empty()) return wrong();
  const std::chrono::year_month_day date{std::chrono::year{*year}, std::chrono::month{static_cast<unsigned>(*month)},
                                         std::chrono::day{static_cast<unsigned>(*day)}};
  if (!date.ok() || *year < 1970 || *hour > 23 || *minute > 59 || second > 59) return wrong();
  const std::int64_t days = std::chrono::sys_days{date}.time_since_epoch().count();
  const std::int64_t us = days * kDay + ((*hour * 60LL + *minute) * 60 + second) * kSecond + fraction_us - *offset_us;
  if (us < 0 || us >= kYear10000) return wrong();  // The offset may carry it out of the range.
  return Instant{us};
}

Parsed<Micros> parse_duration(std::string_view text) {
  const std::string_view whole = text;
  const auto wrong = [&] {
    return std::unexpected(
        fmt::format("'{}' is not a duration: use a whole number and ms, s, m, h or d, such as 10m", whole));
  };
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || text.empty() || text.front() == '-') return wrong();
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  std::int64_t scale = 0;
  if (unit == "ms") scale = 1000;
  if (unit == "s") scale = kSecond;
  if (unit == "m") scale = 60 * kSecond;
  if (unit == "h") scale = 3600 * kSecond;
  if (unit == "d") scale = kDay;
  if (scale == 0) return wrong();
  if (count > kDurationMax.count() / scale) {
    return std::unexpected(fmt::format("'{}' is longer than the longest duration, 3660d", whole));
  }
  return Micros{count * scale};
}

Parsed<Instant> parse_moment(std::string_view text, Instant now) {
  if (text == "now") return now;
  if (!text.starts_with('+')) return parse_iso(text);
  const auto span = parse_duration(text.substr(1));
  if (!span) return std::unexpected(span.error());
  return now + *span;
}

std::string duration_text(Micros span) {
  struct Unit {
    std::int64_t us;
    const char* name;
  };
  static constexpr std::array<Unit, 4> kUnits{
      {{kDay, "d"}, {3600 * kSecond, "h"}, {60 * kSecond, "m"}, {kSecond, "s"}}};
  for (const Unit& unit : kUnits) {
    if (span.count() != 0 && span.count() % unit.us == 0) return fmt::format("{}{}", span.count() / unit.us, unit.name);
  }
  return fmt::format("{}ms", span.count() / 1000);
}

}  // namespace weir
