// The ways of a message. Between nodes: up to the inline limit within the work request; eager, copied into
// a buffer of the NIC's in fragments; by rendezvous, where the receiver's NIC READs. Within a node: through
// a buffer that both processes share, or by a single copy of the receiver's. Collectives run in software
// over such messages.
#include "backends/host/host.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "backends/host/collectives.hpp"
#include "backends/host/parameters.hpp"
#include "backends/host/validation.hpp"
#include "offramp/kernel/immortal.hpp"
#include "offramp/kernel/repair.hpp"
#include "simulators/world/dataflow.hpp"

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
        fetch_(context.settings.nanoseconds("fetch")),
        inline_limit_(static_cast<std::size_t>(context.settings.integer("inline_limit"))),
        eager_limits_(host::eager_limits_of(context.settings)),
        memory_latency_(context.settings.nanoseconds("memory_latency")),
        memory_overhead_(context.settings.nanoseconds("memory_overhead")),
        single_copy_(context.settings.nanoseconds("single_copy")),
        memory_detour_(context.settings.real("memory_detour")),
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
    return transfer.bytes > (is_on_one_node(transfer) ? eager_limits_.memory : eager_limits_.network);
  }

  [[nodiscard]] std::span<const ResourceDescription> resources() const override { return resources_; }

  void issue(const Transfer& transfer, Passage& passage) override {
    const bool local = is_on_one_node(transfer);
    passage.host_free = passage.begin = passage.issued + overhead(local);
    if (transfer.synchronous || waits_for_receiver(transfer)) {
      passage.protocol = Protocol::kRendezvous;
    } else {
      // Into memory that the receiver shares, or that the NIC knows, fragment by fragment.
      if (is_buffered(transfer)) {
        passage.host_free += copy_time(transfer.bytes);
        if (!local) passage.begin += fragment_time(transfer);
      }
      passage.complete = passage.host_free;
    }
    if (!local && transfer.source != transfer.destination) count_packets(transfer);
    span(transfer, transfer.source, "host.cpu", "send", passage.issued, passage.host_free);
  }

  void depart(const Transfer& transfer, Passage& passage, const Resources& sender) override {
    if (is_on_one_node(transfer)) {
      passage.latency = memory_latency_;
      if (passage.protocol == Protocol::kDirect) {
        write_buffer(transfer, passage, sender);
      } else {
        passage.requested = passage.begin + passage.latency;
      }
      return;
    }
    if (passage.again >= Time()) return send_eagerly(transfer, passage, sender, passage.again);
    passage.latency = nic_.latency;
    const Time begin = sender.occupy(kNic, passage.begin, nic_.gap).begin;
    if (passage.protocol != Protocol::kDirect) {
      passage.requested = begin + passage.latency;
      if (faulty_) passage.requested += repair(transfer, passage, begin);
    } else {
      const Time ready = transfer.bytes <= inline_limit_ ? begin : begin + fetch_time(transfer);
      if (ready <= passage.begin) return send_eagerly(transfer, passage, sender, ready);
      passage.again = ready;  // others have the link meanwhile
    }
  }

  void grant(const Transfer& transfer, Passage& passage) override {
    // The receiver's NIC reads from the sender's memory.
    passage.answered =
        passage.granted + (is_on_one_node(transfer) ? memory_overhead_ + memory_latency_ + memory_overhead_
                                                    : nic_.overhead + nic_.latency + fetch_time(transfer));
  }

  void transmit(const Transfer& transfer, Passage& passage, const Resources& sender) override {
    // The receiver says when it has the data.
    if (is_on_one_node(transfer)) {
      passage.latency = memory_latency_;
      passage.leaves = passage.left = passage.answered;
      passage.complete = passage.left + single_copy_ + copy_time(transfer.bytes) + 2 * memory_latency_;
    } else {
      passage.latency = nic_.latency;
      send_data(transfer, passage, sender, passage.answered);
      passage.complete = passage.left + nic_.latency + nic_.overhead + nic_.latency + nic_.overhead;
      passage.notified = true;
    }
  }

  void arrive(const Transfer& transfer, Passage& passage, const Resources& receiver) override {
    if (is_on_one_node(transfer)) return copy_within_node(transfer, passage, receiver);
    const Arbiter::Grant in = receiver.occupy(kLinkIn, passage.first, wire_time(transfer), transfer.bytes);
    passage.stored = later(in.end, passage.last) + packet_time(transfer);
    if (machine_.ranks_per_node > 1)
      passage.stored = later(passage.stored, receiver.carry(kMemory, passage.first, transfer.bytes).end);
  }

  Time receive(const Transfer& transfer, const Passage& passage, Time at, Matched matched) override {
    const bool local = is_on_one_node(transfer);
    const bool unexpected = matched == Matched::kUnexpected;
    const Time done = at + overhead(local);
    span(transfer, transfer.destination, "host.cpu", "receive", at, done);
    // Out of the NIC's buffer; or, within a node, out of what MPI took from the shared one before.
    if (passage.asks() || !(local ? unexpected : is_buffered(transfer))) return done;
    const Time copied = unexpected ? done + copy_time(transfer.bytes)
                                   : later(done + fragment_time(transfer),
                                           passage.first + nic_.overhead + copy_time(transfer.bytes));
    span(transfer, transfer.destination, "host.cpu", unexpected ? "unexpected message" : "copy", done,
         copied);
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

  [[nodiscard]] MessageFate fate(const Transfer& transfer) override {
    return {!is_on_one_node(transfer) && repair_of_message(transfer, {}).gave_up};
  }
  Task<Outcome> collective(const Operation& operation, Team& team, CollectiveBuffers buffers) override {
    if (team.hardware() == nullptr && moves_little(operation, team.size()))
      return move_data(operation, team, buffers);
    return collectives_.run({team, collectives_, operation, buffers});
  }

  [[nodiscard]] WireCounters wire() const override { return wire_; }

  [[nodiscard]] std::string_view failure(std::uint8_t) const override {
    return "a packet was lost more often than the transport repeats it";
  }

 private:
  enum Index : std::size_t { kNic, kLinkOut, kLinkIn, kMemory, kCopy, kResources };
  static constexpr std::size_t kMtu = 4096;
  static constexpr std::size_t kFragment = 8192;  // of what is copied through a buffer

  /// Two ranks of one node. A rank has its messages to itself by other rules.
  [[nodiscard]] bool is_on_one_node(const Transfer& t) const {
    return machine_.ranks_per_node > 1 && t.source != t.destination &&
           machine_.on_one_node(t.source, t.destination);
  }
  [[nodiscard]] Time overhead(bool local) const { return local ? memory_overhead_ : nic_.overhead; }

  /// Whether a message that asks nothing is copied at both ends.
  [[nodiscard]] bool is_buffered(const Transfer& t) const {
    return t.source != t.destination && (is_on_one_node(t) || t.bytes > inline_limit_);
  }

  /// Copying the first fragment, or the last one.
  [[nodiscard]] Time fragment_time(const Transfer& t) const {
    return copy_time(std::min(t.bytes, kFragment));
  }

  /// On the link. PCIe may be slower.
  [[nodiscard]] Time wire_time(const Transfer& t) const {
    const auto framed = static_cast<std::int64_t>(t.bytes + packets_of(t) * nic_.framing);
    return later(nic_.bandwidth.bytes(framed), nic_.pcie.bytes(static_cast<std::int64_t>(t.bytes)));
  }
  /// Over PCIe: a NIC passes on a packet that it has whole.
  [[nodiscard]] Time packet_time(const Transfer& t) const {
    return nic_.pcie.bytes(static_cast<std::int64_t>(std::min(t.bytes, kMtu)));
  }

  /// Until the first packet of what lies in memory is at the NIC.
  [[nodiscard]] Time fetch_time(const Transfer& t) const { return fetch_ + packet_time(t); }

  void send_data(const Transfer& transfer, Passage& passage, const Resources& sender, Time at) {
    const Time wire = wire_time(transfer);
    passage.leaves = sender.occupy(kLinkOut, at, wire + nic_.gap, transfer.bytes).begin;
    passage.left = passage.leaves + wire;
    if (passage.asks() || transfer.bytes <= kFragment) return;
    const Time last_fragment = nic_.bandwidth.bytes(kFragment);
    passage.left = later(passage.left, passage.host_free + fetch_time(transfer) + last_fragment);
  }

  void send_eagerly(const Transfer& transfer, Passage& passage, const Resources& sender, Time at) {
    send_data(transfer, passage, sender, at);
    if (faulty_) passage.latency += repair(transfer, passage, passage.leaves);
  }

  /// Fragment by fragment, and the receiver follows.
  void write_buffer(const Transfer& transfer, Passage& passage, const Resources& sender) {
    const Arbiter::Grant copy = sender.carry(kCopy, passage.begin, transfer.bytes);
    passage.leaves = copy.begin + fragment_time(transfer);
    passage.left = copy.end;
  }

  void copy_within_node(const Transfer& transfer, Passage& passage, const Resources& receiver) {
    const Time copying = copy_time(transfer.bytes);
    if (passage.asks()) {
      if (passage.again < Time()) {
        const Arbiter::Grant copy =
            receiver.occupy(kCopy, passage.first, single_copy_ + copying, transfer.bytes);
        passage.by_processor = copy.end - copy.begin;
        passage.stored = copy.end;
        passage.again = passage.first + single_copy_;  // others have the memory meanwhile
      } else {
        passage.stored = later(passage.stored, receiver.carry(kMemory, passage.again, transfer.bytes).end);
      }
      return;
    }
    const Time last = passage.last + fragment_time(transfer);
    const Time copied = receiver.occupy(kCopy, passage.first, copying, transfer.bytes).end;
    const Time moved = Time::ps(std::llround(
        static_cast<double>(receiver.time_of(kMemory, transfer.bytes).count()) * memory_detour_));
    passage.stored =
        later(later(copied, last), receiver.occupy(kMemory, passage.first, moved, transfer.bytes).end);
  }

  static std::uint64_t packets_of(const Transfer& t) {
    return t.bytes == 0 ? 1 : (t.bytes + kMtu - 1) / kMtu;
  }

  /// The transport puts the packets in order again, so that the repair of one holds up all behind it. Returns
  /// by how much.
  Time repair(const Transfer& transfer, Passage& passage, Time leaves) {
    const Repair repair = repair_of_message(transfer, leaves);
    passage.failed = passage.failed || repair.gave_up;
    return repair.time;
  }

  Repair repair_of_message(const Transfer& transfer, Time leaves) {
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
    return all;
  }

  void count_packets(const Transfer& transfer) {
    const std::uint64_t packets = packets_of(transfer);
    wire_.packets += packets;
    wire_.payload_bytes += transfer.bytes;
    wire_.wire_bytes += transfer.bytes + packets * nic_.framing;
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
  Time fetch_;
  std::size_t inline_limit_;
  host::EagerLimits eager_limits_;
  Time memory_latency_;
  Time memory_overhead_;
  Time single_copy_;
  double memory_detour_;
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
  static const auto& description = immortal(BackendDescription{
      .name = "host",
      .description = "no offload: a plain NIC and memory per node (LogGP), the algorithms of Open MPI",
      .parameters = host::parameters(),
      .create = make_backend<HostBackend>,
      .validation = host::validation,
      .without_effect = host::without_effect,
      .footing = host::footing,
      .in_force = host::in_force});
  return description;
}

}  // namespace offramp
