// Verdicts and messages. A message is a stream of windows between two kernels. Messages computes its time on
// an idle array, once per size and path. leave() and arrive() occupy the resources shared with others (cores,
// host ports, stream switches) and delay the whole message by the longest wait, since its parts overlap.
#include "backends/aie/aie.hpp"

#include <fmt/core.h>

#include <cstdlib>
#include <string>

#include "backends/aie/collectives.hpp"
#include "backends/aie/device.hpp"
#include "backends/aie/messages.hpp"
#include "backends/aie/parameters.hpp"
#include "backends/aie/verdicts.hpp"
#include "offramp/kernel/immortal.hpp"
#include "simulators/aie/links.hpp"

namespace offramp {
namespace {

using aie::MessageTiming;

// One per world, used by the thread that runs the world.
class AieBackend final : public Backend {
 public:
  explicit AieBackend(const BackendContext& context)
      : setup_(aie::setup_of(context.settings)),
        planner_(setup_),
        graphs_(setup_),
        messages_(setup_),
        links_(setup_.array),
        ranks_(context.ranks),
        device_(setup_, ranks_),
        spans_(context.spans) {
    if (ranks_ > setup_.array.tiles()) {
      too_many_ = aie::too_few_tiles(setup_, ranks_);
    } else if (ranks_ > messages_.most_ranks()) {
      too_many_ = "packet identifiers of a tile's " + std::to_string(setup_.array.mm2s) + " channels reach " +
                  std::to_string(messages_.most_ranks() - 1) + " others, but the program has " +
                  std::to_string(ranks_) + " ranks";
    }
  }

  [[nodiscard]] Verdict supports(const Operation& operation) const override {
    const Verdict verdict = Verdict::accept(operation, kRegularOperations);
    if (!verdict.yes()) return verdict;  // the planner supports no other kinds
    const bool message = operation.kind == OperationKind::kSend;
    return verdict.unless(message ? too_many_ : aie::collective_decline(planner_, operation));
  }

  /// For long messages, the sender's kernel stalls on full windows.
  [[nodiscard]] bool waits_for_receiver(const Transfer& transfer) const override {
    return transfer.bytes > setup_.eager_limit;
  }

  [[nodiscard]] std::span<const ResourceDescription> resources() const override {
    return device_.resources();
  }

  void issue(const Transfer& transfer, Passage& passage) override {
    // The host only starts the kernel; the array moves the data.
    passage.host_free = passage.begin = passage.issued + setup_.command;
    if (transfer.synchronous || waits_for_receiver(transfer)) passage.protocol = Protocol::kRendezvous;
  }

  void depart(const Transfer& transfer, Passage& passage, const Resources& sender) override {
    if (passage.protocol == Protocol::kRendezvous) {
      passage.requested = passage.begin;
      return;
    }
    if (leave(transfer, passage, later(passage.begin, passage.again), sender)) count(transfer, passage);
  }
  void grant(const Transfer&, Passage& passage) override { passage.answered = passage.granted; }
  void transmit(const Transfer& transfer, Passage& passage, const Resources& sender) override {
    (void)leave(transfer, passage, later(passage.answered, passage.again), sender);
  }

  /// Windows go to the host as they arrive: the port starts once it can keep pace with the rest.
  void arrive(const Transfer& transfer, Passage& passage, const Resources& receiver) override {
    const aie::Messages::Load& load = messages_.load(transfer.bytes);
    const bool is_new = passage.again < Time();
    if (is_new)
      passage.stored = later(passage.last, receiver.occupy(aie::kCore, passage.first, load.core).end);
    if (setup_.host_data) {
      const aie::DeviceWork out = aie::host_work(setup_.host, false, load.window, load.windows);
      // The latest start at which the port still ends just after the last window has arrived.
      const Time from = passage.last - setup_.host.latency - out.alone();
      if (is_new && from > passage.first) {
        passage.again = from;
        return;
      }
      const auto grant = device_.serve(receiver, out, passage, later(passage.first, passage.again));
      if (!grant) return;
      passage.stored = later(passage.stored, grant->end + setup_.host.latency);
    }
    times_.end = later(times_.end, passage.stored);
  }

  Time receive(const Transfer& transfer, const Passage& passage, Time at, Matched matched) override {
    Time done = at;
    if (transfer.source != transfer.destination)
      span("aie.core", "receive", passage.first, passage.stored, transfer, transfer.destination);
    if (matched == Matched::kUnexpected) {  // it was moved to the host's memory
      done += copy_time(transfer.bytes);
      span("host memory", "unexpected message", at, done, transfer, transfer.destination);
    }
    return done + setup_.command;
  }

  [[nodiscard]] Time copy_time(std::size_t bytes) const override {
    return setup_.bounce.bytes(static_cast<std::int64_t>(bytes));
  }

  void count(const Transfer& transfer, const Passage&) override {
    const aie::Messages::Load& load = messages_.load(transfer.bytes);
    wire_.packets += load.windows;
    wire_.payload_bytes += transfer.bytes;
    wire_.wire_bytes += load.windows * load.window;
  }

  [[nodiscard]] bool records() const override { return spans_ != nullptr; }
  void record_sender(const Transfer& transfer, const Passage& passage) override {
    const bool granted = passage.protocol == Protocol::kRendezvous;
    span("aie.core", "send", granted ? passage.answered : passage.begin, passage.complete, transfer,
         transfer.source);
  }

  [[nodiscard]] Time post_receive_cost() const override { return setup_.command; }

  [[nodiscard]] std::optional<ReductionOrder> order(const Operation& operation,
                                                    const TeamMembers& team) override {
    return aie::fold_of(planner_, operation, team);
  }
  Task<Outcome> collective(const Operation& operation, Team& team, CollectiveBuffers buffers) override {
    // See engine_time().
    const bool counts = operation.kind != OperationKind::kReduce || team.rank() == operation.root;
    const aie::Model model{setup_, planner_, graphs_, device_,
                           wire_,  spans_,   skew_,   counts ? &times_ : nullptr};
    return aie::run_collective(model, operation, team, buffers);
  }

  [[nodiscard]] WireCounters wire() const override { return wire_; }

  /// From the beginning of the first kernel to the end of the last one, without the host's commands. For
  /// reductions only the root's kernel: the tree time of [aie-thesis].
  [[nodiscard]] std::optional<Time> engine_time() const override {
    return later(times_.end - times_.begin, {});
  }

 private:
  /// Sends a message from the sender's memory or tile to that of a ready receiver. A delay of any part delays
  /// the whole message, since the parts overlap. Returns false if it has to wait for its port.
  bool leave(const Transfer& transfer, Passage& passage, Time at, const Resources& sender) {
    const MessageTiming& alone = messages_.between(transfer.source, transfer.destination, transfer.bytes);
    const aie::Messages::Load& load = messages_.load(transfer.bytes);
    const Time deadline = at + alone.complete;
    Time wait;
    Time late;
    if (setup_.host_data) {
      const aie::DeviceWork in = aie::host_work(setup_.host, true, load.window, load.windows);
      const auto port = device_.serve(sender, in, passage, at);
      if (!port) return false;
      wait = port->begin - at;
      late = port->end - (at + in.alone());
    }
    const Arbiter::Grant core = sender.occupy(aie::kCore, at, load.core);
    wait = later(wait, core.begin - at);
    late = later(late, core.end - deadline);
    // Neighbours on the snake share windows, without a stream.
    const bool neighbours = std::abs(transfer.source - transfer.destination) == 1;
    if (!neighbours) {
      late = later(late, links_.carry(aie::snake_tile(setup_.array, transfer.source),
                                      aie::snake_tile(setup_.array, transfer.destination), at + wait,
                                      load.stream, deadline));
    }
    late = later(late, wait);
    passage.leaves = at + wait;
    passage.latency = alone.first;
    passage.left = at + late + alone.last - alone.first;
    passage.complete = deadline + late;
    times_.begin = earlier(times_.begin, at);
    times_.end = later(times_.end, passage.complete);
    return true;
  }

  void span(std::string_view unit, std::string_view what, Time begin, Time end, const Transfer& transfer,
            int rank) {
    if (spans_ != nullptr && end > begin) spans_->record({unit, what, begin, end, transfer.operation, rank});
  }

  aie::Setup setup_;
  mutable aie::Planner planner_;  // caches plans
  aie::Graphs graphs_;
  aie::Messages messages_;
  aie::Links links_;
  int ranks_;
  aie::Device device_;
  std::string too_many_;  // reason against messages between any two ranks; empty: none
  SpanSink* spans_;
  Time skew_ = setup_.timing.cycles(setup_.timing.costs().skew);
  aie::KernelTimes times_;
  WireCounters wire_;
};

}  // namespace

namespace aie {
namespace {

Deployment deployment(const Settings& settings, const MachineLayout&, int) {
  const ArraySpec array = setup_of(settings).array;
  return Deployment{fmt::format("one array of {} x {} tiles for all ranks", array.columns, array.rows)};
}

}  // namespace
}  // namespace aie

const BackendDescription& aie_backend() {
  static constexpr std::string_view kInProduction[] = {"rows", "columns", "user_memory"};
  static const auto& description = immortal(
      BackendDescription{.name = "aie",
                         .description = "Versal AI Engine array: trees of kernels that exchange windows",
                         .parameters = aie::parameters(),
                         .create = make_backend<AieBackend>,
                         .clock_parameter = "clock",
                         .topics = aie::topics(),
                         .validation = aie::validation,
                         .deployment = aie::deployment,
                         .is_one_machine = true,
                         .in_production = kInProduction});
  return description;
}

}  // namespace offramp
