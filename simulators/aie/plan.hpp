// A plan: what the tool chain fixes before a graph runs. Kernels on tiles, windows in memory modules with
// locks and DMA channels, streams on switch channels; or the limit that is hit.
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

/// A circuit through the stream switches: the direction out of each switch, from the source module on.
using Route = std::vector<Direction>;

/// Where an edge's two buffers lie. Shared: one pair in a module that both cores reach. Otherwise a pair at
/// either end, an MM2S channel at the source, an S2MM channel at the target and a route between.
struct Connection {
  bool shared = true;
  Tile source;
  Tile target;
  Route route;
  [[nodiscard]] int hops() const { return static_cast<int>(route.size()); }
};

/// What is to be placed. Windows to and from the host (GMIO) take a buffer pair and a DMA channel; their nets
/// to the interface row are not routed.
struct Graph {
  int kernels = 0;
  std::vector<Edge> edges;
  std::vector<int> to_host;    // kernels with a window to the host, one each
  std::vector<int> from_host;  // and from it
  int window_bytes = 16;
  int data_bytes = 0;  // local data of each kernel
  bool multicast =
      false;  // all edges leave one kernel and carry the same window: one source pair, one circuit
};

struct Plan {
  std::vector<Tile> tiles;              // of kernels
  std::vector<Connection> connections;  // of edges
  std::vector<Tile> to_host;            // modules of the windows to the host, as in the graph
  std::vector<Tile> from_host;
  std::vector<int> meeting;   // of kernels: see count_meeting
  std::string limit;          // not empty: does not fit, and why
  bool as_published = false;  // laid out like the benchmarks of [aie-thesis]
  [[nodiscard]] bool ok() const { return limit.empty(); }
};

/// Windows of each kernel, in and out.
std::vector<int> count_windows(const Graph& graph);
/// A limit that no placement changes: windows per kernel, local data in one module, a core's reach, the whole
/// array's memory. Empty: none is hit.
std::string fixed_limit(const ArraySpec& array, const Graph& graph);

/// Memory modules, locks and DMA channels of all windows, by maximum flow: as many edges as the kernels'
/// places allow share a pair. Fills plan.connections without routes, or plan.limit.
void assign_windows(const ArraySpec& array, const Graph& graph, Plan& plan);
/// The accesses of a step of each kernel's reduction that go to one double bank, at worst: its own data, its
/// inputs and its output, one after the other if there is no other place. Fills plan.meeting.
void count_meeting(const ArraySpec& array, const Graph& graph, Plan& plan);
/// Circuits by negotiated congestion (PathFinder): nets may overuse a channel at first, and pay ever more for
/// it. A multicast follows its source's row and then the columns.
void route_streams(const ArraySpec& array, const Graph& graph, Plan& plan);

/// Of the tree with its edges to the parents: edge i - 1 is node i's.
Graph graph_of(const Tree& tree, int window_bytes, int data_bytes);

enum class Placement : std::uint8_t {
  kAuto,       // see plan_tree
  kPublished,  // place_as_published
  kSnake,
  kRefined
};

/// Places, assigns and routes. kAuto: the published layout where the measured trees follow it (perfect binary
/// ones of at most 63 kernels, with windows of 16 B or with pairs that fill more than a bank), the refined
/// one for the other windows of such trees (measured times show shared windows there), and for all other
/// trees the snake, with more and more tiles between kernels, refined if that does not fit.
Plan plan_tree(const ArraySpec& array, const Tree& tree, const Graph& graph, Placement placement);
/// Kernels in their order on the snake, as close together as memory and channels allow.
Plan plan_on_snake(const ArraySpec& array, const Graph& graph);
/// The same, as far apart as the array allows: for graphs with many streams per kernel.
Plan plan_apart(const ArraySpec& array, const Graph& graph);

// Memory accounting of [aie-thesis] 4.6.

/// Bytes of a kernel's windows, double-buffered.
constexpr std::int64_t window_bytes(int windows, std::int64_t window) {
  return 2 * windows * window;
}
/// Equation 4.9: perfect binary trees are shallower than this, if memory were divisible at will. Bytes.
double depth_limit(const ArraySpec& array, std::int64_t window, std::int64_t data, std::int64_t rest);

}  // namespace offramp::aie
