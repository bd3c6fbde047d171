#include "identity/verified_tokens.h"

#include <cstdint>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

constexpr Instant kNow{1'900'000'000'000'000};

Identity identity_of(std::string_view subject, Instant expires_at = kNow + Micros{1'000'000}) {
  Identity identity;
  identity.subject = *BuyerName::from(subject);
  identity.role = Role::support;
  identity.tenant = *TenantText::from("acme");
  identity.expires_at = expires_at;
  return identity;
}

TEST(TokenDigestTest, IsThePublishedFunction) {
  const SipKey key{0x0706050403020100U, 0x0f0e0d0c0b0a0908U};
  EXPECT_EQ((siphash_128<2, 4>(key, "")), (TokenDigest{0xe6a825ba047f81a3U, 0x930255c71472f66dU}));
  const std::string one(1, '\0');
  EXPECT_EQ((siphash_128<2, 4>(key, one)), (TokenDigest{0x44af996bd8c187daU, 0x45fc229b11597634U}));
}

TEST(TokenDigestTest, DependsOnEveryByteOfTextAndKey) {
  const SipKey key{1, 2};
  std::set<std::uint64_t> seen{token_digest(key, std::string(100, 'a')).low,
                               token_digest({1, 3}, std::string(100, 'a')).low,
                               token_digest({0, 2}, std::string(100, 'a')).low};
  for (std::size_t i = 0; i < 100; ++i) {
    std::string text(100, 'a');
    text[i] = 'b';
    const TokenDigest digest = token_digest(key, text);
    seen.insert({digest.low, digest.high});
    seen.insert(token_digest(key, std::string(i, 'a')).low);
  }
  EXPECT_EQ(seen.size(), 303U);
}

TEST(VerifiedTokensTest, RemembersTheWholeIdentity) {
  VerifiedTokens tokens{SipKey{1, 2}};
  EXPECT_EQ(tokens.find("token", kNow), nullptr);
  tokens.insert("token", identity_of("ana"));
  const Identity* const found = tokens.find("token", kNow);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(*found, identity_of("ana"));
}

TEST(VerifiedTokensTest, AnotherTextIsAnotherToken) {
  VerifiedTokens tokens{SipKey{1, 2}};
  const std::string token(250, 'x');
  tokens.insert(token, identity_of("ana"));
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string other = token;
    other[i] = 'y';
    EXPECT_EQ(tokens.find(other, kNow), nullptr);
  }
  EXPECT_EQ(tokens.find(token + 'x', kNow), nullptr);
  EXPECT_EQ(tokens.find(token.substr(1), kNow), nullptr);
  EXPECT_EQ(tokens.find("", kNow), nullptr);
}

TEST(VerifiedTokensTest, B107_TokenEndsWithItsExpiryAlsoInMemory) {
  VerifiedTokens tokens{SipKey{1, 2}};
  tokens.insert("token", identity_of("ana", kNow + Micros{5}));
  EXPECT_NE(tokens.find("token", kNow + Micros{4}), nullptr);
  EXPECT_EQ(tokens.find("token", kNow + Micros{5}), nullptr);
}

TEST(VerifiedTokensTest, B107_ClearedTokensAreForgotten) {
  VerifiedTokens tokens{SipKey{1, 2}};
  for (int i = 0; i < 1000; ++i) tokens.insert(fmt::format("token {}", i), identity_of("ana"));
  tokens.clear();
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(tokens.find(fmt::format("token {}", i), kNow), nullptr);
}

TEST(VerifiedTokensTest, SecondInsertReplacesTheFirst) {
  VerifiedTokens tokens{SipKey{1, 2}};
  tokens.insert("token", identity_of("ana"));
  tokens.insert("token", identity_of("ana", kNow + Micros{2'000'000}));
  ASSERT_NE(tokens.find("token", kNow + Micros{1'500'000}), nullptr);
}

TEST(VerifiedTokensTest, CrowdPushesOutOnlyTokensThatNobodyAsksFor) {
  VerifiedTokens tokens{SipKey{1, 2}};
  tokens.insert("polling", identity_of("ana"));
  int known = 0;
  constexpr int kCrowd = 100'000;
  for (int i = 0; i < kCrowd; ++i) {
    const std::string token = fmt::format("one of many {}", i);
    tokens.insert(token, identity_of("bo"));
    ASSERT_NE(tokens.find("polling", kNow), nullptr) << i;
  }
  for (int i = 0; i < kCrowd; ++i) known += tokens.find(fmt::format("one of many {}", i), kNow) != nullptr ? 1 : 0;
  EXPECT_GT(known, 20'000);
  EXPECT_LT(known, 30'000) << "memory is fixed";
}

}  // namespace
}  // namespace weir
