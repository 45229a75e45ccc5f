#include "backends/host/host.hpp"

#include <array>

#include "backends/host/collectives.hpp"
#include "backends/host/parameters.hpp"
#include "backends/host/validation.hpp"
#include "offramp/kernel/immortal.hpp"
#include "offramp/kernel/repair.hpp"
#include "simulators/model/dataflow.hpp"

namespace offramp {
namespace {

/// Collectives that combine nothing, so that any algorithm gives their result, and that are so short that
/// only the number of messages counts. The root's messages of a gather or a scatter are then as good as a
/// tree of them, unless there are many.
bool moves_little(const Operation& operation, int ranks) {
  constexpr std::size_t kLittle = 1024;
  constexpr int kFew = 8;
  if (operation.bytes > kLittle) return false;
  if (operation.kind == OperationKind::kGather || operation.kind == OperationKind::kScatter)
    return ranks <= kFew;
  return operation.kind == OperationKind::kBcast || operation.kind == OperationKind::kBarrier;
}

class HostBackend final : public Backend {
 public:
  explicit HostBackend(const BackendContext& context)
      : machine_(context.machine),
        nic_(host::nic_of(context.settings)),
        resources_{
            {{"host.nic", Scope::kCard},
             {"host.link", Scope::kLink, Occupation::kForAWhile, nic_.bandwidth.count()},
             {"host.link in", Scope::kLink, Occupation::kForAWhile, nic_.bandwidth.count()},
             {"host.memory", Scope::kSocket, Occupation::kForAWhile,
              context.settings.gigabits("memory_bandwidth").count() / context.machine.sockets_per_node},
             {"host.copy", Scope::kRank, Occupation::kForAWhile,
              context.settings.gigabits("copy_bandwidth").count()}}},
        post_(context.settings.nanoseconds("post")),
        eager_limit_(static_cast<std::size_t>(context.settings.integer("eager_limit"))),
        memory_latency_(context.settings.nanoseconds("memory_latency")),
        memory_overhead_(context.settings.nanoseconds("memory_overhead")),
        memory_eager_limit_(static_cast<std::size_t>(context.settings.integer("memory_eager_limit"))),
        collectives_(context.settings,
                     {context.settings.gigabits("copy_bandwidth"),
                      context.settings.gigabits("combine_bandwidth"), context.spans},
                     context.machine),
        progress_(host::progress_of(context.settings)),
        progress_share_(progress_ == Progress::kThread ? context.settings.real("progress_share") : 0),
        transport_{context.settings.nanoseconds("retry_timeout") * 1000, nic_.latency * 2,
                   static_cast<int>(context.settings.integer("retries"))},
        faults_(context.faults),
        faulty_(faults_.any()),
        spans_(context.spans) {}

  [[nodiscard]] Verdict supports(const Operation& operation) const override {
    return Verdict::accept(operation, kRegularOperations | kPrefixReductions | kVectorCollectives);
  }

  [[nodiscard]] bool waits_for_receiver(const Transfer& transfer) const override {
    return transfer.bytes > (is_on_one_node(transfer) ? memory_eager_limit_ : eager_limit_);
  }

  [[nodiscard]] std::span<const ResourceDescription> resources() const override { return resources_; }

  void issue(const Transfer& transfer, Passage& passage) override {
    const bool local = is_on_one_node(transfer);
    passage.host_free = passage.begin = passage.issued + overhead(local);
    if (transfer.synchronous || waits_for_receiver(transfer)) {
      passage.protocol = Protocol::kRendezvous;
    } else {
      // Within a node the sender copies into memory that the receiver shares.
      if (local) passage.host_free = passage.begin = passage.begin + copy_time(transfer.bytes);
      passage.complete = passage.host_free;
    }
    if (!local && transfer.source != transfer.destination) count_packets(transfer);
    span(transfer, transfer.source, "host.cpu", "send", passage.issued, passage.host_free);
  }

  void depart(const Transfer& transfer, Passage& passage, const Resources& sender) override {
    const bool local = is_on_one_node(transfer);
    const bool wire_fails = faulty_ && !local;
    passage.latency = local ? memory_latency_ : nic_.latency;
    const Time begin = local ? passage.begin : sender.occupy(kNic, passage.begin, nic_.gap).begin;
    if (passage.protocol == Protocol::kDirect) {
      send_data(transfer, passage, sender, begin);
      if (wire_fails) passage.latency += repair(transfer, passage, passage.leaves);
    } else {
      passage.requested = begin + passage.latency;
      if (wire_fails) passage.requested += repair(transfer, passage, begin);
    }
  }

  void grant(const Transfer& transfer, Passage& passage) override {
    const bool local = is_on_one_node(transfer);
    const Time answering = local ? memory_overhead_ + memory_latency_ + memory_overhead_
                                 : nic_.overhead + nic_.latency + nic_.overhead;
    passage.answered = passage.granted + answering;
  }

  void transmit(const Transfer& transfer, Passage& passage, const Resources& sender) override {
    const bool local = is_on_one_node(transfer);
    passage.latency = local ? memory_latency_ : nic_.latency;
    send_data(transfer, passage, sender, passage.answered);
    // The receiver copies from the sender's memory, and says when it has.
    passage.complete = local ? passage.left + copy_time(transfer.bytes) + 2 * memory_latency_ : passage.left;
  }

  void arrive(const Transfer& transfer, Passage& passage, const Resources& receiver) override {
    const bool local = is_on_one_node(transfer);
    const Arbiter::Grant in = receiver.carry(local ? kCopy : kLinkIn, passage.first, transfer.bytes);
    passage.stored = later(in.end, passage.last);
    if (local && passage.asks()) passage.by_processor = in.end - in.begin;
    if (machine_.ranks_per_node == 1) return;
    passage.stored = later(passage.stored, receiver.carry(kMemory, passage.first, transfer.bytes).end);
  }

  Time receive(const Transfer& transfer, const Passage&, Time at, bool kept) override {
    const Time done = at + overhead(is_on_one_node(transfer));
    span(transfer, transfer.destination, "host.cpu", "receive", at, done);
    if (!kept) return done;
    const Time copied = done + copy_time(transfer.bytes);
    span(transfer, transfer.destination, "host.cpu", "unexpected message", done, copied);
    return copied;
  }

  [[nodiscard]] Time copy_time(std::size_t bytes) const override {
    return collectives_.costs().copy.bytes(static_cast<std::int64_t>(bytes));
  }

  [[nodiscard]] bool records() const override { return spans_ != nullptr; }
  void record_sender(const Transfer& transfer, const Passage& passage) override {
    if (is_on_one_node(transfer)) return;
    span(transfer, transfer.source, "host.link", "data", passage.leaves, passage.left);
    span(transfer, transfer.source, "host.link", "in flight", passage.left, passage.left + nic_.latency);
  }

  [[nodiscard]] Progress progress(OperationKind) const override { return progress_; }
  [[nodiscard]] double progress_share() const override { return progress_share_; }

  [[nodiscard]] Time post_receive_cost() const override { return post_; }

  Task<Outcome> collective(const Operation& operation, Team& team, CollectiveBuffers buffers) override {
    if (team.hardware() == nullptr && moves_little(operation, team.size()))
      return move_data(operation, team, buffers);
    return collectives_.run({team, collectives_, operation, buffers});
  }

  [[nodiscard]] WireCounters wire() const override { return wire_; }

  [[nodiscard]] std::string_view failure(const Stamp&) const override {
    return "a packet was lost more often than the transport repeats it";
  }

 private:
  enum Index : std::size_t { kNic, kLinkOut, kLinkIn, kMemory, kCopy, kResources };
  // Ethernet with RoCE v2 framing: preamble and gap 20, Ethernet 18, IP 20, UDP 8, BTH 12, ICRC 4; MTU 4096.
  static constexpr std::uint64_t kFraming = 82;
  static constexpr std::uint64_t kMtu = 4096;

  /// Two ranks of one node. A rank has its messages to itself by other rules.
  [[nodiscard]] bool is_on_one_node(const Transfer& t) const {
    return machine_.ranks_per_node > 1 && t.source != t.destination &&
           machine_.on_one_node(t.source, t.destination);
  }
  [[nodiscard]] Time overhead(bool local) const { return local ? memory_overhead_ : nic_.overhead; }

  void send_data(const Transfer& transfer, Passage& passage, const Resources& sender, Time at) {
    if (is_on_one_node(transfer)) {
      passage.leaves = passage.left = at;
      return;
    }
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

  void span(const Transfer& transfer, int rank, std::string_view unit, std::string_view what, Time begin,
            Time end) const {
    if (spans_ != nullptr) [[unlikely]]
      spans_->record({unit, what, begin, end, transfer.operation, rank});
  }

  MachineLayout machine_;
  host::Nic nic_;
  std::array<ResourceDescription, kResources> resources_;
  Time post_;
  std::size_t eager_limit_;
  Time memory_latency_;
  Time memory_overhead_;
  std::size_t memory_eager_limit_;
  host::Collectives collectives_;
  Progress progress_;
  double progress_share_;
  ReliableTransport transport_;
  FaultRates faults_;
  bool faulty_;
  SpanSink* spans_;
  WireCounters wire_;
};

}  // namespace

const BackendDescription& host_backend() {
  static const auto& description = immortal([] {
    BackendDescription d;
    d.name = "host";
    d.description = "no offload: a plain NIC and memory per node (LogGP), the algorithms of Open MPI";
    d.parameters = host::parameters();
    d.create = [](const BackendContext& context) -> std::unique_ptr<Backend> {
      return std::make_unique<HostBackend>(context);
    };
    d.validation = host::validation;
    d.without_effect = host::without_effect;
    d.footing = host::footing;
    return d;
  }());
  return description;
}

}  // namespace offramp
