// A backend in one file: a wormhole with a fixed latency and bandwidth. It carries bytes and does not add
// them. docs/write-a-backend.md goes through it step by step.
#include <memory>
#include <vector>

#include "offramp/kernel/immortal.hpp"
#include "offramp/model/backend.hpp"

namespace {

using namespace offramp;  // NOLINT(google-build-using-namespace): an example of one file

const auto& parameters = immortal(
    std::vector<Parameter>{real("latency", "ns", 100, {0, 1e9}, "invented", "from one mouth to the other"),
                           real("bandwidth", "Gb/s", 400, {0.001, 100000}, "invented", "of one mouth")});

// Collectives are coroutines over a Team. Their inputs are arguments, because captures would not live long
// enough.

Task<Outcome> bcast(Team& team, std::size_t bytes, int root) {
  if (team.rank() != root) co_return co_await team.receive(root, bytes);
  Outcome outcome = Outcome::kOk;
  for (int peer = 0; peer < team.size(); ++peer) {
    if (peer != root) note(outcome, co_await team.send(peer, bytes));
  }
  co_return outcome;
}

Task<Outcome> gather(Team& team, std::size_t block, int root) {
  if (team.rank() != root) co_return co_await team.send(root, block);
  Outcome outcome = Outcome::kOk;
  for (int peer = 0; peer < team.size(); ++peer) {
    if (peer != root) note(outcome, co_await team.receive(peer, block));
  }
  co_return outcome;
}

class Wormhole final : public Backend {
 public:
  explicit Wormhole(const BackendContext& context)
      : latency_(context.settings.nanoseconds("latency")), spans_(context.spans) {
    mouth_.name = "wormhole.mouth";
    mouth_.bits_per_second = context.settings.gigabits("bandwidth").count();
  }

  [[nodiscard]] Verdict supports(const Operation& operation) const override {
    if (reduces(operation.kind)) return Verdict::decline("a wormhole carries bytes and does not add them");
    return Verdict::accept(operation, {OperationKind::kSend, OperationKind::kBcast, OperationKind::kGather},
                           "this example has no algorithm for it");
  }

  // Only synchronous sends wait for the receiver, which the engine knows without asking.
  [[nodiscard]] bool waits_for_receiver(const Transfer& /*transfer*/) const override { return false; }

  // The library keeps one mouth for each rank.
  [[nodiscard]] std::span<const ResourceDescription> resources() const override { return {&mouth_, 1}; }

  // The stages of a message, in their order.

  // The call takes no time of the program. A synchronous send makes a handshake.
  void issue(const Transfer& transfer, Passage& passage) override {
    passage.host_free = passage.begin = passage.issued;
    if (transfer.synchronous) passage.protocol = Protocol::kRendezvous;
  }

  void depart(const Transfer& transfer, Passage& passage, const Resources& sender) override {
    ++wire_.packets;
    wire_.payload_bytes += transfer.bytes;
    wire_.wire_bytes += transfer.bytes;
    if (passage.protocol == Protocol::kDirect) {
      enter(transfer, passage, sender, passage.begin);
    } else {
      passage.requested = passage.begin + latency_;
    }
  }

  void grant(const Transfer& /*transfer*/, Passage& passage) override {
    passage.answered = passage.granted + latency_;
  }

  void transmit(const Transfer& transfer, Passage& passage, const Resources& sender) override {
    enter(transfer, passage, sender, passage.answered);
  }

  // The other mouth receives bytes as fast as they come.
  void arrive(const Transfer& /*transfer*/, Passage& passage, const Resources& /*receiver*/) override {
    passage.stored = passage.last;
  }

  Time receive(const Transfer& /*transfer*/, const Passage& /*passage*/, Time at,
               Matched /*matched*/) override {
    return at;
  }

  // The host's own work takes no time in this example.
  [[nodiscard]] Time copy_time(std::size_t /*bytes*/) const override { return {}; }
  [[nodiscard]] Time post_receive_cost() const override { return {}; }

  Task<Outcome> collective(const Operation& operation, Team& team, CollectiveBuffers /*buffers*/) override {
    if (operation.kind == OperationKind::kBcast) return bcast(team, operation.bytes, operation.root);
    return gather(team, operation.bytes, operation.root);
  }

  // Shown in reports and traces.
  [[nodiscard]] WireCounters wire() const override { return wire_; }
  [[nodiscard]] bool records() const override { return spans_ != nullptr; }
  void record_sender(const Transfer& transfer, const Passage& passage) override {
    spans_->record({mouth_.name, "data", passage.leaves, passage.left, transfer.operation});
  }

 private:
  /// The message passes the mouth of the sender's end, after earlier messages.
  void enter(const Transfer& transfer, Passage& passage, const Resources& sender, Time at) const {
    const Arbiter::Grant mouth = sender.carry(kMouth, at, transfer.bytes);
    passage.leaves = mouth.begin;
    passage.left = passage.complete = mouth.end;
    passage.latency = latency_;
  }

  static constexpr std::size_t kMouth = 0;  // its index in resources()

  Time latency_;
  SpanSink* spans_;
  ResourceDescription mouth_;
  WireCounters wire_;
};

const auto& description =
    immortal(BackendDescription{.name = "wormhole",
                                .description = "an example: fixed latency and bandwidth",
                                .parameters = parameters,
                                .create = make_backend<Wormhole>});

}  // namespace

// The one symbol that Offramp searches; libraries without it are skipped.
extern "C" __attribute__((visibility("default"))) const BackendDescription* offramp_backend_v1() {
  return &description;
}
