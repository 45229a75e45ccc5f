// The casting lanes, the arithmetic unit and the kernels' streams, through the register block: bits and
// times.
#include <bit>
#include <cmath>
#include <limits>

#include "tests/cclo/card/datapath.hpp"
#include "tests/cclo/rig.hpp"

namespace offramp::cclo {
namespace {

using Floats = std::vector<float>;
using Halves = std::vector<std::uint16_t>;

const Values kGen2 = {{"profile", word("gen2")}};

Floats ramp(std::size_t count, float first, float step) {
  Floats values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(first + static_cast<float>(i) * step);
  return values;
}
Floats rounded(const Floats& values) {
  Floats out;
  for (const float value : values) out.push_back(float_of(half_of(value)));
  return out;
}

TEST(CcloHalf, RoundsToNearestEven) {
  const std::pair<float, std::uint16_t> known[] = {{0.0F, 0x0000},
                                                   {-0.0F, 0x8000},
                                                   {1.0F, 0x3c00},
                                                   {-2.0F, 0xc000},
                                                   {65504.0F, 0x7bff},
                                                   {65519.99F, 0x7bff},
                                                   {65520.0F, 0x7c00},
                                                   {1e9F, 0x7c00},
                                                   {0x1p-14F, 0x0400},
                                                   {0x1p-24F, 0x0001},
                                                   {0x1p-25F, 0x0000},
                                                   {0x1.000002p-25F, 0x0001},
                                                   {0x1.8p-24F, 0x0002},
                                                   {2049.0F, 0x6800},
                                                   {2051.0F, 0x6802},
                                                   {0x1.ffep-1F, 0x3c00},
                                                   {-std::numeric_limits<float>::infinity(), 0xfc00}};
  for (const auto& [value, half] : known) EXPECT_EQ(half_of(value), half) << value;
  EXPECT_TRUE(std::isnan(float_of(half_of(std::numeric_limits<float>::quiet_NaN()))));
  // Every half converts to itself, and a value midway between two halves to the even one.
  for (std::uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = float_of(half);
    EXPECT_EQ(half_of(value), half);
    EXPECT_EQ(half_of(-value), half | 0x8000U);
    if (bits == 0x7bff) break;
    const float next = float_of(static_cast<std::uint16_t>(bits + 1));
    const float middle = (value + next) / 2;
    EXPECT_EQ(half_of(middle), (bits & 1U) == 0 ? half : half + 1);
    EXPECT_EQ(half_of(std::nextafterf(middle, 0)), half);
    EXPECT_EQ(half_of(std::nextafterf(middle, next)), half + 1);
  }
}

TEST(CcloArithmetic, HasTenLanes) {
  const auto lane = [](std::uint32_t which, auto a, auto b) {
    auto out = a;
    compute(which, std::as_bytes(std::span(&a, 1)), std::as_bytes(std::span(&b, 1)),
            std::as_writable_bytes(std::span(&out, 1)));
    return out;
  };
  EXPECT_EQ(lane(0, 1.5F, 2.25F), 3.75F);
  EXPECT_EQ(lane(1, 1.5, 2.25), 3.75);
  EXPECT_EQ(lane(2, std::int32_t{2147483647}, std::int32_t{1}), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(lane(3, std::int64_t{1} << 40, std::int64_t{5}), (std::int64_t{1} << 40) + 5);
  EXPECT_EQ(lane(4, half_of(2048), half_of(1)), half_of(2048)) << "the even one";
  EXPECT_EQ(lane(4, half_of(2048), half_of(3)), half_of(2052));
  EXPECT_EQ(lane(5, -1.5F, -2.0F), -1.5F);
  EXPECT_EQ(lane(6, 7.0, 8.0), 8.0);
  EXPECT_EQ(lane(7, std::int32_t{-3}, std::int32_t{4}), 4);
  EXPECT_EQ(lane(8, std::int64_t{-3}, std::int64_t{-4}), -3);
  EXPECT_EQ(lane(9, half_of(-0.5F), half_of(0.25F)), half_of(0.25F));
  EXPECT_EQ(lane(200, 1.5F, 2.25F), 3.75F) << "a sum of floats";
}

CallArguments copy_of(std::size_t count) {
  CallArguments call;
  call.scenario = Scenario::kCopy;
  call.count = count;
  call.config = Config::kFloatHalf;
  return call;
}

TEST(CcloLanes, CopyCasts) {
  Rig rig(1, kGen2);
  const Floats values = ramp(1000, -5, 0.0137F);
  CallArguments call = copy_of(values.size());
  call.a = rig.put(0, values);
  call.c = rig.put(0, Halves(values.size() + 1, 0xabcd));
  call.compression = kResultCompressed;
  EXPECT_EQ(rig.call(0, call), 0U);
  const Halves halves = rig.get<std::uint16_t>(0, call.c, values.size() + 1);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(halves[i], half_of(values[i]));
  EXPECT_EQ(halves.back(), 0xabcd) << "nothing behind it";

  CallArguments back = copy_of(values.size());
  back.a = call.c;
  back.c = rig.put(0, Floats(values.size()));
  back.compression = kOperand0Compressed;
  EXPECT_EQ(rig.call(0, back), 0U);
  EXPECT_EQ(rig.get<float>(0, back.c, values.size()), rounded(values));

  CallArguments same = copy_of(values.size());  // both of the compressed type: copied as they are
  same.a = call.c;
  same.c = rig.put(0, Halves(values.size()));
  same.compression = kOperand0Compressed | kResultCompressed;
  EXPECT_EQ(rig.call(0, same), 0U);
  EXPECT_EQ(rig.get<std::uint16_t>(0, same.c, values.size()), Halves(halves.begin(), halves.end() - 1));
}

TEST(CcloLanes, CopyReachesHostMemory) {
  Rig rig(1, kGen2);
  const Floats values = ramp(100, 1, 1);
  CallArguments call = copy_of(values.size());
  call.config = Config::kFloat;
  call.a = rig.put(0, values, BufferLocation::kHost);
  call.c = rig.put(0, Floats(100));
  call.flags = kOperand0Host;
  EXPECT_EQ(rig.call(0, call), 0U);
  EXPECT_EQ(rig.get<float>(0, call.c, 100), values);
}

TEST(CcloLanes, CombineComputesOnTheTypeOfItsConfiguration) {
  Rig rig(1, kGen2);
  const Floats a = ramp(300, 1, 0.001F);
  const Floats b = ramp(300, 1000, 3);
  CallArguments call;
  call.scenario = Scenario::kCombine;
  call.count = a.size();
  call.config = Config::kFloatHalf;  // the arithmetic uses halves
  call.a = rig.put(0, a);
  call.b = rig.put(0, b);
  call.c = rig.put(0, Floats(a.size()));
  call.compression = kMessagesCompressed;  // no effect here
  EXPECT_EQ(rig.call(0, call), 0U);
  const Floats sums = rig.get<float>(0, call.c, a.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_EQ(sums[i], float_of(half_of(float_of(half_of(a[i])) + float_of(half_of(b[i]))))) << i;

  CallArguments halves = call;  // two halves, and a half
  halves.config = Config::kHalf;
  halves.compression = 0;
  halves.function = 1;
  halves.count = 3;
  halves.a = rig.put(0, Halves{half_of(1), half_of(-4), half_of(0.5F)});
  halves.b = rig.put(0, Halves{half_of(2), half_of(-8), half_of(0.25F)});
  halves.c = rig.put(0, Halves(3));
  EXPECT_EQ(rig.call(0, halves), 0U);
  EXPECT_EQ(rig.get<std::uint16_t>(0, halves.c, 3), (Halves{half_of(2), half_of(-4), half_of(0.5F)}));
}

/// A SEND at rank 0 and a RECV at rank 1. Returns the received data and the time of arrival.
std::pair<Floats, Time> carry(const Floats& values, std::uint32_t compression, const Values& more = {}) {
  Values settings = kGen2;
  settings.insert(settings.end(), more.begin(), more.end());
  Rig rig(2, settings);
  CallArguments send;
  send.scenario = Scenario::kSend;
  send.count = values.size();
  send.peer = 1;
  send.config = Config::kFloatHalf;
  send.compression = compression;
  send.a = rig.put(0, values);
  CallArguments receive = send;
  receive.scenario = Scenario::kReceive;
  receive.peer = 0;
  receive.c = rig.put(1, Floats(values.size()));
  rig.start(0, send);
  const std::size_t call = rig.start(1, receive);
  EXPECT_EQ(rig.finish(1), 0U);
  EXPECT_EQ(rig.waits, "");
  EXPECT_EQ(rig.return_value(0), 0U);
  return {rig.get<float>(1, receive.c, values.size()), rig.engine(1).result(call).end};
}

TEST(CcloLanes, MessagesMayBeCompressed) {
  for (const std::size_t count : {1U, 255U, 256U, 257U, 5000U}) {
    const Floats values = ramp(count, 0.1F, 0.37F);
    EXPECT_EQ(carry(values, kMessagesCompressed).first, rounded(values)) << count;
    EXPECT_EQ(carry(values, 0).first, values) << count;
  }
}

TEST(CcloLanes, ACompressedMessageTakesHalfTheLink) {
  // A slow link. The message is eager in either form: compressed messages of any length are.
  const Values slow = {{"link", number(1)}, {"rdma_bandwidth", number(1)}, {"max_eager", number(1000000)}};
  const Floats values = ramp(25000, 0, 0.01F);
  const Time plain = carry(values, 0, slow).second;
  const Time compressed = carry(values, kMessagesCompressed, slow).second;
  const double headers = 98 * (64 + 82) * 8 / 1e3;  // of the segments, with their framing
  EXPECT_NEAR(plain.seconds() * 1e6, 100000 * 8 / 1e3 + headers, 20);
  EXPECT_NEAR((plain - compressed).seconds() * 1e6, 50000 * 8 / 1e3, 10);
}

TEST(CcloLanes, CastingIsAWordPerCycle) {
  Rig rig(1, kGen2);
  const std::size_t count = 1U << 18;
  const auto time = [&](std::uint32_t compression) {
    CallArguments call = copy_of(count);
    call.a = rig.put(0, Floats(count));
    call.c = rig.put(0, Floats(count));
    call.compression = compression;
    const std::size_t index = rig.start(0, call, Time::ms(1));
    EXPECT_EQ(rig.finish(0), 0U);
    return rig.engine(0).result(index).end - rig.engine(0).result(index).begin;
  };
  const Time plain = time(0);  // as fast as a memory channel
  EXPECT_NEAR(static_cast<double>(time(kResultCompressed).count()), static_cast<double>(plain.count()),
              0.01 * static_cast<double>(plain.count()))
      << "the floats limit it";
  EXPECT_LT(time(kOperand0Compressed | kResultCompressed) * 100, plain * 51);
}

/// REDUCE of the floats of every rank; returns the root's result.
Floats reduce(Rig& rig, int ranks, const std::vector<Floats>& own, CallArguments call, std::uint32_t root) {
  call.scenario = Scenario::kReduce;
  call.count = own.front().size();
  call.peer = root;
  std::uint64_t into = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    call.a = rig.put(rank, own[static_cast<std::size_t>(rank)]);
    call.c = rig.put(rank, Floats(call.count));
    if (rank == static_cast<int>(root)) into = call.c;
    rig.start(rank, call);
  }
  EXPECT_EQ(rig.finish(static_cast<int>(root)), 0U);
  EXPECT_EQ(rig.waits, "");
  return rig.get<float>(static_cast<int>(root), into, call.count);
}

TEST(CcloLanes, ReduceComputesOnHalves) {
  constexpr int kRanks = 4;
  std::vector<Floats> own;
  for (int rank = 0; rank < kRanks; ++rank)
    own.push_back(ramp(700, 0.3F * static_cast<float>(rank + 1), 0.011F));
  CallArguments call;
  call.config = Config::kFloatHalf;
  call.compression = kMessagesCompressed;
  for (std::uint32_t root = 0; root < kRanks; ++root) {
    Rig rig(kRanks, kGen2);
    const Floats sums = reduce(rig, kRanks, own, call, root);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      // Around the ring, starting behind the root: the halves one after the other.
      std::uint16_t sum = half_of(own[(root + 1) % kRanks][i]);
      for (std::uint32_t step = 2; step <= kRanks; ++step)
        sum = half_of(float_of(half_of(own[(root + step) % kRanks][i])) + float_of(sum));
      EXPECT_EQ(sums[i], float_of(sum)) << root << " " << i;
    }
  }
}

TEST(CcloLanes, CollectivesMayHaveCompressedMessages) {
  constexpr int kRanks = 3;
  const auto run = [](Scenario scenario, std::size_t count, std::size_t a, std::size_t c) {
    Rig rig(kRanks, kGen2);
    std::vector<CallArguments> calls;
    for (int rank = 0; rank < kRanks; ++rank) {
      CallArguments& call = calls.emplace_back();
      call.scenario = scenario;
      call.count = count;
      call.config = Config::kFloatHalf;
      call.compression = kMessagesCompressed;
      call.a = rig.put(rank, ramp(a, 0.7F + static_cast<float>(rank), 0.13F));
      call.c = rig.put(rank, Floats(c));
      rig.start(rank, call);
    }
    EXPECT_EQ(rig.finish(0), 0U) << to_string(scenario);
    EXPECT_EQ(rig.waits, "") << to_string(scenario);
    std::vector<Floats> results;
    for (int rank = 0; rank < kRanks; ++rank) {
      const CallArguments& call = calls[static_cast<std::size_t>(rank)];
      const bool bcast = scenario == Scenario::kBcast;
      results.push_back(rig.get<float>(rank, bcast ? call.a : call.c, bcast ? a : c));
    }
    return results;
  };
  const std::size_t n = 600;
  const Floats first = ramp(n, 0.7F, 0.13F);
  const std::vector<Floats> bcast = run(Scenario::kBcast, n, n, 0);
  EXPECT_EQ(bcast[0], first);
  EXPECT_EQ(bcast[1], rounded(first));
  EXPECT_EQ(bcast[2], rounded(first));
  const std::vector<Floats> scatter = run(Scenario::kScatter, n, n * kRanks, n);
  const Floats all = ramp(n * kRanks, 0.7F, 0.13F);
  EXPECT_EQ(scatter[0], Floats(all.begin(), all.begin() + n));
  EXPECT_EQ(scatter[2], rounded(Floats(all.end() - n, all.end())));
  const std::vector<Floats> gather = run(Scenario::kGather, n, n, n * kRanks);
  const Floats third = ramp(n, 2.7F, 0.13F);
  EXPECT_EQ(Floats(gather[0].end() - n, gather[0].end()), rounded(third));
  for (const Floats& everyone : run(Scenario::kAllgather, n, n, n * kRanks)) {
    for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(everyone[2 * n + i], third[i], 0.06);
  }
  for (const Floats& sums : run(Scenario::kAllreduce, n, n, n)) {
    for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(sums[i], 3 * first[i] + 3, 0.3) << i;
  }
}

TEST(CcloStreams, AKernelSuppliesAnOperandAndTakesAResult) {
  Rig rig(1, kGen2);
  TestKernel kernel;
  const Floats values = ramp(200, 1, 1);
  kernel.fill(values);
  rig.engine(0).attach(kernel);
  CallArguments into = copy_of(values.size());
  into.config = Config::kFloat;
  into.flags = kOperand0Stream;
  into.c = rig.put(0, Floats(values.size()));
  EXPECT_EQ(rig.call(0, into), 0U);
  EXPECT_EQ(rig.get<float>(0, into.c, values.size()), values);
  CallArguments out = copy_of(values.size());
  out.config = Config::kFloatHalf;
  out.flags = kResultStream;
  out.compression = kResultCompressed;
  out.tag = 17;
  out.a = into.c;
  EXPECT_EQ(rig.call(0, out), 0U);
  const Halves halves = kernel.got<std::uint16_t>();
  ASSERT_EQ(halves.size(), values.size());
  for (std::size_t i = 0; i < halves.size(); ++i) EXPECT_EQ(halves[i], half_of(values[i]));
  EXPECT_EQ(kernel.streams.back(), 17U);
  EXPECT_GT(kernel.last, Time());
}

TEST(CcloStreams, ASendMayEndAtAKernelOfThePeer) {
  Rig rig(2, kGen2);
  TestKernel kernel;
  rig.engine(1).attach(kernel);
  const Floats values = ramp(1000, 3, 0.5F);
  CallArguments send;
  send.scenario = Scenario::kSend;
  send.count = values.size();
  send.peer = 1;
  send.tag = 33;  // in the header: stream 42
  send.flags = kResultStream;
  send.a = rig.put(0, values);
  EXPECT_EQ(rig.call(0, send), 0U);
  EXPECT_EQ(kernel.got<float>(), values);
  for (const std::uint32_t stream : kernel.streams) EXPECT_EQ(stream, 33U);
  EXPECT_GT(kernel.last, kLatency);
  const Communicator communicator(rig.engine(0).space(), rig.communicator());
  EXPECT_EQ(communicator.get(1, RankField::kOutboundSequence), 0U) << "it passes no RX buffer";
  send.tag = kMostStreamTag + 1;  // with 9 more than a destination's 8 bits: the switch has other ports there
  EXPECT_EQ(rig.call(0, send), 0U);
  EXPECT_EQ(kernel.got<float>().size(), values.size());
}

TEST(CcloStreams, KernelsSendReceiveAndReduce) {
  Rig rig(2, kGen2);
  TestKernel source;
  TestKernel sink;
  const Floats values = ramp(700, -2, 0.25F);
  source.fill(values);
  rig.engine(0).attach(source);
  rig.engine(1).attach(sink);
  CallArguments send;
  send.scenario = Scenario::kSend;
  send.count = values.size();
  send.peer = 1;
  send.tag = 4;
  send.flags = kOperand0Stream;
  CallArguments receive = send;
  receive.scenario = Scenario::kReceive;
  receive.peer = 0;
  receive.flags = kResultStream;
  rig.start(0, send);
  rig.start(1, receive);
  EXPECT_EQ(rig.finish(1), 0U);
  EXPECT_EQ(sink.got<float>(), values);
  EXPECT_EQ(sink.streams.front(), 4U);

  TestKernel operand;
  operand.fill(values);
  rig.engine(0).attach(operand);
  sink.taken.clear();
  sink.fill(values);
  CallArguments both;
  both.flags = kOperand0Stream | kResultStream;
  both.scenario = Scenario::kReduce;
  both.count = values.size();
  both.peer = 1;
  rig.start(0, both);
  rig.start(1, both);
  EXPECT_EQ(rig.finish(1), 0U);
  const Floats sums = sink.got<float>();
  ASSERT_EQ(sums.size(), values.size());
  for (std::size_t i = 0; i < sums.size(); ++i) EXPECT_EQ(sums[i], 2 * values[i]);
}

TEST(CcloStreams, TheFirstGenerationHasExternalKernels) {
  Rig rig(1);
  TestKernel kernel;
  Buffer a(200000, std::byte{7});
  Buffer b(200000, std::byte{3});
  b[199999] = std::byte{9};
  rig.engine(0).attach(kernel);
  kernel.supplies = b;
  CallArguments call;
  call.scenario = Scenario::kExternalStream;
  call.count = a.size();
  call.a = rig.put(0, a);
  call.b = rig.put(0, Buffer(a.size()));
  EXPECT_EQ(rig.call(0, call), 0U);
  EXPECT_EQ(kernel.taken, a);
  EXPECT_EQ(rig.get<std::byte>(0, call.b, b.size()), b);
  call.scenario = Scenario::kExternalReduce;
  call.b = rig.put(0, b);
  call.c = rig.put(0, Buffer(a.size()));
  EXPECT_EQ(rig.call(0, call), 0U);
  a.back() = std::byte{9};
  EXPECT_EQ(rig.get<std::byte>(0, call.c, a.size()), a);
}

}  // namespace
}  // namespace offramp::cclo
