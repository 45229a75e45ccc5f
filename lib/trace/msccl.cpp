#include "lib/trace/msccl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "lib/configuration/names.hpp"
#include "lib/recording/source.hpp"
#include "lib/trace/algorithm.hpp"
#include "lib/trace/lines.hpp"
#include "lib/trace/made_events.hpp"
#include "lib/trace/openers.hpp"

namespace offramp::trace {
namespace {

constexpr std::size_t kLongestPlan = std::size_t{64} << 20U;

std::optional<std::int64_t> number_of(const XmlElement& element, std::string_view name) {
  const std::string* const text = element.find(name);
  return text == nullptr ? std::nullopt : number_in<std::int64_t>(*text);
}

/// How many sends a connection holds: it has 8 slots (NCCL_STEPS), of which a send takes 4 (MSCCL_CHUNKSTEPS)
/// where the protocol is Simple, and 1 where it is LL or LL128.
std::uint64_t slots_of(const std::string* protocol) {
  constexpr std::uint64_t kSlots = 8;
  constexpr std::uint64_t kOfSimpleSend = 4;
  return protocol != nullptr && protocol->starts_with("LL") ? kSlots : kSlots / kOfSimpleSend;
}

/// One GPU's steps as a graph. A step that sends is over, for all that wait for it, once its chunk is on its
/// way: MSCCL's connections hold it until it is taken. While a connection holds as much as it can, the next
/// send waits.
class PlanGraph {
 public:
  /// What a node is part of.
  struct Step {
    std::int64_t block = 0;
    std::int64_t number = 0;
    int line = 0;
  };

  PlanGraph(const Plan& plan, std::size_t gpu, std::uint64_t bytes)
      : plan_(plan), gpu_(*plan.gpus[gpu]), chunk_(bytes / plan.chunks + (bytes % plan.chunks != 0)) {}

  Result<Graph> graph() {
    for (const XmlElement& block : gpu_.children) {
      if (block.name == "tb") add_block(block);
    }
    for (const auto& [node, before] : waits_) {
      const auto found = ends_.find(before);
      if (found == ends_.end()) {
        bad(gpu_, fmt::format("a step waits for step {} of thread block {}, which is missing", before.second,
                              before.first));
        break;
      }
      builder_.depend(node, found->second.node, found->second.sends);
    }
    return problem_.empty() ? Result<Graph>(builder_.build()) : Result<Graph>::failure(problem_);
  }
  /// By node.
  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }

 private:
  using StepName = std::pair<std::int64_t, std::int64_t>;  // thread block, number
  struct End {
    std::uint32_t node = 0;
    bool sends = false;
  };
  /// To or from a GPU over a channel.
  struct Connection {
    std::int64_t block = 0;
    std::vector<std::uint32_t> sends;
  };

  void bad(const XmlElement& at, std::string_view what) {
    if (problem_.empty()) problem_ = fmt::format("{}:{}: {}", plan_.file, at.line, what);
  }

  void add_block(const XmlElement& block) {
    const auto id = number_of(block, "id");
    const auto channel = number_of(block, "chan");
    if (!id || !channel || *channel < 0 || *channel >= kMostRanks)
      return bad(block, "its id or its chan makes no sense");
    last_.reset();
    for (const XmlElement& step : block.children) {
      if (step.name == "step" && problem_.empty()) add_step(block, step, *id, static_cast<int>(*channel));
    }
  }

  void add_step(const XmlElement& block, const XmlElement& step, std::int64_t id, int channel) {
    constexpr std::string_view kTypes[] = {"s", "r", "rcs", "rrc", "rrs", "rrcs", "cpy", "re", "nop"};
    const std::string* const type = step.find("type");
    const auto number = number_of(step, "s");
    const auto count = number_of(step, "cnt");
    if (type == nullptr || std::find(std::begin(kTypes), std::end(kTypes), *type) == std::end(kTypes))
      return bad(step, "there is no such type of step");
    if (!number || !count || *count < 0) return bad(step, "its s or its cnt makes no sense");
    const bool receives = type->starts_with('r') && *type != "re";
    const bool sends = type->ends_with('s');
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(*count), chunk_, &bytes))
      return bad(step, "its size is beyond 64 bits");
    const Step place{id, *number, step.line};
    if (receives || !sends)
      follow(step, place, receives ? message(block, "recv", channel, bytes) : Graph::Node());
    if (sends) follow(step, place, message(block, "send", channel, bytes));
    if (last_) ends_[{id, *number}] = *last_;
  }

  Graph::Node message(const XmlElement& block, std::string_view peer_name, int channel, std::uint64_t bytes) {
    Graph::Node node;
    node.kind = peer_name == "send" ? Graph::Kind::kSend : Graph::Kind::kReceive;
    const auto peer = number_of(block, peer_name);
    if (!peer || *peer < 0 || static_cast<std::size_t>(*peer) >= plan_.gpus.size())
      bad(block, fmt::format("its {} is no GPU below {}", peer_name, plan_.gpus.size()));
    node.peer = static_cast<std::int32_t>(peer.value_or(0));
    node.tag = channel;
    node.size = bytes;
    return node;
  }

  void follow(const XmlElement& step, const Step& place, const Graph::Node& node) {
    const std::uint32_t number = builder_.add(node);
    steps_.push_back(place);
    if (last_) builder_.depend(number, last_->node, last_->sends);
    last_ = End{number, node.kind == Graph::Kind::kSend};
    if (node.kind != Graph::Kind::kCompute) connect(step, place, node, number);
    const auto block = number_of(step, "depid");
    const auto before = number_of(step, "deps");
    if (block && before && *block >= 0 && *before >= 0)
      waits_.emplace_back(number, StepName{*block, *before});
  }
  void connect(const XmlElement& step, const Step& place, const Graph::Node& node, std::uint32_t number) {
    const bool sends = node.kind == Graph::Kind::kSend;
    const auto [found, is_new] = connections_.try_emplace({node.peer, node.tag, sends});
    Connection& connection = found->second;
    if (is_new) connection.block = place.block;
    if (connection.block != place.block)
      bad(step, fmt::format("thread blocks {} and {} both {} GPU {} over channel {}", connection.block,
                            place.block, sends ? "send to" : "receive from", node.peer, node.tag));
    if (!sends) return;
    if (connection.sends.size() >= plan_.slots)
      builder_.depend(number, connection.sends[connection.sends.size() - plan_.slots]);
    connection.sends.push_back(number);
  }

  const Plan& plan_;
  const XmlElement& gpu_;
  std::uint64_t chunk_;  // bytes
  GraphBuilder builder_;
  std::optional<End> last_;  // of the thread block
  std::map<StepName, End> ends_;
  std::vector<std::pair<std::uint32_t, StepName>> waits_;
  std::map<std::tuple<std::int32_t, std::int32_t, bool>, Connection> connections_;
  std::vector<Step> steps_;
  std::string problem_;
};

/// All GPUs' steps at once: which of them begin and end, whatever the times.
class PlanCheck {
 public:
  explicit PlanCheck(const Plan& plan) : plan_(plan) {}

  /// Empty, or what is wrong: with a step, or steps that wait for each other for ever.
  std::string problem() {
    for (std::size_t gpu = 0; gpu < plan_.gpus.size(); ++gpu) {
      PlanGraph one(plan_, gpu, plan_.chunks);
      const Result<Graph> graph = one.graph();
      if (!graph) return graph.error();
      add(*graph, one.steps(), gpu);
    }
    connect();
    return circle();
  }

 private:
  struct Place {
    std::size_t gpu = 0;
    PlanGraph::Step step;
  };
  /// Its nodes that send and those that receive, in their order.
  struct Connection {
    std::vector<std::size_t> sends;
    std::vector<std::size_t> receives;
  };

  static std::size_t begin_of(std::size_t node) { return 2 * node; }
  static std::size_t end_of(std::size_t node) { return 2 * node + 1; }

  void add(const Graph& graph, const std::vector<PlanGraph::Step>& steps, std::size_t gpu) {
    const std::size_t first = places_.size();
    const auto own = static_cast<std::int32_t>(gpu);
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const Graph::Node& node = graph.nodes[i];
      places_.push_back({gpu, steps[i]});
      edges_.emplace_back(begin_of(first + i), end_of(first + i));
      for (std::uint32_t k = 0; k < node.at_end + node.at_begin; ++k) {
        const std::size_t next = first + graph.dependants[node.first + k];
        edges_.emplace_back(k < node.at_end ? end_of(first + i) : begin_of(first + i), begin_of(next));
      }
      if (node.kind == Graph::Kind::kSend)
        connections_[{own, node.peer, node.tag}].sends.push_back(first + i);
      if (node.kind == Graph::Kind::kReceive)
        connections_[{node.peer, own, node.tag}].receives.push_back(first + i);
    }
  }
  /// A receive ends once its message is on its way, and with it ends the send.
  void connect() {
    for (const auto& [name, of] : connections_) {
      for (std::size_t i = 0; i < std::min(of.sends.size(), of.receives.size()); ++i) {
        edges_.emplace_back(begin_of(of.sends[i]), end_of(of.receives[i]));
        edges_.emplace_back(end_of(of.receives[i]), end_of(of.sends[i]));
      }
    }
  }

  std::string circle() {
    std::sort(edges_.begin(), edges_.end());
    std::vector<std::size_t> waits(2 * places_.size(), 0);
    std::vector<std::size_t> first(waits.size() + 1, edges_.size());
    for (std::size_t i = edges_.size(); i-- > 0;) {
      ++waits[edges_[i].second];
      first[edges_[i].first] = i;
    }
    std::vector<std::size_t> free;
    for (std::size_t i = 0; i < waits.size(); ++i) {
      if (waits[i] == 0) free.push_back(i);
    }
    while (!free.empty()) {
      const std::size_t one = free.back();
      free.pop_back();
      for (std::size_t i = first[one]; i < edges_.size() && edges_[i].first == one; ++i) {
        if (--waits[edges_[i].second] == 0) free.push_back(edges_[i].second);
      }
    }
    // Each that is left waits for another one that is left.
    std::map<std::size_t, std::size_t> before;
    for (const auto& [from, to] : edges_) {
      if (waits[from] > 0 && waits[to] > 0) before[to] = from;
    }
    return before.empty() ? std::string() : said(before);
  }
  std::string said(const std::map<std::size_t, std::size_t>& before) const {
    std::set<std::size_t> passed;
    std::size_t at = before.begin()->first;
    while (passed.insert(at).second) at = before.at(at);
    constexpr std::size_t kMostNamed = 8;
    std::vector<std::string> names;
    const std::size_t begin = at;
    std::size_t last = places_.size();
    do {
      const std::size_t node = at / 2;
      if (std::exchange(last, node) != node && names.size() <= kMostNamed) names.push_back(name_of(node));
      at = before.at(at);
    } while (at != begin);
    if (names.size() > 1 && names.back() == names.front()) names.pop_back();
    if (names.size() > kMostNamed) names.back() = "...";
    return fmt::format(
        "{}:{}: steps wait for each other for ever, each for the next one: {} (a connection holds {} "
        "sends that are not received)",
        plan_.file, places_[begin / 2].step.line, fmt::join(names, "; "), plan_.slots);
  }
  std::string name_of(std::size_t node) const {
    const Place& place = places_[node];
    return fmt::format("gpu {}, thread block {}, step {} (line {})", place.gpu, place.step.block,
                       place.step.number, place.step.line);
  }

  const Plan& plan_;
  std::vector<Place> places_;                               // by node
  std::vector<std::pair<std::size_t, std::size_t>> edges_;  // the second one waits for the first
  std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t>, Connection> connections_;
};

bool is_plan(std::string_view begin) {
  const std::size_t first = begin.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && begin.substr(first).starts_with("<algo ");
}

std::vector<std::string> notes_of(const Plan& plan) {
  return {"reductions and copies on a GPU take no time",
          fmt::format("a step that sends is over once its chunk is on its way; a connection holds {} of them "
                      "that are not received",
                      plan.slots)};
}

Result<std::optional<Program>> open_plan(const Candidate& candidate) {
  using Opened = Result<std::optional<Program>>;
  const auto named = sized_algorithm(candidate, is_plan);
  if (!named) return Opened::failure(named.error());
  if (!*named) return std::optional<Program>();
  Result<Plan> read = read_plan((*named)->path);
  if (!read) return Opened::failure(read.error());
  const auto plan = std::make_shared<const Plan>(std::move(*read));
  Program program =
      program_of_graphs(candidate.name, static_cast<int>(plan->gpus.size()),
                        [plan, whole = (*named)->bytes](int rank) { return plan_graph(*plan, rank, whole); });
  program.notes = notes_of(*plan);
  return std::optional(std::move(program));
}

}  // namespace

Result<Plan> read_plan(const std::string& path) {
  using Failure = Result<Plan>;
  const Result<recording::Source> opened = recording::Source::look(path);
  if (!opened) return Failure::failure(opened.error());
  const recording::Source& source = *opened;
  std::vector<std::uint8_t> buffer;
  std::string problem;
  const std::string_view text = recording::text_of(source.read(0, kLongestPlan, buffer, problem));
  if (!problem.empty()) return Failure::failure(problem);
  Result<XmlElement> root = read_xml(text, source.name());
  if (!root) return Failure::failure(root.error());
  Plan plan;
  plan.file = source.name();
  plan.root = std::move(*root);
  const auto size = number_of(plan.root, "ngpus");
  const auto chunks = number_of(plan.root, "nchunksperloop");
  const auto failure = [&](std::string_view what) {
    return Failure::failure(fmt::format("{}:{}: {}", plan.file, plan.root.line, what));
  };
  if (!size || *size < 1 || *size > kMostRanks) return failure("ngpus makes no sense");
  if (!chunks || *chunks < 1) return failure("nchunksperloop makes no sense");
  plan.gpus.resize(static_cast<std::size_t>(*size), nullptr);
  for (const XmlElement& gpu : plan.root.children) {
    const auto id = number_of(gpu, "id");
    if (gpu.name != "gpu" || !id || *id < 0 || *id >= *size ||
        plan.gpus[static_cast<std::size_t>(*id)] != nullptr)
      return Failure::failure(
          fmt::format("{}:{}: a gpu with an id of its own below {} is expected", plan.file, gpu.line, *size));
    plan.gpus[static_cast<std::size_t>(*id)] = &gpu;
  }
  const auto missing = std::find(plan.gpus.begin(), plan.gpus.end(), nullptr);
  if (missing != plan.gpus.end())
    return failure(fmt::format("gpu {} is missing", missing - plan.gpus.begin()));
  plan.chunks = static_cast<std::uint64_t>(*chunks);
  if (const std::string* const collective = plan.root.find("coll")) plan.collective = *collective;
  plan.slots = slots_of(plan.root.find("proto"));
  if (const std::string wrong = PlanCheck(plan).problem(); !wrong.empty()) return Failure::failure(wrong);
  return plan;
}

Result<Graph> plan_graph(const Plan& plan, int gpu, std::uint64_t bytes) {
  return PlanGraph(plan, static_cast<std::size_t>(gpu), bytes).graph();
}

Result<std::optional<Algorithm>> read_msccl_algorithm(const std::string& path, std::string_view begin) {
  using Read = Result<std::optional<Algorithm>>;
  if (!is_plan(begin)) return std::optional<Algorithm>();
  Result<Plan> read = read_plan(path);
  if (!read) return Read::failure(read.error());
  const auto plan = std::make_shared<const Plan>(std::move(*read));
  Algorithm algorithm;
  algorithm.ranks = static_cast<int>(plan->gpus.size());
  algorithm.collective = plan->collective;
  algorithm.place = fmt::format("{}:{}: coll", plan->file, plan->root.line);
  algorithm.graph = [plan](int rank, std::uint64_t bytes) { return plan_graph(*plan, rank, bytes); };
  algorithm.notes = notes_of(*plan);
  return std::optional(std::move(algorithm));
}

const Opener kMscclPlans = {
    .kind = "MSCCL algorithm", .origin = "MSCCL's XML, FILE:BYTES", .open = open_plan};

}  // namespace offramp::trace
