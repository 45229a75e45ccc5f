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
/// ranks: of the job. host: as in BackendContext; the ranks of a node copy their blocks as fast as its memory
/// does. Null: as fast as the hosts with which the card was measured, `processor = sc23`.
DriverSpec driver_of(const Settings& settings, const FaultRates& faults, int ranks,
                     const MachineLayout& machine, const Settings* host = nullptr);

/// As in BackendDescription.
Footing footing(const Settings& settings, const MachineLayout& machine, int ranks);
/// As BackendDescription::without_effect.
std::vector<WithoutEffect> without_effect(const Settings& settings);

}  // namespace offramp::dpu
