// Rounding must not change a statement: percent_text() keeps 0 % and 100 % for exact shares, and ratio_text()
// has two digits below 0.1. Units are chosen such that four digits suffice.
#include "lib/base/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "offramp/model/parameter.hpp"

namespace offramp {

std::string time_text(double ns) {
  // From the largest unit; the first that fits is used.
  constexpr std::array<std::pair<double, const char*>, 4> kUnits = {
      {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {0, "ns"}}};
  for (const auto& [from, unit] : kUnits) {
    if (ns < from) continue;
    const double value = from > 0 ? ns / from : ns;
    // Four digits in total.
    const int digits = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
    return value == 0 ? "0" : fmt::format("{:.{}f} {}", value, digits, unit);
  }
  return "0";
}

std::string time_text(Time time) {
  return time_text(in_nanoseconds(time));
}

std::string bytes_text(double bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  // Exact multiples need no decimals.
  const bool whole = bytes == std::floor(bytes);
  return fmt::format("{:.{}f} {}", bytes, whole || unit == 0 ? 0 : bytes >= 100 ? 0 : 1, kUnits.at(unit));
}

std::string bytes_text(std::uint64_t bytes) {
  return bytes_text(static_cast<double>(bytes));
}

std::string count_text(std::uint64_t count) {
  return count_text(static_cast<double>(count));
}

std::string count_text(double count) {
  const std::string digits = fmt::format("{:.0f}", count);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ' ';
    out += digits[i];
  }
  return out;
}

std::string ratio_text(double value, double baseline) {
  if (baseline <= 0) return {};
  const double ratio = value / baseline;
  if (ratio > 0 && ratio < 0.1) return fmt::format("x{:.2g}", ratio);
  // The limits are those at which rounding would add a digit.
  return fmt::format("x{:.{}f}", ratio, ratio < 9.995 ? 2 : ratio < 99.95 ? 1 : 0);
}

std::string ratio_text(Time value, Time baseline) {
  return ratio_text(in_nanoseconds(value), in_nanoseconds(baseline));
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string and_more_text(std::uint64_t left_out) {
  return fmt::format("and {} more", count_text(left_out));
}

std::string ranks_text(std::span<const std::size_t> ranks) {
  // Ranks named in a message.
  constexpr std::size_t kNamed = 8;
  std::string text = fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks",
                                 fmt::join(ranks.first(std::min(ranks.size(), kNamed)), ", "));
  if (ranks.size() > kNamed) text += " " + and_more_text(ranks.size() - kNamed);
  return text;
}

std::string percent_text(double part, double whole, int digits) {
  const double last = std::pow(10.0, -digits);
  double percent = whole > 0 ? 100 * part / whole : 0;
  if (part > 0 && part < whole) percent = std::clamp(percent, last, 100 - last);
  return fmt::format("{:.{}f} %", percent, digits);
}

std::string percent_text(Time part, Time whole) {
  return percent_text(in_nanoseconds(part), in_nanoseconds(whole));
}

}  // namespace offramp
