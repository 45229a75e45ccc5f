// Calls over wires that lose, repeat and reorder packets.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "simulators/zrlmpi/exchange.hpp"
#include "tests/zrlmpi/support.hpp"

namespace offramp::zrlmpi {
namespace {

enum class Way : std::uint8_t { kForth, kBack };

/// A fault script of a call from rank 0 to rank 1 that loses packet n of one direction, but none of the other
/// first 20.
FaultRates losing(Way way, std::uint64_t n) {
  FaultRates rates;
  rates.loss = 0.03;
  for (rates.seed = 1;; ++rates.seed) {
    bool found = true;
    for (std::uint64_t i = 0; i < 20 && found; ++i) {
      const bool forth_lost = fault_of(rates, forth(0, 1), i) == Fault::kLost;
      const bool back_lost = fault_of(rates, back(0, 1), i) == Fault::kLost;
      found = forth_lost == (way == Way::kForth && i == n) && back_lost == (way == Way::kBack && i == n);
    }
    if (found) return rates;
  }
}

struct SceneResult {
  ExchangeResult result;
  Buffer into;
  std::vector<StateChange> states;
  [[nodiscard]] Time entered(int rank, State state) const {
    for (const StateChange& change : states) {
      if (change.rank == rank && change.state == state) return change.at;
    }
    return Time::never();
  }
};

SceneResult play(const FaultRates& faults, const Buffer& data, const MpeSpec& spec = MpeSpec()) {
  SceneResult result;
  result.into.resize(data.size());
  ExchangeRequest request = request_of(data.size());
  request.payload = data;
  request.into = result.into;
  request.faults = faults;
  result.result = ExchangeRunner(spec).run(request, &result.states);
  return result;
}

// The repeated work plus the documented timer, to the picosecond.
class ZrlmpiSingleLoss : public testing::Test {
 protected:
  SceneResult lost(Way way, std::uint64_t n) {
    SceneResult it = play(losing(way, n), data_);
    EXPECT_TRUE(it.result.ok());
    EXPECT_EQ(it.into, data_);
    EXPECT_EQ(it.result.wire.lost, 1U);
    EXPECT_GT(it.result.wire.retransmissions, 0U);
    return it;
  }
  [[nodiscard]] Time header() const { return spec_.iterations(spec_.header_iterations()); }

  MpeSpec spec_;
  Buffer data_ = pattern(1000, 4);
  SceneResult whole_ = play(harmless(), data_);
};

TEST_F(ZrlmpiSingleLoss, CostsTheSendersTimerForASendRequest) {
  EXPECT_EQ(lost(Way::kForth, 0).result.complete,
            whole_.result.complete + spec_.timeout(0, Awaited::kAnswer, 0) + header());
  EXPECT_EQ(spec_.timeout(0, Awaited::kAnswer, 0), Time::ms(200));
}

TEST_F(ZrlmpiSingleLoss, CostsTheReceiversTimerForAClearToSend) {
  EXPECT_EQ(lost(Way::kBack, 0).result.complete,
            whole_.result.complete + spec_.timeout(1, Awaited::kAnswer, 0) + header());
  EXPECT_EQ(spec_.timeout(1, Awaited::kAnswer, 0), Time::ms(225));
}

TEST_F(ZrlmpiSingleLoss, CostsTwiceTheSendersTimerForData) {
  const Time sending = whole_.entered(0, State::kWait4Ack) - whole_.result.data;
  EXPECT_EQ(lost(Way::kForth, 1).result.complete,
            whole_.result.complete + spec_.timeout(0, Awaited::kAck, 0) + sending);
  EXPECT_EQ(spec_.timeout(0, Awaited::kAck, 0), Time::ms(400));
}

// The engine keeps no copy: its feedback makes the role stream the buffer again.
TEST_F(ZrlmpiSingleLoss, MakesTheRoleStreamSentDataAgain) {
  EXPECT_EQ(lost(Way::kForth, 0).result.streamed_again, 0U) << "a request is the engine's own";
  EXPECT_EQ(lost(Way::kForth, 1).result.streamed_again, 1U);
  EXPECT_EQ(lost(Way::kBack, 1).result.streamed_again, 1U);
}

// The reference waits for ever, because its receiver does not acknowledge twice.
TEST_F(ZrlmpiSingleLoss, CostsTwiceTheSendersTimerForAnAck) {
  const Time sending = whole_.entered(0, State::kWait4Ack) - whole_.result.data;
  const SceneResult it = lost(Way::kBack, 1);
  EXPECT_GT(it.result.complete, whole_.result.complete + spec_.timeout(0, Awaited::kAck, 0));
  EXPECT_LE(it.result.complete, whole_.result.complete + spec_.timeout(0, Awaited::kAck, 0) + sending);
  EXPECT_EQ(it.result.last, whole_.result.last) << "the receiver had the data before";
}

TEST(ZrlmpiTimer, GrowsTwiceWithTheAttemptAndWithTheRank) {  // zrlmpi_common.hpp and mpe.cpp, at II = 2
  const MpeSpec spec;
  EXPECT_EQ(spec.timeout(0, Awaited::kAnswer, 1), Time::ms(2200));
  EXPECT_EQ(spec.timeout(0, Awaited::kAnswer, 2), Time::ms(4200));
  EXPECT_EQ(spec.timeout(0, Awaited::kAnswer, 9), Time::ms(4200));
  EXPECT_EQ(spec.timeout(8, Awaited::kAck, 0), Time::ms(800));
}

TEST(ZrlmpiTimer, SpacesTheRequestsToADeadPeer) {
  MpeSpec spec;
  spec.retries = 3;
  const SceneResult it = play({1, 1, 0, 0}, pattern(10, 1), spec);
  std::vector<Time> requests;
  for (const StateChange& change : it.states) {
    if (change.rank == 0 && change.state == State::kWait4Clear) requests.push_back(change.at);
  }
  ASSERT_EQ(requests.size(), 4U) << "one request and three repetitions";
  const Time header = spec.iterations(spec.header_iterations());
  for (int i = 0; i < 3; ++i) {
    const auto at = static_cast<std::size_t>(i);
    EXPECT_EQ(requests[at + 1] - requests[at], spec.timeout(0, Awaited::kAnswer, i) + header);
  }
}

// Retries end, the network becomes idle, and neither end reports success.
TEST(ZrlmpiFaults, EndInAFailedCallWhenTheRetriesAreUsedUp) {
  for (const int retries : {0, 1, 3, 16}) {
    MpeSpec spec;
    spec.retries = retries;
    const SceneResult it = play({1, 1, 0, 0}, pattern(3000, 1), spec);
    EXPECT_FALSE(it.result.ok());
    EXPECT_FALSE(it.result.sent);
    EXPECT_FALSE(it.result.delivered);
    EXPECT_EQ(it.result.wire.retransmissions, static_cast<std::uint64_t>(retries));
    EXPECT_GT(it.result.complete, Time());
    EXPECT_EQ(it.result.last, Time());
  }
}

TEST(ZrlmpiFaults, LeaveNoTimeOfAFailedCallBeforeItsBeginning) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    MpeSpec spec;
    spec.retries = 0;
    ExchangeRequest request = request_of(3000);
    request.begin = request.ready = Time::ms(5);
    request.faults = {seed, 0.5, 0, 0};
    const ExchangeResult result = ExchangeRunner(spec).run(request);
    for (const Time at : {result.request, result.data, result.first, result.last, result.complete})
      EXPECT_GE(at, request.begin);
  }
}

// The receiver has everything, but the sender never gets the acknowledgement: no success.
TEST(ZrlmpiFaults, FailTheCallWhenAllAcksAreLost) {
  MpeSpec spec;
  spec.retries = 0;
  const Buffer data = pattern(500, 2);
  const SceneResult it = play(losing(Way::kBack, 1), data, spec);
  EXPECT_TRUE(it.result.delivered);
  EXPECT_EQ(it.into, data);
  EXPECT_FALSE(it.result.sent);
  EXPECT_FALSE(it.result.ok());
}

// The received data is right, or the call has failed.
TEST(ZrlmpiFaults, NeverCorruptAMessage) {
  std::mt19937_64 random(20);
  std::uniform_real_distribution<double> rate(0, 0.2);
  int ok = 0;
  constexpr int kRuns = 4000;
  MpeSpec spec;
  spec.retries = 16;
  for (int i = 0; i < kRuns; ++i) {
    spec.bus_bits = i % 2 == 0 ? 64 : 8;
    spec.format = i % 3 == 0 ? Format::kStrict : Format::kExtended;
    const std::size_t size = i % 50 == 0 ? 60000 : random() % 9000;
    const Buffer data = i % 5 == 0 ? fake_headers(size, request_of(0), spec.format)
                                   : pattern(size, static_cast<std::uint32_t>(i));
    const FaultRates faults{random(), rate(random), rate(random), rate(random)};
    const SceneResult it = play(faults, data, spec);
    EXPECT_TRUE(!it.result.delivered || it.into == data) << i;
    EXPECT_TRUE(!it.result.sent || it.result.delivered) << i;
    ok += it.result.ok() ? 1 : 0;
  }
  EXPECT_GE(ok, kRuns * 99 / 100);
}

TEST(ZrlmpiFaults, ThatOnlyDuplicateAreRepairedWithoutATimer) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Buffer data = pattern(20000, static_cast<std::uint32_t>(seed));
    const SceneResult it = play({seed, 0, 0.2, 0}, data);
    EXPECT_TRUE(it.result.ok());
    EXPECT_EQ(it.into, data);
    EXPECT_LT(it.result.complete, Time::ms(1));
  }
}

TEST(ZrlmpiFaults, AreDeterministic) {
  const FaultRates faults{3, 0.1, 0.1, 0.1};
  EXPECT_EQ(play(faults, pattern(9000, 1)).result.complete, play(faults, pattern(9000, 1)).result.complete);
}

TEST(ZrlmpiFaults, CostEqualTimeWithAndWithoutThePayload) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const FaultRates faults{seed, 0.1, 0.1, 0.1};
    ExchangeRequest request = request_of(9000);
    request.faults = faults;
    EXPECT_EQ(ExchangeRunner(MpeSpec()).run(request).complete,
              play(faults, pattern(9000, 1)).result.complete);
  }
}

// An INT receive against a FLOAT send, whose first ERROR is lost.
TEST(ZrlmpiFaults, DoNotKeepAnErrorFromTheSender) {
  ExchangeRequest request = request_of(100);
  request.call = MpiCall::kSendFloat;
  request.answer = MpiCall::kReceiveInt;
  request.faults = losing(Way::kBack, 0);
  std::vector<StateChange> states;
  const ExchangeResult result = ExchangeRunner(MpeSpec()).run(request, &states);
  EXPECT_TRUE(result.mismatch);
  EXPECT_EQ(result.wire.packets, 4U) << "two requests, two errors";
}

}  // namespace
}  // namespace offramp::zrlmpi
