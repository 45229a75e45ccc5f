// The number of values is computed before any is made, so that a typing error does not fill the memory. A
// small tolerance keeps TO in the list despite rounding. Ends with different units are converted to one. A
// crossover is a change between neighbouring points that both have times.
#include "tools/commands/sweep.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <set>
#include <utility>

#include "lib/base/format.hpp"
#include "lib/base/text_format.hpp"
#include "simulators/world/text_fields.hpp"
#include "tools/command_line/setup.hpp"

namespace offramp::tool {
namespace {

constexpr std::string_view kFalling = "FROM is above TO";

/// "x0.5us": a prefix, a number, and a unit.
struct Figure {
  std::string before;
  double number = 0;
  std::string unit;
};

std::optional<Figure> figure_of(const std::string& text) {
  Figure figure;
  std::string_view rest = text;
  if (rest.starts_with('x')) {
    figure.before = "x";
    rest.remove_prefix(1);
  }
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), figure.number);
  if (error != std::errc() || !std::isfinite(figure.number) || figure.number < 0) return std::nullopt;
  figure.unit = std::string(end, rest.data() + rest.size());
  return figure;
}

/// The ends of a range. `nullopt` if one is invalid, or if their units differ. usual: the unit of an end
/// without one; empty: that of the other end.
std::pair<std::optional<Figure>, std::optional<Figure>> in_one_unit(const std::string& from,
                                                                    const std::string& to,
                                                                    std::string_view usual) {
  const std::optional<Figure> first = figure_of(from);
  const std::optional<Figure> last = figure_of(to);
  if (!first || !last) return {};
  const bool lacks_one = first->unit.empty() || last->unit.empty();
  if (first->unit == last->unit || (lacks_one && usual.empty())) return {first, last};
  for (const char* unit : {"B", "ns", "Gb/s", "MHz"}) {
    const std::optional<double> least = parse_quantity(from, unit);
    const std::optional<double> most = parse_quantity(to, unit);
    if (least && most) return {Figure{"", *least, unit}, Figure{"", *most, unit}};
  }
  return {};
}

}  // namespace

SweepAxis sweep_axis(const std::string& text, double behind_zero) {
  const auto wrong = [&]() -> Misuse {
    return {fmt::format("--sweep {} is not KEY=FROM:TO, KEY=FROM:TO:xFACTOR, or KEY=FROM:TO:+STEP",
                        in_quotes(text))};
  };
  const auto equals = text.find('=');
  const auto colon = text.find(':', equals);
  if (equals == std::string::npos || equals == 0 || colon == std::string::npos) throw wrong();
  std::string to = text.substr(colon + 1);
  double factor = 2;
  double step = 0;
  if (const auto more = to.find(':'); more != std::string::npos) {
    const std::string how = to.substr(more + 1);
    const auto number = how.size() > 1 ? parse_quantity(how.substr(1), "") : std::nullopt;
    if (!number || (how[0] == 'x' ? *number < 1.01 : how[0] != '+' || *number <= 0)) throw wrong();
    (how[0] == 'x' ? factor : step) = *number;
    to.resize(more);
  }
  SweepAxis axis{text.substr(0, equals), {}};
  auto [first, last] =
      in_one_unit(text.substr(equals + 1, colon - equals - 1), to, axis.key == "bytes" ? "B" : "");
  if (!first || !last || first->before != last->before ||
      (first->number == 0 && step == 0 && behind_zero <= 0))
    throw wrong();
  if (first->number > last->number) throw Misuse{fmt::format("--sweep {}: {}", in_quotes(text), kFalling)};
  const std::string& unit = first->unit.empty() ? last->unit : first->unit;
  // Zero cannot be multiplied, so behind_zero follows it.
  const bool from_zero = step == 0 && first->number == 0;
  const double begin = from_zero ? behind_zero : first->number;
  constexpr double kRounding = 1 + 1e-9;
  const double steps = begin > last->number * kRounding ? -1
                       : step > 0                       ? (last->number * kRounding - begin) / step
                                  : std::log(last->number * kRounding / begin) / std::log(factor);
  const double count = std::floor(steps) + 1 + (from_zero ? 1 : 0);
  if (count > static_cast<double>(kMostSweepPoints))
    throw Misuse{fmt::format("--sweep {} has {} values; at most {} are allowed", in_quotes(text),
                             count_text(count), kMostSweepPoints)};
  if (from_zero) axis.values.push_back(fmt::format("{}0{}", first->before, unit));
  for (std::size_t i = 0; axis.values.size() < static_cast<std::size_t>(count); ++i) {
    const auto so_many = static_cast<double>(i);
    const double value = step > 0 ? begin + step * so_many : begin * std::pow(factor, so_many);
    axis.values.push_back(fmt::format("{}{:.10g}{}", first->before, value, unit));
  }
  return axis;
}

std::vector<int> rank_counts(const std::string& text) {
  constexpr int kMost = 1 << 20;
  std::set<int> counts;
  for (const std::string_view field : split(text, ',')) {
    const std::string part(field);
    std::vector<std::string> values = {part};
    if (part.find(':') != std::string::npos) {
      try {
        values = sweep_axis("ranks=" + part).values;
      } catch (const Misuse& misuse) {
        if (misuse.text.ends_with(kFalling))
          throw Misuse{fmt::format("--ranks {}: {}", in_quotes(part), kFalling)};
        values = {""};
      }
    }
    for (const std::string& value : values) {
      double number = 0;
      const auto [last, error] = std::from_chars(value.data(), value.data() + value.size(), number);
      const double whole = part.find(':') == std::string::npos ? number : std::round(number);
      if (error != std::errc() || last != value.data() + value.size() || whole < 1 || whole > kMost ||
          whole != std::floor(whole))
        throw Misuse{fmt::format(
            "--ranks {} is not N, FROM:TO, FROM:TO:xFACTOR, or FROM:TO:+STEP with at most {} ranks",
            in_quotes(part), kMost)};
      counts.insert(static_cast<int>(whole));
    }
  }
  return {counts.begin(), counts.end()};
}

}  // namespace offramp::tool
