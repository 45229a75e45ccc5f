// From recordings of one program at several numbers of ranks to the program at another: learned from all of
// them, and tested by what the others foretell of the largest.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lib/programs/scale/comparison.hpp"
#include "lib/programs/scale/scaled.hpp"

namespace offramp::scale {

struct NamedProgram {
  std::string name;
  trace::Program program;
};

struct Scaling {
  trace::Program program;
  std::shared_ptr<const Model> model;
  /// The largest recording as those below foretell it. Without shares: there is only one.
  Comparison held_out;
  std::vector<std::string> not_foretold;  // why, a sentence each
  std::vector<std::string> notes;         // what recordings do not have in common, a sentence each
  /// Sizes and turns of loops that grow with the number of ranks beyond what was recorded. The program may
  /// end their growth at a limit that no recording shows.
  std::vector<std::string> growing;
  /// What the order of arrival decided, which is left to the world: how often.
  std::uint64_t wildcards = 0;
  std::uint64_t choices = 0;
  std::uint64_t questions = 0;

  /// Why nothing says that the result is right: the others foretell no call of the largest recording. Empty:
  /// they foretell some, or there is one recording alone, of which nothing can be foretold.
  [[nodiscard]] std::string doubt() const;
};

/// What recordings of one program say of it at any number of ranks: learned and tested once.
class LearnedProgram {
 public:
  /// A failure names all that does not fit, and what can be done.
  static Result<LearnedProgram> learn(const std::vector<NamedProgram>& recorded, ComputeScaling compute);

  /// A failure says what is not known at so many ranks.
  [[nodiscard]] Result<Scaling> at(int ranks) const;

 private:
  ComputeScaling compute_ = ComputeScaling::kRecorded;
  std::vector<Model> others_;                               // that explain all recordings, too
  Scaling tested_;                                          // without a program
  std::vector<std::pair<std::string, std::string>> facts_;  // of the program
};

/// The same for one number of ranks.
Result<Scaling> scale(const std::vector<NamedProgram>& recorded, int ranks, ComputeScaling scaling);

/// "99.9 %"; "-" of none.
std::string share_text(std::uint64_t part, std::uint64_t all);

}  // namespace offramp::scale
