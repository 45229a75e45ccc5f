// end_of() finds the end of a piece of work without stepping through every period of noise. It inspects the
// first and the last period and computes the whole ones between by division, since each leaves period -
// length for work. The position of a detour is drawn from the number of its period, so periods are
// independent.
#include "simulators/world/stragglers.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "offramp/kernel/random.hpp"

namespace offramp {
namespace {

constexpr std::int64_t kMillion = 1'000'000;
constexpr std::int64_t kFarthest = std::int64_t{1} << 62;  // beyond any clock

Time bounded(detail::Wide picoseconds) {
  return Time::ps(picoseconds < kFarthest ? static_cast<std::int64_t>(picoseconds) : kFarthest);
}

/// A number below `bound`; 0 if `bound` is 0.
Time below(Time bound, std::uint64_t draw) {
  __extension__ typedef unsigned __int128 Product;  // NOLINT(modernize-use-using): see detail::Wide
  return Time::ps(
      static_cast<std::int64_t>(Product{draw} * static_cast<std::uint64_t>(bound.count()) >> 64U));
}

}  // namespace

Result<std::shared_ptr<const Stragglers>> Stragglers::make(const StragglerOptions& options,
                                                           const std::vector<int>& places, int machine,
                                                           const MachineLayout& layout) {
  auto made = std::make_shared<Stragglers>();
  made->noise_ = options.noise;
  made->spread_ = Time::ps(std::llround(
      options.noise.jitter * static_cast<double>((options.noise.period - options.noise.length).count())));
  made->seed_ = options.seed;
  made->layout_ = layout;
  if (!options.slow.any()) return std::shared_ptr<const Stragglers>(std::move(made));
  const auto nodes = static_cast<int>(places.size());
  made->factor_ = std::llround(options.slow.factor * static_cast<double>(kMillion));
  made->slow_.resize(places.size());
  if (options.slow.drawn > nodes)
    return failure(
        fmt::format("{} slow nodes are requested, but the ranks are on {}", options.slow.drawn, nodes));
  for (const int slow : options.slow.nodes) {
    if (slow >= machine)
      return failure(fmt::format("node {} does not exist: the machine has nodes 0 to {}", slow, machine - 1));
    const auto at = std::find(places.begin(), places.end(), slow);
    if (at != places.end()) made->slow_[static_cast<std::size_t>(at - places.begin())] = true;
  }
  std::uint64_t state = options.seed;
  for (int left = options.slow.drawn; left > 0;) {
    const std::size_t node = splitmix(state) % places.size();
    if (!made->slow_[node]) --left;
    made->slow_[node] = true;
  }
  return std::shared_ptr<const Stragglers>(std::move(made));
}

std::uint64_t Stragglers::key(int rank) const {
  return splitmix_finaliser(splitmix_finaliser(seed_) +
                            (noise_.is_aligned ? 0 : static_cast<std::uint64_t>(rank) + 1));
}

Time Stragglers::end_of(int rank, Time begin, Time work) const {
  if (!noise_.any()) return begin + work;
  const std::uint64_t own = key(rank);
  // Each period has exactly one detour, which ends within the period. The first period begins before time 0.
  const Time first = below(noise_.period, own) - noise_.period;
  const Time quiet = noise_.period - noise_.length;
  std::int64_t number = (begin - first) / noise_.period;
  Time at = begin;
  for (;;) {
    const Time opens = first + noise_.period * number;
    const std::uint64_t draw = splitmix_finaliser(own + static_cast<std::uint64_t>(number) + 1);
    const Time detour = opens + below(spread_ + Time::ps(1), draw);
    if (at < detour) {
      const Time before = detour - at;
      if (work <= before) return at + work;
      work -= before;
    }
    at = later(at, detour + noise_.length);
    const Time behind = opens + noise_.period - at;
    if (work <= behind && behind > Time()) return at + work;
    work -= behind;
    // The whole periods before the one in which the work ends.
    const std::int64_t whole = work > Time() ? (work.count() - 1) / quiet.count() : 0;
    const detail::Wide next =
        static_cast<detail::Wide>(noise_.period.count()) * (number + 1 + whole) + first.count();
    if (next >= kFarthest) return Time::ps(kFarthest);
    at = Time::ps(static_cast<std::int64_t>(next));
    work -= quiet * whole;
    number += 1 + whole;
  }
}

Time Stragglers::computed(int rank, Time duration) const {
  if (slow_.empty() || !slow_[static_cast<std::size_t>(layout_.node(rank))]) return duration;
  return bounded(static_cast<detail::Wide>(duration.count()) * factor_ / kMillion);
}

}  // namespace offramp
