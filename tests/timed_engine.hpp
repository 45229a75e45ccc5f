// An engine with a live clock, for tests.
#pragma once

#include <memory>
#include <utility>

#include "lib/engine/engine.hpp"
#include "lib/live_clock/estimated_clock.hpp"

namespace offramp {

inline std::unique_ptr<Engine> timed_engine(Fabric& fabric, std::unique_ptr<Lane> lane) {
  auto clock = std::make_unique<EstimatedClock>(*lane);
  return std::make_unique<Engine>(fabric, std::move(lane), std::move(clock));
}

}  // namespace offramp
