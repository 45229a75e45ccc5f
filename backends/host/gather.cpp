// Gather and scatter, with blocks of equal and of different sizes.
#include "backends/host/pieces.hpp"

namespace offramp::host {
namespace {

/// The subtree of relative rank r in a binomial tree is [r, r + extent) of `size` ranks.
int subtree(int relative, int size) {
  int extent = 1;
  while (relative % (2 * extent) == 0 && extent < size) extent *= 2;
  return std::min(extent, size - relative);
}

template <typename Span>
Span blocks_of(Span all, std::size_t block, int first, int count) {
  return all.subspan(block * static_cast<std::size_t>(first), block * static_cast<std::size_t>(count));
}

Task<Outcome> gather_binomial(Call call) {
  // Blocks of the subtree in order of relative rank; the root turns them into order of rank at the end.
  Team& team = call.team;
  const CollectiveBuffers& buffers = call.buffers;
  const int size = call.size();
  const std::size_t block = buffers.block;
  const int root = call.operation.root;
  const int relative = wrap(call.rank() - root, size);
  const Tree tree = Tree::binomial_in_order(call.rank(), size, root);
  if (tree.children.empty() && !tree.is_top()) co_return co_await team.send(tree.parent, buffers.send);
  const bool in_place = relative == 0 && root == 0;
  const MutableBytes gathered =
      in_place ? buffers.receive : team.scratch(block * static_cast<std::size_t>(subtree(relative, size)));
  Outcome outcome = Outcome::kOk;
  local_copy(team, call.costs(), buffers.send, gathered.first(block));
  for (const int child : tree.children) {
    const int distance = wrap(child - call.rank(), size);
    const MutableBytes part = blocks_of(gathered, block, distance, subtree(relative + distance, size));
    note(outcome, co_await team.receive(child, part));
  }
  if (!tree.is_top()) {
    note(outcome, co_await team.send(tree.parent, gathered));
  } else if (!in_place) {
    const std::size_t tail =
        block * static_cast<std::size_t>(size - root);  // of the root and those behind it
    local_copy(team, call.costs(), gathered.first(tail), buffers.receive.last(tail));
    local_copy(team, call.costs(), gathered.subspan(tail), buffers.receive.first(gathered.size() - tail));
  }
  co_return outcome;
}

/// The root asks for one block after the other.
Task<Outcome> gather_linear_sync(Call call) {
  Team& team = call.team;
  Outcome outcome = Outcome::kOk;
  if (!call.is_root()) {
    note(outcome, co_await team.receive(call.operation.root, {}));
    note(outcome, co_await team.send(call.operation.root, call.buffers.send));
    co_return outcome;
  }
  for (int rank = 0; rank < call.size(); ++rank) {
    if (rank == call.rank()) continue;
    Team::Pending incoming = team.receive(rank, call.receive_block(rank));
    note(outcome, co_await team.send(rank, {}));
    note(outcome, co_await incoming);
  }
  local_copy(team, call.costs(), call.buffers.send, call.receive_block(call.rank()));
  co_return outcome;
}

Task<Outcome> scatter_binomial(Call call) {
  Team& team = call.team;
  const CollectiveBuffers& buffers = call.buffers;
  const int size = call.size();
  const std::size_t block = buffers.block;
  const int root = call.operation.root;
  const int relative = wrap(call.rank() - root, size);
  const Tree tree = Tree::binomial_in_order(call.rank(), size, root);
  const bool in_place = relative == 0 && root == 0;  // the blocks are in order already
  Bytes held = buffers.send;
  Outcome outcome = Outcome::kOk;
  if (!in_place) {
    const MutableBytes blocks = team.scratch(block * static_cast<std::size_t>(subtree(relative, size)));
    if (tree.is_top()) {
      const std::size_t tail = block * static_cast<std::size_t>(size - root);
      local_copy(team, call.costs(), buffers.send.last(tail), blocks.first(tail));
      local_copy(team, call.costs(), buffers.send.first(blocks.size() - tail), blocks.subspan(tail));
    } else {
      note(outcome, co_await team.receive(tree.parent, blocks));
    }
    held = blocks;
  }
  for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child) {
    const int distance = wrap(*child - call.rank(), size);
    const Bytes part = blocks_of(held, block, distance, subtree(relative + distance, size));
    note(outcome, co_await team.send(*child, part));
  }
  if (!buffers.receive.empty()) local_copy(team, call.costs(), held.first(block), buffers.receive);
  co_return outcome;
}

/// window: how many sends go on at a time; 0: all.
Task<Outcome> scatter_from_root(Call call, std::size_t window) {
  Team& team = call.team;
  if (!call.is_root()) co_return co_await team.receive(call.operation.root, call.buffers.receive);
  Outcome outcome = Outcome::kOk;
  std::vector<Team::Pending> outgoing;
  for (int rank = 0; rank < call.size(); ++rank) {
    if (rank == call.rank()) continue;
    outgoing.push_back(team.send(rank, call.send_block(rank)));
    if (outgoing.size() != window) continue;
    for (const Team::Pending& one : outgoing) note(outcome, co_await one);
    outgoing.clear();
  }
  if (!call.buffers.receive.empty())
    local_copy(team, call.costs(), call.send_block(call.rank()), call.buffers.receive);
  for (const Team::Pending& one : outgoing) note(outcome, co_await one);
  co_return outcome;
}
Task<Outcome> scatter_linear(Call call) {
  return scatter_from_root(call, 1);
}
Task<Outcome> scatter_linear_nonblocking(Call call) {
  return scatter_from_root(call, 0);
}

constexpr Algorithm kGather[] = {
    {"basic_linear", gather_linear}, {"binomial", gather_binomial}, {"linear_sync", gather_linear_sync}};
constexpr Algorithm kGatherv[] = {{"basic_linear", gather_linear}};
constexpr Algorithm kScatter[] = {{"basic_linear", scatter_linear},
                                  {"binomial", scatter_binomial},
                                  {"linear_nb", scatter_linear_nonblocking}};
constexpr Algorithm kScatterv[] = {{"basic_linear", scatter_linear}};

}  // namespace

/// The root takes one block after the other.
Task<Outcome> gather_linear(Call call) {
  Team& team = call.team;
  if (!call.is_root()) co_return co_await team.send(call.operation.root, call.buffers.send);
  Outcome outcome = Outcome::kOk;
  for (int rank = 0; rank < call.size(); ++rank) {
    const MutableBytes block = call.receive_block(rank);
    if (rank == call.rank()) {
      local_copy(team, call.costs(), call.buffers.send, block);
    } else {
      note(outcome, co_await team.receive(rank, block));
    }
  }
  co_return outcome;
}

std::span<const Algorithm> gather_algorithms() {
  return kGather;
}
std::span<const Algorithm> gatherv_algorithms() {
  return kGatherv;
}
std::span<const Algorithm> scatter_algorithms() {
  return kScatter;
}
std::span<const Algorithm> scatterv_algorithms() {
  return kScatterv;
}

}  // namespace offramp::host
