// A part of a program: what it does in the phases of one name (MPI_Pcontrol).
#pragma once

#include <string>

#include "lib/programs/import/program.hpp"

namespace offramp::trace {

/// As a program names the phase that the event, a kPhase of a level above 0, begins: "level 2" without a
/// name.
std::string phase_name(const recording::Reader& reader, const recording::Event& event);

/// The calls of all phases of that name, the phases themselves, and what they need from before: the
/// communicators that they use. Each phase begins with its first call: the time before counts no more. The
/// program is read once, to the end. An error says why there is no such part, of which ranks: no phase has
/// the name, or calls in it belong to calls outside (requests, messages, collectives).
Result<Program> part_of(const Program& program, const std::string& phase);

}  // namespace offramp::trace
