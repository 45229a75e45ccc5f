// The examples of each subcommand, for its help and its manual page.
#include <algorithm>
#include <iterator>

#include "tools/command_line/command.hpp"

namespace offramp::tool {
namespace {

constexpr Example kExamples[] = {
    {"offramp record -n 4 -o app.rec -- ./app", "record a program on four ranks"},
    {"offramp record -n 4 --repeat 5 -o runs/app.rec -- ./app",
     "record it five times, to see how much its computing varies"},
    {"offramp advise app.rec", "which hardware makes the program faster, by how much, and why"},
    {"offramp advise app.rec --html advice.html", "the same as a page"},
    {"offramp advise app.rec --tuning rules.conf",
     "write the fastest algorithms of the MPI library to a file"},
    {"offramp replay app.rec --backend host,dpu --details", "where the time goes over two kinds of hardware"},
    {"offramp replay before.rec after.rec", "what a change of the program gains"},
    {"offramp replay app.rec --backend dpu --sweep bandwidth=100:400:x2", "the run with faster links"},
    {"offramp run -n 4 --backend dpu -- ./app", "run a program over a model, with its real data"},
    {"offramp run -n 4 --backend host --compare dpu,sharp --report run.json -- ./app",
     "compare three kinds of hardware, and keep the report"},
    {"offramp predict allreduce --backend all -n 64 --bytes 1MiB",
     "the time of one operation over all hardware"},
    {"offramp predict allreduce --backend host,sharp -n 64 --sweep bytes=8:1MiB:x8",
     "the same over several sizes"},
    {"offramp report run.json --html run.html", "show a report as a page"},
    {"offramp report run.json --table calls", "one of its tables as comma-separated values"},
    {"offramp check ./app", "which MPI functions a program calls, and what becomes of them"},
    {"offramp convert app.rec --to goal -o app.goal", "write a recording in another format"},
    {"offramp scale app-4.rec app-8.rec app-16.rec -n 256 -o app-256.rec",
     "extrapolate recordings to more ranks"},
    {"offramp explain --backend zrlmpi header", "how the model of a device works"},
    {"offramp explain validation --backend all", "how far the models are from published measurements"},
    {"offramp calibrate -o offramp.toml", "fit the host's model to this machine"},
    {"offramp info", "this installation, and what it found on the machine"},
    {"offramp info app.rec", "what a recording contains"},
    {"offramp lab replay --help-all", "all options of a subcommand"},
    {"offramp completion bash > ~/.local/share/bash-completion/completions/offramp",
     "install the completion"},
};

}  // namespace

std::vector<Example> examples_of(std::string_view subcommand) {
  constexpr std::string_view kBegin = "offramp ";
  std::vector<Example> found;
  std::ranges::copy_if(kExamples, std::back_inserter(found), [&](const Example& one) {
    const std::string_view rest = one.command.substr(kBegin.size());
    return rest.substr(0, rest.find(' ')) == subcommand;
  });
  return found;
}

}  // namespace offramp::tool
