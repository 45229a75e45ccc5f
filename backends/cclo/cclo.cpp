#include "backends/cclo/cclo.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "backends/cclo/driver.hpp"
#include "backends/cclo/explain.hpp"
#include "backends/cclo/parameters.hpp"
#include "backends/cclo/plans.hpp"
#include "backends/cclo/validation.hpp"
#include "offramp/kernel/immortal.hpp"
#include "simulators/cclo/calendar.hpp"
#include "simulators/model/issue_order.hpp"

namespace offramp {
namespace {

using namespace cclo;  // NOLINT: this file is the backend's face of that namespace

// Stamp::detail of a departure: how the message travels. The low bits hold the error of a failed one.
constexpr std::uint64_t kLocal = std::uint64_t{1} << 61;
constexpr std::uint64_t kRendezvous = std::uint64_t{1} << 60;
constexpr std::uint64_t kSynchronous = std::uint64_t{1} << 59;

constexpr std::uint64_t kBuffered = 64 * 1024;    // sends up to here never wait for their receive
constexpr std::uint64_t kMostBytes = 0xffffffff;  // of the register byte_count

std::uint64_t failure_detail(Error error) {
  return error == Error::kNone ? 0 : Stamp::kFailed | static_cast<std::uint64_t>(error);
}

class CcloBackend final : public IssueOrderBackend {
 public:
  using IssueOrderBackend::depart;
  using IssueOrderBackend::receive;
  explicit CcloBackend(const BackendContext& context)
      : configuration_(configuration_of(context.settings)),
        spec_(configuration_.spec),
        driver_(configuration_, spec_, context.rank, context.ranks),
        plans_(spec_, configuration_.layout),
        faults_(context.faults),
        spans_(context.spans),
        tap_(context.packets == nullptr ? nullptr : std::make_unique<PacketTap>(*context.packets, spec_)),
        rank_(context.rank),
        ranks_(context.ranks),
        world_fits_(fits(context.ranks)) {}

  [[nodiscard]] Verdict supports(const Operation& operation) const override {
    const Verdict verdict = Verdict::accept(operation, kRegularOperations);
    if (!driver_.problem().empty())
      return verdict.unless(driver_.problem(), driver_.buffers_fit() ? nullptr : &larger_memory(ranks_));
    if (operation.bytes > kMostBytes) return verdict.unless("byte_count has 32 bits: 4294967295 at most");
    if (operation.kind == OperationKind::kSend) return verdict;
    if (!fits(operation.ranks))
      return verdict.unless(too_large(operation.ranks), &larger_memory(operation.ranks));
    return verdict.unless(objection_to_call(operation));
  }

  Departure depart(const Transfer& transfer, Time issued, Units& units) override {
    const std::uint32_t communicator = communicator_with(transfer.destination, issued);
    Departure departure;
    const bool local = transfer.source == transfer.destination;
    const Plans::Rates rates = plans_.rates(transfer.bytes);
    const Time staged = local ? issued : stage_in(units[index_of(Unit::kPcieDown)], issued, rates.pcie);
    departure.host_free = staged + driver_.start_cost();
    departure.handshake = transfer.synchronous;
    if (local) return depart_local(transfer, departure, units);
    observe_host(transfer, "copy to card", issued, staged);
    const bool rendezvous = is_rendezvous(spec_, Scenario::kSend, transfer.bytes);
    call(Scenario::kSend, transfer, transfer.destination, communicator);
    if (rendezvous) return depart_rendezvous(transfer, departure, units);
    Fate fate = fate_of(transfer, later(departure.host_free, units[kSendCalls].free_at()));
    Plan own;
    if (faults_.any()) own = plans_.eager(transfer.bytes, fate);
    const Plan& plan = faults_.any() ? own : plans_.eager(transfer.bytes);
    const Time begin = units[kSendCalls].acquire(departure.host_free, plan.complete).begin;
    departure.complete = begin + plan.complete + driver_.finish_cost();
    const Time read = spec_.host_memory ? share(units[index_of(Unit::kPcieDown)], begin, rates.pcie)
                                        : share(units[index_of(Unit::kMemory)], begin, rates.memory);
    Time wait = later(read - (begin + plan.complete), {});
    wait += wait_for_engine(begin + wait + plan.departs, plan, units);
    departure.stamp = {begin + plan.first + wait, begin + plan.last + wait, failure_detail(plan.error)};
    if (transfer.synchronous) departure.stamp.detail |= kSynchronous;
    if (waits_for_buffers(transfer, plan)) departure.handshake = true;
    wire_ += plan.wire;
    if (observed()) {
      fate.epoch = {};  // the same once more, at its place in time
      (void)plans_.runner().send(transfer.bytes, begin, fate, watch(transfer));
    }
    return departure;
  }

  Stamp match(const Transfer& transfer, const Stamp& departure, Time posted) override {
    const std::uint64_t failed = departure.detail & (Stamp::kFailed | kErrorMask);
    if ((departure.detail & kLocal) != 0) return {posted, later(departure.last, posted), 0};
    if ((departure.detail & kRendezvous) != 0) {
      const MessageRunner::Rendezvous& plan = plans_.rendezvous(transfer.bytes);
      const Time go = later(departure.first, posted + driver_.start_cost() + plan.announce);
      return {go, go + plan.complete + (departure.last - departure.first), kRendezvous | failed};
    }
    const Plan& plan = plans_.eager(transfer.bytes);
    const Time begin = departure.first - plan.first;
    const Time shift = back_pressure(transfer, departure, posted);
    // What of the message is still to go then, and when it has gone: nothing, when buffers took all of it.
    const Time complete = begin + plan.complete + shift;
    Stamp reply{waits_for_buffers(transfer, plan) ? begin + plan.overflow + shift : complete, complete,
                failed};
    if ((departure.detail & kSynchronous) != 0) {
      // The engine does not acknowledge a match: the receiver's driver answers with an empty message. Waiting
      // for it takes no unit.
      const Plan& answer = plans_.eager(0);
      const Time matched = later(posted, departure.first) + driver_.start_cost();
      const Time wait = later(matched + answer.first + answer.waiting - reply.last, {});
      reply.first += wait;
      reply.last += wait;
    }
    return reply;
  }

  Time receive(const Transfer& transfer, const Stamp& departure, Time posted, Units&) override {
    if ((departure.detail & kLocal) != 0) return later(departure.last, posted) + driver_.finish_cost();
    if (departure.failed()) return later(departure.last, posted) + spec_.timeout + driver_.finish_cost();
    Time begin = posted + driver_.start_cost();
    const std::uint32_t communicator = communicator_with(transfer.source, begin);
    const bool rendezvous = (departure.detail & kRendezvous) != 0;
    call(Scenario::kReceive, transfer, transfer.source, communicator);
    if (rendezvous) {
      const MessageRunner::Rendezvous& plan = plans_.rendezvous(transfer.bytes);
      const Time go = later(departure.first, begin + plan.announce);
      if (observed()) observe_landing(transfer, departure, begin, go + plan.first, go + plan.last);
      if (tap_ != nullptr && transfer.bytes <= kBuffered && !transfer.synchronous) {
        // The sender has learnt of nothing.
        Watch packets = watch(transfer);
        packets.spans = nullptr;
        plans_.runner().watch_write(transfer.bytes, go, fate_of(transfer, {}), packets);
      }
      const Time repairs = departure.last - departure.first;
      const Time landed = land(transfer.bytes, plans_.write_port(transfer.bytes), go + plan.first + repairs);
      const Time shift = later(landed - (go + plan.last + repairs), {});
      return stage_out(transfer, go + plan.received + repairs + shift + driver_.finish_cost());
    }
    const Plan& plan = plans_.eager(transfer.bytes);
    // Repetitions of lost packets, and the wait for buffers.
    Time shift = later((departure.last - departure.first) - (plan.last - plan.first), {});
    shift += back_pressure(transfer, departure, posted);
    shift += later(land(transfer.bytes, plan.port, departure.first) - departure.last, {});
    Time done = later(begin + plan.late, departure.first + shift + plan.waiting);
    done = receive_calls_.acquire(done - plan.late, plan.late).end;
    if (begin > departure.last) done += wait_in_buffers(transfer, plan, departure.first, done);
    if (spans_ != nullptr) observe_receive(transfer, plan, departure, begin);
    return stage_out(transfer, done + driver_.finish_cost());
  }

  Time complete_send(const Transfer& transfer, const Stamp& reply, Units& units) override {
    // What waited for receivers shares the engine like the rest: one after the other.
    const Time late = units[kLateSends].acquire(reply.first, reply.last - reply.first).end;
    if (observed() && (reply.detail & kRendezvous) != 0) {
      const Time begin = reply.first + later(late - reply.last, {});
      plans_.runner().watch_write(transfer.bytes, begin, fate_of(transfer, {}), watch(transfer));
    }
    return later(reply.last, late) + driver_.finish_cost();
  }

  [[nodiscard]] std::size_t units() const override { return kUnits; }
  [[nodiscard]] Time post_receive_cost() const override { return configuration_.host.queue; }

  Task<Outcome> collective(const Operation& operation, Team& team, CollectiveBuffers buffers) override {
    const Driver::Placed placed = driver_.place(static_cast<std::uint32_t>(operation.ranks),
                                                static_cast<std::uint32_t>(team.rank()), 0);
    const std::uint64_t element = operation.elements > 0 ? operation.bytes / operation.elements : 1;
    const std::uint64_t unit =
        spec_.generation == Generation::kSecond ? std::max<std::uint64_t>(1, element) : 1;
    const ArithmeticLane* lane = find_lane(spec_.generation, operation.element, operation.function);
    const std::uint32_t function =
        lane == nullptr ? 0U
                        : static_cast<std::uint32_t>(spec_.generation == Generation::kFirst
                                                         ? lane->gen1_function
                                                         : lane->function == ReduceFunction::kMaximum);
    const Driver::Started started =
        driver_.start(call_words(spec_.generation, scenario_of_kind(operation.kind), operation.bytes / unit,
                                 static_cast<std::uint32_t>(operation.root), placed.address, function));
    const std::uint64_t first_packet = kCollectivePackets | (++collectives_ << 34);
    CallContext context{spec_,        driver_.space(), team,           placed.address, faults_,
                        first_packet, spans_,          team.operation, tap_.get()};
    context.state = &driver_.state();
    context.link_in = &link_in_;
    EngineUnits units(team.units());
    const Staged staged = staged_of(operation, team, buffers);
    const Time copied = stage_in(units[Unit::kPcieDown], team.clock, spec_.pcie_time(staged.in));
    const Time begin = copied + placed.cost + started.cost;
    Processor processor(context, begin);
    if (copied > team.clock) processor.span("pcie", "copy to card", team.clock, copied);
    processor.span("host", "start call", copied, begin);
    const CallMemory memory{buffers.send, buffers.receive, element};
    (void)co_await run_call(processor, driver_.space(), started.words, memory);
    wire_ += processor.wire();
    const Driver::Finished finished = driver_.finish();
    team.clock = processor.now() + finished.cost;
    processor.span("host", "finish call", processor.now(), team.clock);
    if (configuration_.host.staged && staged.out > 0) {
      const Time finish = team.clock;
      team.clock = share(units[Unit::kPcieUp], finish, spec_.pcie_time(staged.out)) + spec_.pcie_latency;
      processor.span("pcie", "copy from card", finish, team.clock);
    }
    // Another call may have completed since and left its own return code: the processor's is this call's.
    co_return processor.error() == Error::kNone ? Outcome::kOk : Outcome::kFault;
  }

  [[nodiscard]] WireCounters wire() const override { return wire_; }

  [[nodiscard]] std::string_view failure(const Stamp& stamp) const override {
    const std::uint64_t code = stamp.detail & kErrorMask;
    return code < static_cast<std::uint64_t>(Error::kNumber) ? to_string(static_cast<Error>(code))
                                                             : to_string(Error::kReceiveTimeout);
  }

 private:
  // Behind the engine's own.
  enum Index : std::size_t { kSendCalls = EngineUnits::kCount, kLateSends, kUnits };
  static constexpr std::uint64_t kCollectivePackets = std::uint64_t{1} << 63;

  [[nodiscard]] bool fits(int ranks) const {
    return driver_.words(static_cast<std::uint64_t>(ranks)) <= driver_.free_words();
  }

  /// The texts live as long as the backend.
  [[nodiscard]] std::string_view too_large(int ranks) const {
    std::string& text = reasons_[ranks];
    if (text.empty())
      text = fmt::format("a communicator of {} ranks needs {} words, {} free", ranks,
                         driver_.words(static_cast<std::uint64_t>(ranks)), driver_.free_words());
    return text;
  }

  /// A communicator takes five words per rank and two of its own (published: Communicator) beside the
  /// buffers.
  [[nodiscard]] const Remedy& larger_memory(int ranks) const {
    Remedy& remedy = remedies_[ranks];
    if (remedy.note.empty()) {
      const std::uint64_t bytes = std::bit_ceil(4096 + 4 * (5 * static_cast<std::uint64_t>(ranks) + 64));
      remedy = {"exchange_memory", static_cast<double>(bytes),
                fmt::format("with an exchange memory of {} bytes", bytes)};
    }
    return remedy;
  }

  [[nodiscard]] std::string_view objection_to_call(const Operation& operation) const {
    const bool first = spec_.generation == Generation::kFirst;
    if (operation.kind == OperationKind::kAlltoall || operation.kind == OperationKind::kBarrier) {
      if (first) return "the first generation has no ALLTOALL and no BARRIER call";
      return spec_.transport == Transport::kRdma
                 ? ""
                 : "ALLTOALL and BARRIER need rendezvous, which only RDMA has";
    }
    if (!reduces(operation.kind) ||
        find_lane(spec_.generation, operation.element, operation.function) != nullptr)
      return {};
    return first ? "the arithmetic unit has SUM of fp32, fp64, int32 and int64 only"
                 : "the arithmetic unit has SUM and MAX of fp32, fp64, int32 and int64 only";
  }

  static Scenario scenario_of_kind(OperationKind kind) {
    switch (kind) {
      case OperationKind::kBcast:
        return Scenario::kBcast;
      case OperationKind::kReduce:
        return Scenario::kReduce;
      case OperationKind::kGather:
        return Scenario::kGather;
      case OperationKind::kAllreduce:
        return Scenario::kAllreduce;
      case OperationKind::kScatter:
        return Scenario::kScatter;
      case OperationKind::kAllgather:
        return Scenario::kAllgather;
      case OperationKind::kReduceScatter:
        return Scenario::kReduceScatter;
      case OperationKind::kAlltoall:
        return Scenario::kAlltoall;
      case OperationKind::kBarrier:
        return Scenario::kBarrier;
      default:
        return Scenario::kNop;
    }
  }

  /// That of the world; where it does not fit, one of the pair. Writing it takes the host's time.
  std::uint32_t communicator_with(int peer, Time& clock) {
    const Driver::Placed placed = driver_.place(world_fits_ ? static_cast<std::uint32_t>(ranks_) : 2U,
                                                static_cast<std::uint32_t>(rank_),
                                                world_fits_ ? 0U : static_cast<std::uint32_t>(peer) + 1U);
    clock += placed.cost;
    return placed.address;
  }

  /// The call as the IO space sees it; its time comes from the plans.
  void call(Scenario scenario, const Transfer& transfer, int peer, std::uint32_t address) {
    driver_.message(scenario,
                    call_words(spec_.generation, scenario, transfer.bytes, static_cast<std::uint32_t>(peer),
                               address, 0, static_cast<std::uint32_t>(transfer.tag)),
                    spec_, world_fits_ ? static_cast<std::uint32_t>(peer) : 1U);
  }

  [[nodiscard]] Fate fate_of(const Transfer& transfer, Time epoch) const {
    return {faults_, transfer.source, transfer.destination, std::uint64_t{transfer.number} << 34, epoch};
  }

  static constexpr std::size_t index_of(Unit unit) { return static_cast<std::size_t>(unit); }

  /// The driver copies the user's buffer to the card; returns when it is there.
  Time stage_in(Arbiter& pcie, Time at, Time duration) const {
    if (!configuration_.host.staged || duration == Time()) return at;
    return pcie.acquire(at, duration).end + spec_.pcie_latency;
  }
  /// And back, of a message; the DMAs of Coyote have done that already, if others left them the bus.
  Time stage_out(const Transfer& transfer, Time at) {
    if (transfer.bytes == 0) return at;
    const Time duration = plans_.rates(transfer.bytes).pcie;
    if (spec_.host_memory) return later(at, pcie_up_.acquire(later(at - duration, {}), duration).end);
    if (!configuration_.host.staged) return at;
    const Time end = pcie_up_.acquire(at, duration).end + spec_.pcie_latency;
    observe_host(transfer, "copy from card", at, end);
    return end;
  }
  /// What a collective reads from the user's memory at this rank, and writes there.
  struct Staged {
    std::uint64_t in = 0;
    std::uint64_t out = 0;
  };
  static Staged staged_of(const Operation& operation, const Team& team, const CollectiveBuffers& buffers) {
    if (operation.kind != OperationKind::kBcast) return {buffers.send.size(), buffers.receive.size()};
    const bool root = team.rank() == operation.root;
    return {root ? buffers.receive.size() : 0, root ? 0 : buffers.receive.size()};
  }

  Departure depart_local(const Transfer& transfer, Departure departure, Units& units) {
    const Time copy = plans_.runner().copy(transfer.bytes);
    const Time done = units[kSendCalls].acquire(departure.host_free, copy).end;
    departure.complete = done + driver_.finish_cost();
    departure.stamp = {departure.host_free, done, kLocal};
    return departure;
  }

  Departure depart_rendezvous(const Transfer& transfer, Departure departure, Units& units) {
    const MessageRunner::Rendezvous& plan = plans_.rendezvous(transfer.bytes);
    const Time ready = units[kSendCalls].acquire(departure.host_free, plan.complete).begin + plan.ready;
    Time repairs;
    Error error = Error::kNone;
    WireCounters wire = plan.wire;
    if (faults_.any()) {
      const MessageRunner::Rendezvous faulty =
          plans_.runner().rendezvous(transfer.bytes, fate_of(transfer, ready - plan.ready));
      repairs = later(faulty.last - plan.last, {});
      error = faulty.error;
      wire = faulty.wire;
    }
    wire_ += wire;
    const bool buffered = transfer.bytes <= kBuffered && !transfer.synchronous;
    departure.handshake = !buffered;
    if (buffered) {  // in the card's memory until the receiver announces an address
      const Time copied = configuration_.host.staged ? Time() : plans_.runner().copy(transfer.bytes);
      departure.complete = ready + copied + driver_.finish_cost();
      observe_host(transfer, "copy to buffer", ready, ready + copied);
    }
    departure.stamp = {ready, ready + repairs, kRendezvous | failure_detail(error)};
    return departure;
  }

  /// The first RX buffers take what nobody asked for; the rest of a longer message waits at the sender.
  [[nodiscard]] bool waits_for_buffers(const Transfer& transfer, const Plan& plan) const {
    return plan.segments > spec_.rx_buffers && transfer.bytes > kBuffered;
  }

  /// How much later the rest of such a message comes because the receiver claimed its first buffer late.
  Time back_pressure(const Transfer& transfer, const Stamp& departure, Time posted) {
    if (spec_.segments(transfer.bytes) <= spec_.rx_buffers || transfer.bytes <= kBuffered) return {};
    const Plan segment = plans_.eager(spec_.rx_buffer_bytes);
    const Plan& plan = plans_.eager(transfer.bytes);
    const Time begin = departure.first - plan.first;
    const Time claimed =
        later(posted + driver_.start_cost() + segment.late, departure.first + segment.waiting);
    return later(claimed + spec_.latency - (begin + plan.overflow), {});
  }

  /// The protocol engine and its link carry one message after the other, also beside calls.
  Time wait_for_engine(Time at, const Plan& plan, Units& units) const {
    const auto unit = [&units](Unit which) -> Arbiter& { return units[index_of(which)]; };
    const Time on_link = unit(Unit::kEngine).acquire(at, plan.engine).begin;
    return unit(Unit::kLinkOut).acquire(on_link, plan.link).begin - at;
  }

  /// When the last packet of a message is here, whose first one came at `first`: engine and link carry those
  /// of all messages, in the order in which they come, whatever the program asks for first.
  Time land(std::uint64_t bytes, Time duration, Time first) {
    const Time begin = first - plans_.rates(bytes).first_packet;
    return link_in_.acquire(later(begin, {}), duration).end;
  }

  /// A message that came before its receive takes RX buffers until `done`. What found none was moved to host
  /// memory and comes back from there. Returns how long that takes.
  Time wait_in_buffers(const Transfer& transfer, const Plan& plan, Time first, Time done) {
    const std::uint64_t segments = plan.segments;
    const std::uint64_t wanted = std::min<std::uint64_t>(segments, spec_.rx_buffers);
    std::uint64_t taken = 0;
    for (const Waiting& other : waiting_) {
      if (other.first <= first && first < other.done) taken += other.buffers;
    }
    const std::uint64_t got =
        std::min(wanted, spec_.rx_buffers - std::min<std::uint64_t>(taken, spec_.rx_buffers));
    if (waiting_.size() == kMostWaiting) waiting_.pop_front();
    waiting_.push_back({first, done, got});
    const std::uint64_t displaced = (waits_for_buffers(transfer, plan) ? wanted : segments) - got;
    if (displaced == 0) return {};
    const std::uint64_t bytes = transfer.bytes / segments * displaced;
    return spec_.pcie_latency * 2 + spec_.pcie_time(bytes);
  }

  // Calls once more, at their places in time, with their spans and packets.
  [[nodiscard]] bool observed() const { return spans_ != nullptr || tap_ != nullptr; }
  [[nodiscard]] Watch watch(const Transfer& transfer) const {
    return {spans_, transfer.operation, tap_.get(), static_cast<std::uint32_t>(transfer.tag), transfer.data};
  }
  void observe_host(const Transfer& transfer, std::string_view what, Time begin, Time end) const {
    if (spans_ != nullptr && end > begin) spans_->record({"pcie", what, begin, end, transfer.operation});
  }
  void observe_receive(const Transfer& transfer, const Plan& plan, const Stamp& departure, Time begin) {
    const Watch tag{nullptr, 0, nullptr, static_cast<std::uint32_t>(transfer.tag)};
    std::vector<Stamp> segments =
        plans_.runner().send(transfer.bytes, departure.first - plan.first, {}, tag).segments;
    (void)plans_.runner().receive(transfer.bytes, begin, segments, watch(transfer));
  }
  void observe_landing(const Transfer& transfer, const Stamp& departure, Time begin, Time first, Time last) {
    const Fate fate = fate_of(transfer, {});  // all clocks show modelled time here
    const Time repairs = departure.last - departure.first;
    plans_.runner().watch_announcement(begin, fate, watch(transfer));
    plans_.runner().watch_landing(transfer.bytes, first + repairs, last + repairs, fate, watch(transfer));
  }

  Configuration configuration_;
  Spec spec_;
  Driver driver_;
  Plans plans_;
  FaultRates faults_;
  SpanSink* spans_;
  std::unique_ptr<PacketTap> tap_;
  int rank_;
  int ranks_;
  bool world_fits_;
  // The receives of this rank, which the program asks for in an order of its own.
  struct Waiting {
    Time first;
    Time done;
    std::uint64_t buffers;
  };
  static constexpr std::size_t kMostWaiting = 1024;  // remembered; older ones have gone
  Calendar link_in_;
  Calendar receive_calls_;
  Calendar pcie_up_;
  std::deque<Waiting> waiting_;
  std::uint64_t collectives_ = 0;
  mutable std::map<int, std::string> reasons_;  // both by ranks
  mutable std::map<int, Remedy> remedies_;
  WireCounters wire_;
};

}  // namespace

const BackendDescription& cclo_backend() {
  static const auto& description = immortal([] {
    BackendDescription d;
    d.name = "cclo";
    d.description = "ACCL's collectives offload engine on an FPGA, 100 Gb/s TCP, UDP or RDMA";
    d.parameters = parameters();
    d.create = [](const BackendContext& context) -> std::unique_ptr<Backend> {
      return std::make_unique<CcloBackend>(context);
    };
    d.clock_parameter = "clock";
    d.topics = topics();
    d.validation = validation;
    d.without_effect = without_effect;
    return d;
  }());
  return description;
}

}  // namespace offramp
