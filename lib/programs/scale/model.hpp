// A program as a function of the number of ranks: per role, calls and loops with expressions as numbers. It
// is learned from several recordings and matches all their calls, or lists those that it does not match.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/programs/scale/expression.hpp"
#include "lib/programs/scale/folding.hpp"
#include "lib/programs/scale/layout.hpp"
#include "lib/programs/scale/lists.hpp"
#include "lib/programs/scale/members.hpp"

namespace offramp::scale {

/// A rule that may depend on the turn of one loop: `loop` is its depth from the outside, or -1.
template <typename Rule>
struct Turning {
  Rule rule;
  int loop = -1;
};

/// Sides of the grid that were equal in all samples of a rule, whose validity elsewhere is unknown. 0: the
/// side varied or does not matter.
using KnownSides = Sides;

/// The numbers of a call.
struct CallRule {
  Turning<Expression> peer, tag, bytes, extra;
  Turning<ListRule> list, second_list;
  std::optional<Members> members;  // of a communicator that it makes
  /// Where the evidence of sizes and lists ends.
  KnownSides known = {};
};

/// A call, or one end of a loop.
struct Step {
  /// kEnd is the end of a loop.
  enum class Kind : std::uint8_t { kCall, kLoop, kEnd };
  Kind kind = Kind::kCall;
  // Fields of a call:
  std::uint32_t symbol = 0;
  std::size_t number = 0;  // counted within the role
  /// Loops with separate rules per turn, and their turns; the innermost varies fastest.
  std::vector<std::pair<int, std::int64_t>> unrolled;
  std::vector<CallRule> rules;
  // Fields of a loop: its turns, and the index of its other end.
  Expression turns;
  std::size_t other_end = 0;
  /// Where the evidence of the number of turns ends.
  KnownSides known = {};
};

/// A recorded rank whose CPU times are used for ranks that were not recorded.
struct Donor {
  std::int64_t ranks = 0;
  std::int64_t rank = 0;
  std::vector<std::array<Series, kTimeFields>> times;  // per call, by Step::number
};

/// What all ranks of one role do.
struct RoleProgram {
  std::string name;
  std::vector<Step> steps;
  /// Steps that are calls.
  std::size_t calls = 0;
  std::vector<Donor> donors;  // of the largest recording that has the role
};

/// A program as learned. Immutable once returned: programs made from it share it.
struct Model {
  Layout layout;
  Roles roles;
  std::shared_ptr<const Pool> pool;
  /// By the key of the role.
  std::map<std::uint64_t, RoleProgram> programs;
  std::vector<std::int64_t> learned_from;  // numbers of ranks
  bool uses_grid = false;                  // some rule depends on coordinates or sides
  bool is_doubtful = false;                // on a line, but peers may be neighbours on a grid

  /// Null if no recording has a rank with this role.
  [[nodiscard]] const RoleProgram* role_of(const Sides& sides, std::int64_t rank) const;
};

/// Something that does not fit: function, place, and reason in words.
struct Misfit {
  std::string what;
  std::string advice;       // what the user can do; may be empty
  std::uint64_t calls = 0;  // affected calls
};

/// The result of learn(): models, or the reasons why there is none.
struct Learned {
  /// Models that match all calls, simplest first, one per layout. Those after the first use their grid.
  std::vector<Model> models;
  std::vector<Misfit> misfits;  // without models: of the rules that match most calls
};

/// How much evidence is required.
enum class Proof : std::uint8_t {
  kByCounts,   // sizes and turns must match at several numbers of ranks
  kByPattern,  // only neighbourhood may depend on the number of ranks
};
/// Tries layouts and rules for roles, the simplest first. programs: in the same pool.
Learned learn(std::span<const FoldedProgram* const> programs, const std::shared_ptr<const Pool>& pool,
              Proof proof);

}  // namespace offramp::scale
