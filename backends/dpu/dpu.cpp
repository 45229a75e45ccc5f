#include "backends/dpu/dpu.hpp"

#include <utility>

#include "backends/dpu/data.hpp"
#include "backends/dpu/explain.hpp"
#include "backends/dpu/forecast.hpp"
#include "backends/dpu/parameters.hpp"
#include "backends/dpu/support.hpp"
#include "backends/dpu/timing.hpp"
#include "offramp/kernel/immortal.hpp"
#include "simulators/dpu/message.hpp"
#include "simulators/model/issue_order.hpp"

namespace offramp {
namespace {

using dpu::Distance;
using dpu::MessagePath;

// Stamp::detail of a departure.
constexpr std::uint64_t kHandshake = std::uint64_t{1} << 0;
constexpr std::uint64_t kLocal = std::uint64_t{1} << 1;   // to the rank itself
constexpr std::uint64_t kByHost = std::uint64_t{1} << 2;  // past a service process that has failed

class DpuBackend final : public IssueOrderBackend {
 public:
  using IssueOrderBackend::depart;
  using IssueOrderBackend::receive;
  explicit DpuBackend(const BackendContext& context)
      : driver_(dpu::driver_of(context.settings, context.faults)),
        placement_(dpu::placement_of(driver_.platform)),
        path_(driver_.platform, driver_.emit),
        timing_(driver_.platform, dpu::fingerprint_of(context.settings)),
        ranks_(context.ranks),
        spans_(context.spans) {}

  [[nodiscard]] Verdict supports(const Operation& operation) const override {
    return dpu::supports(driver_.platform, ranks_, operation);
  }

  Departure depart(const Transfer& transfer, Time issued, Units& units) override {
    if (transfer.source == transfer.destination) return keep(transfer, issued);
    const bool handshake =
        transfer.synchronous || static_cast<std::int64_t>(transfer.bytes) > driver_.eager_limit;
    const std::int64_t payload = handshake ? dpu::kRtsPayload : static_cast<std::int64_t>(transfer.bytes);
    const MessagePath::Reroute reroute = reroute_of(transfer, issued, units);
    const dpu::HostUnits mine{units[kUp], units[kServiceOut], units[kNicOut]};
    const Distance distance = distance_of(transfer);
    const int process = placement_.global_id(transfer.source);
    const MessagePath::Sent sent = reroute.needed ? path_.send_by_host(payload, distance, reroute.from, mine)
                                                  : path_.send(payload, distance, process, issued, mine);
    count(payload, distance >= Distance::kOtherDpu || !reroute.needed);
    if (reroute.needed) ++wire_.rerouted;
    const Repair repair = repair_of_message(transfer, sent.first);
    Departure departure;
    departure.host_free = issued + path_.emit();
    departure.complete = sent.complete;
    departure.handshake = handshake;
    departure.stamp = {sent.first + repair.time, sent.last + repair.time,
                       (handshake ? kHandshake : 0) | (reroute.needed ? kByHost : 0)};
    if (repair.gave_up) departure.stamp.detail |= Stamp::kFailed;
    span("host", "emit", issued, departure.host_free, transfer.operation);
    span("service process", handshake ? "RTS" : "notification", sent.complete, sent.last, transfer.operation);
    return departure;
  }

  Stamp match(const Transfer& transfer, const Stamp& departure, Time posted) override {
    if ((departure.detail & kLocal) != 0) return {posted, later(departure.last, posted), 0};
    const MessagePath::Read read = read_of(transfer, departure, posted);
    count(static_cast<std::int64_t>(transfer.bytes), true);
    count(dpu::kAckPayload, true);
    return {read.begin, read.acked, departure.failed() ? Stamp::kFailed : 0};
  }

  Time receive(const Transfer& transfer, const Stamp& departure, Time posted, Units& units) override {
    const auto bytes = static_cast<std::int64_t>(transfer.bytes);
    if ((departure.detail & kLocal) != 0) return later(departure.last, posted);
    const dpu::ReceiveUnits mine{units[kServiceIn], units[kDown]};
    const int process = placement_.global_id(transfer.destination);
    const bool by_host = (departure.detail & kByHost) != 0;
    Time done;
    if ((departure.detail & kHandshake) != 0) {
      const MessagePath::Read read = read_of(transfer, departure, posted);
      done = by_host ? read.landed : path_.notified(process, read.landed, bytes, mine);
      span("network", "READ", read.begin, read.landed, transfer.operation);
    } else {
      done = by_host ? path_.receive_by_host(bytes, departure.last, posted)
                     : path_.receive(bytes, process, departure.last, posted, mine);
      span("service process", "deliver", later(departure.last, posted), done, transfer.operation);
    }
    return done;
  }

  Time complete_send(const Transfer& transfer, const Stamp& reply, Units& units) override {
    if (transfer.source == transfer.destination) return reply.last;
    // Long messages share their host's memory and link: one READ after the other.
    const auto bytes = static_cast<std::int64_t>(transfer.bytes);
    const Time taken = driver_.platform.card.link.bytes(dpu::framed(bytes));
    return later(reply.last, units[kRead].acquire(reply.first, taken).end);
  }

  [[nodiscard]] std::size_t units() const override { return kUnits; }
  [[nodiscard]] Time post_receive_cost() const override { return path_.emit(); }

  Task<Outcome> collective(const Operation& operation, Team& team, CollectiveBuffers buffers) override {
    const auto own = static_cast<std::int64_t>(
        has_blocks_of_different_sizes(operation.kind) ? buffers.send.size() : operation.bytes);
    const dpu::HostCost cost =
        dpu::host_cost(driver_.platform, operation.kind, own, team.size(), team.rank() == operation.root);
    const Time issued = team.clock;
    const Time posted = issued + cost.post;
    team.host_free = posted + cost.copy;
    if (team.size() == 1) {
      team.clock = team.host_free;
      co_return co_await dpu::move_data(operation, team, buffers);
    }
    dpu::CollectiveTiming::Exchange exchange;
    timing_.begin(exchange, operation, team, buffers, posted, (*team.units())[kServiceOut].free_at());
    Outcome outcome = co_await dpu::move_data(operation, team, buffers);
    const dpu::Completion completion = co_await timing_.end(exchange, team);
    if (outcome == Outcome::kOk) outcome = completion.outcome;
    (*team.units())[kServiceOut].merge(completion.process_free);
    team.clock = later(team.host_free, completion.done);
    team.host_begin = team.host_free;
    team.host_work = completion.host_work;
    span("host", "post", issued, team.host_free, team.operation);
    span("service process", "collective", posted, completion.done, team.operation);
    co_return outcome;
  }

  [[nodiscard]] WireCounters wire() const override {
    WireCounters wire = wire_;
    wire += timing_.wire();
    return wire;
  }

  [[nodiscard]] std::string_view failure(const Stamp&) const override {
    return "a notification was lost more often than the transport repeats it, or the ranks' settings of the "
           "service differ";
  }

 private:
  enum Unit : std::size_t { kUp, kServiceOut, kNicOut, kServiceIn, kDown, kRead, kUnits };

  [[nodiscard]] Distance distance_of(const Transfer& transfer) const {
    return dpu::distance_between(placement_, transfer.source, transfer.destination);
  }

  /// A message to the rank itself is a copy.
  [[nodiscard]] Departure keep(const Transfer& transfer, Time issued) const {
    const Time copy = driver_.platform.card.core_copy.bytes(static_cast<std::int64_t>(transfer.bytes));
    Departure departure;
    departure.host_free = issued + path_.emit();
    departure.complete = departure.host_free + copy;
    departure.handshake = transfer.synchronous;
    departure.stamp = {departure.host_free, departure.complete, kLocal};
    return departure;
  }

  [[nodiscard]] MessagePath::Read read_of(const Transfer& transfer, const Stamp& departure,
                                          Time posted) const {
    const auto bytes = static_cast<std::int64_t>(transfer.bytes);
    const Distance distance = distance_of(transfer);
    return (departure.detail & kByHost) != 0 ? path_.read_by_host(bytes, distance, departure.last, posted)
                                             : path_.read(bytes, distance, departure.last, posted);
  }

  /// Either service process may have failed: the sender's when it is to take the notification, the receiver's
  /// when it gets it.
  [[nodiscard]] MessagePath::Reroute reroute_of(const Transfer& transfer, Time issued,
                                                const Units& units) const {
    if (driver_.platform.failure.kind == dpu::Failure::kNone) return {};
    const dpu::CardSpec& card = driver_.platform.card;
    const Time taken =
        later(issued + path_.emit() + card.pcie_latency, units[kServiceOut].free_at()) + card.step() * 2;
    const MessagePath::Reroute source = path_.reroute(placement_.global_id(transfer.source), issued, taken);
    const MessagePath::Reroute destination = path_.reroute(placement_.global_id(transfer.destination), issued,
                                                           taken + card.network_latency + card.step());
    return {source.needed || destination.needed, later(source.from, destination.from)};
  }

  /// Each message has as many numbers in the fault script as it may have attempts.
  [[nodiscard]] Repair repair_of_message(const Transfer& transfer, Time at) {
    const FaultRates& faults = driver_.platform.transport.faults;
    if (!faults.any() || distance_of(transfer) < Distance::kOtherDpu) return {};
    const ReliableTransport transport = driver_.platform.reliable();
    const std::uint64_t link = Link::id(static_cast<std::uint64_t>(transfer.source),
                                        static_cast<std::uint64_t>(transfer.destination));
    return repair_of(faults, transport, link, transfer.number * transport.numbers(), at, wire_);
  }

  /// A message goes over PCIe to the service process, and over the network or the DPU's loopback.
  void count(std::int64_t payload, bool by_process) {
    dpu::count_message(wire_, dpu::kNotificationHeader + payload);
    if (by_process) dpu::count_message(wire_, dpu::kNotificationHeader);
  }

  void span(std::string_view unit, std::string_view what, Time begin, Time end, std::uint64_t operation) {
    if (spans_ != nullptr) spans_->record({unit, what, begin, end, operation});
  }

  dpu::DriverSpec driver_;
  dpu::Placement placement_;
  MessagePath path_;
  dpu::CollectiveTiming timing_;
  int ranks_;
  SpanSink* spans_;
  WireCounters wire_;
};

}  // namespace

const BackendDescription& dpu_backend() {
  static const auto& description = immortal(BackendDescription{
      .name = "dpu",
      .description = "offload service processes on BlueField-class DPUs, which work while the host computes",
      .parameters = dpu::parameters(),
      .create = [](const BackendContext& context) -> std::unique_ptr<Backend> {
        return std::make_unique<DpuBackend>(context);
      },
      .forecast = dpu::forecast,
      .topics = dpu::topics()});
  return description;
}

}  // namespace offramp
