#include "backends/zrlmpi/zrlmpi.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "backends/zrlmpi/algorithms.hpp"
#include "backends/zrlmpi/parameters.hpp"
#include "backends/zrlmpi/validation.hpp"
#include "offramp/kernel/immortal.hpp"
#include "simulators/model/direct_mapped_cache.hpp"
#include "simulators/zrlmpi/engine_input.hpp"
#include "simulators/zrlmpi/exchange.hpp"

namespace offramp {
namespace {

using zrlmpi::Call;
using zrlmpi::End;
using zrlmpi::EngineInput;
using zrlmpi::ExchangeRequest;
using zrlmpi::ExchangeResult;

class ZrlmpiBackend final : public Backend {
 public:
  explicit ZrlmpiBackend(const BackendContext& context)
      : spec_(zrlmpi::spec_of(context.settings)),
        runner_(spec_),
        header_time_(spec_.iterations(spec_.header_iterations())),
        ranks_(context.ranks),
        inputs_(static_cast<std::size_t>(ranks_)),
        strict_(context.settings.flag("strict")),
        eager_limit_(static_cast<std::uint64_t>(context.settings.integer("eager_limit"))),
        command_(context.settings.nanoseconds("command")),
        bounce_(context.settings.gigabits("bounce_bandwidth")),
        bounce_latency_(spec_.cycles(context.settings.integer("bounce_latency"))),
        faults_(context.faults),
        spans_(context.spans),
        packets_(context.packets),
        seen_(context.spans == nullptr ? nullptr : std::make_unique<SeenSpans>()),
        faulty_(faults_.any() ? std::make_unique<FaultyCalls>() : nullptr) {
    collectives_.order =
        context.settings.choice("collectives") == "linear" ? zrlmpi::Order::kLinear : zrlmpi::Order::kTree;
    // The width of the bus limits what streams through the engine, not what the role does in its own memory.
    collectives_.copy = collectives_.combine =
        Bandwidth::bits_per_second(spec_.clock.count() * zrlmpi::kRoleWordBits);
    collectives_.spans = spans_;
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
    if (faults_.any()) return;  // their repetitions are those of the network
    EngineInput& input = inputs_[static_cast<std::size_t>(transfer.destination)];
    if (input.is_full(
            passage.requested)) {  // as the request departs; repeated by the sender's timer, it finds room
      ++wire_.lost;
      passage.requested += spec_.timeout(transfer.source, 1, 0) + header_time_;
    }
    input.add(name_of(transfer), passage.requested);
  }

  /// The engine answers once it has read the header. That of a request which it waits for is in the call.
  void grant(const Transfer& transfer, Passage& passage) override {
    EngineInput& input = inputs_[static_cast<std::size_t>(transfer.destination)];
    const std::int64_t headers = input.take(name_of(transfer), passage.granted);
    if (headers > 1 || passage.granted > passage.requested) passage.granted += headers * header_time_;
    passage.answered = passage.granted;
  }

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
      const bool known = passage.protocol == Protocol::kRendezvous || passage.left > Time();
      const Time begin = known ? passage.begin : begin_of(transfer, passage.first);
      observe(transfer, begin, known ? ready_for(transfer, passage) : begin, End::kReceiver);
    }
    Time done = at;
    if (kept) {
      done += copy_time(transfer.bytes);
      if (spans_ != nullptr)
        spans_->record(
            {"bounce memory", "unexpected message", at, done, transfer.operation, transfer.destination});
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
    observe(transfer, passage.begin, ready_for(transfer, passage), End::kSender);
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
    std::uint64_t kind = 0;
    Time late;
    End end = End::kBoth;
    friend bool operator==(const View&, const View&) = default;
  };
  struct ViewHash {
    std::uint64_t operator()(const View& view) const {
      return view.kind * 7 + static_cast<std::uint64_t>(view.late.count()) * 2 + (view.end == End::kSender);
    }
  };
  /// A message on wires with faults.
  struct Case {
    int source = 0;
    int destination = 0;
    std::uint32_t number = 0;
    std::uint64_t kind = 0;
    Time begin;
    Time ready;
    friend bool operator==(const Case&, const Case&) = default;
  };
  struct CaseHash {
    std::uint64_t operator()(const Case& one) const {
      const int ranks = one.source * zrlmpi::kMaximumNodes + one.destination;
      return static_cast<std::uint64_t>(ranks) * 31 + one.number +
             static_cast<std::uint64_t>((one.ready - one.begin).count());
    }
  };
  using FaultyCalls = DirectMappedCache<Case, Relative, 257, CaseHash>;
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

  /// Types beyond INT and FLOAT travel as words, with the call code of INT.
  [[nodiscard]] static Call call_of(const Transfer& transfer) {
    if (transfer.signal) return Call::kBarrier;
    return transfer.element == ElementType::kFloat32 ? Call::kSendFloat : Call::kSendInt;
  }

  /// Among those to one rank.
  [[nodiscard]] static std::uint64_t name_of(const Transfer& transfer) {
    return static_cast<std::uint64_t>(transfer.source) << 32 | transfer.number;
  }

  /// Calls of one kind take the same time: those of a size, and the calls of barriers.
  [[nodiscard]] static std::uint64_t kind_of(const Transfer& transfer) {
    return transfer.signal ? zrlmpi::kMaximumMessageBytes + 1 : transfer.bytes;
  }

  [[nodiscard]] ExchangeRequest request_for(const Transfer& transfer) const {
    ExchangeRequest request;
    request.source = transfer.source;
    request.destination = transfer.destination;
    request.call = call_of(transfer);
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
    call.granted = call.request + header_time_;
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
  const Relative& relative(const Transfer& transfer, Time begin) {
    if (faults_.any()) return faulty(transfer, begin, {});
    if (const Relative* const known = calls_.find(kind_of(transfer))) return *known;
    made_ = run(request_for(transfer));
    // Timers that are shorter than a round trip repeat packets even so, and they depend on the ranks.
    if (made_.wire.retransmissions == 0) calls_.store(kind_of(transfer), made_);
    return made_;
  }

  /// With faults every message is a case of its own. Its stages ask for it one after the other: the network
  /// runs once, or twice if the receiver was late. Valid until the next call.
  const Relative& faulty(const Transfer& transfer, Time begin, Time ready) {
    const auto run_once = [&] {
      ExchangeRequest request = request_for(transfer);
      request.epoch = begin;
      request.ready = later(ready - begin, {});
      return run(request);
    };
    return faulty_->get({transfer.source, transfer.destination, transfer.number, kind_of(transfer), begin,
                         later(begin, ready)},
                        run_once);
  }

  /// When a call began whose first byte arrived then. How long that took may depend on when it began, if
  /// links fail at times; the second answer is that of the time itself, but at the edge of a failure.
  Time begin_of(const Transfer& transfer, Time first) {
    const Time near = first - relative(transfer, first).first;
    return first - relative(transfer, near).first;
  }

  /// Whether no timer fires at a sender whose receiver is late. It starts after the request has been sent, so
  /// the answer is in time if what follows it comes before.
  [[nodiscard]] bool is_in_time(const Transfer& transfer, const Relative& call, Time late) const {
    return late + (transfer.signal ? call.complete : call.data) < spec_.timeout(transfer.source, 1, 0);
  }

  /// A call whose receiver is ready at a given time. A late receiver moves everything from the grant on, as
  /// long as no timer of the sender fires meanwhile; otherwise the network itself tells.
  Relative exchange(const Transfer& transfer, Time begin, Time ready) {
    if (faults_.any()) return faulty(transfer, begin, ready);
    Relative call = relative(transfer, begin);
    const Time shift = later(ready - begin - call.granted, {});
    if (shift == Time() || is_in_time(transfer, call, shift)) {
      for (Time* moved : {&call.data, &call.first, &call.last, &call.complete}) *moved += shift;
      return call;
    }
    ExchangeRequest request = request_for(transfer);
    request.begin = begin;
    request.ready = ready;
    return run(request);
  }

  /// The call of a message that was granted; valid until the next call.
  const Relative& granted_call(const Transfer& transfer, const Passage& passage) {
    const bool late = passage.granted > passage.requested;
    if (!late) return relative(transfer, passage.begin);
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
    for (const Span& span : seen_->get({kind_of(transfer), late, end}, run_once))
      spans_->record({span.unit, span.what, begin + span.begin, begin + span.end, transfer.operation,
                      end == End::kSender ? transfer.source : transfer.destination});
  }

  [[nodiscard]] bool observed() const { return spans_ != nullptr || packets_ != nullptr; }

  /// When a receiver is ready that alone has the data leave when it did: behind its answer, the sender's
  /// machine may have been busy with another call.
  Time ready_for(const Transfer& transfer, const Passage& passage) {
    const bool waited = passage.protocol == Protocol::kRendezvous || passage.granted > passage.requested;
    const Time ready = waited ? passage.granted : passage.begin;
    if (faults_.any()) return ready;
    const Time held = passage.leaves - passage.begin - granted_call(transfer, passage).data;
    if (held <= Time()) return ready;
    return later(ready, passage.begin + relative(transfer, passage.begin).granted) + held;
  }

  /// The same network once more, at its place in time: with the spans and the packets of this rank's end.
  void observe(const Transfer& transfer, Time begin, Time ready, End end) {
    if (!observed()) return;
    const Time late = later(ready, begin) - begin;
    // A timer that fires depends on the ranks.
    if (packets_ == nullptr && !faults_.any() && is_in_time(transfer, relative(transfer, begin), late))
      return replay(transfer, begin, late, end);
    ExchangeRequest request = request_for(transfer);
    request.begin = begin;
    request.ready = ready;
    std::optional<RankSpans> spans;
    if (spans_ != nullptr)
      spans.emplace(*spans_, end == End::kSender ? transfer.source : transfer.destination);
    request.spans = spans ? &*spans : nullptr;
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
  Time header_time_;  // to read one, or to assemble one
  int ranks_;
  // The engines of all ranks. In a run, where each rank has an object of its own, a request is answered
  // before the next departs.
  std::vector<EngineInput> inputs_;
  bool strict_;
  std::uint64_t eager_limit_;
  Time command_;
  Bandwidth bounce_;
  Time bounce_latency_;
  FaultRates faults_;
  SpanSink* spans_;
  PacketSink* packets_;
  zrlmpi::CollectiveModel collectives_;
  std::unique_ptr<SeenSpans> seen_;                   // null unless spans are recorded
  DirectMappedCache<std::uint64_t, Relative> calls_;  // by kind
  std::unique_ptr<FaultyCalls> faulty_;               // null without faults
  WireCounters wire_;
};

Explanation explain_header(const ExplainRequest&) {
  std::string text = "byte  size  field\n";
  for (const zrlmpi::FieldSpec& field : zrlmpi::kFields)
    text += fmt::format("{:>4}  {:>4}  {}\n", field.offset, field.width, field.name);
  return {text, {}};
}

Explanation explain_constants(const ExplainRequest&) {
  std::string text = fmt::format("{:<22}  {:>10}  {:<10}  {}\n", "constant", "value", "unit", "source");
  for (const zrlmpi::Constant& constant : zrlmpi::kConstants) {
    const bool hexadecimal = constant.unit == "hex";
    text += fmt::format("{:<22}  {:>10}  {:<10}  {}\n", constant.name,
                        hexadecimal ? fmt::format("{:#x}", constant.value) : std::to_string(constant.value),
                        constant.unit, constant.source);
  }
  return {text, {}};
}

Explanation explain_codes(const ExplainRequest&) {
  std::string text = "byte  code  name\n";
  const auto add = [&text]<typename Code>(unsigned byte, Code code) {
    text += fmt::format("{:>4}  {:>4}  {}\n", byte, static_cast<unsigned>(code), to_string(code));
  };
  for (int call = 0; call < static_cast<int>(Call::kCount); ++call) add(16, static_cast<Call>(call));
  for (int type = 1; type < static_cast<int>(zrlmpi::PacketType::kCount); ++type)
    add(17, static_cast<zrlmpi::PacketType>(type));
  for (const zrlmpi::ErrorCode code : zrlmpi::kErrorCodes) add(zrlmpi::kHeaderBytes, code);
  return {text, {}};
}

constexpr ExplainTopic kTopics[] = {
    {"header", "the fields of the 32 bytes in front of every message", explain_header},
    {"codes", "the calls, the packet types and the errors that an ERROR names", explain_codes},
    {"constants", "every number of the protocol and the engine, and where it comes from", explain_constants}};

}  // namespace

const BackendDescription& zrlmpi_backend() {
  static const auto& description = immortal(BackendDescription{
      BackendDescription::kAbi, "zrlmpi",
      "IBM cloudFPGA's message passing engine: handshake and UDP over 10 Gb/s", zrlmpi::parameters(),
      [](const BackendContext& context) -> std::unique_ptr<Backend> {
        return std::make_unique<ZrlmpiBackend>(context);
      },
      "clock", nullptr, kTopics, zrlmpi::validation});
  return description;
}

}  // namespace offramp
