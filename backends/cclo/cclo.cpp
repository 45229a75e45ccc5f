#include "backends/cclo/cclo.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <vector>

#include "backends/cclo/driver.hpp"
#include "backends/cclo/explain.hpp"
#include "backends/cclo/parameters.hpp"
#include "backends/cclo/plans.hpp"
#include "offramp/kernel/immortal.hpp"
#include "simulators/model/issue_order.hpp"

namespace offramp {
namespace {

using namespace cclo;  // NOLINT: this file is the backend's face of that namespace

// Stamp::detail of a departure: how the message travels. The low bits hold the error of a failed one.
constexpr std::uint64_t kLocal = std::uint64_t{1} << 61;
constexpr std::uint64_t kRendezvous = std::uint64_t{1} << 60;
constexpr std::uint64_t kSynchronous = std::uint64_t{1} << 59;

constexpr std::uint64_t kEagerAlways = 64 * 1024;  // sends up to here never wait for their receive
constexpr std::uint64_t kMostBytes = 0xffffffff;   // of the register byte_count

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
    departure.host_free = issued + driver_.start_cost();
    departure.handshake = transfer.synchronous;
    if (transfer.source == transfer.destination) return depart_local(transfer, departure, units);
    call(Scenario::kSend, transfer, transfer.destination, communicator);
    if (spec_.transport == Transport::kRdma && transfer.bytes > std::max(kEagerAlways, spec_.max_eager))
      return depart_rendezvous(transfer, departure, units);
    Fate fate = fate_of(transfer, later(departure.host_free, units[kSendCalls].free_at()));
    Plan own;
    if (faults_.any()) own = plans_.eager(transfer.bytes, fate);
    const Plan& plan = faults_.any() ? own : plans_.eager(transfer.bytes);
    const Time begin = units[kSendCalls].acquire(departure.host_free, plan.complete).begin;
    departure.complete = begin + plan.complete + driver_.finish_cost();
    departure.stamp = {begin + plan.first, begin + plan.last, failure_detail(plan.error)};
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
      const Time go = later(departure.first, posted + plan.announce);
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

  Time receive(const Transfer& transfer, const Stamp& departure, Time posted, Units& units) override {
    if ((departure.detail & kLocal) != 0) return later(departure.last, posted) + driver_.finish_cost();
    if (departure.failed()) return later(departure.last, posted) + spec_.timeout + driver_.finish_cost();
    Time begin = posted + driver_.start_cost();
    const std::uint32_t communicator = communicator_with(transfer.source, begin);
    call(Scenario::kReceive, transfer, transfer.source, communicator);
    if ((departure.detail & kRendezvous) != 0) {
      const MessageRunner::Rendezvous& plan = plans_.rendezvous(transfer.bytes);
      const Time go = later(departure.first, posted + plan.announce);
      if (observed()) observe_landing(transfer, departure, posted, go + plan.first, go + plan.last);
      return go + plan.received + (departure.last - departure.first) + driver_.finish_cost();
    }
    const Plan& plan = plans_.eager(transfer.bytes);
    // Repetitions of lost packets, and the wait for buffers.
    Time shift = later((departure.last - departure.first) - (plan.last - plan.first), {});
    shift += back_pressure(transfer, departure, posted);
    // The link into this engine carries one message after the other.
    const Time packet =
        spec_.link_time(std::min<std::uint64_t>(transfer.bytes + kHeaderBytes, spec_.max_packet));
    const Time on_link = later(departure.first - packet, {});
    shift += units[kLinkIn].acquire(on_link, departure.last - on_link).begin - on_link;
    Time done = later(begin + plan.late, departure.first + shift + plan.waiting);
    done = units[kReceiveCalls].acquire(done - plan.late, plan.late).end;
    done += buffers_for(transfer, plan, departure, begin, done, units);
    if (spans_ != nullptr) observe_receive(transfer, plan, departure, begin);
    return done + driver_.finish_cost();
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

  [[nodiscard]] std::size_t units() const override { return kBuffers + buffers(); }
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
    const CallContext context{spec_,        driver_.space(), team,           placed.address, faults_,
                              first_packet, spans_,          team.operation, tap_.get()};
    const Time begin = team.clock + placed.cost + started.cost;
    Processor processor(context, begin);
    processor.span("host", "start call", team.clock, begin);
    const CallMemory memory{buffers.send, buffers.receive, element};
    (void)co_await run_call(processor, driver_.space(), started.words, memory);
    wire_ += processor.wire();
    const Driver::Finished finished = driver_.finish();
    team.clock = processor.now() + finished.cost;
    processor.span("host", "finish call", processor.now(), team.clock);
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
  enum Unit : std::size_t { kSendCalls, kReceiveCalls, kLinkIn, kLateSends, kBuffers };
  [[nodiscard]] std::size_t buffers() const { return spec_.rx_buffers; }
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
    (void)driver_.start(call_words(spec_.generation, scenario, transfer.bytes,
                                   static_cast<std::uint32_t>(peer), address, 0,
                                   static_cast<std::uint32_t>(transfer.tag)));
    Communicator communicator(driver_.space(), address);
    const std::uint32_t index = world_fits_ ? static_cast<std::uint32_t>(peer) : 1U;
    const RankField field =
        scenario == Scenario::kSend ? RankField::kOutboundSequence : RankField::kInboundSequence;
    const auto segments = static_cast<std::uint32_t>(spec_.segments(transfer.bytes));
    communicator.set(index, field, communicator.get(index, field) + segments);
    driver_.space().complete(0);
    (void)driver_.finish();
  }

  [[nodiscard]] Fate fate_of(const Transfer& transfer, Time epoch) const {
    return {faults_, transfer.source, transfer.destination, std::uint64_t{transfer.number} << 34, epoch};
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
    departure.handshake = true;
    departure.stamp = {ready, ready + repairs, kRendezvous | failure_detail(error)};
    return departure;
  }

  /// The first RX buffers take what nobody asked for; the rest of a longer message waits at the sender.
  [[nodiscard]] bool waits_for_buffers(const Transfer& transfer, const Plan& plan) const {
    return plan.segments > spec_.rx_buffers && transfer.bytes > kEagerAlways;
  }

  /// How much later the rest of such a message comes because the receiver claimed its first buffer late.
  Time back_pressure(const Transfer& transfer, const Stamp& departure, Time posted) {
    if (spec_.segments(transfer.bytes) <= spec_.rx_buffers || transfer.bytes <= kEagerAlways) return {};
    const Plan segment = plans_.eager(spec_.rx_buffer_bytes);
    const Plan& plan = plans_.eager(transfer.bytes);
    const Time begin = departure.first - plan.first;
    const Time claimed =
        later(posted + driver_.start_cost() + segment.late, departure.first + segment.waiting);
    return later(claimed + spec_.latency - (begin + plan.overflow), {});
  }

  /// Takes RX buffers for a message, in the order in which the program receives. What found none was moved to
  /// host memory and comes back from there.
  Time buffers_for(const Transfer& transfer, const Plan& plan, const Stamp& departure, Time begin, Time done,
                   Units& units) const {
    const std::size_t slots = buffers();
    const std::uint64_t segments = spec_.segments(transfer.bytes);
    std::uint64_t displaced = 0;
    if (!waits_for_buffers(transfer, plan) && segments > slots && begin > departure.last)
      displaced = segments - slots;
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(segments, slots); ++i) {
      Arbiter* earliest = &units[kBuffers];
      for (std::size_t k = 1; k < slots; ++k) {
        Arbiter& other = units[kBuffers + k];
        if (other.free_at() < earliest->free_at()) earliest = &other;
      }
      if (earliest->free_at() > departure.first) ++displaced;
      earliest->merge(done);
    }
    if (displaced == 0) return {};
    const std::uint64_t bytes = transfer.bytes / segments * displaced;
    return configuration_.host.memory_latency +
           configuration_.host.memory.bytes(static_cast<std::int64_t>(bytes));
  }

  // Calls once more, at their places in time, with their spans and packets.
  [[nodiscard]] bool observed() const { return spans_ != nullptr || tap_ != nullptr; }
  [[nodiscard]] Watch watch(const Transfer& transfer) const {
    return {spans_, transfer.operation, tap_.get(), static_cast<std::uint32_t>(transfer.tag), transfer.data};
  }
  void observe_receive(const Transfer& transfer, const Plan& plan, const Stamp& departure, Time begin) {
    std::vector<Stamp> segments = plans_.runner().send(transfer.bytes, departure.first - plan.first).segments;
    (void)plans_.runner().receive(transfer.bytes, begin, segments, watch(transfer));
  }
  void observe_landing(const Transfer& transfer, const Stamp& departure, Time posted, Time first, Time last) {
    const Fate fate = fate_of(transfer, {});  // all clocks show modelled time here
    const Time repairs = departure.last - departure.first;
    plans_.runner().watch_announcement(posted, fate, watch(transfer));
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
    d.without_effect = without_effect;
    return d;
  }());
  return description;
}

}  // namespace offramp
