// The backend's parameters, and the platform that they describe.
#pragma once

#include <vector>

#include "offramp/model/backend.hpp"
#include "simulators/dpu/platform.hpp"

namespace offramp::dpu {

/// In the order in which they are listed to users.
const std::vector<Parameter>& parameters();

/// The platform, and the host's part.
struct DriverSpec {
  PlatformSpec platform;
  Time emit = Time::ns(300);     // cost of a notification of a point-to-point message
  std::int64_t eager_limit = 0;  // bytes
  bool carries_within_node = false;
};
/// ranks: of the job. host: as in BackendContext; ranks of a node copy their blocks at the speed of its
/// memory. nullptr: at the speed of the hosts with which the card was measured, `processor = sc23`.
DriverSpec driver_of(const Settings& settings, const FaultRates& faults, int ranks,
                     const MachineLayout& machine, const Settings* host = nullptr);

/// As in BackendDescription.
Deployment deployment(const Settings& settings, const MachineLayout& machine, int ranks);
/// As BackendDescription::without_effect.
std::vector<WithoutEffect> without_effect(const Settings& settings);

}  // namespace offramp::dpu
