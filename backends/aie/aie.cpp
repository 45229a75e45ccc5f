#include "backends/aie/aie.hpp"

#include <memory>
#include <string>

#include "backends/aie/algorithms.hpp"
#include "backends/aie/explain.hpp"
#include "backends/aie/forecast.hpp"
#include "backends/aie/messages.hpp"
#include "backends/aie/parameters.hpp"
#include "backends/aie/setup.hpp"
#include "offramp/kernel/immortal.hpp"
#include "simulators/model/issue_order.hpp"

namespace offramp {
namespace {

using aie::Message;

// Stamp::detail of a departure: how it travels.
constexpr std::uint64_t kHandshake = std::uint64_t{1} << 62;
constexpr std::uint64_t kLocal = std::uint64_t{1} << 61;

class AieBackend final : public IssueOrderBackend {
 public:
  using IssueOrderBackend::depart;
  using IssueOrderBackend::receive;
  explicit AieBackend(const BackendContext& context)
      : setup_(context.settings),
        planner_(setup_),
        messages_(setup_),
        ranks_(context.ranks),
        spans_(context.spans) {
    if (ranks_ > setup_.array.tiles()) {
      too_many_ = aie::too_few_tiles(setup_, ranks_);
    } else if (ranks_ > messages_.most_ranks()) {
      too_many_ = "packet identifiers of a tile's " + std::to_string(setup_.array.mm2s) + " channels reach " +
                  std::to_string(messages_.most_ranks() - 1) + " others, and the world has " +
                  std::to_string(ranks_) + " ranks";
    }
  }

  [[nodiscard]] Verdict supports(const Operation& operation) const override {
    const Verdict verdict = Verdict::accept(operation, kRegularOperations);
    if (!verdict.yes()) return verdict;  // the planner has no place for other kinds
    const bool message = operation.kind == OperationKind::kSend;
    return verdict.unless(message ? too_many_ : aie::collective_decline(planner_, operation));
  }

  Departure depart(const Transfer& transfer, Time issued, Units& units) override {
    Departure departure;
    departure.host_free = issued + setup_.command;
    if (transfer.source == transfer.destination) {  // never reaches the array
      departure.handshake = transfer.synchronous;
      departure.complete = departure.host_free + copied(transfer.bytes);
      departure.stamp = {departure.host_free, departure.complete, kLocal};
      return departure;
    }
    const Message& message = message_of(transfer);
    const Time begin = units[kSendKernel].acquire(departure.host_free, message.complete).begin;
    count(transfer, message);
    departure.handshake = transfer.synchronous || transfer.bytes > setup_.eager_limit;
    if (departure.handshake) {
      departure.stamp = {begin, begin + message.complete, kHandshake};
      return departure;
    }
    departure.complete = begin + message.complete;
    departure.stamp = {begin + message.first, begin + message.last, 0};
    span("aie.core", "send", begin, departure.complete, transfer.operation);
    return departure;
  }

  /// The sender's kernel stalls on full windows until the receiver takes them.
  Stamp match(const Transfer& transfer, const Stamp& departure, Time posted) override {
    if ((departure.detail & kLocal) != 0) return {posted, later(departure.last, posted), 0};
    const Time begin = later(departure.first, posted);
    return {begin, begin + message_of(transfer).complete, 0};
  }

  Time receive(const Transfer& transfer, const Stamp& departure, Time posted, Units& units) override {
    if ((departure.detail & kLocal) != 0) return later(departure.last, posted) + setup_.command;
    Time first = departure.first;
    Time last = departure.last;
    const bool handshake = (departure.detail & kHandshake) != 0;
    if (handshake) {
      const Message& message = message_of(transfer);
      const Time begin = later(departure.first, posted);
      first = begin + message.first;
      last = begin + message.last;
    }
    Time done = later(last, units[kReceiveKernel].acquire(first, last - first).end);
    span("aie.core", "receive", done - (last - first), done, transfer.operation);
    if (!handshake && posted > departure.first) {  // it has moved on into the host's memory
      const Time begin = later(done, posted);
      done = begin + copied(transfer.bytes);
      span("host memory", "unexpected message", begin, done, transfer.operation);
    }
    return later(done, posted) + setup_.command;
  }

  Time complete_send(const Transfer& transfer, const Stamp& reply, Units& units) override {
    const Time late = units[kLateKernel].acquire(reply.first, reply.last - reply.first).end;
    span("aie.core", "send", late - (reply.last - reply.first), late, transfer.operation);
    return later(reply.last, late);
  }

  [[nodiscard]] std::size_t units() const override { return kUnits; }
  [[nodiscard]] Time post_receive_cost() const override { return setup_.command; }

  Task<Outcome> collective(const Operation& operation, Team& team, CollectiveBuffers buffers) override {
    const aie::Model model{setup_, planner_, wire_, spans_, Time(), nullptr};
    return aie::run_collective(model, operation, team, buffers);
  }

  [[nodiscard]] WireCounters wire() const override { return wire_; }

 private:
  enum Unit : std::size_t { kSendKernel, kReceiveKernel, kLateKernel, kUnits };

  const Message& message_of(const Transfer& transfer) {
    return messages_.between(transfer.source, transfer.destination, transfer.bytes);
  }
  [[nodiscard]] Time copied(std::size_t bytes) const {
    return setup_.bounce.bytes(static_cast<std::int64_t>(bytes));
  }
  void count(const Transfer& transfer, const Message& message) {
    wire_.packets += message.windows;
    wire_.payload_bytes += transfer.bytes;
    wire_.wire_bytes += message.windows * messages_.window(transfer.bytes);
  }
  void span(std::string_view unit, std::string_view what, Time begin, Time end, std::uint64_t operation) {
    if (spans_ != nullptr) spans_->record({unit, what, begin, end, operation});
  }

  aie::Setup setup_;
  mutable aie::Planner planner_;  // keeps the plans that it has made
  aie::Messages messages_;
  int ranks_;
  std::string too_many_;  // for messages between any two ranks; empty: they can be
  SpanSink* spans_;
  WireCounters wire_;
};

}  // namespace

const BackendDescription& aie_backend() {
  static const auto& description = immortal([] {
    BackendDescription d;
    d.name = "aie";
    d.description = "Versal AI Engine array: trees of kernels that exchange windows";
    d.parameters = aie::parameters();
    d.create = [](const BackendContext& context) -> std::unique_ptr<Backend> {
      return std::make_unique<AieBackend>(context);
    };
    d.clock_parameter = "clock";
    d.forecast = aie::forecast;
    d.topics = aie::topics();
    return d;
  }());
  return description;
}

}  // namespace offramp
