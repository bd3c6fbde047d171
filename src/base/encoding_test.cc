#include "base/encoding.h"

#include <array>
#include <string>

#include <gtest/gtest.h>

namespace weir {
namespace {

struct Pair {
  std::string_view bytes;
  std::string_view text;
};

std::optional<std::string> decoded(std::string_view text) {
  std::array<char, 64> room{};
  const auto size = decode_base64url(text, room);
  return size ? std::optional{std::string(room.data(), *size)} : std::nullopt;
}

std::string all_bytes() {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  return bytes;
}

TEST(Encoding, HexReadsBackWhatItWrites) {
  const std::string bytes = all_bytes();
  EXPECT_EQ(parse_hex(hex_text(bytes)), bytes);
  EXPECT_EQ(hex_text(std::string_view("\x00\x0f\xa0\xff", 4)), "000fa0ff");
}

TEST(Encoding, HexIsReadInEitherCaseAndRefusesTheRest) {
  EXPECT_EQ(parse_hex("aBcD"), std::string("\xab\xcd"));
  EXPECT_EQ(parse_hex(""), std::string());
  for (const std::string_view wrong : {"a", "abc", "0g", " 00", "0x00", "-1", "//", "::", "@@", "``"}) {
    EXPECT_FALSE(parse_hex(wrong)) << wrong;
  }
}

TEST(Encoding, Base64urlMatchesThePublishedVectors) {
  // RFC 4648, section 10, without padding, and the example of RFC 7515, appendix C.
  const std::array<Pair, 8> vectors{{{"", ""},
                                     {"f", "Zg"},
                                     {"fo", "Zm8"},
                                     {"foo", "Zm9v"},
                                     {"foob", "Zm9vYg"},
                                     {"fooba", "Zm9vYmE"},
                                     {"foobar", "Zm9vYmFy"},
                                     {"\x03\xec\xff\xe0\xc1", "A-z_4ME"}}};
  for (const Pair& vector : vectors) {
    EXPECT_EQ(base64url_text(vector.bytes), vector.text);
    EXPECT_EQ(decoded(vector.text), std::string(vector.bytes));
  }
}

TEST(Encoding, Base64urlReadsBackEveryByte) {
  const std::string bytes = all_bytes();
  const std::string text = base64url_text(bytes);
  std::array<char, 256> room{};
  ASSERT_EQ(decode_base64url(text, room), bytes.size());
  EXPECT_EQ(std::string(room.data(), room.size()), bytes);
}

TEST(Encoding, Base64urlHasOneSpellingForOneValue) {
  EXPECT_EQ(decoded("Zg"), "f");
  for (const std::string_view other :
       {"Zh", "Zv", "Zm9", "Zg==", "Zg=", " Zg", "Zg\n", "Z", "Zm9vY", "Z+/_", "Zm9v*"}) {
    EXPECT_FALSE(decoded(other)) << other;
  }
}

TEST(Encoding, Base64urlNeverWritesPastItsRoom) {
  std::array<char, 3> room{'a', 'b', 'c'};
  EXPECT_FALSE(decode_base64url("Zm9v", std::span<char>(room).first(2)));
  EXPECT_EQ(room[2], 'c');
  EXPECT_EQ(decode_base64url("Zm9v", room), 3U);
}

}  // namespace
}  // namespace weir
