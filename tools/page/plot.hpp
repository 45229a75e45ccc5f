// Plots as SVG: lines over two logarithmic axes, as benchmark results are shown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace offramp::tool {

struct PlotLine {
  std::string name;
  std::vector<std::pair<double, double>> points;  // x and y; those that are not positive are left out
  std::string colour = {};                        // as CSS has it; empty: by the line's place
  static constexpr std::size_t kNever = static_cast<std::size_t>(-1);
  bool joined = true;                // false: points without a line through them
  std::size_t dashed_from = kNever;  // from this point on the line is dashed and its points are open
  std::vector<bool> open = {};       // points drawn as rings; missing ones are not
  std::string note = {};             // below the name
};

struct Plot {
  enum class Base : std::uint8_t { kTwo = 2, kTen = 10 };
  std::string title = {};
  std::string x;  // what the axes show, with units
  std::string y;
  std::string below_one = {};  // says what values below 1 mean; their area is shaded
  std::vector<PlotLine> lines = {};
  Base x_base = Base::kTwo;   // whose powers the axis shows
  bool part_of_page = false;  // whose colours it takes
};

/// The number of a colour for each of these backends, in their order: the same hardware has the same one in
/// every plot and on every page. What stands there again, or is a plugin, gets one that is free.
std::vector<std::size_t> colours_of(const std::vector<std::string>& backends);
inline constexpr std::size_t kHostColour = static_cast<std::size_t>(-1);  // grey
inline constexpr std::size_t kLineColours = 7;                            // the others, from 0 on
/// Such a colour in a plot that is no part of a page.
std::string colour_text(std::size_t number);

/// A plot of characters for terminals, with one column for each point of the first axis.
struct TextPlot {
  struct Line {
    std::string name;
    std::vector<std::optional<double>> values;  // one for each column; nothing: it has none there
    std::vector<bool> open = {};                // drawn with a capital letter; missing ones are not
    std::string note = {};                      // behind the name
  };
  std::vector<std::string> columns;  // what stands below them
  std::vector<Line> lines;
  double level = 1;  // is drawn across, and always part of the plot
};
/// The logarithm of the values from the bottom to the top, each line by a letter of its name; `*` is where
/// several are. Ends in a legend. Empty: there is no value that is positive.
std::string text_plot(const TextPlot& plot);

/// A whole document. Colours follow the reader's light or dark preference.
std::string svg(const Plot& plot);

}  // namespace offramp::tool
