#include "lib/answers/advice/computing_noise.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace offramp {
namespace {

constexpr double kLeastCalls = 3;
constexpr double kRepeated = 0.5;  // share of the computing
constexpr double kNineTenths = 1.645;

struct Computed {
  double sum = 0;  // nanoseconds
  double repeated = 0;
  double variance = 0;
};

Computed computed_by(recording::Reader& reader) {
  struct Calls {
    double count = 0;
    double mean = 0;
    double squares = 0;  // of deviations from the mean
  };
  std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t, int>, Calls> kinds;
  std::uint64_t before = 0;
  for (recording::Event event; reader.next(event);) {
    const std::uint64_t here = std::uint64_t{event.site} << 16U | event.call;
    Calls& calls = kinds[{reader.thread(), std::exchange(before, here), here, std::bit_width(event.bytes)}];
    const recording::Times times = reader.times();
    const double deviation = static_cast<double>(times.computing + times.blocked) - calls.mean;
    calls.mean += deviation / ++calls.count;
    calls.squares += deviation * (deviation - deviation / calls.count);
  }
  Computed all;
  for (const auto& [kind, calls] : kinds) {
    all.sum += calls.mean * calls.count;
    if (calls.count < kLeastCalls) continue;
    all.repeated += calls.mean * calls.count;
    all.variance += calls.squares * calls.count / (calls.count - 1);
  }
  return all;
}

Computed longest_of(const ReplaySource& source) {
  Computed longest;
  for (int rank = 0; rank < source.ranks; ++rank) {
    const Computed one = computed_by(*source.read(rank));
    if (one.sum > longest.sum) longest = one;
  }
  return longest;
}

/// Student's t at 95 %, of so many values.
double student(std::size_t values) {
  constexpr std::array kTable = {6.314, 2.920, 2.353, 2.132};
  const std::size_t degrees = values - 1;
  return degrees <= kTable.size() ? kTable.at(degrees - 1) : kNineTenths + 1.9 / static_cast<double>(degrees);
}

}  // namespace

std::optional<ComputingNoise> computing_noise(const ReplaySource& source,
                                              const std::vector<ReplaySource>& repetitions) {
  const Computed first = longest_of(source);
  if (first.sum == 0) return ComputingNoise();
  if (repetitions.empty()) {
    if (first.repeated < kRepeated * first.sum) return std::nullopt;
    return ComputingNoise{1, kNineTenths * std::sqrt(first.variance) / first.sum};
  }
  std::vector<double> sums = {1};
  for (const ReplaySource& one : repetitions) sums.push_back(longest_of(one).sum / first.sum);
  const auto count = static_cast<double>(sums.size());
  const double mean = std::accumulate(sums.begin(), sums.end(), 0.0) / count;
  double squares = 0;
  for (const double sum : sums) squares += (sum - mean) * (sum - mean);
  return ComputingNoise{mean, student(sums.size()) * std::sqrt(squares / (count - 1) / count) / mean};
}

}  // namespace offramp
