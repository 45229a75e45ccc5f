// offramp scale: a program at more ranks than were run, from recordings at fewer.

#include <fmt/format.h>

#include "lib/programs/export/recording_writer.hpp"
#include "tools/command_line/options.hpp"
#include "tools/commands/scaled_program.hpp"
#include "tools/text/replay_output.hpp"

namespace offramp::tool {
namespace {

struct ScaleOptions {
  ScaledOptions scaled;
  std::string output;
  std::string against;  // a recording at as many ranks
  bool json = false;
};

/// Call by call with a program that was run at as many ranks.
scale::Comparison comparison_with(const scale::Scaling& scaling, const ScaleOptions& options) {
  Played real(options.against, false);
  real.use_phase(options.against, options.scaled.phase);
  if (real.ranks() != options.scaled.ranks)
    throw Misuse{fmt::format("--against: {} has {} ranks, and not {}", options.against, real.ranks(),
                             options.scaled.ranks)};
  const scale::Foretold made = scale::foretell(scaling.model, options.scaled.ranks);
  Result<scale::Comparison> comparison = scale::compare(real.program, made.read, made.role);
  if (!comparison) throw Misuse{problem_text(options.against, comparison.error())};
  return std::move(*comparison);
}

Json json_of(const scale::Comparison& comparison) {
  const auto numbers = [](const scale::Share& share) {
    return Json{
        {"calls", share.all()}, {"exact", share.exact}, {"wrong", share.wrong}, {"unknown", share.unknown}};
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

void print_json(const scale::Scaling& scaling, const ScaleOptions& options) {
  Json json = {{"ranks", options.scaled.ranks},          {"recorded", scaling.model->learned_from},
               {"layout", scaling.model->layout.text()}, {"held_out", json_of(scaling.held_out)},
               {"not_foretold", scaling.not_foretold},   {"growing", scaling.growing}};
  if (!options.against.empty()) json["against"] = json_of(comparison_with(scaling, options));
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

void print_text(const scale::Scaling& scaling, const ScaleOptions& options) {
  std::optional<scale::Comparison> comparison;
  if (!options.against.empty()) comparison = comparison_with(scaling, options);
  print_scaling(scaling, options.scaled);
  if (scaling.held_out.total().all() > 0) print_shares(scaling.held_out);
  if (!comparison) return;
  fmt::print("# compared with {}\n", options.against);
  print_shares(*comparison);
  if (!comparison->first_difference.empty())
    fmt::print("# first difference: {}\n", comparison->first_difference);
}

int scale_command_line(const ScaleOptions& options) try {
  if (const std::string problem =
          options.output.empty() ? std::string() : option_problem("--output", options.output);
      !problem.empty())
    throw Misuse{problem};
  const scale::Scaling scaling = scaled_program(options.scaled);
  if (options.json) {
    print_json(scaling, options);
  } else {
    print_text(scaling, options);
  }
  const int code = scaling.doubt().empty() ? kDone : kFoundFailures;
  if (options.output.empty()) return code;
  const auto recording = trace::recording_of(scaling.program);
  if (!recording) throw Misuse{recording.error()};
  const std::string problem = recording->write(options.output).error();
  if (problem.empty()) return code;
  complain(problem);
  return kNotWritten;
} catch (const Misuse& misuse) {
  complain(misuse.text);
  return kUsage;
}

class ScaleCommand final : public Command {
 public:
  explicit ScaleCommand(CLI::App& app) : Command(app), compute_(app) {
    app.add_option(
           "files", options_.scaled.files,
           "recordings of one program at different numbers of ranks; from three on, sizes may depend on it")
        ->type_name("FILE")
        ->required();
    add_ranks(app, options_.scaled.ranks, "number of ranks to scale to")->required();
    app.add_option("-o,--output", options_.output, "the recording to write")->type_name("FILE");
    app.add_option("--against", options_.against,
                   "compare the result call by call with a recording at as many ranks")
        ->type_name("FILE");
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
     .summary = "make a recording at more ranks than were run, from recordings at fewer",
     .about =
         R"(Finds out how the calls of a program follow from the rank and the number of ranks, and makes them for another number.
The largest recording is held out: what the others foretell of it is printed by function and role, and is a fact of the result.
What does not fit is refused, and named. Only the structure is learned; CPU times are those that were recorded, see --compute-scaling.)",
     .exits = {{kUsage, "wrong usage, or the program's calls do not follow from the number of ranks"},
               {kFoundFailures,
                "it is made, but the others foretell no call of the largest recording, so that nothing "
                "confirms it"},
               {kNotWritten}}});

}  // namespace
}  // namespace offramp::tool
