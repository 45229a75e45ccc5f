// Any program as a recording.
#pragma once

#include <string>

#include "lib/programs/import/program.hpp"

namespace offramp::trace {

/// Rank by rank, in memory. A failure is of the program: it cannot be read, or is more than a recording
/// holds.
Result<recording::Recording> recording_of(const Program& program);
/// Writes that into a file.
Result<void> write_recording(const Program& program, const std::string& path);

}  // namespace offramp::trace
