// Graph programs are written as they are. Others are sequences of calls (class Sequence): an operation waits
// for the end of the previous one, or for its beginning if it did not block. Handles one rank at a time.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "lib/base/output_file.hpp"
#include "lib/programs/export/sequence.hpp"
#include "lib/programs/export/writers.hpp"
#include "lib/programs/import/goal.hpp"
#include "lib/programs/recording/bytes.hpp"

namespace offramp::trace {
namespace {

using Node = Graph::Node;

void put_text(std::string& text, const Graph& graph) {
  const auto out = std::back_inserter(text);
  std::size_t number = 0;
  for (const Node& node : graph.nodes) {
    fmt::format_to(out, "l{}: ", ++number);
    if (node.kind == Graph::NodeKind::kCompute) {
      fmt::format_to(out, "calc {}", node.size);
    } else {
      const bool sends = node.kind == Graph::NodeKind::kSend;
      fmt::format_to(out, "{} {}b {} {} tag {}", sends ? "send" : "recv", node.size, sends ? "to" : "from",
                     node.peer, node.tag);
    }
    if (node.cpu != 0) fmt::format_to(out, " cpu {}", node.cpu);
    if (node.nic != 0 && node.kind != Graph::NodeKind::kCompute) fmt::format_to(out, " nic {}", node.nic);
    text += '\n';
  }
  // The text lists dependences at the dependent node, the graph at the other one.
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    for (const std::uint32_t next : graph.at_end(i))
      fmt::format_to(out, "l{} requires l{}\n", next + 1, i + 1);
    for (const std::uint32_t next : graph.at_begin(i))
      fmt::format_to(out, "l{} irequires l{}\n", next + 1, i + 1);
  }
}

template <typename Word>
void put(std::string& bytes, Word word) {
  std::array<std::uint8_t, sizeof(Word)> image{};
  recording::put_word(image.data(), word);
  bytes.append(recording::text_of(image));
}

std::uint32_t word_of(std::int32_t value) {
  return value < 0 ? kGoalAny : static_cast<std::uint32_t>(value);
}

std::string block_of(const Graph& graph) {
  std::string bytes;
  std::vector<std::uint32_t> roots;
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].waits == 0) roots.push_back(i);
  }
  put(bytes, static_cast<std::uint32_t>(graph.nodes.size()));
  put(bytes, static_cast<std::uint32_t>(roots.size()));
  for (const std::uint32_t root : roots) put(bytes, root);
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const bool computes = node.kind == Graph::NodeKind::kCompute;
    put(bytes, node.waits);
    put(bytes, static_cast<std::uint8_t>(node.kind));
    put(bytes, computes ? 0U : word_of(node.peer));
    put(bytes, node.size);
    put(bytes, computes ? 0U : word_of(node.tag));
    put(bytes, node.cpu);
    put(bytes, node.nic);
    put(bytes, node.at_end);
    put(bytes, node.first);
    put(bytes, static_cast<std::uint32_t>(graph.at_begin(i).size()));
    put(bytes, node.first + node.at_end);
  }
  for (const std::uint32_t node : graph.dependants) put(bytes, node);
  return bytes;
}

}  // namespace

Result<void> write_goal_text(const Program& program, const std::string& path,
                             std::vector<std::string>& unsupported) {
  const auto graph_of = graphs_of(program, unsupported, "GOAL has messages only");
  Result<OutputFile> file = OutputFile::create(path);
  if (!file) return cannot_write(path, failure(file.error()));
  file->write(fmt::format("num_ranks {}\n", program.description.ranks));
  for (int rank = 0; rank < program.description.ranks; ++rank) {
    const Result<Graph> graph = graph_of(rank);
    if (!graph) return failure(graph.error());
    std::string text = fmt::format("\nrank {} {{\n", rank);
    put_text(text, *graph);
    file->write(text + "}\n");
  }
  return cannot_write(path, file->finish());
}

/// Reads the program twice: the table at the start contains the sizes of all ranks.
Result<void> write_goal_binary(const Program& program, const std::string& path,
                               std::vector<std::string>& unsupported) {
  // The reader is made anew for the second pass, because ranks come in order.
  auto graph_of = graphs_of(program, unsupported, "GOAL has messages only");
  const auto ranks = static_cast<std::uint32_t>(program.description.ranks);
  // All offsets in the file are relative to kGoalBase.
  std::uint64_t begin = kGoalHeader - kGoalBase + std::uint64_t{ranks} * kGoalRankEntry;
  std::string table;
  std::uint8_t cpus = 0;
  std::uint8_t nics = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const Result<Graph> graph = graph_of(static_cast<int>(rank));
    if (!graph) return failure(graph.error());
    for (const Node& node : graph->nodes) {
      cpus = std::max(cpus, node.cpu);
      nics = std::max(nics, node.nic);
    }
    const std::uint64_t end = begin + block_of(*graph).size();
    put(table, begin);
    put(table, end);
    begin = end;
  }
  std::string header;
  put(header, kGoalMagic);
  put(header, ranks);
  put(header, cpus);
  put(header, nics);
  Result<OutputFile> file = OutputFile::create(path);
  if (!file) return cannot_write(path, failure(file.error()));
  file->write(header + table);
  graph_of = graphs_of(program, unsupported, "GOAL has messages only");
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const Result<Graph> graph = graph_of(static_cast<int>(rank));
    if (!graph) return failure(graph.error());
    file->write(block_of(*graph));
  }
  return cannot_write(path, file->finish());
}

}  // namespace offramp::trace
