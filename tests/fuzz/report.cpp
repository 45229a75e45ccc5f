// What ranks contribute to a report: JSON from other processes. The report is read as JSON again.
#include "lib/report/report.hpp"

#include <string>
#include <vector>

#include "lib/report/read_report.hpp"
#include "tests/fuzz/support.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const offramp::fuzz::Input input(data, size);
  std::vector<std::string> ranks(1);
  for (const char c : input.text()) {
    if (c == '\0' && ranks.size() < 8) {
      ranks.emplace_back();
    } else {
      ranks.back() += c;
    }
  }
  offramp::RunFacts facts;
  facts.command = {ranks.front()};
  const std::string report = offramp::run_report(ranks, facts, offramp::Configuration{}, {});
  static_cast<void>(offramp::summary(report));
  static_cast<void>(offramp::parse_report(report, "a report"));
  static_cast<void>(offramp::parse_report(input.text(), "not a report"));
  return 0;
}
