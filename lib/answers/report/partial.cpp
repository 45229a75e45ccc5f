#include "lib/answers/report/partial.hpp"

#include <vector>

#include "lib/answers/report/encode_report.hpp"
#include "lib/answers/report/read_report.hpp"
#include "lib/answers/report/report.hpp"
#include "lib/answers/report/write_report.hpp"

namespace offramp {
namespace {

/// The parts that the file of the same run has; all are empty where it is none.
std::vector<std::string> parts_of_same_run(const std::string& text, const RankPart& part) {
  const auto ranks = static_cast<std::size_t>(part.ranks);
  if (text.find(part.run) != std::string::npos) {
    Result<RunReport> report = parse_report(text, "");
    if (report && report->run == part.run && report->parts.size() == ranks) return std::move(report->parts);
  }
  return std::vector<std::string>(ranks);
}

}  // namespace

std::string partial_report(const std::string& old, const RankPart& part, const RunFacts& facts,
                           const Configuration& configuration) {
  std::vector<std::string> parts = parts_of_same_run(old, part);
  RunReport own = part.contribution;
  own.ended.push_back({{static_cast<std::uint64_t>(part.rank)}, part.reason});
  parts[static_cast<std::size_t>(part.rank)] = to_hexadecimal(encode(own));
  std::vector<std::string> contributions;
  contributions.reserve(parts.size());
  for (const std::string& contribution : parts) contributions.push_back(from_hexadecimal(contribution));
  RunReport report = run_report(contributions, facts, configuration, {});
  report.run = part.run;
  report.parts = std::move(parts);
  return report_text(report);
}

}  // namespace offramp
