#include "simulators/model/meeting.hpp"

namespace offramp {
namespace {

Stamp stamp_of(Time clock) {
  Stamp stamp;
  stamp.first = clock;
  stamp.last = clock;
  return stamp;
}

}  // namespace

// Dissemination: after the round of distance d, this rank knows the clocks of the 2 d ranks up to its own.
// The pairs of the rounds differ, so no two tokens of a meeting can be taken for each other.
Task<Outcome> meet_everyone(Team& team) {
  for (int distance = 1; distance < team.size(); distance *= 2) {
    const int to = (team.rank() + distance) % team.size();
    const int from = (team.rank() + team.size() - distance) % team.size();
    const Team::PendingToken sent = team.send_token(to, {}, stamp_of(team.clock));
    const Team::Arrival heard = co_await team.receive_token(from, {});
    team.clock = later(team.clock, heard.stamp.last);
    co_await sent;
  }
  co_return Outcome::kOk;  // a peer that is gone is reported by whoever needs it
}

Task<Outcome> meet_neighbours(Team& team, std::vector<int> to, std::vector<int> from) {
  std::vector<Team::PendingToken> sent;
  sent.reserve(to.size());
  for (const int peer : to) sent.push_back(team.send_token(peer, {}, stamp_of(team.clock)));
  for (const int peer : from) {
    const Team::Arrival heard = co_await team.receive_token(peer, {});
    team.clock = later(team.clock, heard.stamp.last);
  }
  for (const Team::PendingToken& token : sent) co_await token;
  co_return Outcome::kOk;
}

}  // namespace offramp
