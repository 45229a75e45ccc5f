// offramp record: runs a program natively, and writes its MPI calls down.
#include <filesystem>

#include "tools/command_line/command.hpp"
#include "tools/launch/launch_options.hpp"

namespace offramp::tool {
namespace {

class RecordCommand final : public Command {
 public:
  explicit RecordCommand(CLI::App& app)
      : Command(app), launch_(app, options_), keys_(app, {KeyGroup::kSettings}, Paths::kAbsolute) {
    app.add_option("-o,--output", output_, "the file that the recording goes to")
        ->type_name("FILE")
        ->required();
  }

  int execute(std::vector<std::string> program) override {
    launch_.collect(std::move(program));
    if (const std::string problem = keys_.collect({}, options_.overrides); !problem.empty())
      return refuse(problem);
    options_.overrides.push_back({"backend", std::string(Configuration::kOff), "offramp record"});
    options_.overrides.push_back({"record", std::filesystem::absolute(output_).string(), "--output"});
    return run(options_);
  }

 private:
  RunOptions options_;
  LaunchOptions launch_;
  KeyOptions keys_;
  std::string output_;
};

const Registered<RecordCommand> record_command(
    {.name = "record",
     .place = 20,
     .summary = "run an MPI program without a backend and record what it does, for offramp replay",
     .about =
         R"(The program runs natively, and its MPI calls are written down without their data: offramp replay FILE says how long they
take on any hardware. offramp run --record FILE records beside a backend; the recording is the same.)",
     .exits = launch_exits(),
     .runs_program = true});

}  // namespace
}  // namespace offramp::tool
