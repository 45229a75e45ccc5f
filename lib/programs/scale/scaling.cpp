#include "lib/programs/scale/scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "lib/base/format.hpp"
#include "lib/programs/import/pattern.hpp"
#include "lib/programs/scale/folding.hpp"
#include "lib/programs/scale/model.hpp"

namespace offramp::scale {
namespace {

// Fewer say too little of how sizes depend on the number of ranks.
constexpr std::size_t kEnough = 3;
// More are not told; the first ones are the ones that concern most calls.
constexpr std::size_t kMostTold = 8;

std::string fact_of(const recording::Description& description, std::string_view key) {
  for (const auto& [name, value] : description.facts) {
    if (name == key) return value;
  }
  return {};
}

/// What was recorded.
struct Command {
  std::string program;
  std::string arguments;

  /// Without the folder.
  [[nodiscard]] std::string name() const { return program.substr(program.rfind('/') + 1); }
};

/// Nothing: it is not known, for a trace is called as its file.
std::optional<Command> command_of(const trace::Program& program) {
  const recording::Description& description = program.description;
  Command command{fact_of(description, "program"), fact_of(description, "arguments")};
  if (program.kind == "recording") return command;
  const Result<Pattern> pattern =
      program.kind == "pattern" ? parse_pattern(command.program) : failure("a trace");
  if (!pattern) return std::nullopt;
  // The number of ranks is in its name.
  command.program = fmt::format("{}{}", kPatternPrefix, pattern->kind->name);
  command.arguments = fmt::format("{}, {}", counted(pattern->bytes, "byte"),
                                  counted(static_cast<std::uint64_t>(pattern->rounds), "round"));
  if (!pattern->kind->parameter.empty())
    command.arguments += fmt::format(", {} {}", pattern->kind->parameter, pattern->parameter);
  return command;
}

/// By the number of ranks. Fails if they are not recordings of one program.
Result<std::vector<const NamedProgram*>> in_order(const std::vector<NamedProgram>& recorded) {
  std::vector<const NamedProgram*> order;
  for (const NamedProgram& one : recorded) {
    if (!one.program.missing.empty()) return failure(fmt::format("{}: {}", one.name, one.program.missing));
    if (one.program.graph)
      return failure(
          fmt::format("{}: its operations depend on each other as in a graph; calls one after the other are "
                      "what can be scaled",
                      one.name));
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
    if (one && other && one->name() != other->name())
      return failure(fmt::format("{} is a recording of {}, and {} of {}", order[i - 1]->name, one->program,
                                 order[i]->name, other->program));
  }
  return order;
}

// Where there are fewer ranks, neighbours and turns are as many as ranks or half of them anyway.
constexpr int kFewestAlone = 4;

/// Fails if there is one recording, and it does not do alone.
Result<void> check_number(const std::vector<const NamedProgram*>& order, ComputeScaling compute) {
  if (order.size() > 1) return {};
  const int ranks = order.front()->program.description.ranks;
  if (ranks < kFewestAlone)
    return failure(fmt::format(
        "one recording of {} does not tell what depends on the number of ranks: one of {} or more may, and "
        "recordings at three or more numbers of ranks do",
        counted(static_cast<std::uint64_t>(ranks), "rank"), kFewestAlone));
  if (compute == ComputeScaling::kStrong)
    return failure(
        "where all ranks together have as much to do, sizes may depend on the number of ranks, which one "
        "recording does not tell: recordings at three or more numbers of ranks do");
  return {};
}

/// What the recordings of one program do not have in common, a sentence each.
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
      notes.push_back(fmt::format("the recordings are taken for one program, but have different {}: {}", what,
                                  fmt::join(each, ", ")));
  };
  note("arguments", &Command::arguments);
  note("paths", &Command::program);
  return notes;
}

/// without: what can be done where fewer recordings are of one program; may be empty.
std::string refusal(const Learned& learned, std::size_t recordings, const std::string& without) {
  std::vector<Misfit> misfits = learned.misfits;
  std::ranges::stable_sort(misfits, std::greater<>(), &Misfit::calls);
  std::string text = "it is no program whose calls follow from the number of ranks:";
  std::string advice = without;
  std::size_t told = 0;
  std::set<std::string> known;  // what differs from turn to turn is the same text for each
  for (const Misfit& one : misfits) {
    if (advice.empty()) advice = one.advice;
    if (!known.insert(one.what).second) continue;
    if (++told <= kMostTold) text += fmt::format("\n  {} ({})", one.what, counted(one.calls, "call"));
  }
  if (told > kMostTold) text += fmt::format("\n  and {} more", told - kMostTold);
  if (misfits.empty()) text += "\n  nearly every rank does something of its own";
  if (advice.empty() && recordings < kEnough) advice = "recordings at three or more numbers of ranks";
  return text + fmt::format("\nwhat can be done: {}",
                            advice.empty() ? "replay it at the numbers of ranks that were recorded" : advice);
}

/// Another model that explains all recordings, and is another program at so many ranks. Empty: there is none,
/// or nothing that the first one says looks like a grid.
std::string ambiguity(const std::shared_ptr<const Model>& model, std::span<const Model> others, int ranks) {
  if (model->layout.dimensions == 1 && !model->is_doubtful) return {};
  for (const Model& other : others) {
    // With enough roles any layout explains anything.
    if (other.programs.size() > model->programs.size()) continue;
    const std::string difference = difference_at(model, std::make_shared<const Model>(other), ranks);
    if (!difference.empty())
      return fmt::format(
          "the recordings do not tell {} from {}, which are not the same at {} ranks ({}); a recording "
          "at one more number of ranks may",
          model->layout.text(), other.layout.text(), ranks, difference);
  }
  return {};
}

/// All recordings, folded in one way, and what was learned of them.
struct Lesson {
  std::shared_ptr<Pool> pool = std::make_shared<Pool>();
  std::vector<FoldedProgram> folded;
  std::vector<const FoldedProgram*> programs;
  Learned learned;
};

/// A failure is of reading.
Result<Lesson> learn_all(const std::vector<const NamedProgram*>& order, Tags tags) {
  Lesson lesson;
  for (const NamedProgram* const one : order) {
    Result<FoldedProgram> program = fold(one->name, one->program, *lesson.pool, tags);
    if (!program) return failure(fmt::format("{}: {}", one->name, program.error()));
    lesson.folded.push_back(std::move(*program));
  }
  for (const FoldedProgram& one : lesson.folded) lesson.programs.push_back(&one);
  lesson.learned =
      learn(lesson.programs, lesson.pool, order.size() < kEnough ? Proof::kByPattern : Proof::kByCounts);
  return lesson;
}

/// Programs do other things on few ranks: where a side of their grid is one or two, or an algorithm has a
/// least number of ranks. Empty, or which of the smallest recordings to leave out so that the others can be
/// scaled.
std::string advice_to_leave_out(std::span<const NamedProgram* const> order) {
  for (std::size_t first = 1; first + kEnough <= order.size(); ++first) {
    const Result<Lesson> lesson =
        learn_all({order.begin() + static_cast<std::ptrdiff_t>(first), order.end()}, Tags::kValues);
    if (!lesson) return {};
    if (lesson->learned.models.empty()) continue;
    return fmt::format(
        "leave out the recordings of fewer than {}, where it does other things: those of more can be scaled",
        counted(static_cast<std::uint64_t>(order[first]->program.description.ranks), "rank"));
  }
  return {};
}

/// What the smaller recordings foretell of the largest.
Result<void> test_with_largest(const Lesson& lesson, const trace::Program& largest, Scaling& scaling) {
  const std::span smaller(lesson.programs.data(), lesson.programs.size() - 1);
  const Learned learned =
      learn(smaller, lesson.pool, smaller.size() > 1 ? Proof::kByCounts : Proof::kByPattern);
  Foretold foretold;
  const int ranks = largest.description.ranks;
  if (!learned.models.empty()) {
    const auto model = std::make_shared<const Model>(learned.models.front());
    foretold.unknown.push_back(ambiguity(model, std::span(learned.models).subspan(1), ranks));
    if (foretold.unknown.front().empty()) foretold = foretell(model, ranks);
  }
  for (const Misfit& one : learned.misfits) {
    if (learned.models.empty()) foretold.unknown.push_back(one.what);
  }
  if (!foretold.read) foretold.read = [](int) { return nullptr; };
  // Roles as all recordings together tell them.
  const Model& all = *scaling.model;
  const auto sides = all.layout.sides(ranks);
  const auto role = [&](int rank) { return all.roles.name(all.roles.key(*sides, rank)); };
  Result<Comparison> held_out = compare(largest, foretold.read, role);
  if (!held_out) return failure(held_out.error());
  scaling.held_out = std::move(*held_out);
  scaling.not_foretold = std::move(foretold.unknown);
  return {};
}

/// What the result says of itself.
std::vector<std::pair<std::string, std::string>> facts_of(const Scaling& scaling,
                                                          const trace::Program& largest) {
  std::vector<std::pair<std::string, std::string>> facts;
  for (const auto& fact : largest.description.facts) {
    if (fact.first != "events" && fact.first != "date") facts.push_back(fact);
  }
  std::vector<std::string> shares;
  for (const auto& [key, share] : scaling.held_out.shares)
    shares.push_back(fmt::format("{} of {} {}", share_text(share.exact, share.all()), key.first, key.second));
  facts.emplace_back("scaled from", fmt::format("{} ranks", fmt::join(scaling.model->learned_from, ", ")));
  facts.emplace_back("scaled as", scaling.model->layout.text());
  facts.emplace_back(
      "held out",
      shares.empty() ? "nothing: there is one recording, whose sizes and turns are taken for those of any "
                       "number of ranks"
                     : fmt::format("{} ranks, of whose calls the smaller recordings foretell {}: {}",
                                   largest.description.ranks,
                                   share_text(scaling.held_out.total().exact, scaling.held_out.total().all()),
                                   fmt::join(shares, "; ")));
  return facts;
}

/// As Scaling::growing.
std::vector<std::string> growing_of(const Model& model, int ranks) {
  std::vector<std::string> growing;
  if (ranks <= model.learned_from.back()) return growing;
  const auto add = [&](std::string text) {
    if (std::find(growing.begin(), growing.end(), text) == growing.end()) growing.push_back(std::move(text));
  };
  for (const auto& [key, program] : model.programs) {
    for (const Step& step : program.steps) {
      if (step.kind == Step::Kind::kLoop && step.turns.grows())
        add(fmt::format("a loop of {} turns", step.turns.text()));
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

std::string Scaling::doubt() const {
  const Share total = held_out.total();
  if (total.all() == 0 || total.exact > 0) return {};
  return fmt::format(
      "the smaller recordings foretell none of the {} at {} ranks, so that nothing confirms what is made; a "
      "recording of more ranks may",
      counted(total.all(), "call"), model->learned_from.back());
}

Result<LearnedProgram> LearnedProgram::learn(const std::vector<NamedProgram>& recorded,
                                             ComputeScaling compute) {
  const auto found = in_order(recorded);
  if (!found) return failure(found.error());
  const std::vector<const NamedProgram*>& order = *found;
  if (const Result<void> enough = check_number(order, compute); !enough) return failure(enough.error());
  Result<Lesson> lesson = learn_all(order, Tags::kValues);
  if (!lesson) return failure(lesson.error());
  if (lesson->learned.models.empty()) {
    Result<Lesson> other = learn_all(order, Tags::kShape);
    if (!other) return failure(other.error());
    if (other->learned.models.empty())
      return failure(refusal(lesson->learned, order.size(), advice_to_leave_out(order)));
    lesson = std::move(other);
  }
  LearnedProgram learned;
  learned.compute_ = compute;
  std::vector<Model>& models = lesson->learned.models;
  Scaling& tested = learned.tested_;
  tested.model = std::make_shared<const Model>(std::move(models.front()));
  if (order.size() > 1) {
    learned.others_.assign(std::make_move_iterator(models.begin() + 1),
                           std::make_move_iterator(models.end()));
    const Result<void> done = test_with_largest(*lesson, order.back()->program, tested);
    if (!done) return failure(done.error());
  }
  for (const FoldedRank& rank : lesson->folded.back().each) {
    tested.wildcards += rank.wildcards;
    tested.choices += rank.choices;
    tested.questions += rank.questions;
  }
  tested.notes = differences(order);
  learned.facts_ = facts_of(tested, order.back()->program);
  return learned;
}

Result<Scaling> LearnedProgram::at(int ranks) const {
  Result<trace::Program> made = at_ranks(tested_.model, ranks, compute_);
  if (!made) return failure(made.error());
  if (std::string problem = ambiguity(tested_.model, others_, ranks); !problem.empty())
    return failure(std::move(problem));
  Scaling scaling = tested_;
  scaling.growing = growing_of(*tested_.model, ranks);
  scaling.program = std::move(*made);
  scaling.program.description.facts = facts_;
  return scaling;
}

Result<Scaling> scale(const std::vector<NamedProgram>& recorded, int ranks, ComputeScaling compute) {
  Result<LearnedProgram> learned = LearnedProgram::learn(recorded, compute);
  return learned ? learned->at(ranks) : failure(learned.error());
}

}  // namespace offramp::scale
