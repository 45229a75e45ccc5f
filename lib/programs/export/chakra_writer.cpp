// Writes one file per rank (PATH.RANK.et, a metadata message and then one message per node) and the
// communicators to PATH.json. Chakra knows only waits for the end of a node, and a send there ends when the
// message is on its way; waits_of() rewrites the graph's dependences. Durations are whole microseconds, and
// remainders are carried over, so a rank's computing is short by less than one.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "lib/base/output_file.hpp"
#include "lib/programs/export/sequence.hpp"
#include "lib/programs/export/writers.hpp"
#include "lib/programs/import/chakra_format.hpp"
#include "lib/programs/import/protobuf.hpp"

namespace offramp::trace {
namespace {

using chakra::NodeType;
using recording::Event;

constexpr std::size_t kPiece = std::size_t{64} << 10U;

void put_attribute(std::string& node, std::string_view name, std::uint32_t member, std::uint64_t value) {
  std::string attribute;
  put_bytes(attribute, chakra::kAttributeName, name);
  put_number(attribute, member, value);
  put_bytes(node, chakra::kAttribute, attribute);
}
void put_attribute(std::string& node, std::string_view name, std::string_view value) {
  std::string attribute;
  put_bytes(attribute, chakra::kAttributeName, name);
  put_bytes(attribute, chakra::kString, value);
  put_bytes(node, chakra::kAttribute, attribute);
}
void put_message(std::string& file, std::string_view message) {
  put_varint(file, message.size());
  file += message;
}

class ChakraWriter {
 public:
  ChakraWriter(int ranks, std::vector<std::string>& unsupported)
      : ranks_(static_cast<std::uint64_t>(ranks)), unsupported_(unsupported) {}

  Result<void> write(int rank, const Graph& graph, const std::string& path) {
    rank_ = rank;
    nanoseconds_ = 0;
    Result<OutputFile> file = OutputFile::create(path, Naming::kDerived);
    if (!file) return cannot_write(path, failure(file.error()));
    std::string text;
    std::string metadata;
    // The version of the schema, whose readers accept later ones.
    put_bytes(metadata, chakra::kVersion, "0.0.4");
    put_message(text, metadata);
    const std::vector<std::vector<std::uint32_t>> waits = waits_of(graph);
    for (std::uint32_t i = 0; i < graph.nodes.size() && problem_.empty(); ++i) {
      put_message(text, node(graph, i, waits[i]));
      if (text.size() < kPiece) continue;
      file->write(text);
      text.clear();
    }
    if (!problem_.empty()) return failure(problem_);
    file->write(text);
    return cannot_write(path, file->finish());
  }

  /// {"1": [0, 1]}
  [[nodiscard]] std::string groups() const {
    std::vector<std::string> lines;
    for (const auto& [number, members] : groups_)
      lines.push_back(fmt::format("\"{}\": [{}]", number, fmt::join(members, ", ")));
    return fmt::format("{{{}}}\n", fmt::join(lines, ",\n "));
  }

 private:
  void fail(std::string_view what) {
    if (problem_.empty()) problem_ = fmt::format("rank {}: {}", rank_, what);
  }
  void unsupported(std::string_view kind) {
    if (std::find(unsupported_.begin(), unsupported_.end(), kind) == unsupported_.end())
      unsupported_.emplace_back(kind);
  }

  /// Dependences in Chakra's terms. A node that waits for a send waits in Chakra until the send is under way,
  /// and for other nodes until they end. If it waits for the beginning of another node, it inherits that
  /// node's waits.
  std::vector<std::vector<std::uint32_t>> waits_of(const Graph& graph) {
    std::vector<std::set<std::uint32_t>> waits(graph.nodes.size());
    std::vector<std::uint32_t> left;
    std::vector<std::uint32_t> free;
    for (const Graph::Node& node : graph.nodes) {
      if (node.waits == 0) free.push_back(static_cast<std::uint32_t>(left.size()));
      left.push_back(node.waits);
    }
    while (!free.empty()) {
      const std::uint32_t number = free.back();
      free.pop_back();
      const Graph::Node& node = graph.nodes[number];
      const auto dependants = graph.dependants_of(number);
      for (std::size_t i = 0; i < dependants.size(); ++i) {
        const std::uint32_t next = dependants[i];
        const bool sends = node.kind == Graph::NodeKind::kSend;
        if (sends && i < node.at_end)
          unsupported("shortened: waits until a send is received (they end when the message is on its way)");
        if (sends || i < node.at_end) {
          waits[next].insert(number);
        } else {
          waits[next].insert(waits[number].begin(), waits[number].end());
        }
        if (--left[next] == 0) free.push_back(next);
      }
    }
    std::vector<std::vector<std::uint32_t>> lists;
    lists.reserve(waits.size());
    for (const auto& one : waits) lists.emplace_back(one.begin(), one.end());
    return lists;
  }

  std::string node(const Graph& graph, std::uint32_t number, const std::vector<std::uint32_t>& waits) {
    const Graph::Node& of = graph.nodes[number];
    std::string node;
    // A field with the value 0 is absent in protocol buffers, as an id of 0 is.
    if (number > 0) put_number(node, chakra::kId, number);
    switch (of.kind) {
      case Graph::NodeKind::kCompute:
        put_kind(node, "compute", NodeType::kCompute, waits);
        put_duration(node, of.size);
        put_attribute(node, "is_cpu_op", chakra::kBool, 1);
        break;
      case Graph::NodeKind::kSend:
      case Graph::NodeKind::kReceive:
        put_communication(node, of, waits);
        break;
      case Graph::NodeKind::kCollective:
        put_collective(node, graph, graph.collectives[of.size], waits);
        break;
    }
    return node;
  }

  static void put_kind(std::string& node, std::string_view name, NodeType type,
                       const std::vector<std::uint32_t>& waits) {
    put_bytes(node, chakra::kName, name);
    put_number(node, chakra::kType, static_cast<std::uint64_t>(type));
    std::string packed;
    for (const std::uint32_t one : waits) put_varint(packed, one);
    if (!packed.empty()) put_bytes(node, chakra::kDataDependencies, packed);
  }

  /// In whole microseconds; the remainder is added to the next duration.
  void put_duration(std::string& node, std::uint64_t nanoseconds) {
    constexpr std::uint64_t kMicrosecond = 1000;
    if (nanoseconds % kMicrosecond != 0)
      unsupported("moved: computing of less than a microsecond (added to the next)");
    if (__builtin_add_overflow(nanoseconds_, nanoseconds, &nanoseconds_))
      fail("its computing exceeds 64 bits");
    if (nanoseconds_ >= kMicrosecond) put_number(node, chakra::kDuration, nanoseconds_ / kMicrosecond);
    nanoseconds_ %= kMicrosecond;
  }

  void put_communication(std::string& node, const Graph::Node& of, const std::vector<std::uint32_t>& waits) {
    const bool sends = of.kind == Graph::NodeKind::kSend;
    // Chakra has no wildcards.
    if (of.peer < 0 || of.tag < 0) return fail("a receive from any source, whose message is not recorded");
    put_kind(node, sends ? "send" : "receive", sends ? NodeType::kSend : NodeType::kReceive, waits);
    const auto own = static_cast<std::uint64_t>(rank_);
    const auto peer = static_cast<std::uint64_t>(of.peer);
    put_attribute(node, "is_cpu_op", chakra::kBool, 0);
    put_attribute(node, "comm_src", chakra::kInt32, sends ? own : peer);
    put_attribute(node, "comm_dst", chakra::kInt32, sends ? peer : own);
    put_attribute(node, "comm_tag", chakra::kInt32, static_cast<std::uint64_t>(of.tag));
    put_attribute(node, "comm_size", chakra::kInt64, of.size);
  }

  void put_collective(std::string& node, const Graph& graph, const Event& event,
                      const std::vector<std::uint32_t>& waits) {
    const auto* const type =
        std::find(chakra::kCollectives.begin(), chakra::kCollectives.end(), event.operation);
    if (type == chakra::kCollectives.end())
      return fail(fmt::format("{}, which Chakra does not have", to_string(event.operation)));
    if (has_root(event.operation) && event.peer != 0) unsupported("written as rank 0: roots of collectives");
    if (reduces(event.operation)) unsupported("left out: types and functions of reductions");
    put_kind(node, to_string(event.operation), NodeType::kCollective, waits);
    put_attribute(node, "is_cpu_op", chakra::kBool, 0);
    put_attribute(node, "comm_type", chakra::kInt64,
                  static_cast<std::uint64_t>(type - chakra::kCollectives.begin()));
    std::uint64_t members = ranks_;
    if (event.communicator >= recording::kFirstMade) {
      const Graph::Communicator& group = graph.communicators[event.communicator - recording::kFirstMade];
      members = group.members.size();
      groups_.emplace(group.id, group.members);
      put_attribute(node, "pg_name", std::to_string(group.id));
    }
    std::uint64_t size = event.bytes;
    if (chakra::size_is_of_all_blocks(event.operation) && __builtin_mul_overflow(size, members, &size))
      fail("the size of a collective exceeds 64 bits");
    put_attribute(node, "comm_size", chakra::kInt64, size);
  }

  std::uint64_t ranks_;
  std::vector<std::string>& unsupported_;
  int rank_ = 0;
  std::uint64_t nanoseconds_ = 0;  // less than a microsecond, not written yet
  std::map<std::uint64_t, std::vector<std::uint64_t>> groups_;
  std::string problem_;
};

}  // namespace

Result<void> write_chakra(const Program& program, const std::string& path,
                          std::vector<std::string>& unsupported) {
  const auto graph_of = graphs_of(program, unsupported, "");
  const int ranks = program.description.ranks;
  // Readers count the files, so one left over from a larger program would be a rank.
  if (const std::string beyond = fmt::format("{}.{}.et", path, ranks); access(beyond.c_str(), F_OK) == 0)
    return cannot_write(
        path, failure(fmt::format("{} exists and would count as rank {} of this program; remove it", beyond,
                                  ranks)));
  ChakraWriter writer(ranks, unsupported);
  for (int rank = 0; rank < ranks; ++rank) {
    const Result<Graph> graph = graph_of(rank);
    if (!graph) return failure(graph.error());
    if (Result<void> done = writer.write(rank, *graph, fmt::format("{}.{}.et", path, rank)); !done)
      return done;
  }
  return cannot_write(path + ".json", write_output(path + ".json", writer.groups(), Naming::kDerived));
}

}  // namespace offramp::trace
