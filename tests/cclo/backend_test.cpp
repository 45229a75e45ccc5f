// The driver's plans against the engines themselves; results of collectives, declines, faults.
#include <gtest/gtest.h>

#include <random>

#include "backends/cclo/driver.hpp"
#include "backends/cclo/plans.hpp"
#include "tests/cclo/support.hpp"
#include "tests/message_stages.hpp"

namespace offramp::cclo {
namespace {

Buffer noise(std::size_t bytes, std::uint32_t seed) {
  Buffer out(bytes);
  std::mt19937 random(seed);
  for (std::byte& b : out) b = static_cast<std::byte>(random());
  return out;
}

// The backend runs the engines twice per size and adds; this runs them for each interval between the two
// calls.
TEST(CcloPlans, TakeTheTimeOfTheEngines) {
  for (const Spec& spec : {Spec(), udp_spec(), gen2_spec()}) {
    const Layout& layout =
        layout_of(spec.generation == Generation::kSecond ? Profile::kGen2 : Profile::kSeed);
    Plans plans(spec, layout);
    MessageRunner runner(spec, layout);
    for (const std::uint64_t bytes : {0U, 8U, 1000U, 1025U, 65536U, 65537U, 300000U}) {
      const Plan& plan = plans.eager(bytes);
      const Time begin = Time::us(100);
      const SendResult sent = runner.send(bytes, begin);
      EXPECT_EQ(sent.complete, begin + plan.complete);
      EXPECT_EQ(sent.segments.front().first, begin + plan.first);
      EXPECT_EQ(sent.segments.back().last, begin + plan.last);
      for (int i = -40; i < 80; ++i) {
        const Time call = begin + Time::ns(997) * i;
        const Time done = runner.receive(bytes, call, sent.segments).complete;
        EXPECT_EQ(done, later(call + plan.late, begin + plan.first + plan.waiting)) << bytes << " " << i;
      }
    }
  }
}

/// One rank of a collective whose peers do all that it waits for. Records the peers that it sends to and
/// receives from. It has hardware of its own, so that the engine's firmware runs.
class ScriptedTeam final : public Team, private TeamHardware {
 public:
  ScriptedTeam(int rank, int size) : Team(rank, size, false) {}
  void equip(std::span<const ResourceDescription> descriptions) { descriptions_ = descriptions; }
  TeamHardware* hardware() override { return this; }
  MutableBytes scratch(std::size_t bytes) override { return {reinterpret_cast<std::byte*>(kScratch), bytes}; }
  std::vector<int> sent_to;  // messages with data
  std::vector<const std::byte*> received_into;

 protected:
  void combine_elements(Bytes, MutableBytes) override {}
  Handle start_send(int peer, Bytes data, const Stamp*) override {
    if (!data.empty()) sent_to.push_back(peer);
    return this;
  }
  Handle start_receive(int, MutableBytes data, bool) override {
    if (!data.empty()) received_into.push_back(data.data());
    return this;
  }
  bool ready(Handle) override { return true; }
  void wait(Handle, std::coroutine_handle<>) override {}
  Outcome finish(Handle) override { return Outcome::kOk; }
  Arrival finish_token(Handle) override { return {}; }

 private:
  Resources resources(int /*world_rank*/) override { return units_.view(descriptions_); }

  std::span<const ResourceDescription> descriptions_;
  ManyUnits units_;
  static constexpr std::uintptr_t kScratch = std::uintptr_t{1} << 62 | std::uintptr_t{1} << 54;
};

void run_alone(ScriptedTeam& team, const Operation& operation, CollectiveBuffers buffers,
               const Values& values) {
  const Settings settings = settings_with(values);
  const std::unique_ptr<Backend> backend =
      cclo_backend().create({team.rank(), team.size(), settings, {}, nullptr});
  ASSERT_TRUE(backend->supports(operation).yes());
  team.equip(backend->resources());
  Task<Outcome> task = backend->collective(operation, team, buffers);
  task.start();
  ASSERT_TRUE(task.done());
}

std::vector<int> broadcast_peers(int rank, int ranks, int root) {
  Buffer data(100000);  // above the largest eager message
  ScriptedTeam team(rank, ranks);
  Operation operation;
  operation.kind = OperationKind::kBcast;
  operation.bytes = data.size();
  operation.ranks = ranks;
  operation.root = root;
  run_alone(team, operation, {data, data, data.size()}, {{"profile", word("gen2")}});
  return team.sent_to;
}

TEST(CcloFirmware, BroadcastsDownABinomialTree) {
  const std::vector<std::vector<int>> nine = {{8, 4, 2, 1}, {}, {3}, {}, {6, 5}, {}, {7}, {}, {}};
  for (int rank = 0; rank < 9; ++rank)
    EXPECT_EQ(broadcast_peers(rank, 9, 0), nine[static_cast<std::size_t>(rank)]) << rank;
  const std::vector<std::vector<int>> four = {{}, {3, 2}, {}, {0}};
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_EQ(broadcast_peers(rank, 4, 1), four[static_cast<std::size_t>(rank)]) << rank;
}

TEST(CcloFirmware, ChoosesItsAlgorithmByTheWordsOfTheExchangeMemory) {
  const auto peers = [](OperationKind kind, const Values& values) {
    const Buffer own(100000);
    Buffer all(own.size() * 8);
    ScriptedTeam team(0, 8);
    Operation o;
    o.kind = kind;
    o.bytes = own.size();
    o.ranks = 8;
    o.element = ElementType::kInt32;
    o.function = ReduceFunction::kSum;
    Values with = {{"profile", word("gen2")}};
    with.insert(with.end(), values.begin(), values.end());
    const bool bcast = kind == OperationKind::kBcast;
    run_alone(team, o,
              {bcast ? Bytes(all).first(own.size()) : Bytes(own),
               bcast ? MutableBytes(all).first(own.size()) : MutableBytes(all).first(own.size()), 100000},
              with);
    return bcast ? team.sent_to.size() : team.received_into.size();
  };
  EXPECT_EQ(peers(OperationKind::kBcast, {}), 3U) << "a tree";
  EXPECT_EQ(peers(OperationKind::kBcast, {{"bcast_flat_ranks", number(7)}}), 3U);
  EXPECT_EQ(peers(OperationKind::kBcast, {{"bcast_flat_ranks", number(8)}}), 7U) << "to all";
  EXPECT_EQ(peers(OperationKind::kReduce, {}), 3U);
  EXPECT_EQ(peers(OperationKind::kReduce, {{"reduce_flat_ranks", number(8)}}), 7U);
  EXPECT_EQ(peers(OperationKind::kReduce, {{"reduce_flat_bytes", number(99999)}}), 3U);
  EXPECT_EQ(peers(OperationKind::kReduce, {{"reduce_flat_bytes", number(100000)}}), 7U);
}

TEST(CcloFirmware, GathersAroundARingWithRelays) {
  constexpr std::size_t kBlock = 256;
  constexpr int kRanks = 4;
  constexpr int kRoot = 1;
  Operation operation;
  operation.kind = OperationKind::kGather;
  operation.bytes = kBlock;
  operation.ranks = kRanks;
  operation.root = kRoot;
  const Buffer own(kBlock);
  Buffer all(kBlock * kRanks);
  for (const auto& [rank, relays] : {std::pair(2, 0), std::pair(3, 1), std::pair(0, 2)}) {
    ScriptedTeam team(rank, kRanks);
    run_alone(team, operation, {own, {}, kBlock}, {});
    EXPECT_EQ(team.sent_to, std::vector<int>(static_cast<std::size_t>(relays + 1), (rank + 1) % kRanks));
  }
  ScriptedTeam root(kRoot, kRanks);
  run_alone(root, operation, {own, all, kBlock}, {});
  std::vector<std::ptrdiff_t> slots;
  for (const std::byte* into : root.received_into) {
    if (into >= all.data() && into < all.data() + all.size())
      slots.push_back((into - all.data()) / static_cast<std::ptrdiff_t>(kBlock));
  }
  EXPECT_EQ(slots, (std::vector<std::ptrdiff_t>{0, 3, 2}));
}

TEST(CcloMessages, AreNumberedSegmentBySegment) {
  for (const Profile profile : {Profile::kSeed, Profile::kGen2}) {
    Spec spec = profile == Profile::kGen2 ? gen2_spec() : Spec();
    spec.rx_buffer_bytes = 1024;
    IoSpace space(layout_of(profile));
    poke_buffers(space, spec);
    const std::uint32_t address = space.layout().communicators_offset(spec.rx_buffers);
    poke_communicator(space, address, 2, 0);
    LoopbackTeam team(0);
    Processor processor({spec, space, team, address, {}, 0, nullptr, 0}, {});
    Task<void> task = processor.run(Primitive::send(1, Bytes(team.scratch(2500))));
    task.start();
    EXPECT_EQ(team.sent().size(), 3U);
    EXPECT_EQ(Communicator(space, address).get(1, RankField::kOutboundSequence), 3U);
    EXPECT_EQ(spec.segment_bytes(2500, 2), 452U);
  }
}

TEST(CcloMessages, AreNotNumberedInARendezvous) {
  const Configuration configuration = configuration_of(settings_with({{"profile", word("gen2")}}));
  Spec spec = configuration.spec;
  Driver driver(configuration, spec, 0, 2);
  const std::uint32_t address = driver.place(2, 0, 0).address;
  Communicator communicator(driver.space(), address);
  const auto call = [&](Scenario scenario, std::uint64_t bytes) {
    driver.message(scenario, call_words(spec.generation, scenario, bytes, 1, address), spec, 1);
  };
  for (const std::uint64_t bytes : {1024U, 1000U, 1U, 1025U, 2500U}) call(Scenario::kSend, bytes);
  call(Scenario::kReceive, 1024);
  call(Scenario::kReceive, 1 << 20);
  EXPECT_EQ(communicator.get(1, RankField::kOutboundSequence), 3U);
  EXPECT_EQ(communicator.get(1, RankField::kInboundSequence), 1U);
}

TEST(CcloFirmware, ChoosesTheProtocolByTheThreshold) {
  Spec spec = gen2_spec();
  EXPECT_FALSE(is_rendezvous(spec, Scenario::kBcast, 4 * 256)) << "equal is eager";
  EXPECT_TRUE(is_rendezvous(spec, Scenario::kBcast, 4 * 257));
  EXPECT_TRUE(is_rendezvous(spec, Scenario::kAlltoall, 0));
  spec.transport = Transport::kTcp;
  EXPECT_FALSE(is_rendezvous(spec, Scenario::kBcast, 4 * 257));
  EXPECT_FALSE(is_rendezvous(Spec(), Scenario::kBcast, 1 << 20));
}

TEST(CcloFirmware, CutsChunksOfWholeElements) {  // with the tail repaired
  const auto sizes = [](std::uint64_t bytes, int ranks) {
    std::vector<std::uint64_t> out;
    for (int i = 0; i < ranks; ++i) out.push_back(chunk_of(bytes, 4, ranks, i).bytes / 4);
    return out;
  };
  using Sizes = std::vector<std::uint64_t>;
  EXPECT_EQ(sizes(40, 4), (Sizes{3, 3, 3, 1}));
  EXPECT_EQ(sizes(64, 4), (Sizes{4, 4, 4, 4}));
  EXPECT_EQ(sizes(20, 4), (Sizes{2, 2, 1, 0}));
  EXPECT_EQ(sizes(36, 8), (Sizes{2, 2, 2, 2, 1, 0, 0, 0}));
  EXPECT_EQ(chunk_of(0, 0, 4, 2).bytes, 0U);
}

struct Backendless {
  explicit Backendless(const Values& values = {}, const FaultRates& faults = {}, int ranks = 4)
      : settings(settings_with(values)),
        backend(staged(cclo_backend().create({0, ranks, settings, faults, nullptr}))) {}
  StagedBackend* operator->() const { return backend.get(); }
  Settings settings;
  std::unique_ptr<StagedBackend> backend;
  ManyUnits units;
};

Operation operation(OperationKind kind, int ranks = 4) {
  Operation o;
  o.kind = kind;
  o.ranks = ranks;
  o.bytes = 400;
  o.elements = 100;
  o.element = ElementType::kInt32;
  o.function = ReduceFunction::kSum;
  return o;
}

TEST(CcloBackend, DeclinesACommunicatorThatDoesNotFitWithItsFigures) {
  Backendless b;
  EXPECT_TRUE(b->supports(operation(OperationKind::kBcast, 72)).yes());
  EXPECT_EQ(b->supports(operation(OperationKind::kBcast, 128)).reason,
            "a communicator of 128 ranks needs 642 words, 365 free");
  Operation send = operation(OperationKind::kSend, 2);
  EXPECT_TRUE(b->supports(send).yes());
  send.bytes = std::size_t{1} << 32;
  EXPECT_FALSE(b->supports(send).yes());
}

TEST(CcloBackend, NamesTheMemoryThatWouldHoldTheCommunicator) {
  Backendless b;
  const Operation large = operation(OperationKind::kBcast, 128);
  const Verdict verdict = b->supports(large);
  ASSERT_NE(verdict.remedy, nullptr);
  EXPECT_EQ(verdict.remedy->parameter, "exchange_memory");
  EXPECT_EQ(verdict.remedy->value, 8192);
  EXPECT_EQ(verdict.remedy->note, "with an exchange memory of 8192 bytes");
  EXPECT_TRUE(Backendless({{"exchange_memory", number(verdict.remedy->value)}})->supports(large).yes());
  const Verdict again = b->supports(large);  // made once
  EXPECT_EQ(again.reason.data(), verdict.reason.data());
  EXPECT_EQ(again.remedy, verdict.remedy);
  EXPECT_NE(Backendless({{"rx_buffers", number(100)}})->supports(large).remedy, nullptr);
  for (const Verdict& other :
       {b->supports(operation(OperationKind::kBcast)), b->supports(operation(OperationKind::kBarrier)),
        b->supports(operation(OperationKind::kScan, 128))})
    EXPECT_EQ(other.remedy, nullptr) << other.reason;
}

TEST(CcloBackend, DeclinesOperationsThatTheArithmeticUnitLacks) {
  Backendless first;
  Backendless second({{"profile", word("gen2")}});
  Operation o = operation(OperationKind::kAllreduce);
  for (const ElementType type :
       {ElementType::kFloat32, ElementType::kFloat64, ElementType::kInt32, ElementType::kInt64}) {
    o.element = type;
    EXPECT_TRUE(first->supports(o).yes());
    EXPECT_TRUE(second->supports(o).yes());
  }
  o.function = ReduceFunction::kMaximum;
  EXPECT_FALSE(first->supports(o).yes());
  EXPECT_TRUE(second->supports(o).yes());
  o.function = ReduceFunction::kProduct;
  EXPECT_FALSE(second->supports(o).yes());
  o.function = ReduceFunction::kSum;
  o.element = ElementType::kUint32;
  EXPECT_FALSE(first->supports(o).yes());
}

TEST(CcloBackend, HasAlltoallAndBarrierInTheSecondGenerationOnly) {
  for (const OperationKind kind : {OperationKind::kAlltoall, OperationKind::kBarrier}) {
    EXPECT_FALSE(Backendless()->supports(operation(kind)).yes());
    EXPECT_TRUE(Backendless({{"profile", word("gen2")}})->supports(operation(kind)).yes());
    EXPECT_FALSE(Backendless({{"profile", word("gen2")}, {"transport", word("tcp")}})
                     ->supports(operation(kind))
                     .yes());
  }
}

TEST(CcloBackend, GivesEachDeclineItsTrueReason) {
  const Backendless first;
  const Backendless second({{"profile", word("gen2")}});
  const Backendless tcp({{"profile", word("gen2")}, {"transport", word("tcp")}});
  const auto reason = [](const Backendless& b, const Operation& o) { return b.backend->supports(o).reason; };
  for (const OperationKind kind : {OperationKind::kAlltoall, OperationKind::kBarrier}) {
    EXPECT_EQ(reason(first, operation(kind)), "the first generation has no ALLTOALL and no BARRIER call");
    EXPECT_EQ(reason(tcp, operation(kind)), "ALLTOALL and BARRIER need rendezvous, which only RDMA has");
  }
  EXPECT_EQ(reason(second, operation(OperationKind::kScan)), "the hardware has no such collective");
  Operation send = operation(OperationKind::kSend, 2);
  send.bytes = 0xffffffff;
  EXPECT_EQ(reason(first, send), "");
  ++send.bytes;
  EXPECT_EQ(reason(first, send), "byte_count has 32 bits: 4294967295 at most");
  EXPECT_EQ(reason(Backendless({{"transport", word("rdma")}}), operation(OperationKind::kSend)),
            "the first generation has UDP and TCP engines only");
  // The arithmetic unit supports exactly the operations that its description lists.
  for (int element = 0; element <= static_cast<int>(ElementType::kMixed); ++element) {
    for (int function = 1; function <= static_cast<int>(ReduceFunction::kUser); ++function) {
      Operation o = operation(OperationKind::kReduceScatter);
      o.element = static_cast<ElementType>(element);
      o.function = static_cast<ReduceFunction>(function);
      const bool computes = o.element == ElementType::kFloat32 || o.element == ElementType::kFloat64 ||
                            o.element == ElementType::kInt32 || o.element == ElementType::kInt64;
      const bool sum = o.function == ReduceFunction::kSum;
      const bool maximum = o.function == ReduceFunction::kMaximum;
      EXPECT_EQ(reason(first, o),
                computes && sum ? "" : "the arithmetic unit has SUM of fp32, fp64, int32 and int64 only");
      EXPECT_EQ(reason(second, o),
                computes && (sum || maximum)
                    ? ""
                    : "the arithmetic unit has SUM and MAX of fp32, fp64, int32 and int64 only");
    }
  }
}

TEST(CcloBackend, IsSetUpWithAFirmwareThatTakesNoTime) {
  EXPECT_TRUE(Backendless({{"fw_axi", number(0)}, {"fw_step", number(0)}})
                  ->supports(operation(OperationKind::kBcast))
                  .yes());
}

TEST(CcloBackend, DeclinesEverythingWhenItsSetUpFailed) {
  EXPECT_FALSE(Backendless({{"transport", word("rdma")}})->supports(operation(OperationKind::kSend)).yes());
  EXPECT_FALSE(Backendless({{"rx_buffers", number(100)}})->supports(operation(OperationKind::kSend)).yes());
}

Transfer message(std::size_t bytes, bool synchronous = false, std::uint32_t index = 0) {
  Transfer transfer;
  transfer.destination = 1;
  transfer.bytes = bytes;
  transfer.synchronous = synchronous;
  transfer.number = index;
  return transfer;
}

TEST(CcloBackend, SmallSendsNeverWaitForTheirReceive) {
  for (const Values& values :
       {Values{}, Values{{"profile", word("gen2")}}, Values{{"rx_buffer_bytes", number(64)}},
        Values{{"rx_buffers", number(1)}, {"rx_buffer_bytes", number(64)}}}) {
    Backendless b(values);
    EXPECT_FALSE(b->depart(message(65536), {}, b.units).handshake);
    EXPECT_TRUE(b->depart(message(8, true), {}, b.units).handshake);
  }
}

TEST(CcloBackend, LongMessagesWaitForBuffersThatALateReceiverHolds) {
  Backendless b;
  const std::size_t bytes = 4 << 20;
  const Departure departure = b->depart(message(bytes), {}, b.units);
  ASSERT_TRUE(departure.handshake);
  Time before;
  for (const Time posted : {Time(), Time::us(100), Time::ms(5)}) {
    const Passage reply = b->match(message(bytes), departure.passage, posted);
    EXPECT_GE(reply.complete, departure.complete - Time::us(2));
    if (posted == Time::ms(5)) {
      EXPECT_GT(reply.complete, posted);
    }
    ManyUnits units;
    const Time done = b->receive(message(bytes), departure.passage, posted, units);
    EXPECT_GE(done, before);
    before = done;
  }
}

TEST(CcloBackend, WaitingForAMatchOccupiesNoUnit) {
  Backendless b;
  std::vector<Passage> replies;
  for (int i = 0; i < 10; ++i) {
    const Departure departure = b->depart(message(8, true), {}, b.units);
    replies.push_back(b->match(message(8, true), departure.passage, Time::ms(1)));
  }
  for (const Passage& reply : replies) EXPECT_LT(reply.complete, Time::us(1100));
}

TEST(CcloBackend, MessagesThatFindNoBufferComeBackFromHostMemory) {
  Backendless b;
  std::vector<Passage> sent;
  ManyUnits sender;
  for (int i = 0; i < 20; ++i) sent.push_back(b->depart(message(1000), {}, sender).passage);
  ManyUnits receiver;
  Time last;
  std::vector<Time> steps;
  for (const Passage& passage : sent) {
    const Time done = b->receive(message(1000), passage, Time::ms(1), receiver);
    steps.push_back(done - last);
    last = done;
  }
  EXPECT_LT(steps[15], Time::us(3));
  EXPECT_GT(steps[16], steps[15] + Time::us(3)) << "the 17th found all 16 buffers taken";
}

TEST(CcloBackend, LossIsRepairedOverTcpAndAnErrorOverUdp) {
  const FaultRates faults{5, 0.02, 0.01, 0.01};
  Backendless tcp({}, faults);
  Backendless udp({{"transport", word("udp")}}, faults);
  int failed = 0;
  for (std::uint32_t i = 0; i < 100; ++i) {
    ManyUnits units;
    EXPECT_FALSE(tcp->depart(message(20000, false, i), {}, units).passage.failed);
    ManyUnits other;
    const Departure departure = udp->depart(message(20000, false, i), {}, other);
    if (!departure.passage.failed) continue;
    ++failed;
    const std::string_view why = udp->failure(departure.passage.reason);
    EXPECT_TRUE(why == "RECEIVE_TIMEOUT_ERROR" || why == "DMA_NOT_EXPECTED_BTT_ERROR") << why;
    EXPECT_GT(udp->receive(message(20000, false, i), departure.passage, {}, other), Time::ms(700));
  }
  EXPECT_GT(failed, 10);
  EXPECT_GT(tcp->wire().retransmissions, 0U);
}

TEST(CcloBackend, TakesEqualTimeWithAndWithoutEarlierMessages) {
  Backendless warm;
  Time begin;
  for (const std::size_t bytes : {0U, 8U, 1000U, 65536U, 65537U, 2000000U}) {
    for (int i = 0; i < 3; ++i) {
      Backendless cold;
      ManyUnits a;
      ManyUnits b;
      begin += Time::ms(100);  // after everything that the receiver has done
      const Departure x = warm->depart(message(bytes), begin + Time::us(3), a);
      const Departure y = cold->depart(message(bytes), begin + Time::us(3), b);
      EXPECT_EQ(x.complete, y.complete);
      EXPECT_EQ(x.passage.first, y.passage.first);
      EXPECT_EQ(warm->receive(message(bytes), x.passage, begin + Time::us(1), a),
                cold->receive(message(bytes), y.passage, begin + Time::us(1), b));
    }
  }
}

template <typename T>
MutableBytes bytes_of(std::vector<T>& values) {
  return std::as_writable_bytes(std::span(values));
}

std::int32_t value(int rank, std::size_t i) {
  return rank * 1000 + static_cast<std::int32_t>(i % 997);
}

/// Every collective with every root, also in place.
void expect_right(const Values& values, int ranks, std::size_t count) {
  Cluster cluster(ranks, cclo_backend(), settings_with(values));
  const auto n = static_cast<std::size_t>(ranks);
  const std::string stuck = cluster.run([&](ClusterRank& rank) -> Task<void> {
    Int32Sum sum;
    const int me = rank.rank();
    std::vector<std::int32_t> mine(count);
    for (std::size_t i = 0; i < count; ++i) mine[i] = value(me, i);
    std::vector<std::int32_t> total(count);
    for (std::size_t i = 0; i < count; ++i) {
      for (int r = 0; r < ranks; ++r) total[i] += value(r, i);
    }
    std::vector<std::int32_t> blocks(count * n);
    for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = value(static_cast<int>(i / count), i % count);
    for (int root = 0; root < ranks; ++root) {
      std::vector<std::int32_t> data = me == root ? mine : std::vector<std::int32_t>(count);
      EXPECT_EQ(co_await rank.bcast(bytes_of(data), root), Outcome::kOk);
      EXPECT_EQ(data.back(), value(root, count - 1));
      std::vector<std::int32_t> all(me == root ? blocks.size() : 0);
      EXPECT_EQ(co_await rank.gather(bytes_of(mine), bytes_of(all), root), Outcome::kOk);
      if (me == root) {
        EXPECT_EQ(all, blocks);
      }
      std::vector<std::int32_t> part(count);
      std::vector<std::int32_t> source = me == root ? blocks : std::vector<std::int32_t>();
      EXPECT_EQ(co_await rank.scatter(bytes_of(source), bytes_of(part), root), Outcome::kOk);
      EXPECT_EQ(part, mine);
      std::vector<std::int32_t> result(me == root ? count : 0);
      EXPECT_EQ(co_await rank.reduce(bytes_of(mine), bytes_of(result), root, sum), Outcome::kOk);
      if (me == root) {
        EXPECT_EQ(result, total) << "root " << root;
      }
      std::vector<std::int32_t> in_place = mine;
      const MutableBytes into = me == root ? bytes_of(in_place) : MutableBytes();
      EXPECT_EQ(co_await rank.reduce(bytes_of(in_place), into, root, sum), Outcome::kOk);
      if (me == root) {
        EXPECT_EQ(in_place, total);
      }
    }
    std::vector<std::int32_t> result(count);
    EXPECT_EQ(co_await rank.allreduce(bytes_of(mine), bytes_of(result), sum), Outcome::kOk);
    EXPECT_EQ(result, total);
    std::vector<std::int32_t> in_place = mine;
    EXPECT_EQ(co_await rank.allreduce(bytes_of(in_place), bytes_of(in_place), sum), Outcome::kOk);
    EXPECT_EQ(in_place, total);
    std::vector<std::int32_t> all(blocks.size());
    EXPECT_EQ(co_await rank.allgather(bytes_of(mine), bytes_of(all)), Outcome::kOk);
    EXPECT_EQ(all, blocks);
    std::vector<std::int32_t> part(count);
    EXPECT_EQ(co_await rank.reduce_scatter(bytes_of(blocks), bytes_of(part), sum), Outcome::kOk);
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(part[i], ranks * value(me, i));
    std::vector<std::int32_t> whole = blocks;
    EXPECT_EQ(co_await rank.reduce_scatter(bytes_of(whole), bytes_of(whole).first(count * 4), sum),
              Outcome::kOk);
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(whole[i], ranks * value(me, i));
    std::vector<std::int32_t> out(blocks.size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = me * 100 + static_cast<std::int32_t>(i / count);
    std::vector<std::int32_t> in(blocks.size());
    EXPECT_EQ(co_await rank.alltoall(bytes_of(out), bytes_of(in)), Outcome::kOk);
    for (std::size_t i = 0; i < in.size(); ++i)
      EXPECT_EQ(in[i], static_cast<std::int32_t>(i / count) * 100 + me);
    EXPECT_EQ(co_await rank.alltoall(bytes_of(out), bytes_of(out)), Outcome::kOk);
    EXPECT_EQ(out, in);
    EXPECT_EQ(co_await rank.barrier(), Outcome::kOk);
  });
  EXPECT_EQ(stuck, "");
}

TEST(CcloCollectives, AreRightForEveryRootAndNumberOfRanks) {
  for (const char* profile : {"seed", "gen2"}) {
    for (int ranks = 1; ranks <= 9; ++ranks) {
      for (const std::size_t count : {1U, 5U, 3000U})
        expect_right({{"profile", word(profile)}}, ranks, count);
    }
    expect_right({{"profile", word(profile)}}, 3, 100000);
    expect_right({{"profile", word(profile)}}, 16, 300);
  }
  expect_right({{"profile", word("dump")}, {"transport", word("udp")}}, 4, 3000);
  expect_right({{"profile", word("gen2")}, {"transport", word("tcp")}}, 4, 3000);
  expect_right({{"profile", word("gen2")}, {"max_eager", number(1e6)}}, 5, 3000);
  expect_right({{"rx_buffer_bytes", number(64)}, {"rx_buffers", number(2)}}, 4, 500);
  expect_right({{"rx_buffer_bytes", number(1 << 20)}}, 4, 100000);
}

TEST(CcloCollectives, SurviveFaultsOverTcp) {
  WorldOptions options;
  options.faults = {3, 0.02, 0.02, 0.02};
  std::vector<Time> clocks;
  for (int run = 0; run < 2; ++run) {
    TimedCluster cluster(4, cclo_backend(), options);
    EXPECT_EQ(cluster.run([](TimedRank& rank) -> Task<void> {
      Int32Sum sum;
      std::vector<std::int32_t> data(20000, rank.rank());
      for (int i = 0; i < 5; ++i) {
        std::vector<std::int32_t> total(data.size());
        EXPECT_EQ(co_await rank.allreduce(bytes_of(data), bytes_of(total), sum), Outcome::kOk);
      }
    }),
              "");
    EXPECT_GT(cluster.wire().lost, 0U);
    if (run == 1) {
      EXPECT_EQ(cluster.clocks(), clocks);
    }
    clocks = cluster.clocks();
  }
}

TEST(CcloCollectives, NotifyEveryRankThatALossOverUdpAffects) {
  ClusterOptions options;
  options.faults = {4, 0.05, 0, 0};
  Cluster cluster(4, cclo_backend(), settings_with({{"transport", word("udp")}}), options);
  int wrong = 0;
  int told = 0;
  EXPECT_EQ(cluster.run([&](ClusterRank& rank) -> Task<void> {
    Int32Sum sum;
    for (int i = 0; i < 30; ++i) {
      std::vector<std::int32_t> data(3000, rank.rank());
      std::vector<std::int32_t> total(data.size());
      const Outcome outcome = co_await rank.allreduce(bytes_of(data), bytes_of(total), sum);
      if (outcome == Outcome::kFault) ++told;
      if (outcome == Outcome::kOk && total != std::vector<std::int32_t>(3000, 6)) ++wrong;
    }
  }),
            "")
      << "nothing hangs";
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(told, 0);
}

TEST(CcloDeterminism, ShufflingChangesNoTime) {
  for (const char* profile : {"seed", "gen2"}) {
    std::vector<Time> clocks;
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      WorldOptions options;
      options.shuffle_seed = seed;
      TimedCluster cluster(5, cclo_backend(), settings_with({{"profile", word(profile)}}), options);
      EXPECT_EQ(cluster.run([](TimedRank& rank) -> Task<void> {
        Int32Sum sum;
        std::vector<std::int32_t> data(9000, 1);
        std::vector<std::int32_t> total(9000);
        const int right = (rank.rank() + 1) % rank.size();
        const int left = (rank.rank() + rank.size() - 1) % rank.size();
        Buffer in(100000);
        const Buffer out = noise(100000, 1);
        for (int i = 0; i < 3; ++i) {
          co_await rank.allreduce(bytes_of(data), bytes_of(total), sum);
          co_await rank.sendrecv(right, out, left, in);
          co_await rank.bcast(bytes_of(total), i);
          co_await rank.reduce(bytes_of(data), bytes_of(total), i, sum);
        }
      }),
                "");
      if (seed > 0) {
        EXPECT_EQ(cluster.clocks(), clocks) << profile;
      }
      clocks = cluster.clocks();
    }
  }
}

}  // namespace
}  // namespace offramp::cclo
