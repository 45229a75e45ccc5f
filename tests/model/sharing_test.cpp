// Shared resources of ranks and operations: times on crowded hardware against bounds that follow from its
// parameters. Each test prints both.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "backends/host/parameters.hpp"
#include "backends/zrlmpi/parameters.hpp"
#include "simulators/zrlmpi/segmentation.hpp"
#include "simulators/zrlmpi/spec.hpp"
#include "tests/model/support.hpp"

namespace offramp::sharing_test {
namespace {

constexpr std::size_t kMessage = 1 << 20;
constexpr int kConcurrent = 16;
constexpr int kSenders = 15;

/// Store and forward: each datagram of a message passes the sender's bus, its shell, the wire, the receiver's
/// shell and its bus, and each of them handles one at a time. A long message continues into the role's DRAM.
Time through_datapath(const zrlmpi::MpeSpec& spec, std::size_t bytes) {
  constexpr std::size_t kStages = 5;
  std::array<Time, kStages> free{};
  const zrlmpi::MessageCut cut = zrlmpi::cut_message(spec, bytes);
  for (std::uint64_t i = 0; i < cut.datagrams; ++i) {
    const std::int64_t size = i + 1 < cut.datagrams ? zrlmpi::kDatagramBytes : cut.last_bytes;
    const Time bus = spec.bus_time(size);
    const Time shell = spec.shell_time(size);
    const Time store = later(bus, spec.dram_time(static_cast<std::uint32_t>(size), bytes));
    const std::array<Time, kStages> spans = {bus, shell, spec.line_time(size), shell, store};
    Time at;
    for (std::size_t stage = 0; stage < kStages; ++stage)
      at = free[stage] = later(at, free[stage]) + spans[stage];
  }
  return free.back();
}

/// One backend, with the rates and limits of its parts.
struct Hardware {
  const char* name;
  WorldBackend (*backend)();
  std::size_t incast;  // bytes of a message
  Time late;           // of the first sender

  [[nodiscard]] bool is_host() const { return std::string_view(name) == "host"; }

  /// The time for which a message occupies the resource that the others wait for.
  ///
  /// host: a link, at its rate. Overheads and latencies of several messages overlap.
  ///
  /// zrlmpi: one machine at either end. Besides the data it waits for messages of the protocol, with one
  /// latency each. At the sender: request, answer, data, acknowledgement. At the receiver: answer and data.
  [[nodiscard]] Time occupied(std::size_t bytes, int latencies) const {
    const Settings settings = backend().settings;
    if (is_host()) {
      const host::Nic nic = host::nic_of(settings);
      return nic.bandwidth.bytes(static_cast<std::int64_t>(bytes + (bytes + 4095) / 4096 * nic.framing));
    }
    const zrlmpi::MpeSpec spec = zrlmpi::spec_of(settings);
    return through_datapath(spec, bytes) + spec.line.latency * latencies;
  }
  [[nodiscard]] Time by_sender(std::size_t bytes) const { return occupied(bytes, 4); }
  [[nodiscard]] Time by_receiver(std::size_t bytes) const { return occupied(bytes, 2); }
};

const Hardware kHardware[] = {
    {"host", [] { return test::hardware("host"); }, kMessage, Time::ms(1)},
    {"zrlmpi", [] { return test::hardware("zrlmpi"); }, 65536, Time::ms(10)},
    {"mpe2", [] { return test::mpe2(); }, 65536, Time::ms(10)},
};

class Sharing : public testing::TestWithParam<Hardware> {
 protected:
  static Time run(int ranks, int ranks_per_node, const World::Program& program) {
    WorldOptions options;
    options.ranks = ranks;
    options.machine.ranks_per_node = ranks_per_node;
    options.check = true;
    World world(options, GetParam().backend());
    EXPECT_EQ(world.run(program), "");
    EXPECT_EQ(world.violations(), std::vector<std::string>());
    return world.end();
  }

  /// Collectives and messages from rank 0 to rank 1, all at once.
  static Time at_once(OperationKind kind, int collectives, int messages) {
    return run(2, 1, [=](RankHandle& rank) -> Task<void> {
      Operation operation;
      operation.kind = kind;
      operation.bytes = kMessage;
      operation.elements = kMessage / 8;
      operation.element = ElementType::kFloat64;
      operation.function = kind == OperationKind::kAllreduce ? ReduceFunction::kSum : ReduceFunction::kNone;
      std::vector<RankRequest> requests;
      for (int i = 0; i < collectives; ++i)
        requests.push_back(rank.start(rank.world_communicator(), operation));
      for (int i = 0; i < messages; ++i)
        requests.push_back(rank.rank() == 0 ? rank.isend(1, kMessage) : rank.irecv(0, kMessage));
      (void)co_await rank.wait_all(requests);
    });
  }

  /// Ranks 1 to `senders` send to rank 0, which has posted receives for all of them and waits for them in
  /// order.
  static Time incast(int senders, Time late) {
    return run(senders + 1, 1, [=](RankHandle& rank) -> Task<void> {
      if (rank.rank() > 0) {
        if (rank.rank() == 1) rank.compute(late);
        (void)co_await rank.send(0, GetParam().incast);
        co_return;
      }
      std::vector<RankRequest> requests;
      for (int from = 1; from <= senders; ++from) requests.push_back(rank.irecv(from, GetParam().incast));
      for (RankRequest& request : requests) (void)co_await rank.wait(request);
    });
  }

  static void expect_near(Time time, Time bound) {
    fmt::print("  {}: {:.3f} us, bound {:.3f} us\n", GetParam().name, time.nanoseconds() / 1e3,
               bound.nanoseconds() / 1e3);
    EXPECT_GE(time, bound);
    EXPECT_LE(time.seconds(), 1.03 * bound.seconds());
  }
};

/// The root sends each broadcast to the other rank: 16 consecutive messages.
TEST_P(Sharing, BroadcastsAtOnce) {
  const Time all = at_once(OperationKind::kBcast, kConcurrent, 0);
  expect_near(all, kConcurrent * GetParam().by_sender(kMessage));
  EXPECT_LE(all, kConcurrent * at_once(OperationKind::kBcast, 1, 0));
}

/// host: the ranks exchange their operands over full-duplex links.
///
/// zrlmpi: operands go to rank 0 and sums back. The machines of the two directions are independent, so both
/// directions overlap, except for the first operand there and the last sum back. The role copies an operand
/// into its memory, combines, and copies the sum out of it, 32 bits per cycle each.
TEST_P(Sharing, ReductionsAtOnce) {
  const Time all = at_once(OperationKind::kAllreduce, kConcurrent, 0);
  const Settings settings = GetParam().backend().settings;
  constexpr auto kBytes = static_cast<std::int64_t>(kMessage);
  const Time message = GetParam().by_sender(kMessage);
  if (GetParam().is_host()) {
    // The first operand is copied before anything can leave; the sums overlap with the link.
    return expect_near(all, kConcurrent * message + settings.gigabits("copy_bandwidth").bytes(kBytes));
  }
  const zrlmpi::MpeSpec spec = zrlmpi::spec_of(settings);
  expect_near(all, (kConcurrent + 1) * message + 3 * spec.cycles(kBytes / 4));
}

TEST_P(Sharing, ABroadcastBesideMessages) {
  expect_near(at_once(OperationKind::kBcast, 1, kConcurrent),
              (kConcurrent + 1) * GetParam().by_sender(kMessage));
}

/// The receiver handles one after the other.
TEST_P(Sharing, Incast) {
  expect_near(incast(kSenders, Time()), kSenders * GetParam().by_receiver(GetParam().incast));
}

/// The others do not wait for it. If they arrive before it, the end is its own time.
TEST_P(Sharing, IncastWithALateFirstSender) {
  const std::size_t bytes = GetParam().incast;
  const Time message = GetParam().by_receiver(bytes);
  const Time late = GetParam().late;
  expect_near(incast(kSenders, late), later(late + GetParam().by_sender(bytes), kSenders * message));
  constexpr int kFew = 3;
  const Time soon = message * kFew;
  expect_near(incast(kFew, soon), soon + GetParam().by_sender(bytes));
}

INSTANTIATE_TEST_SUITE_P(Backends, Sharing, testing::ValuesIn(kHardware),
                         [](const auto& hardware) { return std::string(hardware.param.name); });

class SharingAnEngine : public Sharing {};

/// The queue that one call leaves is still there for the next one.
TEST_P(SharingAnEngine, BroadcastsOneAfterTheOther) {
  const Time all = run(2, 1, [](RankHandle& rank) -> Task<void> {
    for (int i = 0; i < kConcurrent; ++i) (void)co_await rank.bcast(kMessage, 0);
  });
  expect_near(all, kConcurrent * GetParam().by_sender(kMessage));
}

INSTANTIATE_TEST_SUITE_P(Backends, SharingAnEngine, testing::Values(kHardware[1], kHardware[2]),
                         [](const auto& hardware) { return std::string(hardware.param.name); });

class SharingANode : public Sharing {};

/// Each rank of a node sends to one of the other node: one NIC carries everything.
TEST_P(SharingANode, MessagesOfItsRanks) {
  const Time all = run(2 * kConcurrent, kConcurrent, [](RankHandle& rank) -> Task<void> {
    if (rank.rank() < kConcurrent) {
      (void)co_await rank.send(rank.rank() + kConcurrent, kMessage);
    } else {
      (void)co_await rank.receive(rank.rank() - kConcurrent, kMessage);
    }
  });
  expect_near(all, kConcurrent * GetParam().by_sender(kMessage));
}

INSTANTIATE_TEST_SUITE_P(Backends, SharingANode, testing::Values(kHardware[0]),
                         [](const auto& hardware) { return std::string(hardware.param.name); });

}  // namespace
}  // namespace offramp::sharing_test
