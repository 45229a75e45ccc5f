// Gathers and writes the outputs of a run: at its end, or one rank's alone when it ends before.
#pragma once

#include <string>

namespace offramp {

class Session;

/// Collective over MPI_COMM_WORLD: gathers the ranks' contributions and writes what the configuration asks
/// for.
void write_reports(Session& session);

/// This rank's part of the report (rank_report).
std::string own_contribution(Session& session);
/// This rank's capture, which is a file of its own.
void write_capture(Session& session);
/// The program with its arguments.
std::string command_line();

}  // namespace offramp
