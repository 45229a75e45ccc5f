// The whole array in one process: kernels, and the DMA engines between them, as processes of a timed network.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "offramp/kernel/channel.hpp"
#include "simulators/aie/plan.hpp"
#include "simulators/aie/window.hpp"

namespace offramp::aie {

/// One thread at a time. Add the kernels in a fixed order; run() then executes them.
class Network {
 public:
  /// timing: must outlive this object.
  explicit Network(const Timing& timing);
  Network& operator=(Network&&) = delete;
  ~Network();

  /// Owned by the network.
  struct Ends {
    Output* output;
    std::vector<Input*> inputs;  // several for a multicast
  };
  /// Connects two kernels by a window. header_words: before each window on the stream (packet switching).
  Ends connect(const Connection& connection, std::size_t window_bytes, int header_words = 0);
  /// One producer and several consumers. The slowest consumer delays all.
  Ends multicast(const std::vector<int>& hops, std::size_t window_bytes);

  /// Started once, by run().
  using Kernel = std::function<Task<void>(Core core)>;
  /// Returns the kernel's number.
  int add(std::string_view name, Kernel kernel, Time begin);
  /// spans: receives what the kernels do, as work of this operation. Call it before run().
  void observe(SpanSink* spans, std::uint64_t operation) { spans_ = spans, operation_ = operation; }
  /// Returns whether all kernels have ended.
  bool run();
  /// The kernel's clock at its end, after run().
  [[nodiscard]] Time end(int kernel) const { return stations_[static_cast<std::size_t>(kernel)].end; }
  /// Windows that producers have filled.
  [[nodiscard]] std::uint64_t windows() const { return windows_; }

 private:
  struct Token {};
  struct Pair;      // two buffers with their locks
  struct Consumer;  // ends of a pair
  struct Producer;
  /// A kernel, and when it ended.
  struct Station {
    Kernel kernel;
    Time end;
    bool done = false;
  };
  /// These make parts, which the network owns.
  Pair& add_pair();
  Producer* producer(Pair& pair);
  Consumer* consumer(Pair& pair);
  /// occupied: the stream's time for one window.
  void add_engine(Pair& from, const std::vector<Pair*>& to, const std::vector<int>& hops, Time occupied);
  /// These run as processes of the scheduler.
  static Task<void> station(Network* network, Station* station);
  struct ForwardingEngine;
  /// Forwards windows forever.
  static Task<void> engine(Network* network, const ForwardingEngine* engine);

  const Timing& timing_;
  Scheduler scheduler_;
  std::vector<std::unique_ptr<Pair>> pairs_;
  std::vector<std::unique_ptr<Input>> inputs_;
  std::vector<std::unique_ptr<Output>> outputs_;
  std::vector<std::unique_ptr<ForwardingEngine>> engines_;
  std::deque<Station> stations_;
  SpanSink* spans_ = nullptr;
  std::uint64_t operation_ = 0;
  std::uint64_t windows_ = 0;
};

}  // namespace offramp::aie
