// offramp check for recordings, traces, and patterns: checks that the calls fit together.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "lib/base/text_format.hpp"
#include "lib/programs/check/rehearsal.hpp"
#include "lib/programs/import/pattern.hpp"
#include "lib/programs/import/program.hpp"
#include "tools/command_line/tool.hpp"
#include "tools/launch/check.hpp"
#include "tools/text/replay_output.hpp"

namespace offramp::tool {
namespace {

void print_json(const CheckOptions& options, const trace::Program& program, const trace::Findings& findings) {
  const nlohmann::ordered_json all = {
      {"file", options.program},       {"kind", program.kind},          {"ranks", program.description.ranks},
      {"events", findings.events},     {"messages", findings.messages}, {"collectives", findings.collectives},
      {"problems", findings.problems}, {"remarks", findings.remarks},   {"notes", program.notes},
      {"missing", program.missing}};
  fmt::print("{}\n", all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void print_text(const CheckOptions& options, const trace::Program& program, const trace::Findings& findings) {
  fmt::print("{}: {}, {} ranks, {} events, {} messages, {} collective calls\n", printable(options.program),
             program.kind, program.description.ranks, findings.events, findings.messages,
             findings.collectives);
  if (!program.missing.empty()) fmt::print("problem: incomplete: {}\n", program.missing);
  for (const std::string& one : findings.problems) fmt::print("problem: {}\n", printable(one, 1000));
  for (const std::string& one : findings.remarks) fmt::print("remark: {}\n", one);
  for (const std::string& one : program.notes) fmt::print("note: {}\n", one);
  if (findings.problems.empty() && program.missing.empty())
    fmt::print("no problems found: its calls are consistent\n");
}

/// A missing file may be the name of a command.
bool may_be_compiled(const std::string& path) {
  if (path.starts_with(kPatternPrefix)) return false;
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) return false;
  std::string begin(4, ' ');
  std::ifstream file(path, std::ios::binary);
  return !file.read(begin.data(), 4) ||
         begin ==
             "\x7f"
             "ELF" ||
         access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::optional<int> check_program(const CheckOptions& options) {
  const Result<trace::Program> program = trace::open_program(options.program);
  if (!program) {
    if (may_be_compiled(options.program)) return std::nullopt;
    warn(printable_lines(program.error()));
    return kUsage;
  }
  if (!options.backend.empty()) warn("note: --backend is for programs; traces are checked without hardware");
  const Result<trace::Findings> findings = trace::rehearse(*program);
  if (!findings) {
    warn(printable(findings.error(), 1000));
    return kUsage;
  }
  options.json ? print_json(options, *program, *findings) : print_text(options, *program, *findings);
  return findings->problems.empty() && program->missing.empty() ? kDone : kFoundFailures;
}

}  // namespace offramp::tool
