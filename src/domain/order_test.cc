#include "domain/order.h"

#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace weir {
namespace {

constexpr std::array kEvents{OrderEvent::pay,    OrderEvent::expire, OrderEvent::cancel,
                             OrderEvent::reject, OrderEvent::refund, OrderEvent::retake};

TEST(Orders, MoveOnlyAlongTheAllowedEdges) {
  const std::map<std::pair<OrderStatus, OrderEvent>, OrderStatus> allowed{
      {{OrderStatus::pending, OrderEvent::pay}, OrderStatus::paid},
      {{OrderStatus::pending, OrderEvent::expire}, OrderStatus::expired},
      {{OrderStatus::pending, OrderEvent::cancel}, OrderStatus::cancelled},
      {{OrderStatus::pending, OrderEvent::reject}, OrderStatus::rejected},
      {{OrderStatus::paid, OrderEvent::refund}, OrderStatus::refunded},
      {{OrderStatus::expired, OrderEvent::retake}, OrderStatus::paid}};
  for (const OrderStatus status : kOrderStatuses) {
    for (const OrderEvent event : kEvents) {
      const auto found = allowed.find({status, event});
      const auto wanted = found == allowed.end() ? std::nullopt : std::optional{found->second};
      EXPECT_EQ(advance(status, event), wanted) << name(status) << ", event " << static_cast<int>(event);
    }
  }
}

TEST(Orders, OnlyPendingAndPaidHoldUnits) {
  for (const OrderStatus status : kOrderStatuses) {
    EXPECT_EQ(is_live(status), status == OrderStatus::pending || status == OrderStatus::paid) << name(status);
  }
}

TEST(Orders, NothingLeavesAnEndExceptByRetaking) {
  for (const OrderStatus status : kOrderStatuses) {
    for (const OrderEvent event : kEvents) {
      if (is_live(status) || !advance(status, event)) continue;
      EXPECT_EQ(status, OrderStatus::expired);
      EXPECT_EQ(event, OrderEvent::retake);
    }
  }
}

TEST(Orders, StoredNumbersNeverChange) {
  EXPECT_EQ(static_cast<int>(OrderStatus::pending), 0);
  EXPECT_EQ(static_cast<int>(OrderStatus::paid), 1);
  EXPECT_EQ(static_cast<int>(OrderStatus::expired), 2);
  EXPECT_EQ(static_cast<int>(OrderStatus::cancelled), 3);
  EXPECT_EQ(static_cast<int>(OrderStatus::rejected), 4);
  EXPECT_EQ(static_cast<int>(OrderStatus::refunded), 5);
  EXPECT_EQ(static_cast<int>(RefundState::due), 0);
  EXPECT_EQ(static_cast<int>(RefundState::done), 1);
}

TEST(Orders, EveryStatusHasAWordOfItsOwn) {
  std::set<std::string_view> words;
  for (const OrderStatus status : kOrderStatuses) words.insert(name(status));
  EXPECT_EQ(words, (std::set<std::string_view>{"PENDING", "PAID", "EXPIRED", "CANCELLED", "REJECTED", "REFUNDED"}));
}

}  // namespace
}  // namespace weir
