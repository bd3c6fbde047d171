#include "identity/token_verifier.h"

#include "identity/jwks.h"
#include "identity/test_signer.h"
#include "identity/token_issuer.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using enum TokenRefusal;

constexpr Instant kNow{1'900'000'000'000'000};
const std::string kSecret = "0123456789abcdef0123456789abcdef";
constexpr std::string_view kHeader = R"({"alg":"HS256","typ":"JWT"})";
constexpr std::string_view kPayload = R"({"sub":"ana","exp":1900000100})";

std::shared_ptr<const KeySet> keys_of(const std::string& secret, const std::string& jwks = "") {
  std::vector<VerificationKey> others;
  if (!jwks.empty()) {
    Parsed<std::vector<VerificationKey>> read = parse_jwks(fmt::format(R"({{"keys":[{}]}})", jwks));
    EXPECT_TRUE(read) << read.error();
    others = *std::move(read);
  }
  Result<std::shared_ptr<const KeySet>> made = KeySet::from(secret, std::move(others));
  EXPECT_TRUE(made) << made.error().message;
  return *made;
}

class TokenVerifierTest : public testing::Test {
 protected:
  /// The name of the refusal, or `subject` if the token is believed.
  static std::string outcome(TokenVerifier& verifier, std::string_view token, Instant now = kNow) {
    const auto verified = verifier.verify(token, now);
    return verified ? std::string{verified->subject.view()} : std::string{name(verified.error())};
  }
  std::string outcome(std::string_view token) { return outcome(verifier_, token); }
  std::string of(std::string_view header, std::string_view payload) {
    return outcome(test::hs256_token(kSecret, header, payload));
  }
  std::string of_header(std::string_view header) { return of(header, kPayload); }
  std::string of_payload(std::string_view payload) { return of(kHeader, payload); }
  /// Members beside a good `sub` and `exp`.
  std::string of_members(std::string_view members) {
    return of_payload(fmt::format(R"({{"sub":"ana","exp":1900000100,{}}})", members));
  }
  static std::string text(TokenRefusal refusal) { return std::string{name(refusal)}; }

  TokenVerifier verifier_{keys_of(kSecret), {}};
};

TEST_F(TokenVerifierTest, GoodTokenSaysWhoItIs) {
  const auto identity = verifier_.verify(
      test::hs256_token(
          kSecret, kHeader,
          R"({"sub":"ana \u00e9\ud83c\udf9f","exp":1900000100,"iat":1899999000,"role":"support","tenant":"acme-1"})"),
      kNow);
  ASSERT_TRUE(identity);
  EXPECT_EQ(identity->subject.view(), "ana \xc3\xa9\xf0\x9f\x8e\x9f");
  EXPECT_EQ(identity->role, Role::support);
  EXPECT_EQ(identity->tenant.view(), "acme-1");
  EXPECT_EQ(identity->expires_at, Instant{1'900'000'100'000'000});
  EXPECT_EQ(identity->issued_at, Instant{1'899'999'000'000'000});
}

TEST_F(TokenVerifierTest, RoleAndTenantMayBeAbsent) {
  const auto identity = verifier_.verify(test::hs256_token(kSecret, kHeader, kPayload), kNow);
  ASSERT_TRUE(identity);
  EXPECT_EQ(identity->role, Role::buyer);
  EXPECT_TRUE(identity->tenant.is_none());
  EXPECT_EQ(identity->issued_at, Instant{});
}

TEST_F(TokenVerifierTest, B105_UnsignedTokensAreRefused) {
  for (const std::string_view header :
       {R"({"alg":"none"})", R"({"alg":"None"})", R"({"alg":"NONE"})", R"({"alg":"nOnE"})", R"({"alg":""})",
        R"({"alg":null})", R"({"alg":0})", R"({"alg":["HS256"]})", R"({"alg":{"a":1}})", R"({"alg":true})",
        R"({"alg":"HS256 "})", R"({"alg":"hs256"})", R"({"alg":"HS256\u0000"})", R"({})", R"({"typ":"JWT"})"}) {
    SCOPED_TRACE(header);
    const std::string unsigned_text = test::signed_text(header, kPayload);
    const std::string old_signature = base64url_text(test::hmac_of(kSecret, test::signed_text(kHeader, kPayload)));
    EXPECT_EQ(outcome(unsigned_text + "."), text(wrong_algorithm));
    EXPECT_EQ(outcome(unsigned_text), text(wrong_parts));
    EXPECT_EQ(outcome(unsigned_text + "." + old_signature), text(wrong_algorithm));
    EXPECT_EQ(of_header(header), text(wrong_algorithm)) << "not even with a good signature";
  }
}

TEST_F(TokenVerifierTest, B105_SignatureMustBeThereAndWhole) {
  const std::string good = test::hs256_token(kSecret, kHeader, kPayload);
  const std::string head = test::signed_text(kHeader, kPayload) + ".";
  ASSERT_EQ(outcome(good), "ana");
  EXPECT_EQ(outcome(head), text(wrong_signature));
  EXPECT_EQ(outcome(head.substr(0, head.size() - 1)), text(wrong_parts));
  const std::string mac = test::hmac_of(kSecret, head.substr(0, head.size() - 1));
  EXPECT_EQ(outcome(head + base64url_text(mac.substr(0, 31))), text(wrong_signature));
  EXPECT_EQ(outcome(head + base64url_text(mac + '\0')), text(wrong_signature));
  EXPECT_EQ(outcome(head + base64url_text(std::string(32, '\0'))), text(wrong_signature));
  EXPECT_EQ(outcome(head + base64url_text(std::string(2000, 'a'))), text(wrong_signature));
  for (std::size_t bit = 0; bit < 256; ++bit) {
    std::string flipped = mac;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    ASSERT_EQ(outcome(head + base64url_text(flipped)), text(wrong_signature)) << bit;
  }
}

TEST_F(TokenVerifierTest, PublicKeyIsNoSecret) {
  const test::TestSigner rsa = test::TestSigner::rsa();
  const std::string jwk = rsa.jwk("r");
  TokenVerifier only_rsa{keys_of("", jwk), {}};
  TokenVerifier with_secret{keys_of(kSecret, jwk), {}};
  std::string base64(2 * rsa.der().size(), '\0');
  base64.resize(static_cast<std::size_t>(
      EVP_EncodeBlock(bytes_of(base64.data()), bytes_of(rsa.der().c_str()), static_cast<int>(rsa.der().size()))));
  std::string pem = "-----BEGIN PUBLIC KEY-----\n";
  for (std::size_t at = 0; at < base64.size(); at += 64) pem += base64.substr(at, 64) + "\n";
  pem += "-----END PUBLIC KEY-----";
  for (const std::string& key : {pem, pem + "\n", pem + "\r\n", rsa.der(), base64, jwk, std::string{}}) {
    for (const std::string_view header : {R"({"alg":"HS256"})", R"({"alg":"HS256","kid":"r"})"}) {
      const std::string forged = test::hs256_token(key, header, kPayload);
      EXPECT_EQ(outcome(only_rsa, forged), text(wrong_algorithm));
      const bool names_rsa = header.find("kid") != std::string_view::npos;
      EXPECT_EQ(outcome(with_secret, forged), text(names_rsa ? wrong_algorithm : wrong_signature));
    }
  }
}

TEST_F(TokenVerifierTest, EachKeyHasOneAlgorithm) {
  const test::TestSigner rsa = test::TestSigner::rsa();
  const test::TestSigner p256 = test::TestSigner::p256();
  const test::TestSigner ed25519 = test::TestSigner::ed25519();
  const std::string oct = fmt::format(R"({{"kid":"h","kty":"oct","k":"{}"}})", base64url_text(kSecret));
  TokenVerifier verifier{keys_of("", rsa.jwk("r") + "," + p256.jwk("e") + "," + ed25519.jwk("d") + "," + oct), {}};
  const std::vector<std::pair<std::string, const test::TestSigner*>> signers{
      {"r", &rsa}, {"e", &p256}, {"d", &ed25519}, {"h", nullptr}};
  const std::vector<std::pair<std::string, std::string>> own{
      {"r", "RS256"}, {"e", "ES256"}, {"d", "EdDSA"}, {"h", "HS256"}};
  for (const auto& [kid, right] : own) {
    for (const std::string_view alg : {"HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "ES256", "ES384", "ES512",
                                       "ES256K", "PS256", "PS384", "PS512", "EdDSA", "Ed25519", "none"}) {
      const std::string header = fmt::format(R"({{"alg":"{}","kid":"{}"}})", alg, kid);
      for (const auto& [other, signer] : signers) {
        SCOPED_TRACE(fmt::format("{} signed by {}", header, other));
        const std::string token =
            signer != nullptr ? signer->token(header, kPayload) : test::hs256_token(kSecret, header, kPayload);
        const std::string expected = alg != right   ? text(wrong_algorithm)
                                     : kid != other ? text(wrong_signature)
                                                    : "ana";
        EXPECT_EQ(outcome(verifier, token), expected);
      }
    }
  }
}

TEST_F(TokenVerifierTest, Es256TakesRawSignaturesOnly) {
  const test::TestSigner signer = test::TestSigner::p256();
  TokenVerifier verifier{keys_of("", signer.jwk("")), {}};
  const std::string head = test::signed_text(R"({"alg":"ES256"})", kPayload);
  const auto with = [&](std::string_view signature) {
    return outcome(verifier, head + '.' + base64url_text(signature));
  };
  for (int i = 0; i < 20; ++i) EXPECT_EQ(with(signer.sign(head)), "ana");  // Short and long r and s.
  const std::string good = signer.sign(head);
  const std::string zero(32, '\0');
  EXPECT_EQ(with(zero + zero), text(wrong_signature));
  EXPECT_EQ(with(zero + good.substr(32)), text(wrong_signature));
  EXPECT_EQ(with(good.substr(0, 32) + zero), text(wrong_signature));
  EXPECT_EQ(with(test::der_of(good)), text(wrong_signature));
  EXPECT_EQ(with(good.substr(0, 63)), text(wrong_signature));
  EXPECT_EQ(with(good + '\0'), text(wrong_signature));
  EXPECT_EQ(with('\0' + good), text(wrong_signature));
  EXPECT_EQ(with(std::string(64, '\xff')), text(wrong_signature)) << "r and s above the order";
  EXPECT_EQ(with(""), text(wrong_signature));
}

TEST_F(TokenVerifierTest, EdDsaSignaturesHaveOneForm) {
  const test::TestSigner signer = test::TestSigner::ed25519();
  TokenVerifier verifier{keys_of("", signer.jwk("")), {}};
  const std::string head = test::signed_text(R"({"alg":"EdDSA"})", kPayload);
  const std::string good = signer.sign(head);
  const auto with = [&](std::string_view signature) {
    return outcome(verifier, head + '.' + base64url_text(signature));
  };
  ASSERT_EQ(with(good), "ana");
  // S + L stands for the same number; a verifier that takes it has two signatures for one text.
  const std::string order = *parse_hex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
  std::string shifted = good;
  int carry = 0;
  for (std::size_t i = 0; i < 32; ++i) {
    carry += static_cast<unsigned char>(good[32 + i]) + static_cast<unsigned char>(order[i]);
    shifted[32 + i] = static_cast<char>(carry & 0xff);
    carry >>= 8;
  }
  EXPECT_EQ(with(shifted), text(wrong_signature));
  EXPECT_EQ(with(std::string(64, '\0')), text(wrong_signature));
  EXPECT_EQ(with(good.substr(0, 63)), text(wrong_signature));
  EXPECT_EQ(with(good + '\0'), text(wrong_signature));
}

TEST_F(TokenVerifierTest, Rs256SignaturesAreAsLongAsTheKey) {
  const test::TestSigner signer = test::TestSigner::rsa();
  TokenVerifier verifier{keys_of("", signer.jwk("")), {}};
  const std::string head = test::signed_text(R"({"alg":"RS256"})", kPayload);
  const std::string good = signer.sign(head);
  const auto with = [&](std::string_view signature) {
    return outcome(verifier, head + '.' + base64url_text(signature));
  };
  EXPECT_EQ(with(good), "ana");
  EXPECT_EQ(with(good.substr(1)), text(wrong_signature));
  EXPECT_EQ(with('\0' + good), text(wrong_signature));
  EXPECT_EQ(with(std::string(256, '\0')), text(wrong_signature));
  EXPECT_EQ(with(std::string(255, '\0') + '\1'), text(wrong_signature));
}

TEST_F(TokenVerifierTest, BadSignaturesLeaveNoErrorBehind) {
  const test::TestSigner signer = test::TestSigner::p256();
  TokenVerifier verifier{keys_of("", signer.jwk("")), {}};
  const std::string token = signer.token(R"({"alg":"ES256"})", kPayload);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(outcome(verifier, test::TestSigner::p256().token(R"({"alg":"ES256"})", kPayload)), text(wrong_signature));
    EXPECT_EQ(outcome(verifier, token), "ana");
  }
}

TEST_F(TokenVerifierTest, KidPicksOneOfOurKeysOrNothing) {
  const test::TestSigner signer = test::TestSigner::p256();
  const test::TestSigner other = test::TestSigner::p256();
  TokenVerifier verifier{keys_of(kSecret, signer.jwk("2026") + "," + other.jwk("2027")), {}};
  EXPECT_EQ(outcome(verifier, signer.token(R"({"alg":"ES256","kid":"2026"})", kPayload)), "ana");
  EXPECT_EQ(outcome(verifier, other.token(R"({"alg":"ES256","kid":"2026"})", kPayload)), text(wrong_signature));
  EXPECT_EQ(outcome(verifier, test::hs256_token(kSecret, kHeader, kPayload)), "ana") << "the key without a kid";
  for (const std::string& kid :
       {std::string{""}, std::string{"unknown"}, std::string{"2026 "}, std::string{"../2026"}, std::string{"/dev/null"},
        std::string{"2026\\u0000"}, std::string{"\\u0000"}, std::string{"' OR '1'='1"},
        std::string{"http://127.0.0.1/key"}, std::string(4000, 'k')}) {
    SCOPED_TRACE(kid);
    const std::string header = fmt::format(R"({{"alg":"ES256","kid":"{}"}})", kid);
    EXPECT_EQ(outcome(verifier, signer.token(header, kPayload)), text(unknown_key));
    const std::string symmetric = fmt::format(R"({{"alg":"HS256","kid":"{}"}})", kid);
    EXPECT_EQ(outcome(verifier, test::hs256_token(kSecret, symmetric, kPayload)), text(unknown_key));
    EXPECT_EQ(outcome(verifier, test::hs256_token("", symmetric, kPayload)), text(unknown_key));
  }
  EXPECT_EQ(of_header(R"({"alg":"HS256","kid":7})"), text(unknown_key));
  EXPECT_EQ(of_header(R"({"alg":"HS256","kid":null})"), text(unknown_key));
}

TEST_F(TokenVerifierTest, AbsentKidNeedsAnUnambiguousKey) {
  const test::TestSigner first = test::TestSigner::p256();
  const test::TestSigner second = test::TestSigner::p256();
  TokenVerifier one{keys_of("", first.jwk("a")), {}};
  TokenVerifier two{keys_of("", first.jwk("a") + "," + second.jwk("b")), {}};
  const std::string token = first.token(R"({"alg":"ES256"})", kPayload);
  EXPECT_EQ(outcome(one, token), "ana");
  EXPECT_EQ(outcome(two, token), text(unknown_key));
}

TEST_F(TokenVerifierTest, HeaderBringsNoKeysAndNoRules) {
  const test::TestSigner stranger = test::TestSigner::p256();
  for (const std::string& member :
       {std::string{R"("crit":["exp"],"exp":1)"}, std::string{R"("crit":[])"}, std::string{R"("b64":false)"},
        std::string{R"("b64":true)"}, std::string{R"("jku":"https://stranger.example/keys")"},
        std::string{R"("x5u":"https://stranger.example/c")"}, std::string{R"("x5c":["MIIB"])"},
        R"("jwk":)" + stranger.jwk(""), std::string{R"("\u006aku":"x")"}}) {
    SCOPED_TRACE(member);
    EXPECT_EQ(of_header(fmt::format(R"({{"alg":"HS256",{}}})", member)), text(header_not_allowed));
    const std::string header = fmt::format(R"({{"alg":"ES256",{}}})", member);
    EXPECT_EQ(outcome(stranger.token(header, kPayload)), text(header_not_allowed));
  }
  EXPECT_EQ(of_header(R"({"alg":"HS256","x5t":"abc","cty":"","new":{"a":[1,2,{"b":null}]}})"), "ana")
      << "what is unknown is ignored";
}

TEST_F(TokenVerifierTest, TokenIsThreePartsOfStrictBase64Url) {
  const std::string good = test::hs256_token(kSecret, kHeader, kPayload);
  const std::size_t dot = good.find('.');
  const std::string h = good.substr(0, dot);
  const std::string p = good.substr(dot + 1, good.rfind('.') - dot - 1);
  const std::string s = good.substr(good.rfind('.') + 1);
  for (const std::string& token : {std::string{}, std::string{"."}, h, h + "." + p, good + ".", "." + good,
                                   good + ".a.b", h + "..a.b." + s, std::string{"Bearer"}}) {
    EXPECT_EQ(outcome(token), text(wrong_parts)) << token;
  }
  EXPECT_EQ(outcome(".."), text(malformed));
  const auto resigned = [](const std::string& head) {
    return head + "." + base64url_text(test::hmac_of(kSecret, head));
  };
  ASSERT_EQ(outcome(resigned(h + "." + p)), "ana");
  for (const std::string& junk :
       {std::string{"="}, std::string{"=="}, std::string{" "}, std::string{"\n"}, std::string{"\t"}, std::string{"+"},
        std::string{"/"}, std::string{"*"}, std::string{"\xc3\xa9"}, std::string{"%3D"}, std::string(1, '\0')}) {
    SCOPED_TRACE(junk);
    EXPECT_EQ(outcome(good + junk), text(wrong_encoding));
    EXPECT_EQ(outcome(resigned(h + junk + "." + p)), text(wrong_encoding));
    EXPECT_EQ(outcome(resigned(h + "." + p + junk)), text(wrong_encoding));
    EXPECT_EQ(outcome(junk + good), text(wrong_encoding));
  }
}

TEST_F(TokenVerifierTest, Base64HasOneSpelling) {
  const std::string good = test::hs256_token(kSecret, kHeader, kPayload);
  // 32 bytes are 43 characters, of which the last carries four bits and two that must be zero.
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const std::size_t last = kAlphabet.find(good.back());
  ASSERT_EQ(last % 4, 0U);
  for (std::size_t other = 1; other < 4; ++other) {
    std::string spelled = good;
    spelled.back() = kAlphabet[last + other];
    EXPECT_EQ(outcome(spelled), text(wrong_encoding));
  }
}

TEST_F(TokenVerifierTest, EmbeddedNulEndsNothing) {
  using namespace std::string_literals;
  const std::string good = test::hs256_token(kSecret, kHeader, kPayload);
  EXPECT_EQ(outcome(good + "\0"s), text(wrong_encoding));
  EXPECT_EQ(outcome(good + "\0.x"s), text(wrong_parts));
  EXPECT_EQ(of_payload("{\"sub\":\"ana\",\"exp\":1900000100}\0"s), text(malformed));
  EXPECT_EQ(of_payload("{\"sub\":\"ana\0\",\"exp\":1900000100}"s), text(malformed));
  EXPECT_EQ(of_payload(R"({"sub":"ana\u0000","exp":1900000100})"), text(wrong_subject));
  EXPECT_EQ(of_header("{\"alg\":\"HS256\"}\0"s), text(malformed));
}

TEST_F(TokenVerifierTest, RepeatedMembersAreRefused) {
  EXPECT_EQ(of_header(R"({"alg":"HS256","alg":"HS256"})"), text(repeated_member));
  EXPECT_EQ(of_header(R"({"alg":"HS256","x":1,"x":1})"), text(repeated_member));
  EXPECT_EQ(of_payload(R"({"sub":"ana","sub":"bob","exp":1900000100})"), text(repeated_member));
  EXPECT_EQ(of_payload(R"({"sub":"ana","exp":1900000100,"\u0073ub":"bob"})"), text(repeated_member));
  EXPECT_EQ(of_members(R"("role":"buyer","role":"admin")"), text(repeated_member));
  EXPECT_EQ(of_members(R"("x":{"a":1,"a":2})"), text(repeated_member));
  EXPECT_EQ(of_members(R"("x":{"a":1},"y":{"a":1})"), "ana") << "other objects";
}

TEST_F(TokenVerifierTest, ExpiryIsRequiredAndAWholeNumber) {
  EXPECT_EQ(of_payload(R"({"sub":"ana"})"), text(wrong_expiry));
  for (const std::string_view expiry :
       {R"("1900000100")", "1900000100.0", "1900000100.5", "-1", "-0", "1.9e9", "19e8", "9223372036854775808",
        "9223372036854775807", "18446744073709551616", "253402300800", "1e400", "-1e400", "null", "true", "[]",
        "[1900000100]", "{}"}) {
    SCOPED_TRACE(expiry);
    EXPECT_EQ(of_payload(fmt::format(R"({{"sub":"ana","exp":{}}})", expiry)), text(wrong_expiry));
  }
  for (const std::string_view expiry : {"01900000100", "+1900000100", "1900000100.", ".5", "1900000100x", "0x7fffffff",
                                        "NaN", "Infinity", "1900000100e", "1900000100_0", "1900000100 0"}) {
    EXPECT_NE(of_payload(fmt::format(R"({{"sub":"ana","exp":{}}})", expiry)), "ana") << expiry;
  }
  EXPECT_EQ(of_payload(R"({"sub":"ana","exp":253402300799})"), "ana");
}

TEST_F(TokenVerifierTest, ExpiryHasNoLeeway) {
  const std::string token = test::hs256_token(kSecret, kHeader, kPayload);
  EXPECT_EQ(outcome(verifier_, token, Instant{1'900'000'099'999'999}), "ana");
  EXPECT_EQ(outcome(verifier_, token, Instant{1'900'000'100'000'000}), text(expired));
  EXPECT_EQ(of_payload(R"({"sub":"ana","exp":0})"), text(expired));
}

TEST_F(TokenVerifierTest, StartIsHonouredWithAMinuteOfLeeway) {
  for (const std::string_view member : {"nbf", "iat"}) {
    EXPECT_EQ(of_members(fmt::format(R"("{}":1900000060)", member)), "ana");
    EXPECT_EQ(of_members(fmt::format(R"("{}":1900000061)", member)), text(not_yet_valid));
    for (const std::string_view bad : {R"("1900000000")", "1900000000.0", "-1", "1e9", "null", "9223372036854775808"}) {
      EXPECT_EQ(of_members(fmt::format(R"("{}":{})", member, bad)), text(wrong_time)) << bad;
    }
  }
}

TEST_F(TokenVerifierTest, SubjectIsShortPlainText) {
  const auto of_subject = [&](const std::string& subject) {
    return of_payload(fmt::format(R"({{"sub":{},"exp":1900000100}})", subject));
  };
  EXPECT_EQ(of_payload(R"({"exp":1900000100})"), text(wrong_subject));
  for (const std::string& bad : {std::string{R"("")"}, std::string{"7"}, std::string{"null"}, std::string{R"(["ana"])"},
                                 "\"" + std::string(129, 'a') + "\"", std::string{R"("a\nb")"},
                                 std::string{R"("a\u007f")"}, std::string{R"("a\u0085")"}, std::string{"\"a\x7f\""}}) {
    EXPECT_EQ(of_subject(bad), text(wrong_subject)) << bad;
  }
  for (const std::string bad : {"\"a\nb\"", "\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"",
                                "\"\xe2\x82\"", R"("\ud800")", R"("\udc00\ud800")", R"("\u12")", R"("\x41")", "\"a"}) {
    EXPECT_EQ(of_subject(bad), text(malformed)) << bad;
  }
  EXPECT_EQ(of_subject("\"" + std::string(128, 'a') + "\""), std::string(128, 'a'));
}

TEST_F(TokenVerifierTest, RoleIsKnownOrAbsent) {
  for (const std::string_view role : {"buyer", "support", "organiser", "admin"}) {
    const auto identity = verifier_.verify(
        test::hs256_token(kSecret, kHeader, fmt::format(R"({{"sub":"a","exp":1900000100,"role":"{}"}})", role)), kNow);
    ASSERT_TRUE(identity);
    EXPECT_EQ(name(identity->role), role);
  }
  for (const std::string_view role : {R"("root")", R"("Admin")", R"("")", "null", "3", R"(["admin"])", R"("admin ")"}) {
    EXPECT_EQ(of_members(fmt::format(R"("role":{})", role)), text(unknown_role)) << role;
  }
}

TEST_F(TokenVerifierTest, TenantIsAnIdOrAbsent) {
  for (const std::string& tenant :
       {std::string{R"("")"}, std::string{R"("a b")"}, std::string{R"("../a")"}, std::string{"null"}, std::string{"1"},
        "\"" + std::string(65, 'a') + "\"", std::string{R"("a\u0000")"}}) {
    EXPECT_EQ(of_members("\"tenant\":" + tenant), text(wrong_tenant)) << tenant;
  }
  EXPECT_EQ(of_members("\"tenant\":\"" + std::string(64, 'a') + "\""), "ana");
}

TEST_F(TokenVerifierTest, IssuerAndAudienceAreCheckedWhenConfigured) {
  TokenVerifier strict{keys_of(kSecret), {.issuer = "https://shop.example", .audience = "weir"}};
  const auto with = [&](std::string_view members) {
    return outcome(strict,
                   test::hs256_token(kSecret, kHeader, fmt::format(R"({{"sub":"ana","exp":1900000100{}}})", members)));
  };
  EXPECT_EQ(with(R"(,"iss":"https://shop.example","aud":"weir")"), "ana");
  EXPECT_EQ(with(R"(,"iss":"https://shop.example","aud":["other","weir"])"), "ana") << "ours second";
  EXPECT_EQ(with(R"(,"iss":"https://shop.example","aud":["weir"])"), "ana");
  EXPECT_EQ(with(R"(,"iss":"https://shop.example","aud":["weir","other"])"), "ana") << "ours first";
  for (const std::string_view aud :
       {"", R"(,"aud":"other")", R"(,"aud":[])", R"(,"aud":["other"])", R"(,"aud":"Weir")", R"(,"aud":"")",
        R"(,"aud":null)", R"(,"aud":1)", R"(,"aud":["weir",1])", R"(,"aud":[["weir"]])", R"(,"aud":{"weir":1})"}) {
    EXPECT_EQ(with(fmt::format(R"(,"iss":"https://shop.example"{})", aud)), text(wrong_audience)) << aud;
  }
  for (const std::string_view iss : {"", R"(,"iss":"https://other-tenant.example")", R"(,"iss":"")", R"(,"iss":null)",
                                     R"(,"iss":["https://shop.example"])", R"(,"iss":"https://shop.example/")"}) {
    EXPECT_EQ(with(fmt::format(R"({},"aud":"weir")", iss)), text(wrong_issuer)) << iss;
  }
  EXPECT_EQ(of_members(R"("iss":"anybody","aud":["anything"])"), "ana") << "not configured";
}

TEST_F(TokenVerifierTest, TokensForOtherThingsDoNotSignIn) {
  for (const std::string_view type : {"JWT", "jwt", "at+jwt", "application/at+jwt", "AT+JWT"}) {
    EXPECT_EQ(of_header(fmt::format(R"({{"alg":"HS256","typ":"{}"}})", type)), "ana") << type;
  }
  for (const std::string_view type :
       {R"("pass+jwt")", R"("refresh+jwt")", R"("logout+jwt")", R"("id+jwt")", R"("JWE")", R"("")", "null", "1"}) {
    EXPECT_EQ(of_header(fmt::format(R"({{"alg":"HS256","typ":{}}})", type)), text(wrong_type)) << type;
  }
  EXPECT_EQ(of_members(R"("token_use":"access")"), "ana");
  EXPECT_EQ(of_members(R"("typ":"Bearer")"), "ana");
  for (const std::string_view member : {R"("token_use":"id")", R"("token_use":"refresh")", R"("typ":"ID")",
                                        R"("typ":"Refresh")", R"("typ":"Offline")", R"("typ":null)"}) {
    EXPECT_EQ(of_members(member), text(wrong_type)) << member;
  }
}

TEST_F(TokenVerifierTest, JsonIsStrictAndShallow) {
  for (const std::string_view bad : {"",
                                     "null",
                                     "[]",
                                     "\"x\"",
                                     "1",
                                     "{",
                                     "{}x",
                                     "{} {}",
                                     R"({"a":1,})",
                                     R"({,})",
                                     R"({"a"})",
                                     R"({"a":})",
                                     R"({a:1})",
                                     R"({'a':1})",
                                     R"({"a":1 "b":2})",
                                     R"({"a":tru})",
                                     R"({"a":1}//)",
                                     "\xef\xbb\xbf{}",
                                     R"({"a":[1,]})",
                                     R"({"a":[1 2]})",
                                     R"({"a":[})",
                                     R"({"a":1]})",
                                     R"({"a":-})",
                                     R"({"a":1.})",
                                     R"({"a":1e})",
                                     R"({"a":00})",
                                     R"({1:1})"}) {
    EXPECT_EQ(of_payload(bad), text(malformed)) << bad;
    EXPECT_EQ(of_header(bad), text(malformed)) << bad;
  }
  const auto nested = [](std::size_t depth) { return "\"x\":" + std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(of_members(nested(kJsonDepthMax - 1)), "ana");
  EXPECT_EQ(of_members(nested(kJsonDepthMax)), text(malformed));
  EXPECT_EQ(of_members("\"x\":" + std::string(4000, '[')), text(malformed));
  EXPECT_EQ(of_members(nested(10'000)), text(too_long));
  std::string many = "\"a0\":0";
  for (std::size_t i = 1; i < kJsonMembersMax; ++i) many += fmt::format(",\"a{}\":0", i);
  EXPECT_EQ(of_members(many), text(malformed)) << "more names than are compared";
}

TEST_F(TokenVerifierTest, LengthIsBounded) {
  EXPECT_EQ(outcome(std::string(1024 * 1024, 'a')), text(too_long));
  EXPECT_EQ(outcome(std::string(kTokenBytesMax + 1, '.')), text(too_long));
  const std::string_view filler = R"("x":"")";
  const std::size_t base =
      test::hs256_token(kSecret, kHeader, fmt::format(R"({{"sub":"ana","exp":1900000100,{}}})", filler)).size();
  const std::string wide(((kTokenBytesMax - base) * 3 / 4) - 3, 'w');
  EXPECT_EQ(of_members(fmt::format(R"("x":"{}")", wide)), "ana");
}

TEST_F(TokenVerifierTest, B107_TokensOfARemovedKeyAreRefusedAtOnce) {
  const test::TestSigner old_key = test::TestSigner::p256();
  const test::TestSigner new_key = test::TestSigner::p256();
  const std::string of_old = old_key.token(R"({"alg":"ES256","kid":"old"})", kPayload);
  const std::string of_new = new_key.token(R"({"alg":"ES256","kid":"new"})", kPayload);
  TokenVerifier during{keys_of("", old_key.jwk("old") + "," + new_key.jwk("new")), {}};
  EXPECT_EQ(outcome(during, of_old), "ana");
  EXPECT_EQ(outcome(during, of_new), "ana");
  TokenVerifier after{keys_of("", new_key.jwk("new")), {}};
  EXPECT_EQ(outcome(after, of_old), text(unknown_key));
  EXPECT_EQ(outcome(after, of_new), "ana");
}

TEST_F(TokenVerifierTest, B107_TimeOfIssueIsKnownSoThatABlockEndsOlderTokens) {
  const auto identity =
      verifier_.verify(test::hs256_token(kSecret, kHeader, R"({"sub":"ana","exp":1900000100,"iat":1899990000})"), kNow);
  ASSERT_TRUE(identity);
  EXPECT_LT(identity->issued_at, kNow);
}

TEST_F(TokenVerifierTest, VerifierKeepsItsKeysAlive) {
  auto keys = keys_of(kSecret);
  TokenVerifier verifier{keys, {}};
  keys.reset();
  TokenVerifier moved = std::move(verifier);
  EXPECT_EQ(outcome(moved, test::hs256_token(kSecret, kHeader, kPayload)), "ana");
}

TEST_F(TokenVerifierTest, OwnTokensAreBelieved) {
  const VerifierOptions options{.issuer = "us \"quoted\"", .audience = "weir"};
  TokenIssuer issuer{kSecret, options};
  TokenVerifier verifier{keys_of(kSecret), options};
  for (const std::string& subject :
       {std::string{"ana"}, std::string{"a\"b\\c"}, std::string{"\xe2\x82\xac"}, std::string(128, 'x')}) {
    const std::string token = issuer.issue(subject, Role::organiser, "acme", kNow + Micros{60'500'000}, kNow);
    const auto identity = verifier.verify(token, kNow);
    ASSERT_TRUE(identity) << name(identity.error());
    EXPECT_EQ(identity->subject.view(), subject);
    EXPECT_EQ(identity->role, Role::organiser);
    EXPECT_EQ(identity->tenant.view(), "acme");
    EXPECT_EQ(identity->expires_at, kNow + Micros{60'000'000}) << "rounded down to the second";
    EXPECT_EQ(identity->issued_at, kNow);
  }
  const auto plain = verifier.verify(issuer.issue("bo", Role::buyer, "", kNow + Micros{1'000'000}, kNow), kNow);
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->role, Role::buyer);
  EXPECT_TRUE(plain->tenant.is_none());
  EXPECT_EQ(outcome(verifier_, issuer.issue("bo", Role::buyer, "", kNow + Micros{1'000'000}, kNow)), "bo");
  TokenIssuer other{"another secret of thirty-two bytes", options};
  EXPECT_EQ(outcome(verifier, other.issue("bo", Role::buyer, "", kNow + Micros{1'000'000}, kNow)),
            text(wrong_signature));
}

TEST_F(TokenVerifierTest, EveryRefusalHasItsOwnName) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < kTokenRefusals; ++i) {
    const std::string_view spelled = name(static_cast<TokenRefusal>(i));
    EXPECT_NE(spelled, "?");
    EXPECT_EQ(std::ranges::count(names, spelled), 0);
    names.push_back(spelled);
  }
}

}  // namespace
}  // namespace weir
