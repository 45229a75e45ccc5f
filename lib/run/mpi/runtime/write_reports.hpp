// Gathers and writes the outputs of a run at its end.
#pragma once

#include "lib/answers/report/run_facts.hpp"

namespace offramp {

class Session;

/// Every rank calls it at the end of the program: writes what the configuration asks for.
void write_outputs(Session& session);

/// What the report says of the run itself, as far as this rank knows.
RunFacts facts_of(Session& session);

}  // namespace offramp
