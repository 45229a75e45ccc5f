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

/// What all ranks of a scaled program share.
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
  /// alike_turns: of loops, by the number of the step that ends them, whether one of their turns is enough,
  /// to see whether all numbers have values. Null: all turns are made.
  ScaledRank(std::shared_ptr<const Shared> shared, int rank, const std::vector<bool>* alike_turns = nullptr)
      : shared_(std::move(shared)),
        program_(*shared_->model->role_of(shared_->sides, rank)),
        alike_turns_(alike_turns) {
    world_.ranks = world_.size = shared_->ranks;
    world_.rank = world_.own = rank;
    world_.sides = shared_->sides;
    world_.at = coordinates(shared_->sides, rank);
    donor_ = &program_.donors[static_cast<std::size_t>(rank) % program_.donors.size()];
    times_.resize(program_.calls);
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
  [[nodiscard]] std::uint64_t computed() const override { return computed_; }
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

  /// The list of them, beside those in lists_.
  static constexpr std::uint32_t kAllRanks = 3;
  static constexpr std::string_view kNoNumber = "is no whole number there";

  /// problem: "is -3 there"
  void fail(const Step& step, std::string_view what, const std::string& rule, std::string_view problem) {
    const std::string call =
        step.kind == Step::Kind::kCall ? shared_->model->pool->call_of(step.symbol) : "a loop";
    if (error_.empty())
      error_ = fmt::format("rank {} of {}: {} of {} ({}) {}", world_.rank, world_.ranks, what, call, rule,
                           problem);
  }
  /// 0 and the error, unless it has a value there and that is one of those. What was recorded as it is stays
  /// so below 0, as wildcards do.
  std::int64_t number(const Step& step, const Expression& rule, const Place& place, std::string_view what,
                      std::int64_t most) {
    const auto value = rule.value(place);
    if (!value) {
      fail(step, what, rule.text(), kNoNumber);
    } else if (*value > most || (*value < 0 && !rule.is_constant())) {
      fail(step, what, rule.text(), fmt::format("is {} there", *value));
    }
    return value.value_or(0);
  }

  /// The dimension in which the grid is another than wherever the rule was learned. Nothing: there is none.
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
    error_ = fmt::format("what {} does is known only {}, and it is {} there (rank {} of {}, {})", what, where,
                         world_.sides[side], world_.rank, world_.ranks, program_.name);
  }

  void enter(const Step& step) {
    if (const auto side = unknown_side(step.known)) return fail_unknown(step.known, *side, "a loop");
    const std::int64_t turns = number(step, step.turns, world_, "the number of turns", INT64_MAX);
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
  void set_turn(Place& place, int loop) const {
    const Turns turns = loop < 0 ? Turns{0, 1} : open_[static_cast<std::size_t>(loop)];
    place.turn = turns.turn;
    place.turns = turns.turns;
  }

  void make(const Step& step, Event& event) {
    event = shared_->model->pool->event(step.symbol);
    const CallRule& rule = rule_of(step);
    if (const auto side = unknown_side(rule.known))
      return fail_unknown(rule.known, *side, shared_->model->pool->call_of(step.symbol));
    Place place = world_;
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
    computed_ = next_time(step.number);
  }

  std::uint32_t make_list(const Step& step, const Turning<ListRule>& one, Place& place, std::size_t number) {
    set_turn(place, one.loop);
    if (!one.rule.values(place, lists_[number]))
      fail(step, "a list", one.rule.text(), "has no value there, or one below 0");
    return lists_[number].empty() ? 0 : static_cast<std::uint32_t>(number) + 1;
  }
  void make_communicator(const Step& step, const CallRule& rule, Event& event) {
    const auto group = rule.members->at(world_);
    if (!group) return fail(step, "a communicator", rule.members->text(), kNoNumber);
    const bool has_all = rule.members->kind == Members::Kind::kAll;
    lists_[0].resize(has_all ? 0 : static_cast<std::size_t>(group->size));
    for (std::size_t i = 0; i < lists_[0].size(); ++i)
      lists_[0][i] = static_cast<std::uint64_t>(group->member(static_cast<std::int64_t>(i)));
    event.list = has_all ? kAllRanks : 1;
    // Members agree on it: each makes its communicators in the same order.
    event.extra = communicators_.size();
    communicators_.emplace_back(group->size, group->own);
  }

  /// As the donor had them, call by call, and from the beginning again where it had fewer.
  std::uint64_t next_time(std::size_t call) {
    const auto runs = donor_->times[call].runs();
    if (runs.empty()) return 0;
    TimePlace& place = times_[call];
    const Series::Run& run = runs[place.run];
    if (++place.used == run.times) {
      place.used = 0;
      place.run = (place.run + 1) % static_cast<std::uint32_t>(runs.size());
    }
    const auto time = static_cast<std::uint64_t>(run.value);
    if (shared_->scaling != ComputeScaling::kStrong) return time;
    const double share = static_cast<double>(donor_->ranks) / static_cast<double>(shared_->ranks);
    return static_cast<std::uint64_t>(static_cast<double>(time) * share);
  }

  std::shared_ptr<const Shared> shared_;
  const RoleProgram& program_;
  const std::vector<bool>* alike_turns_;
  const Donor* donor_ = nullptr;
  Place world_;
  std::size_t at_ = 0;
  std::vector<Turns> open_;
  std::vector<std::pair<std::int64_t, std::int64_t>> communicators_;  // size, and the rank in it
  std::vector<TimePlace> times_;                                      // by call
  std::array<std::vector<std::uint64_t>, 2> lists_;                   // of the event
  std::uint64_t computed_ = 0;
  std::string error_;
};

// Recordings of more ranks are not what a user is asked for.
constexpr std::int64_t kMostAdvised = 512;

/// The smallest number of ranks that has all of these roles. Nothing: none that could be recorded.
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

/// Fails with the ranks that no recording has.
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
  return failure(
      fmt::format("{} of {} ranks ({}) have a place on {} that no recording has{}", missing, ranks,
                  fmt::join(names, ", "), model.layout.text(),
                  enough ? fmt::format("; a recording of {} ranks has all of them", *enough) : ""));
}

/// Of each loop, by the number of the step that ends it, whether nothing that is done in it depends on its
/// turn.
std::vector<bool> alike_turns(const RoleProgram& program, const Pool& pool) {
  std::vector<bool> alike(program.steps.size(), true);
  std::vector<std::size_t> ends;  // of the loops that are open
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
    // Later steps name it by how many were made before.
    if (pool.event(step.symbol).kind == EventKind::kCommunicator) {
      for (const std::size_t end : ends) alike[end] = false;
    }
  }
  return alike;
}

/// 0, the last one, and then those between, each time where the widest gaps are. All of them once.
std::vector<std::size_t> spread_out(std::size_t count) {
  std::vector<std::size_t> order = {0};
  if (count > 1) order.push_back(count - 1);
  for (std::size_t step = std::bit_ceil(count); step > 0; step /= 2) {
    for (std::size_t i = step; i + 1 < count; i += 2 * step) order.push_back(i);
  }
  return order;
}

// Calls that are made to see whether all numbers have values: more take seconds.
constexpr std::uint64_t kMostTried = 20'000'000;

/// What is wrong with the numbers of a role, by its key. Empty: all of them have values, at all of its ranks
/// as long as they are not too many calls, else at ranks all over the program.
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
  // The other one may not have all roles: then it says nothing of so many ranks.
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

Foretold foretell(const std::shared_ptr<const Model>& model, int ranks) {
  const Sides sides = model->layout.sides(ranks).value_or(Sides{ranks, 1, 1});
  const auto shared = shared_of(model, ranks, sides, ComputeScaling::kRecorded);
  Foretold foretold;
  const auto trials = std::make_shared<const Trials>(try_roles(shared));
  for (const auto& [role, problem] : *trials) {
    const std::string_view what = std::string_view(problem).substr(0, problem.find(" (rank "));
    const auto is_told = [&](const std::string& told) { return told.starts_with(what); };
    if (!problem.empty() && std::ranges::none_of(foretold.unknown, is_told))
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
