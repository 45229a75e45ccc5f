// The noise of recorded computing: how much it varies where a rank repeats a call, and other runs of the
// program that differ by as much.
//
// A repetition is the time before a call of one size at one call site of a rank, after a call at the same
// site as before. Its times are assumed to be independent of each other, so what changes the whole run (the
// clock of a processor, a neighbour on the node) shows only in several recordings.
#pragma once

#include <cstdint>

#include "lib/answers/replay/replay.hpp"

namespace offramp {

struct ComputingRepetition {
  double repeated = 0;  // the share of the time in calls that their rank repeats three times or more
  bool varies = false;  // some of those times differ
};
/// Reads all events of the program.
ComputingRepetition computing_repetition(const ReplaySource& source);

/// The program with the time before each call taken from any of the call's repetitions. run: a number of that
/// run. The source's readers must outlive it.
ReplaySource another_run(const ReplaySource& source, std::uint64_t run);

/// Nine tenths of the means of so many values lie within so many of their own standard deviations: Student's
/// t at 95 %.
double student_at_nine_tenths(std::size_t values);

}  // namespace offramp
