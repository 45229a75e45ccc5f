// Grows a multicast tree recursively from its root: Grower::grow() first places the lists of the boards
// beyond each link, since a board's own list contains their keys. Boards are reached along first_step(), in a
// fixed order of dimensions, so that each has one parent; parent_board() reverses that step.
#include "simulators/tinsel/placement.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace offramp::tinsel {
namespace {

struct Shape {
  int columns;
  int rows;
};
constexpr std::array<Shape, 5> kMachines = {
    {{3, 2}, {3, 4}, {6, 4}, {6, 6}, {6, 8}}};  // published [tinsel-asap]

using BoardMasks = std::map<int, std::map<int, std::uint64_t>>;  // board -> mailbox -> threads

/// Builds the lists of one tree.
class Grower {
 public:
  Grower(Machine& machine, std::uint16_t local_key, DimensionOrder order)
      : machine_(machine), local_key_(local_key), order_(order) {}

  Key grow(int board, const BoardMasks& masks, std::optional<Direction> arrived_from) {
    std::array<BoardMasks, kLinks> beyond;
    std::vector<Record> records;
    for (const auto& [to, mailboxes] : masks) {
      if (to == board) continue;
      const Direction step = first_step(machine_.spec().mesh, board, to, order_);
      beyond[static_cast<std::size_t>(step)][to] = mailboxes;
    }
    for (std::size_t d = 0; d < kLinks; ++d) {
      if (beyond[d].empty()) continue;
      const auto direction = static_cast<Direction>(d);
      const int next = machine_.spec().mesh.neighbour(board, direction);
      // The neighbour's list is placed first, because this record contains its key.
      records.push_back(Record::rr(direction, grow(next, beyond[d], opposite(direction)).encode()));
    }
    if (const auto local = masks.find(board); local != masks.end()) {
      for (const auto& [mailbox, mask] : local->second)
        records.push_back(Record::mrm(static_cast<unsigned>(mailbox), local_key_, mask));
    }
    const Placed placed = machine_.tables(board).place(records, arrived_from);
    if (placed.trap != Trap::kNone) tree.trap = placed.trap;
    tree.lists.emplace_back(board, placed);
    tree.beats += placed.beats;
    return placed.key;
  }

  Tree tree;

 private:
  Machine& machine_;
  std::uint16_t local_key_;
  DimensionOrder order_;
};

}  // namespace

Layout layout_of(Policy policy) {
  switch (policy) {
    case Policy::kPerCore:
      return {kCores, kMailboxes * kCores};
    case Policy::kDense:
      return {kThreadsPerMailbox, kThreadsPerBoard};
    case Policy::kApart:
      return {1, 1};
    case Policy::kSpread:
      break;
  }
  return {1, kMailboxes};
}

Layout roomiest(int ranks) {
  constexpr int kBoards = kMaximumColumns * kMaximumRows;
  // Rounds up.
  const auto share = [](int of, int among) { return (of + among - 1) / among; };
  // Below this number, each rank has a mailbox with all of its threads.
  if (ranks <= kBoards * kMailboxes) return layout_of(Policy::kSpread);
  const int per_mailbox = std::min(share(ranks, kBoards * kMailboxes), kThreadsPerMailbox);
  const int mailboxes = std::min(share(share(ranks, kBoards), per_mailbox), kMailboxes);
  return {per_mailbox, mailboxes * per_mailbox};
}

std::optional<Mesh> smallest_mesh(int ranks, const Layout& layout) {
  for (const Shape& shape : kMachines) {
    const Mesh mesh{shape.columns, shape.rows};
    if (ranks <= mesh.boards() * layout.per_board) return mesh;
  }
  return std::nullopt;
}

ThreadLocation place_of(int rank, const Layout& layout, const Mesh& mesh) {
  const int along = rank / layout.per_board;
  const int y = along / mesh.columns;
  // Odd rows run backwards, so that consecutive boards are neighbours.
  const int x = y % 2 == 0 ? along % mesh.columns : mesh.columns - 1 - along % mesh.columns;
  ThreadLocation place;
  place.board = static_cast<std::uint16_t>(mesh.at(x, y));
  place.mailbox = static_cast<std::uint8_t>(rank % layout.per_board / layout.per_mailbox);
  place.thread = static_cast<std::uint8_t>(rank % layout.per_mailbox * layout.workers());
  return place;
}

Tree build_tree(Machine& machine, int root_board, std::span<const ThreadLocation> destinations,
                std::uint16_t local_key, DimensionOrder order) {
  BoardMasks masks;
  for (const ThreadLocation& place : destinations)
    masks[place.board][place.mailbox] |= std::uint64_t{1} << place.thread;
  Grower grower(machine, local_key, order);
  if (!masks.empty()) grower.tree.key = grower.grow(root_board, masks, std::nullopt);
  return std::move(grower.tree);
}

void remove_tree(Machine& machine, const Tree& tree) {
  for (const auto& [board, placed] : tree.lists) machine.tables(board).release(placed);
}

int parent_board(const Mesh& mesh, int root_board, int board, DimensionOrder order) {
  // The last step of the path from the root: along x if y comes first.
  const bool along_x = mesh.x(board) != mesh.x(root_board);
  const bool along_y = mesh.y(board) != mesh.y(root_board);
  const bool x_last = order == DimensionOrder::kYFirst ? along_x : !along_y;
  if (!along_x && !along_y) return -1;
  const Direction back = x_last
                             ? (mesh.x(board) > mesh.x(root_board) ? Direction::kWest : Direction::kEast)
                             : (mesh.y(board) > mesh.y(root_board) ? Direction::kSouth : Direction::kNorth);
  return mesh.neighbour(board, back);
}

}  // namespace offramp::tinsel
