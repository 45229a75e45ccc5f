#include "lib/report/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "lib/recording/event.hpp"
#include "offramp/model/parameter.hpp"

namespace offramp {

std::string time_text(double ns) {
  constexpr std::array<std::pair<double, const char*>, 4> kUnits = {
      {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {0, "ns"}}};
  for (const auto& [from, unit] : kUnits) {
    if (ns < from) continue;
    const double value = from > 0 ? ns / from : ns;
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

std::string other_ground_text(const Footing& hardware, const Footing& host) {
  if (hardware.text.empty() || host.text.empty() ||
      hardware.node_bits_per_second == host.node_bits_per_second)
    return {};
  if (hardware.node_bits_per_second == 0)
    return fmt::format("it stands on {}, not on the host's nodes", hardware.text);
  constexpr double kGiga = 1e9;
  return fmt::format("it has {:g} Gb/s out of a node, where the host has {:g} Gb/s",
                     static_cast<double>(hardware.node_bits_per_second) / kGiga,
                     static_cast<double>(host.node_bits_per_second) / kGiga);
}

std::string share_in_calls_text(std::string_view backend, Time in_calls, Time sum, Time free_in_calls) {
  return fmt::format(
      "MPI calls are {} of the run over {}, and {} of that is waiting for other ranks' computing, which no "
      "hardware changes",
      percent_text(in_calls, sum), backend, percent_text(earlier(free_in_calls, in_calls), in_calls));
}

std::string gaps_text(Time brief, Time longer, std::string_view polling) {
  const auto as = [](bool work) { return work ? "work" : "waiting"; };
  return fmt::format(
      "between questions that found nothing the ranks spent {} in gaps of up to {}, which count as {}, and "
      "{} in longer ones, which count as {} (polling = {})",
      time_text(brief), time_text(static_cast<double>(recording::kBriefGap)), as(polling == "work"),
      time_text(longer), as(polling != "wait"), polling);
}

std::string ranks_text(std::span<const std::size_t> ranks) {
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

std::string place_text(std::uint64_t times, std::string_view call, std::string_view communicator,
                       std::string_view where) {
  return fmt::format("{} x {}{}{} at {}", times, call, communicator.empty() ? "" : " on ", communicator,
                     where);
}

}  // namespace offramp
