// The driver: its memorised times against the network itself, and calls as the program sees them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <new>

#include "backends/zrlmpi/zrlmpi.hpp"
#include "tests/cluster.hpp"
#include "tests/message_stages.hpp"
#include "tests/timed_cluster.hpp"
#include "tests/zrlmpi/support.hpp"

namespace {
thread_local std::uint64_t allocations = 0;
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Counted; not inlined: g++ would see malloc() paired with delete and warn.
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

namespace offramp::zrlmpi {
namespace {

constexpr Time kCommand = Time::ns(200);  // the parameter's default
constexpr Time kBounceLatency = Time::ps(52 * 6400);

struct Driver {
  explicit Driver(const std::vector<std::pair<std::string, Settings::Value>>& values = {},
                  const FaultRates& faults = {}, int ranks = 4) {
    for (const auto& [name, value] : values) settings.set(name, value);
    backend = staged(zrlmpi_backend().create({0, ranks, settings, faults, nullptr}));
  }
  StagedBackend* operator->() const { return backend.get(); }

  Settings settings = Settings::defaults(zrlmpi_backend().parameters);
  std::unique_ptr<StagedBackend> backend;
  ManyUnits sender;
  ManyUnits receiver;
};

Transfer message(std::size_t bytes, bool synchronous = false, std::uint32_t number = 0) {
  Transfer transfer;
  transfer.destination = 1;
  transfer.bytes = bytes;
  transfer.synchronous = synchronous;
  transfer.number = number;
  return transfer;
}

/// The network itself, packet by packet.
ExchangeResult network(const MpeSpec& spec, std::size_t bytes, Time begin, Time ready) {
  ExchangeRequest request = request_of(bytes);
  request.begin = begin;
  request.ready = ready;
  request.packets = true;
  return ExchangeRunner(spec).run(request);
}

TEST(ZrlmpiBackend, EagerMessagesTakeTheTimeOfTheNetwork) {
  Driver driver;
  for (const Time issued : {Time(), Time::ns(12345), Time::ms(77)}) {
    for (const std::size_t bytes : {0U, 1U, 1000U, 1384U, 1385U, 20000U, 65536U}) {
      ManyUnits sender;
      ManyUnits receiver;
      const Departure departure = driver->depart(message(bytes), issued, sender);
      const ExchangeResult call = network(MpeSpec(), bytes, issued + kCommand, {});
      EXPECT_FALSE(departure.handshake);
      EXPECT_EQ(departure.host_free, issued + kCommand);
      EXPECT_EQ(departure.complete, call.complete);
      EXPECT_EQ(departure.passage.first, call.first);
      EXPECT_EQ(departure.passage.last, call.last);
      EXPECT_EQ(driver->receive(message(bytes), departure.passage, issued, receiver), call.last + kCommand);
    }
  }
}

TEST(ZrlmpiBackend, AnUnexpectedMessageWaitsInBounceMemory) {
  Driver driver;
  const Departure departure = driver->depart(message(1000), {}, driver.sender);
  const ExchangeResult call = network(MpeSpec(), 1000, kCommand, {});
  ManyUnits early;
  EXPECT_EQ(driver->receive(message(1000), departure.passage, call.request, early), call.last + kCommand);
  ManyUnits late;
  const Time copy = kBounceLatency + Time::ns(100);  // 1000 bytes at 10 GB/s
  EXPECT_EQ(driver->receive(message(1000), departure.passage, call.request + Time::ps(1), late),
            call.last + copy + kCommand);
  ManyUnits later;
  EXPECT_EQ(driver->receive(message(1000), departure.passage, Time::ms(9), later),
            Time::ms(9) + copy + kCommand);
}

// A late receiver can be answered without running the network, with equal results, even close to the timer.
TEST(ZrlmpiBackend, ALateReceiverTakesTheTimeOfTheNetwork) {
  const MpeSpec spec;
  std::vector<Time> lates = {{}, Time::ns(700), Time::us(3), Time::ms(100), Time::ms(2000), Time::ms(30000)};
  for (int i = -30; i < 30; ++i) lates.push_back(Time::ms(200) + Time::ns(100) * i);
  for (const Time issued : {Time(), Time::ns(4321)}) {
    for (const std::size_t bytes : {0U, 1000U, 70000U}) {
      for (const Time late : lates) {
        Driver driver;
        const Transfer transfer = message(bytes, true);
        const Departure departure = driver->depart(transfer, issued, driver.sender);
        ASSERT_TRUE(departure.handshake);
        const Time posted = issued + late;
        const Passage reply = driver->match(transfer, departure.passage, posted);
        const ExchangeResult call = network(spec, bytes, issued + kCommand, posted);
        EXPECT_FALSE(reply.failed);
        EXPECT_EQ(reply.leaves, call.data) << late.count();
        EXPECT_EQ(reply.complete, call.complete) << late.count();
        EXPECT_EQ(driver->receive(transfer, departure.passage, posted, driver.receiver),
                  call.last + kCommand);
        EXPECT_EQ(driver->wire().retransmissions, call.wire.retransmissions) << late.count();
        EXPECT_EQ(driver->wire().packets, call.wire.packets) << late.count();
      }
    }
  }
}

// A latency beyond the timers repeats packets although none is lost; memorised times do not hide that.
TEST(ZrlmpiBackend, TimersShorterThanARoundTripAreNotMemorised) {
  Driver driver({{"timer", {0.01, {}}}, {"latency", {100000, {}}}});
  MpeSpec spec;
  spec.timer_counts = 1562;
  spec.line.latency = Time::us(100);
  for (int rank = 0; rank < 3; ++rank) {
    Transfer transfer = message(100);
    transfer.source = rank;
    transfer.destination = 3;
    ManyUnits units;
    ExchangeRequest request = request_of(100);
    request.source = rank;
    request.destination = 3;
    request.begin = kCommand;
    const ExchangeResult call = ExchangeRunner(spec).run(request);
    EXPECT_GT(call.wire.retransmissions, 0U);
    EXPECT_EQ(driver->depart(transfer, {}, units).complete, call.complete);
  }
}

TEST(ZrlmpiBackend, ShakesHandsBeyondTheEagerLimitAndWhenAskedTo) {
  Driver driver;
  EXPECT_FALSE(driver->depart(message(65536), {}, driver.sender).handshake);
  EXPECT_TRUE(driver->depart(message(65537), {}, driver.sender).handshake);
  EXPECT_TRUE(driver->depart(message(0, true), {}, driver.sender).handshake);
}

TEST(ZrlmpiBackend, AMessageToItselfNeverReachesTheNetwork) {
  Driver driver;
  Transfer transfer = message(10000);
  transfer.destination = 0;
  const Departure departure = driver->depart(transfer, {}, driver.sender);
  EXPECT_FALSE(departure.handshake);
  EXPECT_EQ(departure.complete, kCommand + kBounceLatency + Time::us(1));
  EXPECT_EQ(driver->receive(transfer, departure.passage, {}, driver.receiver), departure.complete + kCommand);
  transfer.synchronous = true;
  const Departure waits = driver->depart(transfer, {}, driver.sender);
  EXPECT_TRUE(waits.handshake);
  const Passage reply = driver->match(transfer, waits.passage, Time::ms(1));
  EXPECT_EQ(reply.complete, Time::ms(1));
  EXPECT_EQ(driver->wire().packets, 0U);
}

// The engine has one call at a time (read in [zrlmpi-src]: the states in mpe.hpp): sends of any size follow
// each other.
TEST(ZrlmpiBackend, SendsFollowEachOtherOnTheSendMachine) {
  Driver driver;
  Time expected = kCommand;
  for (const std::size_t bytes : {100U, 5000U, 0U, 60000U}) {
    expected += network(MpeSpec(), bytes, {}, {}).complete;
    EXPECT_EQ(driver->depart(message(bytes), {}, driver.sender).complete, expected);
  }
}

TEST(ZrlmpiBackend, DoesNotAllocateForAKnownSize) {
  Driver driver;
  const auto round = [&](std::size_t bytes) {
    const Transfer eager = message(bytes);
    const Transfer waits = message(bytes, true);
    EXPECT_TRUE(driver->supports(Operation()).yes());
    const Departure departure = driver->depart(eager, {}, driver.sender);
    (void)driver->receive(eager, departure.passage, {}, driver.receiver);
    const Departure handshake = driver->depart(waits, {}, driver.sender);
    (void)driver->match(waits, handshake.passage, handshake.passage.first);
    (void)driver->receive(waits, handshake.passage, handshake.passage.first, driver.receiver);
  };
  round(8);
  round(4096);
  const std::uint64_t before = allocations;
  for (int i = 0; i < 100; ++i) {
    round(8);
    round(4096);
  }
  EXPECT_EQ(allocations, before);
}

TEST(ZrlmpiBackend, FaultsCostOnlyTime) {
  Driver whole;
  std::uint64_t slower = 0;
  for (std::uint32_t number = 0; number < 200; ++number) {
    Driver faulty({}, {1, 0.02, 0.02, 0.02});
    for (const std::size_t bytes : {10U, 5000U, 70000U}) {
      ManyUnits a;
      ManyUnits b;
      const Departure good = whole->depart(message(bytes, false, number), {}, a);
      const Departure bad = faulty->depart(message(bytes, false, number), {}, b);
      EXPECT_EQ(good.handshake, bad.handshake);
      EXPECT_EQ(good.host_free, bad.host_free);
      EXPECT_FALSE(bad.passage.failed);
      EXPECT_GE(bad.complete, good.complete);
      if (bad.complete > good.complete + Time::ms(100)) ++slower;
      ManyUnits c;
      EXPECT_GE(faulty->receive(message(bytes, false, number), bad.passage, {}, c),
                whole->receive(message(bytes, false, number), good.passage, {}, a));
    }
  }
  EXPECT_GT(slower, 0U);
}

TEST(ZrlmpiBackend, GivesBothEndsTheFault) {
  for (const bool synchronous : {false, true}) {
    std::uint64_t failed = 0;
    for (std::uint32_t number = 0; number < 200; ++number) {
      Driver driver({{"retries", {0, {}}}}, {1, 0.3, 0, 0});
      const Time issued = Time::us(50);
      const Transfer transfer = message(3000, synchronous, number);
      const Departure departure = driver->depart(transfer, issued, driver.sender);
      const Passage seen =
          synchronous ? driver->match(transfer, departure.passage, issued) : departure.passage;
      for (const Time at : {departure.passage.first, departure.passage.last, seen.leaves, seen.complete})
        EXPECT_GE(at, issued);
      EXPECT_GE(departure.passage.last, departure.passage.first);
      EXPECT_GE(driver.sender[0].free_at(), issued);
      EXPECT_GE(driver->receive(transfer, departure.passage, issued, driver.receiver), issued);
      failed += seen.failed ? 1 : 0;
      ExchangeRequest request = request_of(3000);
      request.faults = {1, 0.3, 0, 0};
      request.first_packet = std::uint64_t{number} << 32;
      MpeSpec spec;
      spec.retries = 0;
      EXPECT_EQ(seen.failed, !ExchangeRunner(spec).run(request).ok());
    }
    EXPECT_GT(failed, 0U);
    EXPECT_LT(failed, 200U);
  }
}

Operation operation(OperationKind kind, ElementType element = ElementType::kInt32) {
  Operation operation;
  operation.kind = kind;
  operation.element = element;
  operation.bytes = 400;
  operation.ranks = 4;
  operation.function = kind == OperationKind::kReduce ? ReduceFunction::kSum : ReduceFunction::kNone;
  return operation;
}

TEST(ZrlmpiBackend, CarriesExactlyTheOperationsOfTheToolChain) {
  Driver driver;
  for (const OperationKind kind : {OperationKind::kSend, OperationKind::kBcast, OperationKind::kReduce,
                                   OperationKind::kGather, OperationKind::kScatter, OperationKind::kAllreduce,
                                   OperationKind::kAllgather, OperationKind::kBarrier})
    EXPECT_TRUE(driver->supports(operation(kind, ElementType::kFloat64)).yes());
  for (const OperationKind kind : {OperationKind::kAlltoall, OperationKind::kReduceScatter})
    EXPECT_EQ(driver->supports(operation(kind)).reason, "the tool chain has no such collective");
}

TEST(ZrlmpiBackend, DeclinesMessagesThatTheSizeFieldCannotCount) {
  Driver driver;
  Operation send = operation(OperationKind::kSend);
  send.bytes = kMaximumMessageBytes;
  EXPECT_TRUE(driver->supports(send).yes());
  ++send.bytes;
  EXPECT_EQ(driver->supports(send).reason, "a message is at most 2^32 - 1 words of 32 bits");
  Operation gather = operation(OperationKind::kGather);
  gather.bytes = kMaximumMessageBytes / 2;  // a replicator forwards its group's blocks at once
  EXPECT_EQ(driver->supports(gather).reason,
            "a message of several ranks' blocks is at most 2^32 - 1 words of 32 bits");
  EXPECT_TRUE(Driver({{"collectives", {0, "linear"}}})->supports(gather).yes());
  gather.bytes = kMaximumMessageBytes / 3;  // of four ranks, a root keeps one block
  EXPECT_TRUE(driver->supports(gather).yes());
  gather.ranks = 5;
  EXPECT_FALSE(driver->supports(gather).yes());
  gather.ranks = 4;
  gather.bytes = ~std::size_t{0} / 2;
  EXPECT_FALSE(driver->supports(gather).yes());
}

TEST(ZrlmpiBackend, DeclinesWithReasonsWhenItIsStrict) {
  Driver driver({{"strict", {1, {}}}});
  EXPECT_TRUE(driver->supports(operation(OperationKind::kSend)).yes());
  EXPECT_TRUE(driver->supports(operation(OperationKind::kSend, ElementType::kFloat32)).yes());
  EXPECT_TRUE(driver->supports(operation(OperationKind::kBarrier, ElementType::kByte)).yes());
  EXPECT_EQ(driver->supports(operation(OperationKind::kSend, ElementType::kFloat64)).reason,
            "the strict header has only INT and FLOAT");
  Operation tagged = operation(OperationKind::kSend);
  tagged.tag = 3;
  EXPECT_EQ(driver->supports(tagged).reason, "the strict header has no tag");
  Operation empty = operation(OperationKind::kBcast, ElementType::kByte);
  EXPECT_FALSE(driver->supports(empty).yes());
  empty.bytes = 0;
  EXPECT_TRUE(driver->supports(empty).yes());  // no element, no type
  Operation product = operation(OperationKind::kReduce);
  product.function = ReduceFunction::kProduct;
  EXPECT_EQ(driver->supports(product).reason, "the tool chain has only SUM reductions");
}

TEST(ZrlmpiBackend, DeclinesWorldsBeyondTheShellsNodes) {
  EXPECT_TRUE(Driver({}, {}, 64)->supports(operation(OperationKind::kSend)).yes());
  EXPECT_EQ(Driver({}, {}, 65)->supports(operation(OperationKind::kSend)).reason,
            "the shell supports at most 64 nodes");
}

AffineMap element_of(int rank) {
  const auto r = static_cast<std::uint32_t>(rank);
  return {3 + 2 * r, 100 + r};
}

Bytes bytes_of(const AffineMap& map) {
  return std::as_bytes(std::span(&map, 1));
}

void expect_collectives_are_right(int ranks, const std::string& order) {
  Settings settings = Settings::defaults(zrlmpi_backend().parameters);
  settings.set("collectives", {0, order});
  Cluster cluster(ranks, zrlmpi_backend(), settings);
  AffineComposition reducer;  // does not commute
  AffineMap expected = element_of(0);
  for (int r = 1; r < ranks; ++r) expected = compose(expected, element_of(r));
  Buffer blocks;
  for (int r = 0; r < ranks; ++r) {
    const Buffer block = pattern(24, static_cast<std::uint32_t>(r));
    blocks.insert(blocks.end(), block.begin(), block.end());
  }
  const std::string stuck = cluster.run([&](ClusterRank& rank) -> Task<void> {
    const Buffer mine = pattern(24, static_cast<std::uint32_t>(rank.rank()));
    const AffineMap element = element_of(rank.rank());
    for (int root = 0; root < ranks; ++root) {
      Buffer buffer = rank.rank() == root ? mine : Buffer(24);
      EXPECT_EQ(co_await rank.bcast(buffer, root), Outcome::kOk);
      EXPECT_EQ(buffer, pattern(24, static_cast<std::uint32_t>(root)));
      Buffer all(rank.rank() == root ? blocks.size() : 0);
      EXPECT_EQ(co_await rank.gather(mine, all, root), Outcome::kOk);
      if (rank.rank() == root) {
        EXPECT_EQ(all, blocks);
      }
      Buffer part(24);
      const Buffer nothing;
      const Bytes parts = rank.rank() == root ? Bytes(blocks) : Bytes(nothing);
      EXPECT_EQ(co_await rank.scatter(parts, part, root), Outcome::kOk);
      EXPECT_EQ(part, mine);
      AffineMap total;
      MutableBytes into = std::as_writable_bytes(std::span(&total, 1));
      if (rank.rank() != root) into = {};
      EXPECT_EQ(co_await rank.reduce(bytes_of(element), into, root, reducer), Outcome::kOk);
      if (rank.rank() == root) {
        EXPECT_EQ(total, expected) << "root " << root;
      }
    }
    AffineMap total;
    const MutableBytes into = std::as_writable_bytes(std::span(&total, 1));
    EXPECT_EQ(co_await rank.allreduce(bytes_of(element), into, reducer), Outcome::kOk);
    EXPECT_EQ(total, expected);
    Buffer all(blocks.size());
    EXPECT_EQ(co_await rank.allgather(mine, all), Outcome::kOk);
    EXPECT_EQ(all, blocks);
    EXPECT_EQ(co_await rank.barrier(), Outcome::kOk);
  });
  EXPECT_EQ(stuck, "");
  EXPECT_EQ(cluster.engine(0).lane().counters.calls[0].declined, 0U);
}

TEST(ZrlmpiCollectives, AreRightForEveryRootAndNumberOfRanks) {
  for (const std::string order : {"linear", "tree"}) {
    for (int ranks = 1; ranks <= 10; ++ranks) expect_collectives_are_right(ranks, order);
  }
}

TEST(ZrlmpiCollectives, TheTreeBeatsTheLinearOrderBeyondOneGroup) {
  const auto time_of = [](const std::string& order) {
    Settings settings = Settings::defaults(zrlmpi_backend().parameters);
    settings.set("collectives", {0, order});
    TimedCluster cluster(17, zrlmpi_backend(), settings);
    EXPECT_EQ(cluster.run([](TimedRank& rank) -> Task<void> {
      Buffer buffer(1000);
      EXPECT_EQ(co_await rank.bcast(buffer, 0), Outcome::kOk);
    }),
              "");
    Time last;
    for (const Time clock : cluster.clocks()) last = later(last, clock);
    return last;
  };
  EXPECT_LT(time_of("tree"), time_of("linear"));
}

}  // namespace
}  // namespace offramp::zrlmpi
