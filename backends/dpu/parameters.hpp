// The backend's parameters, and the platform that their values describe.
#pragma once

#include <vector>

#include "offramp/model/backend.hpp"
#include "simulators/dpu/platform.hpp"

namespace offramp::dpu {

const std::vector<Parameter>& parameters();

struct DriverSpec {
  PlatformSpec platform;
  Time emit;                 // a notification of a point-to-point message
  std::int64_t eager_limit;  // bytes
  bool carries_within_node;
};
/// ranks: of the job.
DriverSpec driver_of(const Settings& settings, const FaultRates& faults, int ranks,
                     const MachineLayout& machine);

/// The ranks of a node copy their blocks as fast as the memory of these hosts does: the card's rates are
/// those of the hosts that it was measured with, `processor = sc23`. One rank of a node copies as before.
void copy_as(const Settings& host, const MachineLayout& machine, CardSpec& card);

/// As in BackendDescription.
Footing footing(const Settings& settings, const MachineLayout& machine, int ranks);
/// As BackendDescription::without_effect.
std::vector<WithoutEffect> without_effect(const Settings& settings);

}  // namespace offramp::dpu
