#include "backends/dpu/forecast.hpp"

#include "backends/dpu/dpu.hpp"
#include "backends/dpu/parameters.hpp"
#include "backends/dpu/support.hpp"
#include "simulators/dpu/collective.hpp"
#include "simulators/model/message_forecast.hpp"

namespace offramp::dpu {
namespace {

Forecast forecast_collective(const PlatformSpec& platform, const Operation& operation) {
  CollectiveRequest request;
  request.kind = operation.kind;
  request.bytes = static_cast<std::int64_t>(operation.bytes);
  request.root = operation.root;
  const HostCost cost = host_cost(platform, operation.kind, request.bytes, operation.ranks, false);
  for (int rank = 0; rank < operation.ranks; ++rank) request.members.push_back({rank, cost.post, {}});
  const CollectiveResult result = run_collective(platform, request);
  Forecast forecast;
  if (result.failed) forecast.declined = "a notification was lost more often than the transport repeats it";
  forecast.wire = result.wire;
  const Time host_free = cost.post + cost.copy;
  for (const MemberResult& member : result.members) {
    forecast.time = later(forecast.time, later(host_free, member.done));
    forecast.time = later(forecast.time, later(host_free, member.host_begin) + member.host_work);
  }
  return forecast;
}

/// No service process takes part: the host posts the operation and copies by itself.
Forecast forecast_alone(const PlatformSpec& platform, const Operation& operation) {
  const auto bytes = static_cast<std::int64_t>(operation.bytes);
  const HostCost cost = host_cost(platform, operation.kind, bytes, 1, true);
  Forecast forecast;
  forecast.time = cost.post + cost.copy;
  return forecast;
}

}  // namespace

Forecast forecast(const Operation& operation, const BackendContext& context) {
  const DriverSpec driver = driver_of(context.settings, context.faults);
  const Verdict verdict = supports(driver.platform, operation.ranks, operation);
  Forecast forecast;
  if (!verdict.yes()) {
    forecast.declined = verdict.reason;
    return forecast;
  }
  if (operation.kind == OperationKind::kSend) {
    forecast = forecast_message(dpu_backend(), operation, context);
  } else if (operation.ranks == 1) {
    forecast = forecast_alone(driver.platform, operation);
  } else {
    forecast = forecast_collective(driver.platform, operation);
  }
  forecast.engine = forecast.time;
  return forecast;
}

}  // namespace offramp::dpu
