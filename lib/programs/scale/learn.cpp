// Tries each layout with each rule for roles until the calls of every role have one shape and all their
// numbers follow rules. Peers and tags are fitted per role, sizes and lists together with the same call of
// other roles, which adds samples. KnownSides limits a rule that was only seen where a side of the grid had
// one length. Without enough recordings, check_pattern() also rejects what may depend on the number of ranks.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <numeric>
#include <tuple>

#include "lib/base/side_by_side.hpp"
#include "lib/programs/scale/law_text.hpp"
#include "lib/programs/scale/model.hpp"
#include "lib/programs/scale/samples.hpp"

namespace offramp::scale {
namespace {

using recording::Event;
using recording::EventKind;
using Programs = std::span<const FoldedProgram* const>;

/// Tries one layout with one rule for roles.
class Attempt {
 public:
  Attempt(Programs programs, const std::shared_ptr<const Pool>& pool, Layout layout, Roles roles, Proof proof)
      : programs_(programs), pool_(*pool), proof_(proof), by_arrival_(arrival_text(programs)) {
    model_.layout = layout;
    model_.roles = std::move(roles);
    model_.pool = pool;
    for (const FoldedProgram* const program : programs) model_.learned_from.push_back(program->ranks);
  }

  /// Returns false if a number of ranks does not fit the layout.
  bool run() {
    if (!group()) return false;
    // A role with a misfit does not end the attempt: all misfits are counted, to compare attempts.
    for (auto& [key, role] : roles_) {
      collect(role, pool_, model().layout.dimensions);
      if (role.other != nullptr) {
        misfit_in_shape(role);
      } else {
        make_program(key, role);
      }
    }
    fit_shared_numbers();
    fit_turns();
    if (proof_ == Proof::kByPattern) check_pattern();
    for (const Misfit& one : misfits_) misfitting_ += one.calls;
    return true;
  }
  // Complete after run(). May be moved out.
  Model& model() { return model_; }
  std::vector<Misfit>& misfits() { return misfits_; }
  /// Numbers of calls: those that do not fit, those known at a single number of ranks only, and all.
  [[nodiscard]] std::uint64_t misfitting() const { return misfitting_; }
  [[nodiscard]] std::uint64_t lacking() const { return lacking_; }
  [[nodiscard]] std::uint64_t calls() const { return calls_; }

 private:
  /// A number whose rule is fitted together with those of other roles.
  struct Pending {
    RoleSamples* role = nullptr;
    const CallSamples* call = nullptr;
    Field field = Field::kBytes;
    const FieldSamples* samples = nullptr;
    CallRule* rule = nullptr;
  };
  using Key = std::tuple<std::uint32_t, std::string, std::size_t, Field>;

  // A hint for misfits: results of arrival order differ from run to run.
  static std::string arrival_text(Programs programs) {
    std::uint64_t wildcards = 0;
    std::uint64_t choices = 0;
    std::int64_t where = -1;
    for (const FoldedProgram* const program : programs) {
      for (const FoldedRank& rank : program->each) {
        if (rank.wildcards + rank.choices > 0 && where < 0) where = rank.rank;
        wildcards += rank.wildcards;
        choices += rank.choices;
      }
    }
    if (wildcards + choices == 0) return {};
    return fmt::format("; rank {} {}, so arrival order may decide it", where,
                       wildcards > 0 ? "receives from any source" : "waits for any of several requests");
  }

  // Assigns each recorded rank to its role.
  bool group() {
    for (const FoldedProgram* const program : programs_) {
      const auto sides = model().layout.sides(program->ranks);
      if (!sides) return false;
      for (const FoldedRank& rank : program->each) {
        EvaluationPoint place;
        // Places are those of world; communicators come with the calls.
        place.ranks = place.size = program->ranks;
        place.rank = place.own = rank.rank;
        place.sides = *sides;
        place.at = coordinates(*sides, rank.rank);
        roles_[model().roles.key(*sides, rank.rank)].ranks.push_back({&rank, place});
        calls_ += rank.events;
      }
    }
    return true;
  }

  // calls: weighs this misfit against those of other attempts.
  void add_misfit(std::string what, std::string advice, std::uint64_t calls) {
    misfits_.push_back({std::move(what), std::move(advice), std::max<std::uint64_t>(calls, 1)});
  }

  void misfit_in_shape(const RoleSamples& role) {
    const auto place_of = [&](const FoldedRank* folded) {
      return std::find_if(role.ranks.begin(), role.ranks.end(),
                          [&](const RankOf& one) { return one.folded == folded; })
          ->place;
    };
    add_misfit(
        fmt::format("{} and {} differ {}{}", rank_text(place_of(role.shape)), rank_text(place_of(role.other)),
                    difference_text(*role.shape, *role.other, pool_), by_arrival_),
        {}, role.events());
  }

  /// "MPI_Send, call 12 of rank 3 of 16"
  [[nodiscard]] std::string call_text(const RoleSamples& role, const CallSamples& call) const {
    const auto number = static_cast<std::size_t>(&call - role.calls.data());
    for (std::size_t i = 0; i < role.ranks.size(); ++i) {
      const Node* const node = role.matched[i].calls[number];
      if (node == nullptr) continue;
      std::uint64_t before = 0;
      (void)calls_before(role.ranks[i].folded->body, node, before);
      return fmt::format("{}, call {} of {}", pool_.call_of(call.symbol), before + 1,
                         rank_text(role.ranks[i].place));
    }
    return pool_.call_of(call.symbol);
  }
  // Values of lists are numbers in the pool, which mean nothing to users.
  void misfit_in_number(const Pending& one) {
    const bool is_list = one.field == Field::kList || one.field == Field::kSecondList;
    add_misfit(fmt::format("{}: its {} follows no known rule{}{}", call_text(*one.role, *one.call),
                           kFieldNames[static_cast<std::size_t>(one.field)],
                           is_list ? "" : fmt::format(" ({})", some_values(*one.samples)), by_arrival_),
               {}, one.call->events);
  }

  // --- calls ---

  static Turning<Expression>& number_of(CallRule& rule, Field field) {
    switch (field) {
      case Field::kPeer:
        return rule.peer;
      case Field::kTag:
        return rule.tag;
      case Field::kBytes:
        return rule.bytes;
      default:
        return rule.extra;
    }
  }

  // Builds the role's steps, then fits the numbers of their calls.
  void make_program(std::uint64_t key, RoleSamples& role) {
    RoleProgram& program = model().programs[key];
    program.name = model().roles.name(key);
    program.calls = role.calls.size();
    std::size_t call = 0;
    std::size_t loop = 0;
    add_steps(program, role, role.shape->body, call, loop);
    add_donors(program, role);
    // How many calls with this symbol and kind of peer came before, to pair them with other roles' calls.
    std::map<std::pair<std::uint32_t, std::string>, std::size_t> alike;
    for (Step& step : program.steps) {
      if (step.kind == Step::Kind::kCall) fit_call(role, role.calls[step.number], step, alike);
    }
  }

  // call, loop: numbers in program order, continued by inner loops.
  void add_steps(RoleProgram& program, const RoleSamples& role, std::span<const Node> nodes,
                 std::size_t& call, std::size_t& loop) {
    for (const Node& node : nodes) {
      Step step;
      if (!node.is_loop()) {
        const CallSamples& samples = role.calls[call];
        step.symbol = samples.symbol;
        step.number = call++;
        step.unrolled = samples.unrolled;
        step.rules.resize(samples.variants.size());
        program.steps.push_back(std::move(step));
        continue;
      }
      const std::size_t begin = program.steps.size();
      step.kind = Step::Kind::kLoop;
      step.number = loop++;
      program.steps.push_back(step);
      add_steps(program, role, node.body, call, loop);
      step.kind = Step::Kind::kEnd;
      step.other_end = begin;
      // Ends refer to each other, so that a reader can jump both ways.
      program.steps[begin].other_end = program.steps.size();
      program.steps.push_back(step);
    }
  }

  // Times come from the largest recording, which is nearest to what is extrapolated.
  static void add_donors(RoleProgram& program, const RoleSamples& role) {
    const auto has_more = [](const RankOf& a, const RankOf& b) { return a.place.ranks < b.place.ranks; };
    const std::int64_t most = std::max_element(role.ranks.begin(), role.ranks.end(), has_more)->place.ranks;
    for (std::size_t i = 0; i < role.ranks.size(); ++i) {
      if (role.ranks[i].place.ranks != most) continue;
      Donor donor{most, role.ranks[i].place.rank, {}};
      for (const Node* const node : role.matched[i].calls) {
        auto& times = donor.times.emplace_back();
        // A call in a loop without turns has no times.
        if (node != nullptr) std::copy_n(node->series->begin() + kProgramFields, kTimeFields, times.begin());
      }
      program.donors.push_back(std::move(donor));
    }
  }

  /// Fits peers and tags per role. The other numbers wait for other roles with the same call.
  void fit_call(RoleSamples& role, const CallSamples& call, Step& step,
                std::map<std::pair<std::uint32_t, std::string>, std::size_t>& alike) {
    if (!call.problem.empty()) {
      add_misfit(fmt::format("{} {}{}", call_text(role, call), call.problem, by_arrival_), {}, call.events);
      return;
    }
    const Event& event = pool_.event(call.symbol);
    for (std::size_t i = 0; i < step.rules.size(); ++i) {
      const CallFields& fields = call.variants[i];
      CallRule& rule = step.rules[i];
      for (const Field field : {Field::kPeer, Field::kTag}) {
        const FieldSamples& samples = fields[static_cast<std::size_t>(field)];
        const auto found = field == Field::kPeer && names_rank(event)
                               ? fit_rank(samples.values, model().layout.dimensions)
                               : fit_number(samples.values);
        if (found) {
          number_of(rule, field) = {*found, samples.loop};
          note_peer(*found, samples.values, rule);
        } else {
          misfit_in_number({&role, &call, field, &samples, &rule});
        }
      }
      // Roles agree on a size if their calls go to the same kind of peer.
      const std::string kind = fmt::format("{}/{}", rule.peer.rule.text(), rule.tag.rule.text());
      const std::size_t nth = alike[{call.symbol, kind}]++;
      for (const Field field : {Field::kBytes, Field::kExtra, Field::kList, Field::kSecondList})
        pending_[{call.symbol, kind, nth, field}].push_back(
            {&role, &call, field, &fields[static_cast<std::size_t>(field)], &rule});
    }
  }

  // Remembers what a peer's rule says about the layout.
  void note_peer(const Expression& peer, std::span<const Sample> samples, CallRule& rule) {
    Model& learned = model();
    learned.uses_grid = learned.uses_grid || peer.uses_grid();
    // A far step on a line may be a neighbour on a grid.
    const bool is_far = peer.form == Form::kOffset && peer.b == 0 && std::abs(peer.a) > 1;
    learned.is_doubtful = learned.is_doubtful || is_far || peer.form == Form::kExclusiveOr;
    if (peer.form != Form::kShift || proof_ == Proof::kByPattern) return;
    // If no side is longer than two, neighbours in both directions are the same rank.
    for (std::size_t i = 0; i < kMostDimensions; ++i) {
      Expression other = peer;
      std::int64_t& by = i == 0 ? other.a : i == 1 ? other.b : other.c;
      if (by == 0) continue;
      by = -by;
      if (!holds(other, samples)) continue;
      for (const Sample& sample : samples) rule.known[i] = std::max(rule.known[i], sample.place.sides[i]);
    }
  }

  // --- sizes and lists, over all roles that make the same call ---

  // First all roles together; if they differ, each call alone.
  void fit_shared_numbers() {
    for (const auto& [key, group] : pending_) {
      if (fit_together(group)) continue;
      for (const Pending& one : group) {
        if (!fit_together(std::span(&one, 1))) misfit_in_number(one);
      }
    }
  }

  /// Returns false if no rule matches all of them.
  bool fit_together(std::span<const Pending> group) {
    FieldSamples all;
    for (const Pending& one : group)
      all.values.insert(all.values.end(), one.samples->values.begin(), one.samples->values.end());
    const Field field = group.front().field;
    const Event& event = pool_.event(group.front().call->symbol);
    if (field == Field::kBytes || field == Field::kExtra) {
      const auto found = fit_number(all.values);
      if (!found) return false;
      for (const Pending& one : group) number_of(*one.rule, field) = {*found, one.samples->loop};
      model().uses_grid = model().uses_grid || found->uses_grid();
      // The number of a request's distance does not depend on sides.
      if (event.kind != EventKind::kWait) limit(group, all, *found != constant(0));
      return true;
    }
    if (event.kind == EventKind::kCommunicator && field == Field::kList) {
      const auto found = fit_members(members_of(all, pool_), model().layout.dimensions);
      if (!found) return false;
      for (const Pending& one : group) one.rule->members = found;
      model().uses_grid = model().uses_grid || found->kind == Members::Selection::kSlice;
      return true;
    }
    if (event.kind == EventKind::kNeighbours) return fit_blocks(group, field);
    const auto found = fit_list(lists_of(all, pool_));
    if (!found) return false;
    for (const Pending& one : group) list_of(one, field) = {*found, one.samples->loop};
    if (event.kind == EventKind::kCollective) limit(group, all, !found->elements.empty());
    return true;
  }
  static Turning<ListRule>& list_of(const Pending& one, Field field) {
    return field == Field::kList ? one.rule->list : one.rule->second_list;
  }

  /// Blocks to the same neighbour have one rule for their size, over all roles that have this neighbour.
  bool fit_blocks(std::span<const Pending> group, Field field) {
    std::map<std::string, std::vector<Sample>> sizes;  // by the rule of the neighbour
    for (const Pending& one : group) {
      const std::vector<ListSample> lists = lists_of(*one.samples, pool_);
      const auto made = fit_list(lists, model().layout.dimensions);
      if (!made) return false;
      // Ranks are at even positions, bytes at odd ones.
      for (std::size_t i = 0; i + 1 < made->elements.size(); i += 2) {
        note_peer(made->elements[i], element_samples(lists, i), *one.rule);
        std::ranges::copy(element_samples(lists, i + 1), std::back_inserter(sizes[made->elements[i].text()]));
      }
      list_of(one, field) = {*made, one.samples->loop};
    }
    for (const Pending& one : group) {
      std::vector<Expression>& elements = list_of(one, field).rule.elements;
      bool is_lacking = false;
      for (std::size_t i = 0; i + 1 < elements.size(); i += 2) {
        const std::vector<Sample>& samples = sizes[elements[i].text()];
        const auto size = fit_number(samples);
        if (!size) return false;
        elements[i + 1] = *size;
        model().uses_grid = model().uses_grid || size->uses_grid();
        add_known(*one.rule, known_sides(samples, false));
        is_lacking = is_lacking || is_at_one_count(samples);
      }
      if (is_lacking) lacking_ += one.call->events / one.call->variants.size();
    }
    return true;
  }

  /// The sides that were equal in all samples: rules may differ elsewhere. A constant that holds at several
  /// numbers of ranks is accepted if all ranks take part; messages only concern some of them.
  [[nodiscard]] KnownSides known_sides(std::span<const Sample> samples, bool is_of_all) const {
    if (is_of_all && !is_at_one_count(samples)) return {};
    KnownSides known = common_sides(samples);
    for (int i = model_.layout.dimensions; i < kMostDimensions; ++i) known[static_cast<std::size_t>(i)] = 0;
    return proof_ == Proof::kByPattern ? KnownSides{} : known;
  }
  static void add_known(CallRule& rule, const KnownSides& known) {
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (known[i] != 0) rule.known[i] = known[i];
    }
  }
  // matters: false if the number is 0 everywhere, which needs no evidence.
  void limit(std::span<const Pending> group, const FieldSamples& all, bool matters) {
    if (!matters) return;
    const Event& event = pool_.event(group.front().call->symbol);
    const bool is_of_all =
        event.kind == EventKind::kCollective && std::ranges::all_of(all.values, [](const Sample& sample) {
          // Communicators of some ranks do not prove it for all.
          return sample.value == 0 || sample.place.size == sample.place.ranks;
        });
    const KnownSides known = known_sides(all.values, is_of_all);
    for (const Pending& one : group) {
      add_known(*one.rule, known);
      if (is_at_one_count(all.values)) lacking_ += one.call->events / one.call->variants.size();
    }
  }
  // True if all samples have one number of ranks.
  [[nodiscard]] static bool is_at_one_count(std::span<const Sample> samples) {
    return std::all_of(samples.begin(), samples.end(), [&](const Sample& sample) {
      return sample.place.ranks == samples.front().place.ranks;
    });
  }

  // --- loops ---

  // A rule that was seen at several numbers of ranks.
  struct KnownLoop {
    Expression rule;
    KnownSides known;
  };

  void fit_turns() {
    std::vector<KnownLoop> known;
    // Loops with more evidence come first: others may use their rules.
    for (const bool at_one_count : {false, true}) {
      for (auto& [key, program] : model().programs) {
        const RoleSamples& role = roles_.at(key);
        for (Step& step : program.steps) {
          if (step.kind != Step::Kind::kLoop) continue;
          const LoopSamples& loop = role.loops[step.number];
          if (at_one_count == is_at_one_count(loop.turns)) fit_loop(role, loop, step, known);
        }
      }
    }
  }

  void fit_loop(const RoleSamples& role, const LoopSamples& loop, Step& step, std::vector<KnownLoop>& known) {
    const auto found = fit_number(loop.turns);
    if (!found) return misfit_in_turns(role, loop, step);
    step.turns = *found;
    model().uses_grid = model().uses_grid || found->uses_grid();
    // Its turns are equal everywhere, as unrolling demands.
    if (loop.is_unrolled) return;
    step.known = known_sides(loop.turns, is_fixed(*found));
    if (!is_at_one_count(loop.turns)) known.push_back({*found, step.known});
    if (step.known == KnownSides()) return;
    // Uses the rule of a role seen at more numbers of ranks, if it gives the same number of turns here.
    for (const KnownLoop& one : known) {
      const bool is_same = std::all_of(loop.turns.begin(), loop.turns.end(), [&](const Sample& sample) {
        return one.rule.value(sample.place) == sample.value;
      });
      if (!is_same) continue;
      step.turns = one.rule;
      step.known = one.known;
      return;
    }
    if (is_at_one_count(loop.turns)) lacking_ += first_call(role, step.number).events;
  }

  // Each loop contains a call, since empty bodies do not fold.
  static const CallSamples& first_call(const RoleSamples& role, std::size_t loop) {
    return *std::find_if(role.calls.begin(), role.calls.end(), [&](const CallSamples& call) {
      return std::find(call.loops.begin(), call.loops.end(), loop) != call.loops.end();
    });
  }

  void misfit_in_turns(const RoleSamples& role, const LoopSamples& loop, const Step& step) {
    FieldSamples turns;
    turns.values = loop.turns;
    const CallSamples& call = first_call(role, step.number);
    add_misfit(fmt::format("{}: the iterations of its loop follow no known rule ({}){}",
                           call_text(role, call), some_values(turns), by_arrival_),
               {}, call.events);
  }

  // --- what is proven by its pattern alone ---

  /// Returns true if a number is the same everywhere.
  static bool is_fixed(const Expression& rule) {
    return rule.form == Form::kNumber && rule.measure == Measure::kOne && rule.power == 0;
  }
  /// Returns true if a peer is a neighbour, at a distance from all others at which no other rule names the
  /// same rank. Wildcards count as neighbours.
  static bool is_neighbour(const Expression& rule, const RoleSamples& role) {
    // On a short side, another rule could name the same rank.
    const auto is_far = [](std::int64_t side, std::int64_t by) {
      return by == 0 || side >= 2 * std::abs(by) + 2;
    };
    const auto is_clear = [&](const RankOf& rank) {
      const Sides& sides = rank.place.sides;
      if (rule.form == Form::kOffset) return rule.b == 0 && is_far(rank.place.ranks, rule.a);
      return is_far(sides[0], rule.a) && is_far(sides[1], rule.b) && is_far(sides[2], rule.c);
    };
    // Ranks. Wider stencils are rare.
    constexpr std::int64_t kNear = 2;
    switch (rule.form) {
      case Form::kNumber:
        // Wildcards and MPI_PROC_NULL are negative.
        return is_fixed(rule) && rule.c < 0;
      case Form::kShift:
        return std::max({std::abs(rule.a), std::abs(rule.b), std::abs(rule.c)}) <= kNear &&
               std::ranges::all_of(role.ranks, is_clear);
      case Form::kOffset:
        return std::abs(rule.a) <= kNear && std::ranges::all_of(role.ranks, is_clear);
      default:
        return false;
    }
  }

  /// Returns true if the blocks of a neighbourhood collective have one size each, and go to neighbours.
  static bool has_near_blocks(const CallRule& rule, const RoleSamples& role) {
    return std::ranges::all_of(
        std::array{&rule.list.rule, &rule.second_list.rule}, [&](const ListRule* list) {
          for (std::size_t i = 0; i + 1 < list->elements.size(); i += 2) {
            if (!is_neighbour(list->elements[i], role) || !is_fixed(list->elements[i + 1])) return false;
          }
          return true;
        });
  }

  /// How the turns may be related to the ranks or a side of their grid, with recordings at a single number of
  /// ranks: "one less than the ranks". Empty if there is no such relation, or several numbers of ranks.
  [[nodiscard]] std::string as_ranks(std::span<const Sample> samples) const {
    if (samples.empty() || !is_at_one_count(samples)) return {};
    const EvaluationPoint& place = samples.front().place;
    const std::int64_t value = samples.front().value;
    // Small numbers of turns equal something by chance.
    if (value < 2) return {};
    const std::int64_t ranks = place.ranks;
    if (value == ranks) return "the number of ranks";
    if (value == ranks - 1) return "one less than the number of ranks";
    if (value == 2 * ranks || value == 2 * (ranks - 1)) return "twice the number of ranks, or twice one less";
    if (value == ranks / 2 || value == ranks / 2 - 1) return "half the number of ranks, or one less";
    if (value == value_of(Measure::kLogarithm, place)) return "the logarithm of the number of ranks";
    for (int i = 0; model_.layout.dimensions > 1 && i < model_.layout.dimensions; ++i) {
      const std::int64_t side = place.sides[static_cast<std::size_t>(i)];
      if (value == side || value == side - 1) return "a side of the grid, or one less";
    }
    return {};
  }
  /// Returns true if the loop has one neighbour per turn, so that its turns are the number of directions.
  static bool is_over_neighbours(const RoleProgram& program, const RoleSamples& role, std::size_t loop) {
    return std::ranges::any_of(program.steps, [&](const Step& step) {
      if (step.kind != Step::Kind::kCall) return false;
      const std::vector<std::size_t>& around = role.calls[step.number].loops;
      const bool is_unrolled = std::ranges::any_of(step.unrolled, [&](const auto& one) {
        return around[static_cast<std::size_t>(one.first)] == loop;
      });
      return is_unrolled && std::ranges::any_of(step.rules, [&](const CallRule& rule) {
               return rule.peer.rule != step.rules.front().peer.rule;
             });
    });
  }
  /// Returns true if a size seen at a single number of ranks is one element per rank.
  static bool has_element_per_rank(std::span<const Sample> samples, const Event& event) {
    if (samples.empty() || !is_at_one_count(samples)) return false;
    return samples.front().value ==
           samples.front().place.ranks * static_cast<std::int64_t>(element_bytes(event.element));
  }

  // With one or two recordings, rejects whatever may depend on their number of ranks.
  void check_pattern() {
    const std::string advice = "record three or more numbers of ranks";
    for (auto& [key, program] : model().programs) {
      const RoleSamples& role = roles_.at(key);
      for (const Step& step : program.steps) {
        if (step.kind == Step::Kind::kLoop && !is_fixed(step.turns)) {
          const CallSamples& call = first_call(role, step.number);
          add_misfit(
              fmt::format("{}: the iterations of its loop depend on the rank or the number of ranks ({})",
                          call_text(role, call), step.turns.text()),
              advice, call.events);
        } else if (step.kind == Step::Kind::kLoop) {
          const std::string like = as_ranks(role.loops[step.number].turns);
          if (like.empty() || is_over_neighbours(program, role, step.number)) continue;
          const CallSamples& call = first_call(role, step.number);
          add_misfit(fmt::format("{}: the iterations of its loop ({}) are {}, and a single number of ranks "
                                 "does not show whether they depend on it",
                                 call_text(role, call), step.turns.text(), like),
                     advice, call.events);
        }
        if (step.kind == Step::Kind::kCall) check_pattern_of(role, role.calls[step.number], step, advice);
      }
    }
  }

  // Reports the first reason only: one misfit a call.
  void check_pattern_of(const RoleSamples& role, const CallSamples& call, const Step& step,
                        const std::string& advice) {
    const Event& event = pool_.event(call.symbol);
    const bool is_message = names_rank(event) && event.kind != EventKind::kCollective;
    for (std::size_t i = 0; i < step.rules.size(); ++i) {
      const CallRule& rule = step.rules[i];
      const auto& sizes = call.variants[i][static_cast<std::size_t>(Field::kBytes)].values;
      std::string why;
      if (is_message ? !is_neighbour(rule.peer.rule, role) : !is_fixed(rule.peer.rule)) {
        why = fmt::format("its peer ({}) may depend on the number of ranks", rule.peer.rule.text());
      } else if (!is_fixed(rule.bytes.rule) || !is_fixed(rule.extra.rule)) {
        why = "its size depends on the rank, and may depend on the number of ranks";
      } else if (has_element_per_rank(sizes, event)) {
        why = "it has one element per rank, which may depend on the number of ranks";
      } else if (rule.members && rule.members->kind != Members::Selection::kAll &&
                 rule.members->kind != Members::Selection::kSelf) {
        why = fmt::format("it creates a communicator of some ranks ({}), which may depend on their number",
                          rule.members->text());
      } else if (event.kind == EventKind::kCollective && has_blocks_of_different_sizes(event.operation)) {
        why = "its blocks have individual sizes, which may depend on the number of ranks";
      } else if (event.kind == EventKind::kNeighbours && !has_near_blocks(rule, role)) {
        why = "its neighbours or their blocks may depend on the number of ranks";
      }
      if (why.empty()) continue;
      add_misfit(fmt::format("{}: {}; {} cannot show this", call_text(role, call), why,
                             programs_.size() == 1 ? "one recording" : "two recordings"),
                 advice, call.events);
      return;
    }
  }

  Programs programs_;
  const Pool& pool_;
  Proof proof_;
  std::string by_arrival_;
  Model model_;
  std::vector<Misfit> misfits_;
  std::map<std::uint64_t, RoleSamples> roles_;
  std::map<Key, std::vector<Pending>> pending_;
  std::uint64_t misfitting_ = 0;
  std::uint64_t lacking_ = 0;
  std::uint64_t calls_ = 0;
};

}  // namespace

const RoleProgram* Model::role_of(const Sides& sides, std::int64_t rank) const {
  const auto found = programs.find(roles.key(sides, rank));
  return found == programs.end() ? nullptr : &found->second;
}

namespace {

/// The best attempts so far. Of two equal ones, the first counts.
struct Attempts {
  std::vector<Model> models;
  std::vector<Misfit> misfits;
  std::uint64_t least_misfitting = UINT64_MAX;
  std::optional<Model> lacking;  // for some calls, seen at a single number of ranks
  std::uint64_t least_lacking = UINT64_MAX;

  /// Adds those of a further layout.
  void add(Attempts&& other) {
    for (Model& model : other.models) {
      if (models.empty() || model.uses_grid) models.push_back(std::move(model));
    }
    if (other.least_misfitting < least_misfitting) {
      least_misfitting = other.least_misfitting;
      misfits = std::move(other.misfits);
    }
    if (other.least_lacking < least_lacking) {
      least_lacking = other.least_lacking;
      lacking.emplace(std::move(*other.lacking));
    }
  }
};

/// Tries the rules for roles with one layout.
Attempts attempts_with(const Layout& layout, Programs programs, const std::shared_ptr<const Pool>& pool,
                       Proof proof) {
  Attempts all;
  for (const Roles& roles : role_rules(layout.dimensions)) {
    Attempt attempt(programs, pool, layout, roles, proof);
    if (!attempt.run()) continue;
    if (!attempt.misfits().empty()) {
      // Calls that were seen once always fit and prove nothing.
      const std::uint64_t cost = attempt.misfitting() + (programs.size() > 1 ? attempt.lacking() : 0);
      if (cost >= all.least_misfitting) continue;
      all.least_misfitting = cost;
      all.misfits = std::move(attempt.misfits());
    } else if (attempt.lacking() == 0 || programs.size() == 1) {
      all.models.push_back(std::move(attempt.model()));
      // Further rules for roles of this layout are less simple.
      break;
    } else if (attempt.lacking() <= attempt.calls() / 2 && attempt.lacking() < all.least_lacking) {
      // If nearly every rank has its own role, the rules match everything and prove nothing.
      all.least_lacking = attempt.lacking();
      all.lacking.emplace(std::move(attempt.model()));
    }
  }
  return all;
}

}  // namespace

Learned learn(Programs programs, const std::shared_ptr<const Pool>& pool, Proof proof) {
  std::int64_t common = 0;
  for (const FoldedProgram* const program : programs) common = std::gcd(common, program->ranks);
  const std::vector<Layout> tried = layouts(common);
  std::vector<Attempts> by_layout(tried.size());
  side_by_side(tried.size(), 0,
               [&](std::size_t i) { by_layout[i] = attempts_with(tried[i], programs, pool, proof); });
  Attempts best;
  for (Attempts& one : by_layout) best.add(std::move(one));
  if (best.models.empty() && best.lacking) best.models.push_back(std::move(*best.lacking));
  return {std::move(best.models), std::move(best.misfits)};
}

}  // namespace offramp::scale
