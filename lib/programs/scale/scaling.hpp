// Extrapolates a program, recorded at several numbers of ranks, to another number. The model is learned from
// all recordings and tested by predicting the largest one from the others.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/programs/scale/comparison.hpp"
#include "lib/programs/scale/scaled.hpp"

namespace offramp::scale {

/// A recording and its name for messages.
struct NamedProgram {
  std::string name;
  trace::Program program;
};

/// How a rank's share of the work changes from recording to recording: each value follows the number of ranks
/// to this power. `nullopt`: fewer than three recordings, or one of them has none of it.
struct Trend {
  std::optional<double> computing;  // of a rank in all
  std::optional<double> bytes;      // of a message, on average

  /// kRecorded: they show neither strong nor weak scaling.
  [[nodiscard]] ComputeScaling scaling() const;
};

/// A program at another number of ranks, with the evidence for it.
struct Scaling {
  trace::Program program;
  std::shared_ptr<const Model> model;
  /// The largest recording compared with its prediction. Without shares if it is the only one.
  Comparison held_out;
  std::vector<std::string> not_foretold;  // reasons, one sentence each
  std::vector<std::string> notes;         // differences between the recordings, one sentence each
  /// Sizes and loop turns that keep growing beyond the recorded numbers of ranks. The program may limit them
  /// in a way that no recording shows.
  std::vector<std::string> growing;
  Trend trend;
  ComputeScaling compute = ComputeScaling::kRecorded;  // of this program's CPU times
  /// How often arrival order decided something; the world decides instead.
  std::uint64_t wildcards = 0;
  std::uint64_t choices = 0;
  std::uint64_t questions = 0;

  /// Why the result is unconfirmed: the smaller recordings predict no call of the largest one. Empty if they
  /// predict some, or with a single recording.
  [[nodiscard]] std::string caveat() const;
};

/// Learns and tests recordings of one program once, for any numbers of ranks.
class LearnedProgram {
 public:
  /// A failure has three lines: the problem, the most frequent reason, and what can be done. With
  /// all_reasons it has a line for each reason.
  static Result<LearnedProgram> learn(const std::vector<NamedProgram>& recorded, ComputeScaling compute,
                                      bool all_reasons = false);

  /// Fails with what is unknown at this number of ranks.
  [[nodiscard]] Result<Scaling> at(int ranks) const { return at(ranks, compute_); }
  /// With other CPU times than learn() was asked for.
  [[nodiscard]] Result<Scaling> at(int ranks, ComputeScaling compute) const;

 private:
  ComputeScaling compute_ = ComputeScaling::kRecorded;
  std::vector<Model> others_;                               // also match all recordings
  Scaling tested_;                                          // without a program
  std::vector<std::pair<std::string, std::string>> facts_;  // of the program
};

/// "99.9 %"; "-" if `all` is 0.
std::string share_text(std::uint64_t part, std::uint64_t all);

}  // namespace offramp::scale
