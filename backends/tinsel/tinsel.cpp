// Verdicts and messages. A message has the times of an idle machine (Device::unicast()), plus delays by other
// users of the units on its path (SharedUnits) and by missing credits of its sender for the same receiver
// (cross()). in_flight_ counts as idle detection does.
#include "backends/tinsel/tinsel.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "backends/tinsel/collectives.hpp"
#include "backends/tinsel/configuration.hpp"
#include "backends/tinsel/device.hpp"
#include "backends/tinsel/multicasts.hpp"
#include "backends/tinsel/shared_units.hpp"
#include "offramp/kernel/immortal.hpp"
#include "simulators/world/deployment.hpp"

namespace offramp {
namespace tinsel {
namespace {

// Holds the state of all ranks. Used by the thread of its world or rank.
class TinselBackend final : public Backend {
 public:
  explicit TinselBackend(const BackendContext& context)
      : configuration_(context.settings, context.ranks),
        shared_(configuration_),
        device_(configuration_, context.faults, context.spans, context.packets),
        multicasts_(device_, shared_),
        in_flight_(static_cast<std::size_t>(context.ranks)),
        too_long_(fmt::format("the data exceeds a rank's {} MiB of memory with this placement",
                              configuration_.memory() >> 20U)) {}

  [[nodiscard]] Verdict supports(const Operation& operation) const override {
    const Verdict verdict = Verdict::accept(operation, kRegularOperations);
    if (!configuration_.fits) return verdict.unless(configuration_.too_many);
    if (held_bytes(operation) > configuration_.memory()) return verdict.unless(too_long_);
    return verdict;
  }

  [[nodiscard]] std::span<const ResourceDescription> resources() const override {
    return shared_.descriptions();
  }

  [[nodiscard]] bool waits_for_receiver(const Transfer& transfer) const override {
    return transfer.bytes > configuration_.eager_limit;
  }

  [[nodiscard]] DeliveryFault delivery_fault(const Transfer& transfer) override {
    // A request may be lost as well as the data.
    const bool asks = transfer.synchronous || waits_for_receiver(transfer);
    return {(asks && !trip_of(transfer, 0, {}).ok) || !trip_of(transfer, transfer.bytes, {}).ok};
  }

  void issue(const Transfer& transfer, Passage& passage) override {
    if (multicasts_.issued(transfer)) {  // the stream includes the call's cost
      passage.host_free = passage.begin = passage.issued;
      return;
    }
    count_in_flight(transfer, transfer.source, 1);
    passage.begin = passage.host_free = passage.issued + configuration_.send_call;
    if (transfer.source == transfer.destination) return;
    const bool waits = transfer.synchronous || waits_for_receiver(transfer);
    if (waits) passage.protocol = Protocol::kRendezvous;
    // A rank with one thread sends by itself; other ranks leave it to the tile's threads.
    if (configuration_.workers() == 1)
      passage.host_free += trip_of(transfer, waits ? 0 : transfer.bytes, passage.begin).sent;
  }

  void depart(const Transfer& transfer, Passage& passage, const Resources& sender) override {
    if (multicasts_.depart(transfer, passage, sender)) return;
    if (passage.protocol == Protocol::kDirect) return send_data(transfer, passage, passage.begin, sender);
    const Crossing request = cross(transfer, 0, passage.begin, sender);
    passage.requested = request.last;
    passage.failed = passage.failed || !request.ok;
    device_.count(request.wire);
    device_.span(transfer.source, "tinsel.threads", "request", passage.begin, request.sent,
                 transfer.operation);
    device_.span(transfer.source, "tinsel.network", "fragments", passage.begin, request.last,
                 transfer.operation);
  }

  /// The receiver sends a grant once the receive is posted.
  void grant(const Transfer& transfer, Passage& passage) override {
    const Time asked = passage.granted + configuration_.receive_call;
    const Trip trip = device_.unicast(transfer.destination, transfer.source, 0, transfer.number, asked);
    passage.answered = asked + trip.last + configuration_.receive_call;
  }

  void transmit(const Transfer& transfer, Passage& passage, const Resources& sender) override {
    send_data(transfer, passage, passage.answered, sender);
  }

  void arrive(const Transfer& transfer, Passage& passage, const Resources& receiver) override {
    // Only unicast messages begin with an envelope.
    const Load load = shared_.load_of(transfer.bytes, !multicasts_.arrived(transfer));
    passage.stored = shared_.taken_up(receiver, configuration_.place(transfer.destination), load,
                                      passage.first, passage.last);
  }

  Time receive(const Transfer& transfer, const Passage& passage, Time at, Matched matched) override {
    if (transfer.source == transfer.destination) return at + configuration_.receive_call;
    count_in_flight(transfer, transfer.destination, -1);
    // An unexpected message is in the rank's own DRAM, and is copied from there.
    const Time done = matched == Matched::kUnexpected ? at + configuration_.copy(transfer.bytes) : at;
    device_.span(transfer.destination, "tinsel.threads", "receive", passage.first, done, transfer.operation);
    return done;
  }

  [[nodiscard]] Time copy_time(std::size_t bytes) const override { return configuration_.copy(bytes); }
  [[nodiscard]] Time post_receive_cost() const override { return configuration_.receive_call; }

  void count(const Transfer& transfer, const Passage& passage) override {
    device_.count(trip_of(transfer, transfer.bytes, passage.answered).wire);
    const Time asked = passage.granted + configuration_.receive_call;
    device_.count(device_.unicast(transfer.destination, transfer.source, 0, transfer.number, asked).wire);
  }

  [[nodiscard]] bool records() const override { return device_.records(); }
  void record_sender(const Transfer& transfer, const Passage& passage) override {
    if (passage.protocol == Protocol::kDirect) return;  // recorded at departure
    device_.capture_unicast(transfer, 0, passage.begin);
    record_packets(transfer, passage);
  }

  [[nodiscard]] std::optional<ReductionOrder> order(const Operation& operation,
                                                    const TeamMembers& team) override {
    return fold_of(device_, operation, team);
  }
  Task<Outcome> collective(const Operation& operation, Team& team, CollectiveBuffers buffers) override {
    const std::int64_t in_flight = in_flight_[static_cast<std::size_t>(team.world_rank(team.rank()))];
    return run_collective({device_, multicasts_}, operation, team, buffers, in_flight);
  }

  [[nodiscard]] WireCounters wire() const override { return device_.wire(); }
  void forget(std::uint64_t context) override { device_.forget(context); }

  [[nodiscard]] std::string_view failure(std::uint8_t) const override {
    return "an inter-board link gave up";
  }

 private:
  /// A message's times, including delays by others.
  struct Crossing {
    Time sent;
    Time first;
    Time last;
    bool ok = true;
    WireCounters wire;
  };

  /// The maximum amount of data that one rank stores at once.
  [[nodiscard]] static std::uint64_t held_bytes(const Operation& operation) {
    const auto ranks = static_cast<std::uint64_t>(std::max(1, operation.ranks));
    if (!has_block_per_rank(operation.kind)) return operation.bytes;
    // Saturates instead of overflowing.
    return operation.bytes > ~std::uint64_t{0} / ranks ? ~std::uint64_t{0} : operation.bytes * ranks;
  }

  Trip trip_of(const Transfer& transfer, std::uint64_t bytes, Time epoch) {
    return device_.unicast(transfer.source, transfer.destination, bytes, transfer.number, epoch);
  }

  Crossing cross(const Transfer& transfer, std::uint64_t bytes, Time begin, const Resources& sender) {
    const Trip trip = trip_of(transfer, bytes, begin);
    const Load load = shared_.load_of(bytes, true);
    const Time first = begin + trip.first;
    const Time last = begin + later(trip.first, trip.last);
    SharedUnits::Delay delay =
        shared_.send(sender, configuration_.place(transfer.source), load, begin, begin + trip.sent);
    delay.add(device_.wait_for_credits(transfer.source, transfer.destination, load.fragments, begin));
    // Delays before the network, which the sender itself notices.
    const Time held = delay.last;
    delay.add(shared_.unicast(sender, configuration_.place(transfer.source),
                              configuration_.place(transfer.destination), load, begin, first, last));
    device_.spend_credits(transfer.source, transfer.destination, load.fragments, begin, delay.last);
    // Fragments within the window need not wait for credits.
    const Time sent = begin + trip.sent + (load.fits_window ? held : delay.last);
    return {sent, first + delay.first, later(last + delay.last, first + delay.first), trip.ok, trip.wire};
  }

  void send_data(const Transfer& transfer, Passage& passage, Time begin, const Resources& sender) {
    const Crossing data = cross(transfer, transfer.bytes, begin, sender);
    passage.leaves = begin;
    passage.latency = data.first - begin;
    passage.left = data.last - passage.latency;
    passage.complete = data.sent;
    passage.failed = passage.failed || !data.ok;
    if (passage.protocol != Protocol::kDirect) return;
    device_.count(data.wire);
    if (device_.records()) record_packets(transfer, passage);
  }

  void record_packets(const Transfer& transfer, const Passage& passage) {
    device_.capture_unicast(transfer, transfer.bytes, passage.leaves);
    device_.span(transfer.source, "tinsel.threads", "send", passage.leaves, passage.complete,
                 transfer.operation);
    device_.span(transfer.source, "tinsel.network", "fragments", passage.leaves,
                 passage.left + passage.latency, transfer.operation);
  }

  void count_in_flight(const Transfer& transfer, int rank, int change) {
    if (transfer.source == transfer.destination) return;
    in_flight_[static_cast<std::size_t>(rank)] += change;
  }

  Configuration configuration_;
  SharedUnits shared_;
  Device device_;
  Multicasts multicasts_;
  std::vector<std::int64_t> in_flight_;  // by rank: messages sent minus messages received
  std::string too_long_;
};

Deployment deployment(const Settings& settings, const MachineLayout&, int ranks) {
  const MachineSpec machine = Configuration(settings, ranks).machine;
  return Deployment{fmt::format("one machine of {} x {} boards for all ranks, of {} between two boards",
                                machine.mesh.columns, machine.mesh.rows,
                                gigabits_text(machine.link.count()))};
}

}  // namespace
}  // namespace tinsel

const BackendDescription& tinsel_backend() {
  static constexpr std::string_view kInProduction[] = {"mesh", "placement"};
  static const auto& description = immortal(BackendDescription{
      .name = "tinsel",
      .description = "POETS/Tinsel boards: programmable routers with global multicast, ranks on threads",
      .parameters = tinsel::parameters(),
      .create = make_backend<tinsel::TinselBackend>,
      .clock_parameter = "clock",
      .topics = tinsel::topics(),
      .validation = tinsel::validation,
      .deployment = tinsel::deployment,
      .is_one_machine = true,
      .in_production = kInProduction});
  return description;
}

}  // namespace offramp
