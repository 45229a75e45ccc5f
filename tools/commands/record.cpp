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
    app.add_option("-o,--output", output_, "write the recording to this file")->type_name("FILE")->required();
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
     .summary = "record the MPI calls of a program that runs natively",
     .about =
         R"(The program runs natively, and its MPI calls are recorded without their data. offramp advise FILE and offramp
replay FILE then give their time on any hardware. offramp run --record FILE makes the same recording over a backend.)",
     .exits = launch_exits(),
     .runs_program = true});

}  // namespace
}  // namespace offramp::tool
