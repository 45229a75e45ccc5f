// Gathers and writes the outputs of a run at its end.
#pragma once

#include "lib/answers/report/run_facts.hpp"

namespace offramp {

class Session;

/// Writes the outputs that the configuration asks for. Collective, at the end of the program.
void write_outputs(Session& session);

/// The facts of the run for the report, as known to this rank.
RunFacts facts_of(Session& session);

}  // namespace offramp
