// The closed form of a reliable transport: the cost of each fault, and when it gives up.
#include "offramp/kernel/repair.hpp"

#include <gtest/gtest.h>

namespace offramp {
namespace {

constexpr ReliableTransport kTransport{Time::us(100), Time::us(2), 3};

FaultRates scripted(std::vector<FaultEvent> events) {
  FaultRates faults;
  faults.script = std::make_shared<const FaultScript>(std::move(events));
  faults.delay_time = Time::us(7);
  return faults;
}

FaultEvent at(Fault kind, std::uint64_t packet) {
  FaultEvent event;
  event.kind = kind;
  event.packet = packet;
  return event;
}

TEST(AReliableTransport, RepeatsLostAndDamagedPacketsAfterItsTimeout) {
  WireCounters wire;
  const Repair repair =
      repair_of(scripted({at(Fault::kLost, 40), at(Fault::kCorrupted, 41)}), kTransport, 0, 40, Time(), wire);
  EXPECT_EQ(repair.time, Time::us(200));
  EXPECT_FALSE(repair.gave_up);
  EXPECT_EQ(wire.lost, 1U);
  EXPECT_EQ(wire.corrupted, 1U);
  EXPECT_EQ(wire.retransmissions, 2U);
}

TEST(AReliableTransport, GivesUpWhenItsRetriesAreUsedUp) {
  WireCounters wire;
  EXPECT_TRUE(repair_of(scripted({at(Fault::kLost, 0), at(Fault::kLost, 1), at(Fault::kLost, 2),
                                  at(Fault::kLost, 3)}),
                        kTransport, 0, 0, Time(), wire)
                  .gave_up);
  EXPECT_EQ(wire.lost, kTransport.numbers());
  EXPECT_EQ(wire.retransmissions, 3U);
}

TEST(AReliableTransport, RefusesReorderedPacketsAndRecognizesDuplicates) {
  WireCounters wire;
  EXPECT_EQ(repair_of(scripted({at(Fault::kReordered, 0)}), kTransport, 0, 0, Time(), wire).time,
            Time::us(2));
  EXPECT_EQ(repair_of(scripted({at(Fault::kDuplicated, 0)}), kTransport, 0, 0, Time(), wire).time, Time());
  EXPECT_EQ(repair_of(scripted({at(Fault::kDelayed, 0)}), kTransport, 0, 0, Time(), wire).time, Time::us(7));
}

TEST(AReliableTransport, GetsThroughWhenTheLinkIsUpAgain) {
  FaultEvent down;
  down.begin = Time::us(50);
  down.end = Time::us(250);
  WireCounters wire;
  // Attempts at 60, 160 and 260 us.
  EXPECT_EQ(repair_of(scripted({down}), kTransport, 0, 0, Time::us(60), wire).time, Time::us(200));
}

}  // namespace
}  // namespace offramp
