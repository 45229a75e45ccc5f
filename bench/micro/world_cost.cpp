// Costs of a world: time, and memory per rank. usage: world_cost BACKEND PROGRAM RANKS BYTES COUNT [GROUP
// [TOPOLOGY]]
//
// Every rank runs the operation COUNT times, after one uncounted run. pingpong: between the ranks of each
// pair. bcast: from one rank after the other, so that none runs ahead. Collectives: in communicators of GROUP
// ranks (default: all), at once. idle: a ping-pong of the first two ranks, while the programs of the others
// end at once. absent: like idle, but the others have no program. Prints one JSON object. Processor time,
// messages and events are those of the counted runs; memory is that of the whole run. With a TOPOLOGY, such
// as fat-tree:32, the ranks are on its nodes at random, so that most messages cross it.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/registry/registry.hpp"
#include "simulators/network/make_network.hpp"
#include "simulators/world/world.hpp"

namespace offramp {
namespace {

/// Processor seconds of this process, which other programs on the machine affect little.
double processor_time() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::size_t resident_bytes() {
  std::size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// The peak until now.
std::size_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::size_t kibibytes = 0;
    if (word == "VmHWM:" && status >> kibibytes) return kibibytes * 1024;
  }
  return 0;
}

struct Work {
  const BackendDescription* backend = nullptr;
  std::string_view name;
  int ranks = 0;
  std::size_t bytes = 0;
  int count = 0;
  int group = 0;
  std::string topology = "star";
};

/// The state before the first operation.
struct Begin {
  double time = 0;
  std::uint64_t messages = 0;
  std::uint64_t events = 0;
};

Task<void> ping_pong(RankHandle& rank, const Communicator&, std::size_t bytes, int) {
  const int peer = rank.rank() ^ 1;
  if (peer >= rank.size()) co_return;
  if (rank.rank() < peer) co_await rank.send(peer, bytes);
  co_await rank.receive(peer, bytes);
  if (rank.rank() > peer) co_await rank.send(peer, bytes);
}

template <OperationKind kKind>
Task<void> collective(RankHandle& rank, const Communicator& group, std::size_t bytes, int round) {
  Operation operation;
  operation.kind = kKind;
  operation.ranks = group.size();
  if (kKind == OperationKind::kBcast) operation.root = round % group.size();
  operation.bytes = operation.elements = bytes;
  if (kKind == OperationKind::kAllreduce) {
    operation.element = ElementType::kInt32;
    operation.function = ReduceFunction::kSum;
    operation.elements = bytes / sizeof(std::int32_t);
  }
  co_await rank.collective(group, operation);
}

/// The delay of a rank's begin, below 1 us. Simultaneous ranks would run in the order of their memory, which
/// would be too favourable.
Time lag_of(int rank) {
  return Time::ps(std::int64_t{rank} * 99991 % 1000003);
}

using Step = Task<void> (*)(RankHandle& rank, const Communicator& group, std::size_t bytes, int round);
struct Named {
  std::string_view name;
  Step step;
};
constexpr std::array kPrograms = {
    Named{"pingpong", ping_pong},
    Named{"bcast", collective<OperationKind::kBcast>},
    Named{"allreduce", collective<OperationKind::kAllreduce>},
    Named{"alltoall", collective<OperationKind::kAlltoall>},
    Named{"idle", ping_pong},
    Named{"absent", ping_pong},
};

Step find(std::string_view name) {
  for (const Named& each : kPrograms) {
    if (each.name == name) return each.step;
  }
  return nullptr;
}

class Measurement {
 public:
  Measurement(const Work& work, Step step) : work_(work), step_(step), before_(resident_bytes()) {}

  /// The problem, or nothing.
  std::string run() {
    const double begin = processor_time();
    WorldOptions options;
    options.ranks = work_.ranks;
    NetworkOptions links;
    links.topology = work_.topology;
    links.placement = "random:1";
    auto network = make_network(links, work_.ranks, {});
    if (!network) return network.error() + '\n';
    options.network = std::move(*network);
    world_.emplace(options, WorldBackend(*work_.backend));
    construction_ = processor_time() - begin;
    std::vector<int> ranks(static_cast<std::size_t>(work_.name == "absent" ? 2 : work_.ranks));
    std::iota(ranks.begin(), ranks.end(), 0);
    const auto program = [this](RankHandle& rank) { return one_rank(rank); };
    std::string stuck = world_->run(program, ranks);
    if (begin_) seconds_ = processor_time() - begin_->time;
    return stuck;
  }

  [[nodiscard]] std::string json() const {
    return fmt::format(
        "{{\"backend\": \"{}\", \"program\": \"{}\", \"ranks\": {}, \"bytes\": {}, \"count\": {}, \"group\": "
        "{}, "
        "\"construction_s\": {:.6f}, \"seconds\": {:.6f}, \"messages\": {}, \"events\": {}, "
        "\"memory_bytes\": {}, \"modelled_ps\": {}}}\n",
        work_.backend->name, work_.name, work_.ranks, work_.bytes, work_.count, work_.group, construction_,
        seconds_, world_->messages() - begin_->messages, world_->events() - begin_->events,
        peak_bytes() - before_, world_->end().count());
  }

 private:
  Task<void> one_rank(RankHandle& rank) {
    const bool alone = work_.name == "idle" || work_.name == "absent";
    if (alone && rank.rank() > 1) co_return;
    std::optional<Communicator> group = rank.world_communicator();
    if (work_.group < work_.ranks)
      group = co_await rank.split(rank.world_communicator(), rank.rank() / work_.group, 0);
    if (!alone) {
      co_await step_(rank, *group, work_.bytes, 0);
      co_await rank.synchronize(rank.world_communicator());
      rank.compute(lag_of(rank.rank()));
    }
    if (!begin_) begin_ = {processor_time(), world_->messages(), world_->events()};
    for (int i = 0; i < work_.count; ++i) co_await step_(rank, *group, work_.bytes, i);
  }

  Work work_;
  Step step_;
  std::size_t before_;
  std::optional<World> world_;
  std::optional<Begin> begin_;
  double construction_ = 0;
  double seconds_ = 0;
};

std::optional<Work> work_of(const Registry& registry, const std::vector<std::string>& words) {
  if (words.size() < 5 || words.size() > 7) return std::nullopt;
  Work work{registry.find(words[0]),
            words[1],
            std::atoi(words[2].c_str()),
            std::strtoull(words[3].c_str(), nullptr, 10),
            std::atoi(words[4].c_str()),
            0,
            words.size() == 7 ? words[6] : "star"};
  work.group = words.size() >= 6 ? std::atoi(words[5].c_str()) : work.ranks;
  if (work.backend == nullptr || find(work.name) == nullptr || work.ranks < 2 || work.count < 1 ||
      work.group < 1)
    return std::nullopt;
  return work;
}

}  // namespace
}  // namespace offramp

int main(int argc, char** argv) {
  using namespace offramp;
  const std::vector<std::string> words(argv + 1, argv + argc);
  const Registry registry(built_in_backends());
  const std::optional<Work> work = work_of(registry, words);
  if (!work) {
    std::cerr << "usage: world_cost BACKEND pingpong|bcast|allreduce|alltoall|idle|absent RANKS BYTES COUNT "
                 "[GROUP [TOPOLOGY]]\n";
    return 2;
  }
  Measurement measurement(*work, find(work->name));
  const std::string stuck = measurement.run();
  if (!stuck.empty()) {
    std::cerr << stuck;
    return 1;
  }
  std::cout << measurement.json();
  return 0;
}
