#include "tools/page/plot.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>
#include <tuple>

#include "lib/base/registry/registry.hpp"
#include "tools/page/markup.hpp"

namespace offramp::tool {
namespace {

constexpr double kWidth = 760;
constexpr double kHeight = 440;
constexpr double kLeft = 76;
constexpr double kRight = 130;
constexpr double kTop = 44;
constexpr double kBottom = 56;

// Distinguishable for colour-blind people (Okabe and Ito).
constexpr std::array kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5cc4"};
static_assert(kColours.size() == kLineColours);
constexpr const char* kGrey = "#8a8a8a";

/// A logarithmic axis over whole powers of its base.
struct Axis {
  double base;
  int first = std::numeric_limits<int>::max();
  int last = std::numeric_limits<int>::min();

  void include(double value) {
    const double power = std::log(value) / std::log(base);
    first = std::min(first, static_cast<int>(std::floor(power + 1e-9)));
    last = std::max(last, static_cast<int>(std::ceil(power - 1e-9)));
  }
  void close() {
    if (first > last) first = last = 0;
    if (first == last) ++last;
  }
  [[nodiscard]] double place(double value) const {
    return (std::log(value) / std::log(base) - first) / (last - first);
  }
};

/// A logarithmic axis with round numbers, which may be closer than powers of ten.
struct CloseAxis {
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  std::vector<double> ticks;

  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  void close() {
    if (low > high) low = high = 1;
    if (high / low < 1.02) std::tie(low, high) = std::pair(0.98 * low, 1.02 * high);
    const auto round_down = [](double value, std::span<const double> digits) {
      const double power = std::pow(10, std::floor(std::log10(value) + 1e-9));
      double best = power;
      for (const double digit : digits) best = digit * power <= value * (1 + 1e-9) ? digit * power : best;
      return best;
    };
    constexpr double kSteps[] = {1, 2, 5};
    const bool is_wide = high / low >= 5;
    const std::span<const double> digits(kSteps, high / low >= 1000 ? 1 : 3);
    const double step = round_down((high - low) / 4, kSteps);
    double tick = is_wide ? round_down(low, digits) : step * std::floor(low / step + 1e-9);
    ticks = {tick};
    while (ticks.back() < high * (1 - 1e-9)) {
      tick = ticks.back();
      ticks.push_back(is_wide ? round_down(tick * (digits.size() == 1 ? 10 : 2.5), digits) : tick + step);
    }
    low = ticks.front();
    high = ticks.back();
  }
  [[nodiscard]] double place(double value) const { return std::log(value / low) / std::log(high / low); }
};

bool shown(const std::pair<double, double>& point) {
  return point.first > 0 && point.second > 0 && std::isfinite(point.first) && std::isfinite(point.second);
}

std::string power_of_two(int power) {
  constexpr std::array kUnits = {"", "K", "M", "G", "T"};
  const auto unit = static_cast<std::size_t>(std::clamp(power / 10, 0, 4));
  return fmt::format("{}{}", std::exp2(power - 10 * static_cast<int>(unit)), kUnits.at(unit));
}

}  // namespace

std::vector<std::size_t> colours_of(const std::vector<std::string>& backends) {
  std::vector<std::string_view> known;
  for (const BackendDescription* backend : built_in_backends()) {
    if (!is_baseline(backend->name)) known.push_back(backend->name);
  }
  std::vector<std::size_t> numbers;
  const auto is_free = [&](std::size_t number) {
    return std::find(numbers.begin(), numbers.end(), number) == numbers.end();
  };
  for (const std::string& name : backends) {
    const auto own = static_cast<std::size_t>(std::find(known.begin(), known.end(), name) - known.begin());
    std::size_t number = is_baseline(name)    ? kHostColour
                         : own < known.size() ? own % kLineColours
                                              : kLineColours;
    if (number == kLineColours || !is_free(number)) {
      number = known.size() % kLineColours;
      for (std::size_t tries = 0; tries < kLineColours && !is_free(number); ++tries)
        number = (number + 1) % kLineColours;
    }
    numbers.push_back(number);
  }
  return numbers;
}

std::string colour_text(std::size_t number) {
  return number == kHostColour ? kGrey : kColours.at(number % kColours.size());
}

namespace {

/// A letter for each line: the first of its name that no other has, or else a digit.
std::string marks_of(const std::vector<TextPlot::Line>& lines) {
  std::string marks;
  for (const TextPlot::Line& line : lines) {
    const auto is_free = [&](char mark) {
      return std::isalnum(static_cast<unsigned char>(mark)) != 0 && marks.find(mark) == std::string::npos;
    };
    std::string wanted = line.name + "0123456789";
    const auto mark = std::find_if(wanted.begin(), wanted.end(), is_free);
    marks += mark == wanted.end() ? '?' : *mark;
  }
  return marks;
}

}  // namespace

std::string text_plot(const TextPlot& plot) {
  constexpr int kRows = 13;
  double low = std::log(plot.level);
  double high = low;
  bool has_any = false;
  const auto is_shown = [](const std::optional<double>& value) {
    return value && *value > 0 && std::isfinite(*value);
  };
  for (const TextPlot::Line& line : plot.lines) {
    for (const auto& value : line.values) {
      if (!is_shown(value)) continue;
      has_any = true;
      low = std::min(low, std::log(*value));
      high = std::max(high, std::log(*value));
    }
  }
  if (!has_any) return {};
  const double reach = std::max(high - low, 0.02);
  const auto row_of = [&](double value) {
    return static_cast<std::size_t>(
        std::clamp<long>(std::lround((high - std::log(value)) / reach * (kRows - 1)), 0, kRows - 1));
  };
  std::size_t width = 4;
  for (const std::string& column : plot.columns) width = std::max(width, column.size() + 2);
  std::vector<std::string> rows(kRows, std::string(width * plot.columns.size(), ' '));
  rows[row_of(plot.level)].assign(width * plot.columns.size(), '-');
  const std::string marks = marks_of(plot.lines);
  for (std::size_t i = 0; i < plot.lines.size(); ++i) {
    const auto& values = plot.lines[i].values;
    for (std::size_t column = 0; column < std::min(values.size(), plot.columns.size()); ++column) {
      if (!is_shown(values[column])) continue;
      char& place = rows[row_of(*values[column])][column * width + width - 1];
      const bool is_open = column < plot.lines[i].open.size() && plot.lines[i].open[column];
      const char mark =
          is_open ? static_cast<char>(std::toupper(static_cast<unsigned char>(marks[i]))) : marks[i];
      place = place == ' ' || place == '-' ? mark : '*';
    }
  }
  std::string text;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const bool is_end = row == 0 || row + 1 == rows.size();
    const double value = std::exp(high - reach * static_cast<double>(row) / (kRows - 1));
    std::string label;
    if (is_end) label = fmt::format("{:.3g}", value);
    if (row == row_of(plot.level)) label = fmt::format("{:g}", plot.level);
    rows[row].erase(rows[row].find_last_not_of(' ') + 1);
    text += fmt::format("{:>8} |{}\n", label, rows[row]);
  }
  text += fmt::format("{:>8}  ", "");
  for (const std::string& column : plot.columns) text += fmt::format("{:>{}}", column, width);
  text += fmt::format("\n{:>8}  ", "");
  for (std::size_t i = 0; i < plot.lines.size(); ++i)
    text += fmt::format("{}{}: {}{}", i == 0 ? "" : ", ", marks[i], plot.lines[i].name, plot.lines[i].note);
  return text + "; *: several\n";
}

std::string svg(const Plot& plot) {
  const auto x_base = static_cast<double>(plot.x_base);
  Axis x{x_base};
  CloseAxis y;
  for (const PlotLine& line : plot.lines) {
    for (const auto& point : line.points) {
      if (!shown(point)) continue;
      x.include(point.first);
      y.include(point.second);
    }
  }
  x.close();
  y.close();
  const double width = kWidth - kLeft - kRight;
  const double height = kHeight - kTop - kBottom;
  const auto at_x = [&](double v) { return kLeft + width * x.place(v); };
  const auto at_y = [&](double v) { return kTop + height * (1 - y.place(v)); };

  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"system-ui, sans-serif\" "
      "font-size=\"12\" role=\"img\">\n",
      kWidth, kHeight);
  if (!plot.part_of_page)
    out +=
        "<style>svg{color:#222;background:#fff}@media(prefers-color-scheme:dark)"
        "{svg{color:#ddd;background:#1b1b1b}}</style>\n";
  out += fmt::format("<text x=\"{}\" y=\"24\" font-size=\"15\" fill=\"currentColor\">{}</text>\n", kLeft,
                     escaped(plot.title));
  const int every = std::max(1, (x.last - x.first + 9) / 10);
  for (int power = x.first; power <= x.last; ++power) {
    const double at = at_x(std::pow(x_base, power));
    out += fmt::format("<path d=\"M{0:.1f} {1}V{2}\" stroke=\"currentColor\" stroke-opacity=\".12\"/>\n", at,
                       kTop, kTop + height);
    if ((power - x.first) % every == 0)
      out += fmt::format(
          "<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\" fill=\"currentColor\">{}</text>\n", at,
          kTop + height + 18,
          plot.x_base == Plot::Base::kTwo ? power_of_two(power) : fmt::format("{:g}", std::pow(10, power)));
  }
  if (!plot.below_one.empty() && y.low < 1) {
    const double top = at_y(std::min(1.0, y.high));
    out += fmt::format(
        "<rect x=\"{0}\" y=\"{1:.1f}\" width=\"{2}\" height=\"{3:.1f}\" fill=\"currentColor\" "
        "fill-opacity=\".07\"/><text x=\"{4}\" y=\"{5:.1f}\" font-size=\"11\" "
        "fill=\"currentColor\">{6}</text>\n",
        kLeft, top, width, kTop + height - top, kLeft + 6, kTop + height - 6, escaped(plot.below_one));
  }
  for (const double tick : y.ticks) {
    const double at = at_y(tick);
    out += fmt::format("<path d=\"M{0} {1:.1f}H{2}\" stroke=\"currentColor\" stroke-opacity=\".12\"/>\n",
                       kLeft, at, kLeft + width);
    out += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\" fill=\"currentColor\">{:g}</text>\n",
                       kLeft - 8, at + 4, tick);
  }
  out += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\" fill=\"currentColor\">{}</text>\n",
                     kLeft + width / 2, kHeight - 14, escaped(plot.x));
  out += fmt::format(
      "<text x=\"18\" y=\"{:.1f}\" text-anchor=\"middle\" fill=\"currentColor\" transform=\"rotate(-90 18 "
      "{:.1f})\">{}</text>\n",
      kTop + height / 2, kTop + height / 2, escaped(plot.y));
  double legend = kTop + 5;
  for (std::size_t i = 0; i < plot.lines.size(); ++i) {
    const PlotLine& line = plot.lines[i];
    const std::string colour = line.colour.empty() ? colour_text(i % kColours.size()) : line.colour;
    std::string path;
    std::string dashed;
    std::string dots;
    for (std::size_t j = 0; j < line.points.size(); ++j) {
      const auto& point = line.points[j];
      if (!shown(point)) continue;
      const std::string at = fmt::format("{:.1f} {:.1f}", at_x(point.first), at_y(point.second));
      const bool is_dashed = j >= line.dashed_from;
      const bool open = is_dashed || (j < line.open.size() && line.open[j]);
      if (is_dashed) {
        dashed += (dashed.empty() && path.empty() ? "M" : "L") + at;
      } else {
        path += (path.empty() ? "M" : "L") + at;
        dashed = "M" + at;  // goes on from the last point of the whole line
      }
      dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"{}/>", at_x(point.first),
                          at_y(point.second), open ? 4 : 2.6,
                          open ? " fill=\"none\" stroke=\"" + colour + "\" stroke-width=\"1.5\"" : "");
    }
    if (line.dashed_from == PlotLine::kNever) dashed.clear();
    if (!line.joined) path.clear();
    out += fmt::format(
        "<g fill=\"{0}\"><path d=\"{1}\" fill=\"none\" stroke=\"{0}\" stroke-width=\"2\"/>{6}{2}"
        "<rect x=\"{3}\" y=\"{7:.1f}\" width=\"9\" height=\"9\" rx=\"2\"/>"
        "<text x=\"{8}\" y=\"{4:.1f}\" fill=\"currentColor\">{5}</text>",
        colour, path, dots, kWidth - kRight + 14, legend + 9, escaped(line.name),
        dashed.empty() ? ""
                       : fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" "
                                     "stroke-dasharray=\"6 5\"/>",
                                     dashed, colour),
        legend, kWidth - kRight + 28);
    if (!line.note.empty())
      out += fmt::format("<text x=\"{}\" y=\"{:.1f}\" font-size=\"11\" fill=\"currentColor\">{}</text>",
                         kWidth - kRight + 28, legend + 22, escaped(line.note));
    out += "</g>\n";
    legend += line.note.empty() ? 20 : 34;
  }
  return out + "</svg>\n";
}

}  // namespace offramp::tool
