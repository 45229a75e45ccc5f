#include "backends/aie/forecast.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backends/aie/aie.hpp"
#include "backends/aie/algorithms.hpp"
#include "backends/aie/messages.hpp"
#include "simulators/model/message_forecast.hpp"

namespace offramp::aie {
namespace {

/// Addresses where no process has memory (not canonical): buffers of teams without data.
constexpr std::uintptr_t kNoMemory = std::uintptr_t{1} << 62;

MutableBytes no_data(std::size_t bytes, std::uintptr_t place = 0) {
  return {reinterpret_cast<std::byte*>(kNoMemory + place), bytes};  // NOLINT(performance-no-int-to-ptr)
}

/// Carries the tokens of all ranks.
class Exchange {
 public:
  explicit Exchange(int ranks) : ranks_(static_cast<std::uint64_t>(ranks)) {}

  struct Way {
    std::deque<Stamp> stamps;
    std::coroutine_handle<> waiter;
  };
  Way& way(int from, int to) {
    return ways_[static_cast<std::uint64_t>(from) * ranks_ + static_cast<std::uint64_t>(to)];
  }
  void send(int from, int to, const Stamp& stamp) {
    Way& one = way(from, to);
    one.stamps.push_back(stamp);
    if (one.waiter != nullptr) ready_.push_back(std::exchange(one.waiter, nullptr));
  }
  void run() {
    while (!ready_.empty()) {
      const std::coroutine_handle<> next = ready_.front();
      ready_.pop_front();
      next.resume();
    }
  }

 private:
  std::uint64_t ranks_;
  std::unordered_map<std::uint64_t, Way> ways_;
  std::deque<std::coroutine_handle<>> ready_;
};

/// One rank. A handle is the way that a receive waits on, or null for a send, which is done at once.
class LocalTeam final : public Team {
 public:
  LocalTeam(Exchange& exchange, int rank, int ranks) : Team(rank, ranks, false), exchange_(exchange) {}
  MutableBytes scratch(std::size_t bytes) override {
    return no_data(bytes, std::exchange(next_, next_ + bytes + 1));
  }

 protected:
  void combine_elements(Bytes, MutableBytes) override {}
  Handle start_send(int peer, Bytes, const Stamp* stamp) override {
    exchange_.send(rank(), peer, stamp != nullptr ? *stamp : Stamp());
    return nullptr;
  }
  Handle start_receive(int peer, MutableBytes, bool) override { return &exchange_.way(peer, rank()); }
  bool ready(Handle handle) override { return handle == nullptr || !way(handle).stamps.empty(); }
  void wait(Handle handle, std::coroutine_handle<> waiter) override { way(handle).waiter = waiter; }
  Outcome finish(Handle) override { return Outcome::kFault; }  // the collectives send tokens only
  Arrival take(Handle handle) override {
    Arrival arrival;
    if (handle == nullptr) return arrival;
    arrival.stamp = way(handle).stamps.front();
    way(handle).stamps.pop_front();
    return arrival;
  }

 private:
  static Exchange::Way& way(Handle handle) { return *static_cast<Exchange::Way*>(handle); }
  Exchange& exchange_;
  std::uintptr_t next_ = std::uintptr_t{1} << 50;
};

CollectiveBuffers buffers_of(const Operation& operation, int rank) {
  const std::size_t all = operation.bytes * static_cast<std::size_t>(operation.ranks);
  const bool root = rank == operation.root;
  std::size_t send = operation.bytes;
  std::size_t receive = operation.bytes;
  switch (operation.kind) {
    case OperationKind::kReduce:
      receive = root ? operation.bytes : 0;
      break;
    case OperationKind::kGather:
      receive = root ? all : 0;
      break;
    case OperationKind::kScatter:
      send = root ? all : 0;
      break;
    case OperationKind::kAllgather:
      receive = all;
      break;
    default:
      break;
  }
  return {no_data(send), no_data(receive, std::uintptr_t{1} << 40), operation.bytes};
}

/// The engine's part: what the array takes between the host's two commands.
Forecast forecast_send(const Operation& operation, const BackendContext& context, const Setup& setup) {
  const Transfer transfer = message_of(operation);
  Forecast result;
  if (const int ranks = std::max(transfer.source, transfer.destination) + 1; ranks > setup.array.tiles()) {
    result.declined = too_few_tiles(setup, ranks);
    return result;
  }
  result = forecast_message(aie_backend(), operation, context);
  const Message message = Messages(setup).simulate(transfer.source, transfer.destination, operation.bytes);
  result.engine = later(message.last, message.complete);
  return result;
}

}  // namespace

Forecast forecast(const Operation& operation, const BackendContext& context) {
  const Setup setup(context.settings);
  if (operation.kind == OperationKind::kSend) return forecast_send(operation, context, setup);
  Planner planner(setup);
  Forecast result;
  result.declined = std::string(collective_decline(planner, operation));
  if (!result.declined.empty()) return result;

  Exchange exchange(operation.ranks);
  std::deque<LocalTeam> teams;
  std::vector<KernelTimes> times(static_cast<std::size_t>(operation.ranks));
  std::vector<Task<Outcome>> tasks;
  for (int rank = 0; rank < operation.ranks; ++rank) {
    teams.emplace_back(exchange, rank, operation.ranks);
    const Model model{setup,
                      planner,
                      result.wire,
                      nullptr,
                      setup.timing.cycles(setup.timing.costs().skew),
                      &times[static_cast<std::size_t>(rank)]};
    tasks.push_back(run_collective(model, operation, teams.back(), buffers_of(operation, rank)));
    tasks.back().start();
  }
  exchange.run();

  KernelTimes all;
  for (std::size_t rank = 0; rank < tasks.size(); ++rank) {
    if (!tasks[rank].done() || tasks[rank].result() != Outcome::kOk) {
      result.declined = "the graph does not come to its end";
      return result;
    }
    result.time = later(result.time, teams[rank].clock);
    all.begin = earlier(all.begin, times[rank].begin);
    all.end = later(all.end, times[rank].end);
  }
  if (operation.kind == OperationKind::kReduce) all = times[static_cast<std::size_t>(operation.root)];
  result.engine = all.end - all.begin;
  return result;
}

std::string too_few_tiles(const Setup& setup, int ranks) {
  return std::to_string(ranks) + " ranks, and the array has " + std::to_string(setup.array.tiles()) +
         " tiles";
}

std::string_view collective_decline(Planner& planner, const Operation& operation) {
  switch (operation.kind) {
    case OperationKind::kAlltoall:
    case OperationKind::kReduceScatter:
      return "the original document has no such collective, and there are no kernels for it";
    case OperationKind::kReduce:
    case OperationKind::kAllreduce:
      if (element_bytes_of(operation.element) == 0)
        return "the kernels compute with integers of 8, 16 and 32 bits and floats of 32 bits";
      if (operations_of(operation.function) == 0)
        return "the kernels know sum, product, maximum, minimum, logical and bit functions";
      if (!operation.commutative)
        return "the tree combines in the order of its root's subtrees, not in that of the ranks";
      if (operation.element == ElementType::kFloat32 &&
          (is_logical(operation.function) || is_bitwise(operation.function)))
        return "the kernels have no logical or bit functions of floats";
      break;
    default:
      break;
  }
  return need_of(planner, operation).limit;
}

}  // namespace offramp::aie
