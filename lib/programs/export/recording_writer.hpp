// Writes any program as a recording.
#pragma once

#include <string>

#include "lib/programs/import/program.hpp"

namespace offramp::trace {

/// Builds the recording in memory. Fails if the program cannot be read or exceeds a recording's limits.
Result<recording::Recording> recording_of(const Program& program);
/// Writes the recording to a file.
Result<void> write_recording(const Program& program, const std::string& path);

}  // namespace offramp::trace
