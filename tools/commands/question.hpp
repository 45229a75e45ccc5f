// A question about one operation, as predict and explain accept it on the command line.
#pragma once

#include <string>
#include <vector>

#include "lib/answers/replay/forecast.hpp"
#include "tools/command_line/options.hpp"
#include "tools/command_line/setup.hpp"

namespace offramp::tool {

struct Asked {
  std::string operation;
  std::vector<std::string> backends;  // compared side by side; empty: the configured backend
  int ranks = 2;
  std::string bytes = "8";  // with or without a unit
  int root = 0;
  std::string type;      // empty: int32 for reductions, otherwise byte
  std::string function;  // empty: sum
  std::vector<Override> overrides;
};

class QuestionOptions {
 public:
  /// Fills `asked`, which must outlive this object.
  QuestionOptions(CLI::App& app, Asked& asked);
  /// Returns the first invalid --set, or an empty string.
  std::string collect();

 private:
  Asked& asked_;
  KeyOptions keys_;
};

// These functions throw Misuse.
std::size_t parse_bytes(const std::string& text);
int parse_ranks(const std::string& text);
/// Without elements, since a sweep changes the size first.
Operation operation_of(const Asked& asked);
/// Sets the number of elements. The size must be a whole number of them.
void set_elements(Operation& operation);
/// The setting of a forecast on this many ranks. check: also verifies the world's invariants.
ForecastSetting setting_of(const Setup& setup, const BackendDescription& backend, int ranks,
                           bool check = false);

}  // namespace offramp::tool
