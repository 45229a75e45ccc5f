// Validation: figures of the hardware that are known from elsewhere, beside what the model gives for them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace offramp {

/// One figure. The model's is that of a run, made when the row is asked for.
struct ValidationRow {
  std::string quantity;
  std::string_view unit;  // empty: a number of something, or a ratio
  double published = 0;   // of a bound or a shape: what it says as a number, or 0
  double ours = 0;
  bool fitted = false;  // a parameter was chosen after this figure, or the model
  std::string source;   // and, where the figure is not met, why
  /// What is published where it is no number: "100 to 1000", "nearly flat". Then there is no error.
  std::string bound = {};
};

using ValidationRows = std::vector<ValidationRow>;

}  // namespace offramp
