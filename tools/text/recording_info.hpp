// What a program holds, and what it lacks: offramp info NAME, and what a replay says before it begins.
#pragma once

#include <cstdint>
#include <string>

#include "lib/programs/import/program.hpp"

namespace offramp::tool {

/// Prints what the opener of a program has noticed.
void print_program_notes(const std::string& name, const trace::Program& program);
/// "xxh3:1f00a3...", as `xxhsum -H3` has it; empty: it is not one file.
std::string checksum_text(const trace::Program& program);

enum class RecordingView : std::uint8_t { kText, kJson, kEvents };
/// name: what open_program() takes.
int recording_info(const std::string& name, RecordingView view);

}  // namespace offramp::tool
