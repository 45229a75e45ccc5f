// What a replay costs. usage: replay_cost BACKEND stencil|random RANKS BYTES ROUNDS
//
// The recording is made up as it is read. stencil: each round, messages from and to the four neighbours on a
// torus, and a wait for all. random: each round, a nonblocking send to the rank at a random distance, a
// blocking receive from the one as far away, and a wait; up to BYTES each. Prints one JSON object: processor
// seconds of one core, events, and those of them that are sends and receives.
#include <fmt/core.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/replay.hpp"

namespace offramp {
namespace {

using recording::Event;
using recording::EventKind;

double processor_time() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Work {
  const BackendDescription* backend = nullptr;
  std::string_view name;
  int ranks = 0;
  std::uint64_t bytes = 0;
  int rounds = 0;
};

Event message(EventKind kind, int peer, std::uint64_t bytes, bool blocking = false) {
  Event event;
  event.kind = kind;
  event.flags = blocking ? recording::kBlocking : 0;
  event.call = static_cast<std::uint16_t>(kind);
  event.peer = peer;
  event.bytes = bytes;
  return event;
}

/// The same events each round, but for what vary() changes.
class Rounds : public recording::Reader {
 public:
  explicit Rounds(int rounds) : rounds_(rounds) {}

  bool next(Event& event) override {
    if (at_ == events_.size()) {
      at_ = 0;
      ++round_;
    }
    if (round_ == rounds_) return false;
    if (at_ == 0) vary(round_);
    event = events_[at_++];
    return true;
  }
  [[nodiscard]] std::uint64_t computed() const override { return 0; }
  [[nodiscard]] std::span<const std::uint64_t> list(std::uint32_t) const override { return list_; }
  [[nodiscard]] std::optional<recording::Match> match() override { return std::nullopt; }
  [[nodiscard]] std::span<const std::uint32_t> choice() const override { return {}; }
  [[nodiscard]] std::uint64_t polls() const override { return 0; }
  [[nodiscard]] std::string_view call(std::uint16_t number) const override {
    static constexpr std::array<std::string_view, 4> kNames = {"MPI_Send", "MPI_Recv", "", "MPI_Wait"};
    return kNames[number % kNames.size()];
  }
  [[nodiscard]] bool cut() const override { return false; }
  [[nodiscard]] const std::string& error() const override { return error_; }

 protected:
  virtual void vary(int /*round*/) {}
  std::vector<Event> events_;
  std::vector<std::uint64_t> list_;

 private:
  int rounds_;
  int round_ = 0;
  std::size_t at_ = 0;
  std::string error_;
};

class Stencil final : public Rounds {
 public:
  Stencil(const Work& work, int rank) : Rounds(work.rounds) {
    int width = static_cast<int>(std::sqrt(work.ranks));
    while (work.ranks % width != 0) --width;
    const int row = rank / width * width;
    const int column = rank % width;
    const std::array<int, 4> neighbours = {row + (column + 1) % width, row + (column + width - 1) % width,
                                           (rank + width) % work.ranks,
                                           (rank + work.ranks - width) % work.ranks};
    for (std::size_t i = 0; i < 4; ++i) add(EventKind::kReceive, neighbours[i], work.bytes, i);
    for (std::size_t i = 0; i < 4; ++i) add(EventKind::kSend, neighbours[i], work.bytes, i ^ 1);
    Event wait = message(EventKind::kWait, 0, 0);
    wait.list = 1;
    events_.push_back(wait);
    list_ = {8, 7, 6, 5, 4, 3, 2, 1};
  }

 private:
  void add(EventKind kind, int peer, std::uint64_t bytes, std::size_t direction) {
    events_.push_back(message(kind, peer, bytes));
    events_.back().tag = static_cast<int>(direction);
  }
};

class Random final : public Rounds {
 public:
  Random(const Work& work, int rank) : Rounds(work.rounds), work_(work), rank_(rank) {
    events_ = {message(EventKind::kSend, 0, 0), message(EventKind::kReceive, 0, work.bytes, true),
               message(EventKind::kWait, 0, 0)};
    events_[2].extra = 1;
  }

 private:
  void vary(int round) override {
    const std::uint64_t drawn = (static_cast<std::uint64_t>(round) + 1) * 0x9E3779B97F4A7C15U;
    const int distance = 1 + static_cast<int>((drawn >> 40) % static_cast<std::uint64_t>(work_.ranks - 1));
    events_[0].peer = (rank_ + distance) % work_.ranks;
    events_[0].bytes = (drawn >> 20) % (work_.bytes + 1);
    events_[1].peer = (rank_ + work_.ranks - distance) % work_.ranks;
  }
  const Work& work_;
  int rank_;
};

int run(const Work& work, const Registry& registry) {
  const Result<WorldSetting> setting = world_setting(Configuration(), registry, *work.backend);
  const ReplaySource source{work.ranks, [&work](int rank) -> std::unique_ptr<recording::Reader> {
                              if (work.name == "stencil") return std::make_unique<Stencil>(work, rank);
                              return std::make_unique<Random>(work, rank);
                            }};
  const double begin = processor_time();
  const Result<ReplayResult> result = replay(*setting, source);
  const double seconds = processor_time() - begin;
  if (!result) {
    std::cerr << result.error() << '\n';
    return 1;
  }
  const std::uint64_t operations = 2 * (*result).messages;
  fmt::print(
      "{{\"backend\": \"{}\", \"program\": \"{}\", \"ranks\": {}, \"bytes\": {}, \"rounds\": {}, "
      "\"seconds\": {:.6f}, \"events\": {}, \"operations\": {}, \"operations_per_second\": {:.0f}, "
      "\"modelled_ps\": {}}}\n",
      work.backend->name, work.name, work.ranks, work.bytes, work.rounds, seconds, (*result).events,
      operations, static_cast<double>(operations) / seconds, (*result).modelled_time.count());
  return 0;
}

}  // namespace
}  // namespace offramp

int main(int argc, char** argv) {
  using namespace offramp;
  const std::vector<std::string> words(argv + 1, argv + argc);
  const Registry registry(built_in_backends());
  Work work;
  if (words.size() == 5)
    work = {registry.find(words[0]), words[1], std::atoi(words[2].c_str()),
            std::strtoull(words[3].c_str(), nullptr, 10), std::atoi(words[4].c_str())};
  const bool known = work.name == "stencil" || work.name == "random";
  if (work.backend == nullptr || !known || work.ranks < 2 || work.rounds < 1) {
    std::cerr << "usage: replay_cost BACKEND stencil|random RANKS BYTES ROUNDS\n";
    return 2;
  }
  return run(work, registry);
}
