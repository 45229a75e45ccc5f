// Placement of ranks on threads, and multicast trees between boards.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "simulators/tinsel/machine.hpp"

namespace offramp::tinsel {

/// One rank per mailbox (whose other threads help it), per core, per thread, or per board.
enum class Policy : std::uint8_t { kSpread, kPerCore, kDense, kApart };

/// Ranks per mailbox and per board; the last ones in use may have fewer. Mailboxes are filled one by one.
struct Layout {
  int per_mailbox = 1;
  int per_board = kMailboxes;
  /// Threads per rank.
  [[nodiscard]] int workers() const { return kThreadsPerMailbox / per_mailbox; }
};
/// kSpread and kApart have one rank per mailbox in use.
Layout layout_of(Policy policy);
/// The layout with the most room for this many ranks on the largest machine: one per mailbox if possible,
/// otherwise spread evenly over all boards. More ranks never get fewer boards.
Layout roomiest(int ranks);
/// The smallest published machine (3x2, 3x4, 6x4, 6x6, 6x8 boards) for the ranks. `nullopt` if too small.
std::optional<Mesh> smallest_mesh(int ranks, const Layout& layout);
/// Ranks fill threads, mailboxes, and boards in order. Boards follow a snake, so that neighbours stay close.
/// rank: below the room of the mesh, see smallest_mesh().
ThreadLocation place_of(int rank, const Layout& layout, const Mesh& mesh);

/// The lists of a multicast tree, each on its board, and the key by which a thread of the root's board uses
/// it. Leaves are placed first, since an RR contains the key of the next board.
struct Tree {
  Trap trap = Trap::kNone;
  Key key;
  std::vector<std::pair<int, Placed>> lists;
  std::uint32_t beats = 0;
};
/// One MRM per mailbox with destinations. RR records come first, so that subtrees start before local copies.
Tree build_tree(Machine& machine, int root_board, std::span<const ThreadLocation> destinations,
                std::uint16_t local_key, DimensionOrder order = DimensionOrder::kYFirst);
/// Frees the lists on all boards. The machine must be the one that has built the tree.
void remove_tree(Machine& machine, const Tree& tree);

/// The previous board on the tree's path from the root's board. -1 for the root's board.
int parent_board(const Mesh& mesh, int root_board, int board, DimensionOrder order = DimensionOrder::kYFirst);

}  // namespace offramp::tinsel
