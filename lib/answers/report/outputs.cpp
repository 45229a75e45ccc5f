// Called before the launch and again in MPI_Init, so that a run of hours does not end with an unwritable
// file. Two outputs with one target are refused, since the later would replace the earlier. Targets are
// compared rather than names, because several names, also links, may lead to one file.
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
    const char* key;
    std::string path;
    Destination destination = Destination::kStream;
    Naming naming = Naming::kTyped;
  };
  const std::string& capture = configuration.capture;
  const std::array outputs = {
      Output{"report", configuration.report},
      Output{"record", configuration.record, Destination::kRegular},
      // A rank writes to its part from MPI_Init on.
      Output{"record",
             configuration.record.empty() ? std::string() : recording::part_path(configuration.record, rank),
             Destination::kRegular, Naming::kDerived},
      Output{"trace", configuration.trace},
      Output{"capture", capture.empty() ? capture : capture_path(capture, rank), Destination::kStream,
             naming_of_part(capture)},
      Output{"faults.record", configuration.fault_record},
  };
  // "record (--output)": the key, and what the user wrote.
  const auto name_of = [&configuration](const char* key) {
    const auto found = configuration.written.find(key);
    return found == configuration.written.end() ? std::string(key)
                                                : fmt::format("{} ({})", key, found->second.origin);
  };
  std::map<std::string, std::string> taken;
  for (const auto& [key, path, destination, naming] : outputs) {
    if (path.empty()) continue;
    if (const std::string problem = check_output(path, destination, naming).error(); !problem.empty())
      return fmt::format("{}: cannot write {}: {}", name_of(key), in_quotes(path), problem);
    const std::string target = output_target(path, naming);
    if (target.empty()) continue;
    const auto [other, free] = taken.emplace(target, name_of(key));
    if (!free)
      return fmt::format("{} and {} name the same file, {}", other->second, name_of(key), in_quotes(path));
  }
  return {};
}

}  // namespace offramp
