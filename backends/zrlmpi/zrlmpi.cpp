#include "backends/zrlmpi/zrlmpi.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "backends/zrlmpi/algorithms.hpp"
#include "backends/zrlmpi/parameters.hpp"
#include "offramp/kernel/immortal.hpp"
#include "simulators/model/direct_mapped_cache.hpp"
#include "simulators/zrlmpi/exchange.hpp"

namespace offramp {
namespace {

using zrlmpi::Call;
using zrlmpi::End;
using zrlmpi::ExchangeRequest;
using zrlmpi::ExchangeResult;

class ZrlmpiBackend final : public Backend {
 public:
  explicit ZrlmpiBackend(const BackendContext& context)
      : spec_(zrlmpi::spec_of(context.settings)),
        runner_(spec_),
        ranks_(context.ranks),
        strict_(context.settings.flag("strict")),
        eager_limit_(static_cast<std::uint64_t>(context.settings.integer("eager_limit"))),
        command_(context.settings.nanoseconds("command")),
        bounce_(context.settings.gigabits("bounce_bandwidth")),
        bounce_latency_(spec_.cycles(context.settings.integer("bounce_latency"))),
        faults_(context.faults),
        spans_(context.spans),
        packets_(context.packets),
        seen_(context.spans == nullptr ? nullptr : std::make_unique<SeenSpans>()) {
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
    passage.protocol =
        transfer.synchronous || transfer.bytes > eager_limit_ ? Protocol::kRendezvous : Protocol::kGranted;
  }

  void depart(const Transfer& transfer, Passage& passage, const Resources&) override {
    passage.requested = passage.begin + relative(transfer, passage.begin).request;
  }

  void grant(const Transfer&, Passage& passage) override { passage.answered = passage.granted; }

  void transmit(const Transfer& transfer, Passage& passage, const Resources&) override {
    const Relative& call = granted_call(transfer, passage);
    // Behind what the engine sent since it gave way to other calls.
    const Time begin = passage.begin + later(passage.answered - passage.begin - call.data, {});
    passage.leaves = begin + call.data;
    passage.latency = call.first - call.data;
    passage.left = begin + call.last - passage.latency;
    passage.complete = begin + call.complete;
    passage.failed = passage.failed || !call.ok;
  }

  void arrive(const Transfer&, Passage& passage, const Resources&) override { passage.stored = passage.last; }

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
    wire_ += granted_call(transfer, passage).wire;
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
  /// One end's view of a call that begins at time 0.
  struct View {
    std::uint64_t bytes = 0;
    Time late;
    End end = End::kBoth;
    friend bool operator==(const View&, const View&) = default;
  };
  struct ViewHash {
    std::uint64_t operator()(const View& view) const {
      return view.bytes * 7 + static_cast<std::uint64_t>(view.late.count()) * 2 + (view.end == End::kSender);
    }
  };
  using SeenSpans = DirectMappedCache<View, std::vector<Span>, 257, ViewHash>;
  struct SpanList final : SpanSink {
    std::vector<Span> spans;
    void record(const Span& span) override { spans.push_back(span); }
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

  /// The longest message that the algorithm sends: a replicator moves its group's blocks at once.
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
    if (!call.ok) {  // the data may have left and never come: no stage lies before an earlier one
      call.first = later(call.first, call.data);
      call.last = later(call.last, later(call.first, call.complete));
    }
    return call;
  }

  /// A call whose receiver is ready. Without faults it is the same for every message of a size, whenever it
  /// happens: the network runs once per size. Valid until the next call.
  const Relative& relative(const Transfer& transfer, Time epoch) {
    if (faults_.any()) {
      ExchangeRequest request = request_for(transfer);
      request.epoch = epoch;
      return made_ = run(request);
    }
    if (const Relative* const known = calls_.find(transfer.bytes)) return *known;
    made_ = run(request_for(transfer));
    // Timers that are shorter than a round trip repeat packets even so, and they depend on the ranks.
    if (made_.wire.retransmissions == 0) calls_.store(transfer.bytes, made_);
    return made_;
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

  /// The call of a message that was granted; valid until the next call.
  const Relative& granted_call(const Transfer& transfer, const Passage& passage) {
    const bool late = passage.granted > passage.requested;
    if (!late && !faults_.any()) return relative(transfer, passage.begin);
    return late_ = exchange(transfer, passage.begin, late ? passage.granted : Time());
  }

  /// Without faults and packets the spans are the same for every message of a size whose receiver is as late:
  /// they are kept, and told again at their place in time.
  void replay(const Transfer& transfer, Time begin, Time late, End end) {
    const auto run_once = [&] {
      SpanList list;
      ExchangeRequest request = request_for(transfer);
      request.ready = late;
      request.spans = &list;
      request.observed = end;
      (void)runner_.run(request);
      return std::move(list.spans);
    };
    for (const Span& span : seen_->get({transfer.bytes, late, end}, run_once))
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

  Relative made_;
  Relative late_;
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
  std::unique_ptr<SeenSpans> seen_;  // null unless spans are recorded
  DirectMappedCache<std::uint64_t, Relative> calls_;
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
      "IBM cloudFPGA's message passing engine: handshake and UDP over 10 Gb/s", zrlmpi::parameters(),
      [](const BackendContext& context) -> std::unique_ptr<Backend> {
        return std::make_unique<ZrlmpiBackend>(context);
      },
      "clock", nullptr, kTopics});
  return description;
}

}  // namespace offramp
