// Plots as SVG: lines over two logarithmic axes, as benchmark results are shown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace offramp::tool {

struct PlotLine {
  std::string name;
  std::vector<std::pair<double, double>> points;  // x and y; those that are not positive are left out
  std::string colour = {};                        // as CSS has it; empty: one of the plot's own
  static constexpr std::size_t kNever = static_cast<std::size_t>(-1);
  bool joined = true;                // false: points without a line through them
  std::size_t dashed_from = kNever;  // from this point on the line is dashed and its points are open
};

struct Plot {
  enum class Base : std::uint8_t { kTwo = 2, kTen = 10 };
  std::string title = {};
  std::string x;  // what the axes show, with units
  std::string y;
  std::vector<PlotLine> lines = {};
  Base x_base = Base::kTwo;   // whose powers the axis shows
  bool part_of_page = false;  // whose colours it takes
};

/// A whole document. Colours follow the reader's light or dark preference.
std::string svg(const Plot& plot);

}  // namespace offramp::tool
