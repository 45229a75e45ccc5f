// offramp dpu-config: explain config --backend dpu, under the name that its users look for.
#include <fmt/format.h>

#include "tools/command.hpp"
#include "tools/dpu_host.hpp"
#include "tools/explain.hpp"

namespace offramp::tool {
namespace {

class DpuConfigCommand final : public Command {
 public:
  explicit DpuConfigCommand(CLI::App& app) : Command(app), keys_(app, {KeyGroup::kSettings}) {
    app.add_option("file", file_, "the file to check")->type_name("FILE");
    CLI::Option* const hosts = app.add_option("--hosts", hosts_, "number of equal hosts")->type_name("N");
    CLI::Option* const machine = app.add_flag("--machine", machine_, "this machine");
    app.add_option("--topology", topologies_, "a host as lstopo has written it on that host; may be repeated")
        ->type_name("FILE")
        ->allow_extra_args(false)
        ->excludes(hosts)
        ->excludes(machine);
    machine->excludes(hosts);
  }
  int execute(std::vector<std::string>) override {
    ExplainOptions options;
    options.topic = "config";
    options.asked.backends = {"dpu"};
    if (!file_.empty()) options.arguments.push_back(file_);
    if (const std::string problem = keys_.collect({"dpu"}, options.asked.overrides); !problem.empty())
      return refuse(problem);
    if (const std::string error = describe(options.arguments); !error.empty()) {
      complain(error);
      return kUsage;
    }
    return explain(options);
  }

 private:
  /// The hosts to write a file for, in words; what is wrong.
  std::string describe(std::vector<std::string>& words) const {
    const bool about_hosts = hosts_ != 0 || machine_ || !topologies_.empty();
    if (about_hosts && !file_.empty()) return "a file is checked, or one is written: not both";
    if (hosts_ != 0) words.push_back(fmt::format("hosts={}", hosts_));
    std::vector<std::string> sources = topologies_;
    if (machine_) sources.emplace_back();
    for (const std::string& source : sources) {
      DpuHost host = look_at_dpu_host(source);
      if (!host.error.empty()) return host.error;
      words.insert(words.end(), host.words.begin(), host.words.end());
    }
    return {};
  }

  KeyOptions keys_;
  std::string file_;
  int hosts_ = 0;
  bool machine_ = false;
  std::vector<std::string> topologies_;
};

const Registered<DpuConfigCommand> dpu_config_command(
    {.name = "dpu-config",
     .place = 80,
     .summary = "write or check a configuration file of the offload service",
     .about =
         "Without a file: writes one for the platform of the settings to standard output. With one: checks "
         "it. --machine and --topology find BlueField cards with hwloc; comments in the file then say which "
         "local rank has which service process, and which are far from it.",
     .exits = {{kUsage,
                "the command line or the configuration is wrong, or the file is, or there is no "
                "BlueField card on the host"}}});

}  // namespace
}  // namespace offramp::tool
