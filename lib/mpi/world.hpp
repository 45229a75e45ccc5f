// MPI_COMM_WORLD while the session is being built: what all ranks have to know or to agree on.
#pragma once

#include <string>
#include <vector>

namespace offramp {

int world_rank();
int world_size();

/// Every rank's bytes, in rank order. Collective.
std::vector<std::string> exchange_strings(const std::string& own);

/// The largest of the ranks' values. Collective.
int largest_of_all(int own);

/// Every rank calls it, with its own error or none; ends the job when any has one. Rank order decides who
/// speaks.
void agree(const std::string& error);

}  // namespace offramp
