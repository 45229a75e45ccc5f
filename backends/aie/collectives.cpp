// The algorithms; the planner finds a graph for each (planner.hpp). Ranks: at most one per tile, fewer if
// windows or streams need more room. Memory in addition to the program's: one message buffer per child of a
// rank (reduce), or the blocks of its subtree (blocks.cpp).
//
//   reduce          up a tree that is filled level by level ([aie-thesis] 4.4.3), with windows of partial
//                   results in preorder, which is rank order starting at the root.
//   bcast           one multicast stream from the root to all others.
//   allreduce       a reduce to rank 0 and a multicast in one graph; or a butterfly: log2(p) rounds of
//                   exchanges, if the number of ranks is a power of two and the data fits a tile. Memory
//                   of the butterfly: 1 + 2 log2(p) messages.
//   allgather       a gather to rank 0 and a multicast of the result.
//   reduce_scatter  a reduce to rank 0 and a scatter; the sums stay in rank 0's tile if they fit.
//   barrier         a reduce and a multicast of the smallest window.
//   gather, scatter, alltoall  in blocks.cpp.
#include "backends/aie/collectives.hpp"

#include <bit>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "backends/aie/blocks.hpp"
#include "backends/aie/rank_part.hpp"
#include "backends/aie/verdicts.hpp"
#include "simulators/world/dataflow.hpp"
#include "simulators/world/ping_pong_buffers.hpp"

namespace offramp::aie {
namespace {

/// Combines own data and inputs in rank order; the result is in the last input's buffer.
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
  if (operation.kind == OperationKind::kBarrier) return call;
  const Loop loop = loop_of(operation.element, operation.function);
  call.element_bytes = loop.element_bytes;
  call.operations = loop.operations;
  if (loop.scalar) call.code = Code::kScalar;
  return call;
}

/// Reduces to the top, which fills `result`. bytes: size of the operation, nonzero even for a barrier without
/// data. deliver: the top's host needs the result.
Task<Outcome> reduce_tree(const Model& model, const Operation& operation, const ArrayRequirements& required,
                          Team& team, int root, Bytes own, std::size_t bytes, bool deliver,
                          MutableBytes result) {
  RankPart part(model, team, root, required.tree);
  const Chunks chunks{bytes, edge_window(bytes, required.tree_window)};
  const bool streamed = required.tree->streamed;
  ReduceCall call = reduce_call(model.setup, operation, chunks);
  call.meeting = part.plan().meeting[at(part.node())];
  const std::vector<int>& children = part.tree().children(part.node());
  // The last child's data is received into the result's memory.
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
  for (const std::size_t child : required.tree->acquisition[at(part.node())])
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
    call.output = &part.to_host(chunks.window);
  } else {
    call.output = &open;
  }
  if (streamed) {
    call.local = &part.from_host(chunks.window, chunks.count());
  } else if (host_data) {
    co_await part.move_in(bytes);
  }
  part.begin_kernel();
  co_await reduce_kernel(part.core(), call);
  co_await part.end_kernel();
  if (part.is_top() && !streamed && deliver && host_data) co_await part.move_out(bytes);
  if (part.is_top()) team.copy(data.result(), result);
  co_return part.outcome();
}

/// One multicast from the top to all others. The buffer is empty for a barrier. in_tile: the data is already
/// in the memory of the top's kernel.
Task<Outcome> multicast(const Model& model, const ArrayRequirements& required, Team& team, int root,
                        MutableBytes buffer, std::size_t bytes, bool in_tile) {
  RankPart part(model, team, root, nullptr);
  const Chunks chunks{bytes, edge_window(bytes, required.multicast_window)};
  const bool with_host = model.setup.host_data && !buffer.empty();
  CopyCall call{nullptr, nullptr, chunks, model.setup.copies};
  if (part.is_top()) {
    if (with_host && !in_tile) call.input = &part.from_host(chunks.window, chunks.count());
    call.output = &part.multicast(*required.multicast, chunks.window, chunks_of(buffer, chunks));
  } else {
    call.input = &part.input(part.rank_of(0), chunks.count(), chunks_of(buffer, chunks));
    if (with_host) call.output = &part.to_host(chunks.window);
  }
  part.begin_kernel();
  co_await copy_kernel(part.core(), call);
  co_await part.end_kernel();
  co_return part.outcome();
}

/// Combines the partner's partial result in one round; lower ranks are left operands.
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

Task<Outcome> butterfly(const Model& model, const Operation& operation, const ArrayRequirements& required,
                        Team& team, CollectiveBuffers buffers) {
  RankPart part(model, team, 0, nullptr);
  const int rounds = static_cast<int>(std::bit_width(static_cast<unsigned>(team.size()))) - 1;
  const Chunks chunks{buffers.send.size(), required.butterfly_window};
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
    // Sends a copy of the sum in that round, since later rounds change it.
    const MutableBytes outgoing = team.scratch(chunks.bytes);
    Slices copy([&team, sum, outgoing, chunks](std::size_t chunk) {
      const MutableBytes part_of_it = outgoing.subspan(chunks.begin(chunk), chunks.size(chunk));
      team.copy(sum.subspan(chunks.begin(chunk), chunks.size(chunk)), part_of_it);
      return part_of_it;
    });
    call.outputs.push_back(
        &part.output(partner, required.butterfly->connections[at(round * team.size() + team.rank())],
                     required.butterfly_window, std::move(copy)));
    call.inputs.push_back(&part.input_back(partner, chunks.count(), chunks_of(incoming, chunks)));
    data.emplace_back(team, chunks, sum, incoming, partner < team.rank());
    call.data.push_back(&data.back());
  }
  co_await part.move_in(chunks.bytes);
  part.begin_kernel();
  co_await butterfly_kernel(part.core(), call);
  co_await part.end_kernel();
  co_await part.move_out(chunks.bytes);
  team.copy(sum, buffers.receive);
  co_return part.outcome();
}

Task<Outcome> allreduce(const Model& model, const Operation& operation, const ArrayRequirements& required,
                        Team& team, CollectiveBuffers buffers) {
  if (required.butterfly != nullptr) co_return co_await butterfly(model, operation, required, team, buffers);
  const std::size_t bytes = buffers.send.size();
  const bool in_tile = !required.tree->streamed;
  Outcome outcome =
      co_await reduce_tree(model, operation, required, team, 0, buffers.send, bytes, true, buffers.receive);
  const Model second = following(model);
  note(outcome, co_await multicast(second, required, team, 0, buffers.receive, bytes, in_tile));
  co_return outcome;
}

Task<Outcome> allgather(const Model& model, const ArrayRequirements& required, Team& team,
                        CollectiveBuffers buffers) {
  Outcome outcome = co_await gather(model, required, team, buffers, 0);
  note(outcome, co_await multicast(following(model), required, team, 0, buffers.receive,
                                   buffers.receive.size(), false));
  co_return outcome;
}

/// The sums of all blocks arrive at the top, and continue from its tile if they are there.
Task<Outcome> reduce_scatter(const Model& model, const Operation& operation,
                             const ArrayRequirements& required, Team& team, CollectiveBuffers buffers) {
  const std::size_t bytes = buffers.send.size();
  const MutableBytes sums = team.rank() == 0 ? team.scratch(bytes) : MutableBytes();
  Outcome outcome =
      co_await reduce_tree(model, operation, required, team, 0, buffers.send, bytes, false, sums);
  const Model second = following(model);
  const CollectiveBuffers parts{sums, buffers.receive, buffers.block};
  note(outcome, co_await scatter(second, required, team, parts, 0, !required.tree->streamed));
  co_return outcome;
}

Task<Outcome> barrier(const Model& model, const Operation& operation, const ArrayRequirements& required,
                      Team& team) {
  Outcome outcome = co_await reduce_tree(model, operation, required, team, 0, {}, kBarrierBytes, false, {});
  const Model second = following(model);
  note(outcome, co_await multicast(second, required, team, 0, {}, kBarrierBytes, true));
  co_return outcome;
}

Task<Outcome> reduce(const Model& model, const Operation& operation, const ArrayRequirements& required,
                     Team& team, CollectiveBuffers buffers) {
  return reduce_tree(model, operation, required, team, operation.root, buffers.send, buffers.send.size(),
                     true, buffers.receive);
}

Task<Outcome> run_on_array(const Model& model, const Operation& what, const ArrayRequirements& required,
                           Team& team, const CollectiveBuffers& buffers) {
  switch (what.kind) {
    case OperationKind::kBcast:
      return multicast(model, required, team, what.root, buffers.receive, what.bytes, false);
    case OperationKind::kReduce:
      return reduce(model, what, required, team, buffers);
    case OperationKind::kGather:
      return gather(model, required, team, buffers, what.root);
    case OperationKind::kScatter:
      return scatter(model, required, team, buffers, what.root, false);
    case OperationKind::kAllreduce:
      return allreduce(model, what, required, team, buffers);
    case OperationKind::kAllgather:
      return allgather(model, required, team, buffers);
    case OperationKind::kReduceScatter:
      return reduce_scatter(model, what, required, team, buffers);
    case OperationKind::kAlltoall:
      return alltoall(model, required, team, buffers);
    case OperationKind::kBarrier:
      return barrier(model, what, required, team);
    case OperationKind::kSend:
    case OperationKind::kScan:
    case OperationKind::kExscan:
    case OperationKind::kGatherv:
    case OperationKind::kScatterv:
    case OperationKind::kAllgatherv:
    case OperationKind::kReduceScatterv:
    case OperationKind::kAlltoallv:
    case OperationKind::kCount:
      break;
  }
  return declined_collective();
}

}  // namespace

/// Spends time on the host's command or on loading a graph.
static void pass(const Model& model, Team& team, std::string_view unit, std::string_view what,
                 Time duration) {
  const Time begin = team.clock;
  team.clock += duration;
  if (model.spans != nullptr && team.clock > begin)
    model.spans->record({unit, what, begin, team.clock, team.operation, team.world_rank(team.rank())});
}

Task<Outcome> run_collective(Model model, const Operation& operation, Team& team, CollectiveBuffers buffers) {
  const Operation what = operation;
  const ArrayRequirements required =
      model.planner.requirements(what);  // a copy: other operations may replace it meanwhile
  pass(model, team, "aie.command", is_published(what) ? "start" : "start: not in [aie-thesis]",
       model.setup.command);
  pass(model, team, "aie.configuration", "load graph",
       model.graphs.load(team.world_rank(team.rank()), what, required));
  Outcome outcome = Outcome::kFault;  // declined by supports()
  if (required.limit.empty()) outcome = co_await run_on_array(model, what, required, team, buffers);
  pass(model, team, "aie.command", "end", model.setup.command);
  co_return outcome;
}

}  // namespace offramp::aie
