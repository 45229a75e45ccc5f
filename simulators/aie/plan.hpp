// A plan contains what the tool chain fixes before a graph runs: kernels on tiles, windows in memory modules
// with locks and DMA channels, and streams on switch channels. Or the limit, if it does not fit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulators/aie/array.hpp"
#include "simulators/aie/placement.hpp"
#include "simulators/aie/tree.hpp"

namespace offramp::aie {

/// A window connection from one kernel to another.
struct Edge {
  int from = 0;
  int to = 0;
};

/// A circuit through the stream switches: the output direction of each switch, starting at the source module.
using Route = std::vector<Direction>;

/// The location of an edge's two buffers. Shared: one pair in a module that both cores can access. Otherwise:
/// a pair at each end, MM2S at the source, S2MM at the target, and a route in between.
struct Connection {
  bool shared = true;
  Tile source;
  Tile target;
  Route route;
  /// The number of stream switches on the route.
  [[nodiscard]] int hops() const { return static_cast<int>(route.size()); }
};

/// The graph to be placed. Windows to and from the host (GMIO) need a buffer pair and a DMA channel; their
/// nets to the interface row are not routed.
struct Graph {
  int kernels = 0;
  std::vector<Edge> edges;
  std::vector<int> to_host;    // kernels with a window to the host; repeated for several
  std::vector<int> from_host;  // kernels with a window from the host
  int window_bytes = 16;
  int data_bytes = 0;  // local data per kernel
  /// All edges leave one kernel and carry the same window: one source pair and one circuit.
  bool multicast = false;
};

/// The result of planning. Valid only if ok().
struct Plan {
  std::vector<Tile> tiles;              // by kernel
  std::vector<Connection> connections;  // by edge
  std::vector<Tile> to_host;            // modules of the windows to the host, in the graph's order
  std::vector<Tile> from_host;
  std::vector<int> meeting;   // by kernel; see count_meeting()
  std::string limit;          // why the graph does not fit; empty: it fits
  bool as_published = false;  // layout of the benchmarks of [aie-thesis]
  /// True if the graph fits.
  [[nodiscard]] bool ok() const { return limit.empty(); }
};

/// The number of windows of each kernel, in and out.
std::vector<int> count_windows(const Graph& graph);
/// A limit that applies to all placements: windows per kernel, local data per module, a core's reach, or the
/// array's memory. Empty if there is none.
std::string fixed_limit(const ArraySpec& array, const Graph& graph);

/// Assigns memory modules, locks, and DMA channels to all windows by maximum flow, with as many shared pairs
/// as the placement allows. Fills plan.connections without routes, or sets plan.limit.
void assign_windows(const ArraySpec& array, const Graph& graph, Plan& plan);
/// Counts the worst-case accesses of one step of each kernel's reduction that meet in one double bank: its
/// own data, inputs, and output. Fills plan.meeting.
void count_meeting(const ArraySpec& array, const Graph& graph, Plan& plan);
/// Routes circuits by negotiated congestion (PathFinder): nets may overuse a channel at first, at an
/// increasing cost. A multicast follows its source's row, then the columns.
void route_streams(const ArraySpec& array, const Graph& graph, Plan& plan);

/// The graph of a tree: edge i - 1 leads from node i to its parent.
Graph graph_of(const Tree& tree, int window_bytes, int data_bytes);

/// How kernels are placed on tiles.
enum class Placement : std::uint8_t {
  kAuto,       // see plan_tree
  kPublished,  // place_as_published
  kSnake,
  kRefined
};

/// Places, assigns, and routes a tree. Placement::kAuto chooses:
/// - the published layout for the trees that were measured in it: perfect binary ones of at most 63 kernels,
///   with windows of 16 B, or with pairs larger than a bank;
/// - refinement for other windows of such trees, since the measured times indicate shared windows;
/// - the snake for all other trees, with increasing stride, and refinement if that does not fit.
Plan plan_tree(const ArraySpec& array, const Tree& tree, const Graph& graph, Placement placement);
/// Kernels in order on the snake, as close together as memory and channels allow.
Plan plan_on_snake(const ArraySpec& array, const Graph& graph);
/// Kernels in order on the snake, as far apart as possible: for graphs with many streams per kernel.
Plan plan_apart(const ArraySpec& array, const Graph& graph);

// Memory accounting of [aie-thesis] 4.6.

/// Double-buffered bytes of a kernel's windows.
constexpr std::int64_t window_bytes(int windows, std::int64_t window) {
  return 2 * windows * window;
}
/// Equation 4.9: upper bound on the depth of perfect binary trees for divisible memory. Sizes in bytes.
double depth_limit(const ArraySpec& array, std::int64_t window, std::int64_t data, std::int64_t rest);

}  // namespace offramp::aie
