// Time of a shared-memory ring by itself: two threads on two cores without other layers. This is the floor of
// small messages within a node, like ucx_perftest for UCX.
// usage: ring_cost
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <thread>
#include <vector>

#include "lib/run/engine/envelope.hpp"
#include "lib/run/fabric/shared_ring.hpp"

namespace offramp {
namespace {

constexpr std::size_t kRingBytes = std::size_t{64} << 10U;
constexpr int kRounds = 9;
constexpr int kMessages = 100'000;
constexpr std::uint32_t kWindow = 64;

struct Page {
  alignas(64) std::uint64_t consumed = 0;
  alignas(64) std::array<std::byte, kRingBytes> data{};
  RingMemory memory() { return {data.data(), data.size(), &consumed}; }
};

/// One direction, used like the engine does: a few words of the header change for each message.
class Way {
 public:
  explicit Way(Page& page) : writer_(page.memory()), reader_(page.memory()) {}
  void send(Bytes payload) {
    ++envelope_.sequence;
    while (!writer_.write(envelope_.encoded(), payload, 0)) continue;
  }
  void receive(MutableBytes into) {
    RingReader::RingMessage message;
    while (reader_.look(message) != RingReader::State::kMessage) continue;
    std::copy(message.payload.begin(), message.payload.end(), into.begin());
    reader_.done(message);
  }

 private:
  Envelope envelope_;
  RingWriter writer_;
  RingReader reader_;
};

void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0) {
    std::cerr << "ring_cost needs cores 0 and 1\n";
    std::exit(1);
  }
}

/// Seconds of the first of two threads, the best of several rounds.
template <typename First, typename Second>
double best(First first, Second second) {
  double seconds = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const auto there = std::make_unique<Page>();
    const auto back = std::make_unique<Page>();
    std::thread other([&] {
      pin(1);
      Way in(*there);
      Way out(*back);
      second(in, out);
    });
    pin(0);
    Way out(*there);
    Way in(*back);
    const auto begin = std::chrono::steady_clock::now();
    first(out, in);
    seconds =
        std::min(seconds, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    other.join();
  }
  return seconds;
}

double latency_us(std::size_t bytes) {
  const double seconds = best(
      [=](Way& out, Way& in) {
        std::vector<std::byte> data(bytes);
        for (int i = 0; i < kMessages; ++i) {
          out.send(data);
          in.receive(data);
        }
      },
      [=](Way& in, Way& out) {
        std::vector<std::byte> data(bytes);
        for (int i = 0; i < kMessages; ++i) {
          in.receive(data);
          out.send(data);
        }
      });
  return seconds / kMessages / 2 * 1e6;
}

/// Windows of messages, with one answer each.
double million_messages_per_second(std::size_t bytes) {
  constexpr int kWindows = kMessages / static_cast<int>(kWindow);
  const double seconds = best(
      [=](Way& out, Way& in) {
        std::vector<std::byte> data(bytes);
        for (int i = 0; i < kWindows; ++i) {
          for (std::uint32_t j = 0; j < kWindow; ++j) out.send(data);
          in.receive(data);
        }
      },
      [=](Way& in, Way& out) {
        std::vector<std::byte> data(bytes);
        for (int i = 0; i < kWindows; ++i) {
          for (std::uint32_t j = 0; j < kWindow; ++j) in.receive(data);
          out.send(data);
        }
      });
  return kWindows * static_cast<double>(kWindow) / seconds * 1e-6;
}

}  // namespace
}  // namespace offramp

int main() {
  std::cout << "latency 8 B        " << offramp::latency_us(8) << " us\n"
            << "latency 4 KiB      " << offramp::latency_us(4096) << " us\n"
            << "message rate 8 B   " << offramp::million_messages_per_second(8) << " Mmsg/s\n";
  return 0;
}
