#include "lib/answers/report/outputs.hpp"

#include <fmt/format.h>

#include <array>
#include <map>

#include "lib/answers/report/capture.hpp"
#include "lib/base/output_file.hpp"
#include "lib/base/text_format.hpp"
#include "lib/programs/recording/reader.hpp"

namespace offramp {

std::string problem_of_outputs(const Configuration& configuration, int rank) {
  struct Output {
    const char* names;
    std::string path;
    Destination destination = Destination::kStream;
  };
  const std::string& capture = configuration.capture;
  const std::array outputs = {
      Output{"report (OFFRAMP_REPORT, --report)", configuration.report},
      Output{"record (OFFRAMP_RECORD, --record)", configuration.record, Destination::kRegular},
      // A rank writes to its part from MPI_Init on.
      Output{"record (OFFRAMP_RECORD, --record)",
             configuration.record.empty() ? std::string() : recording::part_path(configuration.record, rank),
             Destination::kRegular},
      Output{"trace (OFFRAMP_TRACE, --trace)", configuration.trace},
      Output{"capture (OFFRAMP_CAPTURE, --capture)", capture.empty() ? capture : capture_path(capture, rank)},
      Output{"faults.record (OFFRAMP_FAULTS_RECORD)", configuration.fault_record},
  };
  std::map<std::string, const char*> taken;
  for (const auto& [names, path, destination] : outputs) {
    if (path.empty()) continue;
    if (const std::string problem = check_output(path, destination).error(); !problem.empty())
      return fmt::format("{}: cannot write {}: {}", names, in_quotes(path), problem);
    const std::string target = output_target(path);
    if (target.empty()) continue;
    const auto [other, free] = taken.emplace(target, names);
    if (!free) return fmt::format("{} and {} name the same file, {}", other->second, names, in_quotes(path));
  }
  return {};
}

}  // namespace offramp
