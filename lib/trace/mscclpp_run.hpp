// Runs a plan of MSCCL++, operation by operation, without times: which thread blocks wait for what, what
// their chunks hold in the end, and the messages that all of it is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/trace/graph.hpp"
#include "lib/trace/mscclpp_plan.hpp"
#include "offramp/kernel/result.hpp"

namespace offramp::trace {

/// Empty, or what is wrong whatever the size: thread blocks that wait for ever, or chunks that do not hold
/// what the collective leaves in them. It runs twice, with the blocks that could go on in one order and in
/// the other one, so that what no operation waits for is found where it matters.
std::string problem_of_plan(const OneSidedPlan& plan);

/// What each GPU does for a buffer of so many bytes, which the plan does not refuse: data that is written to
/// another GPU, or read by it, is a message, and so is a signal. The receiver takes them when they come, and
/// goes on with what waits for them.
Result<std::vector<Graph>> graphs_of_plan(const OneSidedPlan& plan, std::uint64_t whole);

}  // namespace offramp::trace
