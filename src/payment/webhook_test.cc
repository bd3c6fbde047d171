#include "config/limits.h"
#include "payment/sandbox_event.h"
#include "payment/sandbox_gateway.h"
#include "payment/webhook_signature.h"

#include <filesystem>

#include <gtest/gtest.h>

namespace weir {
namespace {

constexpr Instant kNow{1'796'036'400'000'000};
const std::string kKey = "f3a9c1e57b20d8846af15c93be07d24f";
constexpr Micros kSecond{1'000'000};

class StillClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return kNow; }
  [[nodiscard]] Ticks ticks() const override { return {}; }
};

GatewayEvent event(PaymentEventKind kind) {
  SeededRandom random(1);
  GatewayEvent event{.id = new_event_id(random),
                     .kind = kind,
                     .payment = {1, 2},
                     .refund = {},
                     .amount = {1999, *Currency::parse("EUR")}};
  if (kind == PaymentEventKind::refund_done) event.refund = {3, 4};
  return event;
}

class Webhooks : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "webhooks_" + testing::UnitTest::GetInstance()->current_test_info()->name() + ".db";
    std::filesystem::remove(path_);
    gateway_ = std::move(SandboxGateway::open(path_, kKey, clock_, random_).value());
  }
  void TearDown() override {
    gateway_.reset();
    std::filesystem::remove(path_);
  }

  bool is_accepted(const std::string& body, const std::string& signature, Instant now = kNow) {
    return gateway_->verify({body, signature}, now).has_value();
  }
  /// Signed with the right key: only the body decides.
  Parsed<GatewayEvent> read(const std::string& body) {
    return gateway_->verify({body, sign_webhook(kKey, body, kNow)}, kNow);
  }

  std::string path_;
  StillClock clock_;
  SeededRandom random_{7};
  std::unique_ptr<SandboxGateway> gateway_;
  const std::string body_ = event_text(event(PaymentEventKind::captured), kNow);
  const std::string good_ = sign_webhook(kKey, body_, kNow);
};

TEST_F(Webhooks, WhatIsSentIsWhatIsRead) {
  for (const auto kind : {PaymentEventKind::captured, PaymentEventKind::declined, PaymentEventKind::refund_done}) {
    const GatewayEvent sent = event(kind);
    const Parsed<GatewayEvent> got = read(event_text(sent, kNow));
    ASSERT_TRUE(got) << got.error();
    EXPECT_EQ(got->id, sent.id);
    EXPECT_EQ(got->kind, kind);
    EXPECT_EQ(got->payment, sent.payment);
    EXPECT_EQ(got->refund, sent.refund);
    EXPECT_EQ(got->amount, sent.amount);
  }
  EXPECT_EQ(gateway_->sign(body_, kNow), good_);
}

TEST_F(Webhooks, ASignatureIsTheOneThatAnybodyCanRecompute) {
  // printf '1796036400.{}' | openssl dgst -sha256 -hmac f3a9c1e57b20d8846af15c93be07d24f
  EXPECT_EQ(sign_webhook(kKey, "{}", kNow),
            "t=1796036400,v1=06be312db22ca7000356344ff21193b29e713e1b709c922d22cda5dd29252e9f");
}

TEST_F(Webhooks, B121_ASignatureIsGoodForFiveMinutesBothWays) {
  ASSERT_TRUE(is_accepted(body_, good_));
  for (const std::int64_t age_s : {1, 60, 299, 300}) {
    EXPECT_TRUE(is_accepted(body_, good_, kNow + age_s * kSecond)) << age_s;
    EXPECT_TRUE(is_accepted(body_, good_, kNow - age_s * kSecond)) << -age_s;
  }
  for (const std::int64_t age_s : {301, 302, 660, 86'400, 31'536'000}) {
    EXPECT_FALSE(is_accepted(body_, good_, kNow + age_s * kSecond)) << age_s;
    EXPECT_FALSE(is_accepted(body_, good_, kNow - age_s * kSecond)) << -age_s;
  }
  EXPECT_FALSE(is_accepted(body_, good_, kNow + 300 * kSecond + Micros{1}));
  EXPECT_FALSE(is_accepted(body_, good_, kNow - 300 * kSecond - Micros{1}));
}

TEST_F(Webhooks, B121_EveryForgedHeaderIsRefused) {
  const std::string mac = good_.substr(good_.find("v1=") + 3);
  const std::string at = "1796036400";
  std::string upper = mac;
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  const std::string nul(1, '\0');
  const std::vector<std::string> forged{"",
                                        "t",
                                        "t=",
                                        "v1=",
                                        mac,
                                        "t=" + at,
                                        "v1=" + mac,
                                        "t=" + at + ",",
                                        "t=" + at + ",v1=",
                                        "t=" + at + ",v1",
                                        "t=,v1=" + mac,
                                        ",v1=" + mac,
                                        "t=" + at + "v1=" + mac,
                                        "t=" + at + ";v1=" + mac,
                                        "t=" + at + ", v1=" + mac,
                                        "t=" + at + " ,v1=" + mac,
                                        " " + good_,
                                        good_ + " ",
                                        good_ + "\n",
                                        good_ + "\r\n",
                                        good_ + nul,
                                        nul + good_,
                                        "T=" + at + ",v1=" + mac,
                                        "t=" + at + ",V1=" + mac,
                                        "t=" + at + ",v0=" + mac,
                                        "t=" + at + ",v2=" + mac,
                                        "v1=" + mac + ",t=" + at,
                                        good_ + ",v1=" + mac,
                                        good_ + ",",
                                        good_ + "," + good_,
                                        "t=" + at + "," + good_,
                                        "t=" + at + ",t=" + at + ",v1=" + mac,
                                        "t=" + at + ",v1=" + std::string(64, '0') + ",v1=" + mac,
                                        good_ + ",v1=" + std::string(64, '0'),
                                        "t=" + at + ",v1=" + upper,
                                        "t=" + at + ",v1=0x" + mac,
                                        "t=" + at + ",v1=" + mac.substr(0, 63),
                                        "t=" + at + ",v1=" + mac.substr(1),
                                        "t=" + at + ",v1=" + mac.substr(0, 32),
                                        "t=" + at + ",v1=" + mac + "0",
                                        "t=" + at + ",v1=" + mac + mac,
                                        "t=" + at + ",v1=" + std::string(64, '0'),
                                        "t=" + at + ",v1=" + std::string(64, 'g'),
                                        "t=" + at + ",v1=" + mac.substr(0, 63) + nul,
                                        "t=0" + at + ",v1=" + mac,
                                        "t=+" + at + ",v1=" + mac,
                                        "t=-" + at + ",v1=" + mac,
                                        "t=" + at + ".0,v1=" + mac,
                                        "t=0x6b0d3cb0,v1=" + mac,
                                        "t=1.796e9,v1=" + mac,
                                        "t=" + at + "000,v1=" + mac,
                                        "t=99999999999999999999,v1=" + mac,
                                        "t=1796036401,v1=" + mac,
                                        "t=1796036399,v1=" + mac,
                                        "t=0,v1=" + mac,
                                        "t=1796036400 ,v1=" + mac,
                                        "sha256=" + mac,
                                        "Bearer " + mac,
                                        "t=" + at + ",v1=\"" + mac + "\"",
                                        std::string(16'384, 'x')};
  for (const std::string& signature : forged) EXPECT_FALSE(is_accepted(body_, signature)) << signature;
  EXPECT_GE(forged.size(), 55U);
}

TEST_F(Webhooks, B121_EveryChangedByteOfTheBodyIsRefused) {
  std::size_t tried = 0;
  for (std::size_t i = 0; i < body_.size(); ++i) {
    std::string changed = body_;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(is_accepted(changed, good_)) << i;
    ++tried;
  }
  for (const std::string& changed :
       {body_ + " ", body_ + "\n", " " + body_, body_.substr(1), body_.substr(0, body_.size() - 1), body_ + body_,
        std::string(), body_ + std::string(1, '\0')}) {
    EXPECT_FALSE(is_accepted(changed, good_)) << changed;
  }
  EXPECT_GT(tried, 100U);
}

TEST_F(Webhooks, B121_EveryChangedByteOfTheSignatureIsRefused) {
  for (std::size_t i = 0; i < good_.size(); ++i) {
    for (const int bit : {1, 2, 32}) {
      std::string changed = good_;
      changed[i] = static_cast<char>(changed[i] ^ bit);
      EXPECT_FALSE(is_accepted(body_, changed)) << changed;
    }
    EXPECT_FALSE(is_accepted(body_, good_.substr(0, i))) << i;
  }
}

TEST_F(Webhooks, B121_AnotherKeyDoesNotSign) {
  for (const std::string& key : {kKey + "0", kKey.substr(1), std::string("changeme-changeme-changeme-changeme"),
                                 std::string(1, '\0'), "F3A9C1E57B20D8846AF15C93BE07D24F" + std::string()}) {
    EXPECT_FALSE(is_accepted(body_, sign_webhook(key, body_, kNow)));
  }
}

TEST_F(Webhooks, ANewTimeNeedsANewSignature) {
  const std::string mac = good_.substr(good_.find("v1="));
  EXPECT_FALSE(is_accepted(body_, "t=1796037000," + mac, kNow + 600 * kSecond)) << "an old event under a fresh time";
}

TEST_F(Webhooks, EventsThatAreSignedAndMalformedAreRefused) {
  const std::string id = event(PaymentEventKind::captured).id;
  const std::string payment = PaymentId{1, 2}.text();
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string changed = body_;
    const std::size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return changed.replace(at, from.size(), to);
  };
  const std::vector<std::string> wrong{with(id, "evt_1"),
                                       with(id, ""),
                                       with(id, id.substr(4)),
                                       with(id, id + "0"),
                                       with("evt_", "EVT_"),
                                       with("\"id\":\"" + id + "\",", ""),
                                       with("\"" + id + "\"", "17"),
                                       with("payment.captured", ""),
                                       with("payment.captured", std::string(65, 'x')),
                                       with("\"payment.captured\"", "null"),
                                       with(payment, payment.substr(1)),
                                       with(payment, std::string(32, '0')),
                                       with(payment, std::string(32, 'A')),
                                       with(payment, payment + " "),
                                       with("\"paymentId\":\"" + payment + "\",", ""),
                                       with("\"" + payment + "\"", "null"),
                                       with("1999", "-1"),
                                       with("1999", "1999.0"),
                                       with("1999", "1.999e3"),
                                       with("1999", "\"1999\""),
                                       with("1999", "99999999999999999999"),
                                       with("EUR", "eur"),
                                       with("EUR", "EURO"),
                                       with("EUR", ""),
                                       with("\"EUR\"", "978"),
                                       with("\"amount\":{\"value\":1999,\"currency\":\"EUR\"},", ""),
                                       with("{\"value\":1999,\"currency\":\"EUR\"}", "1999"),
                                       with("\"value\":1999", "\"value\":1999,\"value\":1"),
                                       with("\"amount\"", "\"amount\":{\"value\":1,\"currency\":\"EUR\"},\"amount\""),
                                       with("2026-", "26-"),
                                       with("Z\"}", "\"}"),
                                       with("\"type\"", "\"type\":\"payment.declined\",\"type\""),
                                       with("\"paymentId\"", "\"refundId\":\"" + payment + "\",\"paymentId\""),
                                       "",
                                       "[]",
                                       "null",
                                       "[" + body_ + "]",
                                       body_ + body_,
                                       "{}"};
  for (const std::string& body : wrong) EXPECT_FALSE(read(body)) << body;
  std::string refund = event_text(event(PaymentEventKind::refund_done), kNow);
  ASSERT_TRUE(read(refund));
  EXPECT_FALSE(read(refund.replace(refund.find("refundId"), 8, "refundID")));
  EXPECT_FALSE(read("{\"x\":\"" + std::string(kBodyBytesMax, 'x') + "\"}"));
}

TEST_F(Webhooks, B043_WhatIsNotKnownIsOtherAndNeverAnError) {
  const std::string id = event(PaymentEventKind::captured).id;
  for (const std::string rest : {R"("type":"payment.disputed")", R"("type":"x","paymentId":null,"metadata":null)",
                                 R"("type":"x","metadata":{},"amount":"none","paymentId":"?")"}) {
    const Parsed<GatewayEvent> got = read("{\"id\":\"" + id + "\"," + rest + "}");
    ASSERT_TRUE(got) << got.error();
    EXPECT_EQ(got->kind, PaymentEventKind::other);
    EXPECT_TRUE(got->payment.is_none());
  }
  std::string more = body_;
  more.insert(1, R"("metadata":{"a":[1,{"id":"x"}]},)");
  ASSERT_TRUE(read(more));
  EXPECT_EQ(read(more)->kind, PaymentEventKind::captured);
}

}  // namespace
}  // namespace weir
