#include "offramp/kernel/channel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

namespace offramp {
namespace {

using Times = std::vector<Time>;

Task<void> write_all(Channel<int>& out, Times gaps, Times& written) {
  Process& self = co_await this_process();
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    co_await delay(gaps[i]);
    co_await out.write(static_cast<int>(i));
    written.push_back(self.clock);
  }
}

Task<void> read_all(Channel<int>& in, Times gaps, Times& read) {
  Process& self = co_await this_process();
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    co_await delay(gaps[i]);
    EXPECT_EQ(co_await in.read(), static_cast<int>(i));
    read.push_back(self.clock);
  }
}

Time at(const Times& times, std::size_t i) {
  return times[i];
}

struct Outcome {
  Times written, read;
};

Outcome run(std::size_t capacity, Time latency, const Times& writer_gaps, const Times& reader_gaps,
            std::uint64_t shuffle = 0) {
  Scheduler scheduler(shuffle);
  Channel<int> channel(scheduler, capacity, latency);
  Outcome outcome;
  scheduler.spawn("writer", write_all(channel, writer_gaps, outcome.written));
  scheduler.spawn("reader", read_all(channel, reader_gaps, outcome.read));
  EXPECT_TRUE(scheduler.run());
  return outcome;
}

TEST(Channel, ReadTakesTheClockToTheToken) {
  const Outcome outcome = run(4, Time::ns(2), {Time::ns(10)}, {Time::ns(1)});
  EXPECT_EQ(outcome.read, Times{Time::ns(12)});
}

TEST(Channel, ReadNeverTakesTheClockBack) {
  const Outcome outcome = run(4, Time::ns(2), {Time::ns(10)}, {Time::ns(50)});
  EXPECT_EQ(outcome.read, Times{Time::ns(50)});
}

TEST(Channel, WriteTakesNoTimeWhileSlotsAreFree) {
  const Outcome outcome = run(3, Time::ns(7), Times(3), Times(3, Time::ns(100)));
  EXPECT_EQ(outcome.written, Times(3));
}

TEST(Channel, WriteIntoAFullChannelWaitsUntilTheReaderFreesTheSlot) {
  const Outcome outcome = run(1, Time(), Times(3), Times(3, Time::ns(100)));
  EXPECT_EQ(outcome.written, (Times{Time(), Time::ns(100), Time::ns(200)}));
  EXPECT_EQ(outcome.read, (Times{Time::ns(100), Time::ns(200), Time::ns(300)}));
}

TEST(Channel, BackPressureBeginsExactlyWhenTheReaderIsSlower) {
  // A writer every t, a reader every t - 1, t, t + 1 picoseconds, through two slots.
  const std::int64_t t = 1000;
  const std::size_t n = 50;
  for (const std::int64_t slower : {-1, 0, 1}) {
    const Outcome outcome = run(2, Time(), Times(n, Time::ps(t)), Times(n, Time::ps(t + slower)));
    const Time unhindered = Time::ps(t * static_cast<std::int64_t>(n));
    // With a slower reader, the last token is written when the token two before it is read.
    const Time hindered = Time::ps((t + slower) * static_cast<std::int64_t>(n - 2) + t);
    EXPECT_EQ(outcome.written.back(), slower > 0 ? later(unhindered, hindered) : unhindered) << slower;
  }
}

TEST(Channel, BandwidthTendsToTheSlowerSide) {
  const std::size_t n = 1000;
  const Outcome outcome = run(4, Time::ns(3), Times(n, Time::ns(5)), Times(n, Time::ns(9)));
  EXPECT_EQ((outcome.read.back() - outcome.read[n / 2 - 1]).count(),
            static_cast<std::int64_t>(n / 2) * 9'000);
}

TEST(Channel, FollowsTheRecurrenceOfABoundedQueue) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    std::mt19937_64 random(seed);
    const auto up_to = [&](std::uint64_t n) {
      return Time::ps(static_cast<std::int64_t>(random() % (n + 1)));
    };
    const std::size_t n = 1 + random() % 40;
    const std::size_t capacity = 1 + random() % 6;
    const Time latency = up_to(30);
    Times writer(n), reader(n);
    const std::uint64_t writer_scale = 1 + random() % 20;
    const std::uint64_t reader_scale = 1 + random() % 20;
    for (Time& gap : writer) gap = up_to(writer_scale);
    for (Time& gap : reader) gap = up_to(reader_scale);
    Times written, read;
    for (std::size_t i = 0; i < n; ++i) {
      const Time issued = (i > 0 ? at(written, i - 1) : Time()) + writer[i];
      written.push_back(i < capacity ? issued : later(issued, at(read, i - capacity)));
      const Time ready = (i > 0 ? at(read, i - 1) : Time()) + reader[i];
      read.push_back(later(ready, written[i] + latency));
    }
    const Outcome outcome = run(capacity, latency, writer, reader, seed);
    ASSERT_EQ(outcome.written, written) << "seed " << seed;
    ASSERT_EQ(outcome.read, read) << "seed " << seed;
  }
}

TEST(Channel, MoreSlotsAreNeverSlower) {
  std::mt19937_64 random(5);
  Times writer(60), reader(60);
  for (Time& gap : writer) gap = Time::ps(static_cast<std::int64_t>(random() % 50));
  for (Time& gap : reader) gap = Time::ps(static_cast<std::int64_t>(random() % 50));
  Time before = Time::never();
  for (std::size_t capacity = 1; capacity < 64; ++capacity) {
    const Time end = run(capacity, Time::ps(10), writer, reader).read.back();
    EXPECT_LE(end, before) << capacity;
    before = end;
  }
}

TEST(Channel, HasNoDelayWithoutCosts) {
  const Outcome outcome = run(1, Time(), Times(20), Times(20));
  EXPECT_EQ(outcome.read, Times(20));
}

Task<void> write_at_times(Channel<int>& out, Times visible) {
  for (std::size_t i = 0; i < visible.size(); ++i) co_await out.write_at(static_cast<int>(i), visible[i]);
}

TEST(Channel, WriteAtDoesNotMoveTheWriter) {
  Scheduler scheduler;
  Channel<int> channel(scheduler, 2);
  Times read;
  const Process& writer = scheduler.spawn("writer", write_at_times(channel, {Time::ns(30), Time::ns(40)}));
  scheduler.spawn("reader", read_all(channel, Times(2), read));
  EXPECT_TRUE(scheduler.run());
  EXPECT_EQ(writer.clock, Time());
  EXPECT_EQ(read, (Times{Time::ns(30), Time::ns(40)}));
}

TEST(Channel, WriteAtIsNotVisibleBeforeItsSlotWasFree) {
  Scheduler scheduler;
  Channel<int> channel(scheduler, 1);
  Times read;
  const Process& writer = scheduler.spawn("writer", write_at_times(channel, {Time::ns(30), Time::ns(31)}));
  scheduler.spawn("reader", read_all(channel, {Time::ns(100), Time()}, read));
  EXPECT_TRUE(scheduler.run());
  EXPECT_EQ(writer.clock, Time::ns(100));
  EXPECT_EQ(read, (Times{Time::ns(100), Time::ns(100)}));
}

TEST(Channel, TokensStayInOrderEvenIfALaterOneIsVisibleEarlier) {
  Scheduler scheduler;
  Channel<int> channel(scheduler, 4);
  Times read;
  scheduler.spawn("writer", write_at_times(channel, {Time::ns(30), Time::ns(10)}));
  scheduler.spawn("reader", read_all(channel, Times(2), read));
  EXPECT_TRUE(scheduler.run());
  EXPECT_EQ(read, (Times{Time::ns(30), Time::ns(30)}));
}

struct Attempt {
  int token;  // -1: none
  Time clock;
  friend bool operator==(const Attempt&, const Attempt&) = default;
};

Task<void> read_with_deadlines(Channel<int>& in, Times deadlines, std::vector<Attempt>& attempts) {
  Process& self = co_await this_process();
  for (const Time deadline : deadlines) {
    const std::optional<int> token = co_await in.read_until(deadline);
    attempts.push_back({token.value_or(-1), self.clock});
  }
}

std::vector<Attempt> attempt(const Times& visible, const Times& deadlines, bool reader_first,
                             std::size_t capacity = 64) {
  Scheduler scheduler;
  Channel<int> channel(scheduler, capacity);
  std::vector<Attempt> attempts;
  if (reader_first) scheduler.spawn("reader", read_with_deadlines(channel, deadlines, attempts));
  scheduler.spawn("writer", write_at_times(channel, visible));
  if (!reader_first) scheduler.spawn("reader", read_with_deadlines(channel, deadlines, attempts));
  scheduler.run();
  return attempts;
}

class ChannelDeadline : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(BothOrders, ChannelDeadline, testing::Bool());

TEST_P(ChannelDeadline, GivesTheTokenThatIsVisibleInTime) {
  EXPECT_EQ(attempt({Time::ns(10)}, {Time::ns(11)}, GetParam()), (std::vector<Attempt>{{0, Time::ns(10)}}));
  EXPECT_EQ(attempt({Time::ns(10)}, {Time::ns(10)}, GetParam()), (std::vector<Attempt>{{0, Time::ns(10)}}));
}

TEST_P(ChannelDeadline, PassesWhenTheTokenIsVisibleLaterAndTheTokenStays) {
  EXPECT_EQ(attempt({Time::ns(10)}, {Time::ps(9'999), Time::ns(20)}, GetParam()),
            (std::vector<Attempt>{{-1, Time::ps(9'999)}, {0, Time::ns(10)}}));
}

TEST_P(ChannelDeadline, PassesWithoutAWrite) {
  EXPECT_EQ(attempt({}, {Time::ns(5), Time::ns(6)}, GetParam()),
            (std::vector<Attempt>{{-1, Time::ns(5)}, {-1, Time::ns(6)}}));
}

TEST_P(ChannelDeadline, InThePastReadsOnlyVisibleValues) {
  EXPECT_EQ(
      attempt({Time::ns(8), Time::ns(9), Time::ns(20)},
              {Time::ns(10), Time::ns(15), Time::ns(3), Time::ns(12), Time::ns(1)}, GetParam()),
      (std::vector<Attempt>{
          {0, Time::ns(8)}, {1, Time::ns(9)}, {-1, Time::ns(9)}, {-1, Time::ns(12)}, {-1, Time::ns(12)}}));
}

TEST_P(ChannelDeadline, NeverWaitsForAToken) {
  EXPECT_EQ(attempt({Time::ns(8)}, {Time::never(), Time::never()}, GetParam()),
            (std::vector<Attempt>{{0, Time::ns(8)}}));
}

TEST(ChannelDeadlines, FollowTheirDefinition) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    std::mt19937_64 random(seed);
    Times visible(random() % 30), deadlines(60);
    Time clock;
    for (Time& time : visible) time = clock = clock + Time::ps(static_cast<std::int64_t>(random() % 20));
    clock = Time();
    for (Time& time : deadlines) {
      clock += Time::ps(static_cast<std::int64_t>(random() % 16));
      time = later(Time(), clock - Time::ps(static_cast<std::int64_t>(random() % 8)));
    }
    std::vector<Attempt> expected;
    std::size_t next = 0;
    clock = Time();
    for (const Time deadline : deadlines) {
      const Time until = later(deadline, clock);
      const bool got = next < visible.size() && visible[next] <= until;
      clock = got ? later(clock, visible[next]) : until;
      expected.push_back({got ? static_cast<int>(next++) : -1, clock});
    }
    ASSERT_EQ(attempt(visible, deadlines, seed % 2 == 0), expected) << "seed " << seed;
  }
}

TEST(ChannelDeadlines, AreForgottenOnceATokenCame) {
  // The first wait ends with a token; a deadline left on the list would end the second wait early.
  Scheduler scheduler;
  Channel<int> first(scheduler, 1), second(scheduler, 1);
  std::vector<Attempt> attempts;
  const auto reader = [](Channel<int>& a, Channel<int>& b, std::vector<Attempt>& seen) -> Task<void> {
    Process& self = co_await this_process();
    seen.push_back({(co_await a.read_until(Time::ns(50))).value_or(-1), self.clock});
    seen.push_back({(co_await b.read_until(Time::ns(500))).value_or(-1), self.clock});
  };
  const auto writer = [](Channel<int>& a, Channel<int>& b, Channel<int>& never) -> Task<void> {
    co_await a.write_at(1, Time::ns(10));
    (void)co_await never.read_until(Time::ns(300));
    co_await b.write(2);
  };
  Channel<int> never(scheduler, 1);
  scheduler.spawn("reader", reader(first, second, attempts));
  scheduler.spawn("writer", writer(first, second, never));
  EXPECT_TRUE(scheduler.run());
  EXPECT_EQ(attempts, (std::vector<Attempt>{{1, Time::ns(10)}, {2, Time::ns(300)}}));
}

TEST(Channel, MovesTokensAndKeepsNone) {
  Scheduler scheduler;
  Channel<std::shared_ptr<int>> channel(scheduler, 2);
  const auto value = std::make_shared<int>(3);
  const auto writer = [](Channel<std::shared_ptr<int>>& out, std::shared_ptr<int> token) -> Task<void> {
    for (int i = 0; i < 9; ++i) co_await out.write(token);
    co_await out.write(std::move(token));
    EXPECT_EQ(token, nullptr);  // NOLINT(bugprone-use-after-move): what is tested
  };
  const auto reader = [](Channel<std::shared_ptr<int>>& in) -> Task<void> {
    for (int i = 0; i < 5; ++i) EXPECT_EQ(*(co_await in.read()), 3);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(**(co_await in.read_until(Time::ns(1))), 3);
    EXPECT_FALSE(co_await in.read_until(Time::ns(2)));
  };
  scheduler.spawn("writer", writer(channel, value));
  scheduler.spawn("reader", reader(channel));
  EXPECT_TRUE(scheduler.run());
  EXPECT_EQ(value.use_count(), 1);
}

TEST(Channel, CarriesTokensThatOnlyMove) {
  Scheduler scheduler;
  Channel<std::unique_ptr<int>> channel(scheduler, 1);
  int sum = 0;
  const auto writer = [](Channel<std::unique_ptr<int>>& out) -> Task<void> {
    for (int i = 1; i <= 4; ++i) co_await out.write(std::make_unique<int>(i));
  };
  const auto reader = [](Channel<std::unique_ptr<int>>& in, int& total) -> Task<void> {
    while (const auto token = co_await in.read_until(Time::ns(1))) total += **token;
  };
  scheduler.spawn("reader", reader(channel, sum));
  scheduler.spawn("writer", writer(channel));
  EXPECT_TRUE(scheduler.run());
  EXPECT_EQ(sum, 10);
}

Task<void> write_pointers(Channel<std::shared_ptr<int>>& out, std::shared_ptr<int> token, int count) {
  for (int i = 0; i < count; ++i) co_await out.write(token);
}
Task<void> read_pointers(Channel<std::shared_ptr<int>>& in, int count) {
  for (int i = 0; i < count; ++i) co_await in.read();
}

TEST(Channel, ReleasesTokensOfProcessesThatNeverEnd) {
  const auto value = std::make_shared<int>(3);
  for (const bool scheduler_goes_first : {false, true}) {
    auto scheduler = std::make_unique<Scheduler>();
    auto blocked = std::make_unique<Channel<std::shared_ptr<int>>>(*scheduler, 2);
    auto silent = std::make_unique<Channel<std::shared_ptr<int>>>(*scheduler, 2);
    scheduler->spawn("writer", write_pointers(*blocked, value, 5));
    scheduler->spawn("reader", read_pointers(*silent, 5));
    EXPECT_FALSE(scheduler->run());
    EXPECT_EQ(value.use_count(), 1 + 2 + 1 + 1);  // here, two slots, the parameter, the waiting token
    if (scheduler_goes_first) scheduler.reset();
    blocked.reset();
    silent.reset();
    scheduler.reset();
    EXPECT_EQ(value.use_count(), 1);
  }
}

TEST(Channel, ServesAgainAfterResetHoweverTheLastNetworkStopped) {
  const auto value = std::make_shared<int>(3);
  Scheduler scheduler;
  Channel<std::shared_ptr<int>> channel(scheduler, 2);
  for (int round = 0; round < 9; ++round) {
    const int written = 1 + round % 3 * 2;
    const int read = 1 + round / 3 * 2;
    const Process& writer = scheduler.spawn("writer", write_pointers(channel, value, written));
    scheduler.spawn("reader", read_pointers(channel, read), Time::ns(7));
    EXPECT_EQ(scheduler.run(), written == read || (written > read && written - read <= 2));
    EXPECT_EQ(writer.clock, written > 2 ? Time::ns(7) : Time());
    scheduler.clear();
    channel.reset();
    EXPECT_EQ(value.use_count(), 1);
  }
}

}  // namespace
}  // namespace offramp
