// The central claim of the kernel: a network gives the same time stamps in whatever order its processes run.
//
// Networks are drawn from a seed: sources, stages, forks, joins, timeouts and pairs with credits between
// them, joined by channels of random capacity and latency. Some of them deadlock, which has to be the same in
// every order too.
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "offramp/kernel/channel.hpp"
#include "offramp/kernel/wire.hpp"

namespace offramp {
namespace {

constexpr int kEnd = -1;
constexpr int kTimedOut = -2;

struct Event {
  int token;
  Time clock;
  friend bool operator==(const Event&, const Event&) = default;
};

struct Result {
  bool ended = false;
  std::vector<std::vector<Event>> events;  // per process, in its own order
  std::vector<Time> clocks;
  friend bool operator==(const Result&, const Result&) = default;
};

using Link = Channel<int>;

/// Delays of one process: a fixed sequence, independent of the time of each call.
class Delays {
 public:
  Delays(std::uint64_t seed, std::int64_t largest) : random_(seed), largest_(largest) {}
  Time next() { return Time::ps(static_cast<std::int64_t>(random_()) % (largest_ + 1)); }

 private:
  std::minstd_rand random_;
  std::int64_t largest_;
};

class Builder {
 public:
  Builder(std::uint64_t seed, std::uint64_t shuffle) : random_(seed), scheduler_(shuffle) {
    const std::size_t sources = 1 + pick(3);
    for (std::size_t i = 0; i < sources; ++i) {
      Link& out = link();
      spawn(source(out, delays(), static_cast<int>(5 + pick(25)), log()));
      open_.push_back(&out);
    }
    for (std::size_t step = 6 + pick(12); step > 0; --step) add_one();
    for (Link* in : open_) spawn(sink(*in, delays(), log()));
  }

  Result run() {
    Result result;
    result.ended = scheduler_.run();
    result.events.assign(logs_.begin(), logs_.end());
    for (const Process* process : processes_) result.clocks.push_back(process->clock);
    return result;
  }

 private:
  using Log = std::vector<Event>&;

  static Task<void> source(Link& out, Delays delays, int count, Log log) {
    Process& self = co_await this_process();
    for (int i = 0; i < count; ++i) {
      co_await delay(delays.next());
      co_await out.write(i);
      log.push_back({i, self.clock});
    }
    co_await out.write(kEnd);
  }

  static Task<void> stage(Link& in, Link& out, Delays delays, Log log) {
    Process& self = co_await this_process();
    for (;;) {
      const int token = co_await in.read();
      log.push_back({token, self.clock});
      co_await delay(delays.next());
      co_await out.write(token);
      if (token == kEnd) co_return;
    }
  }

  static Task<void> fork(Link& in, Link& left, Link& right, Delays delays, Log log) {
    Process& self = co_await this_process();
    for (;;) {
      const int token = co_await in.read();
      co_await delay(delays.next());
      co_await left.write(token);
      log.push_back({token, self.clock});
      co_await right.write_at(token, self.clock + delays.next());
      if (token == kEnd) co_return;
    }
  }

  static Task<void> join(Link& left, Link& right, Link& out, Delays delays, Log log) {
    Process& self = co_await this_process();
    bool left_open = true, right_open = true;
    while (left_open || right_open) {
      int sum = 0;
      if (left_open) {
        const int token = co_await left.read();
        left_open = token != kEnd;
        sum += left_open ? token : 0;
      }
      if (right_open) {
        const int token = co_await right.read();
        right_open = token != kEnd;
        sum += right_open ? token : 0;
      }
      log.push_back({sum, self.clock});
      co_await delay(delays.next());
      co_await out.write(sum < 0 ? kTimedOut : sum);
    }
    co_await out.write(kEnd);
  }

  /// Forwards tokens; writes a mark if none arrived in time. Its next step depends on which of the two
  /// happened.
  static Task<void> impatient(Link& in, Link& out, Delays delays, Log log) {
    Process& self = co_await this_process();
    int patience = 60;
    for (;;) {
      const Time deadline = patience > 0 ? self.clock + delays.next() : Time::never();
      const std::optional<int> token = co_await in.read_until(deadline);
      log.push_back({token.value_or(kTimedOut), self.clock});
      if (!token) --patience;
      if (!token && patience % 3 != 0) continue;
      co_await delay(delays.next());
      co_await out.write(token.value_or(kTimedOut));
      if (token == kEnd) co_return;
    }
  }

  /// Two processes: the first sends only while it has credits, which the second returns.
  static Task<void> spender(Link& in, Link& data, Link& credits, int credit, Delays delays, Log log) {
    Process& self = co_await this_process();
    for (;;) {
      const int token = co_await in.read();
      if (credit == 0) credit += co_await credits.read();
      --credit;
      log.push_back({token, self.clock});
      co_await delay(delays.next());
      co_await data.write(token);
      if (token == kEnd) co_return;
    }
  }
  static Task<void> granter(Link& data, Link& credits, Link& out, int batch, Delays delays, Log log) {
    Process& self = co_await this_process();
    int owed = 0;
    for (;;) {
      const int token = co_await data.read();
      co_await delay(delays.next());
      log.push_back({token, self.clock});
      co_await out.write(token);
      if (token == kEnd) co_return;
      if (++owed == batch) {
        co_await credits.write(owed);
        owed = 0;
      }
    }
  }

  /// Two processes with a lossy wire between them.
  static Task<void> sender(Link& in, Wire<int>& wire, Log log) {
    Process& self = co_await this_process();
    for (;;) {
      const int token = co_await in.read();
      co_await wire.send(token, static_cast<std::uint32_t>(token + 2));
      log.push_back({token, self.clock});
      if (token == kEnd) co_return;
    }
  }
  static Task<void> receiver(Wire<int>& wire, Link& out, Delays delays, Log log) {
    Process& self = co_await this_process();
    for (;;) {
      const std::optional<int> token =
          co_await wire.receive_until(self.clock + Time::ns(100) + delays.next());
      log.push_back({token.value_or(kTimedOut), self.clock});
      if (!token || *token == kEnd) break;
      co_await out.write(*token);
    }
    co_await out.write(kEnd);
    while (co_await wire.receive_until(self.clock + Time::us(1))) {
    }
  }

  static Task<void> sink(Link& in, Delays delays, Log log) {
    Process& self = co_await this_process();
    for (;;) {
      const int token = co_await in.read();
      log.push_back({token, self.clock});
      if (token == kEnd) co_return;
      co_await delay(delays.next());
    }
  }

  void add_one() {
    Link& in = take();
    Link& out = link();
    open_.push_back(&out);
    switch (pick(6)) {
      case 0:
        spawn(stage(in, out, delays(), log()));
        break;
      case 1: {
        Link& right = link();
        open_.push_back(&right);
        spawn(fork(in, out, right, delays(), log()));
        break;
      }
      case 2: {
        open_.pop_back();
        if (open_.empty()) {
          spawn(stage(in, out, delays(), log()));
        } else {
          Link& right = take();
          spawn(join(in, right, out, delays(), log()));
        }
        open_.push_back(&out);
        break;
      }
      case 3:
        spawn(impatient(in, out, delays(), log()));
        break;
      case 4: {
        Link& data = link();
        Link& credits = link();
        const int credit = static_cast<int>(1 + pick(4));
        const int batch = 1 + static_cast<int>(pick(static_cast<std::size_t>(credit)));
        spawn(spender(in, data, credits, credit, delays(), log()));
        spawn(granter(data, credits, out, batch, delays(), log()));
        break;
      }
      default: {
        const WireSpec spec{.latency = delays().next(), .bandwidth = Bandwidth::gigabits_per_second(400)};
        const FaultRates faults{.seed = random_(), .loss = 0.05, .duplication = 0.05, .reordering = 0.1};
        wires_.push_back(std::make_unique<Wire<int>>(scheduler_, spec, 1 + pick(4), 0, faults));
        spawn(sender(in, *wires_.back(), log()));
        spawn(receiver(*wires_.back(), out, delays(), log()));
        break;
      }
    }
  }

  std::size_t pick(std::size_t n) { return random_() % n; }
  Delays delays() {
    const std::uint64_t seed = random_();
    return {seed, pick(3) == 0 ? 0 : static_cast<std::int64_t>(1 + pick(200))};
  }
  Link& link() {
    const std::size_t capacity = 1 + pick(5);
    links_.push_back(
        std::make_unique<Link>(scheduler_, capacity, Time::ps(static_cast<std::int64_t>(pick(3) * 20))));
    return *links_.back();
  }
  Link& take() {
    const std::size_t i = pick(open_.size());
    Link* link = open_[i];
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
    return *link;
  }
  Log log() { return logs_.emplace_back(); }
  void spawn(Task<void> body) { processes_.push_back(&scheduler_.spawn("process", std::move(body))); }

  std::mt19937_64 random_;
  Scheduler scheduler_;
  std::vector<std::unique_ptr<Link>> links_;
  std::vector<std::unique_ptr<Wire<int>>> wires_;
  std::vector<Link*> open_;
  std::deque<std::vector<Event>> logs_;
  std::vector<const Process*> processes_;
};

Result result_of(std::uint64_t seed, std::uint64_t shuffle) {
  return Builder(seed, shuffle).run();
}

void expect_one_result(std::uint64_t seed, std::uint64_t orders) {
  const Result expected = result_of(seed, 0);
  for (std::uint64_t shuffle = 1; shuffle <= orders; ++shuffle) {
    ASSERT_TRUE(result_of(seed, shuffle * 0x9e3779b97f4a7c15U) == expected)
        << "network " << seed << ", order " << shuffle;
  }
}

TEST(OrderIndependence, EightNetworksInAThousandOrders) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) expect_one_result(seed, 1000);
}

TEST(OrderIndependence, AThousandNetworksInEightOrders) {
  for (std::uint64_t seed = 100; seed < 1100; ++seed) expect_one_result(seed, 8);
}

TEST(OrderIndependence, TheNetworksAreWorthComparing) {
  std::size_t events = 0, timeouts = 0, ended = 0, deadlocked = 0;
  for (std::uint64_t seed = 100; seed < 1100; ++seed) {
    const Result result = result_of(seed, 0);
    ++(result.ended ? ended : deadlocked);
    for (const auto& log : result.events) {
      events += log.size();
      for (const Event& event : log) timeouts += event.token == kTimedOut ? 1 : 0;
    }
  }
  EXPECT_GT(events, 100'000U);
  EXPECT_GT(timeouts, 10'000U);
  EXPECT_GT(ended, 300U);
  EXPECT_GT(deadlocked, 20U);
}

}  // namespace
}  // namespace offramp
