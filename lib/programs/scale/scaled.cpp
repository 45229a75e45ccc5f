#include "lib/programs/scale/scaled.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "lib/programs/recording/all_ranks.hpp"
#include "lib/programs/recording/unrecorded_reader.hpp"
#include "lib/programs/scale/comparison.hpp"
#include "lib/programs/scale/samples.hpp"

namespace offramp::scale {
namespace {

using recording::Event;
using recording::EventKind;

/// Shared by all ranks of a scaled program.
struct Shared {
  std::shared_ptr<const Model> model;
  std::int64_t ranks = 0;
  Sides sides = {1, 1, 1};
  ComputeScaling scaling = ComputeScaling::kRecorded;
};

std::shared_ptr<const Shared> shared_of(std::shared_ptr<const Model> model, std::int64_t ranks,
                                        const Sides& sides, ComputeScaling scaling) {
  return std::make_shared<const Shared>(Shared{std::move(model), ranks, sides, scaling});
}

class ScaledRank final : public recording::UnrecordedReader {
 public:
  /// alike_turns: by the step that ends a loop, true if one turn suffices for validation. Null: makes all.
  ScaledRank(std::shared_ptr<const Shared> shared, int rank, const std::vector<bool>* alike_turns = nullptr)
      : shared_(std::move(shared)),
        program_(*shared_->model->role_of(shared_->sides, rank)),
        alike_turns_(alike_turns) {
    world_.ranks = world_.size = shared_->ranks;
    world_.rank = world_.own = rank;
    world_.sides = shared_->sides;
    world_.at = coordinates(shared_->sides, rank);
    donor_ = &program_.donors[static_cast<std::size_t>(rank) % program_.donors.size()];
    time_places_.resize(program_.calls);
    communicators_ = {{world_.size, world_.own}, {1, 0}};
  }

  bool next(Event& event) override {
    while (error_.empty() && at_ < program_.steps.size()) {
      const Step& step = program_.steps[at_];
      switch (step.kind) {
        case Step::Kind::kLoop:
          enter(step);
          break;
        case Step::Kind::kEnd:
          leave_or_repeat(step);
          break;
        case Step::Kind::kCall:
          ++at_;
          make(step, event);
          return error_.empty();
      }
    }
    return false;
  }
  [[nodiscard]] recording::Times times() const override { return times_; }
  [[nodiscard]] std::span<const std::uint64_t> list(std::uint32_t number) const override {
    if (number == kAllRanks) return recording::all_ranks(static_cast<std::size_t>(shared_->ranks));
    if (number == 0 || number > lists_.size()) return {};
    return lists_[number - 1];
  }
  [[nodiscard]] std::string_view call(std::uint16_t number) const override {
    return shared_->model->pool->call(number);
  }
  [[nodiscard]] const std::string& error() const override { return error_; }

 private:
  struct Turns {
    std::int64_t turn = 0;
    std::int64_t turns = 0;
  };
  struct TimePlace {
    std::uint32_t run = 0;
    std::uint64_t used = 0;  // of the run
  };

  /// The number of the list of all ranks, beside those in lists_.
  static constexpr std::uint32_t kAllRanks = 3;
  static constexpr std::string_view kNoNumber = "is not a whole number there";

  /// problem: "is -3 there"
  void fail(const Step& step, std::string_view what, const std::string& rule, std::string_view problem) {
    const std::string call =
        step.kind == Step::Kind::kCall ? shared_->model->pool->call_of(step.symbol) : "a loop";
    if (error_.empty())
      error_ = fmt::format("rank {} of {}: {} of {} ({}) {}", world_.rank, world_.ranks, what, call, rule,
                           problem);
  }
  /// Returns the value of a rule. Sets the error and returns 0 if it is undefined or out of range. Recorded
  /// constants may be negative, as wildcards are.
  std::int64_t number(const Step& step, const Expression& rule, const EvaluationPoint& place,
                      std::string_view what, std::int64_t most) {
    const auto value = rule.value(place);
    if (!value) {
      fail(step, what, rule.text(), kNoNumber);
    } else if (*value > most || (*value < 0 && !rule.is_constant())) {
      fail(step, what, rule.text(), fmt::format("is {} there", *value));
    }
    return value.value_or(0);
  }

  /// A dimension in which the grid differs from all grids where the rule was learned, if any.
  [[nodiscard]] std::optional<std::size_t> unknown_side(const KnownSides& known) const {
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (known[i] != 0 && known[i] != world_.sides[i]) return i;
    }
    return std::nullopt;
  }
  void fail_unknown(const KnownSides& known, std::size_t side, std::string_view what) {
    const std::string where = shared_->model->layout.dimensions == 1
                                  ? fmt::format("at {} ranks", known[side])
                                  : fmt::format("where side {} of the grid is {}", side, known[side]);
    error_ = fmt::format("the behaviour of {} is known only {}, but it is {} there (rank {} of {}, {})", what,
                         where, world_.sides[side], world_.rank, world_.ranks, program_.name);
  }

  void enter(const Step& step) {
    if (const auto side = unknown_side(step.known)) return fail_unknown(step.known, *side, "a loop");
    const std::int64_t turns = number(step, step.turns, world_, "the number of iterations", INT64_MAX);
    if (turns <= 0) {
      at_ = step.other_end + 1;
      return;
    }
    open_.push_back({0, turns});
    ++at_;
  }
  void leave_or_repeat(const Step& step) {
    const bool is_over = alike_turns_ != nullptr && (*alike_turns_)[at_];
    if (++open_.back().turn < open_.back().turns && !is_over) {
      at_ = step.other_end + 1;
      return;
    }
    open_.pop_back();
    ++at_;
  }

  [[nodiscard]] const CallRule& rule_of(const Step& step) const {
    std::size_t number = 0;
    for (const auto& [loop, turns] : step.unrolled)
      number = number * static_cast<std::size_t>(turns) +
               static_cast<std::size_t>(open_[static_cast<std::size_t>(loop)].turn);
    return step.rules[number];
  }
  void set_turn(EvaluationPoint& place, int loop) const {
    const Turns turns = loop < 0 ? Turns{0, 1} : open_[static_cast<std::size_t>(loop)];
    place.turn = turns.turn;
    place.turns = turns.turns;
  }

  void make(const Step& step, Event& event) {
    event = shared_->model->pool->event(step.symbol);
    const CallRule& rule = rule_of(step);
    if (const auto side = unknown_side(rule.known))
      return fail_unknown(rule.known, *side, shared_->model->pool->call_of(step.symbol));
    EvaluationPoint place = world_;
    std::tie(place.size, place.own) = communicators_[event.communicator];
    const auto value = [&](const Turning<Expression>& one, std::string_view what, std::int64_t most) {
      set_turn(place, one.loop);
      return number(step, one.rule, place, what, most);
    };
    place.peer = value(rule.peer, "the peer", names_rank(event) ? place.size - 1 : INT32_MAX);
    event.peer = static_cast<std::int32_t>(place.peer);
    event.tag = static_cast<std::int32_t>(value(rule.tag, "the tag", INT32_MAX));
    event.bytes = static_cast<std::uint64_t>(value(rule.bytes, "the size", INT64_MAX));
    event.extra = static_cast<std::uint64_t>(value(rule.extra, "the number of elements", INT64_MAX));
    if (event.kind == EventKind::kCommunicator) {
      make_communicator(step, rule, event);
    } else {
      event.list = make_list(step, rule.list, place, 0);
      event.second_list = make_list(step, rule.second_list, place, 1);
    }
    times_ = next_times(step.number);
  }

  std::uint32_t make_list(const Step& step, const Turning<ListRule>& one, EvaluationPoint& place,
                          std::size_t number) {
    set_turn(place, one.loop);
    if (!one.rule.values(place, lists_[number]))
      fail(step, "a list", one.rule.text(), "has no value there, or a negative one");
    return lists_[number].empty() ? 0 : static_cast<std::uint32_t>(number) + 1;
  }
  void make_communicator(const Step& step, const CallRule& rule, Event& event) {
    const auto group = rule.members->at(world_);
    if (!group) return fail(step, "a communicator", rule.members->text(), kNoNumber);
    const bool has_all = rule.members->kind == Members::Selection::kAll;
    lists_[0].resize(has_all ? 0 : static_cast<std::size_t>(group->size));
    for (std::size_t i = 0; i < lists_[0].size(); ++i)
      lists_[0][i] = static_cast<std::uint64_t>(group->member(static_cast<std::int64_t>(i)));
    event.list = has_all ? kAllRanks : 1;
    // All members agree on it: each makes its communicators in the same order.
    event.extra = communicators_.size();
    communicators_.emplace_back(group->size, group->own);
  }

  /// The donor's times call by call, repeated from the start if it had fewer. In strong scaling a rank has
  /// less work between calls; calls without a model last as long as recorded.
  recording::Times next_times(std::size_t call) {
    std::array<std::uint64_t, kTimeFields> next{};
    for (std::size_t i = 0; i < kTimeFields; ++i) {
      const auto runs = donor_->times[call][i].runs();
      if (runs.empty()) continue;
      TimePlace& place = time_places_[call][i];
      const Series::Repetition& run = runs[place.run];
      if (++place.used == run.times) {
        place.used = 0;
        place.run = (place.run + 1) % static_cast<std::uint32_t>(runs.size());
      }
      next[i] = static_cast<std::uint64_t>(run.value);
    }
    const auto shared_out = [&](std::uint64_t time) {
      if (shared_->scaling != ComputeScaling::kStrong) return time;
      const double share = static_cast<double>(donor_->ranks) / static_cast<double>(shared_->ranks);
      return static_cast<std::uint64_t>(static_cast<double>(time) * share);
    };
    return {shared_out(next[0]), shared_out(next[1]), next[2]};
  }

  std::shared_ptr<const Shared> shared_;
  const RoleProgram& program_;
  const std::vector<bool>* alike_turns_;
  const Donor* donor_ = nullptr;
  EvaluationPoint world_;
  std::size_t at_ = 0;
  std::vector<Turns> open_;
  std::vector<std::pair<std::int64_t, std::int64_t>> communicators_;  // size, and the rank in it
  std::vector<std::array<TimePlace, kTimeFields>> time_places_;       // by call
  std::array<std::vector<std::uint64_t>, 2> lists_;                   // of the event
  recording::Times times_;
  std::string error_;
};

// Users are not asked to record more ranks than this.
constexpr std::int64_t kMostAdvised = 512;

/// The smallest number of ranks that has all of these roles. `nullopt` if it is too large to record.
std::optional<std::int64_t> smallest_with(const Model& model, const std::set<std::uint64_t>& roles) {
  for (std::int64_t ranks = 2; ranks <= kMostAdvised; ++ranks) {
    const auto sides = model.layout.sides(ranks);
    if (!sides) continue;
    std::set<std::uint64_t> left = roles;
    for (std::int64_t rank = 0; rank < ranks; ++rank) left.erase(model.roles.key(*sides, rank));
    if (left.empty()) return ranks;
  }
  return std::nullopt;
}

/// Fails if no recording has some of the roles; names the affected ranks.
Result<void> check_roles(const Model& model, const Sides& sides, std::int64_t ranks) {
  std::set<std::uint64_t> all;
  std::set<std::string> names;
  std::int64_t missing = 0;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const std::uint64_t key = model.roles.key(sides, rank);
    all.insert(key);
    if (model.programs.contains(key)) continue;
    names.insert(model.roles.name(key));
    ++missing;
  }
  if (missing == 0) return {};
  const auto enough = smallest_with(model, all);
  return failure(fmt::format("{} of {} ranks ({}) have a position on {} that no recording has{}", missing,
                             ranks, fmt::join(names, ", "), model.layout.text(),
                             enough ? fmt::format("; add a recording on {} ranks", *enough) : ""));
}

/// For each loop, indexed by the step that ends it: true if nothing in it depends on its turn.
std::vector<bool> alike_turns(const RoleProgram& program, const Pool& pool) {
  std::vector<bool> alike(program.steps.size(), true);
  std::vector<std::size_t> ends;  // of the open loops
  for (const Step& step : program.steps) {
    if (step.kind == Step::Kind::kLoop) ends.push_back(step.other_end);
    if (step.kind == Step::Kind::kEnd) ends.pop_back();
    if (step.kind != Step::Kind::kCall) continue;
    const auto depends_on = [&](int loop) {
      if (loop >= 0) alike[ends[static_cast<std::size_t>(loop)]] = false;
    };
    for (const auto& [loop, turns] : step.unrolled) depends_on(loop);
    for (const CallRule& rule : step.rules) {
      for (const int loop : {rule.peer.loop, rule.tag.loop, rule.bytes.loop, rule.extra.loop, rule.list.loop,
                             rule.second_list.loop})
        depends_on(loop);
    }
    // Later steps refer to it by the number of communicators made before.
    if (pool.event(step.symbol).kind == EventKind::kCommunicator) {
      for (const std::size_t end : ends) alike[end] = false;
    }
  }
  return alike;
}

/// 0, the last index, and then indices that halve the remaining gaps. Each index once.
std::vector<std::size_t> spread_out(std::size_t count) {
  std::vector<std::size_t> order = {0};
  if (count > 1) order.push_back(count - 1);
  for (std::size_t step = std::bit_ceil(count); step > 0; step /= 2) {
    for (std::size_t i = step; i + 1 < count; i += 2 * step) order.push_back(i);
  }
  return order;
}

// The limit of calls made for validation: more take seconds.
constexpr std::uint64_t kMostTried = 20'000'000;

/// The problem with the numbers of each role, by its key. Empty if all have values. Checks all of its ranks,
/// or a selection across the program if there are too many calls.
using Trials = std::map<std::uint64_t, std::string>;
Trials try_roles(const std::shared_ptr<const Shared>& shared) {
  const Model& model = *shared->model;
  std::map<std::uint64_t, std::vector<int>> ranks;
  for (int rank = 0; rank < shared->ranks; ++rank) {
    const std::uint64_t key = model.roles.key(shared->sides, rank);
    if (model.programs.contains(key)) ranks[key].push_back(rank);
  }
  Trials trials;
  for (const auto& [key, all] : ranks) {
    std::string& problem = trials[key];
    const std::vector<bool> alike = alike_turns(model.programs.at(key), *model.pool);
    std::uint64_t tried = 0;
    for (const std::size_t number : spread_out(all.size())) {
      ScaledRank reader(shared, all[number], &alike);
      for (Event event; reader.next(event);) ++tried;
      problem = reader.error();
      if (!problem.empty() || tried > kMostTried / ranks.size()) break;
    }
  }
  return trials;
}

}  // namespace

Result<trace::Program> at_ranks(const std::shared_ptr<const Model>& model, int ranks,
                                ComputeScaling scaling) {
  const auto sides = model->layout.sides(ranks);
  if (!sides)
    return failure(fmt::format("{} ranks do not fit {}: a multiple of {} does", ranks, model->layout.text(),
                               model->layout.fixed));
  if (const Result<void> known = check_roles(*model, *sides, ranks); !known) return failure(known.error());
  const auto shared = shared_of(model, ranks, *sides, scaling);
  for (const auto& [role, problem] : try_roles(shared)) {
    if (!problem.empty()) return failure(problem);
  }
  trace::Program program;
  program.kind = "scaled program";
  program.description.ranks = ranks;
  program.read = [shared](int rank) { return std::make_unique<ScaledRank>(shared, rank); };
  program.has_arrival = false;
  return program;
}

std::string difference_at(const std::shared_ptr<const Model>& model,
                          const std::shared_ptr<const Model>& other, int ranks) {
  // If the other model lacks roles, it makes no statement about this number of ranks.
  const auto sides = other->layout.sides(ranks);
  if (!sides || !check_roles(*other, *sides, ranks)) return {};
  const auto one_shared = shared_of(model, ranks, *model->layout.sides(ranks), ComputeScaling::kRecorded);
  const auto other_shared = shared_of(other, ranks, *sides, ComputeScaling::kRecorded);
  constexpr int kTried = 64;
  for (int i = 0; i < std::min(kTried, ranks); ++i) {
    const auto rank =
        static_cast<int>(std::int64_t{ranks - 1} * i / std::max(1, std::min(kTried, ranks) - 1));
    ScaledRank one(one_shared, rank);
    ScaledRank another(other_shared, rank);
    const std::string difference = first_difference(one, another);
    if (!another.error().empty()) return another.error();
    if (!difference.empty()) return fmt::format("rank {}, {}", rank, difference);
  }
  return {};
}

Extrapolation extrapolation_of(const std::shared_ptr<const Model>& model, int ranks) {
  const Sides sides = model->layout.sides(ranks).value_or(Sides{ranks, 1, 1});
  const auto shared = shared_of(model, ranks, sides, ComputeScaling::kRecorded);
  Extrapolation foretold;
  const auto trials = std::make_shared<const Trials>(try_roles(shared));
  for (const auto& [role, problem] : *trials) {
    const std::string_view what = std::string_view(problem).substr(0, problem.find(" (rank "));
    const auto is_listed = [&](const std::string& reason) { return reason.starts_with(what); };
    if (!problem.empty() && std::ranges::none_of(foretold.unknown, is_listed))
      foretold.unknown.push_back(problem);
  }
  foretold.read = [shared, trials](int rank) -> std::unique_ptr<recording::Reader> {
    const auto role = trials->find(shared->model->roles.key(shared->sides, rank));
    if (role == trials->end() || !role->second.empty()) return nullptr;
    return std::make_unique<ScaledRank>(shared, rank);
  };
  foretold.role = [shared](int rank) {
    return shared->model->roles.name(shared->model->roles.key(shared->sides, rank));
  };
  return foretold;
}

}  // namespace offramp::scale
