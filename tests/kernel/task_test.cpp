#include "offramp/kernel/task.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "offramp/kernel/channel.hpp"
#include "offramp/kernel/scheduler.hpp"
#include "offramp/kernel/wire.hpp"

namespace offramp {
namespace {

struct Gate {  // waits for a resume() of the handle
  std::coroutine_handle<> waiting = nullptr;
  struct Awaiter {
    Gate& gate;
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> self) const { gate.waiting = self; }
    void await_resume() const noexcept {}
  };
  Awaiter wait() { return {*this}; }
  void open() { std::exchange(waiting, nullptr).resume(); }
};

Task<int> add(int a, int b) {
  co_return a + b;
}
Task<int> add_after(Gate& gate, int a, int b) {
  co_await gate.wait();
  co_return a + b;
}
Task<int> sum_of(Gate& gate) {
  const int first = co_await add(1, 2);
  const int second = co_await add_after(gate, first, 4);
  co_return co_await add(second, co_await add(10, 20));
}

TEST(Task, DoesNotRunBeforeItIsStarted) {
  bool ran = false;
  const auto body = [](bool& flag) -> Task<void> {
    flag = true;
    co_return;
  };
  Task<void> task = body(ran);
  EXPECT_FALSE(ran);
  EXPECT_FALSE(task.done());
  task.start();
  EXPECT_TRUE(ran);
  EXPECT_TRUE(task.done());
}

TEST(Task, GivesTheValuesOfTasksThatWaitAndOfThoseThatDoNot) {
  Gate gate;
  Task<int> task = sum_of(gate);
  task.start();
  EXPECT_FALSE(task.done());
  gate.open();
  ASSERT_TRUE(task.done());
  EXPECT_EQ(task.result(), 37);
}

TEST(Task, CallsBackOnceAtItsEnd) {
  Gate gate;
  int calls = 0;
  Task<int> task = sum_of(gate);
  task.start([](void* count) { ++*static_cast<int*>(count); }, &calls);
  EXPECT_EQ(calls, 0);
  gate.open();
  EXPECT_EQ(calls, 1);
}

TEST(Task, MayBeDestroyedByItsOwnCallback) {
  Gate gate;
  Task<int> waits = sum_of(gate);
  waits.start([](void* task) { static_cast<Task<int>*>(task)->reset(); }, &waits);
  gate.open();
  EXPECT_FALSE(waits.valid());
  Task<int> ends_at_once = add(1, 2);
  ends_at_once.start([](void* task) { static_cast<Task<int>*>(task)->reset(); }, &ends_at_once);
  EXPECT_FALSE(ends_at_once.valid());
}

TEST(Task, DestroysItsVariablesWhenDestroyedWhileWaiting) {
  Gate gate;
  auto held = std::make_shared<int>(1);
  const auto inner = [](Gate& door, std::shared_ptr<int> token) -> Task<int> {
    const std::shared_ptr<int> copy = token;
    co_await door.wait();
    co_return *copy;
  };
  const auto nested = [](decltype(inner)& call, Gate& door, std::shared_ptr<int> token) -> Task<int> {
    co_return co_await call(door, token);
  };
  {
    Task<int> task = nested(inner, gate, held);
    task.start();
    EXPECT_EQ(held.use_count(), 4);  // stored, two parameters, one local
  }
  EXPECT_EQ(held.use_count(), 1);
}

Task<void> fail(Gate* gate) {
  if (gate != nullptr) co_await gate->wait();
  throw std::bad_alloc();
}
Task<void> after_failure(Gate* gate, bool& goes_on) {
  co_await fail(gate);
  goes_on = true;
}

TEST(Task, AnErrorStopsItAndItsAwaiters) {
  Gate gate;
  for (Gate* const waits : {static_cast<Gate*>(nullptr), &gate}) {
    bool goes_on = false;
    bool has_ended = false;
    const TaskErrors errors;
    Task<void> task = after_failure(waits, goes_on);
    task.start([](void* ended) { *static_cast<bool*>(ended) = true; }, &has_ended);
    if (waits != nullptr) gate.open();
    EXPECT_FALSE(goes_on || has_ended || task.done());
    EXPECT_THROW(errors.rethrow(), std::bad_alloc);
  }
  EXPECT_NO_THROW(TaskErrors().rethrow());
}

TEST(Task, MovesItsHandle) {
  Task<int> a = add(1, 2);
  Task<int> b = std::move(a);
  EXPECT_FALSE(a.valid());  // NOLINT(bugprone-use-after-move): what is tested
  a = std::move(b);
  a.start();
  EXPECT_EQ(a.result(), 3);
}

TEST(Task, ReturnsMoveOnlyAndBracedValues) {
  const auto pointer = []() -> Task<std::unique_ptr<int>> { co_return std::make_unique<int>(5); };
  const auto braced = []() -> Task<std::vector<int>> { co_return {}; };
  const auto both = [](decltype(pointer)& first, decltype(braced)& second) -> Task<int> {
    const std::unique_ptr<int> value = co_await first();
    const std::vector<int> empty = co_await second();
    co_return *value + static_cast<int>(empty.size());
  };
  Task<int> task = both(pointer, braced);
  task.start();
  EXPECT_EQ(task.result(), 5);
}

TEST(Task, ManyAwaitedInALoopDoNotGrowTheStack) {
  const auto body = []() -> Task<std::int64_t> {
    std::int64_t sum = 0;
    for (int i = 0; i < 300'000; ++i) sum += co_await add(i, 1);
    co_return sum;
  };
  Task<std::int64_t> task = body();
  task.start();
  EXPECT_EQ(task.result(), 300'000LL * 300'001 / 2);
}

TEST(Task, ManyThatWaitInALoopDoNotGrowTheStack) {
  const auto leaf = [](Channel<int>& in) -> Task<int> { co_return co_await in.read(); };
  const auto reader = [](decltype(leaf)& read, Channel<int>& in, std::int64_t& sum) -> Task<void> {
    for (int i = 0; i < 100'000; ++i) sum += co_await read(in);
  };
  const auto writer = [](Channel<int>& out) -> Task<void> {
    for (int i = 0; i < 100'000; ++i) co_await out.write(1);
  };
  Scheduler scheduler;
  Channel<int> channel(scheduler, 1);
  std::int64_t sum = 0;
  scheduler.spawn("reader", reader(leaf, channel, sum));
  scheduler.spawn("writer", writer(channel));
  EXPECT_TRUE(scheduler.run());
  EXPECT_EQ(sum, 100'000);
}

Task<void> clock_of_nested(Time& inside) {
  co_await delay(Time::ns(3));
  inside = (co_await this_process()).clock;
}

TEST(Task, AwaitedOnesInheritTheProcess) {
  Scheduler scheduler;
  Time inside;
  const auto body = [](Time& seen) -> Task<void> {
    co_await delay(Time::ns(4));
    co_await clock_of_nested(seen);
    co_await delay(Time::ns(5));
  };
  Process& process = scheduler.spawn("outer", body(inside), Time::ns(100));
  EXPECT_TRUE(scheduler.run());
  EXPECT_EQ(inside, Time::ns(107));
  EXPECT_EQ(process.clock, Time::ns(112));
}

// The rest probes the compiler: temporaries of non-trivial types in and around co_await.

struct Counted {
  static inline int live = 0;
  std::string text;
  explicit Counted(std::string value) : text(std::move(value)) { ++live; }
  Counted(const Counted& other) : text(other.text) { ++live; }
  Counted(Counted&& other) noexcept : text(std::move(other.text)) { ++live; }
  Counted& operator=(const Counted&) = default;
  Counted& operator=(Counted&&) noexcept = default;
  ~Counted() { --live; }
};

const std::string kLong(100, 'x');  // beyond the small string

Task<Counted> make(std::string text) {
  co_return Counted(std::move(text));
}
Task<Counted> pass(Counted counted, const std::string& suffix) {
  co_await delay(Time::ns(1));
  counted.text += suffix;
  co_return counted;
}

Task<void> write_temporaries(Channel<Counted>& out) {
  co_await out.write(Counted(kLong + "1"));
  co_await out.write(co_await make(kLong + "2"));
  co_await out.write(co_await pass(co_await make(kLong), std::string("3") + ""));
  co_await out.write_at(Counted{kLong + "4"}, Time::ns(500));
  if ((co_await make(kLong)).text.size() == kLong.size()) co_await out.write(Counted(kLong + "5"));
  for (const std::string& text : {kLong + "6", kLong + "7"}) co_await out.write(Counted(text));
}

Task<void> read_temporaries(Channel<Counted>& in, std::string& seen) {
  seen += (co_await in.read()).text.back();
  const Counted second = co_await in.read();
  seen += second.text.back();
  if (const auto third = co_await in.read_until(Time::ms(1))) seen += third->text.back();
  seen += (co_await pass(co_await in.read(), "4")).text.back();
  while (auto more = co_await in.read_until(Time::ms(1))) seen += more->text.back();
}

TEST(Task, TemporariesInAwaitExpressionsLiveOnce) {
  for (const std::size_t capacity : {1U, 2U, 16U}) {
    for (const bool reader_first : {false, true}) {
      {
        Scheduler scheduler;
        Channel<Counted> channel(scheduler, capacity);
        std::string seen;
        if (reader_first) scheduler.spawn("reader", read_temporaries(channel, seen));
        scheduler.spawn("writer", write_temporaries(channel));
        if (!reader_first) scheduler.spawn("reader", read_temporaries(channel, seen));
        EXPECT_TRUE(scheduler.run());
        EXPECT_EQ(seen, "1234567");
      }
      EXPECT_EQ(Counted::live, 0);
    }
  }
}

struct Aggregate {
  int number = 0;
  Counted counted;
  std::shared_ptr<int> shared;
};

Task<Aggregate> make_aggregate(std::shared_ptr<int> shared) {
  Aggregate made{1, Counted(kLong), std::move(shared)};
  co_return made;
}

Task<void> write_aggregates(Channel<Aggregate>& out, Wire<Aggregate>& wire, std::shared_ptr<int> shared) {
  Aggregate copied{1, Counted(kLong), shared};
  co_await out.write(copied);
  Aggregate moved{2, Counted(kLong), shared};
  co_await out.write(std::move(moved));
  Aggregate awaited = co_await make_aggregate(shared);
  co_await wire.send(std::move(awaited), 100);
  co_await wire.send(co_await make_aggregate(shared), 100);
}

Task<void> read_aggregates(Channel<Aggregate>& in, Wire<Aggregate>& wire, int& seen) {
  while (const auto token = co_await in.read_until(Time::us(1))) seen += token->number;
  const Aggregate first = co_await wire.receive();
  const Aggregate second = co_await wire.receive();
  seen += *first.shared + *second.shared;
}

TEST(Task, AggregatesThatAreNamedLiveOnce) {
  const auto shared = std::make_shared<int>(10);
  {
    Scheduler scheduler;
    Channel<Aggregate> channel(scheduler, 1);
    Wire<Aggregate> wire(scheduler, {Time::ns(1), Bandwidth::gigabits_per_second(1)}, 1);
    int seen = 0;
    scheduler.spawn("reader", read_aggregates(channel, wire, seen));
    scheduler.spawn("writer", write_aggregates(channel, wire, shared));
    EXPECT_TRUE(scheduler.run());
    EXPECT_EQ(seen, 23);
  }
  EXPECT_EQ(shared.use_count(), 1);
  EXPECT_EQ(Counted::live, 0);
}

TEST(Task, FramesMayEndOnAnotherThread) {
  Gate gate;
  Task<int> task = sum_of(gate);
  task.start();
  std::thread other([&] {
    gate.open();
    EXPECT_EQ(task.result(), 37);
    task.reset();
  });
  other.join();
}

TEST(Task, ThreadsRunTheirOwnNetworks) {
  const auto work = [] {
    for (int round = 0; round < 200; ++round) {
      Scheduler scheduler;
      Channel<Counted*> channel(scheduler, 2);
      const auto writer = [](Channel<Counted*>& out) -> Task<void> {
        for (int i = 0; i < 20; ++i) co_await out.write(nullptr);
      };
      const auto reader = [](Channel<Counted*>& in) -> Task<void> {
        for (int i = 0; i < 20; ++i) co_await in.read();
      };
      scheduler.spawn("writer", writer(channel));
      scheduler.spawn("reader", reader(channel));
      EXPECT_TRUE(scheduler.run());
    }
  };
  std::thread a(work), b(work);
  a.join();
  b.join();
}

}  // namespace
}  // namespace offramp
