// Open MPI's component "han": collectives between nodes and within them, one level after the other or, for
// the segments of a long message, both at once. One rank of each node, its leader, communicates between
// nodes. X. Luo and others, "HAN: a Hierarchical AutotuNed Collective Communication Framework", IEEE CLUSTER
// 2020.
//
// The functions follow branch v4.1.x (ompi/mca/coll/han/coll_han_bcast.c and so on, functions
// mca_coll_han_*_intra; the barrier is ..._intra_simple). The component "tuned" selects within nodes, and
// between nodes for operations that a call waits for; libnbc carries concurrent operations between nodes.
// Open MPI's allreduce overlaps two of those; here the reduction begins when the broadcast has ended.
//
// Segments in the pipelines; "up" is between the leaders, "low" within the nodes:
//
//     bcast             reduce            allreduce
//     up 0              low 0             low reduce 0
//     low 0   up 1      up 0    low 1     up reduce 0   low reduce 1
//     low 1   up 2      up 1    low 2     up bcast 0    up reduce 1   low reduce 2
//     ...               ...               low bcast 0   up bcast 1    up reduce 2   low reduce 3
//
// The functions *_by_nodes have the same levels, unsegmented: binomial trees on the nodes, and the algorithms
// of the selection between the leaders, as in MPICH's devices and its derivatives. In an allreduce of more
// than 8 KiB all ranks of a node take part between nodes, each with a part of the vector.
//
// Gather, scatter, and allgather run their levels one after the other. Between the levels, blocks are ordered
// by node; a copy puts them into rank order if that differs. All but allreduce and barrier need equally many
// ranks on each node; reductions need a commutative operation. Memory: reduce needs two segments at each
// leader but the root. Gather, scatter, and allgather need the blocks of a node at each leader, and all
// blocks where they are reordered.
#include "backends/host/collectives.hpp"
#include "backends/host/levels.hpp"
#include "backends/host/pieces.hpp"

namespace offramp::host {
namespace {

/// The two levels of a collective, as seen by one of its ranks.
class Levels {
 public:
  /// The leaders are the ranks with the root's index on their nodes.
  Levels(const AlgorithmCall& call, int root)
      : call_(call),
        map_(call.team, call.collectives.machine()),
        leader_(map_.index_of(root)),
        root_node_(map_.node_of(root)),
        leads_(map_.index_of(call.rank()) == leader_),
        low_(call.team, map_.ranks(map_.node_of(call.rank())), map_.index_of(call.rank())),
        up_(call.team, leaders(), map_.node_of(call.rank())) {}

  [[nodiscard]] const NodeMap& map() const { return map_; }
  [[nodiscard]] bool leads() const { return leads_; }
  [[nodiscard]] SubTeam& up() { return up_; }
  [[nodiscard]] std::size_t ranks_here() const { return static_cast<std::size_t>(low_.size()); }
  [[nodiscard]] Segments segments(std::size_t bytes) const {
    return {bytes, call_.element(), call_.collectives.han_segment()};
  }

  /// This rank's part of an operation on its node, with the leader as root, or of one between the leaders.
  /// bytes: size of the message or the block.
  [[nodiscard]] AlgorithmCall within_node(OperationKind kind, std::size_t bytes,
                                          const CollectiveBuffers& buffers) {
    return part(low_, kind, leader_, bytes, buffers);
  }
  [[nodiscard]] AlgorithmCall between_nodes(OperationKind kind, std::size_t bytes,
                                            const CollectiveBuffers& buffers) {
    return part(up_, kind, root_node_, bytes, buffers);
  }
  static Task<Outcome> run(AlgorithmCall call) {
    auto& team = static_cast<SubTeam&>(call.team);
    team.enter();
    const Outcome outcome = co_await call.collectives.run(AlgorithmCall(call));
    team.leave();
    co_return outcome;
  }

  /// Runs a bcast or a reduce by a binomial tree, as shared memory does at any size.
  static Task<Outcome> run_tree(AlgorithmCall call) {
    auto& team = static_cast<SubTeam&>(call.team);
    call.operation.ranks = call.size();
    team.enter();
    const Outcome outcome =
        co_await algorithm_named(call.operation.kind, "binomial").run(AlgorithmCall(call));
    team.leave();
    co_return outcome;
  }

  /// Calls copy(position, rank) for each block; positions are ordered by node.
  void for_each_block(auto copy) const {
    int index = 0;
    for (int node = 0; node < map_.nodes(); ++node) {
      for (const int rank : map_.ranks(node)) copy(index++, rank);
    }
  }

 private:
  [[nodiscard]] std::vector<int> leaders() const {
    std::vector<int> all;
    all.reserve(static_cast<std::size_t>(map_.nodes()));
    for (int node = 0; node < map_.nodes(); ++node)
      all.push_back(map_.ranks(node)[static_cast<std::size_t>(leads_ ? leader_ : 0)]);
    return all;
  }
  [[nodiscard]] AlgorithmCall part(Team& team, OperationKind kind, int root, std::size_t bytes,
                                   const CollectiveBuffers& buffers) const {
    AlgorithmCall part{team, call_.collectives, call_.operation, buffers};
    part.operation.kind = kind;
    part.operation.root = root;
    part.operation.bytes = bytes;
    part.operation.elements = bytes / call_.element();
    return part;
  }

  const AlgorithmCall& call_;
  NodeMap map_;
  int leader_;
  int root_node_;
  bool leads_;
  SubTeam low_;
  SubTeam up_;
};

CollectiveBuffers in_place(MutableBytes bytes) {
  return {bytes, bytes, bytes.size()};
}

}  // namespace

/// A segment is broadcast on the nodes while the next one is broadcast between leaders.
Task<Outcome> bcast_han(AlgorithmCall call) {
  Levels levels(call, call.operation.root);
  const Segments segments = levels.segments(call.buffers.receive.size());
  const auto part = [&](std::size_t index) { return segments.slice(call.buffers.receive, index); };
  const auto between = [&](std::size_t index) {
    return levels.between_nodes(OperationKind::kBcast, part(index).size(), in_place(part(index)));
  };
  Outcome outcome = Outcome::kOk;
  InFlight next;
  if (levels.leads()) note(outcome, co_await Levels::run(between(0)));
  for (std::size_t i = 0; i < segments.count(); ++i) {
    const bool more = levels.leads() && i + 1 < segments.count();
    if (more) next.begin(levels.up(), bcast_of_libnbc(between(i + 1)));
    note(outcome,
         co_await Levels::run(levels.within_node(OperationKind::kBcast, part(i).size(), in_place(part(i)))));
    if (more) note(outcome, co_await next);
  }
  co_return outcome;
}

/// A segment is reduced between leaders while the next one is reduced on the nodes.
Task<Outcome> reduce_han(AlgorithmCall call) {
  Levels levels(call, call.operation.root);
  const Bytes own = call.buffers.send;
  const Segments segments = levels.segments(own.size());
  const bool is_root = call.is_root();
  MutableBytes rooms[2];
  for (MutableBytes& room : rooms) {
    if (levels.leads() && !is_root) room = call.team.scratch(segments.longest());
  }
  const auto sum = [&](std::size_t index) {
    const std::size_t bytes = segments.slice(own, index).size();
    return is_root          ? segments.slice(call.buffers.receive, index)
           : levels.leads() ? rooms[index % 2].first(bytes)
                            : MutableBytes();
  };
  const auto within = [&](std::size_t index) {
    const Bytes part = segments.slice(own, index);
    return levels.within_node(OperationKind::kReduce, part.size(), {part, sum(index), part.size()});
  };
  const auto between = [&](std::size_t index) {
    const MutableBytes part = sum(index);
    return levels.between_nodes(OperationKind::kReduce, part.size(),
                                {part, is_root ? part : MutableBytes(), part.size()});
  };
  InFlight last;
  Outcome outcome = co_await Levels::run(within(0));
  for (std::size_t i = 0; i < segments.count(); ++i) {
    if (levels.leads()) last.begin(levels.up(), reduce_of_libnbc(between(i)));
    if (i + 1 < segments.count()) note(outcome, co_await Levels::run(within(i + 1)));
    if (levels.leads()) note(outcome, co_await last);
  }
  co_return outcome;
}

/// A pipeline of four stages: a segment is reduced on the nodes, reduced to the first leader, broadcast to
/// the leaders, and broadcast on the nodes.
Task<Outcome> allreduce_han(AlgorithmCall call) {
  Levels levels(call, 0);
  const MutableBytes sum = call.buffers.receive;
  const Segments segments = levels.segments(sum.size());
  const std::size_t count = segments.count();
  const auto part = [&](std::size_t index) { return segments.slice(sum, index); };
  const auto reduce_within = [&](std::size_t index) {
    const Bytes own = segments.slice(call.buffers.send, index);
    return levels.within_node(OperationKind::kReduce, own.size(),
                              {own, levels.leads() ? part(index) : MutableBytes(), own.size()});
  };
  const auto reduce_between = [&](std::size_t index) {
    const MutableBytes own = part(index);
    return levels.between_nodes(OperationKind::kReduce, own.size(),
                                {own, call.rank() == 0 ? own : MutableBytes(), own.size()});
  };
  const auto in_step = [&](std::size_t step, std::size_t stage) {
    return step >= stage && step - stage < count;
  };
  Outcome outcome = Outcome::kOk;
  InFlight between;
  for (std::size_t step = 0; step < count + 3; ++step) {
    const bool spreads = levels.leads() && in_step(step, 2);
    if (spreads)
      between.begin(levels.up(),
                    bcast_of_libnbc(levels.between_nodes(OperationKind::kBcast, part(step - 2).size(),
                                                         in_place(part(step - 2)))));
    if (in_step(step, 0)) note(outcome, co_await Levels::run(reduce_within(step)));
    if (spreads) note(outcome, co_await between);
    const bool gathers = levels.leads() && in_step(step, 1);
    if (gathers) between.begin(levels.up(), reduce_of_libnbc(reduce_between(step - 1)));
    if (in_step(step, 3))
      note(outcome, co_await Levels::run(levels.within_node(OperationKind::kBcast, part(step - 3).size(),
                                                            in_place(part(step - 3)))));
    if (gathers) note(outcome, co_await between);
  }
  co_return outcome;
}

Task<Outcome> gather_han(AlgorithmCall call) {
  Team& team = call.team;
  Levels levels(call, call.operation.root);
  const std::size_t block = call.buffers.block;
  const std::size_t node = block * levels.ranks_here();
  const MutableBytes gathered = levels.leads() ? team.scratch(node) : MutableBytes();
  Outcome outcome = co_await Levels::run(
      levels.within_node(OperationKind::kGather, block, {call.buffers.send, gathered, block}));
  if (!levels.leads()) co_return outcome;
  const bool moves = call.is_root() && !levels.map().in_order();
  const MutableBytes all = moves            ? team.scratch(call.buffers.receive.size())
                           : call.is_root() ? call.buffers.receive
                                            : MutableBytes();
  note(outcome,
       co_await Levels::run(levels.between_nodes(OperationKind::kGather, node, {gathered, all, node})));
  const auto place = [&](int index, int rank) {
    local_copy(team, call.costs(), send_block({all, {}, block}, index), call.receive_block(rank));
  };
  if (moves) levels.for_each_block(place);
  co_return outcome;
}

Task<Outcome> scatter_han(AlgorithmCall call) {
  Team& team = call.team;
  Levels levels(call, call.operation.root);
  const std::size_t block = call.buffers.block;
  const std::size_t node = block * levels.ranks_here();
  MutableBytes held;
  Outcome outcome = Outcome::kOk;
  if (levels.leads()) {
    Bytes all = call.buffers.send;
    if (call.is_root() && !levels.map().in_order()) {
      const MutableBytes ordered = team.scratch(all.size());
      levels.for_each_block([&](int index, int rank) {
        local_copy(team, call.costs(), call.send_block(rank), receive_block({{}, ordered, block}, index));
      });
      all = ordered;
    }
    held = team.scratch(node);
    note(outcome,
         co_await Levels::run(levels.between_nodes(OperationKind::kScatter, node, {all, held, node})));
  }
  note(outcome, co_await Levels::run(
                    levels.within_node(OperationKind::kScatter, block, {held, call.buffers.receive, block})));
  co_return outcome;
}

Task<Outcome> allgather_han(AlgorithmCall call) {
  Team& team = call.team;
  Levels levels(call, 0);
  const std::size_t block = call.buffers.block;
  const std::size_t node = block * levels.ranks_here();
  const MutableBytes all = call.buffers.receive;
  const MutableBytes gathered = levels.leads() ? team.scratch(node) : MutableBytes();
  Outcome outcome = co_await Levels::run(
      levels.within_node(OperationKind::kGather, block, {call.buffers.send, gathered, block}));
  if (levels.leads()) {
    const bool moves = !levels.map().in_order();
    const MutableBytes ordered = moves ? team.scratch(all.size()) : all;
    note(outcome, co_await Levels::run(
                      levels.between_nodes(OperationKind::kAllgather, node, {gathered, ordered, node})));
    const auto place = [&](int index, int rank) {
      local_copy(team, call.costs(), send_block({ordered, {}, block}, index), call.receive_block(rank));
    };
    if (moves) levels.for_each_block(place);
  }
  note(outcome, co_await Levels::run(levels.within_node(OperationKind::kBcast, all.size(), in_place(all))));
  co_return outcome;
}

Task<Outcome> bcast_by_nodes(AlgorithmCall call) {
  Levels levels(call, call.operation.root);
  const MutableBytes all = call.buffers.receive;
  Outcome outcome = Outcome::kOk;
  if (levels.leads())
    note(outcome,
         co_await Levels::run(levels.between_nodes(OperationKind::kBcast, all.size(), in_place(all))));
  note(outcome,
       co_await Levels::run_tree(levels.within_node(OperationKind::kBcast, all.size(), in_place(all))));
  co_return outcome;
}

Task<Outcome> reduce_by_nodes(AlgorithmCall call) {
  Levels levels(call, call.operation.root);
  const Bytes own = call.buffers.send;
  const MutableBytes sum = call.is_root()   ? call.buffers.receive
                           : levels.leads() ? call.team.scratch(own.size())
                                            : MutableBytes();
  Outcome outcome = co_await Levels::run_tree(
      levels.within_node(OperationKind::kReduce, own.size(), {own, sum, own.size()}));
  if (levels.leads())
    note(outcome,
         co_await Levels::run(levels.between_nodes(
             OperationKind::kReduce, own.size(), {sum, call.is_root() ? sum : MutableBytes(), own.size()})));
  co_return outcome;
}

/// Each rank of a node sums a part of the vector on its node, and then with the ranks of its index.
static Task<Outcome> allreduce_by_all_ranks(AlgorithmCall call) {
  Levels levels(call, call.rank());
  const MutableBytes sum = call.buffers.receive;
  AlgorithmCall within =
      levels.within_node(OperationKind::kAllreduce, sum.size(), {call.buffers.send, sum, sum.size()});
  auto& team = static_cast<SubTeam&>(within.team);
  const Cut cut = Cut::even(sum.size(), call.element(), team.size());
  const auto part = [&](int index) { return cut.slice(sum, index); };
  const int own = team.rank();
  team.enter();
  local_copy(team, call.costs(), call.buffers.send, sum);
  const Segments whole(part(0).size(), call.element(), 0);
  Outcome outcome = co_await reduce_around_ring(within, sum, cut, whole, 0);
  team.leave();
  note(outcome, co_await Levels::run(
                    levels.between_nodes(OperationKind::kAllreduce, part(own).size(), in_place(part(own)))));
  team.enter();
  note(outcome,
       co_await gather_around_ring(team, part, own, wrap(own - 1, team.size()), wrap(own + 1, team.size())));
  team.leave();
  co_return outcome;
}

Task<Outcome> allreduce_by_nodes(AlgorithmCall call) {
  constexpr std::size_t kShort = 8 * kKi;
  const NodeMap map(call.team, call.collectives.machine());
  if (call.buffers.send.size() > kShort && map.kind() == Nodes::kEqual &&
      call.buffers.send.size() / call.element() >= map.ranks(0).size())
    co_return co_await allreduce_by_all_ranks(call);
  Levels levels(call, 0);
  const Bytes own = call.buffers.send;
  const MutableBytes sum = call.buffers.receive;
  Outcome outcome = co_await Levels::run_tree(levels.within_node(
      OperationKind::kReduce, own.size(), {own, levels.leads() ? sum : MutableBytes(), own.size()}));
  if (levels.leads())
    note(outcome,
         co_await Levels::run(levels.between_nodes(OperationKind::kAllreduce, sum.size(), in_place(sum))));
  note(outcome,
       co_await Levels::run_tree(levels.within_node(OperationKind::kBcast, sum.size(), in_place(sum))));
  co_return outcome;
}

Task<Outcome> barrier_han(AlgorithmCall call) {
  Levels levels(call, 0);
  Outcome outcome = co_await Levels::run(levels.within_node(OperationKind::kBarrier, 0, {}));
  if (levels.leads())
    note(outcome, co_await Levels::run(levels.between_nodes(OperationKind::kBarrier, 0, {})));
  note(outcome, co_await Levels::run(levels.within_node(OperationKind::kBarrier, 0, {})));
  co_return outcome;
}

}  // namespace offramp::host
