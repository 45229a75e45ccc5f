// The parameters of the cclo backend, and what the model reads from them.
#pragma once

#include <vector>

#include "offramp/model/backend.hpp"
#include "simulators/cclo/layout.hpp"
#include "simulators/cclo/spec.hpp"

namespace offramp::cclo {

const std::vector<Parameter>& parameters();

/// What the host pays for.
struct HostCosts {
  Time read = Time::ns(900);  // of a register
  Time write = Time::ns(100);
  Time queue = Time::ns(30);                              // to hand a receive to the driver's queue
  Bandwidth memory = Bandwidth::gigabits_per_second(97);  // device to host and back
  Time memory_latency = Time::ns(3100);
};

struct Configuration {
  Spec spec;
  Layout layout;
  HostCosts host;
  std::uint32_t rx_buffers = 0;
};
Configuration configuration_of(const Settings& settings);

/// As BackendDescription::without_effect.
std::vector<WithoutEffect> without_effect(const Settings& settings);

}  // namespace offramp::cclo
