#include "lib/answers/advice/held_out.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace offramp {
namespace {

/// As in scripts/held-out.
constexpr std::size_t kBands[] = {1024, 65536};
constexpr int kManyRanks = 128;
constexpr int kAny = -1;

struct Row {
  std::string_view side;
  std::string_view operation;  // empty: any
  int band;
  int several;  // ranks on a node
  int many;
  ErrorBound bound;
};
// The most specific first.
constexpr Row kRows[] = {
#include "lib/answers/advice/held_out.inc"
};

double power(const ErrorBound& bound, int sign) {
  return sign > 0 ? bound.factor : 1 / bound.factor;
}

}  // namespace

std::string ErrorBound::text() const {
  return fmt::format("x{:.2f}, n {}", factor, figures);
}

OperationClass main_class_of(const ReplayResult& result, int ranks_per_node) {
  const Counters counters = result.total();
  CallCounter messages;  // and calls that wait
  OperationClass one{OperationKind::kSend, 0, static_cast<int>(result.ranks.size()), ranks_per_node};
  Time most;
  const auto take = [&](OperationKind kind, const CallCounter& counter) {
    if (counter.count == 0 || counter.modelled < most) return;
    most = counter.modelled;
    one.kind = kind;
    one.bytes = static_cast<std::size_t>(counter.bytes / counter.count);
  };
  for (std::size_t i = 0; i < result.functions.size(); ++i) {
    std::string name = result.functions[i].substr(std::min<std::size_t>(4, result.functions[i].size()));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    const auto kind = kind_of_function(name);
    if (kind && *kind != OperationKind::kSend) {
      take(*kind, counters.calls[i]);
    } else {
      messages.modelled += counters.calls[i].modelled;
      if (counters.calls[i].bytes == 0) continue;
      messages.bytes += counters.calls[i].bytes;
      messages.count += counters.calls[i].count;
    }
  }
  take(OperationKind::kSend, messages);
  return one;
}

std::optional<ErrorBound> error_bound(std::string_view side, const OperationClass& one) {
  const auto band =
      static_cast<int>(std::ranges::count_if(kBands, [&](auto limit) { return one.bytes > limit; }));
  for (const Row& row : kRows) {
    if (row.side == side && (row.operation.empty() || row.operation == to_string(one.kind)) &&
        (row.band == kAny || row.band == band) &&
        (row.several == kAny || row.several == (one.ranks_per_node > 1 ? 1 : 0)) &&
        (row.many == kAny || row.many == (one.ranks >= kManyRanks ? 1 : 0)))
      return row.bound;
  }
  return std::nullopt;
}

std::optional<ErrorBound> error_bound(std::string_view side, bool several_ranks_per_node) {
  const auto* const found = std::ranges::find_if(kRows, [&](const Row& row) {
    return row.side == side && row.band == kAny &&
           (row.several == kAny || row.several == (several_ranks_per_node ? 1 : 0));
  });
  return found == std::end(kRows) ? std::nullopt : std::optional(found->bound);
}

double RatioError::hardware_factor(int sign) const {
  return power(of_pairs ? *of_pairs : *of_hardware, sign);
}

double RatioError::host_factor(int sign) const {
  return of_pairs ? 1 : power(*of_host, hardware == host ? sign : -sign);
}

std::string RatioError::text() const {
  if (of_pairs) return fmt::format("pairs within {}", of_pairs->text());
  if (is_known() && hardware == host) return fmt::format("{} within {}", host, of_host->text());
  if (is_known())
    return fmt::format("{} within {}; {} {}", hardware, of_hardware->text(), host, of_host->text());
  return fmt::format("not known: too few figures of {} on machines that it is not fitted to",
                     of_hardware ? host : hardware);
}

RatioError ratio_error(std::string_view hardware, std::string_view host, const OperationClass& one) {
  return {hardware, host, error_bound(fmt::format("{} over {}", hardware, host), one),
          error_bound(hardware, one), error_bound(host, one)};
}

}  // namespace offramp
