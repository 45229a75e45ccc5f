// Tables of counters' fields. What adds counters up, writes, reads, prints or documents them goes through the
// table, so that a new counter is one line.
#pragma once

#include <cstdint>

namespace offramp {

template <typename Counters>
struct CounterField {
  const char* name;   // in reports and in the JSON of commands
  const char* unit;   // of what it counts
  const char* about;  // the line of docs/report.md, which a test compares
  std::uint64_t Counters::*value;
};

template <typename Counters, typename Fields>
constexpr void add_fields(Counters& sum, const Counters& part, const Fields& fields) {
  for (const CounterField<Counters>& field : fields) sum.*field.value += part.*field.value;
}

}  // namespace offramp
