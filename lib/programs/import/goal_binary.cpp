// The binary form of a GOAL schedule: a header with a table of the ranks' blocks, and blocks of nodes that
// list their dependants. Offsets are checked against the block before they are used. The number of
// dependencies stated for each node is checked against the nodes that list it.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>

#include "lib/programs/import/goal.hpp"
#include "lib/programs/import/made_events.hpp"
#include "lib/programs/import/openers.hpp"
#include "lib/programs/recording/bytes.hpp"
#include "lib/programs/recording/source.hpp"
#include "offramp/model/message.hpp"

namespace offramp::trace {
namespace {

using recording::ByteSpan;
using recording::get_word;

struct RankRange {
  std::uint64_t begin;  // in the file
  std::uint64_t end;
};

// Shared by the readers of all ranks, which may run in several threads.
struct BinarySchedule {
  explicit BinarySchedule(recording::Source&& opened) : source(std::move(opened)) {}
  recording::Source source;
  std::vector<RankRange> ranks;
  mutable std::once_flag has_groups = {};
  mutable GoalGroups groups = {};
};

/// Reads one rank's block. Errors name the offset in the file.
class RankBlock {
 public:
  RankBlock(const BinarySchedule& schedule, int rank)
      : schedule_(schedule),
        name_(schedule.source.name()),
        begin_(schedule.ranks[static_cast<std::size_t>(rank)].begin),
        rank_(rank),
        ranks_(schedule.ranks.size()) {
    const RankRange& range = schedule.ranks[static_cast<std::size_t>(rank)];
    const auto size = static_cast<std::size_t>(range.end - range.begin);
    const Result<ByteSpan> bytes = schedule.source.read(begin_, size, buffer_);
    problem_ = bytes.error();
    if (bytes) bytes_ = *bytes;
    if (bytes && bytes_.size() != size) reject(bytes_.size(), "the file ends here");
  }

  Result<Graph> graph() {
    Graph graph;
    if (problem_.empty()) read(graph);
    if (problem_.empty()) order_dependencies(graph);
    if (!collectives_.empty() && problem_.empty()) resolve(graph);
    if (problem_.empty() && node_on_circle(graph) < graph.nodes.size())
      reject(0, fmt::format("operation {} depends on itself through others", node_on_circle(graph) + 1));
    return problem_.empty() ? Result<Graph>(std::move(graph)) : failure(problem_);
  }

 private:
  void reject(std::size_t at, std::string_view what) {
    if (problem_.empty())
      problem_ = fmt::format("{}: offset {}: rank {}: {}", name_, begin_ + at, rank_, what);
  }

  /// Groups have no list of members, so the first rank with a collective looks at all ranks.
  const GoalGroups& groups() {
    std::call_once(schedule_.has_groups, [this] {
      for (std::size_t rank = 0; rank < ranks_; ++rank) {
        RankBlock block(schedule_, static_cast<int>(rank));
        Graph graph;
        if (block.problem_.empty()) block.read(graph);
        for (const auto& [node, one] : block.collectives_) add_member(schedule_.groups, one.group, rank);
      }
    });
    return schedule_.groups;
  }
  void resolve(Graph& graph) {
    GoalCommunicators communicators(groups(), ranks_);
    for (const auto& [node, one] : collectives_) {
      const Result<recording::Event> event = communicators.event(one);
      if (!event) return reject(0, fmt::format("operation {}: {}", node + 1, event.error()));
      graph.nodes[node].size = graph.collectives.size();
      graph.collectives.push_back(*event);
    }
    graph = communicators.complete(std::move(graph));
  }

  void read(Graph& graph) {
    if (bytes_.size() < 8) return reject(0, "it is too short");
    const std::size_t nodes = get_word<std::uint32_t>(bytes_.data());
    const std::size_t roots = get_word<std::uint32_t>(bytes_.data() + 4);
    // A block is: two counts, the roots, the nodes, and the lists of dependants.
    const std::size_t first = 8 + 4 * roots;
    // Both counts are 32 bits, so the products do not overflow 64.
    if (roots > nodes || first + nodes * kGoalNode > bytes_.size())
      return reject(0, fmt::format("{} operations do not fit in {} bytes", nodes, bytes_.size()));
    const std::size_t appendix = first + nodes * kGoalNode;
    const std::size_t listed = (bytes_.size() - appendix) / 4;
    graph.dependants.reserve(listed);
    for (std::size_t i = 0; i < listed; ++i) {
      const auto node = get_word<std::uint32_t>(bytes_.data() + appendix + 4 * i);
      if (node >= nodes) return reject(appendix + 4 * i, fmt::format("operation {} does not exist", node));
      graph.dependants.push_back(node);
    }
    graph.nodes.reserve(nodes);
    for (std::size_t i = 0; i < nodes && problem_.empty(); ++i) read_node(graph, first + i * kGoalNode);
  }

  void read_node(Graph& graph, std::size_t offset) {
    const std::uint8_t* const at = bytes_.data() + offset;
    Graph::Node node;
    waits_.push_back(get_word<std::uint32_t>(at));
    // An unsigned difference: smaller kinds wrap around and are no collectives.
    const std::size_t collective = std::size_t{at[4]} - kGoalFirstCollective;
    const bool is_collective = collective < std::size(kGoalCollectives);
    if (!is_collective && (at[4] < 1 || at[4] > 3))
      return reject(offset + 4, fmt::format("unknown kind {}", at[4]));
    node.kind = is_collective ? Graph::NodeKind::kCollective : static_cast<Graph::NodeKind>(at[4]);
    const auto peer = get_word<std::uint32_t>(at + 5);
    node.size = get_word<std::uint64_t>(at + 9);
    const auto tag = get_word<std::uint32_t>(at + 17);
    node.cpu = at[21];
    node.nic = at[22];
    const auto at_end = get_word<std::uint32_t>(at + 23);
    const auto first = get_word<std::uint32_t>(at + 27);
    const auto at_begin = get_word<std::uint32_t>(at + 31);
    const auto second = get_word<std::uint32_t>(at + 35);
    const std::uint64_t count = std::uint64_t{at_end} + at_begin;
    if (first + count > graph.dependants.size() || (at_begin > 0 && second != first + at_end))
      return reject(offset + 23, "its dependants are not listed");
    if ((listed_ += count) > graph.dependants.size()) return reject(0, "dependants are listed twice");
    for (std::uint32_t i = 0; i < count; ++i)
      builder_.depend(graph.dependants[first + i], static_cast<std::uint32_t>(graph.nodes.size()),
                      i >= at_end);
    const bool receives = node.kind == Graph::NodeKind::kReceive;
    if (is_collective) {
      const std::uint32_t root = peer >> 16U;
      node.tag = static_cast<std::int32_t>(tag & INT32_MAX);
      collectives_.emplace_back(graph.nodes.size(),
                                GoalCollective{collective, node.size, peer & 0xffffU, tag,
                                               root == kGoalNoRoot ? std::nullopt : std::optional(root)});
    } else if (node.kind != Graph::NodeKind::kCompute) {
      // Only receives may have wildcards.
      if (peer >= ranks_ && !(receives && peer == kGoalAny))
        return reject(offset + 5, fmt::format("rank {} does not exist", peer));
      if (tag > INT32_MAX && !(receives && tag == kGoalAny))
        return reject(offset + 17, fmt::format("tag {} is not below 2^31", tag));
      node.peer = peer == kGoalAny ? kAnySource : static_cast<std::int32_t>(peer);
      node.tag = tag == kGoalAny ? kAnyTag : static_cast<std::int32_t>(tag);
    }
    graph.nodes.push_back(node);
  }

  void order_dependencies(Graph& graph) {
    graph = builder_.build(std::move(graph));
    for (std::size_t i = 0; i < waits_.size(); ++i) {
      if (graph.nodes[i].waits != waits_[i])
        return reject(0, fmt::format("operation {} depends on {} others, but {} list it", i + 1, waits_[i],
                                     graph.nodes[i].waits));
    }
  }

  const BinarySchedule& schedule_;
  std::vector<std::pair<std::size_t, GoalCollective>> collectives_;  // by node
  std::vector<std::uint32_t> waits_;                                 // by node, as the file states them
  GraphBuilder builder_;
  std::uint64_t listed_ = 0;  // dependants of the nodes so far
  std::string name_;
  std::uint64_t begin_;
  int rank_;
  std::size_t ranks_;
  std::vector<std::uint8_t> buffer_;
  ByteSpan bytes_;
  std::string problem_;
};

Result<std::optional<Program>> open_binary(const Candidate& candidate) {
  if (candidate.is_text() || !candidate.is_file()) return std::optional<Program>();
  const std::string& path = candidate.name;
  Result<recording::Source> source = recording::Source::open(path);
  if (!source) return failure(source.error());
  std::vector<std::uint8_t> buffer;
  ByteSpan bytes = source->try_to_read(0, kGoalHeader, buffer);
  if (bytes.size() < kGoalHeader) return std::optional<Program>();
  const auto magic = get_word<std::uint64_t>(bytes.data());
  if (magic == kGoalUsedUp)
    return failure(path + ": LogGOPSim has consumed this file (--save-mem): create it again with txt2bin");
  if (magic != kGoalMagic) return std::optional<Program>();
  const auto ranks = get_word<std::uint32_t>(bytes.data() + 8);
  const bool several = bytes[12] > 0 || bytes[13] > 0;
  if (ranks == 0 || ranks > std::uint32_t{kMostRanks})
    return failure(fmt::format("{}: offset 8: {} ranks, not from 1 to {}", path, ranks, kMostRanks));
  bytes = source->try_to_read(kGoalHeader, ranks * kGoalRankEntry, buffer);
  std::uint64_t begin = kGoalHeader + ranks * kGoalRankEntry;
  if (bytes.size() != ranks * kGoalRankEntry)
    return failure(fmt::format("{}: the file ends in its table of {} ranks", path, ranks));
  const auto schedule = std::make_shared<BinarySchedule>(std::move(*source));
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::uint8_t* const entry = bytes.data() + rank * kGoalRankEntry;
    const std::uint64_t first = get_word<std::uint64_t>(entry);
    const std::uint64_t end = get_word<std::uint64_t>(entry + 8);
    // Blocks must follow each other without gaps, as the writers of the format make them.
    if (first != begin - kGoalBase || end < first || end > schedule->source.size() - kGoalBase)
      return failure(fmt::format("{}: offset {}: rank {} is from {} to {}, and should begin at {}", path,
                                 kGoalHeader + rank * kGoalRankEntry, rank, first, end, begin - kGoalBase));
    schedule->ranks.push_back({begin, end + kGoalBase});
    begin = end + kGoalBase;
  }
  Program program = goal_program(path, static_cast<int>(ranks), several,
                                 [schedule](int rank) { return RankBlock(*schedule, rank).graph(); });
  if (const std::uint64_t beyond = schedule->source.size() - begin; beyond > 0)
    program.notes.push_back(fmt::format("{} bytes after the last rank are ignored", beyond));
  return std::optional(std::move(program));
}

}  // namespace

const Opener kGoalBinaries = {
    .kind = "GOAL schedule (binary)", .origin = "txt2bin of LogGOPSim", .open = open_binary};

void add_member(GoalGroups& groups, std::uint32_t group, std::size_t rank) {
  std::vector<std::uint64_t>& members = groups[group];
  if (members.empty() || members.back() != rank) members.push_back(rank);
}

Result<recording::Event> GoalCommunicators::event(const GoalCollective& collective) {
  const OperationKind operation = kGoalCollectives[collective.kind].operation;
  const std::vector<std::uint64_t>& members = groups_.at(collective.group);
  const std::uint64_t blocks =
      operation == OperationKind::kReduceScatter || operation == OperationKind::kAllgather ? members.size()
                                                                                           : 1;
  recording::Event event =
      // Rounded up, so that no byte is lost if the size is no multiple.
      collective_of_bytes(operation, collective.size / blocks + (collective.size % blocks != 0));
  if (has_root(operation)) {
    const auto root = std::find(members.begin(), members.end(), collective.root.value_or(kGoalAny));
    if (root == members.end())
      return failure(fmt::format("its root is not a rank of its group {}", collective.group));
    event.peer = static_cast<std::int32_t>(root - members.begin());
  }
  if (members.size() == ranks_) return event;
  const auto [number, is_new] = numbers_.try_emplace(
      collective.group, static_cast<std::uint32_t>(recording::kFirstMade + made_.size()));
  if (is_new) made_.push_back({members, collective.group});
  event.communicator = number->second;
  return event;
}

Graph GoalCommunicators::complete(Graph graph) {
  graph.communicators = std::move(made_);
  return graph.collectives.empty() ? std::move(graph) : in_order(std::move(graph));
}

Program goal_program(const std::string& name, int ranks, bool several,
                     std::function<Result<Graph>(int rank)> graph) {
  Program program = program_of_graphs(name, ranks, std::move(graph));
  program.notes = {"its unit of computing is assumed to be 1 ns"};
  if (several)
    program.notes.emplace_back(
        "several cpus and NICs of a rank: its computing is serialized, and the backend determines the path "
        "of its messages");
  return program;
}

}  // namespace offramp::trace
