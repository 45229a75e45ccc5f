// Costs of recording: time per call of Recorder::add(), bytes per event, and the time to read one.
// usage: recording_cost
#include <fmt/core.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lib/programs/recording/reader.hpp"
#include "lib/programs/recording/recorder.hpp"
#include "offramp/kernel/random.hpp"

namespace offramp::recording {
namespace {

constexpr int kRounds = 7;
constexpr std::uint64_t kEvents = 2'000'000;

/// Nanoseconds of this process, which other programs on the machine affect little.
double processor_time() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

/// Stores the fields one by one, like a call with its arguments.
[[gnu::noinline]] std::uint32_t add_message(Recorder& recorder, int peer, std::uint64_t bytes, int tag) {
  Event event;
  event.kind = EventKind::kSend;
  event.element = ElementType::kFloat64;
  event.peer = peer;
  event.tag = tag;
  event.bytes = bytes;
  return recorder.add(event);
}

void loop(Recorder& recorder) {
  for (std::uint64_t i = 0; i < kEvents / 10; ++i) {
    for (int peer = 0; peer < 10; ++peer) add_message(recorder, peer, 8192, 7);
  }
}

void loop_with_times(Recorder& recorder) {
  for (std::uint64_t i = 0; i < kEvents / 10; ++i) {
    recorder.passed(50'000 + i % 1000, 0);
    for (int peer = 0; peer < 10; ++peer) {
      recorder.passed(30, 0);
      add_message(recorder, peer, 8192, 7);
    }
  }
}

void loop_with_lists(Recorder& recorder) {
  constexpr std::array<std::uint64_t, 8> kRequests = {8, 7, 6, 5, 4, 3, 2, 1};
  Event wait;
  wait.kind = EventKind::kWait;
  for (std::uint64_t i = 0; i < kEvents / 10; ++i) {
    for (int peer = 0; peer < 9; ++peer) add_message(recorder, peer, 8192, 7);
    wait.list = recorder.list(kRequests);
    recorder.add(wait);
  }
}

/// Ten different events in random order.
void random_order(Recorder& recorder) {
  std::uint64_t random = 1;
  for (std::uint64_t i = 0; i < kEvents; ++i)
    add_message(recorder, static_cast<int>(splitmix(random) % 10), 8192, 7);
}

/// All events differ.
void random_events(Recorder& recorder) {
  std::uint64_t random = 1;
  for (std::uint64_t i = 0; i < kEvents; ++i) {
    const std::uint64_t bits = splitmix(random);
    add_message(recorder, static_cast<int>(bits % 1000), bits >> 44U, static_cast<int>(bits >> 16U & 127U));
  }
}

double median(std::vector<double>& times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void measure(const char* name, void (*program)(Recorder&)) {
  std::vector<double> recording, reading;
  std::uint64_t bytes = 0;
  for (int round = 0; round < kRounds; ++round) {
    Recorder recorder({});
    const double begin = processor_time();
    program(recorder);
    recording.push_back(processor_time() - begin);
    const Result<Recording> recorded = Recording::from_parts({}, std::vector<std::string>{recorder.finish()});
    bytes = recorded->bytes(0);
    const auto reader = recorded->read(0);
    const double between = processor_time();
    Event event;
    while (reader->next(event)) continue;
    reading.push_back(processor_time() - between);
  }
  const auto events = static_cast<double>(kEvents);
  fmt::print("{:24} {:6.1f} ns to add, {:6.1f} ns to read, {:8.4f} bytes\n", name, median(recording) / events,
             median(reading) / events, static_cast<double>(bytes) / events);
}

}  // namespace
}  // namespace offramp::recording

int main() {
  using namespace offramp::recording;
  measure("loop of ten", loop);
  measure("with compute times", loop_with_times);
  measure("with a list of eight", loop_with_lists);
  measure("ten in any order", random_order);
  measure("no two alike", random_events);
  return 0;
}
