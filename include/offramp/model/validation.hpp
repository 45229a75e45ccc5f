// Validation: known figures of the hardware, compared with the model's results.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace offramp {

/// One figure. The model's value comes from a simulation at the time of the call.
struct ValidationRow {
  std::string quantity;
  std::string_view unit;  // empty: a count or a ratio
  double published = 0;   // of a bound or a shape: a representative number, or 0
  double ours = 0;
  bool fitted = false;  // the model, or a parameter, was fitted to this figure
  std::string source;   // and the reason if the figure is missed
  /// The published statement if it is no number: "100 to 1000", "nearly flat". The row then has no error.
  std::string bound = {};
  /// The figure is the duration of whole messages or collectives, or a ratio of two durations. Only such rows
  /// determine the confidence in answers about a program; formats, rates, and parts of an operation do not.
  bool operation = false;
};

using ValidationRows = std::vector<ValidationRow>;

/// Marks the rows from `first` on as operations.
inline void mark_operations(ValidationRows& rows, std::size_t first = 0) {
  for (std::size_t i = first; i < rows.size(); ++i) rows[i].operation = true;
}

}  // namespace offramp
