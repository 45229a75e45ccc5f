// offramp scale: a program at more ranks than were recorded, from recordings at fewer.

#include <fmt/format.h>

#include "lib/answers/report/write_report.hpp"
#include "lib/base/format.hpp"
#include "lib/programs/export/writers.hpp"
#include "tools/command_line/options.hpp"
#include "tools/command_line/tool.hpp"
#include "tools/commands/scaled_program.hpp"
#include "tools/text/replay_output.hpp"

namespace offramp::tool {
namespace {

struct ScaleOptions {
  ScaledOptions scaled;
  std::string output;
  std::string against;  // a recording with the same number of ranks
  bool json = false;
};

/// Compares each call with a recording at the same number of ranks.
scale::Comparison comparison_with(const scale::Scaling& scaling, const ScaleOptions& options) {
  ReplayInput real(options.against, std::nullopt);
  real.use_phase(options.against, options.scaled.phase);
  if (real.ranks() != options.scaled.ranks)
    throw Misuse{fmt::format("--against: {} has {} ranks instead of {}", options.against, real.ranks(),
                             options.scaled.ranks)};
  const scale::Extrapolation made = scale::extrapolation_of(scaling.model, options.scaled.ranks);
  Result<scale::Comparison> comparison = scale::compare(real.program, made.read, made.role);
  if (!comparison) throw Misuse{problem_text(options.against, comparison.error())};
  return std::move(*comparison);
}

Json json_of(const scale::Comparison& comparison) {
  const auto numbers = [](const scale::Share& share) {
    return Json{
        {"calls", share.count()}, {"exact", share.exact}, {"wrong", share.wrong}, {"unknown", share.unknown}};
  };
  Json each = Json::array();
  for (const auto& [key, share] : comparison.shares) {
    Json one = {{"function", key.first}, {"role", key.second}};
    one.update(numbers(share));
    each.push_back(std::move(one));
  }
  Json json = numbers(comparison.total());
  json["each"] = std::move(each);
  json["first_difference"] = comparison.first_difference;
  return json;
}

/// The comparison with --against, if given, and the answer.
struct Made {
  std::optional<scale::Comparison> comparison;
  ReportAnswer answer;

  Made(const scale::Scaling& scaling, const ScaleOptions& options)
      : answer(answer_of(scaling, options.scaled, options.output)) {
    if (options.against.empty()) return;
    comparison = comparison_with(scaling, options);
    const scale::Share total = comparison->total();
    answer.sure = clauses_text(
        {fmt::format("{} of the {} of {} are exact", scale::share_text(total.exact, total.count()),
                     counted(total.count(), "call"), options.against),
         comparison->first_difference});
  }
};

void print_json(const scale::Scaling& scaling, const ScaleOptions& options) {
  const Made made(scaling, options);
  Json json = {{"ranks", options.scaled.ranks},          {"recorded", scaling.model->learned_from},
               {"layout", scaling.model->layout.text()}, {"held_out", json_of(scaling.held_out)},
               {"not_foretold", scaling.not_foretold},   {"growing", scaling.growing}};
  json["answer"] = json_of(made.answer);
  if (made.comparison) json["against"] = json_of(*made.comparison);
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

void print_text(const scale::Scaling& scaling, const ScaleOptions& options) {
  const Made made(scaling, options);
  fmt::print("{}", answer_text(made.answer, line_width()));
  if (!options.scaled.all_reasons) return;
  fmt::print("\n");
  print_scaling(scaling, options.scaled);
  if (scaling.held_out.total().count() > 0) print_shares(scaling.held_out);
  if (!made.comparison) return;
  fmt::print("# compared with {}\n", options.against);
  print_shares(*made.comparison);
  if (!made.comparison->first_difference.empty())
    fmt::print("# first difference: {}\n", made.comparison->first_difference);
}

int scale_command_line(const ScaleOptions& options) {
  check_file_of("--output", options.output);
  const scale::Scaling scaling = scaled_program(options.scaled);
  if (options.json) {
    print_json(scaling, options);
  } else {
    print_text(scaling, options);
  }
  const int code = scaling.caveat().empty() ? kDone : kFoundFailures;
  if (options.output.empty()) return code;
  const auto recording = trace::recording_of(scaling.program);
  if (!recording) throw Misuse{recording.error()};
  const std::string problem = recording->write(options.output).error();
  if (problem.empty()) return code;
  warn(problem);
  return kNotWritten;
}

class ScaleCommand final : public Command {
 public:
  explicit ScaleCommand(CLI::App& app) : Command(app), compute_(app) {
    add_value(app, "files", options_.scaled.files, "FILE",
              "recordings of one program at different numbers of ranks; sizes that depend on the number "
              "need three or more")
        ->required();
    add_ranks(app, options_.scaled.ranks, "number of ranks to scale to")->required();
    add_value(app, "-o,--output", options_.output, "FILE", "the recording to write");
    add_value(app, "--against", options_.against, "FILE",
              "compare the result, call by call, with a recording at the same number of ranks");
    app.add_flag("--verbose", options_.scaled.all_reasons,
                 "print all reasons of a refusal, and the shares by function and role");
    add_phase(app, options_.scaled.phase);
    add_json(app, options_.json);
  }
  int execute(std::vector<std::string>) override {
    options_.scaled.compute = compute_.value();
    return scale_command_line(options_);
  }

 private:
  ScaleOptions options_;
  ComputeScalingOption compute_;
};

const Registered<ScaleCommand> scale_command(
    {.name = "scale",
     .place = 46,
     .summary = "extrapolate recordings to more ranks",
     .about =
         R"(Learns how the calls of a program depend on the rank and the number of ranks, and generates them for another
number. The largest recording is held out: the share of its calls that the others predict is printed. Calls that fit no
rule are refused and named. CPU times are the recorded ones (see --compute-scaling).)",
     .exits = {
         {kUsage, "the command line is wrong, or the program's calls do not follow from the number of ranks"},
         {kFoundFailures,
          "written, but no call of the largest recording could be predicted from the others, so nothing "
          "confirms it"},
         {kNotWritten}}});

}  // namespace
}  // namespace offramp::tool
