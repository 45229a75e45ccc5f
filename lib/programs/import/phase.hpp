// A part of a program: the phases with one name (MPI_Pcontrol).
#pragma once

#include <string>

#include "lib/programs/import/program.hpp"

namespace offramp::trace {

/// The name of the phase that a kPhase event with a level above 0 begins: "level 2" if it has no name.
std::string phase_name(const recording::Reader& reader, const recording::Event& event);

/// Returns the calls of all phases with that name, the phase events, and the communicators that they use.
/// Phases begin with their first call, without the time before it. Reads the whole program. Fails, with the
/// ranks, if no phase has the name, or if its calls are connected to others (requests, messages,
/// collectives).
Result<Program> part_of(const Program& program, const std::string& phase);

}  // namespace offramp::trace
