// Describes a program and its limits: offramp info NAME, and the notes before a replay.
#pragma once

#include <cstdint>
#include <string>

#include "lib/programs/import/program.hpp"

namespace offramp::tool {

/// Prints the notes of the program's reader on standard error.
void print_program_notes(const std::string& name, const trace::Program& program);
/// "xxh3:1f00a3...", like `xxhsum -H3`. Empty if the program is not a single file.
std::string checksum_text(const trace::Program& program);

enum class RecordingView : std::uint8_t { kText, kJson, kEvents };
/// name: as for open_program(). Returns the exit code.
int recording_info(const std::string& name, RecordingView view);

}  // namespace offramp::tool
