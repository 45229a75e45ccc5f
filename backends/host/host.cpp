#include "backends/host/host.hpp"

#include <array>

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
        resources_{{{"host.nic", Scope::kNode},
                    {"host.link", Scope::kNode, Occupation::kForAWhile, link_.count()},
                    {"host.link in", Scope::kNode, Occupation::kForAWhile, link_.count()}}},
        post_(context.settings.nanoseconds("post")),
        eager_limit_(static_cast<std::size_t>(context.settings.integer("eager_limit"))),
        costs_{context.settings.gigabits("copy_bandwidth"), context.settings.gigabits("combine_bandwidth"),
               context.spans},
        transport_{context.settings.nanoseconds("retry_timeout") * 1000, latency_ * 2,
                   static_cast<int>(context.settings.integer("retries"))},
        faults_(context.faults),
        faulty_(faults_.any()),
        spans_(context.spans) {}

  [[nodiscard]] Verdict supports(const Operation& operation) const override {
    return Verdict::accept(operation, kRegularOperations | kPrefixReductions | kVectorCollectives);
  }

  [[nodiscard]] std::span<const ResourceDescription> resources() const override { return resources_; }

  void issue(const Transfer& transfer, Passage& passage) override {
    passage.host_free = passage.begin = passage.issued + overhead_;
    if (transfer.bytes > eager_limit_ || transfer.synchronous) {
      passage.protocol = Protocol::kRendezvous;
    } else {
      passage.complete = passage.host_free;
    }
    if (transfer.source != transfer.destination) count_packets(transfer);
    span(transfer, "host.cpu", "send", passage.issued, passage.host_free);
  }

  void depart(const Transfer& transfer, Passage& passage, const Resources& sender) override {
    passage.latency = latency_;
    const Time begin = sender.occupy(kNic, passage.begin, gap_).begin;
    if (passage.protocol == Protocol::kDirect) {
      send_data(transfer, passage, sender, begin);
      if (faulty_) passage.latency += repair(transfer, passage, passage.leaves);
    } else {
      passage.requested = begin + latency_;
      if (faulty_) passage.requested += repair(transfer, passage, begin);
    }
  }

  void grant(const Transfer&, Passage& passage) override {
    passage.answered = passage.granted + overhead_ + latency_ + overhead_;
  }

  void transmit(const Transfer& transfer, Passage& passage, const Resources& sender) override {
    passage.latency = latency_;
    send_data(transfer, passage, sender, passage.answered);
    passage.complete = passage.left;
  }

  void arrive(const Transfer& transfer, Passage& passage, const Resources& receiver) override {
    const Arbiter::Grant in = receiver.carry(kLinkIn, passage.first, transfer.bytes);
    passage.stored = later(in.end, passage.last);
  }

  Time receive(const Transfer& transfer, const Passage&, Time at, bool kept) override {
    const Time done = at + overhead_;
    span(transfer, "host.cpu", "receive", at, done);
    if (!kept) return done;
    const Time copied = done + copy_time(transfer.bytes);
    span(transfer, "host.cpu", "unexpected message", done, copied);
    return copied;
  }

  [[nodiscard]] Time copy_time(std::size_t bytes) const override {
    return costs_.copy.bytes(static_cast<std::int64_t>(bytes));
  }

  [[nodiscard]] bool records() const override { return spans_ != nullptr; }
  void record_sender(const Transfer& transfer, const Passage& passage) override {
    span(transfer, "host.link", "data", passage.leaves, passage.left);
    span(transfer, "host.link", "in flight", passage.left, passage.left + latency_);
  }

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
  enum Index : std::size_t { kNic, kLinkOut, kLinkIn, kResources };
  // Ethernet with RoCE v2 framing: preamble and gap 20, Ethernet 18, IP 20, UDP 8, BTH 12, ICRC 4; MTU 4096.
  static constexpr std::uint64_t kFraming = 82;
  static constexpr std::uint64_t kMtu = 4096;

  void send_data(const Transfer& transfer, Passage& passage, const Resources& sender, Time at) {
    const Arbiter::Grant data = sender.carry(kLinkOut, at, transfer.bytes);
    passage.leaves = data.begin;
    passage.left = data.end;
  }

  static std::uint64_t packets_of(const Transfer& t) {
    return t.bytes == 0 ? 1 : (t.bytes + kMtu - 1) / kMtu;
  }

  /// The transport puts the packets in order again, so that the repair of one holds up all behind it. Returns
  /// by how much.
  Time repair(const Transfer& transfer, Passage& passage, Time leaves) {
    const std::uint64_t link = Link::id(static_cast<std::uint64_t>(transfer.source),
                                        static_cast<std::uint64_t>(transfer.destination));
    const std::uint64_t first = std::uint64_t{transfer.number} << 32;
    Repair all;
    for (std::uint64_t i = 0; i < packets_of(transfer) && !all.gave_up; ++i) {
      const Repair one =
          repair_of(faults_, transport_, link, first + i * transport_.numbers(), leaves + all.time, wire_);
      all.time += one.time;
      all.gave_up = one.gave_up;
    }
    passage.failed = passage.failed || all.gave_up;
    return all.time;
  }

  void count_packets(const Transfer& transfer) {
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
  std::array<ResourceDescription, kResources> resources_;
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
