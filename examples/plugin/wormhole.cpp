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

// Collectives are coroutines over a Team. What they need comes in as arguments, because captures would not
// live on.

Task<Outcome> bcast(Team& team, MutableBytes buffer, int root) {
  if (team.rank() != root) co_return co_await team.receive(root, buffer);
  Outcome outcome = Outcome::kOk;
  for (int peer = 0; peer < team.size(); ++peer) {
    if (peer != root) note(outcome, co_await team.send(peer, buffer));
  }
  co_return outcome;
}

Task<Outcome> gather(Team& team, CollectiveBuffers buffers, int root) {
  if (team.rank() != root) co_return co_await team.send(root, buffers.send);
  Outcome outcome = Outcome::kOk;
  for (int peer = 0; peer < team.size(); ++peer) {
    const MutableBytes block =
        buffers.receive.subspan(buffers.block * static_cast<std::size_t>(peer), buffers.block);
    if (peer == root) {
      team.copy(buffers.send, block);
    } else {
      note(outcome, co_await team.receive(peer, block));
    }
  }
  co_return outcome;
}

class Wormhole final : public Backend {
 public:
  explicit Wormhole(const BackendContext& context)
      : latency_(context.settings.nanoseconds("latency")),
        bandwidth_(context.settings.gigabits("bandwidth")) {}

  [[nodiscard]] Verdict supports(const Operation& operation) const override {
    switch (operation.kind) {
      case OperationKind::kSend:
      case OperationKind::kBcast:
      case OperationKind::kGather:
        return {};
      case OperationKind::kReduce:
      case OperationKind::kAllreduce:
      case OperationKind::kReduceScatter:
        return Verdict::decline("a wormhole carries bytes and does not add them");
      default:
        return Verdict::decline("this example has no algorithm for it");
    }
  }

  Departure depart(const Transfer& transfer, Time issued, Units& units) override {
    const Arbiter::Grant mouth = units.unit[kMouth].acquire(issued, bandwidth_.bytes(size_of(transfer)));
    ++wire_.packets;
    wire_.payload_bytes += transfer.bytes;
    wire_.wire_bytes += transfer.bytes;
    Departure departure;
    departure.host_free = issued;
    departure.complete = mouth.end;
    departure.handshake = transfer.synchronous;
    departure.stamp = {mouth.begin + latency_, mouth.end + latency_};
    return departure;
  }

  // A synchronous send is answered when the message is there and its receive is posted.
  Stamp match(const Transfer& /*transfer*/, const Stamp& departure, Time posted) override {
    const Time answered = later(departure.last, posted) + latency_;
    return {answered, answered};
  }

  Time receive(const Transfer& /*transfer*/, const Stamp& departure, Time posted, Units& /*units*/) override {
    return later(departure.last, posted);
  }

  Time complete_send(const Transfer& /*transfer*/, const Stamp& reply, Units& /*units*/) override {
    return reply.last;
  }

  [[nodiscard]] Time post_receive_cost() const override { return {}; }

  Task<Outcome> collective(const Operation& operation, Team& team, CollectiveBuffers buffers) override {
    if (operation.kind == OperationKind::kBcast) return bcast(team, buffers.receive, operation.root);
    return gather(team, buffers, operation.root);
  }

  [[nodiscard]] WireCounters wire() const override { return wire_; }

 private:
  enum Unit : std::size_t { kMouth };
  static std::int64_t size_of(const Transfer& transfer) { return static_cast<std::int64_t>(transfer.bytes); }

  Time latency_;
  Bandwidth bandwidth_;
  WireCounters wire_;
};

std::unique_ptr<Backend> create(const BackendContext& context) {
  return std::make_unique<Wormhole>(context);
}

const auto& description = immortal(BackendDescription{
    BackendDescription::kAbi, "wormhole", "an example: fixed latency and bandwidth", parameters, create});

}  // namespace

// The one symbol that Offramp looks for; a library without it is passed over.
extern "C" __attribute__((visibility("default"))) const BackendDescription* offramp_backend_v1() {
  return &description;
}
