// The kernel allocates nothing in steady state. Counts the general allocator's calls; under a sanitizer the
// count and the pool are off, and these tests only run the networks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

#include "offramp/kernel/burst.hpp"
#include "offramp/kernel/frame_pool.hpp"
#include "offramp/kernel/wire.hpp"

namespace {
thread_local std::uint64_t allocations = 0;
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define OFFRAMP_COUNTS_ALLOCATIONS 1
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
#endif

namespace offramp {
namespace {

using detail::FramePool;

template <typename Work>
std::uint64_t allocations_in_steady_state(Work&& work) {
  for (int i = 0; i < 3; ++i) work();
  const std::uint64_t before = allocations;
  for (int i = 0; i < 100; ++i) work();
  return allocations - before;
}

Task<void> nested(Channel<int>& out, int depth) {
  if (depth > 0) {
    co_await nested(out, depth - 1);
  } else {
    co_await out.write(1);
  }
}

Task<void> source(Channel<int>& out) {
  for (int i = 0; i < 100; ++i) co_await nested(out, 5);
}

Task<void> bridge(Channel<int>& in, Wire<Burst>& wire) {
  Process& self = co_await this_process();
  for (int i = 0; i < 100; ++i) {
    const Time begin = self.clock;
    co_await in.read();
    co_await wire.send({}, 100);
    self.span("send", begin);
  }
}

Task<void> sink(Wire<Burst>& wire) {
  Process& self = co_await this_process();
  while (co_await wire.receive_until(self.clock + Time::us(100))) {
  }
}

void run_network(Scheduler& scheduler, const FaultRates& faults) {
  const WireSpec spec{.latency = Time::ns(1), .bandwidth = Bandwidth::gigabits_per_second(1)};
  Channel<int> channel(scheduler, 3);
  Wire<Burst> wire(scheduler, spec, 5, 0, faults);
  scheduler.spawn("source", source(channel));
  scheduler.spawn("bridge", bridge(channel, wire));
  scheduler.spawn("sink", sink(wire));
  EXPECT_TRUE(scheduler.run());
  scheduler.clear();
}

TEST(Allocation, NoneForANetworkBuiltRunAndClearedAgainAndAgain) {
  Scheduler scheduler;
  EXPECT_EQ(allocations_in_steady_state([&] { run_network(scheduler, {}); }), 0U);
}

TEST(Allocation, NoneForAWireWithFaults) {
  Scheduler scheduler;
  const FaultRates faults{.seed = 1, .loss = 0.1, .duplication = 0.1, .reordering = 0.1};
  EXPECT_EQ(allocations_in_steady_state([&] { run_network(scheduler, faults); }), 0U);
}

TEST(Allocation, NoneForManyProcessesAtOnce) {
  Scheduler scheduler;
  const auto work = [&] {
    Channel<int> channel(scheduler, 1000);
    for (int i = 0; i < 1000; ++i) scheduler.spawn("process", nested(channel, 2));
    EXPECT_TRUE(scheduler.run());
    scheduler.clear();
  };
  EXPECT_EQ(allocations_in_steady_state(work), 0U);
}

TEST(Allocation, NoneWhileANetworkRunsForLong) {
  // Two independent pairs, so that the ready queue is never empty.
  Scheduler scheduler;
  Channel<int> a(scheduler, 1), b(scheduler, 1);
  const auto writer = [](Channel<int>& out, std::uint64_t& made) -> Task<void> {
    for (int i = 0; i < 100; ++i) co_await out.write(i);
    const std::uint64_t before = allocations;
    for (int i = 0; i < 20'000; ++i) co_await out.write(i);
    made = allocations - before;
  };
  const auto reader = [](Channel<int>& in) -> Task<void> {
    for (int i = 0; i < 20'100; ++i) co_await in.read();
  };
  std::uint64_t made[2] = {1, 1};
  scheduler.spawn("writer", writer(a, made[0]));
  scheduler.spawn("writer", writer(b, made[1]));
  scheduler.spawn("reader", reader(a));
  scheduler.spawn("reader", reader(b));
  EXPECT_TRUE(scheduler.run());
  EXPECT_EQ(made[0], 0U);
  EXPECT_EQ(made[1], 0U);
}

class Sink : public SpanSink {
 public:
  void record(const Span&) override { ++count; }
  int count = 0;
};

TEST(Allocation, SpansDoNotAllocateInTheKernel) {
  Sink spans;
  Scheduler scheduler;
  scheduler.observe(&spans, 1);
  EXPECT_EQ(allocations_in_steady_state([&] { run_network(scheduler, {}); }), 0U);
  EXPECT_EQ(spans.count, 103 * 100);
}

#if defined(OFFRAMP_COUNTS_ALLOCATIONS)
TEST(FramePool, ReusesAReleasedBlock) {
  for (const std::size_t size : {1U, 64U, 65U, 4096U, 4097U, 8192U, 8193U, 65536U, 65537U, 1048576U}) {
    void* first = FramePool::allocate(size);
    FramePool::release(first, size);
    void* second = FramePool::allocate(size);
    EXPECT_EQ(first, second) << size;
    FramePool::release(second, size);
  }
}

TEST(FramePool, PassesOnLargeRequests) {
  constexpr std::size_t kSize = (std::size_t{1} << 20U) + 1;
  const std::uint64_t before = allocations;
  for (int i = 0; i < 3; ++i) FramePool::release(FramePool::allocate(kSize), kSize);
  EXPECT_EQ(allocations - before, 3U);
}

TEST(FramePool, DoesNotHoardBlocksOfOtherThreads) {
  constexpr std::size_t kSize = 65'536;
  std::vector<void*> blocks;
  std::thread other([&] {
    for (int i = 0; i < 100; ++i) blocks.push_back(FramePool::allocate(kSize));
  });
  other.join();
  for (void* block : blocks) FramePool::release(block, kSize);
  blocks.clear();
  const std::uint64_t before = allocations;
  for (int i = 0; i < 100; ++i) blocks.push_back(FramePool::allocate(kSize));
  EXPECT_GE(allocations - before, 100U - 16U);
  for (void* block : blocks) FramePool::release(block, kSize);
}

TEST(FramePool, KeepsAsManySmallBlocksAsItMadeUntilItIsTrimmed) {
  constexpr std::size_t kSize = 4000;
  constexpr std::size_t kMany = 2000;  // more than the pool keeps otherwise
  std::vector<void*> blocks(kMany);
  const auto taken = [&] {
    const std::uint64_t before = allocations;
    for (void*& block : blocks) block = FramePool::allocate(kSize);
    const std::uint64_t made = allocations - before;
    for (void* block : blocks) FramePool::release(block, kSize);
    return made;
  };
  taken();
  EXPECT_EQ(taken(), 0U);
  FramePool::trim();
  EXPECT_GE(taken(), kMany - (std::size_t{1} << 20U) / 4008U);
}
#endif

TEST(FramePool, BlocksOfEverySizeAreUsableAndDistinct) {
  std::vector<std::pair<unsigned char*, std::size_t>> blocks;
  for (int round = 0; round < 2; ++round) {
    for (std::size_t size = 1; size <= 1'200'000; size += 1 + size / 7) {
      auto* block = static_cast<unsigned char*>(FramePool::allocate(size));
      for (std::size_t i = 0; i < size; ++i) block[i] = static_cast<unsigned char>(size);
      blocks.emplace_back(block, size);
    }
    for (const auto& [block, size] : blocks) {
      EXPECT_EQ(block[0], static_cast<unsigned char>(size));
      EXPECT_EQ(block[size - 1], static_cast<unsigned char>(size));
      FramePool::release(block, size);
    }
    blocks.clear();
  }
}

TEST(PooledMemory, HasPiecesOfEverySize) {
  detail::PooledMemory memory;
  std::vector<std::pair<std::byte*, std::size_t>> pieces;
  for (const std::size_t size : {0U, 1U, 48U, 49U, 4096U, 65536U, 2000000U}) {
    std::byte* const piece = memory.allocate(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(piece) % __STDCPP_DEFAULT_NEW_ALIGNMENT__, 0U);
    std::fill_n(piece, size, static_cast<std::byte>(pieces.size()));
    pieces.emplace_back(piece, size);
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto [piece, size] = pieces[i];
    EXPECT_EQ(std::count(piece, piece + size, static_cast<std::byte>(i)), static_cast<std::ptrdiff_t>(size));
  }
}

struct ReleasesAtExit {
  void* block = nullptr;
  ~ReleasesAtExit() { FramePool::release(block, 128); }
};

TEST(FramePool, TakesBlocksAfterItsThreadsPoolHasClosed) {
  std::thread([] {
    static thread_local ReleasesAtExit late;  // constructed before the pool's closer, so destroyed after it
    late.block = FramePool::allocate(128);
    FramePool::release(FramePool::allocate(256), 256);
  }).join();
}

}  // namespace
}  // namespace offramp
