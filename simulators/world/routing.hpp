// Routes: which backend carries an operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "offramp/model/operation.hpp"

namespace offramp {

/// One routing rule; the first match wins. Limits are inclusive. Sizes are Operation::bytes.
struct RouteRule {
  OperationKind operation = OperationKind::kCount;  // kCount: any
  std::size_t min_bytes = 0;
  std::size_t max_bytes = SIZE_MAX;
  int min_ranks = 0;
  int max_ranks = INT32_MAX;
  std::uint8_t backend = 0;  // index among the backends of the run; 0 is the host

  [[nodiscard]] bool matches(const Operation& operation_) const {
    return (operation == OperationKind::kCount || operation == operation_.kind) &&
           operation_.bytes >= min_bytes && operation_.bytes <= max_bytes && operation_.ranks >= min_ranks &&
           operation_.ranks <= max_ranks;
  }
};

/// The backend of the first matching rule, or `primary`.
inline std::uint8_t route_of(std::span<const RouteRule> rules, const Operation& operation,
                             std::uint8_t primary) {
  for (const RouteRule& rule : rules) {
    if (rule.matches(operation)) return rule.backend;
  }
  return primary;
}

}  // namespace offramp
