// Gather, scatter, and alltoall. Windows contain the blocks of a subtree in preorder, that is, of relative
// ranks; the root's host rotates them. There are two designs of gather. Packed: a kernel fills its
// output windows from all its inputs in sequence. With headers ([aie-thesis]): the first window contains the
// number of further ones, and each of those has a chunk of one block. Alltoall gathers all rows of blocks at
// the root, transposes them, and scatters the result.
#include "backends/aie/blocks.hpp"

#include <utility>
#include <vector>

#include "backends/aie/rank_part.hpp"

namespace offramp::aie {
namespace {

/// Bytes of the blocks of a node's subtree.
std::size_t bytes_of(const RankPart& part, int node, std::size_t block) {
  return block * at(part.tree().extent(node));
}

Task<void> packed_gather(RankPart& part, std::size_t largest, std::size_t block) {
  PackCall call;
  call.copies = part.setup().copies;
  const bool with_host = part.setup().host_data;
  const Chunks own{block, edge_window(block, largest)};
  // All ranks' transfers together take as long as that of the root's port, for which they wait.
  Input* const source = with_host ? &part.from_host(own.window, own.count()) : nullptr;
  call.segments.push_back({source, block, own.window});
  for (const int child : part.tree().children(part.node())) {
    const std::size_t bytes = bytes_of(part, child, block);
    const Chunks chunks{bytes, edge_window(bytes, largest)};
    call.segments.push_back(
        {&part.input(part.rank_of_node(child), chunks.count(), chunks), bytes, chunks.window});
  }
  const std::size_t all = bytes_of(part, part.node(), block);
  const Chunks whole{all, edge_window(all, largest)};
  call.output_window = whole.window;
  if (!part.is_top()) {
    call.output = &part.output(part.rank_of_node(part.tree().parent(part.node())),
                               part.plan().connections[at(part.node() - 1)], whole.window, whole);
    // Without the host, the result stays in the tile.
  } else if (with_host) {
    call.output = &part.to_host(whole.window);
  }
  part.begin_kernel();
  co_await pack_kernel(part.core(), call);
  co_await part.end_kernel();
}

/// Windows of an edge in the header design: the header, then chunks of one block each.
WindowBytes forwarded_bytes(const RankPart& part, int node, Chunks own, bool in_turns) {
  // The header has no data of the program.
  std::vector<std::size_t> windows = {0};
  for (const Forwarded& one : forwarded_windows(part.tree(), node, own.count(), in_turns))
    windows.push_back(own.size(one.chunk));
  return WindowBytes(std::move(windows));
}

Task<void> header_gather(RankPart& part, std::size_t largest, std::size_t block) {
  const bool in_turns = part.setup().gather == GatherDesign::kHeaderInTurns;
  const Chunks own{block, edge_window(block, largest)};
  HeaderGatherCall call;
  std::vector<std::size_t> counts;
  for (const int child : part.tree().children(part.node())) {
    counts.push_back(own.count() * at(part.tree().extent(child)));
    call.inputs.push_back(&part.input(part.rank_of_node(child), counts.back() + 1,
                                      forwarded_bytes(part, child, own, in_turns)));
  }
  call.order = forwarding_order(counts, in_turns);
  if (!part.is_top())
    call.output = &part.output(part.rank_of_node(part.tree().parent(part.node())),
                               part.plan().connections[at(part.node() - 1)], own.window,
                               forwarded_bytes(part, part.node(), own, in_turns));
  call.window = own.window;
  call.own = own;
  call.copies = part.setup().copies;
  co_await part.move_in(block);
  part.begin_kernel();
  co_await header_gather_kernel(part.core(), call);
  co_await part.end_kernel();
  if (part.is_top()) co_await part.move_out(bytes_of(part, part.node(), block));
}

}  // namespace

Task<Outcome> gather(const Model& model, const ArrayRequirements& required, Team& team, std::size_t block,
                     int root) {
  RankPart part(model, team, root, required.tree);
  if (model.setup.gather == GatherDesign::kPacked) {
    co_await packed_gather(part, required.tree_window, block);
  } else {
    co_await header_gather(part, required.tree_window, block);
  }
  co_return part.outcome();
}

Task<Outcome> scatter(const Model& model, const ArrayRequirements& required, Team& team, std::size_t block,
                      int root, bool in_tile) {
  RankPart part(model, team, root, required.down);
  const std::size_t largest = required.down_window;
  const bool with_host = model.setup.host_data;
  const std::size_t all = bytes_of(part, part.node(), block);
  const Chunks whole{all, edge_window(all, largest)};
  UnpackCall call;
  call.copies = model.setup.copies;
  call.input_window = whole.window;
  if (!part.is_top()) {
    const int parent = part.rank_of_node(part.tree().parent(part.node()));
    call.input = &part.input(parent, whole.count(), whole);
  } else if (with_host && !in_tile) {
    call.input = &part.from_host(whole.window, whole.count());
  }
  const std::size_t own = edge_window(block, largest);
  call.shares.push_back({with_host ? &part.to_host(own) : nullptr, block, own});
  for (const int child : part.tree().children(part.node())) {
    const std::size_t bytes = bytes_of(part, child, block);
    const Chunks chunks{bytes, edge_window(bytes, largest)};
    const Connection& connection = part.plan().connections[at(child - 1)];
    call.shares.push_back(
        {&part.output(part.rank_of_node(child), connection, chunks.window, chunks), bytes, chunks.window});
  }
  part.begin_kernel();
  co_await unpack_kernel(part.core(), call);
  co_await part.end_kernel();
  co_return part.outcome();
}

Task<Outcome> alltoall(const Model& model, const ArrayRequirements& required, Team& team, std::size_t block) {
  const std::size_t row = block * at(team.size());
  Outcome outcome = co_await gather(model, required, team, row, 0);
  // Only the root transposes; the others wait for its first window.
  const std::size_t rows = team.rank() == 0 ? row * at(team.size()) : 0;
  team.clock += model.setup.host_data ? model.setup.bounce.bytes(static_cast<std::int64_t>(rows))
                                      : model.setup.timing.copy(model.setup.copies, rows, true);
  const Model second = following(model);
  note(outcome, co_await scatter(second, required, team, row, 0, false));
  co_return outcome;
}

}  // namespace offramp::aie
