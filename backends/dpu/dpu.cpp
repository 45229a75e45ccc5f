#include "backends/dpu/dpu.hpp"

#include <utility>

#include "backends/dpu/data.hpp"
#include "backends/dpu/explain.hpp"
#include "backends/dpu/parameters.hpp"
#include "backends/dpu/support.hpp"
#include "backends/dpu/timing.hpp"
#include "backends/dpu/validation.hpp"
#include "backends/dpu/world_collectives.hpp"
#include "offramp/kernel/immortal.hpp"
#include "simulators/dpu/message.hpp"
#include "simulators/model/units.hpp"

namespace offramp {
namespace {

using dpu::MessagePath;

class DpuBackend final : public Backend {
 public:
  explicit DpuBackend(const BackendContext& context)
      : driver_(dpu::driver_of(context.settings, context.faults)),
        node_(driver_.platform),
        path_(driver_.platform, node_, driver_.emit),
        timing_(driver_.platform, dpu::fingerprint_of(context.settings)),
        shared_(driver_.platform),
        ranks_(context.ranks),
        spans_(context.spans) {}

  [[nodiscard]] Verdict supports(const Operation& operation) const override {
    return dpu::supports(driver_.platform, ranks_, operation);
  }

  [[nodiscard]] std::span<const ResourceDescription> resources() const override {
    return node_.descriptions();
  }

  void issue(const Transfer& transfer, Passage& passage) override {
    passage.host_free = passage.begin = passage.issued + path_.emit();
    const bool is_long = static_cast<std::int64_t>(transfer.bytes) > driver_.eager_limit;
    if (transfer.synchronous || is_long) passage.protocol = Protocol::kRendezvous;
  }

  void depart(const Transfer& transfer, Passage& passage, const Resources& sender) override {
    const bool rerouted = path_.depart(transfer, passage, sender);
    const bool direct = passage.protocol == Protocol::kDirect;
    count(direct ? static_cast<std::int64_t>(transfer.bytes) : dpu::kRtsPayload,
          path_.notifies_remotely(transfer) || !rerouted);
    if (rerouted) ++wire_.rerouted;
    const Repair repair = repair_of_message(transfer, direct ? passage.leaves : passage.requested);
    (direct ? passage.latency : passage.requested) += repair.time;
    passage.failed = passage.failed || repair.gave_up;
  }

  void answer(const Transfer& transfer, Passage& passage, const Resources& receiver) override {
    path_.answer(transfer, passage, receiver);
  }
  void transmit(const Transfer& transfer, Passage& passage, const Resources& sender) override {
    path_.transmit(transfer, passage, sender);
  }
  void arrive(const Transfer& transfer, Passage& passage, const Resources& receiver) override {
    path_.arrive(transfer, passage, receiver);
  }

  Time receive(const Transfer& transfer, const Passage& passage, Time at, bool kept) override {
    if (transfer.source == transfer.destination) return at;
    const Time done = path_.receive(transfer, passage, at, kept);
    span("service process", "deliver", passage.first, done, transfer.operation, transfer.destination);
    return done;
  }

  /// By a core of the host.
  [[nodiscard]] Time copy_time(std::size_t bytes) const override {
    return driver_.platform.card.core_copy.bytes(static_cast<std::int64_t>(bytes));
  }

  /// The READ and its ACK.
  void count(const Transfer& transfer, const Passage&) override {
    count(static_cast<std::int64_t>(transfer.bytes), true);
    count(dpu::kAckPayload, true);
  }

  [[nodiscard]] bool records() const override { return spans_ != nullptr; }
  void record_sender(const Transfer& transfer, const Passage& passage) override {
    const bool direct = passage.protocol == Protocol::kDirect;
    span("host", "emit", passage.begin - path_.emit(), passage.begin, transfer.operation, transfer.source);
    if (direct) {
      span("service process", "notification", passage.complete, passage.left, transfer.operation,
           transfer.source);
    } else {
      span("service process", "RTS", passage.begin, passage.granted, transfer.operation, transfer.source);
      span("network", "READ", passage.leaves, passage.left, transfer.operation, transfer.source);
    }
  }

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
    dpu::Completion completion;
    // Under a failure all arrivals decide what it changes: then an operation has the devices to itself.
    if (team.devices() != nullptr && driver_.platform.failure.kind == dpu::Failure::kNone) {
      dpu::WorldCollectives::Part part;
      shared_.join(part, operation, team, *team.devices(), buffers, posted);
      completion = co_await part;
    } else {
      completion = co_await by_itself(operation, team, buffers, posted);
    }
    team.clock = later(team.host_free, completion.done);
    team.host_begin = team.host_free;
    team.host_work = completion.host_work;
    const int rank = team.world_rank(team.rank());
    span("host", "post", issued, team.host_free, team.operation, rank);
    span("service process", "collective", posted, completion.done, team.operation, rank);
    co_return completion.outcome;
  }

  void forget(std::uint64_t context) override { shared_.forget(context); }

  [[nodiscard]] WireCounters wire() const override {
    WireCounters wire = wire_;
    wire += timing_.wire();
    wire += shared_.wire();
    return wire;
  }

  [[nodiscard]] std::string_view failure(const Stamp&) const override {
    return "a notification was lost more often than the transport repeats it, or the ranks' settings of the "
           "service differ";
  }

 private:
  /// In a live run the first rank of the communicator finds out what all of them take.
  Task<dpu::Completion> by_itself(const Operation& operation, Team& team, CollectiveBuffers buffers,
                                  Time posted) {
    const std::size_t process =
        node_.process(dpu::placement_of(driver_.platform).global_id(team.world_rank(team.rank())));
    Units* const units = team.units();
    dpu::CollectiveTiming::Exchange exchange;
    timing_.begin(exchange, operation, team, buffers, posted,
                  units != nullptr ? (*units)[process].free_at() : Time());
    const Outcome outcome = co_await dpu::move_data(operation, team, buffers);
    dpu::Completion completion = co_await timing_.end(exchange, team);
    if (outcome != Outcome::kOk) completion.outcome = outcome;
    if (units != nullptr) (*units)[process].merge(completion.process_free);
    co_return completion;
  }

  /// Each message has as many numbers in the fault script as it may have attempts.
  [[nodiscard]] Repair repair_of_message(const Transfer& transfer, Time at) {
    const FaultRates& faults = driver_.platform.transport.faults;
    if (!faults.any() || !path_.notifies_remotely(transfer)) return {};
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

  void span(std::string_view unit, std::string_view what, Time begin, Time end, std::uint64_t operation,
            int rank) {
    if (spans_ != nullptr) spans_->record({unit, what, begin, end, operation, rank});
  }

  dpu::DriverSpec driver_;
  dpu::NodeResources node_;
  MessagePath path_;
  dpu::CollectiveTiming timing_;
  dpu::WorldCollectives shared_;
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
      .topics = dpu::topics(),
      .validation = dpu::validation});
  return description;
}

}  // namespace offramp
