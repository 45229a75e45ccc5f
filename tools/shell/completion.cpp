// Prints the completion script, which the build makes from the catalogue (scripts/make-manual).
#include <fmt/core.h>

#include <fstream>
#include <iterator>

#include "lib/base/text_format.hpp"
#include "tools/command_line/command.hpp"

namespace offramp::tool {
namespace {

class CompletionCommand final : public Command {
 public:
  explicit CompletionCommand(CLI::App& app) : Command(app) {
    app.add_option("shell", shell_, "bash")->type_name("SHELL")->required();
  }
  int execute(std::vector<std::string>) override {
    if (shell_ != "bash") {
      warn(fmt::format("no completion for {}; available: bash", in_quotes(shell_)));
      return kUsage;
    }
    std::ifstream file(helper_path("completion.bash"));
    if (!file) {
      warn("the completion script is not installed beside this program");
      return kBroken;
    }
    fmt::print("{}", std::string(std::istreambuf_iterator<char>(file), {}));
    return kDone;
  }

 private:
  std::string shell_;
};

const Registered<CompletionCommand> completion_command(
    {.name = "completion",
     .place = 110,
     .summary = "print a completion script for bash",
     .about = "In a running bash: source <(offramp completion bash)",
     .exits = {{kBroken}, {kUsage}}});

}  // namespace
}  // namespace offramp::tool
