#include "offramp/kernel/arbiter.hpp"

#include <gtest/gtest.h>

namespace offramp {
namespace {

TEST(Arbiter, IdleUnitBeginsAtOnce) {
  Arbiter unit;
  const Arbiter::Grant grant = unit.acquire(Time::ns(5), Time::ns(3));
  EXPECT_EQ(grant.begin, Time::ns(5));
  EXPECT_EQ(grant.end, Time::ns(8));
  EXPECT_EQ(unit.free_at(), Time::ns(8));
}

TEST(Arbiter, BusyUnitMakesTheNextOneWait) {
  Arbiter unit;
  (void)unit.acquire(Time::ns(5), Time::ns(3));
  const Arbiter::Grant grant = unit.acquire(Time::ns(6), Time::ns(1));
  EXPECT_EQ(grant.begin, Time::ns(8));
  EXPECT_EQ(grant.end, Time::ns(9));
}

TEST(Arbiter, ServesInCallOrderEvenIfALaterCallAsksForAnEarlierTime) {
  Arbiter unit;
  (void)unit.acquire(Time::ns(100), Time::ns(10));
  EXPECT_EQ(unit.acquire(Time::ns(0), Time::ns(10)).begin, Time::ns(110));
}

TEST(Arbiter, NothingTakesNoTime) {
  Arbiter unit;
  (void)unit.acquire(Time::ns(5), Time::ns(3));
  const Arbiter::Grant grant = unit.acquire(Time::ns(6), Time());
  EXPECT_EQ(grant.begin, grant.end);
  EXPECT_EQ(unit.free_at(), Time::ns(8));
}

TEST(Arbiter, MergeTakesTheLaterUser) {
  Arbiter unit;
  (void)unit.acquire(Time::ns(5), Time::ns(3));
  unit.merge(Time::ns(2));
  EXPECT_EQ(unit.free_at(), Time::ns(8));
  unit.merge(Time::ns(20));
  EXPECT_EQ(unit.acquire(Time(), Time::ns(1)).begin, Time::ns(20));
}

}  // namespace
}  // namespace offramp
