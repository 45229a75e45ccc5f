// Input from outside: reports in files, and the parts that ranks contribute. Everything that can be read is
// written and read again.
#include "lib/answers/report/report.hpp"

#include <string>
#include <vector>

#include "lib/answers/report/read_report.hpp"
#include "lib/answers/report/write_report.hpp"
#include "tests/fuzz/support.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const offramp::fuzz::Input input(data, size);
  const std::string text(input.text());
  offramp::RunFacts facts;
  facts.command = {text.substr(0, 80)};
  const offramp::RunReport report = offramp::run_report({text, text}, facts, offramp::Configuration{}, {});
  static_cast<void>(offramp::summary(report, true));
  static_cast<void>(offramp::parse_report(offramp::report_text(report), "a report"));
  if (const auto part = offramp::decode_report(text); part) {
    const std::string again = offramp::encode(*part);
    const auto decoded = offramp::decode_report(again);
    offramp::fuzz::require(decoded && offramp::encode(*decoded) == again);
  }
  if (const auto read = offramp::parse_report(text, "not a report"); read) {
    const auto again = offramp::parse_report(offramp::report_text(*read), "a report");
    offramp::fuzz::require(bool(again));
  }
  return 0;
}
