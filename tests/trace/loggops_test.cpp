// Schedules as LogGOPSim runs them: its rules, one by one, on the graphs that are read here. What a graph
// lacked or had too much, its published times would show.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <list>
#include <queue>
#include <tuple>

#include "offramp/model/message.hpp"
#include "tests/trace/replayed.hpp"

namespace offramp::trace {
namespace {

using ::testing::ElementsAre;

// LogGOPSim's defaults, in ns.
constexpr std::int64_t kL = 2500;
constexpr std::int64_t kO = 1500;  // o
constexpr std::int64_t kGap = 1000;
constexpr std::int64_t kG = 6;  // per byte
constexpr std::int64_t kEager = 65535;

/// The main loop of LogGOPSim.cpp: a queue by time and number of insertion, from which what finds its
/// processor or its NIC busy goes back for the time when it is free.
class LogGopSim {
 public:
  explicit LogGopSim(const Program& program) {
    for (int rank = 0; rank < program.description.ranks; ++rank) {
      Result<Graph> graph = program.graph(rank);
      EXPECT_TRUE(graph) << graph.error();
      hosts_.push_back({std::move(*graph), 0, 0, 0, {}, {}});
    }
    for (std::size_t rank = 0; rank < hosts_.size(); ++rank) {
      std::vector<std::uint32_t> roots;
      for (std::uint32_t i = 0; i < hosts_[rank].graph.nodes.size(); ++i) {
        if (hosts_[rank].graph.nodes[i].waits == 0) roots.push_back(i);
      }
      insert(rank, roots, 0);
    }
  }

  std::vector<std::int64_t> run() {
    while (!queue_.empty()) {
      const Entry entry = queue_.top();
      queue_.pop();
      step(entry);
    }
    std::vector<std::int64_t> ends;
    for (const Host& host : hosts_) ends.push_back(host.processor);
    return ends;
  }

 private:
  enum class What : std::uint8_t { kOperation, kArrival };
  struct Entry {
    std::int64_t time = 0;
    std::uint64_t number = 0;
    What what = What::kOperation;
    std::size_t host = 0;
    std::uint32_t node = 0;                     // of the sender, where it is an arrival
    std::size_t sender = 0;                     // the same
    bool operator<(const Entry& other) const {  // the earliest is on top
      return std::tie(time, number) > std::tie(other.time, other.number);
    }
  };
  struct Host {
    Graph graph;
    std::int64_t processor;  // free from then on
    std::int64_t sends;      // and its NIC in this direction
    std::int64_t receives;
    std::list<std::uint32_t> posted;
    std::list<Entry> unexpected;
  };

  /// Among those that are freed together sends come before receives before computing.
  void insert(std::size_t host, std::vector<std::uint32_t> nodes, std::int64_t time) {
    std::stable_sort(nodes.begin(), nodes.end(), [&](std::uint32_t a, std::uint32_t b) {
      return hosts_[host].graph.nodes[a].kind < hosts_[host].graph.nodes[b].kind;
    });
    for (const std::uint32_t node : nodes)
      queue_.push({time, numbers_++, What::kOperation, host, node, host});
  }
  void release(std::size_t host, std::uint32_t node, bool ended, std::int64_t time) {
    Graph& graph = hosts_[host].graph;
    const Graph::Node& of = graph.nodes[node];
    std::vector<std::uint32_t> free;
    for (std::uint32_t i = ended ? 0 : of.at_end; i < (ended ? of.at_end : of.at_end + of.at_begin); ++i) {
      const std::uint32_t next = graph.dependants[of.first + i];
      if (--graph.nodes[next].waits == 0) free.push_back(next);
    }
    insert(host, std::move(free), time);
  }
  void again(Entry entry, std::int64_t time) {
    entry.time = time;
    queue_.push(entry);
  }

  void step(const Entry& entry) {
    Host& host = hosts_[entry.host];
    if (entry.what == What::kArrival) return arrive(entry);
    const Graph::Node node = host.graph.nodes[entry.node];
    const auto size = static_cast<std::int64_t>(node.size);
    switch (node.kind) {
      case Graph::Kind::kCompute:
        if (host.processor > entry.time) return again(entry, host.processor);
        host.processor = entry.time + size;
        release(entry.host, entry.node, false, entry.time);
        return release(entry.host, entry.node, true, host.processor);
      case Graph::Kind::kSend: {
        const std::int64_t free = std::max(host.processor, host.sends);
        if (free > entry.time) return again(entry, free);
        host.processor = entry.time + kO;
        host.sends = entry.time + kGap + (size - 1) * kG;
        release(entry.host, entry.node, false, entry.time);
        Entry arrival = entry;
        arrival.what = What::kArrival;
        arrival.host = static_cast<std::size_t>(node.peer);
        arrival.time = entry.time + kO + kL;
        arrival.number = numbers_++;
        queue_.push(arrival);
        if (size <= kEager) release(entry.host, entry.node, true, host.processor);
        return;
      }
      case Graph::Kind::kReceive:
        release(entry.host, entry.node, false, entry.time);
        return receive(entry);
      case Graph::Kind::kCollective:
        FAIL() << "GOAL has none";
    }
  }

  bool matches(std::size_t host, std::uint32_t receive, const Entry& message) const {
    const Graph::Node& wanted = hosts_[host].graph.nodes[receive];
    const Graph::Node& sent = hosts_[message.sender].graph.nodes[message.node];
    return (wanted.peer == kAnySource || static_cast<std::size_t>(wanted.peer) == message.sender) &&
           (wanted.tag == kAnyTag || wanted.tag == sent.tag);
  }
  void meet(std::size_t host, std::uint32_t receive, const Entry& message, std::int64_t time) {
    release(host, receive, true, time);
    if (static_cast<std::int64_t>(hosts_[message.sender].graph.nodes[message.node].size) <= kEager) return;
    Host& sender = hosts_[message.sender];
    sender.processor = std::max(sender.processor, time);
    sender.sends = std::max(sender.sends, time);
    release(message.sender, message.node, true, time);
  }
  void arrive(const Entry& entry) {
    Host& host = hosts_[entry.host];
    const std::int64_t free = std::max(host.processor, host.receives);
    if (free > entry.time) return again(entry, free);
    const auto size = static_cast<std::int64_t>(hosts_[entry.sender].graph.nodes[entry.node].size);
    host.processor = entry.time + kO + (size - 1) * kG;
    host.receives = entry.time + kGap + (size - 1) * kG;
    const auto found = std::find_if(host.posted.begin(), host.posted.end(),
                                    [&](std::uint32_t posted) { return matches(entry.host, posted, entry); });
    if (found == host.posted.end()) {
      host.unexpected.push_back(entry);
      return;
    }
    const std::uint32_t receive = *found;
    host.posted.erase(found);
    meet(entry.host, receive, entry, host.processor);
  }
  void receive(const Entry& entry) {
    Host& host = hosts_[entry.host];
    const auto found =
        std::find_if(host.unexpected.begin(), host.unexpected.end(),
                     [&](const Entry& message) { return matches(entry.host, entry.node, message); });
    if (found == host.unexpected.end()) {
      host.posted.push_back(entry.node);
      return;
    }
    const Entry message = *found;
    host.unexpected.erase(found);
    meet(entry.host, entry.node, message, entry.time);
  }

  std::vector<Host> hosts_;
  std::priority_queue<Entry> queue_;
  std::uint64_t numbers_ = 0;
};

/// Schedgen's binomialtreereduce: each rank receives from those a power of two above it that it is below, the
/// farthest first, and sends to the one that its highest bit is above.
std::string tree_of(int ranks, std::uint64_t bytes) {
  std::string text = fmt::format("num_ranks {}\n", ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    text += fmt::format("\nrank {} {{\n", rank);
    int labels = 0;
    int bit = 1;
    while (2 * bit < ranks) bit *= 2;
    for (; bit > rank; bit /= 2) {
      if (rank + bit >= ranks) continue;
      text += fmt::format("l{}: recv {}b from {} tag 0\n", ++labels, bytes, rank + bit);
      if (labels > 1) text += fmt::format("l{} requires l{}\n", labels, labels - 1);
    }
    if (rank > 0) {
      text += fmt::format("l{}: send {}b to {} tag 0\n", ++labels, bytes, rank - bit);
      if (labels > 1) text += fmt::format("l{} requires l{}\n", labels, labels - 1);
    }
    text += "}\n";
  }
  return text;
}

/// The times that LogGOPSim's README shows for 8 ranks and 1024 bytes.
TEST(GoalSchedule, TakesLogGopSimsTimesByItsRules) {
  const Folder folder;
  const Program program = opened(folder.file("tree.goal", tree_of(8, 1024)));
  EXPECT_THAT(LogGopSim(program).run(), ElementsAre(34914, 24776, 13138, 13138, 1500, 1500, 1500, 1500));
  expect_to_end_everywhere(program);
}

}  // namespace
}  // namespace offramp::trace
