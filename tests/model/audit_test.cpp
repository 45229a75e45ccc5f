// The audit of a world finds errors in the occupations that it receives.
#include "simulators/world/audit.hpp"

#include <gtest/gtest.h>

namespace offramp::world {
namespace {

class AnAudit : public testing::Test {
 protected:
  /// Requests the resource from `asked` on for a duration, by an event at `now`. In nanoseconds.
  void occupy(int now, int asked, int duration) {
    audit.event(Time::ns(now));
    const Arbiter::Grant grant = resource.timeline.acquire(Time::ns(asked), Time::ns(duration));
    audit.occupied(resource, kDescription, Time::ns(asked), grant, 0);
  }

  static constexpr ResourceDescription kDescription{"unit"};
  Resource resource;
  Audit audit;
};

TEST_F(AnAudit, AcceptsWaitsForAnOccupiedResource) {
  occupy(0, 0, 10);
  occupy(5, 5, 10);
  occupy(7, 7, 10);
  occupy(100, 100, 10);  // idle before, while no request waited
  occupy(103, 103, 10);
  EXPECT_EQ(audit.violations(), std::vector<std::string>());
}

TEST_F(AnAudit, FindsAResourceThatIsIdleWhileSomethingWaits) {
  occupy(0, 0, 10);
  occupy(5, 50, 10);  // reserved, but idle from 10 to 50
  EXPECT_EQ(audit.violations(), std::vector<std::string>());
  occupy(20, 20, 10);  // could have begun at 20
  ASSERT_EQ(audit.violations().size(), 1);
  EXPECT_NE(audit.violations()[0].find("unit is idle from 20000 ps on for 30000 ps"), std::string::npos)
      << audit.violations()[0];
}

TEST_F(AnAudit, LetsResourcesPassThatAreReservedAhead) {
  static constexpr ResourceDescription kAhead{.name = "unit", .reserved_ahead = true};
  const auto occupy_ahead = [this](int now, int asked) {
    audit.event(Time::ns(now));
    const Arbiter::Grant grant = resource.timeline.acquire(Time::ns(asked), Time::ns(10));
    audit.occupied(resource, kAhead, Time::ns(asked), grant, 0);
  };
  occupy_ahead(5, 50);
  occupy_ahead(20, 20);
  EXPECT_EQ(audit.violations(), std::vector<std::string>());
}

TEST_F(AnAudit, AcceptsAReservationThatDelaysNoRequest) {
  occupy(0, 0, 10);
  occupy(5, 50, 10);
  occupy(55, 55, 10);  // after the gap
  EXPECT_EQ(audit.violations(), std::vector<std::string>());
}

}  // namespace
}  // namespace offramp::world
