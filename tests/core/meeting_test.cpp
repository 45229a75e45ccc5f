// Meetings: clocks go to the latest of those who wait for each other, whatever the order in which they come.
#include "simulators/model/meeting.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "lib/engine/collective.hpp"
#include "tests/core/support.hpp"

namespace offramp {
namespace {

/// Ranks with clocks of their own on one communicator.
class Members {
 public:
  explicit Members(int count) : ranks_(count) {
    for (int rank = 0; rank < count; ++rank) {
      contexts_.push_back(&ranks_.open(rank, kCollectiveContext | 9));
      meetings_.push_back(std::make_unique<Collective>(ranks_[rank], *contexts_.back()));
      clock(rank) = Time::ns(100 + (rank * 7) % 5);
    }
  }
  Time& clock(int rank) { return ranks_[rank].clock()->now; }
  Collective& meeting(int rank) { return *meetings_[static_cast<std::size_t>(rank)]; }
  test::Ranks& ranks() { return ranks_; }
  Context& context(int rank) { return *contexts_[static_cast<std::size_t>(rank)]; }

 private:
  test::Ranks ranks_;
  std::vector<Context*> contexts_;
  std::vector<std::unique_ptr<Collective>> meetings_;
};

TEST(AMeeting, TakesEveryClockToTheLatest) {
  for (int count = 1; count <= 9; ++count) {
    for (int latest = 0; latest < count; ++latest) {
      Members members(count);
      members.clock(latest) = Time::us(3);
      for (int rank = 0; rank < count; ++rank) members.meeting((rank + latest) % count).meet();
      members.ranks().settle();
      for (int rank = 0; rank < count; ++rank) {
        ASSERT_TRUE(members.meeting(rank).done()) << rank << " of " << count;
        members.meeting(rank).observe();
        EXPECT_EQ(members.clock(rank), Time::us(3)) << rank << " of " << count;
      }
    }
  }
}

TEST(AMeeting, EndsWhenTheLastOneEnters) {
  Members members(6);
  for (int rank = 1; rank < 6; ++rank) members.meeting(rank).meet();
  members.ranks().settle();
  for (int rank = 1; rank < 6; ++rank) EXPECT_FALSE(members.meeting(rank).done());
  members.meeting(0).meet();
  members.ranks().settle();
  for (int rank = 0; rank < 6; ++rank) EXPECT_TRUE(members.meeting(rank).done());
}

TEST(AMeeting, ShowsOnTheClockWhenItIsObserved) {
  Members members(2);
  members.clock(1) = Time::us(8);
  members.meeting(0).meet();
  members.meeting(1).meet();
  members.ranks().settle();
  EXPECT_EQ(members.clock(0), Time::ns(100));
  members.clock(0) = Time::us(9);  // the program went on meanwhile
  members.meeting(0).observe();
  members.meeting(1).observe();
  EXPECT_EQ(members.clock(0), Time::us(9));
  EXPECT_EQ(members.clock(1), Time::us(8));
}

TEST(AMeeting, CostsNothingAndIsNoOperation) {
  Members members(4);
  for (int rank = 0; rank < 4; ++rank) {
    members.clock(rank) = Time::us(1);
    members.meeting(rank).meet();
  }
  members.ranks().settle();
  for (int rank = 0; rank < 4; ++rank) {
    members.meeting(rank).observe();
    Lane& lane = members.ranks()[rank].lane();
    EXPECT_EQ(members.clock(rank), Time::us(1));
    EXPECT_EQ(lane.wire().packets, 0U);
    EXPECT_EQ(lane.counters.calls[0].offloaded + lane.counters.calls[0].declined, 0U);
    auto& clock = static_cast<EstimatedClock&>(*members.ranks()[rank].clock());
    for (const Resource& unit : clock.units(Lane::kHost).all()) EXPECT_EQ(unit.timeline.free_at(), Time());
    EXPECT_EQ(members.context(rank).pending, 0);
  }
}

TEST(AMeeting, AmongNeighboursHearsOnlyOfThem) {
  // A line: each rank tells the one above.
  Members members(4);
  const std::vector<Time> entered = {Time::us(5), Time::us(2), Time::us(9), Time::us(1)};
  for (int rank = 0; rank < 4; ++rank) {
    members.clock(rank) = entered[static_cast<std::size_t>(rank)];
    std::vector<int> to(rank < 3 ? 1 : 0, rank + 1);
    std::vector<int> from(rank > 0 ? 1 : 0, rank - 1);
    members.meeting(rank).meet(std::move(to), std::move(from));
  }
  members.ranks().settle();
  for (int rank = 0; rank < 4; ++rank) members.meeting(rank).observe();
  EXPECT_EQ(members.clock(0), Time::us(5));
  EXPECT_EQ(members.clock(1), Time::us(5));
  EXPECT_EQ(members.clock(2), Time::us(9));
  EXPECT_EQ(members.clock(3), Time::us(9));
}

TEST(AMeeting, OfASubjectTakesTellingAndHearingInOrder) {
  Members members(3);
  std::vector<std::unique_ptr<Collective>> told;
  // Rank 0 tells about subject 1, then twice about subject 0; rank 2 has no part in it.
  for (const auto& [subject, at] :
       {std::pair{1U, Time::us(3)}, std::pair{0U, Time::us(5)}, std::pair{0U, Time::us(7)}}) {
    members.clock(0) = at;
    told.push_back(std::make_unique<Collective>(members.ranks()[0], members.context(0)));
    told.back()->meet(subject, {1}, {});
  }
  for (const auto& [subject, at] :
       {std::pair{0U, Time::us(5)}, std::pair{1U, Time::us(3)}, std::pair{0U, Time::us(7)}}) {
    members.clock(1) = Time::us(1);
    Collective heard(members.ranks()[1], members.context(1));
    heard.meet(subject, {}, {0});
    members.ranks().settle();
    ASSERT_TRUE(heard.done());
    heard.observe();
    EXPECT_EQ(members.clock(1), at);
  }
  for (const auto& one : told) EXPECT_TRUE(one->done());
}

TEST(AMeeting, RunsBesideACollectiveOfTheSameCommunicator) {
  Members members(3);
  std::vector<std::unique_ptr<Collective>> barriers;
  Operation operation;
  operation.kind = OperationKind::kBarrier;
  operation.ranks = 3;
  for (int rank = 0; rank < 3; ++rank) {
    barriers.push_back(std::make_unique<Collective>(members.ranks()[rank], members.context(rank)));
    barriers.back()->start(operation, {}, nullptr);
    members.meeting(rank).meet();
  }
  members.ranks().settle();
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_TRUE(barriers[static_cast<std::size_t>(rank)]->done());
    EXPECT_TRUE(members.meeting(rank).done());
  }
}

}  // namespace
}  // namespace offramp
