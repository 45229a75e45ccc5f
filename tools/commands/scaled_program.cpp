#include "tools/commands/scaled_program.hpp"

#include <fmt/format.h>

#include <array>
#include <map>

#include "lib/base/format.hpp"
#include "lib/base/text_format.hpp"
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

std::string compute_text(const ScaledOptions& options, std::int64_t largest) {
  switch (options.compute) {
    case ComputeScaling::kStrong:
      return fmt::format("CPU times: as recorded at {} ranks, times {}/{} (strong scaling)", largest, largest,
                         options.ranks > 0 ? fmt::to_string(options.ranks) : "ranks");
    case ComputeScaling::kWeak:
      return fmt::format("CPU times: as recorded at {} ranks (weak scaling)", largest);
    case ComputeScaling::kRecorded:
      break;
  }
  return fmt::format("CPU times: as recorded at {} ranks; --compute-scaling says how they scale", largest);
}

/// What the order of arrival decided, in words; empty: nothing.
std::string arrival_text(const scale::Scaling& scaling) {
  std::vector<std::string> parts;
  if (scaling.wildcards > 0) parts.push_back(counted(scaling.wildcards, "receive") + " from any source");
  if (scaling.choices > 0) parts.push_back(counted(scaling.choices, "wait") + " for any of several requests");
  if (scaling.questions > 0) parts.push_back(counted(scaling.questions, "question") + " that found nothing");
  if (parts.empty()) return {};
  return fmt::format("left to the replay, for the order of arrival decides it: {}", fmt::join(parts, ", "));
}

/// How many ranks have which role.
void print_ranks(const scale::Model& model, int ranks) {
  std::map<std::string, int> roles;
  const auto sides = model.layout.sides(ranks);
  for (int rank = 0; rank < ranks; ++rank) ++roles[model.roles.name(model.roles.key(*sides, rank))];
  std::vector<std::string> words;
  words.reserve(roles.size());
  for (const auto& [role, count] : roles) words.push_back(fmt::format("{} {}", count, role));
  fmt::print(
      "# scaled from {} to {} ranks on {}{}: {}\n", fmt::join(model.learned_from, ", "), ranks,
      model.layout.text(),
      model.layout.dimensions == 1
          ? ""
          : fmt::format(
                " ({})",
                fmt::join(std::span(*sides).first(static_cast<std::size_t>(model.layout.dimensions)), " x ")),
      fmt::join(words, ", "));
}

/// Empty: nothing grows beyond what was recorded.
std::string growth_text(const scale::Scaling& scaling) {
  constexpr std::size_t kMost = 3;
  const std::vector<std::string>& all = scaling.growing;
  if (all.empty()) return {};
  const std::span<const std::string> first = std::span(all).first(std::min(all.size(), kMost));
  return fmt::format(
      "grows with the ranks: {}{}. If the program ends this growth above {} ranks, no recording shows it, "
      "and "
      "the result is wrong",
      fmt::join(first, ", "), all.size() > kMost ? fmt::format(", and {} more", all.size() - kMost) : "",
      scaling.model->learned_from.back());
}

}  // namespace

ComputeScalingOption::ComputeScalingOption(CLI::App& app) : name_("recorded") {
  std::vector<std::string> names;
  names.reserve(std::size(kScalings));
  for (const auto& [name, scaling] : kScalings) names.emplace_back(name);
  app.add_option(
         "--compute-scaling", name_,
         "how the CPU time of a call changes with the number of ranks: all ranks together have as much to "
         "do (strong), each rank has (weak), or it is not known and the time stays as recorded")
      ->type_name("strong|weak|recorded")
      ->check(CLI::IsMember(names))
      ->capture_default_str();
}

ComputeScaling ComputeScalingOption::value() const {
  for (const auto& [name, scaling] : kScalings) {
    if (name == name_) return scaling;
  }
  return ComputeScaling::kRecorded;
}

void add_phase(CLI::App& app, std::string& phase) {
  app.add_option(
         "--phase", phase,
         "of the program what it does in the phases of this name alone (MPI_Pcontrol; offramp info has "
         "the names), with the communicators that they use")
      ->type_name("NAME");
}

scale::LearnedProgram learned_program(const ScaledOptions& options) {
  std::vector<scale::NamedProgram> recorded;
  for (const std::string& file : options.files) {
    Result<trace::Program> program = trace::open_program(file);
    if (!program) throw Misuse{program.error()};
    tell_notes(file, *program);
    recorded.push_back({file, phase_of(file, std::move(*program), options.phase)});
  }
  Result<scale::LearnedProgram> learned = scale::LearnedProgram::learn(recorded, options.compute);
  if (!learned)
    throw Misuse{options.ranks > 0
                     ? fmt::format("cannot scale to {} ranks: {}", options.ranks, learned.error())
                     : fmt::format("cannot scale to other numbers of ranks: {}", learned.error())};
  return std::move(*learned);
}

void tell_notes(const scale::Scaling& scaling) {
  for (const std::string& note : scaling.notes) complain("note: " + note);
  if (const std::string doubt = scaling.doubt(); !doubt.empty()) complain(doubt);
}

scale::Scaling scaled_program(const ScaledOptions& options) {
  Result<scale::Scaling> scaling = learned_program(options).at(options.ranks);
  if (!scaling) throw Misuse{fmt::format("cannot scale to {} ranks: {}", options.ranks, scaling.error())};
  tell_notes(*scaling);
  return std::move(*scaling);
}

void print_scaling(const scale::Scaling& scaling, const ScaledOptions& options) {
  const scale::Model& model = *scaling.model;
  if (options.ranks > 0) {
    print_ranks(model, options.ranks);
  } else {
    fmt::print("# scaled from {} ranks on {}\n", fmt::join(model.learned_from, ", "), model.layout.text());
  }
  fmt::print("# {}\n", compute_text(options, model.learned_from.back()));
  if (const std::string text = growth_text(scaling); !text.empty()) fmt::print("# {}\n", text);
  if (const std::string text = arrival_text(scaling); !text.empty()) fmt::print("# {}\n", text);
  const scale::Share total = scaling.held_out.total();
  if (total.all() == 0) {
    fmt::print(
        "# held out: nothing, for there is one recording: sizes and turns are taken to be those of its {} "
        "ranks at any number of them (weak scaling)\n",
        model.learned_from.back());
    return;
  }
  fmt::print(
      "# held out: {} ranks, of whose {} the smaller recordings foretell {}\n", model.learned_from.back(),
      counted(total.all(), "call"),
      total.exact == 0 ? "none: nothing confirms the result" : scale::share_text(total.exact, total.all()));
  for (const std::string& why : scaling.not_foretold) fmt::print("# not foretold: {}\n", why);
  if (!scaling.held_out.first_difference.empty())
    fmt::print("# first difference: {}\n", scaling.held_out.first_difference);
}

std::string held_out_text(const scale::Scaling& scaling) {
  const scale::Share total = scaling.held_out.total();
  if (total.all() == 0) return "nothing was held out";
  if (total.exact == 0) return "not confirmed: no held-out call is foretold";
  return fmt::format("held out {} of {}", scale::share_text(total.exact, total.all()),
                     counted(total.all(), "call"));
}

void print_shares(const scale::Comparison& comparison) {
  fmt::print("{:<28} {:<14} {:>10} {:>8} {:>8} {:>8}\n", "# function", "role", "calls", "exact", "wrong",
             "unknown");
  const auto line = [](std::string_view function, std::string_view role, const scale::Share& share) {
    fmt::print("{:<28} {:<14} {:>10} {:>8} {:>8} {:>8}\n", function, role, share.all(),
               scale::share_text(share.exact, share.all()), share.wrong, share.unknown);
  };
  for (const auto& [key, share] : comparison.shares) line(key.first, key.second, share);
  line("all", "", comparison.total());
}

}  // namespace offramp::tool
