#include "lib/answers/advice/held_out.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

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
  struct Part {
    CallCounter calls;
    std::uint64_t begun = 0;  // bytes of nonblocking operations, for which calls without operations wait
  };
  std::map<OperationKind, Part> parts;
  Time waiting;
  std::uint64_t begun = 0;
  const Counters counters = result.total();
  for (std::size_t i = 0; i < result.functions.size(); ++i) {
    const CallCounter& calls = counters.calls[i];
    if (calls.operations() == 0) waiting += calls.modelled;
    if (calls.offloaded == 0) continue;
    std::string name = result.functions[i].substr(std::min<std::size_t>(4, result.functions[i].size()));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    const bool is_nonblocking = name.starts_with('i');
    const auto kind = kind_of_function(std::string_view(name).substr(is_nonblocking ? 1 : 0));
    Part& part = parts[kind.value_or(OperationKind::kSend)];
    part.calls += calls;
    if (!is_nonblocking && !name.starts_with("start")) continue;
    part.begun += calls.bytes;
    begun += calls.bytes;
  }
  OperationClass one{OperationKind::kSend, 0, static_cast<int>(result.ranks.size()), ranks_per_node};
  double most = -1;
  for (const auto& [kind, part] : parts) {
    const double share = begun == 0 ? 0 : static_cast<double>(part.begun) / static_cast<double>(begun);
    const double time = part.calls.modelled.seconds() + share * waiting.seconds();
    if (part.calls.bytes == 0 && kind == OperationKind::kSend) continue;  // receives alone
    if (time <= most) continue;
    most = time;
    one.kind = kind;
    one.bytes = static_cast<std::size_t>(part.calls.bytes / std::max<std::uint64_t>(1, part.calls.count));
  }
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
  std::optional<ErrorBound> found;
  for (const int several : {several_ranks_per_node ? 1 : 0, kAny}) {
    for (const Row& row : kRows) {
      if (row.side == side && row.band == kAny && row.several == several &&
          (!found || row.bound.figures > found->figures))
        found = row.bound;
    }
    if (found) break;
  }
  return found;
}

bool has_error_bounds(std::string_view hardware) {
  return std::ranges::any_of(kRows, [&](const Row& row) { return row.side.starts_with(hardware); });
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
