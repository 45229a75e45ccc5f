// A pair of buffers is two channels of tokens, "full" and "empty", which represent the two values of its
// locks. Tiles that share memory share one pair. Otherwise each end has a pair, with a DMA engine and the
// circuit in between. Engines never end; run() returns whether all kernels have ended.
#include "simulators/aie/network.hpp"

#include <algorithm>
#include <utility>

namespace offramp::aie {

/// Two buffers, with tokens for the values of their locks. Both are empty at first, so the first two waits
/// for an empty buffer need no token.
struct Network::Pair {
  explicit Pair(Scheduler& scheduler) : full(scheduler, 2), empty(scheduler, 2) {}
  Channel<Token> full;
  Channel<Token> empty;
};

struct Network::Consumer final : Input {
  explicit Consumer(Pair& pair_) : pair(pair_) {}
  Task<void> wait_full() override { co_await pair.full.read(); }
  Task<void> set_empty() override { co_await pair.empty.write(Token()); }
  Pair& pair;
};

struct Network::Producer final : Output {
  explicit Producer(Pair& pair_, std::uint64_t& windows_) : pair(pair_), windows(windows_) {}
  Task<void> wait_empty() override {
    if (filled >= 2) co_await pair.empty.read();
  }
  Task<void> set_full() override {
    ++filled;
    ++windows;
    co_await pair.full.write(Token());
  }
  Pair& pair;
  std::uint64_t& windows;
  std::size_t filled = 0;
};

/// MM2S, the circuit, and S2MM.
struct Network::ForwardingEngine {
  Pair* from;
  std::vector<Pair*> to;
  std::vector<Time> passages;
  Time occupied;  // stream time of one window
};

Network::Network(const Timing& timing) : timing_(timing) {}

Network::~Network() {
  // Engines never end; their frames refer to the pairs.
  scheduler_.clear();
}

Network::Pair& Network::add_pair() {
  pairs_.push_back(std::make_unique<Pair>(scheduler_));
  return *pairs_.back();
}

Network::Producer* Network::producer(Pair& pair) {
  auto end = std::make_unique<Producer>(pair, windows_);
  Producer* const pointer = end.get();
  outputs_.push_back(std::move(end));
  return pointer;
}

Network::Consumer* Network::consumer(Pair& pair) {
  auto end = std::make_unique<Consumer>(pair);
  Consumer* const pointer = end.get();
  inputs_.push_back(std::move(end));
  return pointer;
}

Network::Ends Network::connect(const Connection& connection, std::size_t window_bytes, int header_words) {
  Pair& source = add_pair();
  if (connection.shared) return {producer(source), {consumer(source)}};
  Pair& target = add_pair();
  add_engine(source, {&target}, {connection.hops()}, timing_.stream(window_bytes, header_words));
  return {producer(source), {consumer(target)}};
}

Network::Ends Network::multicast(const std::vector<int>& hops, std::size_t window_bytes) {
  Pair& source = add_pair();
  Ends ends{producer(source), {}};
  std::vector<Pair*> targets;
  for (std::size_t i = 0; i < hops.size(); ++i) {
    targets.push_back(&add_pair());
    ends.inputs.push_back(consumer(*targets.back()));
  }
  add_engine(source, targets, hops, timing_.stream(window_bytes));
  return ends;
}

void Network::add_engine(Pair& from, const std::vector<Pair*>& to, const std::vector<int>& hops,
                         Time occupied) {
  auto engine = std::make_unique<ForwardingEngine>(ForwardingEngine{&from, to, {}, occupied});
  for (const int n : hops) engine->passages.push_back(timing_.passage(n));
  engines_.push_back(std::move(engine));
}

int Network::add(std::string_view name, Kernel kernel, Time begin) {
  stations_.push_back({std::move(kernel), {}, false});
  scheduler_.observe(spans_, operation_);
  scheduler_.spawn(name, station(this, &stations_.back()), begin);
  return static_cast<int>(stations_.size()) - 1;
}

Task<void> Network::station(Network* network, Station* station) {
  Process& self = co_await this_process();
  const Core core{self.clock, network->timing_, self.spans, self.operation};
  co_await station->kernel(core);
  station->end = self.clock;
  station->done = true;
}

Task<void> Network::engine(Network*, const ForwardingEngine* engine) {
  Process& self = co_await this_process();
  for (std::size_t window = 0;; ++window) {
    co_await engine->from->full.read();
    // The first two windows find both buffers empty.
    if (window >= 2) {
      for (Pair* const target : engine->to) co_await target->empty.read();
    }
    const Time begin = self.clock;
    co_await delay(engine->occupied);
    self.span("window", begin);
    co_await engine->from->empty.write(Token());
    for (std::size_t i = 0; i < engine->to.size(); ++i)
      co_await engine->to[i]->full.write_at(Token(), self.clock + engine->passages[i]);
  }
}

bool Network::run() {
  scheduler_.observe(spans_, operation_);
  for (const auto& one : engines_) scheduler_.spawn("aie.dma", engine(this, one.get()));
  scheduler_.run();  // the DMA engines never end
  return std::ranges::all_of(stations_, &Station::done);
}

}  // namespace offramp::aie
