// Follows the main loop of LogGOPSim (src/LogGOPSim/LogGOPSim.cpp of spcl/LogGOPSim, as of December 2023,
// with STRICT_ORDER and LIST_MATCH): T. Hoefler, T. Schneider, A. Lumsdaine: LogGOPSim - Simulating
// Large-Scale Applications in the LogGOPS Model.
//
// One queue contains the operations that may begin, by time and then by the order of their first insertion.
// An operation that finds its processor or NIC busy is queued again for the time at which that is free, with
// its first number. As in LogGOPSim, sizes of 0 wrap around in (s - 1) G.
#include "lib/answers/loggops/loggops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <queue>
#include <utility>

#include "lib/base/text_format.hpp"
#include "lib/programs/import/lines.hpp"
#include "offramp/model/message.hpp"

namespace offramp::trace {
namespace {

using Time64 = std::uint64_t;

class LogGopsRun {
 public:
  LogGopsRun(std::vector<Graph> graphs, const LogGopsParameters& parameters) : with_(parameters) {
    std::size_t cpus = 1;
    std::size_t nics = 1;
    for (const Graph& graph : graphs) {
      for (const Graph::Node& node : graph.nodes) {
        cpus = std::max(cpus, std::size_t{node.cpu} + 1);
        nics = std::max(nics, std::size_t{node.nic} + 1);
      }
    }
    for (Graph& graph : graphs) {
      Host& host = hosts_.emplace_back();
      host.graph = std::move(graph);
      host.processors.resize(cpus);
      host.sends.resize(nics);
      host.receives.resize(nics);
    }
    for (std::uint32_t rank = 0; rank < hosts_.size(); ++rank) {
      for (std::uint32_t i = 0; i < hosts_[rank].graph.nodes.size(); ++i) {
        if (hosts_[rank].graph.nodes[i].waits == 0) hosts_[rank].free.push_back(i);
      }
      insert_free(rank);
    }
  }

  LogGopsTimes run() {
    while (!queue_.empty()) {
      const Entry entry = queue_.top();
      queue_.pop();
      changed_.clear();
      step(entry);
      std::sort(changed_.begin(), changed_.end());
      changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
      for (const std::uint32_t host : changed_) insert_free(host);
    }
    LogGopsTimes times;
    for (std::uint32_t rank = 0; rank < hosts_.size(); ++rank) {
      const Host& host = hosts_[rank];
      times.ends.push_back(*std::max_element(host.processors.begin(), host.processors.end()));
      report_leftovers(rank, host, times.left);
    }
    return times;
  }

 private:
  struct Entry {
    Time64 time = 0;
    std::uint64_t number = 0;
    std::uint32_t host = 0;
    bool is_arrival = false;
    /// The operation; for an arrival, the sender's.
    std::uint32_t node = 0;
    std::uint32_t sender = 0;
    bool operator<(const Entry& other) const {  // the earliest is on top
      return time != other.time ? time > other.time : number > other.number;
    }
  };
  struct Host {
    Graph graph;
    std::vector<Time64> processors;  // when each is free
    std::vector<Time64> sends;       // when each NIC is free; a NIC sends and receives independently
    std::vector<Time64> receives;
    std::list<std::uint32_t> posted;  // receives
    std::list<Entry> unexpected;      // arrivals
    std::vector<std::uint32_t> free;  // ready operations that are not queued yet
    std::uint64_t begun = 0;
  };

  [[nodiscard]] const Graph::Node& node_of(const Entry& entry) const {
    return hosts_[entry.is_arrival ? entry.sender : entry.host].graph.nodes[entry.node];
  }

  // Operations that become ready together are queued as sends, then receives, then computing.
  void insert_free(std::uint32_t rank) {
    Host& host = hosts_[rank];
    std::vector<std::uint32_t> nodes = std::exchange(host.free, {});
    // As in LogGOPSim, this sort is not stable; it uses the same order, so the result is the same.
    std::sort(nodes.begin(), nodes.end(), [&](std::uint32_t a, std::uint32_t b) {
      return host.graph.nodes[a].kind < host.graph.nodes[b].kind;
    });
    for (const std::uint32_t number : nodes) {
      const Graph::Node& node = host.graph.nodes[number];
      Time64 time = host.processors[node.cpu];
      if (node.kind == Graph::NodeKind::kSend) time = std::max(time, host.sends[node.nic]);
      queue_.push({time, numbers_++, rank, false, number, rank});
    }
  }
  void release(std::uint32_t rank, std::uint32_t number, bool ended) {
    Host& host = hosts_[rank];
    for (const std::uint32_t next : ended ? host.graph.at_end(number) : host.graph.at_begin(number)) {
      if (--host.graph.nodes[next].waits == 0) host.free.push_back(next);
    }
    changed_.push_back(rank);
  }
  void again(Entry entry, Time64 time) {
    entry.time = time;
    queue_.push(entry);
  }

  void step(const Entry& entry) {
    if (entry.is_arrival) return arrive(entry);
    switch (node_of(entry).kind) {
      case Graph::NodeKind::kSend:
        return send(entry);
      case Graph::NodeKind::kReceive:
        return receive(entry);
      case Graph::NodeKind::kCompute:
      case Graph::NodeKind::kCollective:
        return compute(entry);
    }
  }
  void compute(const Entry& entry) {
    const Graph::Node& node = node_of(entry);
    Time64& processor = hosts_[entry.host].processors[node.cpu];
    if (processor > entry.time) return again(entry, processor);
    processor = entry.time + node.size;
    ++hosts_[entry.host].begun;
    release(entry.host, entry.node, false);
    release(entry.host, entry.node, true);
  }
  void send(const Entry& entry) {
    Host& host = hosts_[entry.host];
    const Graph::Node& node = node_of(entry);
    const Time64 free = std::max(host.processors[node.cpu], host.sends[node.nic]);
    if (free > entry.time) return again(entry, free);
    ++host.begun;
    release(entry.host, entry.node, false);
    host.processors[node.cpu] = entry.time + with_.overhead + (node.size - 1) * with_.overhead_per_byte;
    host.sends[node.nic] = entry.time + with_.gap + (node.size - 1) * with_.gap_per_byte;
    queue_.push({entry.time + with_.overhead + with_.latency, numbers_++,
                 static_cast<std::uint32_t>(node.peer), true, entry.node, entry.host});
    if (node.size <= with_.eager_limit) release(entry.host, entry.node, true);
  }

  [[nodiscard]] bool matches(const Graph::Node& wanted, const Entry& message) const {
    const Graph::Node& sent = node_of(message);
    return (wanted.peer == kAnySource || static_cast<std::uint32_t>(wanted.peer) == message.sender) &&
           (wanted.tag == kAnyTag || wanted.tag == sent.tag);
  }
  /// Lets the sender of a rendezvous message continue at `time`; the answer has no latency. on: the operation
  /// whose size and resources LogGOPSim uses here.
  void answer(const Entry& message, const Graph::Node& on, Time64 time) {
    if (on.size <= with_.eager_limit) return;
    Host& sender = hosts_[message.sender];
    release(message.sender, message.node, true);
    sender.processors[on.cpu] = std::max(sender.processors[on.cpu], time);
    sender.sends[on.nic] = std::max(sender.sends[on.nic], time);
  }
  /// Uses the receiver's processor and NIC with the numbers that the sender's operation names.
  void arrive(const Entry& entry) {
    Host& host = hosts_[entry.host];
    const Graph::Node& node = node_of(entry);
    const Time64 free = std::max(host.processors[node.cpu], host.receives[node.nic]);
    if (free > entry.time) return again(entry, free);
    const Time64 more = node.size - 1;
    host.processors[node.cpu] =
        entry.time + with_.overhead + std::max(more * with_.overhead_per_byte, more * with_.gap_per_byte);
    host.receives[node.nic] = entry.time + with_.gap + more * with_.gap_per_byte;
    const auto found = std::find_if(host.posted.begin(), host.posted.end(), [&](std::uint32_t posted) {
      return matches(host.graph.nodes[posted], entry);
    });
    if (found == host.posted.end()) {
      host.unexpected.push_back(entry);
      return;
    }
    const std::uint32_t receive = *found;
    host.posted.erase(found);
    answer(entry, node, entry.time);
    release(entry.host, receive, true);
  }
  void receive(const Entry& entry) {
    Host& host = hosts_[entry.host];
    const Graph::Node& node = node_of(entry);
    ++host.begun;
    release(entry.host, entry.node, false);
    const auto found = std::find_if(host.unexpected.begin(), host.unexpected.end(),
                                    [&](const Entry& message) { return matches(node, message); });
    if (found == host.unexpected.end()) {
      host.posted.push_back(entry.node);
      return;
    }
    const Entry message = *found;
    host.unexpected.erase(found);
    answer(message, node, entry.time);
    release(entry.host, entry.node, true);
  }

  static void report_leftovers(std::uint32_t rank, const Host& host, std::vector<std::string>& left) {
    if (!host.posted.empty())
      left.push_back(fmt::format("rank {}: {} of its receives never complete", rank, host.posted.size()));
    if (!host.unexpected.empty())
      left.push_back(fmt::format("rank {}: {} messages are never received", rank, host.unexpected.size()));
    if (host.begun < host.graph.nodes.size())
      left.push_back(
          fmt::format("rank {}: {} operations never begin", rank, host.graph.nodes.size() - host.begun));
  }

  LogGopsParameters with_;
  std::vector<Host> hosts_;
  std::priority_queue<Entry> queue_;
  std::uint64_t numbers_ = 0;
  std::vector<std::uint32_t> changed_;  // hosts with released operations in this step
};

}  // namespace

Result<LogGopsParameters> parse_loggops(std::string_view text) {
  LogGopsParameters parameters;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::string_view name = part.substr(0, part.find('='));
    std::uint64_t* const to = name == "L"   ? &parameters.latency
                              : name == "o" ? &parameters.overhead
                              : name == "g" ? &parameters.gap
                              : name == "G" ? &parameters.gap_per_byte
                              : name == "O" ? &parameters.overhead_per_byte
                              : name == "S" ? &parameters.eager_limit
                                            : nullptr;
    const auto value =
        part.size() > name.size() ? number_in<std::uint32_t>(part.substr(name.size() + 1)) : std::nullopt;
    if (to == nullptr || !value || *value > INT32_MAX)
      return failure(
          fmt::format("{} is not one of L, o, g, G, O, and S with a whole number below 2^31, such as o=1500",
                      in_quotes(part)));
    *to = *value;
  }
  return parameters;
}

Result<LogGopsTimes> run_by_loggops(const Program& program, const LogGopsParameters& parameters) {
  if (program.graph == nullptr)
    return failure(
        "not a schedule but a sequence of calls; offramp convert --to goal makes a schedule of its messages");
  std::vector<Graph> graphs;
  for (int rank = 0; rank < program.description.ranks; ++rank) {
    Result<Graph> graph = program.graph(rank);
    if (!graph) return failure(graph.error());
    if (!graph->collectives.empty() || !graph->communicators.empty())
      return failure(fmt::format("rank {} has collectives, which LogGOPSim does not support", rank));
    for (const Graph::Node& node : graph->nodes) {
      if (node.kind == Graph::NodeKind::kSend && (node.peer < 0 || node.peer >= program.description.ranks))
        return failure(fmt::format("rank {} sends to rank {}, which does not exist", rank, node.peer));
    }
    graphs.push_back(std::move(*graph));
  }
  return LogGopsRun(std::move(graphs), parameters).run();
}

}  // namespace offramp::trace
