#include "domain/sale.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

Sale window(std::int64_t opens_us, std::int64_t closes_us) {
  Sale sale;
  sale.opens_at = {opens_us};
  sale.closes_at = {closes_us};
  return sale;
}

TEST(Sales, TheWindowIsHalfOpen) {
  const Sale sale = window(1000, 2000);
  EXPECT_EQ(phase(sale, {999}), SalePhase::scheduled);
  EXPECT_EQ(phase(sale, {1000}), SalePhase::open);
  EXPECT_EQ(phase(sale, {1999}), SalePhase::open);
  EXPECT_EQ(phase(sale, {2000}), SalePhase::closed);
}

TEST(Sales, APauseShowsOnlyInsideTheWindow) {
  Sale sale = window(1000, 2000);
  sale.paused = true;
  EXPECT_EQ(phase(sale, {999}), SalePhase::scheduled);
  EXPECT_EQ(phase(sale, {1500}), SalePhase::paused);
  EXPECT_EQ(phase(sale, {2000}), SalePhase::closed);
}

TEST(Sales, ClosedByHandIsClosedAtAnyTime) {
  Sale sale = window(1000, 2000);
  sale.closed = true;
  sale.paused = true;
  for (const std::int64_t now_us : {0, 1000, 1500, 2000}) EXPECT_EQ(phase(sale, {now_us}), SalePhase::closed);
}

TEST(Sales, AnEmptyWindowNeverSells) {
  for (const std::int64_t now_us : {999, 1000, 1001}) EXPECT_NE(phase(window(1000, 1000), {now_us}), SalePhase::open);
}

TEST(Sales, AvailabilityTellsHeldFromSold) {
  EXPECT_EQ(availability({.total = 3, .free = 1, .held = 1, .sold = 1}), "AVAILABLE");
  EXPECT_EQ(availability({.total = 3, .free = 0, .held = 1, .sold = 2}), "ALL_HELD");
  EXPECT_EQ(availability({.total = 3, .free = 0, .held = 0, .sold = 3}), "SOLD_OUT");
  EXPECT_EQ(availability({}), "SOLD_OUT");
}

TEST(Sales, PhasesAreSpelledInCapitals) {
  EXPECT_EQ(name(SalePhase::scheduled), "SCHEDULED");
  EXPECT_EQ(name(SalePhase::waiting_room), "WAITING_ROOM");
  EXPECT_EQ(name(SalePhase::open), "OPEN");
  EXPECT_EQ(name(SalePhase::paused), "PAUSED");
  EXPECT_EQ(name(SalePhase::closed), "CLOSED");
}

}  // namespace
}  // namespace weir
