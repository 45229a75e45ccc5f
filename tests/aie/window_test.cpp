// Windows, locks, buffers and DMA engines one by one, against times in closed form.
#include <gtest/gtest.h>

#include <random>

#include "tests/aie/support.hpp"
#include "tests/aie/whole_array.hpp"

namespace offramp::aie {
namespace {

double cycles(Time time) {
  return published_timing().in_cycles(time);
}

struct Log {
  std::vector<double> sent;      // time of a release's call
  std::vector<double> received;  // time at which an acquire succeeded
};

Task<void> produce(Core core, Output* out, int windows, double work, Log* log) {
  for (int i = 0; i < windows; ++i) {
    co_await acquire(core, *out, Acquire::kSingle);
    core.spend(work);
    log->sent.push_back(cycles(core.clock));
    co_await release(core, *out);
  }
}
Task<void> consume(Core core, Input* in, int windows, double work, Log* log) {
  for (int i = 0; i < windows; ++i) {
    co_await acquire(core, *in, Acquire::kSingle);
    log->received.push_back(cycles(core.clock));
    core.spend(work);
    co_await release(core, *in);
  }
}

Log exchange(const Connection& connection, std::size_t bytes, int windows, double producing,
             double consuming) {
  Network network(published_timing());
  const Network::Ends ends = network.connect(connection, bytes);
  Log log;
  network.add("producer", [&](Core core) { return produce(core, ends.output, windows, producing, &log); },
              {});
  network.add("consumer",
              [&](Core core) { return consume(core, ends.inputs.front(), windows, consuming, &log); }, {});
  EXPECT_TRUE(network.run());
  return log;
}

Connection through_dma(int hops) {
  Connection connection;
  connection.shared = false;
  connection.route.assign(static_cast<std::size_t>(hops), Direction::kEast);
  return connection;
}

TEST(Windows, InSharedMemoryAreHandedOverIn38Cycles) {
  const Log log = exchange({}, 16, 1, 100, 0);
  EXPECT_EQ(log.received[0] - log.sent[0], 38);
}

TEST(Windows, ThroughDmaTakeEnginesHopsAndWordsMore) {
  for (const int hops : {1, 10, 40}) {
    for (const std::size_t bytes : {16U, 8192U}) {
      const Log log = exchange(through_dma(hops), bytes, 1, 100, 0);
      EXPECT_EQ(log.received[0] - log.sent[0], 38 + 21.5 + 4 * hops + static_cast<double>(bytes) / 4);
    }
  }
}

TEST(Windows, AreTwoBuffersSoThatAProducerIsTwoAhead) {
  const Log log = exchange({}, 16, 5, 10, 1000);
  // The first two do not wait; each later one waits for a release of the consumer.
  EXPECT_EQ(log.sent[1] - log.sent[0], 45 + 21 + 10);
  for (std::size_t i = 2; i < 5; ++i) {
    const double released = log.received[i - 2] + 1000 + 30;  // the lock changes 30 cycles into the release
    EXPECT_EQ(log.sent[i], released + 8 + 10);
  }
}

TEST(Windows, ThroughDmaAreFourBuffers) {
  const Log log = exchange(through_dma(5), 16, 8, 10, 5000);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(log.sent[i] - log.sent[i - 1], 45 + 21 + 10) << i;
  EXPECT_GT(log.sent[4], log.received[0] + 5000);
}

TEST(Windows, WaitForTheSlowestConsumerOfAMulticast) {
  Network network(published_timing());
  const Network::Ends ends = network.multicast({3, 9}, 16);
  Log producer;
  Log fast;
  Log slow;
  network.add("producer", [&](Core core) { return produce(core, ends.output, 8, 10, &producer); }, {});
  network.add("fast", [&](Core core) { return consume(core, ends.inputs[0], 8, 0, &fast); }, {});
  network.add("slow", [&](Core core) { return consume(core, ends.inputs[1], 8, 3000, &slow); }, {});
  ASSERT_TRUE(network.run());
  EXPECT_LT(fast.received[1], 1000);
  for (std::size_t i = 2; i < 8; ++i) EXPECT_GT(fast.received[i], slow.received[i - 2] + 3000);
}

/// A window of 16 B takes 100 ns in the port.
HostPath slow_path() {
  HostPath path;
  path.port = Bandwidth::bits_per_second(1'600'000'000);
  path.turnaround = Time::ns(20);
  return path;
}

TEST(Windows, ToTheHostAreDrainedAtItsRate) {
  Time clock;
  OwnHostPort port(slow_path(), 16);
  HostSink sink(clock, port, slow_path());
  for (int i = 0; i < 10; ++i) {
    Task<void> waiting = sink.wait_empty();
    if (waiting.valid()) waiting.start();
    EXPECT_FALSE(sink.set_full().valid());
  }
  EXPECT_EQ(clock, Time::ns(8 * 100));  // two are still buffered
  Task<void> draining = sink.drain();
  draining.start();
  EXPECT_EQ(clock, Time::ns(10 * 100 + 200));
}

TEST(Windows, FromTheHostComeAtItsRate) {
  Time clock = Time::ns(10);
  OwnHostPort port(slow_path(), 16);
  HostSource source(clock, port, slow_path(), 16, 10);
  for (int i = 1; i <= 10; ++i) {
    Task<void> waiting = source.wait_full();
    waiting.start();
    EXPECT_EQ(clock, Time::ns(210 + 100 * i));
    EXPECT_FALSE(source.set_empty().valid());
  }
}

/// Derived from the steps of the model: the first call in closed form, while no buffer is full.
double closed_form(const Tree& tree, const Plan& plan, double elements, int node) {
  const Costs c;
  double t = c.call_head;
  const auto inputs = static_cast<double>(tree.children(node).size());
  for (const int child : acquisition_order(tree, plan, node)) {
    const Connection& way = plan.connections[static_cast<std::size_t>(child - 1)];
    const double passage = way.shared ? 0 : c.dma + elements + c.hop * way.hops();
    t = std::max(t + c.acquire_loop, closed_form(tree, plan, elements, child) + c.hand_over + passage);
  }
  const double element = inputs == 0 ? c.leaf_element : c.outer_element + c.input_element * inputs;
  return t + c.acquire_single + element * elements;
}

TEST(ReduceTrees, TakeTheTimeOfTheClosedForm) {
  std::mt19937 random(3);
  for (int i = 0; i < 60; ++i) {
    const int kernels = 1 + static_cast<int>(random() % 200);
    const int arity = 1 + static_cast<int>(random() % 5);
    const std::size_t bytes = std::size_t{16} << (random() % 8);
    const Tree tree = Tree::filled(kernels, arity);
    const Plan plan = plan_of(tree, static_cast<int>(bytes), static_cast<int>(bytes));
    ASSERT_EQ(plan.limit, "");
    const auto run = run_reduce(published_timing(), tree, plan, {{bytes, bytes}});
    ASSERT_TRUE(run.ok);
    const Costs c;
    const double n = static_cast<double>(bytes) / 4;
    const double step = n >= c.step_elements ? c.step : 0;
    EXPECT_EQ(cycles(run.calls.front()), closed_form(tree, plan, n, 0) +
                                             c.release * (1 + static_cast<double>(tree.children(0).size())) +
                                             c.call - c.call_head + step);
  }
}

TEST(ReduceTrees, SettleAtTheLevelTime) {
  // 145 + 48 k + 21 + 45 (k + 1) + (23 + 30 k) n with n = 4.
  for (const auto& [arity, level] : {std::pair{1, 516.0}, {2, 729.0}, {3, 942.0}, {4, 1155.0}, {5, 1368.0}}) {
    const Tree tree = Tree::filled(arity + 1, arity);
    ReduceOptions options;
    options.calls = 6;
    const auto run = run_reduce(published_timing(), tree, plan_of(tree, 16, 16), {{16, 16}}, options);
    EXPECT_EQ(cycles(run.calls.back()), level) << arity;
  }
}

TEST(ReduceTrees, WithVectorCodeOrInChunksAreFaster) {
  const Tree tree = Tree::filled(63, 2);
  const Plan plan = plan_of(tree, 128, 8192);
  const auto time = [&](std::size_t window, Code code) {
    return cycles(run_reduce(published_timing(), tree, plan, {{8192, window}, 4, 1, code}).last());
  };
  EXPECT_LT(time(128, Code::kScalar) * 4, time(8192, Code::kScalar));
  EXPECT_LT(time(2048, Code::kVector) * 50, time(8192, Code::kScalar));
}

TEST(Gathers, ThatPackWithVectorCodeBeatHeadersByFar) {
  const Tree tree = Tree::filled(255, 2);
  const Plan plan = plan_of(tree, 2048, 16);
  ASSERT_EQ(plan.limit, "");
  const auto time = [&](GatherDesign design, Code copies) {
    return cycles(run_gather(published_timing(), tree, plan, 16, 2048, design, copies).ends[0]);
  };
  const double serial = time(GatherDesign::kHeaderSerial, Code::kScalar);
  const double in_turns = time(GatherDesign::kHeaderInTurns, Code::kScalar);
  const double packed = time(GatherDesign::kPacked, Code::kVector);
  std::printf("gather of 255 x 16 B: header %.0f, in turns %.0f, packed %.0f cycles\n", serial, in_turns,
              packed);
  EXPECT_LT(in_turns, serial);
  EXPECT_LT(packed * 20, serial);
}

TEST(Memory, LimitsOfSection46) {
  const ArraySpec array;
  // The root of the benchmark has two inputs, and sends the result and the cycle counts to the host.
  EXPECT_EQ(window_bytes(4, 8192), 65536);
  EXPECT_EQ(window_bytes(4, 16384), 131072);
  Graph graph = graph_of(Tree::filled(7, 2), 8192, 8192);
  graph.to_host = {0, 0};
  EXPECT_EQ(fixed_limit(array, graph), "");
  graph.window_bytes = 16384;
  EXPECT_EQ(fixed_limit(array, graph), "a kernel needs 141344 B, but a core reaches only 131072 B");
  graph.window_bytes = 16;
  graph.data_bytes = 32768 - 2080;
  EXPECT_EQ(fixed_limit(array, graph), "");
  ++graph.data_bytes;
  EXPECT_EQ(fixed_limit(array, graph),
            "30689 B of local data with 2080 B of stack, heap and synchronisation take 32769 B of a module's "
            "32768 B");
  EXPECT_EQ(fixed_limit(array, graph_of(Tree::filled(15, 14), 16, 16)), "");
  EXPECT_EQ(fixed_limit(array, graph_of(Tree::filled(16, 15), 16, 16)),
            "a kernel has 15 windows, but only 14 are possible");
  EXPECT_EQ(fixed_limit(array, graph_of(Tree::filled(401, 2), 16, 16)),
            "401 kernels, but the array has 400 tiles");
}

TEST(Memory, DepthLimitOfEquation49) {
  const ArraySpec array;
  EXPECT_NEAR(depth_limit(array, 8192, 24 * 1024, 1024), 7.8, 0.05);  // as [aie-thesis] 4.6.3 computes it
  EXPECT_GT(depth_limit(array, 8192, 8192, 1024), 8);
  EXPECT_LT(depth_limit(array, 8192, 8192, 1024), 9);
}

}  // namespace
}  // namespace offramp::aie
