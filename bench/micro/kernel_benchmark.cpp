// Costs of the simulation kernel on the host: per channel hop, process resume, burst, wire packet and spawned
// network.
//
// Each benchmark reports the time for "each" item (the thing in its name) and "allocations" per iteration in
// steady state.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include "offramp/kernel/burst.hpp"
#include "offramp/kernel/channel.hpp"
#include "offramp/kernel/event_queue.hpp"
#include "offramp/kernel/random.hpp"
#include "offramp/kernel/scheduler.hpp"
#include "offramp/kernel/wire.hpp"

namespace {
std::uint64_t allocations = 0;
}

// Not inlined: g++ would see malloc() paired with delete and warn.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace offramp {
namespace {

constexpr std::int64_t kItems = 4096;

/// Counts allocations from construction on, and writes the results in the destructor.
class Meter {
 public:
  Meter(benchmark::State& state, std::int64_t items_per_iteration)
      : state_(state), items_(items_per_iteration), before_(allocations) {}
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;
  ~Meter() {
    const auto made = static_cast<double>(allocations - before_);
    state_.counters["allocations"] = made / static_cast<double>(state_.iterations());
    state_.counters["each"] =
        benchmark::Counter(static_cast<double>(items_),
                           benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  }

 private:
  benchmark::State& state_;
  std::int64_t items_;
  std::uint64_t before_;
};

Task<void> produce(Channel<std::uint64_t>& out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) co_await out.write(static_cast<std::uint64_t>(i));
}

Task<void> consume(Channel<std::uint64_t>& in, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) benchmark::DoNotOptimize(co_await in.read());
}

Task<void> consume_until(Channel<std::uint64_t>& in, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) benchmark::DoNotOptimize(co_await in.read_until(Time::ms(1000)));
}

Task<void> forward(Channel<std::uint64_t>& in, Channel<std::uint64_t>& out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t token = co_await in.read();
    co_await delay(Time::ns(1));
    co_await out.write(token);
  }
}

/// Runs `network` once to warm up, then for the benchmark; the scheduler is the same throughout.
template <typename Network>
void measure(benchmark::State& state, std::int64_t items, Network&& network) {
  Scheduler scheduler;
  network(scheduler);
  const Meter meter(state, items);
  for (auto _ : state) network(scheduler);
}

void run_and_clear(Scheduler& scheduler) {
  if (!scheduler.run()) std::abort();
  scheduler.clear();
}

/// A write and a read, with their share of the switches between the two processes.
void ChannelHop(benchmark::State& state) {
  const auto capacity = static_cast<std::size_t>(state.range(0));
  measure(state, kItems, [&](Scheduler& scheduler) {
    Channel<std::uint64_t> channel(scheduler, capacity);
    scheduler.spawn("producer", produce(channel, kItems));
    scheduler.spawn("consumer", consume(channel, kItems));
    run_and_clear(scheduler);
  });
}
BENCHMARK(ChannelHop)->Arg(1)->Arg(2)->Arg(4)->Arg(16)->Arg(64);

void ChannelHopWithDeadline(benchmark::State& state) {
  const auto capacity = static_cast<std::size_t>(state.range(0));
  measure(state, kItems, [&](Scheduler& scheduler) {
    Channel<std::uint64_t> channel(scheduler, capacity);
    scheduler.spawn("producer", produce(channel, kItems));
    scheduler.spawn("consumer", consume_until(channel, kItems));
    run_and_clear(scheduler);
  });
}
BENCHMARK(ChannelHopWithDeadline)->Arg(1)->Arg(16);

/// A pipeline of four stages: per hop, with a delay in each stage.
void PipelineHop(benchmark::State& state) {
  measure(state, kItems * 5, [](Scheduler& scheduler) {
    Channel<std::uint64_t> a(scheduler, 4), b(scheduler, 4), c(scheduler, 4), d(scheduler, 4),
        e(scheduler, 4);
    scheduler.spawn("producer", produce(a, kItems));
    scheduler.spawn("stage 1", forward(a, b, kItems));
    scheduler.spawn("stage 2", forward(b, c, kItems));
    scheduler.spawn("stage 3", forward(c, d, kItems));
    scheduler.spawn("stage 4", forward(d, e, kItems));
    scheduler.spawn("consumer", consume(e, kItems));
    run_and_clear(scheduler);
  });
}
BENCHMARK(PipelineHop);

struct Yield {
  Scheduler& scheduler;
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> self) const { scheduler.ready(self); }
  void await_resume() const noexcept {}
};

Task<void> yield(Scheduler& scheduler, std::int64_t count) {
  Yield once{scheduler};
  for (std::int64_t i = 0; i < count; ++i) co_await once;
}

/// Suspend, queue, resume; the argument is the number of processes.
void ProcessResume(benchmark::State& state) {
  const std::int64_t processes = state.range(0);
  measure(state, kItems * processes, [&](Scheduler& scheduler) {
    for (std::int64_t i = 0; i < processes; ++i) scheduler.spawn("process", yield(scheduler, kItems));
    run_and_clear(scheduler);
  });
}
BENCHMARK(ProcessResume)->Arg(1)->Arg(8)->Arg(64);

Task<void> nothing() {
  co_return;
}

Task<void> call(std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) co_await nothing();
}

/// Awaiting a task that does nothing: a frame from the pool and back.
void TaskCall(benchmark::State& state) {
  measure(state, kItems, [](Scheduler& scheduler) {
    scheduler.spawn("caller", call(kItems));
    run_and_clear(scheduler);
  });
}
BENCHMARK(TaskCall);

/// The closed form by itself. Argument: 0 service is the bottleneck, 1 arrivals are, 2 a backlog splits the
/// burst.
void BurstServe(benchmark::State& state) {
  const Time service = Time::ns(state.range(0) == 0 ? 7 : 3);
  const Burst in{
      .payload = {}, .first = Time::ns(100), .period = Time::ns(5), .packets = 64, .packet_bytes = 64};
  Time free = state.range(0) == 2 ? Time::ns(130) : Time{};
  benchmark::DoNotOptimize(free);
  const Meter meter(state, 1);
  for (auto _ : state) {
    benchmark::DoNotOptimize(serve(in, service, free, [](Burst out) { benchmark::DoNotOptimize(out); }));
  }
}
BENCHMARK(BurstServe)->Arg(0)->Arg(1)->Arg(2);

Task<void> burst_source(Channel<Burst>& out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const Time first = Time::ns(1000 * i);
    co_await out.write_at({{}, first, Time::ns(5), 64, 64}, first);
  }
}

Task<void> burst_server(Channel<Burst>& in, Channel<Burst>& out, Time service, std::int64_t count) {
  Time free;
  Burst pieces[2];
  for (std::int64_t i = 0; i < count; ++i) {
    const Burst burst = co_await in.read();
    std::size_t made = 0;
    free = serve(burst, service, free, [&](const Burst& piece) { pieces[made++] = piece; });
    for (std::size_t k = 0; k < made; ++k) co_await out.write_at(pieces[k], pieces[k].first);
  }
}

Task<void> burst_sink(Channel<Burst>& in, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) benchmark::DoNotOptimize(co_await in.read());
}

/// A burst of 64 packets through a server process: two hops and serve().
void BurstThroughServer(benchmark::State& state) {
  measure(state, kItems, [](Scheduler& scheduler) {
    Channel<Burst> in(scheduler, 8), out(scheduler, 8);
    scheduler.spawn("source", burst_source(in, kItems));
    scheduler.spawn("server", burst_server(in, out, Time::ns(7), kItems));
    scheduler.spawn("sink", burst_sink(out, kItems));
    run_and_clear(scheduler);
  });
}
BENCHMARK(BurstThroughServer);

Task<void> wire_source(Wire<std::uint64_t>& wire, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) co_await wire.send(static_cast<std::uint64_t>(i), 1024);
}

Task<void> wire_sink(Wire<std::uint64_t>& wire) {
  while (auto packet = co_await wire.receive_until(Time::ms(1000))) benchmark::DoNotOptimize(*packet);
}

/// Argument: 0 a perfect wire, 1 one that loses, duplicates and reorders one packet in a hundred each.
void WirePacket(benchmark::State& state) {
  FaultRates faults;
  if (state.range(0) == 1) faults = {.seed = 1, .loss = 0.01, .duplication = 0.01, .reordering = 0.01};
  const WireSpec spec{Time::ns(500), Bandwidth::gigabits_per_second(100), 54, 4096};
  measure(state, kItems, [&](Scheduler& scheduler) {
    Wire<std::uint64_t> wire(scheduler, spec, 16, 0, faults);
    scheduler.spawn("source", wire_source(wire, kItems));
    scheduler.spawn("sink", wire_sink(wire));
    run_and_clear(scheduler);
  });
}
BENCHMARK(WirePacket)->Arg(0)->Arg(1);

/// Creates, runs and clears a chain with one token, including channels and processes. Argument: processes.
void Network(benchmark::State& state) {
  const std::int64_t processes = state.range(0);
  measure(state, 1, [&](Scheduler& scheduler) {
    Channel<std::uint64_t> a(scheduler, 4), b(scheduler, 4), c(scheduler, 4), d(scheduler, 4);
    Channel<std::uint64_t>* chain[] = {&a, &b, &c, &d};
    const auto last = static_cast<std::size_t>(processes - 2);
    scheduler.spawn("producer", produce(*chain[0], 1));
    for (std::size_t i = 0; i < last; ++i) scheduler.spawn("stage", forward(*chain[i], *chain[i + 1], 1));
    scheduler.spawn("consumer", consume(*chain[last], 1));
    run_and_clear(scheduler);
  });
}
BENCHMARK(Network)->Arg(2)->Arg(5);

/// The standard library's binary heap with the same order, for comparison with EventQueue.
template <typename Event>
class BinaryHeap {
 public:
  using Entry = typename EventQueue<Event>::Entry;
  void push(Time at, std::uint32_t rank, const Event& event) {
    entries_.push_back({at, std::uint64_t{rank} << 40 | number_++, event});
    std::push_heap(entries_.begin(), entries_.end(), later_first);
  }
  Entry pop() {
    std::pop_heap(entries_.begin(), entries_.end(), later_first);
    const Entry entry = entries_.back();
    entries_.pop_back();
    return entry;
  }

 private:
  static bool later_first(const Entry& a, const Entry& b) { return b < a; }
  std::vector<Entry> entries_;
  std::uint64_t number_ = 0;
};

struct WorldEvent {
  std::uint64_t subject;
  std::uint32_t kind;
};

/// A simulation in steady state ("hold"): each event creates one. Arguments: the number of pending events,
/// and the largest distance of a rank's next event, in ps.
template <template <typename> typename Queue>
void HoldEvents(benchmark::State& state) {
  const auto pending = static_cast<std::uint32_t>(state.range(0));
  const auto ahead = static_cast<std::uint64_t>(state.range(1));
  Queue<WorldEvent> queue;
  std::uint64_t random = 88172645463325252ULL;
  const auto draw = [&] { return static_cast<std::int64_t>(xorshift(random) % ahead); };
  for (std::uint32_t i = 0; i < pending; ++i) queue.push(Time::ps(draw()), i, {i, 0});
  const auto turn = [&] {
    const auto entry = queue.pop();
    queue.push(entry.at + Time::ps(draw()), entry.rank(), entry.event);
  };
  for (std::uint32_t i = 0; i < 4 * pending; ++i) turn();
  const Meter meter(state, kItems);
  for (auto _ : state) {
    for (std::int64_t i = 0; i < kItems; ++i) turn();
  }
}
BENCHMARK(HoldEvents<EventQueue>)->ArgsProduct({{16, 1024, 65536, 1048576}, {1000, 2000000}});
BENCHMARK(HoldEvents<BinaryHeap>)->ArgsProduct({{16, 1024, 65536, 1048576}, {1000, 2000000}});

}  // namespace
}  // namespace offramp

BENCHMARK_MAIN();
