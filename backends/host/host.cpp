#include "backends/host/host.hpp"

#include "backends/host/algorithms.hpp"
#include "backends/host/parameters.hpp"
#include "offramp/kernel/immortal.hpp"
#include "offramp/kernel/repair.hpp"

namespace offramp {
namespace {

class HostBackend final : public Backend {
 public:
  explicit HostBackend(const BackendContext& context)
      : latency_(context.settings.nanoseconds("latency")),
        overhead_(context.settings.nanoseconds("overhead")),
        gap_(context.settings.nanoseconds("gap")),
        link_(context.settings.gigabits("bandwidth")),
        post_(context.settings.nanoseconds("post")),
        eager_limit_(static_cast<std::size_t>(context.settings.integer("eager_limit"))),
        costs_{context.settings.gigabits("copy_bandwidth"), context.settings.gigabits("combine_bandwidth"),
               context.spans},
        transport_{context.settings.nanoseconds("retry_timeout") * 1000, latency_ * 2,
                   static_cast<int>(context.settings.integer("retries"))},
        faults_(context.faults),
        faulty_(faults_.any()),
        spans_(context.spans) {}

  [[nodiscard]] Verdict supports(const Operation&) const override { return {}; }
  [[nodiscard]] bool knows(OperationKind) const override { return true; }

  Departure depart(const Transfer& transfer, Time issued, Units& units) override {
    const Time host_free = issued + overhead_;
    const Time begin = units.unit[kNic].acquire(host_free, gap_).begin;
    const Time occupied = bytes_time(transfer);
    Departure departure;
    departure.host_free = host_free;
    count(transfer);
    span(transfer, "host.cpu", "send", issued, host_free);
    if (transfer.bytes <= eager_limit_ && !transfer.synchronous) {
      const Arbiter::Grant data = units.unit[kLinkOut].acquire(begin, occupied);
      departure.complete = host_free;
      departure.stamp = {data.begin + latency_, data.end + latency_, kEager};
      span(transfer, "host.link", "data", data.begin, data.end);
      span(transfer, "host.link", "in flight", data.end, data.end + latency_);
      if (faulty_) repair(transfer, departure.stamp);
      return departure;
    }
    // The link is reserved for when a receiver that is ready would have answered; a later answer shifts this
    // message only (match), and late messages queue for the link again at their completion (complete_send).
    const Time request = begin + latency_;
    const Time answer = request + overhead_ + latency_ + overhead_;
    departure.handshake = true;
    departure.stamp = {request, units.unit[kLinkOut].acquire(answer, occupied).begin, kHandshake};
    if (faulty_) repair(transfer, departure.stamp);
    return departure;
  }

  Stamp match(const Transfer& transfer, const Stamp& departure, Time posted) override {
    const Time begin = data_begin(departure, posted);
    return {begin, begin + bytes_time(transfer), departure.detail & Stamp::kFailed};
  }

  Time receive(const Transfer& transfer, const Stamp& departure, Time posted, Units& units) override {
    const Time occupied = bytes_time(transfer);
    const bool eager = (departure.detail & kHandshake) == 0;
    const Time first = eager ? departure.first : data_begin(departure, posted) + latency_;
    const Time arrived = units.unit[kLinkIn].acquire(first, occupied).end;
    Time done = later(later(arrived, first + occupied), posted) + overhead_;
    span(transfer, "host.cpu", "receive", done - overhead_, done);
    if (eager && posted > departure.last) {
      const Time copied = done + costs_.copy.bytes(static_cast<std::int64_t>(transfer.bytes));
      span(transfer, "host.cpu", "unexpected message", done, copied);
      done = copied;
    }
    return done;
  }

  Time complete_send(const Transfer& transfer, const Stamp& reply, Units& units) override {
    const Arbiter::Grant data = units.unit[kLinkLate].acquire(reply.first, bytes_time(transfer));
    span(transfer, "host.link", "data", data.begin, data.end);
    span(transfer, "host.link", "in flight", data.end, data.end + latency_);
    return later(data.end, reply.last);
  }

  [[nodiscard]] std::size_t units() const override { return kUnits; }
  [[nodiscard]] Time post_receive_cost() const override { return post_; }

  Task<Outcome> collective(const Operation& operation, Team& team, CollectiveBuffers buffers) override {
    switch (operation.kind) {
      case OperationKind::kBcast:
        return host::bcast_binomial(team, buffers.receive, operation.root);
      case OperationKind::kReduce:
        return host::reduce_binomial(team, costs_, buffers, operation.root, operation.commutative);
      case OperationKind::kGather:
        return host::gather_binomial(team, costs_, buffers, operation.root);
      case OperationKind::kScatter:
        return host::scatter_binomial(team, costs_, buffers, operation.root);
      case OperationKind::kAllgather:
        return host::allgather_ring(team, costs_, buffers);
      case OperationKind::kAllreduce:
        return host::allreduce_recursive_doubling(team, costs_, buffers);
      case OperationKind::kReduceScatter:
        return host::reduce_scatter_by_reduce(team, costs_, buffers, operation.commutative);
      case OperationKind::kAlltoall:
        return host::alltoall_pairwise(team, costs_, buffers);
      case OperationKind::kScan:
      case OperationKind::kExscan:
        return host::scan_recursive_doubling(team, costs_, buffers, operation.kind == OperationKind::kScan);
      case OperationKind::kGatherv:
        return host::gatherv_linear(team, costs_, buffers, operation.root);
      case OperationKind::kScatterv:
        return host::scatterv_linear(team, costs_, buffers, operation.root);
      case OperationKind::kAllgatherv:
        return host::allgatherv_ring(team, costs_, buffers);
      case OperationKind::kReduceScatterv:
        return host::reduce_scatterv_by_reduce(team, costs_, buffers, operation.commutative);
      case OperationKind::kAlltoallv:
        return host::alltoallv_pairwise(team, costs_, buffers);
      case OperationKind::kBarrier:
      case OperationKind::kSend:
      case OperationKind::kCount:
        break;
    }
    return host::barrier_dissemination(team);
  }

  [[nodiscard]] WireCounters wire() const override { return wire_; }

  [[nodiscard]] std::string_view failure(const Stamp&) const override {
    return "a packet was lost more often than the transport repeats it";
  }

 private:
  enum Unit : std::size_t { kNic, kLinkOut, kLinkIn, kLinkLate, kUnits };
  enum Protocol : std::uint64_t { kEager, kHandshake };
  // Ethernet with RoCE v2 framing: preamble and gap 20, Ethernet 18, IP 20, UDP 8, BTH 12, ICRC 4; MTU 4096.
  static constexpr std::uint64_t kFraming = 82;
  static constexpr std::uint64_t kMtu = 4096;

  [[nodiscard]] Time bytes_time(const Transfer& t) const {
    return link_.bytes(static_cast<std::int64_t>(t.bytes));
  }

  [[nodiscard]] Time data_begin(const Stamp& departure, Time posted) const {
    return later(departure.last, later(departure.first, posted) + overhead_ + latency_ + overhead_);
  }

  static std::uint64_t packets_of(const Transfer& t) {
    return t.bytes == 0 ? 1 : (t.bytes + kMtu - 1) / kMtu;
  }

  /// The transport puts the packets in order again, so that the repair of one holds up all behind it. A
  /// message to the rank itself stays off the network.
  void repair(const Transfer& transfer, Stamp& stamp) {
    if (transfer.source == transfer.destination) return;
    const std::uint64_t link = Link::id(static_cast<std::uint64_t>(transfer.source),
                                        static_cast<std::uint64_t>(transfer.destination));
    const std::uint64_t first = std::uint64_t{transfer.number} << 32;
    Repair all;
    for (std::uint64_t i = 0; i < packets_of(transfer) && !all.gave_up; ++i) {
      const Repair one = repair_of(faults_, transport_, link, first + i * transport_.numbers(),
                                   later(stamp.first - latency_, {}) + all.time, wire_);
      all.time += one.time;
      all.gave_up = one.gave_up;
    }
    stamp.first += all.time;
    stamp.last += all.time;
    if (all.gave_up) stamp.detail |= Stamp::kFailed;
  }

  void count(const Transfer& transfer) {
    const std::uint64_t packets = packets_of(transfer);
    wire_.packets += packets;
    wire_.payload_bytes += transfer.bytes;
    wire_.wire_bytes += transfer.bytes + packets * kFraming;
  }

  void span(const Transfer& transfer, std::string_view unit, std::string_view what, Time begin,
            Time end) const {
    if (spans_ != nullptr) spans_->record({unit, what, begin, end, transfer.operation});
  }

  Time latency_;
  Time overhead_;
  Time gap_;
  Bandwidth link_;
  Time post_;
  std::size_t eager_limit_;
  host::LocalCosts costs_;
  ReliableTransport transport_;
  FaultRates faults_;
  bool faulty_;
  SpanSink* spans_;
  WireCounters wire_;
};

}  // namespace

const BackendDescription& host_backend() {
  static const auto& description = immortal(
      BackendDescription{BackendDescription::kAbi, "host",
                         "no offload: a plain NIC (LogGP) and the usual algorithms in host software",
                         host::parameters(), [](const BackendContext& context) -> std::unique_ptr<Backend> {
                           return std::make_unique<HostBackend>(context);
                         }});
  return description;
}

}  // namespace offramp
