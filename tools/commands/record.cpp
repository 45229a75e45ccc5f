// offramp record: runs a program natively, and records its MPI calls.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "lib/base/printable.hpp"
#include "tools/command_line/command.hpp"
#include "tools/launch/launch_options.hpp"

namespace offramp::tool {
namespace {

class RecordCommand final : public Command {
 public:
  explicit RecordCommand(CLI::App& app)
      : Command(app), launch_(app, options_), keys_(app, {KeyGroup::kSettings}, Paths::kAbsolute) {
    add_value(app, "-o,--output", output_, "FILE|FOLDER",
              "the file to write; with --repeat, a new folder for all recordings")
        ->required();
    add_value(app, "--repeat", repeat_, "N", "run the program N times, to measure how its computing varies")
        ->check(whole_number(2, 1000));
    app.get_option("--set")->description(
        "set one key of the configuration (record_parts=keep); may be repeated");
  }

  int execute(std::vector<std::string> program) override {
    launch_.collect(std::move(program));
    if (const std::string problem = keys_.collect({}, options_.overrides); !problem.empty())
      return refuse(problem);
    options_.overrides.push_back({"backend", std::string(Configuration::kOff), "offramp record"});
    return repeat_ == 0 ? record(output_) : record_into_folder();
  }

 private:
  int record(const std::filesystem::path& file) {
    options_.overrides.push_back({"record", std::filesystem::absolute(file).string(), "--output"});
    const int code = run(options_);
    options_.overrides.pop_back();
    return code;
  }

  /// Stops at the first failing run.
  int record_into_folder() {
    std::error_code error;
    if (std::filesystem::exists(output_, error) && !std::filesystem::is_empty(output_, error))
      return refuse(fmt::format("--repeat writes a new folder, but {} already exists", in_quotes(output_)));
    if (!options_.dry_run && !std::filesystem::create_directories(output_, error) && error)
      return refuse(fmt::format("cannot make the folder {}: {}", in_quotes(output_), error.message()));
    options_.returns = true;
    const off_t input = lseek(STDIN_FILENO, 0, SEEK_CUR);
    for (int i = 1; i <= repeat_; ++i) {
      if (i > 1 && input >= 0) (void)lseek(STDIN_FILENO, input, SEEK_SET);
      const auto file = std::filesystem::path(output_) / fmt::format("{:03}{}", i, kRecordingSuffix);
      if (const int code = record(file); code != kDone) return code;
    }
    return kDone;
  }

  RunOptions options_;
  LaunchOptions launch_;
  KeyOptions keys_;
  std::string output_;
  int repeat_ = 0;
};

const Registered<RecordCommand> record_command(
    {.name = "record",
     .place = 20,
     .summary = "record the MPI calls of a program that runs natively",
     .about =
         R"(The program runs natively, and its MPI calls are recorded without their data. offramp advise FILE and offramp
replay FILE then give their time on any hardware. offramp run --record FILE makes the same recording over a backend.

The time between calls is recorded too, and varies from run to run. Record a program and a changed version with
--repeat 5 each; offramp replay BEFORE AFTER then separates the change from noise.)",
     .often = {"-h", "--output", "-n", "--repeat", "--set", "--config", "--launcher", "--launcher-args"},
     .exits = launch_exits(),
     .runs_program = true});

}  // namespace
}  // namespace offramp::tool
