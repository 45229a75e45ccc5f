#include "backends/tinsel/tinsel.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "backends/tinsel/algorithms.hpp"
#include "backends/tinsel/configuration.hpp"
#include "backends/tinsel/device.hpp"
#include "backends/tinsel/explain.hpp"
#include "backends/tinsel/forecast.hpp"
#include "backends/tinsel/parameters.hpp"
#include "offramp/kernel/immortal.hpp"
#include "simulators/model/issue_order.hpp"

namespace offramp {
namespace tinsel {
namespace {

// Stamp::detail of a departure.
constexpr std::uint64_t kHandshake = 1;
constexpr std::uint64_t kLocal = 2;

/// Set in the context of collectives: their messages are no business of idle detection, since they are over
/// when the collective is.
constexpr std::uint64_t kCollectiveContext = std::uint64_t{1} << 63;

class TinselBackend final : public IssueOrderBackend {
 public:
  using IssueOrderBackend::depart;
  using IssueOrderBackend::receive;
  explicit TinselBackend(const BackendContext& context)
      : configuration_(context.settings, context.ranks),
        device_(configuration_, context.faults, context.spans, context.packets),
        too_long_(fmt::format("the data needs more than a rank's {} MiB of memory with this placement",
                              configuration_.memory() >> 20U)) {}

  [[nodiscard]] Verdict supports(const Operation& operation) const override {
    const Verdict verdict = Verdict::accept(operation, kRegularOperations);
    if (!configuration_.fits) return verdict.unless(configuration_.too_many);
    if (held_bytes(operation) > configuration_.memory()) return verdict.unless(too_long_);
    return verdict;
  }

  Departure depart(const Transfer& transfer, Time issued, Units& units) override {
    count_sent(transfer);
    Departure departure;
    const Time called = issued + configuration_.send_call;
    if (transfer.source == transfer.destination) {
      departure.handshake = transfer.synchronous;
      departure.complete = departure.host_free = called + configuration_.copy(transfer.bytes);
      departure.stamp = {called, departure.complete, kLocal};
      return departure;
    }
    departure.handshake = transfer.synchronous || transfer.bytes > configuration_.eager_limit;
    const Time begin = later(called, units[kSending].free_at());
    const Trip trip = trip_of(transfer, departure.handshake ? 0 : transfer.bytes, begin);
    units[kSending].acquire(begin, trip.sent);
    const Time sent = begin + trip.sent;
    // A rank with one thread sends by itself; others leave it to the tile's threads.
    departure.host_free = configuration_.workers() == 1 ? sent : called;
    departure.complete = sent;
    const std::uint64_t fate = trip.ok ? 0 : Stamp::kFailed;
    if (departure.handshake) {
      departure.stamp = {begin, begin + trip.last, kHandshake | fate};
    } else {
      departure.stamp = {begin + trip.first, begin + trip.last, fate};
    }
    device_.count(trip.wire);
    device_.capture_unicast(transfer, departure.handshake ? 0 : transfer.bytes, begin);
    device_.span("tinsel.threads", departure.handshake ? "request" : "send", begin, sent, transfer.operation);
    device_.span("tinsel.network", "fragments", begin, begin + trip.last, transfer.operation);
    return departure;
  }

  Stamp match(const Transfer& transfer, const Stamp& departure, Time posted) override {
    if ((departure.detail & kLocal) != 0) return {posted, later(departure.last, posted), 0};
    const Time begin = data_begin(transfer, departure, posted);
    const Trip trip = trip_of(transfer, transfer.bytes, begin);
    device_.count(grant_of(transfer, asked_at(departure, posted)).wire);
    device_.count(trip.wire);
    return {begin, begin + trip.sent, trip.ok && !departure.failed() ? 0 : Stamp::kFailed};
  }

  Time receive(const Transfer& transfer, const Stamp& departure, Time posted, Units& units) override {
    count_received(transfer);
    if ((departure.detail & kLocal) != 0) return later(departure.last, posted) + configuration_.receive_call;
    Time first = departure.first;
    Time last = departure.last;
    if ((departure.detail & kHandshake) != 0) {
      const Time begin = data_begin(transfer, departure, posted);
      const Trip trip = trip_of(transfer, transfer.bytes, begin);
      first = begin + trip.first;
      last = begin + trip.last;
    }
    last = later(last, units[kReceiving].acquire(first, last - first).end);
    const Time done = configuration_.taken_up(posted, first, last, transfer.bytes);
    device_.span("tinsel.threads", "receive", first, done, transfer.operation);
    return done;
  }

  Time complete_send(const Transfer& transfer, const Stamp& reply, Units& units) override {
    const Time late = units[kLate].acquire(reply.first, reply.last - reply.first).end;
    if (transfer.source != transfer.destination)
      device_.capture_unicast(transfer, transfer.bytes, late - (reply.last - reply.first));
    device_.span("tinsel.threads", "send", late - (reply.last - reply.first), late, transfer.operation);
    return later(reply.last, late);
  }

  [[nodiscard]] std::size_t units() const override { return kUnits; }
  [[nodiscard]] Time post_receive_cost() const override { return configuration_.receive_call; }

  Task<Outcome> collective(const Operation& operation, Team& team, CollectiveBuffers buffers) override {
    return run_collective(device_, operation, team, buffers, in_flight_);
  }

  [[nodiscard]] WireCounters wire() const override { return device_.wire(); }
  void forget(std::uint64_t context) override { device_.forget(context); }

  [[nodiscard]] std::string_view failure(const Stamp&) const override {
    return "an inter-board link gave up";
  }

 private:
  enum Unit : std::size_t { kSending, kReceiving, kLate, kUnits };

  /// What one rank has to hold at once.
  [[nodiscard]] static std::uint64_t held_bytes(const Operation& operation) {
    const auto ranks = static_cast<std::uint64_t>(std::max(1, operation.ranks));
    if (!has_block_per_rank(operation.kind)) return operation.bytes;
    return operation.bytes > ~std::uint64_t{0} / ranks ? ~std::uint64_t{0} : operation.bytes * ranks;
  }

  Trip trip_of(const Transfer& transfer, std::uint64_t bytes, Time epoch) {
    return device_.unicast(transfer.source, transfer.destination, bytes, transfer.number, epoch);
  }

  /// The receiver grants a request once its receive is posted, and the grant goes back.
  Time data_begin(const Transfer& transfer, const Stamp& departure, Time posted) {
    const Time asked = asked_at(departure, posted);
    return asked + grant_of(transfer, asked).last + configuration_.receive_call;
  }
  [[nodiscard]] Time asked_at(const Stamp& departure, Time posted) const {
    return later(departure.last, posted) + configuration_.receive_call;
  }
  Trip grant_of(const Transfer& transfer, Time asked) {
    return device_.unicast(transfer.destination, transfer.source, 0, transfer.number, asked);
  }

  static bool counts(const Transfer& t) {
    return (t.context & kCollectiveContext) == 0 && t.source != t.destination;
  }
  void count_sent(const Transfer& t) { in_flight_ += counts(t) ? 1 : 0; }
  void count_received(const Transfer& t) { in_flight_ -= counts(t) ? 1 : 0; }

  Configuration configuration_;
  Device device_;
  std::string too_long_;
  std::int64_t in_flight_ = 0;  // sent less received, point to point
};

}  // namespace
}  // namespace tinsel

const BackendDescription& tinsel_backend() {
  static const auto& description = immortal(
      BackendDescription{BackendDescription::kAbi, "tinsel",
                         "POETS/Tinsel boards: programmable routers with global multicast, ranks on threads",
                         tinsel::parameters(),
                         [](const BackendContext& context) -> std::unique_ptr<Backend> {
                           return std::make_unique<tinsel::TinselBackend>(context);
                         },
                         "clock", tinsel::forecast, tinsel::topics()});
  return description;
}

}  // namespace offramp
