// The picture: row 0 of the array is at the bottom, above the interface row. Kernels are numbered. Each pair
// of window buffers is a box in its module (green: shared, orange: at the source, violet: at the target).
// Routes are parallel lines.
#include "simulators/aie/drawing.hpp"

#include <algorithm>
#include <set>
#include <sstream>
#include <tuple>

namespace offramp::aie {
namespace {

constexpr int kTile = 36;  // pixels from tile to tile
constexpr int kEdge = 30;  // size of a tile
// In pixels, as all sizes of the drawing.
constexpr int kMargin = 20;
constexpr int kLegend = 60;
constexpr int kBuffer = 5;

struct Point {
  double x;
  double y;
};

// Draws one plan. All arguments must outlive it.
class Canvas {
 public:
  Canvas(const ArraySpec& array, const Graph& graph, const Plan& plan)
      : array_(array), graph_(graph), plan_(plan), buffers_(static_cast<std::size_t>(array.tiles()), 0) {}

  std::string draw() {
    const int width = 2 * kMargin + kTile * array_.columns;
    const int height = 2 * kMargin + kTile * (array_.rows + 1) + kLegend;
    out_ << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << width << "\" height=\"" << height
         << "\" viewBox=\"0 0 " << width << ' ' << height << "\" font-family=\"sans-serif\">\n"
         << "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
    tiles();
    for (std::size_t i = 0; i < plan_.connections.size(); ++i) edge(i);
    legend(height);
    out_ << "</svg>\n";
    return out_.str();
  }

 private:
  [[nodiscard]] Point corner(Tile tile) const {  // row 0 at the bottom, above the interface row
    return {static_cast<double>(kMargin + kTile * tile.column),
            static_cast<double>(kMargin + kTile * (array_.rows - 1 - tile.row))};
  }
  [[nodiscard]] Point centre(Tile tile) const {
    const Point p = corner(tile);
    return {p.x + kEdge / 2.0, p.y + kEdge / 2.0};
  }

  void tiles() {
    for (int column = 0; column < array_.columns; ++column) {
      for (int row = -1; row < array_.rows; ++row) box({column, row}, row < 0 ? "#f4f4f4" : "#eef1f6");
    }
    for (std::size_t kernel = 0; kernel < plan_.tiles.size(); ++kernel) {
      const Tile tile = plan_.tiles[kernel];
      box(tile, kernel == 0 ? "#f2b8a0" : "#bcd3ee");
      const Point p = corner(tile);
      out_ << "<text x=\"" << p.x + kEdge / 2.0 << "\" y=\"" << p.y + 11
           << "\" font-size=\"10\" text-anchor=\"middle\" fill=\"#223\">" << kernel << "</text>\n";
    }
  }
  void box(Tile tile, const char* fill) {
    const Point p = corner(tile);
    out_ << "<rect x=\"" << p.x << "\" y=\"" << p.y << "\" width=\"" << kEdge << "\" height=\"" << kEdge
         << "\" fill=\"" << fill << "\" stroke=\"#99a\" stroke-width=\"0.5\"/>\n";
  }

  /// Draws one pair of buffers at the next free position in a module.
  void buffer(Tile tile, const char* fill) {
    const int place = buffers_[static_cast<std::size_t>(array_.index(tile))]++;
    const int row = place / 4;
    const Point p = corner(tile);
    const double x = p.x + 2 + (kBuffer + 1) * (place % 4);
    const double y = p.y + kEdge - 2 - kBuffer - (kBuffer + 1) * row;
    for (const int half : {0, 1})
      out_ << "<rect x=\"" << x << "\" y=\"" << y + half * 2.7 << "\" width=\"" << kBuffer
           << "\" height=\"2.2\" fill=\"" << fill << "\"/>\n";
  }

  void edge(std::size_t i) {
    const Connection& connection = plan_.connections[i];
    if (connection.shared) {
      buffer(connection.source, "#2a9d5c");
      return;
    }
    if (!graph_.multicast || i == 0) buffer(connection.source, "#d98a1f");
    buffer(connection.target, "#7a4fb5");
    // Shifts routes, so that parallel ones are distinguishable.
    const double shift = static_cast<double>(i % 5) * 2.5 - 5;
    Tile tile = connection.source;
    out_ << "<polyline fill=\"none\" stroke=\"#d0402b\" stroke-opacity=\"0.65\" points=\"";
    for (std::size_t hop = 0; hop <= connection.route.size(); ++hop) {
      const Point p = centre(tile);
      out_ << p.x + shift << ',' << p.y + shift << ' ';
      if (hop < connection.route.size()) tile = neighbour(tile, connection.route[hop]);
    }
    out_ << "\"><title>kernel " << graph_.edges[i].from << " to kernel " << graph_.edges[i].to << ", "
         << connection.hops() << " hops</title></polyline>\n";
  }

  void legend(int height) {
    const Occupancy o = occupancy_of(array_, graph_, plan_);
    const int top = height - kLegend;
    const auto line = [&](int number, const std::string& text) {
      out_ << "<text x=\"" << kMargin << "\" y=\"" << top + 18 * number
           << "\" font-size=\"13\" fill=\"#223\">" << text << "</text>\n";
    };
    line(1, std::to_string(graph_.kernels) + " kernels (0 is the top) on " + std::to_string(o.columns) +
                " columns, windows of " + std::to_string(graph_.window_bytes) + " B, " +
                std::to_string(graph_.data_bytes) + " B of local data each");
    line(2, plan_.ok() ? std::to_string(o.shared) + " windows in shared memory (green); " +
                             std::to_string(o.streams) +
                             " through DMA: source buffers orange, target buffers violet, streams red"
                       : "does not fit: " + plan_.limit);
    line(3, "busiest link: " + std::to_string(o.busiest[0]) + " of 4 east, " + std::to_string(o.busiest[1]) +
                " of 4 west, " + std::to_string(o.busiest[2]) + " of 6 north, " +
                std::to_string(o.busiest[3]) + " of 4 south; at most " + std::to_string(o.boundary) + " of " +
                std::to_string(4 * (array_.rows + 1)) + " streams east across a column boundary");
  }

  const ArraySpec& array_;
  const Graph& graph_;
  const Plan& plan_;
  std::vector<int> buffers_;
  std::ostringstream out_;
};

}  // namespace

Occupancy occupancy_of(const ArraySpec& array, const Graph& graph, const Plan& plan) {
  Occupancy result;
  for (const Tile tile : plan.tiles) result.columns = std::max(result.columns, tile.column + 1);
  std::vector<int> links(static_cast<std::size_t>((array.rows + 1) * array.columns) * 4, 0);
  std::vector<int> boundary(static_cast<std::size_t>(array.columns), 0);
  std::set<std::tuple<int, int, Direction>> seen;  // links of a multicast count once
  for (const Connection& connection : plan.connections) {
    connection.shared ? ++result.shared : ++result.streams;
    result.hops = std::max(result.hops, connection.hops());
    Tile tile = connection.source;
    for (const Direction direction : connection.route) {
      const auto kind = static_cast<std::size_t>(direction);
      const bool counts = !graph.multicast || seen.insert({tile.column, tile.row, direction}).second;
      if (counts) {
        // The interface row has index 0.
        int& used = links[static_cast<std::size_t>(tile.column * (array.rows + 1) + tile.row + 1) * 4 + kind];
        result.busiest[kind] = std::max(result.busiest[kind], ++used);
        if (direction == Direction::kEast) ++boundary[static_cast<std::size_t>(tile.column)];
      }
      tile = neighbour(tile, direction);
    }
  }
  result.boundary = *std::max_element(boundary.begin(), boundary.end());
  return result;
}

std::string draw_plan(const ArraySpec& array, const Graph& graph, const Plan& plan) {
  return Canvas(array, graph, plan).draw();
}

}  // namespace offramp::aie
