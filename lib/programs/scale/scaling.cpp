// The confidence comes from a held-out recording: a model of the others predicts the largest one call by
// call. The model in use has learned from it, too. Further models that match all recordings are kept, because
// a number of ranks at which they differ is refused (ambiguity()).
#include "lib/programs/scale/scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "lib/base/format.hpp"
#include "lib/programs/import/pattern.hpp"
#include "lib/programs/scale/folding.hpp"
#include "lib/programs/scale/model.hpp"

namespace offramp::scale {
namespace {

using recording::EventKind;

// Fewer recordings do not show how sizes depend on the number of ranks.
constexpr std::size_t kEnough = 3;

// Empty if the description lacks it.
std::string fact_of(const recording::Description& description, std::string_view key) {
  for (const auto& [name, value] : description.facts) {
    if (name == key) return value;
  }
  return {};
}

/// The recorded command.
struct Command {
  std::string program;
  std::string arguments;

  /// Without the folder.
  [[nodiscard]] std::string name() const { return program.substr(program.rfind('/') + 1); }
};

/// `nullopt` if it is unknown: traces are only named after their file.
std::optional<Command> command_of(const trace::Program& program) {
  const recording::Description& description = program.description;
  Command command{fact_of(description, "program"), fact_of(description, "arguments")};
  if (program.kind == "recording") return command;
  const Result<Pattern> pattern =
      program.kind == "pattern" ? parse_pattern(command.program) : failure("a trace");
  if (!pattern) return std::nullopt;
  // The pattern's name contains the number of ranks.
  command.program = fmt::format("{}{}", kPatternPrefix, pattern->kind->name);
  command.arguments = fmt::format("{}, {}", counted(pattern->bytes, "byte"),
                                  counted(static_cast<std::uint64_t>(pattern->rounds), "round"));
  if (!pattern->kind->parameter.empty())
    command.arguments += fmt::format(", {} {}", pattern->kind->parameter, pattern->parameter);
  return command;
}

/// Sorts by the number of ranks. Fails if they are not recordings of one program.
Result<std::vector<const NamedProgram*>> in_order(const std::vector<NamedProgram>& recorded) {
  std::vector<const NamedProgram*> order;
  for (const NamedProgram& one : recorded) {
    // A part of a program would be learned as the whole.
    if (!one.program.missing.empty()) return failure(fmt::format("{}: {}", one.name, one.program.missing));
    if (one.program.graph)
      return failure(
          fmt::format("{}: it is a graph of operations; only sequences of calls can be scaled", one.name));
    order.push_back(&one);
  }
  const auto ranks = [](const NamedProgram* one) { return one->program.description.ranks; };
  std::ranges::sort(order, {}, ranks);
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (ranks(order[i]) == ranks(order[i - 1]))
      return failure(fmt::format("{} and {} both have {}", order[i - 1]->name, order[i]->name,
                                 counted(static_cast<std::uint64_t>(ranks(order[i])), "rank")));
    const auto one = command_of(order[i - 1]->program);
    const auto other = command_of(order[i]->program);
    // Folders may differ between machines.
    if (one && other && one->name() != other->name())
      return failure(fmt::format("{} is a recording of {}, and {} of {}", order[i - 1]->name, one->program,
                                 order[i]->name, other->program));
  }
  return order;
}

// With fewer ranks, many numbers equal the ranks or half of them by coincidence.
constexpr int kFewestAlone = 4;

/// Fails if there is a single recording that is not sufficient.
Result<void> check_number(const std::vector<const NamedProgram*>& order, ComputeScaling compute) {
  if (order.size() > 1) return {};
  const int ranks = order.front()->program.description.ranks;
  if (ranks < kFewestAlone)
    return failure(
        fmt::format("one recording of {} does not show what depends on the number of ranks; use one of {} or "
                    "more, or better, recordings at three or more numbers of ranks",
                    counted(static_cast<std::uint64_t>(ranks), "rank"), kFewestAlone));
  if (compute == ComputeScaling::kStrong)
    return failure(
        "with constant work in total, sizes may depend on the number of ranks, which one recording does not "
        "show; use recordings at three or more numbers of ranks");
  return {};
}

/// The differences between the recordings of one program, one sentence each.
std::vector<std::string> differences(const std::vector<const NamedProgram*>& order) {
  std::vector<std::string> notes;
  const auto note = [&](std::string_view what, std::string Command::*part) {
    std::set<std::string> different;
    std::vector<std::string> each;
    for (const NamedProgram* const one : order) {
      const auto command = command_of(one->program);
      if (!command) continue;
      different.insert((*command).*part);
      each.push_back(fmt::format("{} ({})", one->name,
                                 ((*command).*part).empty() ? std::string("none") : (*command).*part));
    }
    if (different.size() > 1)
      notes.push_back(fmt::format("the recordings are treated as one program, but have different {}: {}",
                                  what, fmt::join(each, ", ")));
  };
  note("arguments", &Command::arguments);
  note("paths", &Command::program);
  return notes;
}

/// The text of a failure of LearnedProgram::learn(). without: advice if fewer recordings could be scaled; may
/// be empty.
std::string refusal(const Learned& learned, std::size_t recordings, const std::string& without,
                    bool all_reasons) {
  std::vector<Misfit> misfits = learned.misfits;
  // The most frequent reason first.
  std::ranges::stable_sort(misfits, std::greater<>(), &Misfit::calls);
  std::string advice = without;
  std::vector<std::string> reasons;
  std::set<std::string> known;  // misfits of several turns have the same text
  for (const Misfit& one : misfits) {
    if (advice.empty()) advice = one.advice;
    if (known.insert(one.what).second)
      reasons.push_back(fmt::format("{} ({})", one.what, counted(one.calls, "call")));
  }
  if (reasons.empty()) reasons.emplace_back("nearly every rank does something of its own");
  if (const std::size_t more = reasons.size() - 1; more > 0 && !all_reasons) {
    reasons.resize(1);
    reasons.front() += fmt::format(". {}: offramp scale --verbose", counted(more, "more reason"));
  }
  if (advice.empty() && recordings < kEnough) advice = "record three or more numbers of ranks";
  return fmt::format("its calls do not follow from the number of ranks\nwhy   {}\nnext  {}",
                     fmt::join(reasons, "\n      "),
                     advice.empty() ? "replay it at the recorded numbers of ranks" : advice);
}

/// Describes another model that matches all recordings but differs at this number of ranks. Empty if there is
/// none, or if the first model shows no sign of a grid.
std::string ambiguity(const std::shared_ptr<const Model>& model, std::span<const Model> others, int ranks) {
  if (model->layout.dimensions == 1 && !model->is_doubtful) return {};
  for (const Model& other : others) {
    // With enough roles any layout matches.
    if (other.programs.size() > model->programs.size()) continue;
    const std::string difference = difference_at(model, std::make_shared<const Model>(other), ranks);
    if (!difference.empty())
      return fmt::format(
          "the recordings do not distinguish {} from {}, which differ at {} ranks ({}); record one more "
          "number of ranks",
          model->layout.text(), other.layout.text(), ranks, difference);
  }
  return {};
}

/// All recordings, folded in one way, and the models learned from them.
struct Lesson {
  std::shared_ptr<Pool> pool = std::make_shared<Pool>();
  std::vector<FoldedProgram> folded;
  // Refer to `folded`, which does not change any more.
  std::vector<const FoldedProgram*> programs;
  Learned learned;
};

/// Fails if a program cannot be read.
Result<Lesson> learn_all(const std::vector<const NamedProgram*>& order, Tags tags) {
  Lesson lesson;
  for (const NamedProgram* const one : order) {
    Result<FoldedProgram> program = fold(one->name, one->program, *lesson.pool, tags);
    if (!program) return failure(fmt::format("{}: {}", one->name, program.error()));
    lesson.folded.push_back(std::move(*program));
  }
  // After the loop: `folded` may move its elements as it grows.
  for (const FoldedProgram& one : lesson.folded) lesson.programs.push_back(&one);
  lesson.learned =
      learn(lesson.programs, lesson.pool, order.size() < kEnough ? Proof::kByPattern : Proof::kByCounts);
  return lesson;
}

/// Programs may behave differently on few ranks: a side of the grid is one or two, or an algorithm needs a
/// minimum of ranks. Advises to leave out the smallest recordings if that helps. Otherwise empty.
std::string advice_to_leave_out(std::span<const NamedProgram* const> order) {
  for (std::size_t first = 1; first + kEnough <= order.size(); ++first) {
    const Result<Lesson> lesson =
        learn_all({order.begin() + static_cast<std::ptrdiff_t>(first), order.end()}, Tags::kValues);
    if (!lesson) return {};
    if (lesson->learned.models.empty()) continue;
    return fmt::format(
        "leave out the recordings of fewer than {}, in which the program behaves differently; the others can "
        "be scaled",
        counted(static_cast<std::uint64_t>(order[first]->program.description.ranks), "rank"));
  }
  return {};
}

/// Predicts the largest recording from the smaller ones and compares.
Result<void> test_with_largest(const Lesson& lesson, const trace::Program& largest, Scaling& scaling) {
  // Folded already, since folding does not depend on other recordings.
  const std::span smaller(lesson.programs.data(), lesson.programs.size() - 1);
  const Learned learned =
      learn(smaller, lesson.pool, smaller.size() > 1 ? Proof::kByCounts : Proof::kByPattern);
  Extrapolation foretold;
  const int ranks = largest.description.ranks;
  if (!learned.models.empty()) {
    const auto model = std::make_shared<const Model>(learned.models.front());
    foretold.unknown.push_back(ambiguity(model, std::span(learned.models).subspan(1), ranks));
    if (foretold.unknown.front().empty()) foretold = extrapolation_of(model, ranks);
  }
  for (const Misfit& one : learned.misfits) {
    if (learned.models.empty()) foretold.unknown.push_back(one.what);
  }
  // Without a model, all calls count as unknown.
  if (!foretold.read) foretold.read = [](int) { return nullptr; };
  // Roles according to all recordings.
  const Model& all = *scaling.model;
  const auto sides = all.layout.sides(ranks);
  const auto role = [&](int rank) { return all.roles.name(all.roles.key(*sides, rank)); };
  Result<Comparison> held_out = compare(largest, foretold.read, role);
  if (!held_out) return failure(held_out.error());
  scaling.held_out = std::move(*held_out);
  scaling.not_foretold = std::move(foretold.unknown);
  return {};
}

/// The description of the result.
std::vector<std::pair<std::string, std::string>> facts_of(const Scaling& scaling,
                                                          const trace::Program& largest) {
  std::vector<std::pair<std::string, std::string>> facts;
  for (const auto& fact : largest.description.facts) {
    // These describe the recording rather than the program.
    if (fact.first != "events" && fact.first != "date") facts.push_back(fact);
  }
  std::vector<std::string> shares;
  for (const auto& [key, share] : scaling.held_out.shares)
    shares.push_back(
        fmt::format("{} of {} {}", share_text(share.exact, share.count()), key.first, key.second));
  facts.emplace_back("scaled from", fmt::format("{} ranks", fmt::join(scaling.model->learned_from, ", ")));
  facts.emplace_back("scaled as", scaling.model->layout.text());
  facts.emplace_back(
      "held out",
      shares.empty()
          ? "nothing: there is one recording, and its sizes and iterations are assumed at any number of ranks"
          : fmt::format("{} ranks; of its calls, the smaller recordings predict {}: {}",
                        largest.description.ranks,
                        share_text(scaling.held_out.total().exact, scaling.held_out.total().count()),
                        fmt::join(shares, "; ")));
  return facts;
}

/// What calls do in all.
struct Work {
  double computing = 0;  // before them, in ns
  double bytes = 0;      // of messages
  double messages = 0;
};
void add_up(std::span<const Node> nodes, const Pool& pool, Work& work) {
  const auto each = [](const Node& node, Field field, const auto& take) {
    for (const Series::Repetition& run : (*node.series)[static_cast<std::size_t>(field)].runs())
      if (run.value > 0) take(static_cast<double>(run.value), static_cast<double>(run.times));
  };
  for (const Node& node : nodes) {
    add_up(node.body, pool, work);
    if (!node.series) continue;
    each(node, Field::kComputing, [&](double value, double times) { work.computing += value * times; });
    // Blocks of collectives become smaller with more members in weak scaling, too.
    if (pool.event(node.symbol).kind != EventKind::kSend) continue;
    each(node, Field::kBytes, [&](double value, double times) {
      work.bytes += value * times;
      work.messages += times;
    });
  }
}

/// The slope of the logarithms, by least squares, of (ranks, value). `nullopt` if a value is 0.
std::optional<double> power_of(const std::vector<std::pair<double, double>>& points) {
  double x_sum = 0;
  double y_sum = 0;
  double xx_sum = 0;
  double xy_sum = 0;
  for (const auto& [ranks, value] : points) {
    if (value <= 0) return std::nullopt;
    const double x = std::log(ranks);
    const double y = std::log(value);
    x_sum += x;
    y_sum += y;
    xx_sum += x * x;
    xy_sum += x * y;
  }
  const auto count = static_cast<double>(points.size());
  return (count * xy_sum - x_sum * y_sum) / (count * xx_sum - x_sum * x_sum);
}

Trend trend_of(const std::vector<FoldedProgram>& recordings, const Pool& pool) {
  if (recordings.size() < kEnough) return {};
  std::vector<std::pair<double, double>> computing;
  std::vector<std::pair<double, double>> bytes;
  for (const FoldedProgram& one : recordings) {
    Work work;
    for (const FoldedRank& rank : one.each) add_up(rank.body, pool, work);
    const auto ranks = static_cast<double>(one.ranks);
    computing.emplace_back(ranks, work.computing / ranks);
    bytes.emplace_back(ranks, work.messages > 0 ? work.bytes / work.messages : 0);
  }
  return {power_of(computing), power_of(bytes)};
}

/// As Scaling::growing.
std::vector<std::string> growing_of(const Model& model, int ranks) {
  std::vector<std::string> growing;
  // Within what was recorded, growth is known.
  if (ranks <= model.learned_from.back()) return growing;
  const auto add = [&](std::string text) {
    // Roles often share a rule.
    if (std::find(growing.begin(), growing.end(), text) == growing.end()) growing.push_back(std::move(text));
  };
  for (const auto& [key, program] : model.programs) {
    for (const Step& step : program.steps) {
      if (step.kind == Step::Kind::kLoop && step.turns.grows())
        add(fmt::format("a loop of {} iterations", step.turns.text()));
      if (step.kind != Step::Kind::kCall) continue;
      for (const CallRule& rule : step.rules) {
        if (rule.bytes.rule.grows())
          add(fmt::format("{} of {} B", model.pool->call_of(step.symbol), rule.bytes.rule.text()));
      }
    }
  }
  return growing;
}

}  // namespace

std::string share_text(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? "-" : percent_text(static_cast<double>(part), static_cast<double>(all));
}

ComputeScaling Trend::scaling() const {
  // Caches, imbalance, and shared processors bend the ideal powers of -1 and 0. Messages shrink by a power of
  // -1/2 with the sides of a plane, and of -2/3 with those of a cube.
  constexpr double kConstant = -0.3;
  constexpr double kShrinks = -0.6;
  if (!computing) return ComputeScaling::kRecorded;
  const bool messages_shrink = bytes.value_or(0) < kConstant;
  if (*computing < (messages_shrink ? 0 : kShrinks)) return ComputeScaling::kStrong;
  return std::abs(*computing) < -kConstant && !messages_shrink ? ComputeScaling::kWeak
                                                               : ComputeScaling::kRecorded;
}

std::string Scaling::caveat() const {
  const Share total = held_out.total();
  if (total.count() == 0 || total.exact > 0) return {};
  return fmt::format(
      "not confirmed: the smaller recordings predict none of the {} on {} ranks; add a recording on more "
      "ranks",
      counted(total.count(), "call"), model->learned_from.back());
}

Result<LearnedProgram> LearnedProgram::learn(const std::vector<NamedProgram>& recorded,
                                             ComputeScaling compute, bool all_reasons) {
  const auto found = in_order(recorded);
  if (!found) return failure(found.error());
  const std::vector<const NamedProgram*>& order = *found;
  if (const Result<void> enough = check_number(order, compute); !enough) return failure(enough.error());
  Result<Lesson> lesson = learn_all(order, Tags::kValues);
  if (!lesson) return failure(lesson.error());
  if (lesson->learned.models.empty()) {
    // Tags as part of calls separate loops that were folded into one.
    Result<Lesson> other = learn_all(order, Tags::kShape);
    if (!other) return failure(other.error());
    if (other->learned.models.empty())
      return failure(refusal(lesson->learned, order.size(), advice_to_leave_out(order), all_reasons));
    lesson = std::move(other);
  }
  LearnedProgram learned;
  std::vector<Model>& models = lesson->learned.models;
  Scaling& tested = learned.tested_;
  tested.model = std::make_shared<const Model>(std::move(models.front()));
  // With one recording, all layouts match: the others would forbid everything.
  if (order.size() > 1) {
    learned.others_.assign(std::make_move_iterator(models.begin() + 1),
                           std::make_move_iterator(models.end()));
    const Result<void> done = test_with_largest(*lesson, order.back()->program, tested);
    if (!done) return failure(done.error());
  }
  // Counts of the largest recording only; sums over all would mean nothing.
  for (const FoldedRank& rank : lesson->folded.back().each) {
    tested.wildcards += rank.wildcards;
    tested.choices += rank.choices;
    tested.questions += rank.questions;
  }
  tested.notes = differences(order);
  tested.trend = trend_of(lesson->folded, *lesson->pool);
  learned.compute_ = compute == ComputeScaling::kRecorded ? tested.trend.scaling() : compute;
  learned.facts_ = facts_of(tested, order.back()->program);
  return learned;
}

Result<Scaling> LearnedProgram::at(int ranks, ComputeScaling compute) const {
  Result<trace::Program> made = at_ranks(tested_.model, ranks, compute);
  if (!made) return failure(made.error());
  if (std::string problem = ambiguity(tested_.model, others_, ranks); !problem.empty())
    return failure(std::move(problem));
  Scaling scaling = tested_;
  scaling.growing = growing_of(*tested_.model, ranks);
  scaling.compute = compute;
  scaling.program = std::move(*made);
  scaling.program.description.facts = facts_;
  return scaling;
}

}  // namespace offramp::scale
