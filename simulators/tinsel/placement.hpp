// Which thread a rank is, and the multicast trees between boards.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "simulators/tinsel/machine.hpp"

namespace offramp::tinsel {

/// One rank per mailbox (the tile's other threads help it), per core, per thread, or per board.
enum class Policy : std::uint8_t { kSpread, kPerCore, kDense, kApart };

/// How many ranks there are on each mailbox and on each board; the last ones in use may have fewer. Mailboxes
/// are full before the next one begins.
struct Layout {
  int per_mailbox = 1;
  int per_board = kMailboxes;
  /// Threads that work for a rank.
  [[nodiscard]] int workers() const { return kThreadsPerMailbox / per_mailbox; }
};
Layout layout_of(Policy policy);
/// The roomiest layout with which so many ranks fit the largest machine: one for each mailbox as long as
/// there are enough mailboxes, then all boards, evenly. More ranks never get fewer boards.
Layout roomiest(int ranks);
/// The smallest published machine (3x2, 3x4, 6x4, 6x6, 6x8 boards) that holds the ranks; nothing: none does.
std::optional<Mesh> smallest_mesh(int ranks, const Layout& layout);
/// Ranks fill threads, mailboxes and boards in order; boards along a snake, so that neighbours stay near.
Place place_of(int rank, const Layout& layout, const Mesh& mesh);

/// The lists of one multicast tree, each on its board, and the key with which a thread of the root's board
/// uses it. Leaves are laid out first, since an RR holds the key of the next board.
struct Tree {
  Trap trap = Trap::kNone;
  Key key;
  std::vector<std::pair<int, Placed>> lists;
  std::uint32_t beats = 0;
};
/// One MRM per mailbox with destinations; RR first, so that subtrees start before local copies.
Tree grow_tree(Machine& machine, int root_board, std::span<const Place> destinations, std::uint16_t local_key,
               DimensionOrder order = DimensionOrder::kYFirst);
void fell_tree(Machine& machine, const Tree& tree);

/// The board before `board` on the tree's way from the root's board.
int parent_board(const Mesh& mesh, int root_board, int board, DimensionOrder order = DimensionOrder::kYFirst);

}  // namespace offramp::tinsel
