#include "base/time_text.h"

#include <array>

#include <gtest/gtest.h>

namespace weir {
namespace {

struct IsoCase {
  std::string_view text;
  std::int64_t us;
};

TEST(TimeText, WritesUtcWithMilliseconds) {
  EXPECT_EQ(iso_text({0}), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(iso_text({1'761'438'600'123'999}), "2025-10-26T00:30:00.123Z") << "rounded down";
  EXPECT_EQ(iso_text({1'709'164'800'000'000}), "2024-02-29T00:00:00.000Z");
  EXPECT_EQ(iso_text({253'402'300'799'999'999}), "9999-12-31T23:59:59.999Z");
}

TEST(TimeText, ReadsIsoWithAnOffset) {
  const std::array<IsoCase, 13> cases{{{"1970-01-01T00:00:00Z", 0},
                                       {"1970-01-01T00:00Z", 0},
                                       {"1970-01-01 00:00:00Z", 0},
                                       {"1970-01-01T00:00:00.000001Z", 1},
                                       {"1970-01-01T00:00:00.5Z", 500'000},
                                       {"1970-01-01T00:00:00.123456789Z", 123'456},
                                       {"1970-01-01T02:00:00+02:00", 0},
                                       {"1970-01-01T00:00:00-14:00", 50'400'000'000},
                                       {"1970-01-02T05:45:00+05:45", 86'400'000'000},
                                       {"2024-02-29T00:00:00Z", 1'709'164'800'000'000},
                                       {"2000-02-29T23:59:59Z", 951'868'799'000'000},
                                       {"2038-01-19T03:14:08Z", 2'147'483'648'000'000},
                                       {"9999-12-31T23:59:59.999999Z", 253'402'300'799'999'999}}};
  for (const IsoCase& wanted : cases) {
    const auto read = parse_iso(wanted.text);
    ASSERT_TRUE(read) << wanted.text;
    EXPECT_EQ(read->us, wanted.us) << wanted.text;
  }
}

TEST(TimeText, B089_AnOffsetIsKeptExactlyAndItsAbsenceIsRefused) {
  EXPECT_EQ(parse_iso("2025-10-26T02:30:00+02:00"), Instant{1'761'438'600'000'000});
  EXPECT_EQ(parse_iso("2025-10-26T02:30:00+01:00"), Instant{1'761'442'200'000'000});
  for (const std::string_view text : {"2025-10-26T02:30:00", "2025-10-26T02:30", "2025-10-26", "2025-10-26T02:30:00.5",
                                      "2025-10-26T02:30:00 Europe/Berlin", "2025-10-26T02:30:00[Europe/Berlin]"}) {
    const auto read = parse_iso(text);
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().find("offset"), std::string::npos) << "the message says what is missing";
  }
}

TEST(TimeText, WhatIsNoMomentIsRefused) {
  for (const std::string_view text : {"",
                                      "now",
                                      "2026-12-01",
                                      "12:00Z",
                                      "2026-13-01T00:00:00Z",
                                      "2026-00-01T00:00:00Z",
                                      "2026-02-29T00:00:00Z",
                                      "2100-02-29T00:00:00Z",
                                      "2026-04-31T00:00:00Z",
                                      "2026-01-00T00:00:00Z",
                                      "2026-01-01T24:00:00Z",
                                      "2026-01-01T00:60:00Z",
                                      "2026-01-01T00:00:60Z",
                                      "2026-01-01T00:00:00.Z",
                                      "2026-01-01T00:00:00z",
                                      "2026-01-01T00:00:00+2:00",
                                      "2026-01-01T00:00:00+0200",
                                      "2026-01-01T00:00:00+15:00",
                                      "2026-01-01T00:00:00+01:60",
                                      "2026-01-01T00:00:00ZZ",
                                      " 2026-01-01T00:00:00Z",
                                      "2026-01-01T00:00:00Z ",
                                      "2026-1-01T00:00:00Z",
                                      "+2026-01-01T00:00:00Z",
                                      "-001-01-01T00:00:00Z",
                                      "1969-12-31T23:59:59Z",
                                      "1970-01-01T00:00:00+00:01",
                                      "9999-12-31T23:59:59-00:01",
                                      "10000-01-01T00:00:00Z",
                                      "2026-01-01t00:00:00Z",
                                      "2026-01-01T-1:00:00Z"}) {
    EXPECT_FALSE(parse_iso(text)) << text;
  }
}

TEST(TimeText, ReadsBackWhatItWrites) {
  for (std::int64_t ms = 0; ms < 253'402'300'800'000; ms += 86'399'999'937 / 7) {
    const Instant at{ms * 1000};
    const auto read = parse_iso(iso_text(at));
    ASSERT_TRUE(read) << iso_text(at);
    ASSERT_EQ(*read, at);
  }
}

TEST(TimeText, ReadsDurations) {
  EXPECT_EQ(parse_duration("500ms"), Micros{500'000});
  EXPECT_EQ(parse_duration("2s"), Micros{2'000'000});
  EXPECT_EQ(parse_duration("10m"), Micros{600'000'000});
  EXPECT_EQ(parse_duration("2h"), Micros{7'200'000'000});
  EXPECT_EQ(parse_duration("1d"), Micros{86'400'000'000});
  EXPECT_EQ(parse_duration("3660d"), Micros{3660 * 86'400'000'000});
}

TEST(TimeText, F59_DurationsThatAreNoneOrTooLongAreRefused) {
  for (const std::string_view text : {"",
                                      "s",
                                      "10",
                                      "-1s",
                                      "+1s",
                                      "1.5s",
                                      "1e3s",
                                      " 1s",
                                      "1s ",
                                      "1 s",
                                      "1S",
                                      "1w",
                                      "1us",
                                      "0x1s",
                                      "3661d",
                                      "87841h",
                                      "9223372036854775807d",
                                      "9223372036854775808ms",
                                      "99999999999999999999s",
                                      "1h30m",
                                      "ten m"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}

TEST(TimeText, ReadsMoments) {
  const Instant now{1'000'000'000'000'000};
  EXPECT_EQ(parse_moment("now", now), now);
  EXPECT_EQ(parse_moment("+10m", now), now + Micros{600'000'000});
  EXPECT_EQ(parse_moment("1970-01-01T00:00:00Z", now), Instant{0});
  for (const std::string_view text :
       {"", "+", "10m", "-10m", "+-10m", "++10m", "Now", "tomorrow", "2026-12-01T12:00:00"}) {
    EXPECT_FALSE(parse_moment(text, now)) << text;
  }
}

TEST(TimeText, WritesTheShortestDurationThatReadsBack) {
  const std::array<std::pair<Micros, std::string_view>, 7> cases{{{Micros{600'000'000}, "10m"},
                                                                  {Micros{2'000'000}, "2s"},
                                                                  {Micros{1'500'000}, "1500ms"},
                                                                  {Micros{86'400'000'000}, "1d"},
                                                                  {Micros{90'000'000'000}, "25h"},
                                                                  {Micros{5'400'000'000}, "90m"},
                                                                  {Micros{1'000}, "1ms"}}};
  for (const auto& [span, text] : cases) {
    EXPECT_EQ(duration_text(span), text);
    EXPECT_EQ(parse_duration(text), span);
  }
}

}  // namespace
}  // namespace weir
