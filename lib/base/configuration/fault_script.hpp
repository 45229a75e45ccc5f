// Faults as text: what a user writes into faults.script, and what a run writes into faults.record. One line
// is one event, so that a record is a script that makes the same faults happen again.
//
//   KIND [SOURCE>DESTINATION[/CHANNEL]] [packet N] [from TIME] [to TIME]
//
// KIND: lose, duplicate, reorder, corrupt, delay, down (both ways of a link). A * stands for any end. Lines
// end at a newline or a semicolon; # begins a comment.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/registry/registry.hpp"
#include "offramp/kernel/fault.hpp"

namespace offramp {

/// The events, or what is wrong with which line.
Result<std::vector<FaultEvent>> parse_fault_script(std::string_view text);

/// One line of a script, without its end.
std::string to_string(const FaultEvent& event);

/// Appends every fault to a file, each once, as soon as it happens: what a run that crashes or hangs has done
/// is there. Several processes of one machine can share the file. fresh: what the file held is gone.
Result<std::shared_ptr<FaultLog>> open_fault_log(const std::string& path, bool fresh);

}  // namespace offramp
