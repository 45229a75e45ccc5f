#include "backends/zrlmpi/zrlmpi.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <vector>

#include "backends/zrlmpi/algorithms.hpp"
#include "offramp/kernel/immortal.hpp"
#include "simulators/zrlmpi/exchange.hpp"

namespace offramp {
namespace {

using zrlmpi::Call;
using zrlmpi::End;
using zrlmpi::ExchangeRequest;
using zrlmpi::ExchangeResult;

const std::vector<Parameter>& parameters() {
  using Kind = ParameterKind;
  static const auto& table = immortal(std::vector<Parameter>{
      {"preset",
       Kind::kChoice,
       "",
       0,
       0,
       0,
       "seed",
       {"seed", "mpe2"},
       "original document; MPE v2 (read in code)",
       "which engine: the original document's (8-bit bus) or the reference's second version (64 bit)"},
      {"bus_width",
       Kind::kChoice,
       "bit",
       0,
       0,
       0,
       "preset",
       {"preset", "8", "32", "64"},
       "original document (8); read in code (32, 64)",
       "of the role and network streams"},
      {"strict",
       Kind::kBoolean,
       "",
       0,
       0,
       1,
       {},
       {},
       "original document",
       "only what the original carries: INT and FLOAT, tag 0; the rest is declined"},
      {"clock",
       Kind::kReal,
       "MHz",
       156.25,
       1,
       1000,
       {},
       {},
       "read in code: 6.4 ns",
       "of the engine and the shell"},
      {"link", Kind::kReal, "Gb/s", 10, 0.1, 400, {}, {}, "published: 10 GbE per FPGA", "of the network"},
      {"latency",
       Kind::kReal,
       "ns",
       1000,
       0,
       1e9,
       {},
       {},
       "assumed: one switch, MACs and PHYs",
       "one way, besides shell and serialisation"},
      {"timer",
       Kind::kReal,
       "ms",
       100,
       0.001,
       1e4,
       {},
       {},
       "read in code: 15 625 000 counts, 100 ms in the comments, twice that at II = 2",
       "base of the retry timers, as the comments count it"},
      {"retries",
       Kind::kInteger,
       "1",
       16,
       0,
       1000,
       {},
       {},
       "ours: the reference stops after 3 and waits for ever",
       "repetitions of a packet before the engine waits silently"},
      {"eager_limit",
       Kind::kInteger,
       "B",
       65536,
       0,
       1e9,
       {},
       {},
       "design: small sends do not wait",
       "up to here the receiving engine grants a request that has no posted receive yet"},
      {"command",
       Kind::kReal,
       "ns",
       200,
       0,
       1e9,
       {},
       {},
       "assumed: a posted write and a flag read over PCIe",
       "the host's time to hand over a command"},
      {"bounce_bandwidth",
       Kind::kReal,
       "Gb/s",
       80,
       0.1,
       10000,
       {},
       {},
       "published: FPGA DDR, 10 GB/s per bank",
       "of the memory where granted messages wait for their receive"},
      {"bounce_latency",
       Kind::kInteger,
       "cycles",
       52,
       0,
       1e6,
       {},
       {},
       "published: m_axi latency, measured there",
       "of that memory"},
      {"collectives",
       Kind::kChoice,
       "",
       0,
       0,
       0,
       "tree",
       {"linear", "tree"},
       "read in code: com_opt 0 and 1",
       "order of the collectives: linear, or groups of four behind replicators"}});
  return table;
}

Time in_units(const Settings& settings, const char* name, double picoseconds) {
  return Time::ps(static_cast<std::int64_t>(settings.real(name) * picoseconds + 0.5));
}
Bandwidth gigabits(const Settings& settings, const char* name) {
  return Bandwidth::bits_per_second(static_cast<std::int64_t>(settings.real(name) * 1e9 + 0.5));
}

zrlmpi::MpeSpec spec_of(const Settings& settings) {
  zrlmpi::MpeSpec spec;
  spec.clock = Frequency::hertz(static_cast<std::int64_t>(settings.real("clock") * 1e6 + 0.5));
  const std::string& width = settings.choice("bus_width");
  spec.bus_bits = width != "preset" ? std::stoi(width) : settings.choice("preset") == "mpe2" ? 64 : 8;
  spec.format = settings.flag("strict") ? zrlmpi::Format::kStrict : zrlmpi::Format::kExtended;
  spec.line.latency = in_units(settings, "latency", 1e3);
  spec.line.bandwidth = gigabits(settings, "link");
  spec.timer_counts = spec.clock.cycles_in(in_units(settings, "timer", 1e9));
  spec.retries = static_cast<int>(settings.integer("retries"));
  return spec;
}

class ZrlmpiBackend final : public Backend {
 public:
  explicit ZrlmpiBackend(const BackendContext& context)
      : spec_(spec_of(context.settings)),
        runner_(spec_),
        ranks_(context.ranks),
        strict_(context.settings.flag("strict")),
        eager_limit_(static_cast<std::uint64_t>(context.settings.integer("eager_limit"))),
        command_(in_units(context.settings, "command", 1e3)),
        bounce_(gigabits(context.settings, "bounce_bandwidth")),
        bounce_latency_(spec_.cycles(context.settings.integer("bounce_latency"))),
        faults_(context.faults),
        spans_(context.spans),
        packets_(context.packets),
        seen_(context.spans == nullptr ? 0 : kSeen) {
    collectives_.order =
        context.settings.choice("collectives") == "linear" ? zrlmpi::Order::kLinear : zrlmpi::Order::kTree;
    // The role moves a word of the bus per cycle, and reduces one 32-bit word per cycle (inferred: its loops
    // are not pipelined with the streams).
    const std::int64_t hertz = spec_.clock.count();
    collectives_.copy = Bandwidth::bits_per_second(hertz * spec_.bus_bits);
    collectives_.spans = spans_;
    collectives_.combine = Bandwidth::bits_per_second(hertz * 32);
  }

  [[nodiscard]] Verdict supports(const Operation& operation) const override {
    return Verdict::accept(operation, kRegularOperations).unless(objection_to(operation));
  }

  [[nodiscard]] std::span<const ResourceDescription> resources() const override { return kResources; }

  void issue(const Transfer& transfer, Passage& passage) override {
    passage.host_free = passage.begin = passage.issued + command_;
    passage.protocol = transfer.synchronous || transfer.bytes > eager_limit_ ? Protocol::kRendezvous
                                                                             : Protocol::kGranted;
  }

  void depart(const Transfer& transfer, Passage& passage, const Resources&) override {
    passage.requested = passage.begin + relative(transfer, passage.begin).request;
  }

  void grant(const Transfer&, Passage& passage) override { passage.answered = passage.granted; }

  void transmit(const Transfer& transfer, Passage& passage, const Resources&) override {
    const Relative call = exchange(transfer, passage);
    passage.leaves = passage.begin + call.data;
    passage.latency = call.first - call.data;
    passage.left = passage.begin + call.last - passage.latency;
    passage.complete = passage.begin + call.complete;
    passage.failed = passage.failed || !call.ok;
  }

  void arrive(const Transfer&, Passage& passage, const Resources&) override {
    passage.stored = passage.last;
  }

  Time receive(const Transfer& transfer, const Passage& passage, Time at, bool kept) override {
    if (observed() && transfer.source != transfer.destination) {
      if (passage.protocol == Protocol::kRendezvous) {
        observe(transfer, passage.begin, passage.granted, End::kReceiver);
      } else {
        const Time begin = begin_of(transfer, passage.first);
        observe(transfer, begin, begin, End::kReceiver);
      }
    }
    Time done = at;
    if (kept) {
      done += copy_time(transfer.bytes);
      if (spans_ != nullptr)
        spans_->record({"bounce memory", "unexpected message", at, done, transfer.operation});
    }
    return done + command_;
  }

  [[nodiscard]] Time copy_time(std::size_t bytes) const override {
    return bounce_latency_ + bounce_.bytes(static_cast<std::int64_t>(bytes));
  }

  void count(const Transfer& transfer, const Passage& passage) override {
    wire_ += exchange(transfer, passage).wire;
  }

  [[nodiscard]] bool records() const override { return observed(); }
  void record_sender(const Transfer& transfer, const Passage& passage) override {
    const bool waited = passage.protocol == Protocol::kRendezvous;
    observe(transfer, passage.begin, waited ? passage.granted : passage.begin, End::kSender);
  }

  [[nodiscard]] Time post_receive_cost() const override { return command_; }

  Task<Outcome> collective(const Operation& operation, Team& team, CollectiveBuffers buffers) override {
    return zrlmpi::run_collective(collectives_, operation, team, buffers);
  }

  [[nodiscard]] WireCounters wire() const override { return wire_; }

 private:
  // The engine works on one call at a time in either direction.
  static constexpr std::array<ResourceDescription, 2> kResources{
      {{"send machine", Scope::kRank, Occupation::kBySender},
       {"receive machine", Scope::kRank, Occupation::kByReceiver}}};

  /// A call's times, counted from its beginning.
  struct Relative {
    Time request;
    Time granted;
    Time data;
    Time first;
    Time last;
    Time complete;
    WireCounters wire;
    bool ok = true;
  };
  /// One end's spans of a call that begins at time 0.
  struct Seen final : SpanSink {
    Seen() = default;
    Seen(std::uint64_t size, Time lateness, End which, std::vector<Span> none)
        : bytes(size), late(lateness), end(which), spans(std::move(none)) {}
    std::uint64_t bytes = ~std::uint64_t{0};
    Time late;
    End end = End::kBoth;
    std::vector<Span> spans;
    void record(const Span& span) override { spans.push_back(span); }
  };
  static constexpr std::size_t kSeen = 257;
  struct Memo {
    std::uint64_t key = ~std::uint64_t{0};
    Relative call;
  };

  /// Empty: none.
  [[nodiscard]] std::string_view objection_to(const Operation& operation) const {
    if (ranks_ > zrlmpi::kMaximumNodes) return "the shell knows 64 nodes";
    if (operation.kind == OperationKind::kReduceScatter || operation.kind == OperationKind::kAlltoall)
      return "the tool chain has no such collective";
    if (operation.bytes > zrlmpi::kMaximumMessageBytes)
      return "a message is at most 2^32 - 1 words of 32 bits";
    if (longest_message(operation) > zrlmpi::kMaximumMessageBytes)
      return "a message of several ranks' blocks is at most 2^32 - 1 words of 32 bits";
    return strict_ ? strict_objection_to(operation) : std::string_view();
  }

  /// Of the algorithm: a replicator moves the blocks of its group at once.
  [[nodiscard]] std::uint64_t longest_message(const Operation& operation) const {
    const auto ranks = static_cast<std::uint64_t>(operation.ranks);
    if (operation.kind == OperationKind::kGather || operation.kind == OperationKind::kScatter)
      return saturated(operation.bytes, zrlmpi::most_blocks(collectives_.order, operation.ranks));
    return operation.kind == OperationKind::kAllgather ? saturated(operation.bytes, ranks) : operation.bytes;
  }
  [[nodiscard]] static std::uint64_t saturated(std::uint64_t bytes, std::uint64_t blocks) {
    return bytes > zrlmpi::kMaximumMessageBytes ? bytes : bytes * blocks;
  }

  static std::string_view strict_objection_to(const Operation& operation) {
    if (operation.kind == OperationKind::kBarrier) return {};  // the protocol has a call for it
    if (operation.tag != 0) return "the strict header has no tag";
    if (operation.bytes > 0 && operation.element != ElementType::kInt32 &&
        operation.element != ElementType::kFloat32)
      return "the strict header knows INT and FLOAT only";
    if (reduces(operation.kind) && operation.function != ReduceFunction::kSum)
      return "the tool chain reduces with SUM only";
    return {};
  }

  [[nodiscard]] ExchangeRequest request_for(const Transfer& transfer) const {
    ExchangeRequest request;
    request.source = transfer.source;
    request.destination = transfer.destination;
    // Types beyond INT and FLOAT travel as words, with the call code of INT.
    request.call = transfer.element == ElementType::kFloat32 ? Call::kSendFloat : Call::kSendInt;
    request.size = transfer.bytes;
    request.tag = static_cast<std::uint32_t>(transfer.tag);
    request.context = static_cast<std::uint32_t>(transfer.context);
    request.sequence = transfer.number;
    request.faults = faults_;
    request.first_packet = static_cast<std::uint64_t>(transfer.number) << 32;
    return request;
  }

  Relative run(const ExchangeRequest& request) {
    const ExchangeResult result = runner_.run(request);
    const Time begin = request.begin;
    Relative call;
    call.request = result.request - begin;
    call.granted = call.request + spec_.iterations(spec_.header_iterations());
    call.data = result.data - begin;
    call.first = result.first - begin;
    call.last = result.last - begin;
    call.complete = result.complete - begin;
    call.wire = result.wire;
    call.ok = result.ok();
    if (!call.ok) call.last = later(call.last, later(call.first, call.complete));
    return call;
  }

  /// A call whose receiver is ready. Without faults it is the same for every message of a size, whenever it
  /// happens: the network runs once per size.
  Relative relative(const Transfer& transfer, Time epoch) {
    if (faults_.any()) {
      ExchangeRequest request = request_for(transfer);
      request.epoch = epoch;
      return run(request);
    }
    Memo& memo = memos_[transfer.bytes % memos_.size()];
    if (memo.key == transfer.bytes) return memo.call;
    const Relative call = run(request_for(transfer));
    // Timers that are shorter than a round trip repeat packets even so, and they depend on the ranks.
    if (call.wire.retransmissions == 0) memo = {transfer.bytes, call};
    return call;
  }

  /// When a call began whose first byte arrived then. How long that took may depend on when it began, if
  /// links fail at times; the second answer is that of the time itself, but at the edge of a failure.
  Time begin_of(const Transfer& transfer, Time first) {
    const Time near = first - relative(transfer, first).first;
    return first - relative(transfer, near).first;
  }

  /// A call whose receiver is ready at a given time. A late receiver moves everything from the grant on, as
  /// long as no timer of the sender fires meanwhile; otherwise the network itself tells.
  Relative exchange(const Transfer& transfer, Time begin, Time ready) {
    if (!faults_.any()) {
      Relative call = relative(transfer, begin);
      const Time shift = later(ready - begin - call.granted, {});
      // The timer starts after the request has been sent, so the CLEAR_TO_SEND is in time if data begins
      // before.
      if (shift == Time() || shift + call.data < spec_.timeout(transfer.source, 1, 0)) {
        for (Time* moved : {&call.data, &call.first, &call.last, &call.complete}) *moved += shift;
        return call;
      }
    }
    ExchangeRequest request = request_for(transfer);
    request.begin = begin;
    request.ready = ready;
    return run(request);
  }

  /// The call of a message that was granted.
  Relative exchange(const Transfer& transfer, const Passage& passage) {
    return exchange(transfer, passage.begin,
                    passage.granted > passage.requested ? passage.granted : Time());
  }

  /// Without faults and packets the spans are the same for every message of a size whose receiver is as late:
  /// they are kept, and told again at their place in time.
  void replay(const Transfer& transfer, Time begin, Time late, End end) {
    const auto hash =
        transfer.bytes * 7 + static_cast<std::uint64_t>(late.count()) * 2 + (end == End::kSender);
    Seen& seen = seen_[hash % seen_.size()];
    if (seen.bytes != transfer.bytes || seen.late != late || seen.end != end) {
      seen = {transfer.bytes, late, end, {}};
      ExchangeRequest request = request_for(transfer);
      request.ready = late;
      request.spans = &seen;
      request.observed = end;
      (void)runner_.run(request);
    }
    for (const Span& span : seen.spans)
      spans_->record({span.unit, span.what, begin + span.begin, begin + span.end, transfer.operation});
  }

  [[nodiscard]] bool observed() const { return spans_ != nullptr || packets_ != nullptr; }

  /// The same network once more, at its place in time: with the spans and the packets of this rank's end.
  void observe(const Transfer& transfer, Time begin, Time ready, End end) {
    if (!observed()) return;
    const Time late = later(ready, begin) - begin;
    // A timer that fires depends on the ranks.
    if (packets_ == nullptr && !faults_.any() &&
        late + relative(transfer, begin).data < spec_.timeout(transfer.source, 1, 0))
      return replay(transfer, begin, late, end);
    ExchangeRequest request = request_for(transfer);
    request.begin = begin;
    request.ready = ready;
    request.spans = spans_;
    request.operation = transfer.operation;
    request.capture = packets_;
    request.observed = end;
    if (packets_ != nullptr) request.payload = transfer.data;
    (void)runner_.run(request);
  }

  zrlmpi::MpeSpec spec_;
  zrlmpi::ExchangeRunner runner_;
  int ranks_;
  bool strict_;
  std::uint64_t eager_limit_;
  Time command_;
  Bandwidth bounce_;
  Time bounce_latency_;
  FaultRates faults_;
  SpanSink* spans_;
  PacketSink* packets_;
  zrlmpi::CollectiveModel collectives_;
  std::vector<Seen> seen_;       // empty unless somebody watches
  std::array<Memo, 257> memos_;  // a prime, so that powers of two do not share slots
  WireCounters wire_;
};

Explanation explain_header(const ExplainRequest&) {
  std::string text = "byte  size  field\n";
  for (const zrlmpi::FieldSpec& field : zrlmpi::kFields)
    text += fmt::format("{:>4}  {:>4}  {}\n", field.offset, field.width, field.name);
  return {text, {}};
}

constexpr ExplainTopic kTopics[] = {
    {"header", "the fields of the 32 bytes in front of every message", explain_header}};

}  // namespace

const BackendDescription& zrlmpi_backend() {
  static const auto& description = immortal(BackendDescription{
      BackendDescription::kAbi, "zrlmpi",
      "IBM cloudFPGA's message passing engine: handshake and UDP over 10 Gb/s", parameters(),
      [](const BackendContext& context) -> std::unique_ptr<Backend> {
        return std::make_unique<ZrlmpiBackend>(context);
      },
      "clock", nullptr, kTopics});
  return description;
}

}  // namespace offramp
