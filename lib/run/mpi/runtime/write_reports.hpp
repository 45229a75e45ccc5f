// Gathers and writes the outputs of a run: at its end, or one rank's alone when it ends before.
#pragma once

#include "lib/answers/report/run_report.hpp"

namespace offramp {

class Session;

/// Every rank calls it at the end of the program: writes what the configuration asks for.
void write_outputs(Session& session);

/// This rank's part of the report (as it counted the run).
RunReport own_contribution(Session& session);
/// What the report says of the run itself, as far as this rank knows.
RunFacts facts_of(Session& session);

}  // namespace offramp
