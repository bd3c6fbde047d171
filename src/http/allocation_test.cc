#include "config/limits.h"
#include "http/http_testing.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace {

std::atomic<std::size_t> allocations{0};

}  // namespace

// Counted here, in a program of its own, because a replacement is for the whole program.
void* operator new(std::size_t size) {
  ++allocations;
  if (void* place = std::malloc(size == 0 ? 1 : size)) return place;
  throw std::bad_alloc();
}
void operator delete(void* place) noexcept { std::free(place); }
void operator delete(void* place, std::size_t) noexcept { std::free(place); }

namespace weir::http {
namespace {

/// Answers everything with one fixed reply and keeps nothing.
class FixedHandler final : public Handler {
 public:
  void handle(const Request&, Exchange& exchange) override { exchange.send(reply_); }
  void on_loop(Instant, Ticks) override {}

 private:
  const FixedReply reply_{testing::text_response(410, "gone")};
};

TEST(Allocation, ARequestAnsweredAtOnceAllocatesNothing) {
  const testing::StillClock clock;
  const ServerOptions options;
  SeededRandom random(1);
  Room room({10, 0}, {1, 2}, {});
  auto listener = Listener::open("127.0.0.1:0", 0, true);
  ASSERT_TRUE(listener);
  Reactor reactor({0, options, clock, random, room}, std::move(*listener));
  reactor.attach(std::make_unique<FixedHandler>());
  testing::RawClient client(reactor.port());

  std::string bytes;
  for (std::size_t i = 0; i < kPipelineDepthMax; ++i) {
    bytes += "POST /a HTTP/1.1\r\nHost: a\r\nX-Request-Id: mine\r\nContent-Length: 2\r\n\r\n{}";
  }
  const std::size_t one = bytes.size() / kPipelineDepthMax;
  const auto serve = [&](std::size_t size) {
    const std::uint64_t writes = reactor.counts().writes.get();
    client.send({bytes.data(), size});
    for (int i = 0; i < 1000 && reactor.counts().writes.get() == writes; ++i) (void)reactor.turn(Micros{1000});
    ASSERT_GT(reactor.counts().writes.get(), writes);
  };
  serve(one);  // Accepts, and takes what is taken once.
  const std::size_t before = allocations.load();
  for (int i = 0; i < 10; ++i) serve(one);
  serve(bytes.size());
  EXPECT_EQ(allocations.load(), before);
  EXPECT_EQ(reactor.counts().requests.get(), 11 + kPipelineDepthMax);

  serve(one + one / 2);  // Cut in two: the counter does see an allocation.
  EXPECT_GT(allocations.load(), before);
}

}  // namespace
}  // namespace weir::http
