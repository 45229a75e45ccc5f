// Tables of counters' fields. Code that sums, writes, reads, prints, or documents counters iterates over the
// table, so that a new counter is one line.
#pragma once

#include <cstdint>

namespace offramp {

/// One row: a counter and its texts, all literals.
template <typename Counters>
struct CounterField {
  const char* name;   // in reports and in the JSON of commands
  const char* unit;   // unit of the value
  const char* about;  // its line in docs/report.md; a test compares them
  std::uint64_t Counters::*value;
};

/// Adds each field of `part` to the same field of `sum`. A member without a row in the table is not summed.
template <typename Counters, typename Fields>
constexpr void add_fields(Counters& sum, const Counters& part, const Fields& fields) {
  for (const CounterField<Counters>& field : fields) sum.*field.value += part.*field.value;
}

}  // namespace offramp
