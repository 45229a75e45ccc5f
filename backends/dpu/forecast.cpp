#include "backends/dpu/forecast.hpp"

#include "backends/dpu/parameters.hpp"
#include "backends/dpu/support.hpp"
#include "simulators/dpu/collective.hpp"
#include "simulators/dpu/message.hpp"

namespace offramp::dpu {
namespace {

/// From rank 0 to the last one, whose receive is posted.
Forecast forecast_send(const DriverSpec& driver, const Operation& operation) {
  const Placement placement = placement_of(driver.platform);
  const int to = operation.ranks - 1;
  const auto bytes = static_cast<std::int64_t>(operation.bytes);
  const Distance distance = distance_between(placement, 0, to);
  Units units;
  const MessagePath path(driver.platform, driver.emit);
  const bool handshake = bytes > driver.eager_limit;
  const ReceiveUnits receiver{units.unit[3], units.unit[4]};
  const MessagePath::Sent sent =
      path.send(handshake ? 176 : bytes, distance, 0, {}, {units.unit[0], units.unit[1], units.unit[2]});
  Forecast forecast;
  if (handshake) {
    const MessagePath::Read read = path.read(bytes, distance, sent.last, {});
    forecast.time = path.notified(placement.global_id(to), read.landed, bytes, receiver);
  } else {
    forecast.time = path.receive(bytes, placement.global_id(to), sent.last, {}, receiver);
  }
  count_message(forecast.wire, kNotificationHeader + bytes);
  return forecast;
}

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
    forecast = forecast_send(driver, operation);
  } else if (operation.ranks > 1) {
    forecast = forecast_collective(driver.platform, operation);
  }
  forecast.engine = forecast.time;
  return forecast;
}

}  // namespace offramp::dpu
