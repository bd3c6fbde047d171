#include "identity/key_set.h"

#include "config/limits.h"
#include "identity/jwks.h"
#include "identity/test_signer.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string kSecret = "0123456789abcdef0123456789abcdef";

class KeySetTest : public testing::Test {
 protected:
  KeySetTest() { std::filesystem::create_directories(folder_); }
  ~KeySetTest() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& content) {
    const std::string path = folder_ / name;
    std::ofstream{path, std::ios::binary} << content;
    return path;
  }
  /// The message of the refusal, or "fit".
  static std::string refusal(const KeyFiles& files) {
    const auto loaded = KeySet::load(files);
    if (loaded) return "fit";
    EXPECT_EQ(loaded.error().failure, Failure::unfit);
    return loaded.error().message;
  }
  std::string refusal_of_jwks(const std::string& content) { return refusal({"", file("keys.json", content)}); }
  std::string refusal_of_key(const std::string& key) { return refusal_of_jwks(fmt::format(R"({{"keys":[{}]}})", key)); }

  std::filesystem::path folder_ =
      std::filesystem::path{testing::TempDir()} / fmt::format("weir-key-set-{}", ::getpid());
};

TEST_F(KeySetTest, SecretIsTheBytesWithoutOneNewline) {
  const auto keys = KeySet::load({file("secret", kSecret + "\n"), ""});
  ASSERT_TRUE(keys) << keys.error().message;
  EXPECT_EQ((*keys)->signing_secret(), kSecret);
  EXPECT_EQ((*keys)->keys().size(), 1U);
  EXPECT_EQ((*keys)->find(std::nullopt), 0U);
  EXPECT_EQ((*keys)->find(""), std::nullopt);
  EXPECT_EQ((*keys)->find("x"), std::nullopt);
}

TEST_F(KeySetTest, B105_ServerWithoutAKeyDoesNotStart) {
  EXPECT_THAT(refusal({}), AllOf(HasSubstr("auth.hs256_secret_file"), HasSubstr("auth.jwks_file")));
  for (const std::string& content :
       {std::string{}, std::string{"\n"}, std::string(31, 'k'), std::string(31, 'k') + "\n"}) {
    const std::string path = file("short", content);
    EXPECT_THAT(refusal({path, ""}), AllOf(HasSubstr(path), HasSubstr("auth.hs256_secret_file")));
  }
  const std::string missing = folder_ / "missing";
  EXPECT_THAT(refusal({missing, ""}), AllOf(HasSubstr(missing), HasSubstr("auth.hs256_secret_file")));
  EXPECT_THAT(refusal({folder_, ""}), HasSubstr("auth.hs256_secret_file"));
  EXPECT_THAT(refusal({"", missing}), AllOf(HasSubstr(missing), HasSubstr("auth.jwks_file")));
  EXPECT_THAT(refusal({"", folder_}), HasSubstr("auth.jwks_file"));
  EXPECT_FALSE(KeySet::from("short", {}));
}

TEST_F(KeySetTest, EachKindOfKeyImpliesItsAlgorithm) {
  const std::string rsa = test::TestSigner::rsa().jwk("r");
  const std::string p256 = test::TestSigner::p256().jwk("e", R"(,"alg":"ES256","use":"sig","key_ops":["verify"])");
  const std::string ed25519 = test::TestSigner::ed25519().jwk("d", R"(,"x5c":["a","b"],"x5t":"c")");
  const std::string oct = fmt::format(R"({{"kty":"oct","kid":"h","k":"{}"}})", base64url_text(kSecret));
  const auto keys = KeySet::load(
      {file("secret", kSecret),
       file("keys.json", fmt::format(R"({{"other":1, "keys":[{}, {}, {}, {}]}})", rsa, p256, ed25519, oct) + "\n")});
  ASSERT_TRUE(keys) << keys.error().message;
  ASSERT_EQ((*keys)->keys().size(), 5U);
  const auto algorithm = [&](std::string_view kid) { return (*keys)->keys()[*(*keys)->find(kid)].algorithm; };
  EXPECT_EQ(algorithm("r"), Algorithm::rs256);
  EXPECT_EQ(algorithm("e"), Algorithm::es256);
  EXPECT_EQ(algorithm("d"), Algorithm::eddsa);
  EXPECT_EQ(algorithm("h"), Algorithm::hs256);
  EXPECT_EQ((*keys)->find(std::nullopt), 0U) << "the secret";
}

TEST_F(KeySetTest, KeysForOtherPurposesArePassedOver) {
  const std::string good = test::TestSigner::p256().jwk("e");
  const std::string encryption = R"({"kty":"RSA","kid":"x","use":"enc","alg":"RSA-OAEP","n":"AQAB","e":"AQAB"})";
  const std::string wrapping = R"({"kty":"oct","kid":"y","key_ops":["wrapKey"],"k":"AAAA"})";
  const auto keys =
      KeySet::load({"", file("keys.json", fmt::format(R"({{"keys":[{},{},{}]}})", encryption, good, wrapping))});
  ASSERT_TRUE(keys) << keys.error().message;
  EXPECT_EQ((*keys)->keys().size(), 1U);
  EXPECT_THAT(refusal_of_key(encryption), HasSubstr("no key for signatures"));
}

TEST_F(KeySetTest, KindAndAlgorithmMustAgree) {
  const test::TestSigner rsa = test::TestSigner::rsa();
  for (const std::string_view alg : {"HS256", "RS384", "RS512", "PS256", "ES256", "EdDSA", "none"}) {
    EXPECT_THAT(refusal_of_key(rsa.jwk("k", fmt::format(R"(,"alg":"{}")", alg))),
                AllOf(HasSubstr("auth.jwks_file"), HasSubstr("'k'"), HasSubstr(std::string{alg})));
  }
  EXPECT_NE(refusal_of_key(test::TestSigner::p256().jwk("k", R"(,"alg":"ES384")")), "fit");
  EXPECT_NE(refusal_of_key(test::TestSigner::ed25519().jwk("k", R"(,"alg":"ES256")")), "fit");
  EXPECT_NE(refusal_of_key(fmt::format(R"({{"kty":"oct","alg":"RS256","k":"{}"}})", base64url_text(kSecret))), "fit");
  EXPECT_NE(refusal_of_key(rsa.jwk("k", R"(,"alg":7)")), "fit");
}

TEST_F(KeySetTest, NoKidTwice) {
  const std::string first = test::TestSigner::p256().jwk("same");
  const std::string second = test::TestSigner::p256().jwk("same");
  EXPECT_THAT(refusal_of_key(first + "," + second), AllOf(HasSubstr("'same'"), HasSubstr("auth.jwks_file")));
  const std::string nameless = test::TestSigner::p256().jwk("");
  EXPECT_EQ(refusal_of_key(nameless), "fit");
  EXPECT_NE(refusal_of_key(nameless + "," + test::TestSigner::p256().jwk("")), "fit");
  const std::string path = file("keys.json", fmt::format(R"({{"keys":[{}]}})", nameless));
  EXPECT_NE(refusal({file("secret", kSecret), path}), "fit") << "a secret has no kid either";
}

TEST_F(KeySetTest, WeakAndBrokenKeysAreRefused) {
  EXPECT_THAT(refusal_of_key(test::TestSigner::rsa(1024).jwk("k")), HasSubstr("2048"));
  const std::string n = base64url_text(std::string(256, '\xff'));
  for (const std::string& key :
       {fmt::format(R"({{"kty":"RSA","n":"{}","e":"AQ"}})", n),
        fmt::format(R"({{"kty":"RSA","n":"{}","e":"Ag"}})", n),
        fmt::format(R"({{"kty":"RSA","n":"{}"}})", n),
        std::string{R"({"kty":"RSA","e":"AQAB"})"},
        fmt::format(R"({{"kty":"RSA","n":"{}=","e":"AQAB"}})", n),
        fmt::format(R"({{"kty":"RSA","n":"{}","e":"AQAB"}})", base64url_text(std::string(2000, '\xff'))),
        std::string{R"({"kty":"oct","k":"c2hvcnQ"})"},
        std::string{R"({"kty":"oct"})"},
        fmt::format(R"({{"kty":"oct","k":"{}="}})", base64url_text(kSecret)),
        fmt::format(R"({{"kty":"oct","k":["{}"]}})", base64url_text(kSecret)),
        fmt::format(R"({{"kty":"EC","crv":"P-256","x":"{0}","y":"{0}"}})", base64url_text(kSecret)),
        fmt::format(R"({{"kty":"EC","crv":"P-384","x":"{0}","y":"{0}"}})", base64url_text(kSecret)),
        std::string{R"({"kty":"EC","crv":"P-256","x":"AAAA","y":"AAAA"})"},
        std::string{R"({"kty":"OKP","crv":"Ed25519","x":"AAAA"})"},
        fmt::format(R"({{"kty":"OKP","crv":"X25519","x":"{}"}})", base64url_text(kSecret)),
        std::string{R"({"kty":"dilithium"})"},
        std::string{R"({})"},
        std::string{R"({"kty":null})"},
        fmt::format(R"({{"kty":"oct","kid":"","k":"{}"}})", base64url_text(kSecret)),
        fmt::format(R"({{"kty":"oct","kid":"{}","k":"{}"}})", std::string(kKeyIdBytesMax + 1, 'k'),
                    base64url_text(kSecret)),
        fmt::format(R"({{"kty":"oct","kty":"oct","k":"{}"}})", base64url_text(kSecret))}) {
    EXPECT_THAT(refusal_of_key(key), HasSubstr("auth.jwks_file")) << key;
  }
}

TEST_F(KeySetTest, SetIsStrictJson) {
  const std::string key = fmt::format(R"({{"kty":"oct","kid":"a","k":"{}"}})", base64url_text(kSecret));
  ASSERT_EQ(refusal_of_key(key), "fit");
  for (const std::string& content :
       {std::string{}, std::string{"[]"}, std::string{"{}"}, std::string{R"({"keys":{}})"},
        std::string{R"({"keys":[]})"}, std::string{R"({"keys":[1]})"}, R"({"keys":[)" + key + "],}",
        R"({"keys":[)" + key + "]} x", R"({"keys":[)" + key + R"(],"keys":[]})", R"({"keys":[)" + key,
        std::string(kJwksBytesMax + 1, ' ')}) {
    EXPECT_THAT(refusal_of_jwks(content), HasSubstr("auth.jwks_file")) << content.substr(0, 80);
  }
}

TEST_F(KeySetTest, NumberOfKeysIsBounded) {
  std::string keys;
  for (std::size_t i = 0; i <= kKeysMax; ++i) {
    keys += fmt::format(R"({}{{"kty":"oct","kid":"k{}","k":"{}"}})", i == 0 ? "" : ",", i, base64url_text(kSecret));
    if (i + 1 == kKeysMax) {
      EXPECT_EQ(refusal_of_key(keys), "fit");
    }
  }
  EXPECT_NE(refusal_of_key(keys), "fit");
}

}  // namespace
}  // namespace weir
