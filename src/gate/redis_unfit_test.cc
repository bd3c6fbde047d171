#include "gate/redis_fixture.h"
#include "gate/redis_proxy.h"

#include <cstdlib>

namespace weir {
namespace {

using redis_bed::claim;

class RedisUnfit : public RedisGateTest {
 protected:
  static Error refusal(const RedisGateOptions& options) {
    const auto refused = redis_bed::try_connect(options);
    return refused ? Error{Failure::corrupt, "it was accepted"} : refused.error();
  }
  static void expect(const Error& error, Failure failure, std::string_view word) {
    EXPECT_EQ(name(error.failure), name(failure)) << error.message;
    EXPECT_NE(error.message.find(word), std::string::npos) << error.message;
  }
};

TEST_F(RedisUnfit, F12_AServerThatEvictsIsRefused) {
  RedisServer evicting({"--maxmemory-policy", "allkeys-lru"});
  evicting.start();
  expect(refusal(redis_bed::options_for({evicting.address()})), Failure::unfit, "maxmemory-policy");
}

TEST_F(RedisUnfit, AnOldServerIsRefused) {
  LossyProxy proxy(server_->port());
  proxy.rewrite("redis_version:7.0", "redis_version:6.0");
  expect(refusal(redis_bed::options_for({proxy.address()})), Failure::unfit, "6.2");
  proxy.rewrite("redis_version:7.0", "redis_version:6.2");
  EXPECT_TRUE(redis_bed::try_connect(redis_bed::options_for({proxy.address()})));
}

TEST_F(RedisUnfit, AWrongPasswordIsRefusedAndNotShown) {
  RedisServer guarded({"--requirepass", "right-one"});
  guarded.start();
  auto options = redis_bed::options_for({guarded.address()});
  expect(refusal(options), Failure::unfit, "redis.password_file");
  options.servers.login.password = "wrong-one";
  const Error error = refusal(options);
  expect(error, Failure::unfit, "redis.password_file");
  EXPECT_EQ(error.message.find("wrong-one"), std::string::npos);
  options.servers.login.password = "right-one";
  EXPECT_TRUE(redis_bed::try_connect(options));
}

TEST_F(RedisUnfit, AUserWithFewRightsIsEnough) {
  ASSERT_EQ(server_
                ->ask("ACL SETUSER shop on >secret ~{*}* -@all +info +evalsha +eval +hscan +@hash +@set +@sortedset "
                      "+unlink +time")
                .text,
            "OK");
  auto options = redis_bed::options_for({server_->address()});
  options.servers.login = {"shop", "secret"};
  const auto gate = redis_bed::try_connect(options);
  ASSERT_TRUE(gate) << gate.error().message;
  const GateItem item{kShoe, 10};
  const auto built = redis_bed::build(**gate, place(1), {1, true, 1}, {&item, 1});
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_EQ(redis_bed::reserve(**gate, claim(1, 1)), "admitted");
  server_->ask("ACL DELUSER shop");
}

TEST_F(RedisUnfit, AServerThatIsNotThereIsNamed) {
  expect(refusal(redis_bed::options_for({"127.0.0.1:1"})), Failure::unavailable, "redis.nodes");
  expect(refusal(redis_bed::options_for({"no port:x"})), Failure::unfit, "redis.nodes");
  expect(refusal(redis_bed::options_for({})), Failure::unfit, "redis.nodes");
}

TEST_F(RedisUnfit, AReplicaAloneIsRefused) {
  RedisServer replica;
  replica.start();
  replica.ask(fmt::format("REPLICAOF 127.0.0.1 {}", server_->port()));
  expect(refusal(redis_bed::options_for({replica.address()})), Failure::unavailable, "replica");
}

TEST_F(RedisUnfit, TheServersCertificateIsLookedAt) {
  TestFolder folder;
  const std::string made = fmt::format(
      "cd {} && openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=weir "
      "-addext subjectAltName=IP:127.0.0.1 >/dev/null 2>&1 && openssl req -x509 -newkey rsa:2048 -nodes -keyout "
      "other_key.pem -out other.pem -days 2 -subj /CN=other >/dev/null 2>&1",
      folder.path());
  if (std::system(made.c_str()) != 0) GTEST_SKIP() << "openssl is not there";
  const std::string cert = folder.path() + "/cert.pem";
  const std::string port = std::to_string(free_port());
  RedisServer server({"--tls-port", port, "--tls-cert-file", cert, "--tls-key-file", folder.path() + "/key.pem",
                      "--tls-ca-cert-file", cert, "--tls-auth-clients", "no"});
  server.start();
  auto options = redis_bed::options_for({"127.0.0.1:" + port});
  options.servers.tls = true;
  options.servers.tls_ca_file = folder.path() + "/other.pem";
  expect(refusal(options), Failure::unfit, "redis.ca_file");
  options.servers.tls_ca_file = folder.path() + "/nothing.pem";
  expect(refusal(options), Failure::unfit, "redis.ca_file");
  options.servers.tls_ca_file = cert;
  const auto gate = redis_bed::try_connect(options);
  ASSERT_TRUE(gate) << gate.error().message;
  std::vector<GateItem> items;
  for (std::uint32_t i = 1; i <= 5000; ++i) items.push_back({{i}, 10});
  ASSERT_TRUE(redis_bed::build(**gate, place(1), {1, true, 1}, items));
  EXPECT_EQ(redis_bed::reserve(**gate, claim(1, 1)), "admitted");
}

}  // namespace
}  // namespace weir
