// The noise of recorded computing: by how much the computing of another run may differ.
//
// Several recordings show it directly. Of one recording, the repetitions of each call show it: the times
// before calls of similar size at one call site, after a call at the same site as before. They are assumed to
// be independent of each other, so what changes the whole run (the clock of a processor, a neighbour on the
// node) shows only in several recordings.
#pragma once

#include <optional>
#include <vector>

#include "lib/answers/replay/replay.hpp"

namespace offramp {

/// Times of the rank that computes longest.
struct ComputingNoise {
  double mean = 1;   // of all recordings, over the first one
  double share = 0;  // the mean lies within this share of it, or for one recording another run: at 90 %
};
/// Reads all events. repetitions: further recordings of the program. `nullopt`: there are none, and ranks
/// repeat less than half of the computing three times.
std::optional<ComputingNoise> computing_noise(const ReplaySource& source,
                                              const std::vector<ReplaySource>& repetitions);

}  // namespace offramp
