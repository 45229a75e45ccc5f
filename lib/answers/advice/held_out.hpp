// Errors of the models on machines that nothing is fitted to. scripts/held-out makes them, docs/trust.md says
// how, and the intervals of all answers use them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "lib/answers/replay/replay_result.hpp"
#include "offramp/model/operation.hpp"

namespace offramp {

/// In nine of ten figures, what was measured is at most `factor` times what is modelled, and at least that
/// divided by it.
struct ErrorBound {
  double factor = 1;
  std::size_t figures = 0;
  std::size_t machines = 0;

  /// "x1.42, n 93"
  [[nodiscard]] std::string text() const;
};

/// What the size of an error depends on.
struct OperationClass {
  OperationKind kind = OperationKind::kSend;
  std::size_t bytes = 0;
  int ranks = 0;
  int ranks_per_node = 1;
};
/// The class of the operation in which the ranks spend most time, among those that the backend carries.
OperationClass main_class_of(const ReplayResult& result, int ranks_per_node);

/// The bound of the class, or of the next coarser one with at least nine figures: without the number of
/// ranks, then the size, then the ranks of a node; after that the same without the operation, from figures of
/// three operations at least. `nullopt`: none has as many. side: "host", or "sharp over host" for the ratio
/// of two times that were measured on one machine.
std::optional<ErrorBound> error_bound(std::string_view side, const OperationClass& one);
/// The bound of most figures.
std::optional<ErrorBound> error_bound(std::string_view side, bool several_ranks_per_node);

/// True if a bound exists for some operations of the hardware, or of its ratio to the host.
bool has_error_bounds(std::string_view hardware);

/// How far off a ratio of two modelled times may be: that of pairs where there are any, else both sides' in
/// opposite directions.
struct RatioError {
  std::string_view hardware;
  std::string_view host;
  std::optional<ErrorBound> of_pairs;
  std::optional<ErrorBound> of_hardware;
  std::optional<ErrorBound> of_host;

  [[nodiscard]] bool is_known() const { return of_pairs || (of_hardware && of_host); }
  /// The factors of the times. sign: 1, or -1 for the other end.
  [[nodiscard]] double hardware_factor(int sign) const;
  [[nodiscard]] double host_factor(int sign) const;
  /// "pairs within x1.42, n 12"; if unknown, why.
  [[nodiscard]] std::string text() const;
};
RatioError ratio_error(std::string_view hardware, std::string_view host, const OperationClass& one);

}  // namespace offramp
