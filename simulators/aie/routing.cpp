// Routes streams over switch channels. The grid is the array plus the interface row below it, whose switches
// also carry streams east and west.
#include <algorithm>
#include <array>
#include <queue>
#include <utility>

#include "simulators/aie/plan.hpp"

namespace offramp::aie {
namespace {

// Reserves channels net by net, over several rounds.
class Router {
 public:
  explicit Router(const ArraySpec& array)
      : array_(array),
        rows_(array.rows + 1),
        nodes_(rows_ * array.columns),
        used_(at(nodes_) * 4, 0),
        history_(at(nodes_) * 4, 0) {}

  // Removes all reservations. Links that were overused become more expensive for good.
  void next_round() {
    for (std::size_t link = 0; link < used_.size(); ++link) {
      if (used_[link] > limit(link)) history_[link] += 1;
      used_[link] = 0;
    }
    // Overuse is nearly free at first, and forbidden in the end.
    pressure_ *= 1.5;
  }
  // True if some link has more nets than channels.
  [[nodiscard]] bool overused() const {
    for (std::size_t link = 0; link < used_.size(); ++link) {
      if (used_[link] > limit(link)) return true;
    }
    return false;
  }

  /// Finds and reserves the cheapest route, given the reservations of earlier nets.
  Route route(Tile from, Tile to) {
    cost_.assign(at(nodes_), kFar);
    step_.assign(at(nodes_), Direction::kEast);
    using Entry = std::pair<double, int>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    const int goal = node(to);
    cost_[at(node(from))] = 0;
    // A* search: no link costs less than 1, so the distance never overestimates.
    queue.emplace(distance(from, to), node(from));
    while (!queue.empty() && queue.top().second != goal) {
      const int here = queue.top().second;
      queue.pop();
      for (const Direction direction : kDirections) {
        const Tile there = neighbour(tile(here), direction);
        if (there.column < 0 || there.column >= array_.columns || there.row < -1 || there.row >= array_.rows)
          continue;
        const double cost = cost_[at(here)] + price(link(here, direction));
        // Rounding must not make a route look cheaper.
        if (cost >= cost_[at(node(there))] - 1e-12) continue;
        cost_[at(node(there))] = cost;
        step_[at(node(there))] = direction;
        queue.emplace(cost + distance(there, to), node(there));
      }
    }
    return commit_route(from, to);
  }

 private:
  // Not reached.
  static constexpr double kFar = 1e18;

  [[nodiscard]] int node(Tile tile) const { return tile.column * rows_ + tile.row + 1; }
  [[nodiscard]] Tile tile(int node) const { return {node / rows_, node % rows_ - 1}; }
  [[nodiscard]] static std::size_t link(int node, Direction direction) {
    return at(node) * 4 + static_cast<std::size_t>(direction);
  }
  [[nodiscard]] int limit(std::size_t link) const {
    return array_.channels(static_cast<Direction>(link % 4));
  }
  // The cost of one more net on the link.
  [[nodiscard]] double price(std::size_t link) const {
    const int over = std::max(0, used_[link] + 1 - limit(link));
    return (1 + history_[link]) * (1 + pressure_ * over);
  }
  // Follows the steps back from the target.
  Route commit_route(Tile from, Tile to) {
    static constexpr std::array<Direction, 4> kBack = {Direction::kWest, Direction::kEast, Direction::kSouth,
                                                       Direction::kNorth};
    Route route;
    for (Tile here = to; here != from;) {
      const Direction direction = step_[at(node(here))];
      here = neighbour(here, kBack[static_cast<std::size_t>(direction)]);
      ++used_[link(node(here), direction)];
      route.push_back(direction);
    }
    std::reverse(route.begin(), route.end());
    return route;
  }

  const ArraySpec& array_;
  int rows_;
  int nodes_;
  std::vector<int> used_;  // channels per link
  std::vector<double> history_;
  double pressure_ = 0.5;
  std::vector<double> cost_;
  std::vector<Direction> step_;
};

Route row_then_column(Tile from, Tile to) {
  Route route;
  route.insert(route.end(), at(std::abs(to.column - from.column)),
               to.column > from.column ? Direction::kEast : Direction::kWest);
  route.insert(route.end(), at(std::abs(to.row - from.row)),
               to.row > from.row ? Direction::kNorth : Direction::kSouth);
  return route;
}

}  // namespace

void route_streams(const ArraySpec& array, const Graph& graph, Plan& plan) {
  // Designs that have a routing usually find it in a few rounds.
  constexpr int kRounds = 60;
  if (graph.multicast) {
    for (Connection& connection : plan.connections)
      connection.route = row_then_column(connection.source, connection.target);
    return;
  }
  Router router(array);
  for (int round = 0; round < kRounds; ++round) {
    for (Connection& connection : plan.connections) {
      if (!connection.shared) connection.route = router.route(connection.source, connection.target);
    }
    if (!router.overused()) return;
    router.next_round();
  }
  plan.limit = "the streams cannot be routed: a switch has " +
               std::to_string(array.channels(Direction::kEast)) + " channels east, west and south and " +
               std::to_string(array.channels(Direction::kNorth)) + " north, a column boundary " +
               std::to_string(array.channels(Direction::kEast) * (array.rows + 1)) + " eastward";
}

}  // namespace offramp::aie
