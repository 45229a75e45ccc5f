// What the report says of a run as a world saw it: its phases, what was shared, and the critical path.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lib/report/report.hpp"

namespace offramp {

/// Adds the fields to those of the lane. settled: has a result.
void add_settled(nlohmann::ordered_json& lane, const Settled& settled);

/// The fields "computing" and "whole_run" of reports.
nlohmann::ordered_json computing_json(const ProgramTimes& program);

/// What the lane stands on; without a text where it does not say.
Footing footing_of(const nlohmann::ordered_json& lane);

// Lines of the summary, from the fields of a lane that may have them; empty, or whole lines.
std::string phases_text(const nlohmann::ordered_json& report);
/// The busiest links of the network, and what sharing them cost.
std::string links_text(const nlohmann::ordered_json& report);
/// What stragglers cost.
std::string stragglers_text(const nlohmann::ordered_json& report);

}  // namespace offramp
