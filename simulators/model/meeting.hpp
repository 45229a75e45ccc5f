// Meetings: modelled time across calls of the MPI library's own. What such a call does costs no modelled
// time, but where it makes ranks wait for each other, their clocks have to show it.
//
// The clocks travel as tokens of the team, which cost nothing. A meeting is a maximum, so it does not matter
// in which order the tokens come.
#pragma once

#include <vector>

#include "offramp/model/backend.hpp"

namespace offramp {

/// The clock goes to the latest of all members: log2(ranks) rounds of one token each.
Task<Outcome> meet_everyone(Team& team);
/// The clock goes to the latest of the ranks in `from`, while those in `to` are told the one of this rank.
Task<Outcome> meet_neighbours(Team& team, std::vector<int> to, std::vector<int> from);

}  // namespace offramp
