// Gather, scatter, and alltoall. Windows contain the blocks of a subtree in preorder, that is, of relative
// ranks; the root rotates them into rank order. There are two designs of gather. Packed: a kernel fills its
// output windows from all its inputs in sequence. With headers ([aie-thesis]): the first window contains the
// number of further ones, and each of those has a chunk of one block. Alltoall gathers all rows of blocks at
// the root, transposes them, and scatters the result.
#include "backends/aie/blocks.hpp"

#include <utility>
#include <vector>

#include "backends/aie/rank_part.hpp"

namespace offramp::aie {
namespace {

/// Rotates blocks from relative into rank order.
void to_rank_order(Team& team, Bytes held, MutableBytes result, int root, std::size_t block) {
  const std::size_t split = block * at(team.size() - root);
  team.copy(held.first(split), result.last(split));
  team.copy(held.subspan(split), result.first(result.size() - split));
}
void to_relative_order(Team& team, Bytes sent, MutableBytes held, int root, std::size_t block) {
  const std::size_t split = block * at(team.size() - root);
  team.copy(sent.last(split), held.first(split));
  team.copy(sent.first(sent.size() - split), held.subspan(split));
}

/// The blocks of a node's subtree within this rank's memory.
MutableBytes subtree_of(const RankPart& part, MutableBytes held, int node, std::size_t block) {
  const int offset = part.tree().place_in_preorder(node) - part.relative();
  return held.subspan(block * at(offset), block * at(part.tree().extent(node)));
}

Task<void> packed_gather(RankPart& part, std::size_t largest, std::size_t block, MutableBytes held) {
  PackCall call;
  call.copies = part.setup().copies;
  const bool with_host = part.setup().host_data;
  const Chunks own{block, edge_window(block, largest)};
  // All ranks' transfers together take as long as that of the root's port, for which they wait.
  Input* const source = with_host ? &part.from_host(own.window, own.count()) : nullptr;
  call.segments.push_back({source, block, own.window});
  for (const int child : part.tree().children(part.node())) {
    const MutableBytes run = subtree_of(part, held, child, block);
    const Chunks chunks{run.size(), edge_window(run.size(), largest)};
    call.segments.push_back({&part.input(part.rank_of_node(child), chunks.count(), chunks_of(run, chunks)),
                             run.size(), chunks.window});
  }
  const Chunks whole{held.size(), edge_window(held.size(), largest)};
  call.output_window = whole.window;
  if (!part.is_top()) {
    call.output =
        &part.output(part.rank_of_node(part.tree().parent(part.node())),
                     part.plan().connections[at(part.node() - 1)], whole.window, chunks_of(held, whole));
  } else if (with_host) {
    call.output = &part.to_host(whole.window);
  }
  part.begin_kernel();
  co_await pack_kernel(part.core(), call);
  co_await part.end_kernel();
}

/// Windows of an edge in the header design: the header, then chunks of one block each.
Slices forwarded_slices(const RankPart& part, int node, MutableBytes held, Chunks own, bool in_turns) {
  std::vector<MutableBytes> windows = {MutableBytes()};
  for (const Forwarded& one : forwarded_windows(part.tree(), node, own.count(), in_turns)) {
    const int offset = part.tree().place_in_preorder(one.node) - part.relative();
    windows.push_back(held.subspan(own.bytes * at(offset) + own.begin(one.chunk), own.size(one.chunk)));
  }
  return Slices([windows = std::move(windows)](std::size_t window) { return windows[window]; });
}

Task<void> header_gather(RankPart& part, std::size_t largest, std::size_t block, MutableBytes held) {
  const bool in_turns = part.setup().gather == GatherDesign::kHeaderInTurns;
  const Chunks own{block, edge_window(block, largest)};
  HeaderGatherCall call;
  std::vector<std::size_t> counts;
  for (const int child : part.tree().children(part.node())) {
    counts.push_back(own.count() * at(part.tree().extent(child)));
    call.inputs.push_back(&part.input(part.rank_of_node(child), counts.back() + 1,
                                      forwarded_slices(part, child, held, own, in_turns)));
  }
  call.order = forwarding_order(counts, in_turns);
  if (!part.is_top())
    call.output = &part.output(part.rank_of_node(part.tree().parent(part.node())),
                               part.plan().connections[at(part.node() - 1)], own.window,
                               forwarded_slices(part, part.node(), held, own, in_turns));
  call.window = own.window;
  call.own = own;
  call.copies = part.setup().copies;
  co_await part.move_in(block);
  part.begin_kernel();
  co_await header_gather_kernel(part.core(), call);
  co_await part.end_kernel();
  if (part.is_top()) co_await part.move_out(held.size());
}

}  // namespace

Task<Outcome> gather(const Model& model, const ArrayRequirements& required, Team& team,
                     CollectiveBuffers buffers, int root) {
  RankPart part(model, team, root, required.tree);
  const std::size_t block = buffers.block;
  const bool in_place = part.is_top() && root == 0;
  const int blocks = part.tree().extent(part.node());
  const bool own_only = !part.is_top() && blocks == 1 && buffers.send.size() == block;
  const MutableBytes held = in_place   ? buffers.receive
                            : own_only ? only_sent(buffers.send)
                                       : team.scratch(block * at(blocks));
  team.copy(buffers.send, held.first(block));
  if (model.setup.gather == GatherDesign::kPacked) {
    co_await packed_gather(part, required.tree_window, block, held);
  } else {
    co_await header_gather(part, required.tree_window, block, held);
  }
  if (part.is_top() && !in_place) to_rank_order(team, held, buffers.receive, root, block);
  co_return part.outcome();
}

Task<Outcome> scatter(const Model& model, const ArrayRequirements& required, Team& team,
                      CollectiveBuffers buffers, int root, bool in_tile) {
  RankPart part(model, team, root, required.down);
  const std::size_t block = buffers.block;
  const std::size_t largest = required.down_window;
  const bool with_host = model.setup.host_data;
  const MutableBytes held = team.scratch(block * at(part.tree().extent(part.node())));
  const Chunks whole{held.size(), edge_window(held.size(), largest)};
  UnpackCall call;
  call.copies = model.setup.copies;
  call.input_window = whole.window;
  if (!part.is_top()) {
    const int parent = part.rank_of_node(part.tree().parent(part.node()));
    call.input = &part.input(parent, whole.count(), chunks_of(held, whole));
  } else {
    to_relative_order(team, buffers.send, held, root, block);
    if (with_host && !in_tile) call.input = &part.from_host(whole.window, whole.count());
  }
  const std::size_t own = edge_window(block, largest);
  call.shares.push_back({with_host ? &part.to_host(own) : nullptr, block, own});
  for (const int child : part.tree().children(part.node())) {
    const MutableBytes run = subtree_of(part, held, child, block);
    const Chunks chunks{run.size(), edge_window(run.size(), largest)};
    const Connection& connection = part.plan().connections[at(child - 1)];
    call.shares.push_back(
        {&part.output(part.rank_of_node(child), connection, chunks.window, chunks_of(run, chunks)),
         run.size(), chunks.window});
  }
  part.begin_kernel();
  co_await unpack_kernel(part.core(), call);
  co_await part.end_kernel();
  if (!buffers.receive.empty()) team.copy(held.first(block), buffers.receive);
  co_return part.outcome();
}

namespace {

/// Moves the block from rank i to rank j from row i to row j.
void transpose(const Team& team, Bytes from, MutableBytes to, std::size_t block) {
  if (!team.carries_data() || from.empty()) return;
  const std::size_t ranks = at(team.size());
  for (std::size_t i = 0; i < ranks; ++i) {
    for (std::size_t j = 0; j < ranks; ++j)
      team.copy(from.subspan((i * ranks + j) * block, block), to.subspan((j * ranks + i) * block, block));
  }
}

}  // namespace

Task<Outcome> alltoall(const Model& model, const ArrayRequirements& required, Team& team,
                       CollectiveBuffers buffers) {
  const std::size_t row = buffers.send.size();
  MutableBytes rows;
  MutableBytes columns;
  if (team.rank() == 0) {
    rows = team.scratch(row * at(team.size()));
    columns = team.scratch(rows.size());
  }
  const CollectiveBuffers up{buffers.send, rows, row};
  Outcome outcome = co_await gather(model, required, team, up, 0);
  transpose(team, rows, columns, buffers.block);
  team.clock += model.setup.host_data ? model.setup.bounce.bytes(static_cast<std::int64_t>(rows.size()))
                                      : model.setup.timing.copy(model.setup.copies, rows.size(), true);
  const Model second = following(model);
  const CollectiveBuffers down{columns, buffers.receive, row};
  note(outcome, co_await scatter(second, required, team, down, 0, false));
  co_return outcome;
}

}  // namespace offramp::aie
