// The Backend interface for the engines of all ranks: verdicts in zrlmpi.cpp, messages in messages.cpp,
// collectives in collectives.cpp.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "backends/zrlmpi/collectives.hpp"
#include "backends/zrlmpi/parameters.hpp"
#include "simulators/world/direct_mapped_cache.hpp"
#include "simulators/zrlmpi/engine_input.hpp"
#include "simulators/zrlmpi/exchange.hpp"

namespace offramp::zrlmpi {

/// Simulates the engines of both ends of a message. Used by the thread of its world or rank.
class ZrlmpiBackend final : public Backend {
 public:
  /// The context's sinks must outlive the backend.
  explicit ZrlmpiBackend(const BackendContext& context);

  [[nodiscard]] Verdict supports(const Operation& operation) const override;
  [[nodiscard]] bool waits_for_receiver(const Transfer& transfer) const override {
    return transfer.bytes > eager_limit_;
  }
  /// Simulates the call once more: its fate depends on the packets' numbers only.
  [[nodiscard]] DeliveryFault delivery_fault(const Transfer& transfer) override {
    return {!run(request_for(transfer)).ok};
  }
  [[nodiscard]] std::span<const ResourceDescription> resources() const override { return kResources; }
  /// The host hands the command to the role.
  void issue(const Transfer& transfer, Passage& passage) override;
  void depart(const Transfer& transfer, Passage& passage, const Resources&) override;
  /// The engine answers once it has read the header. If it was waiting for the request, the call includes
  /// that.
  void grant(const Transfer& transfer, Passage& passage) override;
  /// The data leaves when the sender's machine has the answer.
  void transmit(const Transfer& transfer, Passage& passage, const Resources&) override;
  void arrive(const Transfer&, Passage& passage, const Resources&) override { passage.stored = passage.last; }
  Time receive(const Transfer& transfer, const Passage& passage, Time at, Matched matched) override;
  /// Out of the memory where granted messages wait.
  [[nodiscard]] Time copy_time(std::size_t bytes) const override;
  void count(const Transfer& transfer, const Passage& passage) override;
  [[nodiscard]] bool records() const override { return observed(); }
  void record_sender(const Transfer& transfer, const Passage& passage) override;
  [[nodiscard]] Time post_receive_cost() const override { return command_; }
  [[nodiscard]] std::optional<ReductionOrder> order(const Operation& operation,
                                                    const TeamMembers& team) override {
    return fold_of(collectives_.order, operation, team);
  }
  Task<Outcome> collective(const Operation& operation, Team& team, CollectiveBuffers buffers) override;
  [[nodiscard]] WireCounters wire() const override { return wire_; }

 private:
  // The published engine has one state machine for both directions, and its calls block. Two roles that send
  // to each other deadlock, each waiting for the other's CLEAR_TO_SEND (seen in a run of its source). MPI
  // requires calls that do not wait like that: MPI_Sendrecv, and every send whose receive is posted. This
  // model therefore has one machine for sending and one for receiving, each for one call at a time. Blocking
  // roles, as in all collectives, use only one of them at a time. Since each machine handles the data of one
  // message only, the FPGA's port is no further limit.
  static constexpr std::array<ResourceDescription, 2> kResources{
      {{"send machine", Scope::kRank, Occupation::kBySender},
       {"receive machine", Scope::kRank, Occupation::kByReceiver}}};

  /// A call's times, relative to its beginning; drawn in messages.cpp.
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
    std::uint64_t kind = 0;  // see kind_of()
    Time late;               // of the receiver's role after the beginning
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
    Time ready;  // the receiver's role has called
    friend bool operator==(const Case&, const Case&) = default;
  };
  /// For the cache of messages with faults.
  struct CaseHash {
    std::uint64_t operator()(const Case& one) const {
      const int ranks = one.source * kMaximumNodes + one.destination;
      return static_cast<std::uint64_t>(ranks) * 31 + one.number +
             static_cast<std::uint64_t>((one.ready - one.begin).count());
    }
  };
  using FaultyCalls = DirectMappedCache<Case, Relative, 257, CaseHash>;
  using SeenSpans = DirectMappedCache<View, std::vector<Span>, 257, ViewHash>;
  /// Collects spans for the cache.
  struct SpanList final : SpanSink {
    std::vector<Span> spans;
    void record(const Span& span) override { spans.push_back(span); }
  };

  /// The reason to decline the operation. Empty if it is carried.
  [[nodiscard]] std::string_view objection_to(const Operation& operation) const;

  /// The longest message of the algorithm: a replicator moves its group's blocks at once.
  [[nodiscard]] std::uint64_t longest_message(const Operation& operation) const;
  /// The product, or a value above the limit if it could overflow.
  [[nodiscard]] static std::uint64_t saturated(std::uint64_t bytes, std::uint64_t blocks);

  /// By the features of the published header.
  static std::string_view strict_objection_to(const Operation& operation);

  /// Types other than INT and FLOAT travel as words, with the call code of INT.
  [[nodiscard]] static MpiCall call_of(const Transfer& transfer);

  /// Identifies a message among those to one rank.
  [[nodiscard]] static std::uint64_t name_of(const Transfer& transfer);

  /// Calls of one kind have equal times: messages of one size, and calls of barriers.
  [[nodiscard]] static std::uint64_t kind_of(const Transfer& transfer);

  /// Without times: the caller sets them.
  [[nodiscard]] ExchangeRequest request_for(const Transfer& transfer) const;

  /// Simulates a call of both engines.
  Relative run(const ExchangeRequest& request);

  /// A call with a ready receiver. Without faults it is equal for all messages of a size at any time, so the
  /// network is simulated once per size. Valid until the next call.
  const Relative& relative(const Transfer& transfer, Time begin);

  /// With faults every message is a separate case, which its stages request one after the other: the network
  /// is simulated once, or twice for a late receiver. Valid until the next call.
  const Relative& faulty(const Transfer& transfer, Time begin, Time ready);

  /// True if no timer fires at the sender although the receiver is late. The timer starts after the request
  /// has been sent; the answer is in time if the stage after it is reached before the timeout.
  [[nodiscard]] bool is_in_time(const Transfer& transfer, const Relative& call, Time late) const;

  /// A call whose receiver is ready at a given time. A late receiver delays everything from the grant on,
  /// unless a timer of the sender fires meanwhile; then the network is simulated.
  Relative exchange(const Transfer& transfer, Time begin, Time ready);

  /// The call of a granted message; valid until the next call.
  const Relative& granted_call(const Transfer& transfer, const Passage& passage);

  /// Records spans. Without faults and packets, they are equal for all messages of a size with an equally
  /// late receiver, so they are cached and shifted in time.
  void replay(const Transfer& transfer, Time begin, Time late, End end);

  /// True if spans or packets are wanted.
  [[nodiscard]] bool observed() const { return spans_ != nullptr || packets_ != nullptr; }

  /// The time at which a ready receiver alone would make the data leave when it did. After the answer, the
  /// sender's machine may have been busy with another call.
  Time ready_for(const Transfer& transfer, const Passage& passage);

  /// Simulates the network again at its modelled time, to record spans and packets of this rank's end.
  void observe(const Transfer& transfer, Time begin, Time ready, End end);

  Relative made_;  // result of relative()
  Relative late_;  // result of granted_call()
  MpeSpec spec_;
  ExchangeRunner runner_;
  Time header_time_;  // to read or to assemble a header
  int ranks_;
  // The engines of all ranks. In a run each rank has its own object, and a request is answered before the
  // next departs.
  std::vector<EngineInput> inputs_;
  /// Only the published header's features.
  bool strict_;
  std::uint64_t eager_limit_;
  Time command_;
  Bandwidth bounce_;
  Time bounce_latency_;
  FaultRates faults_;
  /// Null if nothing is recorded.
  SpanSink* spans_;
  PacketSink* packets_;
  CollectiveModel collectives_;
  std::unique_ptr<SeenSpans> seen_;                   // nullptr unless spans are recorded
  DirectMappedCache<std::uint64_t, Relative> calls_;  // by kind
  std::unique_ptr<FaultyCalls> faulty_;               // nullptr without faults
  WireCounters wire_;
};

}  // namespace offramp::zrlmpi
