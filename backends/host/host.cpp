// The paths of a message. Between nodes: inline in the work request; eager, copied fragment by fragment into
// a buffer of the NIC; or rendezvous, where the receiver's NIC READs. Within a node: through a shared buffer,
// or by a single copy of the receiver. Collectives run in software over such messages.
//
// Accesses to the memory of other ranks: between nodes the NIC writes, reads, or changes up to 8 bytes,
// without a copy; within a node the rank that begins the access copies.
#include "backends/host/host.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "backends/host/collectives.hpp"
#include "backends/host/parameters.hpp"
#include "backends/host/validation.hpp"
#include "offramp/kernel/immortal.hpp"
#include "offramp/kernel/repair.hpp"
#include "simulators/world/own_departures.hpp"

namespace offramp {
namespace {

class HostBackend final : public Backend, public OwnDepartures {
 public:
  explicit HostBackend(const BackendContext& context)
      : machine_(context.machine),
        nic_(host::nic_of(context.settings)),
        process_(context.settings.real("process_bandwidth") > 0
                     ? context.settings.gigabits("process_bandwidth")
                     : nic_.bandwidth),
        is_process_limited_(context.settings.real("process_bandwidth") > 0),
        memory_(host::node_memory_of(context.settings, context.machine)),
        within_node_(host::node_messages_of(context.settings)),
        resources_{
            {{"host.nic", Scope::kCard},
             {"host.link", Scope::kLink, Occupation::kForAWhile, nic_.bandwidth.count()},
             {"host.link in", Scope::kLink, Occupation::kForAWhile, nic_.bandwidth.count()},
             {"host.memory", Scope::kSocket, Occupation::kForAWhile,
              std::max(memory_.cached.count(), memory_.bandwidth.count()) / context.machine.sockets_per_node},
             {"host.copy", Scope::kRank, Occupation::kForAWhile,
              std::max(context.settings.gigabits("copy_bandwidth").count(), within_node_.copy.count())},
             {"host.process", Scope::kRank, Occupation::kForAWhile, process_.count()},
             {"host.process in", Scope::kRank, Occupation::kForAWhile, process_.count()}}},
        post_(context.settings.nanoseconds("post")),
        fetch_(context.settings.nanoseconds("fetch")),
        inline_limit_(static_cast<std::size_t>(context.settings.integer("inline_limit"))),
        eager_limits_(host::eager_limits_of(context.settings)),
        single_copy_(context.settings.nanoseconds("single_copy")),
        memory_detour_(context.settings.real("memory_detour")),
        collectives_(
            context.settings,
            {context.settings.gigabits("copy_bandwidth"), context.settings.gigabits("combine_bandwidth"),
             context.spans, "host.cpu", context.settings.nanoseconds("type_block")},
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
    if (transfer.access != Access::kNone) {
      // Its protocol is known.
    } else if (transfer.synchronous || waits_for_receiver(transfer)) {
      passage.protocol = Protocol::kRendezvous;
    } else {
      // Copied to memory shared with the receiver, or registered with the NIC, fragment by fragment.
      if (is_buffered(transfer)) {
        passage.host_free += buffer_time(transfer, transfer.bytes);
        if (!local) passage.begin += fragment_time(transfer);
      }
      passage.complete = passage.host_free;
    }
    if (!local && transfer.source != transfer.destination) count_packets(transfer);
    span(transfer, transfer.source, "host.cpu", transfer.access == Access::kNone ? "send" : "access",
         passage.issued, passage.host_free);
  }

  void depart(const Transfer& transfer, Passage& passage, const Resources& sender) override {
    if (is_on_one_node(transfer)) {
      passage.latency = within_node_.latency;
      if (passage.protocol == Protocol::kDirect) {
        if (transfer.bytes > within_node_.inline_limit) passage.latency += within_node_.latency;
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
      Time ready = transfer.bytes <= inline_limit_ ? begin : begin + fetch_time(transfer);
      if (is_process_limited_) ready = sender.carry(kProcess, ready, transfer.bytes).begin;
      if (ready <= passage.begin) return send_eagerly(transfer, passage, sender, ready);
      passage.again = ready;  // others use the link meanwhile
    }
  }

  /// With one rank per node, accesses of other ranks are the only other users of its NIC.
  [[nodiscard]] Time notice(const Transfer& transfer, Time at, const Resources& sender) const override {
    const auto is_free = [&](Index unit) { return sender[unit].timeline.free_at() <= at; };
    const bool at_once = machine_.ranks_per_node == 1 && transfer.bytes <= inline_limit_ && is_free(kNic) &&
                         (!is_process_limited_ || is_free(kProcess));
    return at_once ? nic_.latency : Time::ps(-1);
  }

  void grant(const Transfer& transfer, Passage& passage) override {
    // The receiver's NIC reads the sender's memory.
    passage.answered =
        passage.granted + (is_on_one_node(transfer) ? 2 * within_node_.overhead + within_node_.latency
                                                    : nic_.overhead + nic_.latency + fetch_time(transfer));
  }

  void answer(const Transfer& transfer, Passage& passage, const Resources& receiver) override {
    if (transfer.access == Access::kNone) return grant(transfer, passage);
    if (is_on_one_node(transfer)) {
      passage.answered = passage.granted;
    } else {
      const Time asked = receiver.occupy(kNic, passage.granted, nic_.gap).begin;
      passage.answered = asked + nic_.latency + fetch_time(transfer);
    }
  }

  void transmit(const Transfer& transfer, Passage& passage, const Resources& sender) override {
    // The receiver notifies the sender when it has the data.
    if (is_on_one_node(transfer)) {
      if (transfer.access == Access::kNone) passage.latency = within_node_.latency;
      passage.leaves = passage.left = passage.answered;
      passage.complete = passage.left + single_copy_ + copy_time(transfer.bytes) + 2 * within_node_.latency;
    } else {
      if (is_process_limited_ && passage.again < Time()) {
        const Time free = sender.carry(kProcess, passage.answered, transfer.bytes).begin;
        if (free > passage.answered) {
          passage.again = free;  // others use the link meanwhile
          return;
        }
      }
      passage.latency = nic_.latency;
      send_data(transfer, passage, sender, later(passage.answered, passage.again));
      if (faulty_ && transfer.access != Access::kNone)
        passage.latency += repair(transfer, passage, passage.leaves);
      passage.complete = passage.left + nic_.latency + nic_.overhead + nic_.latency + nic_.overhead;
      passage.notified = true;
    }
  }

  void arrive(const Transfer& transfer, Passage& passage, const Resources& receiver) override {
    if (is_on_one_node(transfer)) return copy_within_node(transfer, passage, receiver);
    const Arbiter::Grant in = receiver.occupy(kLinkIn, passage.first, wire_time(transfer), transfer.bytes);
    passage.stored = later(in.end, passage.last) + packet_time(transfer);
    if (is_process_limited_)
      passage.stored = later(passage.stored, receiver.carry(kProcessIn, passage.first, transfer.bytes).end);
    if (machine_.ranks_per_node > 1)
      passage.stored = later(passage.stored, move_in_memory(transfer, receiver, passage.first, kOfNic));
    // The NIC acknowledges a write, and the processor a combining access.
    if (transfer.access == Access::kNone) return;
    const bool is_read = passage.waits_for_answer() || transfer.access == Access::kRead;
    passage.complete = passage.stored + (is_read ? Time() : nic_.latency);
  }

  Time receive(const Transfer& transfer, const Passage& passage, Time at, Matched matched) override {
    const bool local = is_on_one_node(transfer);
    const bool unexpected = matched == Matched::kUnexpected;
    const Time done = at + overhead(local);
    span(transfer, transfer.destination, "host.cpu", "receive", at, done);
    if (transfer.access != Access::kNone) return done + combine_time(transfer);
    // From the NIC's buffer; within a node, from MPI's copy of an unexpected message.
    if (passage.waits_for_answer() || !(local ? unexpected : is_buffered(transfer))) return done;
    const Time copying = buffer_time(transfer, transfer.bytes);
    const Time copied = unexpected
                            ? done + copying
                            : later(done + fragment_time(transfer), passage.first + nic_.overhead + copying);
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

  [[nodiscard]] DeliveryFault delivery_fault(const Transfer& transfer) override {
    return {!is_on_one_node(transfer) && repair_of_message(transfer, {}).gave_up};
  }
  /// The algorithms themselves combine in a run.
  [[nodiscard]] std::optional<ReductionOrder> order(const Operation&, const TeamMembers&) override {
    return std::nullopt;
  }
  Task<Outcome> collective(const Operation& operation, Team& team, CollectiveBuffers buffers) override {
    return collectives_.run({team, collectives_, operation, buffers});
  }

  [[nodiscard]] WireCounters wire() const override { return wire_; }

  [[nodiscard]] std::string_view failure(std::uint8_t) const override {
    return "a packet was lost more often than the transport retransmits it";
  }

 private:
  enum Index : std::size_t { kNic, kLinkOut, kLinkIn, kMemory, kCopy, kProcess, kProcessIn, kResources };
  static constexpr std::size_t kMtu = 4096;
  static constexpr std::size_t kFragment = 8192;  // of copies through a buffer
  // The memory traffic of a NIC's store, relative to a copy, which reads, fetches the written line, and
  // writes.
  static constexpr double kOfNic = 1.0 / 3;

  /// True for two different ranks of one node; messages of a rank to itself have other rules.
  [[nodiscard]] bool is_on_one_node(const Transfer& t) const {
    return machine_.ranks_per_node > 1 && t.source != t.destination &&
           machine_.on_one_node(t.source, t.destination);
  }
  [[nodiscard]] Time overhead(bool local) const { return local ? within_node_.overhead : nic_.overhead; }

  /// True if an eager message is copied at both ends.
  [[nodiscard]] bool is_buffered(const Transfer& t) const {
    return t.source != t.destination && (is_on_one_node(t) || t.bytes > inline_limit_);
  }

  /// Duration of copying these bytes of a message from or to a buffer.
  [[nodiscard]] Time buffer_time(const Transfer& t, std::size_t bytes) const {
    return is_on_one_node(t) ? within_node_.copy.bytes(static_cast<std::int64_t>(bytes)) : copy_time(bytes);
  }
  /// Duration of copying the first or last fragment.
  [[nodiscard]] Time fragment_time(const Transfer& t) const {
    return buffer_time(t, std::min(t.bytes, kFragment));
  }

  [[nodiscard]] Time combine_time(const Transfer& t) const {
    return collectives_.costs().combine.bytes(static_cast<std::int64_t>(t.bytes));
  }

  /// Duration on the link, or on PCIe if that is slower.
  [[nodiscard]] Time wire_time(const Transfer& t) const {
    const auto framed = static_cast<std::int64_t>(t.bytes + packets_of(t) * nic_.framing);
    return later(nic_.bandwidth.bytes(framed), nic_.pcie.bytes(static_cast<std::int64_t>(t.bytes)));
  }
  /// Duration of one packet on PCIe: a NIC forwards complete packets.
  [[nodiscard]] Time packet_time(const Transfer& t) const {
    return nic_.pcie.bytes(static_cast<std::int64_t>(std::min(t.bytes, kMtu)));
  }

  /// Until the first packet of data in memory is at the NIC.
  [[nodiscard]] Time fetch_time(const Transfer& t) const { return fetch_ + packet_time(t); }

  void send_data(const Transfer& transfer, Passage& passage, const Resources& sender, Time at) {
    const Time wire = wire_time(transfer);
    passage.leaves = sender.occupy(kLinkOut, at, wire + nic_.gap, transfer.bytes).begin;
    passage.left = passage.leaves + wire;
    // The link serves other processes when this one is too slow for it.
    if (is_process_limited_)
      passage.left = later(passage.left, at + sender.time_of(kProcess, transfer.bytes));
    if (passage.waits_for_answer() || transfer.bytes <= kFragment) return;
    const Time last_fragment = nic_.bandwidth.bytes(kFragment);
    passage.left = later(passage.left, passage.host_free + fetch_time(transfer) + last_fragment);
  }

  void send_eagerly(const Transfer& transfer, Passage& passage, const Resources& sender, Time at) {
    send_data(transfer, passage, sender, at);
    if (faulty_) passage.latency += repair(transfer, passage, passage.leaves);
  }

  /// The sender copies fragment by fragment, followed by the receiver.
  void write_buffer(const Transfer& transfer, Passage& passage, const Resources& sender) {
    const Arbiter::Grant copy =
        sender.occupy(kCopy, passage.begin, buffer_time(transfer, transfer.bytes), transfer.bytes);
    passage.leaves = copy.begin + fragment_time(transfer);
    passage.left = copy.end;
  }

  void copy_within_node(const Transfer& transfer, Passage& passage, const Resources& receiver) {
    const Time copying = copy_time(transfer.bytes);
    if (passage.waits_for_answer()) {
      const Time call = transfer.access == Access::kAtomic ? Time() : single_copy_;
      if (passage.again < Time()) {
        const Time combining = transfer.access == Access::kCombine ? combine_time(transfer) : Time();
        const Arbiter::Grant copy =
            receiver.occupy(kCopy, passage.first, call + copying + combining, transfer.bytes);
        passage.by_processor = copy.end - copy.begin;
        passage.stored = copy.end;
        passage.again = passage.first + call;  // others use the memory meanwhile
      } else {
        passage.stored = later(passage.stored, move_in_memory(transfer, receiver, passage.again, 1));
        if (transfer.access != Access::kNone) passage.complete = passage.stored;
      }
      return;
    }
    const Time last = passage.last + fragment_time(transfer);
    const Time copied =
        receiver.occupy(kCopy, passage.first, buffer_time(transfer, transfer.bytes), transfer.bytes).end;
    passage.stored =
        later(later(copied, last), move_in_memory(transfer, receiver, passage.first, memory_detour_));
  }

  /// Accounts for the message in the memory of the receiver's socket, which all its ranks share. Assumes that
  /// all ranks of the node have buffers of the sender's size. detour: traffic beyond the caches, relative to
  /// the message.
  Time move_in_memory(const Transfer& transfer, const Resources& receiver, Time at, double detour) const {
    const std::size_t own = std::max(transfer.footprint, 2 * transfer.bytes);
    const bool is_cached = own * static_cast<std::size_t>(machine_.ranks_per_node) <= memory_.cache;
    const Bandwidth rate = is_cached ? memory_.cached : memory_.bandwidth;
    const double traffic = is_cached ? std::min(detour, 1.0) : detour;
    const auto bytes =
        static_cast<std::int64_t>(static_cast<double>(transfer.bytes) * std::min(traffic, 1.0));
    const Time moved =
        Time::ps(std::llround(static_cast<double>((rate.bytes(bytes) * machine_.sockets_per_node).count()) *
                              std::max(traffic, 1.0)));
    return receiver.occupy(kMemory, at, moved, static_cast<std::uint64_t>(bytes)).end;
  }

  static std::uint64_t packets_of(const Transfer& t) {
    return t.bytes == 0 ? 1 : (t.bytes + kMtu - 1) / kMtu;
  }

  /// Returns the delay by repairs. The transport delivers in order, so one repair delays all later packets.
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
  Bandwidth process_;
  bool is_process_limited_;
  host::NodeMemory memory_;
  host::NodeMessages within_node_;
  std::array<ResourceDescription, kResources> resources_;
  Time post_;
  Time fetch_;
  std::size_t inline_limit_;
  host::EagerLimits eager_limits_;
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
      .description = "no offload: a plain NIC and memory per node (LogGP), with Open MPI's algorithms",
      .parameters = host::parameters(),
      .create = make_backend<HostBackend>,
      .validation = host::validation,
      .without_effect = host::without_effect,
      .deployment = host::deployment,
      .in_force = host::in_force});
  return description;
}

}  // namespace offramp
