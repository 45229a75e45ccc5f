// The topics plan the tree of a reduction as the backend does: the planner chooses the window, and
// plan_tree() the tiles. `limits` prints its figures also when the plan fails, since they show which limit is
// exceeded. The depth of equation 4.9 is an upper bound: it treats memory as divisible.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string>

#include "backends/aie/aie.hpp"
#include "backends/aie/planner.hpp"
#include "simulators/aie/drawing.hpp"

namespace offramp::aie {
namespace {

/// The tree of a topic, from the operation or from words such as ranks=127 and bytes=16.
struct Subject {
  int ranks = 63;
  std::size_t bytes = 16;
  std::string error;
};

bool read_number(std::string_view text, std::uint64_t& value) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size();
}

Subject subject_of(const ExplainRequest& request) {
  constexpr std::uint64_t kMostRanks = 100'000;
  Subject subject;
  if (request.operation.bytes > 0) {  // the operation was specified
    subject.ranks = request.operation.ranks;
    subject.bytes = request.operation.bytes;
  }
  for (const std::string& word : request.arguments) {
    const std::size_t equals = word.find('=');
    const std::string_view name = std::string_view(word).substr(0, equals);
    std::uint64_t value = 0;
    const bool valid = equals != std::string::npos &&
                       read_number(std::string_view(word).substr(equals + 1), value) && value > 0;
    if (valid && name == "ranks" && value <= kMostRanks) {
      subject.ranks = static_cast<int>(value);
    } else if (valid && name == "bytes" && value <= (std::uint64_t{1} << 40)) {
      subject.bytes = value;
    } else {
      subject.error = "\"" + word + "\" is not ranks=N or bytes=N with a number of at least 1";
    }
  }
  if (subject.ranks < 1 || static_cast<std::uint64_t>(subject.ranks) > kMostRanks)
    subject.error = "the number of ranks is from 1 to " + std::to_string(kMostRanks);
  return subject;
}

ArrayRequirements need_of(Planner& planner, const Subject& subject) {
  Operation reduction;
  reduction.kind = OperationKind::kReduce;
  reduction.ranks = subject.ranks;
  reduction.bytes = subject.bytes;
  return planner.requirements(reduction);
}

/// The graph of a reduction.
Graph graph_for(const ArrayRequirements& required, const Tree& tree, const Subject& subject) {
  const bool resident = required.tree != nullptr && !required.tree->streamed;
  Graph graph =
      graph_of(tree, static_cast<int>(required.tree_window), resident ? static_cast<int>(subject.bytes) : 0);
  graph.to_host.push_back(0);
  for (int kernel = 0; !resident && kernel < tree.size(); ++kernel) graph.from_host.push_back(kernel);
  return graph;
}

Explanation explain_placement(const ExplainRequest& request) {
  const Subject subject = subject_of(request);
  if (!subject.error.empty()) return {{}, subject.error};
  const Setup setup = setup_of(request.settings);
  Planner planner(setup);
  const ArrayRequirements required = need_of(planner, subject);
  if (!required.limit.empty()) return {{}, std::string(required.limit)};
  const Tree tree = Tree::filled(subject.ranks, setup.arity);
  const Graph graph = graph_for(required, tree, subject);
  const Plan plan = plan_tree(setup.array, tree, graph, setup.placement);
  if (!plan.ok()) return {{}, plan.limit};
  return {draw_plan(setup.array, graph, plan), {}};
}

std::string line(const char* what, double value, const char* unit, const char* limit) {
  std::array<char, 160> text{};
  std::snprintf(text.data(), text.size(), "%-44s %12.0f %-8s %s\n", what, value, unit, limit);
  return text.data();
}

Explanation explain_limits(const ExplainRequest& request) {
  const Subject subject = subject_of(request);
  if (!subject.error.empty()) return {{}, subject.error};
  const Setup setup = setup_of(request.settings);
  Planner planner(setup);
  const ArrayRequirements required = need_of(planner, subject);
  const Tree tree = Tree::filled(subject.ranks, setup.arity);
  const Graph graph = graph_for(required, tree, subject);
  Plan plan;
  plan.limit = required.limit;
  if (plan.ok()) plan = plan_tree(setup.array, tree, graph, setup.placement);
  int most = 0;
  for (const int windows : count_windows(graph)) most = std::max(most, windows);
  const double local = graph.data_bytes + setup.array.own_bytes();
  const auto limit = [](int n) { return "of " + std::to_string(n); };
  std::string text = "reduce of " + std::to_string(subject.bytes) + " B on " + std::to_string(subject.ranks) +
                     " ranks, windows of " + std::to_string(graph.window_bytes) + " B\n";
  text += line("kernels", graph.kernels, "", limit(setup.array.tiles()).c_str());
  text += line("windows of the busiest kernel", most, "", limit(setup.array.windows).c_str());
  text +=
      line("local data, stack, heap, synchronisation", local, "B", limit(setup.array.memory_bytes).c_str());
  text +=
      // A kernel reaches four modules: its own and those of three neighbours.
      line("reach of the busiest kernel", local + static_cast<double>(window_bytes(most, graph.window_bytes)),
           "B", limit(4 * setup.array.memory_bytes).c_str());
  std::array<char, 160> depth{};
  std::snprintf(depth.data(), depth.size(),
                "%-44s %12.2f levels   equation 4.9, as if memory were divisible\n",
                "perfect binary trees are shallower than",
                depth_limit(setup.array, graph.window_bytes, graph.data_bytes, 1024));
  text += depth.data();
  if (!required.instead.empty()) {
    const bool streamed = required.tree != nullptr && required.tree->streamed;
    text += std::string(streamed ? "data in the tiles" : "larger windows") + ": " +
            std::string(required.instead) + "\n";
  }
  if (!plan.ok()) return {text + "does not fit: " + plan.limit + "\n", {}};
  const Occupancy used = occupancy_of(setup.array, graph, plan);
  text += line("windows in shared memory", used.shared, "", "");
  text += line("windows through DMA and streams", used.streams, "", "");
  text += line("longest route", used.hops, "hops", "");
  text += line("accesses of a step in one double bank",
               *std::max_element(plan.meeting.begin(), plan.meeting.end()), "", "at most");
  text += line("streams east across one column boundary", used.boundary, "",
               limit(setup.array.channels(Direction::kEast) * (setup.array.rows + 1)).c_str());
  return {text, {}};
}

}  // namespace

std::span<const ExplainTopic> topics() {
  static const std::array<ExplainTopic, 2> table = {{
      {"placement", "the array with kernels, buffers and routes of a tree, as SVG (ranks=N bytes=N)",
       explain_placement},
      {"limits", "memory, windows, and channels of the array that a tree uses (ranks=N bytes=N)",
       explain_limits},
  }};
  return table;
}

}  // namespace offramp::aie
