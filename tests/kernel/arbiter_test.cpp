#include "offramp/kernel/arbiter.hpp"

#include <gtest/gtest.h>

#include <vector>

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

TEST(Arbiter, GrantsZeroWorkInZeroTime) {
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

/// An operation that works on a copy of the unit.
struct CopiedUse {
  CopiedUse(const Arbiter& unit, Time begun_) : taken(unit), used(unit), begun(begun_) {}
  Time join(Arbiter& unit) const { return unit.join(used, taken, begun); }
  Arbiter taken;
  Arbiter used;
  Time begun;
};

TEST(Arbiter, JoinOfAnOperationThatHadTheUnitToItselfIsItsOwnTime) {
  Arbiter unit;
  (void)unit.acquire(Time::ns(5), Time::ns(3));
  CopiedUse operation(unit, Time::ns(6));
  (void)operation.used.acquire(Time::ns(6), Time::ns(10));
  (void)operation.used.acquire(Time::ns(40), Time::ns(2));
  EXPECT_EQ(operation.join(unit), Time());
  EXPECT_EQ(unit.free_at(), Time::ns(42));
  EXPECT_EQ(unit.busy(), Time::ns(15));
}

TEST(Arbiter, JoinedOperationsThatBeganTogetherAddUp) {
  Arbiter unit;
  std::vector<CopiedUse> operations;
  for (int i = 0; i < 4; ++i) operations.emplace_back(unit, Time::ns(i));
  for (CopiedUse& operation : operations) (void)operation.used.acquire(operation.begun, Time::ns(100));
  EXPECT_EQ(operations[0].join(unit), Time());
  EXPECT_EQ(operations[1].join(unit), Time::ns(99));
  EXPECT_EQ(operations[2].join(unit), Time::ns(198));
  EXPECT_EQ(operations[3].join(unit), Time::ns(297));
  EXPECT_EQ(unit.free_at(), Time::ns(400));
}

TEST(Arbiter, JoinWaitsForWorkServedMeanwhile) {
  Arbiter unit;
  (void)unit.acquire(Time(), Time::ns(50));
  CopiedUse operation(unit, Time::ns(10));
  (void)operation.used.acquire(Time::ns(10), Time::ns(5));
  (void)unit.acquire(Time::ns(12), Time::ns(20));
  EXPECT_EQ(operation.join(unit), Time::ns(20));
  EXPECT_EQ(unit.free_at(), Time::ns(75));
}

TEST(Arbiter, JoinOfAnOperationBeforeTheLastRunOfWorkHasNoEffect) {
  Arbiter unit;
  CopiedUse operation(unit, Time());
  (void)operation.used.acquire(Time(), Time::ns(30));
  (void)unit.acquire(Time::ns(1000), Time::ns(10));
  EXPECT_EQ(operation.join(unit), Time());
  EXPECT_EQ(unit.free_at(), Time::ns(1010));
}

TEST(Arbiter, JoinOfAnOperationWithoutUseTakesOverWhenTheUnitIsFree) {
  Arbiter unit;
  CopiedUse operation(unit, Time());
  operation.used.merge(Time::ns(30));
  EXPECT_EQ(operation.join(unit), Time());
  EXPECT_EQ(unit.free_at(), Time::ns(30));
}

}  // namespace
}  // namespace offramp
