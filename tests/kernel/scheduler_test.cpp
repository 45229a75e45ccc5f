#include "offramp/kernel/scheduler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "offramp/kernel/channel.hpp"

namespace offramp {
namespace {

Task<void> wait_for(Time span) {
  co_await delay(span);
}

Task<void> read_one(Channel<int>& in) {
  co_await in.read();
}

TEST(Scheduler, WithoutProcessesIsDone) {
  Scheduler scheduler;
  EXPECT_TRUE(scheduler.run());
}

TEST(Scheduler, DelayMovesOneClockOnly) {
  Scheduler scheduler;
  const Process& a = scheduler.spawn("a", wait_for(Time::ns(5)));
  const Process& b = scheduler.spawn("b", wait_for(Time::ns(7)), Time::ns(100));
  EXPECT_TRUE(scheduler.run());
  EXPECT_EQ(a.clock, Time::ns(5));
  EXPECT_EQ(b.clock, Time::ns(107));
}

TEST(Scheduler, SaysWhenAProcessStillWaits) {
  Scheduler scheduler;
  Channel<int> channel(scheduler, 1);
  scheduler.spawn("ends", wait_for(Time::ns(5)));
  scheduler.spawn("waits", read_one(channel));
  EXPECT_FALSE(scheduler.run());
}

TEST(Scheduler, GoesOnWithProcessesSpawnedLater) {
  Scheduler scheduler;
  Channel<int> channel(scheduler, 1);
  const Process& reader = scheduler.spawn("reader", read_one(channel));
  EXPECT_FALSE(scheduler.run());
  const auto writer = [](Channel<int>& out) -> Task<void> { co_await out.write(1); };
  scheduler.spawn("writer", writer(channel), Time::ns(9));
  EXPECT_TRUE(scheduler.run());
  EXPECT_EQ(reader.clock, Time::ns(9));
}

TEST(Scheduler, ProcessesMaySpawnProcesses) {
  Scheduler scheduler;
  Channel<int> channel(scheduler, 1);
  const auto child = [](Channel<int>& out) -> Task<void> {
    co_await delay(Time::ns(2));
    co_await out.write(1);
  };
  const auto parent = [](decltype(child)& body, Channel<int>& in) -> Task<void> {
    Process& self = co_await this_process();
    co_await delay(Time::ns(10));
    for (int i = 0; i < 40; ++i) {
      self.scheduler->spawn("child", body(in), self.clock);
      co_await in.read();
    }
  };
  const Process& process = scheduler.spawn("parent", parent(child, channel));
  EXPECT_TRUE(scheduler.run());
  EXPECT_EQ(process.clock, Time::ns(90));
}

Task<void> read_until_then_write(Channel<int>& in, Time deadline, Channel<int>& out, Time cost,
                                 std::string& log, char name) {
  const bool got = (co_await in.read_until(deadline)).has_value();
  log += name;
  log += got ? '+' : '-';
  co_await delay(cost);
  co_await out.write(1);
}

TEST(SchedulerDeadlines, EarliestFiresFirstSoItsTokenIsInTimeForTheOther) {
  for (const bool swapped : {false, true}) {
    Scheduler scheduler;
    Channel<int> to_a(scheduler, 2), to_b(scheduler, 2);
    std::string log;
    const auto spawn_a = [&] {
      scheduler.spawn("a", read_until_then_write(to_a, Time::ns(5), to_b, Time::ns(1), log, 'a'));
    };
    const auto spawn_b = [&] {
      scheduler.spawn("b", read_until_then_write(to_b, Time::ns(10), to_a, Time::ns(1), log, 'b'));
    };
    if (swapped) {
      spawn_b();
      spawn_a();
    } else {
      spawn_a();
      spawn_b();
    }
    EXPECT_TRUE(scheduler.run());
    EXPECT_EQ(log, "a-b+");
  }
}

TEST(SchedulerDeadlines, TheOtherTimesOutWhenTheTokenIsTooLate) {
  Scheduler scheduler;
  Channel<int> to_a(scheduler, 2), to_b(scheduler, 2);
  std::string log;
  scheduler.spawn("a", read_until_then_write(to_a, Time::ns(5), to_b, Time::ps(5'001), log, 'a'));
  scheduler.spawn("b", read_until_then_write(to_b, Time::ns(10), to_a, Time::ns(1), log, 'b'));
  EXPECT_TRUE(scheduler.run());
  EXPECT_EQ(log, "a-b-");
}

TEST(SchedulerDeadlines, TheFirstSpawnedWinsATie) {
  for (std::uint64_t shuffle = 0; shuffle < 20; ++shuffle) {
    Scheduler scheduler(shuffle);
    Channel<int> to_a(scheduler, 2), to_b(scheduler, 2);
    std::string log;
    scheduler.spawn("a", read_until_then_write(to_a, Time::ns(5), to_b, Time(), log, 'a'));
    scheduler.spawn("b", read_until_then_write(to_b, Time::ns(5), to_a, Time(), log, 'b'));
    EXPECT_TRUE(scheduler.run());
    EXPECT_EQ(log, "a-b+");  // a's token is visible at 5 ns, which is in time
  }
}

TEST(SchedulerDeadlines, OneThatHasPassedCountsAsNow) {
  // a waits at 100 ns with a deadline of 1 ns; b's token of 60 ns is in time, so b (deadline 50 ns) must run
  // first.
  Scheduler scheduler;
  Channel<int> to_a(scheduler, 2), to_b(scheduler, 2);
  std::string log;
  scheduler.spawn("a", read_until_then_write(to_a, Time::ns(1), to_b, Time(), log, 'a'), Time::ns(100));
  scheduler.spawn("b", read_until_then_write(to_b, Time::ns(50), to_a, Time::ns(10), log, 'b'));
  EXPECT_TRUE(scheduler.run());
  EXPECT_EQ(log, "b-a+");
}

Task<void> tick(Channel<int>& never, Time period, int count, std::vector<Time>& order) {
  Process& self = co_await this_process();
  for (int i = 0; i < count; ++i) {
    (void)co_await never.read_until(self.clock + period);
    order.push_back(self.clock);
  }
}

TEST(SchedulerDeadlines, FireInOrderOfTimeAcrossManyProcesses) {
  Scheduler scheduler;
  std::vector<std::unique_ptr<Channel<int>>> channels;
  std::vector<Time> order;
  for (int i = 0; i < 50; ++i) {
    channels.push_back(std::make_unique<Channel<int>>(scheduler, 1));
    scheduler.spawn("timer", tick(*channels.back(), Time::ns(7 + i * 3 % 11), 20, order));
  }
  EXPECT_TRUE(scheduler.run());
  EXPECT_EQ(order.size(), 1000U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(SchedulerClear, ForgetsWaitingAndReadyProcesses) {
  Scheduler scheduler;
  const auto held = std::make_shared<int>(1);
  const auto keep = [](Channel<int>& in, std::shared_ptr<int> token, Time deadline) -> Task<void> {
    const std::shared_ptr<int> copy = token;
    (void)co_await in.read_until(deadline);
    co_await in.read();
  };
  for (int round = 0; round < 3; ++round) {
    Channel<int> a(scheduler, 1), b(scheduler, 1), c(scheduler, 1);
    scheduler.spawn("waits", keep(a, held, Time::never()));
    scheduler.spawn("waits", keep(b, held, Time::ns(4)));
    EXPECT_FALSE(scheduler.run());
    scheduler.spawn("never runs", keep(c, held, Time::ns(4)));
    EXPECT_EQ(held.use_count(), 6);
    scheduler.clear();
    EXPECT_EQ(held.use_count(), 1);
    EXPECT_TRUE(scheduler.run());
  }
}

TEST(SchedulerClear, TheNextNetworkStartsFresh) {
  Scheduler scheduler;
  for (int round = 0; round < 3; ++round) {
    const Process& a = scheduler.spawn("a", wait_for(Time::ns(5)));
    const Process& b = scheduler.spawn("b", wait_for(Time::ns(6)), Time::ns(round));
    EXPECT_EQ(a.id, 1U);
    EXPECT_EQ(b.id, 2U);
    EXPECT_TRUE(scheduler.run());
    EXPECT_EQ(a.clock, Time::ns(5));
    EXPECT_EQ(b.clock, Time::ns(6 + round));
    scheduler.clear();
  }
}

TEST(SchedulerClear, ChannelsWithoutWaitersKeepTheirTokens) {
  Scheduler scheduler;
  Channel<int> channel(scheduler, 4);
  const auto writer = [](Channel<int>& out) -> Task<void> { co_await out.write_at(7, Time::ns(3)); };
  scheduler.spawn("writer", writer(channel));
  EXPECT_TRUE(scheduler.run());
  scheduler.clear();
  const Process& reader = scheduler.spawn("reader", read_one(channel));
  EXPECT_TRUE(scheduler.run());
  EXPECT_EQ(reader.clock, Time::ns(3));
}

class Recorder : public SpanSink {
 public:
  void record(const Span& span) override { spans.push_back(span); }
  std::vector<Span> spans;
};

Task<void> work(Time first, Time second) {
  Process& self = co_await this_process();
  const Time begin = self.clock;
  co_await delay(first);
  self.span("parse", begin);
  const Time middle = self.clock;
  co_await delay(second);
  self.span("copy", middle);
}

TEST(Spans, ReportTheActivityItsTimeAndItsOperation) {
  Recorder recorder;
  Scheduler scheduler;
  scheduler.observe(&recorder, 42);
  scheduler.spawn("engine", work(Time::ns(3), Time::ns(4)), Time::ns(10));
  EXPECT_TRUE(scheduler.run());
  ASSERT_EQ(recorder.spans.size(), 2U);
  EXPECT_EQ(recorder.spans[0].unit, "engine");
  EXPECT_EQ(recorder.spans[0].what, "parse");
  EXPECT_EQ(recorder.spans[0].begin, Time::ns(10));
  EXPECT_EQ(recorder.spans[0].end, Time::ns(13));
  EXPECT_EQ(recorder.spans[0].operation, 42U);
  EXPECT_EQ(recorder.spans[1].what, "copy");
  EXPECT_EQ(recorder.spans[1].begin, Time::ns(13));
  EXPECT_EQ(recorder.spans[1].end, Time::ns(17));
}

TEST(Spans, BelongToTheOperationOfTheirProcess) {
  Recorder recorder;
  Scheduler scheduler;
  scheduler.observe(&recorder, 1);
  scheduler.spawn("engine", work(Time::ns(3), Time::ns(4)));
  scheduler.observe(&recorder, 2);
  scheduler.spawn("engine", work(Time::ns(3), Time::ns(4)));
  scheduler.observe(nullptr, 3);
  scheduler.spawn("engine", work(Time::ns(3), Time::ns(4)));
  EXPECT_TRUE(scheduler.run());
  ASSERT_EQ(recorder.spans.size(), 4U);
  for (const Span& span : recorder.spans) EXPECT_NE(span.operation, 3U);
}

TEST(Spans, DoNotChangeTheTimes) {
  Recorder recorder;
  Time clocks[2];
  for (const bool observed : {false, true}) {
    Scheduler scheduler;
    scheduler.observe(observed ? &recorder : nullptr, 1);
    const Process& process = scheduler.spawn("engine", work(Time::ns(3), Time::ns(4)));
    EXPECT_TRUE(scheduler.run());
    clocks[observed ? 1 : 0] = process.clock;
  }
  EXPECT_EQ(clocks[0], clocks[1]);
}

}  // namespace
}  // namespace offramp
