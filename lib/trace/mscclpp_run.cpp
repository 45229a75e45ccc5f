// A plan is run by an interpreter that knows no time: each thread block goes on until its operation has to
// wait. What it does becomes the nodes of its GPU's graph as it is done, and what it waited for their
// dependencies, so that a graph has just the order that the plan's signals, barriers, semaphores and packets
// give it.
#include "lib/trace/mscclpp_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

#include "lib/trace/chunk_contents.hpp"

namespace offramp::trace {
namespace {

using Buffer = OneSidedPlan::Buffer;
using Channel = OneSidedPlan::Channel;
using Chunks = OneSidedPlan::Chunks;
using Kind = OneSidedPlan::Kind;
using Operation = OneSidedPlan::Operation;

/// A signal adds 1 to a number of 64 bits in the peer's memory.
constexpr std::uint64_t kSignalBytes = 8;
/// A packet of 16 bytes has 8 of data and 8 of flags (LL16Packet).
constexpr std::uint64_t kPacketTimes = 2;
constexpr std::uint64_t kMostOperations = 1U << 22U;
constexpr std::uint64_t kMostParts = 1U << 21U;
constexpr std::uint32_t kNoNode = UINT32_MAX;

/// What the next operation waits for.
struct Before {
  std::uint32_t node = 0;
  bool begun = false;
};
using Order = std::vector<Before>;
/// Nodes of each GPU that have ended once a thread block goes on: what came to that GPU from it, or is known
/// to it to have come.
using Arrived = std::map<int, std::vector<std::uint32_t>>;

void merge(Arrived& into, const Arrived& other) {
  for (const auto& [gpu, nodes] : other) {
    std::vector<std::uint32_t>& all = into[gpu];
    all.insert(all.end(), nodes.begin(), nodes.end());
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
  }
}
void merge(Order& into, const Order& other) {
  into.insert(into.end(), other.begin(), other.end());
}

class PlanRun {
 public:
  PlanRun(const OneSidedPlan& plan, std::uint64_t whole, bool forward)
      : plan_(plan),
        whole_(whole),
        forward_(forward),
        builders_(plan.gpus.size()),
        memories_(plan.gpus.size()) {
    for (std::size_t gpu = 0; gpu < plan.gpus.size(); ++gpu) {
      for (std::size_t block = 0; block < plan.gpus[gpu].blocks.size(); ++block) {
        for (const Operation& one : plan.gpus[gpu].blocks[block]) count_parts(one);
        blocks_.emplace_back(gpu, block);
      }
    }
  }

  /// Empty, or what is wrong.
  std::string run() {
    if (std::string problem = make_memories(); !problem.empty()) return problem;
    bool moved = true;
    while (moved && problem_.empty()) {
      moved = false;
      for (std::size_t i = 0; i < blocks_.size(); ++i) {
        Block& block = blocks_[forward_ ? i : blocks_.size() - 1 - i];
        while (problem_.empty() && step(block)) moved = true;
      }
    }
    return problem_.empty() ? waits_for_ever() : problem_;
  }
  /// Empty, or a chunk that does not hold what it should.
  std::string wrong_result() const {
    ChunkShape shape = this->shape();
    if (!knows_results(shape.collective)) return {};
    if (std::string problem = wrong_shape(shape); !problem.empty()) return problem;
    for (std::uint64_t gpu = 0; gpu < shape.ranks; ++gpu) {
      for (std::uint64_t at = 0; at < shape.output; ++at) {
        const ChunkContent& found = memories_[gpu].data[memories_[gpu].begin[1] + at].content;
        const ChunkContent wanted = expected_content(shape, gpu, at);
        if (wanted.count != 0 && found != wanted) return wrong_content(shape, gpu, at, found);
      }
    }
    return {};
  }
  std::vector<Graph> graphs() {
    std::vector<Graph> made;
    for (GraphBuilder& one : builders_) made.push_back(one.build());
    return made;
  }

 private:
  /// A part of a chunk.
  struct Part {
    ChunkContent content;
    bool is_packet = false;          // one came since the plan began
    std::uint32_t packet = kNoNode;  // and with it this node ended
  };
  struct Memory {
    std::vector<Part> data;
    std::size_t begin[3] = {};  // of each buffer: in place, input and output share theirs
  };
  struct Block {
    Block(std::size_t its_gpu, std::size_t its_number) : gpu(its_gpu), number(its_number) {}
    std::size_t gpu;
    std::size_t number;
    std::size_t at = 0;
    std::size_t inner = 0;     // operation of a pipeline
    std::uint64_t passes = 0;  // of it that are over
    bool in_barrier = false;
    Order before;
    Arrived known;
    /// What was sent over each channel, for a flush.
    std::map<std::pair<OneSidedPlan::ChannelType, std::pair<int, int>>, std::vector<std::uint32_t>> sent;
  };
  struct Signal {
    std::uint32_t arrival = 0;
    Arrived known;
  };
  /// What is on its way over a channel, in one direction.
  struct Signals {
    std::vector<Signal> all;
    std::size_t taken = 0;
  };
  struct Semaphore {
    std::vector<std::pair<Order, Arrived>> releases;
    std::int64_t acquired = 0;
    std::optional<std::size_t> acquirer;  // the only block that acquires it
    std::optional<std::size_t> releaser;
  };
  using ChannelName = std::tuple<OneSidedPlan::ChannelType, int, int, int>;  // type, from, to, number

  void count_parts(const Operation& one) {
    parts_ = std::min(std::lcm(parts_, std::uint64_t{one.parts}), kMostParts + 1);
    for (const Operation& inner : one.inner) count_parts(inner);
  }

  ChunkShape shape() const {
    ChunkShape shape;
    for (const char c : plan_.collective) {
      if (c != '_') shape.collective += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    shape.ranks = plan_.gpus.size();
    std::uint64_t in = plan_.gpus[0].chunks[0];
    std::uint64_t out = plan_.gpus[0].chunks[1];
    if (plan_.in_place && in == 0) in = out;
    if (plan_.in_place && out == 0) out = in;
    shape.input = in * parts_;
    shape.output = out * parts_;
    shape.parts = parts_;
    return shape;
  }

  std::string make_memories() {
    const ChunkShape shape = this->shape();
    std::uint64_t all = 0;
    for (std::size_t gpu = 0; gpu < memories_.size(); ++gpu) {
      Memory& memory = memories_[gpu];
      std::uint64_t size = std::max(shape.input, shape.output);
      if (!plan_.in_place) {
        memory.begin[1] = shape.input;
        size = shape.input + shape.output;
      } else if (shape.collective == "allgather" && shape.input * shape.ranks == shape.output) {
        memory.begin[0] = gpu * shape.input;
      } else if (shape.collective == "reducescatter" && shape.output * shape.ranks == shape.input) {
        memory.begin[1] = gpu * shape.output;
      }
      memory.begin[2] = size;
      size += std::uint64_t{plan_.gpus[gpu].chunks[2]} * parts_;
      all += size;
      if (parts_ > kMostParts || all > kMostParts)
        return fmt::format("{}: its chunks are more than can be followed", plan_.file);
      memory.data.resize(size);
      for (std::uint64_t at = 0; at < shape.input; ++at)
        memory.data[memory.begin[0] + at].content = ChunkContent::input(gpu, at);
    }
    return {};
  }

  // What a block does.

  const std::vector<Operation>& operations_of(const Block& block) const {
    return plan_.gpus[block.gpu].blocks[block.number];
  }
  std::uint64_t passes_of(const Operation& pipeline) const {
    const std::uint64_t chunk =
        (whole_ / plan_.alignment + plan_.chunks() - 1) / plan_.chunks() * plan_.alignment;
    return (pipeline.chunks * chunk + pipeline.unit - 1) / pipeline.unit;
  }

  /// False: the block is at its end, or has to wait.
  bool step(Block& block) {
    const std::vector<Operation>& operations = operations_of(block);
    if (block.at >= operations.size()) return false;
    const Operation& operation = operations[block.at];
    const Operation& now = operation.inner.empty() ? operation : operation.inner[block.inner];
    steps_ += 1 + now.sources.size() + now.targets.size() + now.channels.size();
    if (steps_ > kMostOperations) {
      problem_ =
          fmt::format("{}: for {} bytes it has more than {} operations", plan_.file, whole_, kMostOperations);
      return false;
    }
    if (operation.kind != Kind::kPipeline) {
      if (!perform(block, operation, 0, UINT64_MAX)) return false;
      ++block.at;
      return true;
    }
    if (block.passes >= passes_of(operation) || operation.inner.empty()) {
      block.passes = 0;
      ++block.at;
      return true;
    }
    if (!perform(block, operation.inner[block.inner], block.passes * operation.unit, operation.unit))
      return false;
    if (++block.inner == operation.inner.size()) {
      block.inner = 0;
      ++block.passes;
    }
    return true;
  }

  /// The bytes from skipped on, at most so many, of each piece of data. False: it has to wait.
  bool perform(Block& block, const Operation& operation, std::uint64_t skipped, std::uint64_t most) {
    switch (operation.kind) {
      case Kind::kMove:
        return move(block, operation, skipped, most);
      case Kind::kSignal:
        for (const Channel& channel : operation.channels) signal(block, channel, operation.relaxed);
        return true;
      case Kind::kWait:
        return wait(block, operation);
      case Kind::kFlush:
        flush(block, operation);
        return true;
      case Kind::kBarrier:
        return meet(block, operation);
      case Kind::kAcquire:
        return acquire(block, operation);
      case Kind::kRelease:
        for (const std::uint32_t one : operation.semaphores) release(block, one);
        return true;
      case Kind::kNothing:
      case Kind::kPipeline:
        break;
    }
    return true;
  }

  // Nodes.

  std::uint32_t add(std::size_t gpu, const Graph::Node& node, const Order& before) {
    const std::uint32_t number = builders_[gpu].add(node);
    for (const Before& one : before) builders_[gpu].depend(number, one.node, one.begun);
    return number;
  }
  /// One that takes no time.
  std::uint32_t join(std::size_t gpu, const Order& before) { return add(gpu, Graph::Node(), before); }
  struct Message {
    std::uint32_t send = 0;
    std::uint32_t arrival = 0;
  };
  Message message(std::size_t from, std::size_t to, std::uint64_t bytes, const Order& before) {
    Graph::Node node;
    node.kind = Graph::Kind::kSend;
    node.peer = static_cast<std::int32_t>(to);
    node.tag = static_cast<std::int32_t>(messages_[{from, to}]++);
    node.size = bytes;
    const std::uint32_t send = add(from, node, before);
    node.kind = Graph::Kind::kReceive;
    node.peer = static_cast<std::int32_t>(from);
    return {send, add(to, node, {})};
  }

  // Signals.

  void signal(Block& block, const Channel& channel, bool relaxed) {
    const auto to = static_cast<std::size_t>(channel.peer);
    const Message sent = message(block.gpu, to, kSignalBytes, block.before);
    Signal made;
    Order before{{sent.arrival}};
    if (!relaxed) {
      for (const std::uint32_t node : block.known[channel.peer]) before.push_back({node, false});
    }
    made.arrival = before.size() == 1 ? sent.arrival : join(to, before);
    if (!relaxed) {
      block.known[channel.peer] = {made.arrival};
      made.known = block.known;
    }
    signals_[{channel.type, static_cast<int>(block.gpu), channel.peer, channel.number}].all.push_back(
        std::move(made));
    block.before = {{sent.send, true}};
  }

  Signals& signals_to(const Block& block, const Channel& channel) {
    return signals_[{channel.type, channel.peer, static_cast<int>(block.gpu), channel.number}];
  }
  bool wait(Block& block, const Operation& operation) {
    for (const Channel& channel : operation.channels) {
      const Signals& of = signals_to(block, channel);
      if (of.taken == of.all.size()) return false;
    }
    for (const Channel& channel : operation.channels) {
      Signals& of = signals_to(block, channel);
      if (of.taken == of.all.size()) {
        problem_ = fmt::format("{}: {} waits twice for one channel", plan_.file, place(block));
        return false;
      }
      const Signal& one = of.all[of.taken++];
      block.before.push_back({one.arrival, false});
      merge(block.known, one.known);
    }
    block.before = {{join(block.gpu, block.before)}};
    block.known.erase(static_cast<int>(block.gpu));  // it waits for all of that
    return true;
  }
  void flush(Block& block, const Operation& operation) {
    for (const Channel& channel : operation.channels) {
      for (const std::uint32_t send : block.sent[{channel.type, {channel.peer, channel.number}}])
        block.before.push_back({send, false});
    }
    if (!block.before.empty()) block.before = {{join(block.gpu, block.before)}};
  }

  // Thread blocks of one GPU.

  bool meet(Block& block, const Operation& operation) {
    std::vector<Block*>& there = barriers_[{block.gpu, operation.barrier}];
    if (block.in_barrier) return false;
    there.push_back(&block);
    block.in_barrier = true;
    if (there.size() < operation.blocks) return false;
    Order before;
    Arrived known;
    for (const Block* one : there) {
      merge(before, one->before);
      merge(known, one->known);
    }
    if (!before.empty()) before = {{join(block.gpu, before)}};
    for (Block* one : std::exchange(there, {})) {
      one->before = before;
      one->known = known;
      one->in_barrier = false;
      if (one == &block) continue;
      // It stands at the same barrier, and goes on behind it.
      const Operation& its = operations_of(*one)[one->at];
      if (its.kind != Kind::kPipeline) {
        ++one->at;
      } else if (++one->inner == its.inner.size()) {
        one->inner = 0;
        ++one->passes;
      }
    }
    return true;
  }

  void release(Block& block, std::uint32_t number) {
    Semaphore& semaphore = semaphores_[{block.gpu, number}];
    if (semaphore.releaser.value_or(block.number) != block.number)
      problem_ = fmt::format(
          "{}: {} releases semaphore {}, and so does thread block {}: whose comes first is "
          "not in the plan",
          plan_.file, place(block), number, *semaphore.releaser);
    semaphore.releaser = block.number;
    semaphore.releases.emplace_back(block.before, block.known);
  }
  bool acquire(Block& block, const Operation& operation) {
    const auto initial = [&](std::uint32_t number) { return plan_.gpus[block.gpu].semaphores[number]; };
    for (const std::uint32_t number : operation.semaphores) {
      Semaphore& semaphore = semaphores_[{block.gpu, number}];
      if (semaphore.acquirer.value_or(block.number) != block.number)
        problem_ = fmt::format(
            "{}: {} acquires semaphore {}, and so does thread block {}: who comes first is "
            "not in the plan",
            plan_.file, place(block), number, *semaphore.acquirer);
      semaphore.acquirer = block.number;
      if (semaphore.acquired >= initial(number) + static_cast<std::int64_t>(semaphore.releases.size()))
        return false;
    }
    for (const std::uint32_t number : operation.semaphores) {
      Semaphore& semaphore = semaphores_[{block.gpu, number}];
      const std::int64_t which = semaphore.acquired++ - initial(number);
      if (which < 0 || which >= static_cast<std::int64_t>(semaphore.releases.size())) continue;
      const auto& [before, known] = semaphore.releases[static_cast<std::size_t>(which)];
      merge(block.before, before);
      merge(block.known, known);
    }
    if (block.before.size() > 1) block.before = {{join(block.gpu, block.before)}};
    return true;
  }

  // Data.

  /// The parts of a chunk that an operation is about, in its GPU's memory.
  std::pair<std::size_t, std::size_t> parts_of(const Operation& operation, const Chunks& chunks) const {
    const Memory& memory = memories_[static_cast<std::size_t>(chunks.gpu)];
    const std::size_t begin = memory.begin[static_cast<std::size_t>(chunks.buffer)] + chunks.index * parts_;
    const std::uint64_t size = chunks.size * parts_;
    return {begin + size * operation.part / operation.parts,
            begin + size * (operation.part + 1) / operation.parts};
  }
  /// Its bytes.
  std::uint64_t bytes_of(const Operation& operation, const Chunks& chunks, std::uint64_t skipped,
                         std::uint64_t most) const {
    const std::uint64_t all =
        plan_.offset(std::uint64_t{chunks.index} + chunks.size, whole_) - plan_.offset(chunks.index, whole_);
    const std::uint64_t elements = all / plan_.alignment;
    const auto begin = [&](std::uint64_t part) {
      return (part * (elements / operation.parts) + std::min(part, elements % operation.parts)) *
             plan_.alignment;
    };
    const std::uint64_t size = begin(operation.part + 1) - begin(operation.part);
    return size <= skipped ? 0 : std::min(size - skipped, most);
  }

  bool move(Block& block, const Operation& operation, std::uint64_t skipped, std::uint64_t most) {
    if (!packets_are_there(operation)) return false;
    if (skipped == 0) copy_contents(operation);
    Order before = block.before;
    take_packets(block, operation, before);
    read_remote(block, operation, skipped, most, before);
    write(block, operation, skipped, most, before);
    if (operation.signals) {
      for (const Channel& channel : operation.channels) signal(block, channel, false);
    }
    if (operation.flushes) flush(block, operation);
    return true;
  }
  template <typename Call>
  void each_part(const Operation& operation, const Chunks& chunks, Call call) {
    const auto [begin, end] = parts_of(operation, chunks);
    for (std::size_t at = begin; at < end; ++at)
      call(memories_[static_cast<std::size_t>(chunks.gpu)].data[at], at - begin);
  }
  bool packets_are_there(const Operation& operation) {
    bool there = true;
    for (const Chunks& one : operation.sources) {
      if (one.packets)
        each_part(operation, one, [&](const Part& part, std::size_t) { there = there && part.is_packet; });
    }
    return there;
  }
  void take_packets(const Block& block, const Operation& operation, Order& before) {
    std::vector<std::uint32_t> nodes;
    for (const Chunks& one : operation.sources) {
      if (!one.packets) continue;
      each_part(operation, one, [&](const Part& part, std::size_t) {
        if (part.packet != kNoNode && (nodes.empty() || nodes.back() != part.packet))
          nodes.push_back(part.packet);
      });
    }
    if (nodes.empty()) return;
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    for (const std::uint32_t node : nodes) before.push_back({node, false});
    before = {{join(block.gpu, before)}};
  }
  void copy_contents(const Operation& operation) {
    std::vector<std::vector<ChunkContent>> read;
    for (const Chunks& one : operation.sources) {
      std::vector<ChunkContent>& contents = read.emplace_back();
      each_part(operation, one, [&](const Part& part, std::size_t) { contents.push_back(part.content); });
    }
    if (operation.combines) {
      for (std::size_t i = 1; i < read.size(); ++i) {
        for (std::size_t k = 0; k < read[0].size(); ++k) read[0][k] += read[i][k];
      }
    }
    for (std::size_t i = 0; i < operation.targets.size(); ++i) {
      const std::vector<ChunkContent>& from = read[operation.combines ? 0 : i];
      each_part(operation, operation.targets[i], [&](Part& part, std::size_t k) { part.content = from[k]; });
    }
  }
  /// A GPU that reads asks with a message without data, and the answer has them.
  void read_remote(const Block& block, const Operation& operation, std::uint64_t skipped, std::uint64_t most,
                   Order& before) {
    Order arrived;
    for (const Chunks& one : operation.sources) {
      const auto from = static_cast<std::size_t>(one.gpu);
      const std::uint64_t bytes = bytes_of(operation, one, skipped, most);
      if (from == block.gpu || bytes == 0) continue;
      const Message question = message(block.gpu, from, 0, before);
      arrived.push_back({message(from, block.gpu, bytes, {{question.arrival}}).arrival});
    }
    if (!arrived.empty()) before = {{join(block.gpu, arrived)}};
  }
  void write(Block& block, const Operation& operation, std::uint64_t skipped, std::uint64_t most,
             const Order& before) {
    Order sent;
    std::size_t remote = 0;
    for (const Chunks& one : operation.targets) {
      const auto to = static_cast<std::size_t>(one.gpu);
      std::uint32_t arrival = kNoNode;
      if (to == block.gpu) {
        if (one.packets && !before.empty()) arrival = join(to, before);
      } else if (const std::uint64_t bytes = bytes_of(operation, one, skipped, most); bytes > 0) {
        const Message made = message(block.gpu, to, bytes * (one.packets ? kPacketTimes : 1), before);
        arrival = made.arrival;
        sent.push_back({made.send, true});
        if (!one.packets) block.known[one.gpu].push_back(arrival);
        if (remote < operation.channels.size()) {
          const Channel& channel = operation.channels[remote];
          block.sent[{channel.type, {channel.peer, channel.number}}].push_back(made.send);
        }
        ++remote;
      }
      if (one.packets)
        each_part(operation, one, [&](Part& part, std::size_t) {
          part.is_packet = true;
          part.packet = arrival;
        });
    }
    block.before = sent.empty() ? before : sent;
  }

  // What is said of it.

  std::string place(const Block& block) const { return place_in_plan(block.gpu, block.number, block.at); }
  std::string waits_for_ever() const {
    constexpr std::size_t kMostNamed = 8;
    std::vector<std::string> names;
    for (const Block& block : blocks_) {
      const std::vector<Operation>& operations = operations_of(block);
      if (block.at >= operations.size()) continue;
      if (names.size() == kMostNamed) {
        names.emplace_back("...");
        break;
      }
      const Operation& at = operations[block.at];
      const std::string& name = at.kind == Kind::kPipeline ? at.inner[block.inner].name : at.name;
      names.push_back(fmt::format("{} ({})", place(block), name));
    }
    if (names.empty()) return {};
    return fmt::format("{}: thread blocks wait for ever: {}", plan_.file, fmt::join(names, "; "));
  }

  const OneSidedPlan& plan_;
  std::uint64_t whole_;  // bytes
  bool forward_;
  std::uint64_t parts_ = 1;  // of a chunk
  std::uint64_t steps_ = 0;
  std::string problem_;
  std::vector<GraphBuilder> builders_;
  std::vector<Memory> memories_;
  std::vector<Block> blocks_;
  std::map<ChannelName, Signals> signals_;
  std::map<std::pair<std::size_t, std::uint32_t>, std::vector<Block*>> barriers_;
  std::map<std::pair<std::size_t, std::uint32_t>, Semaphore> semaphores_;
  std::map<std::pair<std::size_t, std::size_t>, std::uint32_t> messages_;
};

/// A size for which nothing is empty and each pipeline takes few passes.
std::uint64_t smallest_size(const OneSidedPlan& plan) {
  std::uint64_t most = plan.alignment * plan.chunks();
  if (plan.is_of_tools) most *= plan.gpus[0].groups;
  return std::min(most, std::uint64_t{1} << 40U);
}

}  // namespace

std::string problem_of_plan(const OneSidedPlan& plan) {
  for (const bool forward : {true, false}) {
    PlanRun run(plan, smallest_size(plan), forward);
    if (std::string problem = run.run(); !problem.empty()) return problem;
    if (const std::string problem = run.wrong_result(); !problem.empty())
      return fmt::format("{}: this is no {}: {}", plan.file, plan.collective, problem);
  }
  return {};
}

Result<std::vector<Graph>> graphs_of_plan(const OneSidedPlan& plan, std::uint64_t whole) {
  PlanRun run(plan, whole, true);
  if (std::string problem = run.run(); !problem.empty()) return Result<std::vector<Graph>>::failure(problem);
  return run.graphs();
}

}  // namespace offramp::trace
