#include "lib/core/forecast.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "lib/core/cluster.hpp"

namespace offramp {
namespace {

// Buffers of ranks that have no payload: sizes at addresses that nobody reads. Two, so that nothing seems to
// be in place.
std::byte* nowhere(int which) {
  return reinterpret_cast<std::byte*>(std::uintptr_t{1} << (40 + which));
}

CollectiveBuffers buffers_of(const Operation& operation, int rank) {
  const std::size_t block = operation.bytes;
  const std::size_t all = block * static_cast<std::size_t>(operation.ranks);
  const bool root = rank == operation.root;
  const auto send = [](std::size_t bytes) { return Bytes(nowhere(0), bytes); };
  const auto receive = [](std::size_t bytes) { return MutableBytes(nowhere(1), bytes); };
  switch (operation.kind) {
    case OperationKind::kBcast:
      return {receive(block), receive(block), block};
    case OperationKind::kReduce:
      return {send(block), root ? receive(block) : MutableBytes(), block};
    case OperationKind::kGather:
      return {send(block), root ? receive(all) : MutableBytes(), block};
    case OperationKind::kScatter:
      return {root ? send(all) : Bytes(), receive(block), block};
    case OperationKind::kAllgather:
      return {send(block), receive(all), block};
    case OperationKind::kReduceScatter:
      return {send(all), receive(block), block};
    case OperationKind::kAlltoall:
      return {send(all), receive(all), block};
    case OperationKind::kAllreduce:
    case OperationKind::kScan:
    case OperationKind::kExscan:
      return {send(block), receive(block), block};
    default:
      return {};
  }
}

Task<void> one_operation(RankHandle& rank, const Operation& operation, Outcome& outcome) {
  if (operation.kind != OperationKind::kSend) {
    const Outcome own = co_await rank.collective(operation, buffers_of(operation, rank.rank()));
    if (own != Outcome::kOk) outcome = own;
    co_return;
  }
  const int to = (operation.root + 1) % operation.ranks;
  if (rank.rank() == operation.root) {
    const Outcome own = co_await rank.send(to, Bytes(nowhere(0), operation.bytes), 0, operation.element);
    if (own != Outcome::kOk) outcome = own;
  } else if (rank.rank() == to) {
    const Received own = co_await rank.receive(operation.root, MutableBytes(nowhere(1), operation.bytes));
    if (own.outcome != Outcome::kOk) outcome = own.outcome;
  }
}

Task<void> one_rank(RankHandle& rank, const Operation& operation, int repeat, Outcome& outcome) {
  for (int i = 0; i < repeat; ++i) co_await one_operation(rank, operation, outcome);
}

Result<Forecast> on_cluster(const ForecastSetting& setting, const Operation& operation, int repeat) {
  ClusterOptions options;
  options.payload = false;
  options.faults = setting.faults;
  Cluster cluster(operation.ranks, {ClusterLane(setting.backend, setting.settings)}, options);
  Outcome outcome = Outcome::kOk;
  const std::string stuck =
      cluster.run([&](RankHandle& rank) { return one_rank(rank, operation, repeat, outcome); });
  if (!stuck.empty()) return Result<Forecast>::failure("the model does not come to an end:\n" + stuck);
  if (outcome != Outcome::kOk)
    return Result<Forecast>::failure("the modelled protocol could not repair a fault");
  Forecast forecast;
  for (const Time clock : cluster.clocks()) forecast.time = later(forecast.time, clock);
  forecast.engine = forecast.time;
  forecast.wire = cluster.wire();
  return forecast;
}

}  // namespace

/// Why the hardware declines; empty: it does not.
static std::string decline_of(const ForecastSetting& setting, const Operation& operation) {
  const BackendContext context{0, operation.ranks, setting.settings, setting.faults, nullptr};
  const std::unique_ptr<Backend> backend = setting.backend.create(context);
  Operation asked = operation;
  if (asked.kind == OperationKind::kSend) asked.ranks = 2;  // as the engine asks
  return std::string(backend->answer(asked).reason);
}

static Result<Forecast> forecast_supported(const ForecastSetting& setting, const Operation& operation,
                                           int repeat) {
  if (setting.backend.forecast == nullptr) return on_cluster(setting, operation, repeat);
  if (repeat != 1)
    return Result<Forecast>::failure(fmt::format(
        "{} forecasts one operation on all its hardware; it cannot repeat one", setting.backend.name));
  const BackendContext context{0, operation.ranks, setting.settings, setting.faults, nullptr};
  Forecast whole = setting.backend.forecast(operation, context);
  return whole;
}

/// Makes a full memory larger, if that is all that is in the way: what was done, or nothing.
static std::string enlarged(ForecastSetting& setting, const Operation& operation) {
  if (setting.backend.enlarge == nullptr) return {};
  const std::string done = setting.backend.enlarge(operation, setting.settings);
  return decline_of(setting, operation).empty() ? done : std::string();
}

bool could_be_larger(const ForecastSetting& setting, const Operation& operation) {
  ForecastSetting larger = setting;
  return !enlarged(larger, operation).empty();
}

Result<Forecast> forecast(const ForecastSetting& setting, const Operation& operation, int repeat,
                          bool what_if) {
  if (operation.kind > OperationKind::kExscan)
    return Result<Forecast>::failure(
        fmt::format("{} has blocks of different sizes: no one size describes it", to_string(operation.kind)));
  const int least = operation.kind == OperationKind::kSend ? 2 : 1;
  if (operation.ranks < least)
    return Result<Forecast>::failure(fmt::format("{} needs {} ranks", to_string(operation.kind), least));
  if (operation.root < 0 || operation.root >= operation.ranks)
    return Result<Forecast>::failure(
        fmt::format("root {} is not one of {} ranks", operation.root, operation.ranks));

  Forecast declined;
  declined.declined = decline_of(setting, operation);
  if (declined.declined.empty()) return forecast_supported(setting, operation, repeat);
  if (!what_if) return declined;
  ForecastSetting larger = setting;
  const std::string done = enlarged(larger, operation);
  if (done.empty()) {
    declined.declined = decline_of(larger, operation);  // what is in the way besides
    return declined;
  }
  Result<Forecast> result = forecast_supported(larger, operation, repeat);
  if (result) {
    result->what_if = true;
    result->note = fmt::format("what if: {}: {}", declined.declined, done);
  }
  return result;
}

std::size_t element_bytes(ElementType type) {
  switch (type) {
    case ElementType::kInt16:
    case ElementType::kUint16:
      return 2;
    case ElementType::kInt32:
    case ElementType::kUint32:
    case ElementType::kFloat32:
      return 4;
    case ElementType::kInt64:
    case ElementType::kUint64:
    case ElementType::kFloat64:
      return 8;
    default:
      return 1;
  }
}

std::optional<std::int64_t> engine_cycles(const ForecastSetting& setting, const Forecast& forecast) {
  if (setting.backend.clock_parameter.empty()) return std::nullopt;
  const Frequency clock = setting.settings.megahertz(std::string(setting.backend.clock_parameter));
  return clock.cycles_in(forecast.engine);
}

}  // namespace offramp
