#include "flow/publisher.h"

#include "config/limits.h"
#include "flow/shared_fixture.h"

#include <array>

namespace weir {
namespace {

class PublisherTest : public SharedFlowTest {
 protected:
  void attach() { ASSERT_TRUE(attach_at(gate, state(1, GatePhase::open), *catalog.get())); }
  void publish(const Claim& one) { publisher.append({&one, 1}); }
  std::vector<Outcome> heard() {
    std::array<Outcome, 8> out;
    const std::size_t count = publisher.outcomes(out);
    return {out.begin(), out.begin() + static_cast<std::ptrdiff_t>(count)};
  }
  Publisher publisher{producer, gate, lease, catalog, clock};
};

TEST_F(PublisherTest, AClaimGoesOutUnderTheEpochThatAdmittedIt) {
  read_lease();
  attach();
  publish(claim(7));
  ASSERT_EQ(producer.messages.size(), 1U);
  EXPECT_EQ(producer.messages[0].epoch, 1);
  EXPECT_EQ(producer.messages[0].order, (OrderId{1, 7}));
  EXPECT_EQ(producer.messages[0].item, "tee");
}

TEST_F(PublisherTest, AClaimWhoseLeaseRanOutBetweenGateAndLogIsHandedOverAndNotPublished) {
  read_lease();
  attach();
  pass(Micros{kLeaseUs});
  publish(claim(7));
  EXPECT_TRUE(producer.messages.empty());
  const auto outcomes = heard();
  ASSERT_EQ(outcomes.size(), 1U);
  EXPECT_EQ(outcomes[0].fate, Fate::handed_over);
  EXPECT_EQ(publisher.counts().lease_lost, 1U);
}

TEST_F(PublisherTest, AClaimOfAnEpochThatIsOverIsHandedOver) {
  read_lease();
  attach();
  ledger.states = {state(2, GatePhase::open)};
  lease.look_again();
  read_lease();
  publish(claim(7));
  EXPECT_TRUE(producer.messages.empty());
  EXPECT_EQ(heard().at(0).fate, Fate::handed_over);
}

TEST_F(PublisherTest, OnlyWhatIsOnAllReplicasIsDurable) {
  producer.heard.push_back({.order = {1, 1}, .fate = Fate::durable, .recording = {}, .status = {}, .pay_by = {}});
  EXPECT_EQ(heard().at(0).fate, Fate::durable);
}

TEST_F(PublisherTest, F23_WhatIsNotKnownOrNotPersistedIsHandedOverAndNeverGivenBack) {
  for (const Fate fate : {Fate::unknown, Fate::not_persisted}) {
    producer.heard.push_back({.order = {1, 1}, .fate = fate, .recording = {}, .status = {}, .pay_by = {}});
    EXPECT_EQ(heard().at(0).fate, Fate::handed_over);
  }
  EXPECT_FALSE(has_asked("release"));
  EXPECT_EQ(publisher.counts().unknown, 1U);
  EXPECT_EQ(publisher.counts().not_persisted, 1U);
}

TEST_F(PublisherTest, F25_TheRoomIsThatOfTheLog) {
  producer.room_left = 3;
  EXPECT_EQ(publisher.room(), 3U);
}

}  // namespace
}  // namespace weir
