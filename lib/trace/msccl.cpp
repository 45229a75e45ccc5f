#include "lib/trace/msccl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lib/configuration/names.hpp"
#include "lib/recording/source.hpp"
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

/// One GPU's steps as a graph. What a step sends is on its way once the step is over, as MSCCL's connections
/// hold it until it is taken; a step of another thread block that waits for it waits until it has been.
class PlanGraph {
 public:
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
      builder_.depend(node, found->second);
    }
    if (!problem_.empty()) return Result<Graph>::failure(problem_);
    Graph made = builder_.build();
    if (node_on_circle(made) < made.nodes.size()) bad(gpu_, "its steps wait for each other");
    return problem_.empty() ? Result<Graph>(std::move(made)) : Result<Graph>::failure(problem_);
  }

 private:
  using Step = std::pair<std::int64_t, std::int64_t>;  // thread block, number

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
    if (receives || !sends) follow(step, receives ? message(block, "recv", channel, bytes) : Graph::Node());
    if (sends) follow(step, message(block, "send", channel, bytes));
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

  void follow(const XmlElement& step, const Graph::Node& node) {
    const std::uint32_t number = builder_.add(node);
    if (last_) builder_.depend(number, *last_, last_sends_);
    last_ = number;
    last_sends_ = node.kind == Graph::Kind::kSend;
    const auto block = number_of(step, "depid");
    const auto before = number_of(step, "deps");
    if (block && before && *block >= 0 && *before >= 0) waits_.emplace_back(number, Step{*block, *before});
  }

  const Plan& plan_;
  const XmlElement& gpu_;
  std::uint64_t chunk_;  // bytes
  GraphBuilder builder_;
  std::optional<std::uint32_t> last_;  // of the thread block
  bool last_sends_ = false;
  std::map<Step, std::uint32_t> ends_;
  std::vector<std::pair<std::uint32_t, Step>> waits_;
  std::string problem_;
};

bool is_plan(std::string_view begin) {
  const std::size_t first = begin.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && begin.substr(first).starts_with("<algo ");
}

Result<std::optional<Program>> open_plan(const Candidate& candidate) {
  using Opened = Result<std::optional<Program>>;
  if (candidate.is_text() && is_plan(candidate.begin))
    return Opened::failure(fmt::format("{} is an algorithm: name it with the size of its buffer, {}:1MiB",
                                       printable(candidate.name), printable(candidate.name)));
  const std::size_t colon = candidate.name.rfind(':');
  if (candidate.is_file() || colon == std::string::npos) return std::optional<Program>();
  const std::string path = candidate.name.substr(0, colon);
  const Result<recording::Source> source = recording::Source::look(path);
  if (!source) return std::optional<Program>();
  std::vector<std::uint8_t> buffer;
  std::string problem;
  if (!is_plan(recording::text_of((*source).read(0, kLookedAt, buffer, problem))))
    return std::optional<Program>();
  constexpr double kMostBytes = 0x1p46;
  const std::string size = candidate.name.substr(colon + 1);
  const std::optional<double> bytes = parse_quantity(size, "B");
  if (!bytes || *bytes < 1 || *bytes > kMostBytes)
    return Opened::failure(
        fmt::format("{}: {} is no number of bytes from 1 on", printable(candidate.name), in_quotes(size)));
  Result<Plan> read = read_plan(path);
  if (!read) return Opened::failure(read.error());
  const auto plan = std::make_shared<const Plan>(std::move(*read));
  Program program = program_of_graphs(candidate.name, static_cast<int>(plan->gpus.size()),
                                      [plan, whole = static_cast<std::uint64_t>(*bytes)](int rank) {
                                        return plan_graph(*plan, rank, whole);
                                      });
  program.notes = {"reductions and copies on a GPU take no time"};
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
  return plan;
}

Result<Graph> plan_graph(const Plan& plan, int gpu, std::uint64_t bytes) {
  return PlanGraph(plan, static_cast<std::size_t>(gpu), bytes).graph();
}

const Opener kMscclPlans = {
    .kind = "MSCCL algorithm", .origin = "MSCCL's XML, FILE:BYTES", .open = open_plan};

}  // namespace offramp::trace
