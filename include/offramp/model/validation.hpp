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
  /// The figure is the time of whole messages or collectives, or a ratio of two such times. How sure an
  /// answer about a program is follows from these alone: formats, rates, and parts of an operation say little
  /// about it.
  bool operation = false;
};

using ValidationRows = std::vector<ValidationRow>;

/// Marks the rows from `first` on.
inline void mark_operations(ValidationRows& rows, std::size_t first = 0) {
  for (std::size_t i = first; i < rows.size(); ++i) rows[i].operation = true;
}

}  // namespace offramp
