// Faults as text: faults.script, written by a user, and faults.record, written by a run. One line is one
// event, so a record is a script that reproduces its faults.
//
//   KIND [SOURCE>DESTINATION[/CHANNEL]] [packet N] [from TIME] [to TIME]
//
// KIND: lose, duplicate, reorder, corrupt, delay, down (both directions of a link). * matches any end. Lines
// end at a newline or a semicolon; # begins a comment.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/registry/registry.hpp"
#include "offramp/kernel/fault.hpp"

namespace offramp {

/// The events of a script. A failure names the line.
Result<std::vector<FaultEvent>> parse_fault_script(std::string_view text);

/// One line of a script, without a line end.
std::string to_string(const FaultEvent& event);

/// Returns a log that appends each fault to a file once, as soon as it happens, so that the log survives a
/// crash or a hang. Several processes of one machine can share the file. fresh: truncate an existing file.
Result<std::shared_ptr<FaultLog>> open_fault_log(const std::string& path, bool fresh);

}  // namespace offramp
