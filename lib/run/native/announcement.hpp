// How ranks find out which of MPI_COMM_WORLD have Offramp, before any message of Offramp's: a rank without it
// would take such a message for one of the program's. Each rank publishes a text through what starts the
// processes (PMIx or PMI) before MPI_Init. No rank leaves MPI_Init before all have entered it, so that a text
// that is missing then will never come.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace offramp {

/// Publishes the text of this rank: one line without blanks. Call it once, before the MPI library is up. Does
/// nothing if the launcher gives no way that is known here.
void announce(const std::string& text);

/// The texts of all ranks of MPI_COMM_WORLD, empty for a rank that published none. `nullopt` if this rank
/// could not publish its own. Call it once, when the MPI library is up.
std::optional<std::vector<std::string>> announced(int ranks);

/// The process was started by the launcher of another MPI library as one of several, so that its own library
/// takes it for a world of one rank: the name of that launcher's library. Empty otherwise. Call it before the
/// MPI library is up.
std::string foreign_launcher();

}  // namespace offramp
