// Bounds are checked while parsing: a detour is at most Noise::kMostDuty of its period, a factor at most
// SlowNodes::kMostFactor. The factor follows the last colon, since "random:4:1.5" has two.
#include "lib/base/configuration/straggler_text.hpp"

#include <cmath>
#include <vector>

#include "lib/base/configuration/job_places.hpp"
#include "lib/base/text_format.hpp"
#include "simulators/world/text_fields.hpp"

namespace offramp {
namespace {

constexpr double kShortestPeriod = 1e-3;  // microseconds
constexpr double kLongestPeriod = 1e9;
constexpr int kMostNodes = 1 << 20;

/// Returns nullopt unless the text is a number from `least` to `most`.
std::optional<double> number(std::string_view text, std::string_view unit, double least, double most) {
  const std::optional<double> value = parse_quantity(text, unit);
  return value && *value >= least && *value <= most ? value : std::nullopt;
}

// Picoseconds, rounded.
Time microseconds(double value) {
  return Time::ps(std::llround(value * 1e6));
}

}  // namespace

std::optional<Noise> parse_noise(std::string_view text) {
  if (text == "none") return Noise();
  const std::vector<std::string_view> parts = split(text, ':');
  if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
  const auto period = number(parts[0], "us", kShortestPeriod, kLongestPeriod);
  if (!period) return std::nullopt;
  const auto length = number(parts[1], "us", 0, *period * Noise::kMostDuty);
  const auto jitter = parts.size() == 3 ? number(parts[2], "1", 0, 1) : 0.0;
  if (!length || !jitter) return std::nullopt;
  return Noise{.period = microseconds(*period), .length = microseconds(*length), .jitter = *jitter};
}

std::optional<SlowNodes> parse_slow_nodes(std::string_view text) {
  if (text == "none") return SlowNodes();
  SlowNodes slow;
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto factor = number(text.substr(colon + 1), "1", 1, SlowNodes::kMostFactor);
  if (!factor) return std::nullopt;
  slow.factor = *factor;
  constexpr std::string_view kRandom = "random:";
  const std::string_view nodes = text.substr(0, colon);
  if (nodes.starts_with(kRandom)) {
    const auto drawn = whole_number(nodes.substr(kRandom.size()), 1, kMostNodes);
    if (!drawn) return std::nullopt;
    slow.drawn = static_cast<int>(*drawn);
    return slow;
  }
  auto named = parse_nodes(nodes);
  if (!named) return std::nullopt;
  slow.nodes = std::move(*named);
  return slow;
}

}  // namespace offramp
