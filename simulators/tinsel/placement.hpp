// Which thread a rank is, and the multicast trees between boards.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "simulators/tinsel/machine.hpp"

namespace offramp::tinsel {

/// One rank per mailbox (the tile's other threads help it), per core, or per thread.
enum class Policy : std::uint8_t { kSpread, kPerCore, kDense, kApart };
int ranks_per_mailbox(Policy policy);
int ranks_per_board(Policy policy);
/// The roomiest policy with which so many ranks fit the largest machine.
Policy roomiest(int ranks);
/// The smallest published machine (3x2, 3x4, 6x4, 6x6, 6x8 boards) that holds the ranks; nothing: none does.
std::optional<Mesh> smallest_mesh(int ranks, Policy policy);
/// Ranks fill threads, mailboxes and boards in order; boards along a snake, so that neighbours stay near.
Place place_of(int rank, Policy policy, const Mesh& mesh);
/// Threads that work for a rank.
int workers_of(Policy policy);

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
