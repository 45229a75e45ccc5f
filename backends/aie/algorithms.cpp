#include "backends/aie/algorithms.hpp"

#include <bit>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "backends/aie/part.hpp"
#include "backends/aie/verdicts.hpp"
#include "simulators/model/ping_pong_buffers.hpp"

namespace offramp::aie {
namespace {

/// Own data and the inputs' in the order of ranks; the result ends up in the last input's buffer.
class ReducedData final : public Data {
 public:
  ReducedData(Team& team, Chunks chunks, Bytes own, PooledVector<MutableBytes> inputs)
      : team_(team), chunks_(chunks), own_(own), inputs_(std::move(inputs)) {}
  void reduce(std::size_t chunk) override {
    if (own_.empty()) return;
    const std::size_t begin = chunks_.begin(chunk);
    const std::size_t size = chunks_.size(chunk);
    Bytes sum = own_.subspan(begin, size);
    for (const MutableBytes& input : inputs_) {
      const MutableBytes part = input.subspan(begin, size);
      team_.combine(sum, part);
      sum = part;
    }
  }
  [[nodiscard]] Bytes result() const { return inputs_.empty() ? own_ : Bytes(inputs_.back()); }

 private:
  Team& team_;
  Chunks chunks_;
  Bytes own_;
  PooledVector<MutableBytes> inputs_;
};

ReduceCall reduce_call(const Setup& setup, const Operation& operation, const Chunks& chunks) {
  ReduceCall call;
  call.chunks = chunks;
  call.code = setup.kernels;
  if (operation.kind != OperationKind::kBarrier) {
    call.element_bytes = element_bytes_of(operation.element);
    call.operations = operations_of(operation.function);
  }
  return call;
}

/// Towards the top; `result` is filled there. bytes: of the operation, also where a barrier has no data.
/// deliver: the top's host wants the result.
Task<Outcome> reduce_tree(const Model& model, const Operation& operation, const Need& need, Team& team,
                          int root, Bytes own, std::size_t bytes, bool deliver, MutableBytes result) {
  Part part(model, team, root, need.tree);
  const Chunks chunks{bytes, edge_window(bytes, need.tree_window)};
  const bool streamed = need.tree->streamed;
  ReduceCall call = reduce_call(model.setup, operation, chunks);
  const std::vector<int>& children = part.tree().children(part.node());
  // The last child's data comes to where the result is wanted.
  MutableBytes last = part.is_top() ? place_of_result(own, result) : MutableBytes();
  PooledVector<MutableBytes> buffers;
  PooledVector<Input*> inputs;
  buffers.reserve(children.size());
  inputs.reserve(children.size());
  for (const int child : children) {
    const bool in_place = buffers.size() + 1 == children.size() && !last.empty();
    buffers.push_back(in_place ? last : team.scratch(own.size()));
    inputs.push_back(
        &part.input(part.rank_of_node(child), chunks.count(), chunks_of(buffers.back(), chunks)));
  }
  for (const std::size_t child : need.tree->acquisition[at(part.node())])
    call.inputs.push_back(inputs[child]);
  ReducedData data(team, chunks, own, std::move(buffers));
  call.data = &data;
  OpenOutput open;
  const bool host_data = !own.empty();  // a barrier has none
  if (!part.is_top()) {
    call.output = &part.output(part.rank_of_node(part.tree().parent(part.node())),
                               part.plan().connections[at(part.node() - 1)], chunks.window,
                               chunks_of(data.result(), chunks));
  } else if (streamed) {
    call.output = &part.to_host(chunks.window, 1);
  } else {
    call.output = &open;
  }
  if (streamed) {
    call.local = &part.from_host(chunks.window, chunks.count(), part.size());
  } else if (host_data) {
    co_await part.move_in(bytes, part.size());
  }
  part.begin_kernel();
  co_await reduce_kernel(part.core(), call);
  co_await part.end_kernel();
  if (part.is_top() && !streamed && deliver && host_data) co_await part.move_out(bytes, 1);
  if (part.is_top()) team.copy(data.result(), result);
  co_return part.outcome();
}

/// From the top to all others by one multicast. The buffer may be empty: a barrier's. in_tile: the top's
/// kernel has the data in its own memory.
Task<Outcome> multicast(const Model& model, const Need& need, Team& team, int root, MutableBytes buffer,
                        std::size_t bytes, bool in_tile) {
  Part part(model, team, root, nullptr);
  const Chunks chunks{bytes, edge_window(bytes, need.multicast_window)};
  const bool with_host = model.setup.host_data && !buffer.empty();
  CopyCall call{nullptr, nullptr, chunks, model.setup.copies};
  if (part.is_top()) {
    if (with_host && !in_tile) call.input = &part.from_host(chunks.window, chunks.count(), 1);
    call.output = &part.multicast(*need.multicast, chunks.window, chunks_of(buffer, chunks));
  } else {
    call.input = &part.input(part.rank_of(0), chunks.count(), chunks_of(buffer, chunks));
    if (with_host) call.output = &part.to_host(chunks.window, part.size() - 1);
  }
  part.begin_kernel();
  co_await copy_kernel(part.core(), call);
  co_await part.end_kernel();
  co_return part.outcome();
}

/// Where MPI wants the blocks of relative ranks: two runs.
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

/// The run of blocks that belongs to a node's subtree, as this rank holds it.
MutableBytes subtree_of(const Part& part, MutableBytes held, int node, std::size_t block) {
  const int offset = part.tree().place_in_preorder(node) - part.relative();
  return held.subspan(block * at(offset), block * at(part.tree().extent(node)));
}

Task<void> packed_gather(Part& part, std::size_t largest, std::size_t block, MutableBytes held) {
  PackCall call;
  call.copies = part.setup().copies;
  const bool with_host = part.setup().host_data;
  const Chunks own{block, edge_window(block, largest)};
  // Together the ranks take as long as the root's port, which is what they wait for.
  Input* const source = with_host ? &part.from_host(own.window, own.count(), 1) : nullptr;
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
    call.output = &part.to_host(whole.window, 1);
  }
  part.begin_kernel();
  co_await pack_kernel(part.core(), call);
  co_await part.end_kernel();
}

/// Windows of an edge in the header design: the header first, then one block's chunk each.
Slices forwarded_slices(const Part& part, int node, MutableBytes held, Chunks own, bool in_turns) {
  std::vector<MutableBytes> windows = {MutableBytes()};
  for (const Forwarded& one : forwarded_windows(part.tree(), node, own.count(), in_turns)) {
    const int offset = part.tree().place_in_preorder(one.node) - part.relative();
    windows.push_back(held.subspan(own.bytes * at(offset) + own.begin(one.chunk), own.size(one.chunk)));
  }
  return Slices([windows = std::move(windows)](std::size_t window) { return windows[window]; });
}

Task<void> header_gather(Part& part, std::size_t largest, std::size_t block, MutableBytes held) {
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
  co_await part.move_in(block, part.size());
  part.begin_kernel();
  co_await header_gather_kernel(part.core(), call);
  co_await part.end_kernel();
  if (part.is_top()) co_await part.move_out(held.size(), 1);
}

Task<Outcome> gather(const Model& model, const Need& need, Team& team, CollectiveBuffers buffers, int root) {
  Part part(model, team, root, need.tree);
  const std::size_t block = buffers.block;
  const bool in_place = part.is_top() && root == 0;
  const int blocks = part.tree().extent(part.node());
  const bool own_only = !part.is_top() && blocks == 1 && buffers.send.size() == block;
  const MutableBytes held = in_place   ? buffers.receive
                            : own_only ? only_sent(buffers.send)
                                       : team.scratch(block * at(blocks));
  team.copy(buffers.send, held.first(block));
  if (model.setup.gather == GatherDesign::kPacked) {
    co_await packed_gather(part, need.tree_window, block, held);
  } else {
    co_await header_gather(part, need.tree_window, block, held);
  }
  if (part.is_top() && !in_place) to_rank_order(team, held, buffers.receive, root, block);
  co_return part.outcome();
}

Task<Outcome> scatter(const Model& model, const Need& need, Team& team, CollectiveBuffers buffers, int root) {
  Part part(model, team, root, need.tree);
  const std::size_t block = buffers.block;
  const std::size_t largest = need.tree_window;
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
    if (with_host) call.input = &part.from_host(whole.window, whole.count(), 1);
  }
  const std::size_t own = edge_window(block, largest);
  call.shares.push_back({with_host ? &part.to_host(own, 1) : nullptr, block, own});
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

/// The partner's partial result of one round; lower ranks stay on the left of the operation.
class RoundData final : public Data {
 public:
  RoundData(Team& team, Chunks chunks, MutableBytes sum, MutableBytes incoming, bool partner_is_lower)
      : team_(team), chunks_(chunks), sum_(sum), incoming_(incoming), partner_is_lower_(partner_is_lower) {}
  void reduce(std::size_t chunk) override {
    const MutableBytes sum = sum_.subspan(chunks_.begin(chunk), chunks_.size(chunk));
    const MutableBytes incoming = incoming_.subspan(chunks_.begin(chunk), chunks_.size(chunk));
    if (partner_is_lower_) return team_.combine(incoming, sum);
    team_.combine(sum, incoming);
    team_.copy(incoming, sum);
  }

 private:
  Team& team_;
  Chunks chunks_;
  MutableBytes sum_;
  MutableBytes incoming_;
  bool partner_is_lower_;
};

Task<Outcome> butterfly(const Model& model, const Operation& operation, const Need& need, Team& team,
                        CollectiveBuffers buffers) {
  Part part(model, team, 0, nullptr);
  const int rounds = static_cast<int>(std::bit_width(static_cast<unsigned>(team.size()))) - 1;
  const Chunks chunks{buffers.send.size(), need.butterfly_window};
  const ReduceCall arithmetic = reduce_call(model.setup, operation, chunks);
  ButterflyCall call;
  call.chunks = chunks;
  call.element_bytes = arithmetic.element_bytes;
  call.operations = arithmetic.operations;
  call.code = arithmetic.code;
  const MutableBytes sum = team.scratch(chunks.bytes);
  team.copy(buffers.send, sum);
  std::deque<RoundData> data;
  for (int round = 0; round < rounds; ++round) {
    const int partner = team.rank() ^ (1 << round);
    const MutableBytes incoming = team.scratch(chunks.bytes);
    // What is sent is what the sum was in that round: later rounds go on changing it.
    const MutableBytes outgoing = team.scratch(chunks.bytes);
    Slices copy([&team, sum, outgoing, chunks](std::size_t chunk) {
      const MutableBytes part_of_it = outgoing.subspan(chunks.begin(chunk), chunks.size(chunk));
      team.copy(sum.subspan(chunks.begin(chunk), chunks.size(chunk)), part_of_it);
      return part_of_it;
    });
    call.outputs.push_back(&part.output(partner,
                                        need.butterfly->connections[at(round * team.size() + team.rank())],
                                        need.butterfly_window, std::move(copy)));
    call.inputs.push_back(&part.input_back(partner, chunks.count(), chunks_of(incoming, chunks)));
    data.emplace_back(team, chunks, sum, incoming, partner < team.rank());
    call.data.push_back(&data.back());
  }
  co_await part.move_in(chunks.bytes, team.size());
  part.begin_kernel();
  co_await butterfly_kernel(part.core(), call);
  co_await part.end_kernel();
  co_await part.move_out(chunks.bytes, team.size());
  team.copy(sum, buffers.receive);
  co_return part.outcome();
}

Task<Outcome> allreduce(const Model& model, const Operation& operation, const Need& need, Team& team,
                        CollectiveBuffers buffers) {
  if (need.butterfly != nullptr) co_return co_await butterfly(model, operation, need, team, buffers);
  const std::size_t bytes = buffers.send.size();
  const bool in_tile = !need.tree->streamed;
  Outcome outcome =
      co_await reduce_tree(model, operation, need, team, 0, buffers.send, bytes, true, buffers.receive);
  Model second = model;
  second.skew = {};
  note(outcome, co_await multicast(second, need, team, 0, buffers.receive, bytes, in_tile));
  co_return outcome;
}

Task<Outcome> allgather(const Model& model, const Need& need, Team& team, CollectiveBuffers buffers) {
  Outcome outcome = co_await gather(model, need, team, buffers, 0);
  Model second = model;
  second.skew = {};
  note(outcome, co_await multicast(second, need, team, 0, buffers.receive, buffers.receive.size(), false));
  co_return outcome;
}

Task<Outcome> barrier(const Model& model, const Operation& operation, const Need& need, Team& team) {
  Outcome outcome = co_await reduce_tree(model, operation, need, team, 0, {}, kBarrierBytes, false, {});
  Model second = model;
  second.skew = {};
  note(outcome, co_await multicast(second, need, team, 0, {}, kBarrierBytes, true));
  co_return outcome;
}

Task<Outcome> reduce(const Model& model, const Operation& operation, const Need& need, Team& team,
                     CollectiveBuffers buffers) {
  return reduce_tree(model, operation, need, team, operation.root, buffers.send, buffers.send.size(), true,
                     buffers.receive);
}

}  // namespace

static void load_graph(const Model& model, const Operation& operation, const Need& need, Team& team) {
  const int rank = team.world_rank(team.rank());
  const Time begin = team.clock;
  team.clock += model.graphs.load(rank, operation, need);
  if (model.spans != nullptr && team.clock > begin)
    model.spans->record({"aie.configuration", "load graph", begin, team.clock, team.operation, rank});
}

Task<Outcome> run_collective(Model model, const Operation& operation, Team& team, CollectiveBuffers buffers) {
  const Operation what = operation;
  const Need need = model.planner.need(what);  // a copy: others may be asked for meanwhile
  team.clock += model.setup.command;
  load_graph(model, what, need, team);
  Outcome outcome = Outcome::kFault;  // supports() said no
  if (need.limit.empty()) {
    switch (what.kind) {
      case OperationKind::kBcast:
        outcome = co_await multicast(model, need, team, what.root, buffers.receive, what.bytes, false);
        break;
      case OperationKind::kReduce:
        outcome = co_await reduce(model, what, need, team, buffers);
        break;
      case OperationKind::kGather:
        outcome = co_await gather(model, need, team, buffers, what.root);
        break;
      case OperationKind::kScatter:
        outcome = co_await scatter(model, need, team, buffers, what.root);
        break;
      case OperationKind::kAllreduce:
        outcome = co_await allreduce(model, what, need, team, buffers);
        break;
      case OperationKind::kAllgather:
        outcome = co_await allgather(model, need, team, buffers);
        break;
      case OperationKind::kBarrier:
        outcome = co_await barrier(model, what, need, team);
        break;
      default:
        break;
    }
  }
  team.clock += model.setup.command;
  co_return outcome;
}

}  // namespace offramp::aie
