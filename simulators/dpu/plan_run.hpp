// Executes a plan on the service processes: RTS, READ, ACK, and results of reductions (collective.hpp).
#pragma once

#include <memory>
#include <vector>

#include "simulators/dpu/collective.hpp"

namespace offramp::dpu {

/// Runs any collective except a barrier. agenda, observer: see make_offload(); null if stand-alone.
std::unique_ptr<Offload> run_plan(const PlatformSpec& spec, const CollectiveRequest& request,
                                  const std::vector<bool>& host_run, EventSink* event_sink,
                                  Offload::Observer* observer);

}  // namespace offramp::dpu
