// The table of the places where the order of arrival decides: separate entries, joint counts, bounded size.
#include "lib/run/engine/arrival_places.hpp"

#include <gtest/gtest.h>

namespace offramp {
namespace {

ArrivalPlace place(std::uintptr_t site, std::uint64_t context = 0, std::uint16_t function = 0) {
  return {reinterpret_cast<const void*>(site), context, function};  // NOLINT(performance-no-int-to-ptr)
}

TEST(ArrivalPlaces, AreSiteCommunicatorAndFunctionTogether) {
  ArrivalPlaces places;
  for (int i = 0; i < 1000; ++i) {
    places.count(place(0x1000));
    places.count(place(0x1000, 1));
    places.count(place(0x1000, 0, 1));
    places.count(place(0x1005));
  }
  places.count(place(0x1005));
  ASSERT_EQ(places.entries().size(), 4U);
  EXPECT_EQ(places.entries()[0].times, 1000U);
  EXPECT_EQ(places.entries()[3].place, place(0x1005));
  EXPECT_EQ(places.entries()[3].times, 1001U);
  EXPECT_EQ(places.overflow_count(), 0U);
}

TEST(ArrivalPlaces, BeyondItsRoomAreCountedTogether) {
  ArrivalPlaces places;
  for (int round = 0; round < 3; ++round) {
    for (std::uintptr_t i = 0; i < 2 * ArrivalPlaces::kMost; ++i) places.count(place(0x400000 + 16 * i));
  }
  EXPECT_EQ(places.entries().size(), ArrivalPlaces::kMost);
  for (const ArrivalPlaces::Entry& entry : places.entries()) EXPECT_EQ(entry.times, 3U);
  EXPECT_EQ(places.overflow_count(), 3 * ArrivalPlaces::kMost);
}

}  // namespace
}  // namespace offramp
