// A scaled program is as good as its test. Every output therefore shows how many calls of the largest
// recording the smaller ones predict, and lists the assumptions: CPU times of another size, sizes that grow
// beyond the recorded ones, and dependence on the order of arrival.
#include "tools/commands/scaled_program.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>

#include "lib/base/format.hpp"
#include "tools/command_line/options.hpp"
#include "tools/command_line/setup.hpp"
#include "tools/text/recording_info.hpp"
#include "tools/text/replay_output.hpp"

namespace offramp::tool {
namespace {

using scale::ComputeScaling;

constexpr std::array<std::pair<std::string_view, ComputeScaling>, 3> kScalings = {
    {{"strong", ComputeScaling::kStrong},
     {"weak", ComputeScaling::kWeak},
     {"recorded", ComputeScaling::kRecorded}}};

std::string compute_text(const scale::Scaling& scaling, int ranks) {
  const std::int64_t largest = scaling.model->learned_from.back();
  std::string text = fmt::format("CPU times: as recorded at {} ranks", largest);
  if (scaling.compute == ComputeScaling::kStrong)
    text += fmt::format(", times {}/{}", largest, ranks > 0 ? fmt::to_string(ranks) : "ranks");
  text += fmt::format(" ({})", scaling_text(scaling));
  std::vector<std::string> trends;
  if (const auto& power = scaling.trend.computing)
    trends.push_back(fmt::format("a rank computes {:.2f} times as long", std::exp2(*power)));
  if (const auto& power = scaling.trend.bytes)
    trends.push_back(fmt::format("a message is {:.2f} times as long", std::exp2(*power)));
  return trends.empty() ? text
                        : fmt::format(
                              "{}. From recording to recording, with twice the ranks {}; --compute-scaling "
                              "changes this",
                              text, fmt::join(trends, " and "));
}

/// The effects of arrival order, in words. Empty if there are none.
std::string arrival_text(const scale::Scaling& scaling) {
  std::vector<std::string> parts;
  if (scaling.wildcards > 0) parts.push_back(counted(scaling.wildcards, "receive") + " from any source");
  if (scaling.choices > 0) parts.push_back(counted(scaling.choices, "wait") + " for any of several requests");
  if (scaling.questions > 0) parts.push_back(counted(scaling.questions, "poll") + " that failed");
  if (parts.empty()) return {};
  return fmt::format("left to the replay, because they depend on arrival order: {}", fmt::join(parts, ", "));
}

/// The number of ranks by role: "8 x 4 ranks: 4 corner, 16 edge, 12 interior".
std::string roles_text(const scale::Model& model, int ranks) {
  std::map<std::string, int> roles;
  const auto sides = model.layout.sides(ranks);
  for (int rank = 0; rank < ranks; ++rank) ++roles[model.roles.name(model.roles.key(*sides, rank))];
  std::vector<std::string> words;
  words.reserve(roles.size());
  for (const auto& [role, count] : roles) words.push_back(fmt::format("{} {}", count, role));
  return fmt::format(
      "{} ranks: {}",
      fmt::join(std::span(*sides).first(static_cast<std::size_t>(model.layout.dimensions)), " x "),
      fmt::join(words, ", "));
}

/// Values that grow beyond what was recorded. Empty if there are none.
std::string growth_text(const scale::Scaling& scaling) {
  constexpr std::size_t kMost = 3;
  const std::vector<std::string>& all = scaling.growing;
  if (all.empty()) return {};
  const std::span<const std::string> first = std::span(all).first(std::min(all.size(), kMost));
  return fmt::format(
      "grows with the number of ranks: {}{}. If this growth ends above {} ranks, the result is wrong: no "
      "recording shows it",
      fmt::join(first, ", "), all.size() > kMost ? fmt::format(", and {} more", all.size() - kMost) : "",
      scaling.model->learned_from.back());
}

}  // namespace

ComputeScalingOption::ComputeScalingOption(CLI::App& app) : name_("recorded") {
  std::vector<std::string> names;
  names.reserve(std::size(kScalings));
  for (const auto& [name, scaling] : kScalings) names.emplace_back(name);
  add_value(app, "--compute-scaling", name_, "strong|weak|recorded",
            "scaling of CPU time: constant work in total (strong), constant work per rank (weak), or as "
            "three or more recordings show")
      ->check(one_of(names))
      ->capture_default_str();
}

ComputeScaling ComputeScalingOption::value() const {
  for (const auto& [name, scaling] : kScalings) {
    if (name == name_) return scaling;
  }
  return ComputeScaling::kRecorded;
}

void add_phase(CLI::App& app, std::string& phase) {
  add_value(app, "--phase", phase, "NAME",
            "use only the phases of this name (MPI_Pcontrol; offramp info lists the names)");
}

scale::LearnedProgram learned_program(const ScaledOptions& options) {
  std::vector<scale::NamedProgram> recorded;
  for (const std::string& file : options.files) {
    Result<trace::Program> program = trace::open_program(file);
    if (!program) throw Misuse{program.error()};
    print_program_notes(file, *program);
    recorded.push_back({file, phase_of(file, std::move(*program), options.phase)});
  }
  Result<scale::LearnedProgram> learned =
      scale::LearnedProgram::learn(recorded, options.compute, options.all_reasons);
  if (!learned)
    throw Misuse{options.ranks > 0
                     ? fmt::format("cannot scale to {} ranks: {}", options.ranks, learned.error())
                     : fmt::format("cannot scale to other numbers of ranks: {}", learned.error())};
  return std::move(*learned);
}

void print_program_notes(const scale::Scaling& scaling) {
  for (const std::string& note : scaling.notes) warn("note: " + note);
  if (const std::string doubt = scaling.caveat(); !doubt.empty()) warn(doubt);
}

scale::Scaling scaled_program(const ScaledOptions& options) {
  return scaled_program(learned_program(options), options.ranks);
}

scale::Scaling scaled_program(const scale::LearnedProgram& learned, int ranks) {
  Result<scale::Scaling> scaling = learned.at(ranks);
  if (!scaling) throw Misuse{fmt::format("cannot scale to {} ranks: {}", ranks, scaling.error())};
  print_program_notes(*scaling);
  return std::move(*scaling);
}

ReportAnswer answer_of(const scale::Scaling& scaling, const ScaledOptions& options,
                       const std::string& output) {
  const scale::Model& model = *scaling.model;
  const scale::Share total = scaling.held_out.total();
  ReportAnswer answer;
  answer.kind = "scaled";
  answer.holds = total.exact > 0;
  const std::string shape = model.layout.dimensions == 1 ? model.layout.text() : "a grid";
  const auto& learned_from = model.learned_from;
  answer.answer =
      fmt::format("{} ranks, made from {}{}", options.ranks,
                  learned_from.size() == 1 ? fmt::format("a recording of {}", learned_from.front())
                                           : fmt::format("{} recordings of {} to {}", learned_from.size(),
                                                         learned_from.front(), learned_from.back()),
                  total.count() > 0 && total.exact == 0 ? "; nothing confirms it" : "");
  answer.why = clauses_text({shape + ", " + roles_text(model, options.ranks)});
  answer.sure = total.count() == 0
                    ? fmt::format("not tested: one recording; sizes are taken as on its {} ranks",
                                  model.learned_from.back())
                    : fmt::format("the smaller recordings predict {} of the {} on {} ranks",
                                  total.exact == 0 ? "none" : scale::share_text(total.exact, total.count()),
                                  counted(total.count(), "call"), model.learned_from.back());
  std::vector<std::string> objections;
  if (!scaling.not_foretold.empty()) objections.push_back("not predicted: " + scaling.not_foretold.front());
  if (!scaling.growing.empty()) objections.push_back("grows with the ranks: " + scaling.growing.front());
  objections.push_back(scaling_text(scaling));
  answer.but = clauses_text(objections);
  answer.next = output.empty() ? "repeat with -o FILE, then offramp advise FILE"
                               : "offramp advise " + shell_word(output);
  return answer;
}

void print_scaling(const scale::Scaling& scaling, const ScaledOptions& options) {
  const scale::Model& model = *scaling.model;
  fmt::print("# scaled from {} ranks on {}{}\n", fmt::join(model.learned_from, ", "), model.layout.text(),
             options.ranks > 0 ? " to " + roles_text(model, options.ranks) : "");
  fmt::print("# {}\n", compute_text(scaling, options.ranks));
  if (const std::string text = growth_text(scaling); !text.empty()) fmt::print("# {}\n", text);
  if (const std::string text = arrival_text(scaling); !text.empty()) fmt::print("# {}\n", text);
  const scale::Share total = scaling.held_out.total();
  if (total.count() == 0) {
    fmt::print(
        "# held out: nothing; with one recording, sizes and iterations are assumed to be those of its {} "
        "ranks at any number of ranks (weak scaling)\n",
        model.learned_from.back());
    return;
  }
  fmt::print(
      "# held out: {} ranks; of its {}, the smaller recordings predict {}\n", model.learned_from.back(),
      counted(total.count(), "call"),
      total.exact == 0 ? "none: nothing confirms the result" : scale::share_text(total.exact, total.count()));
  for (const std::string& why : scaling.not_foretold) fmt::print("# not predicted: {}\n", why);
  if (!scaling.held_out.first_difference.empty())
    fmt::print("# first difference: {}\n", scaling.held_out.first_difference);
}

std::string scaling_text(const scale::Scaling& scaling) {
  if (scaling.compute == ComputeScaling::kRecorded)
    return fmt::format("CPU times are those of {} ranks", scaling.model->learned_from.back());
  return fmt::format("{} scaling, as {}", scaling.compute == ComputeScaling::kStrong ? "strong" : "weak",
                     scaling.compute == scaling.trend.scaling() ? "the recordings show" : "asked for");
}

std::string held_out_text(const scale::Scaling& scaling) {
  const scale::Share total = scaling.held_out.total();
  if (total.count() == 0) return "nothing was held out";
  if (total.exact == 0) return "not confirmed: no held-out call is predicted";
  return fmt::format("the smaller recordings predict {} of {}", scale::share_text(total.exact, total.count()),
                     counted(total.count(), "call"));
}

void print_shares(const scale::Comparison& comparison) {
  fmt::print("{:<28} {:<14} {:>10} {:>8} {:>8} {:>8}\n", "# function", "role", "calls", "exact", "wrong",
             "unknown");
  const auto line = [](std::string_view function, std::string_view role, const scale::Share& share) {
    fmt::print("{:<28} {:<14} {:>10} {:>8} {:>8} {:>8}\n", function, role, share.count(),
               scale::share_text(share.exact, share.count()), share.wrong, share.unknown);
  };
  for (const auto& [key, share] : comparison.shares) line(key.first, key.second, share);
  line("all", "", comparison.total());
}

}  // namespace offramp::tool
