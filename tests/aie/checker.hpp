// An independent check of plans: derives every limit of the array from the plan and the graph alone. It
// restates the geometry, so that a mistake in simulators/aie/array.cpp shows.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>

#include "simulators/aie/plan.hpp"

namespace offramp::aie {

/// The first limit that the plan breaks; empty if it keeps all. user_bytes: per module, for the program's own
/// kernels.
inline std::string check_plan(const Graph& graph, const Plan& plan, int user_bytes = 0) {
  constexpr int kRows = 8;
  constexpr int kColumns = 50;
  const auto inside = [](Tile t) {
    return t.row >= 0 && t.row < kRows && t.column >= 0 && t.column < kColumns;
  };
  const auto reaches = [&](Tile core, Tile module) {
    const int columns = module.column - core.column;
    const int rows = module.row - core.row;
    if (columns == 0) return rows >= -1 && rows <= 1;
    return rows == 0 && columns == (core.row % 2 == 0 ? -1 : 1);
  };
  if (plan.tiles.size() != static_cast<std::size_t>(graph.kernels)) return "kernels without a tile";
  std::set<Tile> taken;
  std::map<Tile, int> bytes;
  std::map<Tile, int> locks;
  std::map<Tile, int> s2mm;
  std::map<Tile, int> mm2s;
  for (const Tile tile : plan.tiles) {
    if (!inside(tile)) return "a kernel outside";
    if (!taken.insert(tile).second) return "two kernels on a tile";
    bytes[tile] += graph.data_bytes + 2048 + 32;
  }
  const auto pair = [&](Tile module) { bytes[module] += 2 * graph.window_bytes, locks[module] += 2; };
  std::map<std::tuple<int, int, Direction>, int> channels;
  std::set<std::tuple<int, int, Direction>> circuit;  // of a multicast
  std::vector<int> windows(plan.tiles.size(), 0);
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    const Edge edge = graph.edges[i];
    const Connection& c = plan.connections[i];
    const Tile from = plan.tiles[static_cast<std::size_t>(edge.from)];
    const Tile to = plan.tiles[static_cast<std::size_t>(edge.to)];
    const bool new_source = !graph.multicast || i == 0;
    windows[static_cast<std::size_t>(edge.from)] += new_source ? 1 : 0;
    ++windows[static_cast<std::size_t>(edge.to)];
    if (!inside(c.source) || !inside(c.target)) return "a buffer outside";
    if (c.shared) {
      if (c.source != c.target || !reaches(from, c.source) || !reaches(to, c.source))
        return "a shared buffer out of reach";
      if (!c.route.empty()) return "a shared buffer with a route";
      pair(c.source);
      continue;
    }
    if (!reaches(from, c.source) || !reaches(to, c.target)) return "a buffer out of reach";
    if (new_source) pair(c.source), ++mm2s[c.source];
    pair(c.target), ++s2mm[c.target];
    Tile at = c.source;
    for (const Direction d : c.route) {
      const std::tuple<int, int, Direction> link{at.column, at.row, d};
      if (!graph.multicast || circuit.insert(link).second) ++channels[link];
      at = {at.column + (d == Direction::kEast) - (d == Direction::kWest),
            at.row + (d == Direction::kNorth) - (d == Direction::kSouth)};
      if (at.column < 0 || at.column >= kColumns || at.row < -1 || at.row >= kRows)
        return "a route leaves the array";
    }
    if (at != c.target) return "a route that does not arrive";
  }
  for (const int kernel : graph.to_host) ++windows[static_cast<std::size_t>(kernel)];
  for (const int n : windows)
    if (n > 14) return "more than 14 windows";
  for (const auto& [tile, n] : bytes)
    if (n + user_bytes > 32768) return "more than 32 KB in a module";
  for (const auto& [tile, n] : locks)
    if (n > 16) return "more than 16 locks in a module";
  for (const auto& [tile, n] : s2mm)
    if (n > 2) return "more than 2 S2MM channels";
  for (const auto& [tile, n] : mm2s)
    if (n > 2) return "more than 2 MM2S channels";
  std::map<int, int> eastward;
  for (const auto& [link, n] : channels) {
    if (n > (std::get<2>(link) == Direction::kNorth ? 6 : 4)) return "more streams than channels";
    if (std::get<2>(link) == Direction::kEast) eastward[std::get<0>(link)] += n;
  }
  for (const auto& [column, n] : eastward)
    if (n > 36) return "more than 36 nets east of a column";
  return {};
}

}  // namespace offramp::aie
