// One operation on some hardware, as the command line asks for it: what predict and explain have in common.
#pragma once

#include <string>
#include <vector>

#include "lib/answers/replay/forecast.hpp"
#include "tools/command_line/options.hpp"
#include "tools/command_line/setup.hpp"

namespace offramp::tool {

struct Asked {
  std::string operation;
  std::vector<std::string> backends;  // compared side by side; empty: the configured one
  int ranks = 2;
  std::string bytes = "8";  // with or without a unit
  int root = 0;
  std::string type;      // empty: int32 where something is reduced, byte elsewhere
  std::string function;  // empty: sum
  std::vector<Override> overrides;
};

class QuestionOptions {
 public:
  /// Fills what was asked, which must outlive this.
  QuestionOptions(CLI::App& app, Asked& asked);
  /// The first --set that is none, or nothing.
  std::string collect();

 private:
  Asked& asked_;
  KeyOptions keys_;
};

// What is wrong is thrown as Misuse.
std::size_t parse_bytes(const std::string& text);
int parse_ranks(const std::string& text);
/// Without elements: a sweep sets other sizes first.
Operation operation_of(const Asked& asked);
void set_elements(Operation& operation);
ForecastSetting setting_of(const Setup& setup, const BackendDescription& backend, int ranks,
                           bool check = false);

}  // namespace offramp::tool
