#include "simulators/tinsel/placement.hpp"

#include <array>
#include <map>

namespace offramp::tinsel {
namespace {

struct Shape {
  int columns;
  int rows;
};
constexpr std::array<Shape, 5> kMachines = {{{3, 2}, {3, 4}, {6, 4}, {6, 6}, {6, 8}}};  // published (P3)

using BoardMasks = std::map<int, std::map<int, std::uint64_t>>;  // board -> mailbox -> threads

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

int ranks_per_mailbox(Policy policy) {
  switch (policy) {
    case Policy::kPerCore:
      return kCores;
    case Policy::kDense:
      return kThreadsPerMailbox;
    case Policy::kSpread:
    case Policy::kApart:
      break;
  }
  return 1;
}
int ranks_per_board(Policy policy) {
  return policy == Policy::kApart ? 1 : kMailboxes * ranks_per_mailbox(policy);
}
int workers_of(Policy policy) {
  return kThreadsPerMailbox / ranks_per_mailbox(policy);
}

Policy roomiest(int ranks) {
  constexpr int kBoards = kMaximumColumns * kMaximumRows;
  if (ranks <= kBoards * ranks_per_board(Policy::kSpread)) return Policy::kSpread;
  return ranks <= kBoards * ranks_per_board(Policy::kPerCore) ? Policy::kPerCore : Policy::kDense;
}

std::optional<Mesh> smallest_mesh(int ranks, Policy policy) {
  for (const Shape& shape : kMachines) {
    const Mesh mesh{shape.columns, shape.rows};
    if (ranks <= mesh.boards() * ranks_per_board(policy)) return mesh;
  }
  return std::nullopt;
}

Place place_of(int rank, Policy policy, const Mesh& mesh) {
  const int per_mailbox = ranks_per_mailbox(policy);
  const int per_board = ranks_per_board(policy);
  const int along = rank / per_board;
  const int y = along / mesh.columns;
  const int x = y % 2 == 0 ? along % mesh.columns : mesh.columns - 1 - along % mesh.columns;
  Place place;
  place.board = static_cast<std::uint16_t>(mesh.at(x, y));
  place.mailbox = static_cast<std::uint8_t>(rank % per_board / per_mailbox);
  place.thread = static_cast<std::uint8_t>(rank % per_mailbox * (kThreadsPerMailbox / per_mailbox));
  return place;
}

Tree grow_tree(Machine& machine, int root_board, std::span<const Place> destinations, std::uint16_t local_key,
               DimensionOrder order) {
  BoardMasks masks;
  for (const Place& place : destinations)
    masks[place.board][place.mailbox] |= std::uint64_t{1} << place.thread;
  Grower grower(machine, local_key, order);
  if (!masks.empty()) grower.tree.key = grower.grow(root_board, masks, std::nullopt);
  return std::move(grower.tree);
}

void fell_tree(Machine& machine, const Tree& tree) {
  for (const auto& [board, placed] : tree.lists) machine.tables(board).release(placed);
}

int parent_board(const Mesh& mesh, int root_board, int board, DimensionOrder order) {
  // The last step of the way from the root: x comes last when y comes first.
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
