// A program as a function of the number of ranks: for each role a sequence of calls and loops whose numbers
// are expressions. It is learned from recordings at several numbers of ranks, and holds for all of their
// calls, or says for which it does not.
#pragma once

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

/// What depends on a turn depends on that of one loop: how deep it lies, from the outside; -1: of none.
template <typename Rule>
struct Turning {
  Rule rule;
  int loop = -1;
};

/// Sides of the grid that were the same wherever a rule was learned: it is not known where they are others.
/// 0: there were several, or it does not matter.
using KnownSides = Sides;

/// The numbers of a call.
struct CallRule {
  Turning<Expression> peer, tag, bytes, extra;
  Turning<ListRule> list, second_list;
  std::optional<Members> members;  // of a communicator that it makes
  KnownSides known = {};
};

struct Step {
  enum class Kind : std::uint8_t { kCall, kLoop, kEnd };
  Kind kind = Kind::kCall;
  // A call.
  std::uint32_t symbol = 0;
  std::size_t number = 0;  // counted within the role
  /// Loops of which each turn has rules of its own, and their turns; the innermost counts fastest.
  std::vector<std::pair<int, std::int64_t>> unrolled;
  std::vector<CallRule> rules;
  // A loop, and where it ends or begins.
  Expression turns;
  std::size_t other_end = 0;
  KnownSides known = {};
};

/// A recorded rank whose CPU times stand for those of ranks that were not recorded.
struct Donor {
  std::int64_t ranks = 0;
  std::int64_t rank = 0;
  std::vector<Series> times;  // of each call, by Step::number
};

struct RoleProgram {
  std::string name;
  std::vector<Step> steps;
  std::size_t calls = 0;
  std::vector<Donor> donors;  // of the largest recording that has the role
};

struct Model {
  Layout layout;
  Roles roles;
  std::shared_ptr<const Pool> pool;
  std::map<std::uint64_t, RoleProgram> programs;
  std::vector<std::int64_t> learned_from;  // numbers of ranks
  bool uses_grid = false;                  // some rule is of coordinates or sides
  bool is_doubtful = false;                // on a line, with peers that may be neighbours on a grid

  /// Null: no recording has such a rank.
  [[nodiscard]] const RoleProgram* role_of(const Sides& sides, std::int64_t rank) const;
};

/// What does not fit, in words: which function, where, and why.
struct Misfit {
  std::string what;
  std::string advice;       // what can be done; may be empty
  std::uint64_t calls = 0;  // that it concerns
};

struct Learned {
  /// What explains all calls, the simplest first, one for each layout that does. Those behind the first are
  /// there only where they make use of their grid.
  std::vector<Model> models;
  std::vector<Misfit> misfits;  // without models: of the rules that explain most
};

/// How much has to be proven.
enum class Proof : std::uint8_t {
  kByCounts,   // sizes and turns hold where there were several numbers of ranks to tell
  kByPattern,  // nothing may depend on the number of ranks but who is whose neighbour
};
Learned learn(std::span<const FoldedProgram* const> programs, const std::shared_ptr<const Pool>& pool,
              Proof proof);

}  // namespace offramp::scale
