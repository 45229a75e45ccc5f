// The engines of all ranks behind the Backend interface: verdicts in zrlmpi.cpp, messages in messages.cpp,
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

class ZrlmpiBackend final : public Backend {
 public:
  explicit ZrlmpiBackend(const BackendContext& context);

  [[nodiscard]] Verdict supports(const Operation& operation) const override;
  [[nodiscard]] bool waits_for_receiver(const Transfer& transfer) const override {
    return transfer.bytes > eager_limit_;
  }
  [[nodiscard]] MessageFate fate(const Transfer& transfer) override {
    return {!run(request_for(transfer)).ok};
  }
  [[nodiscard]] std::span<const ResourceDescription> resources() const override { return kResources; }
  void issue(const Transfer& transfer, Passage& passage) override;
  void depart(const Transfer& transfer, Passage& passage, const Resources&) override;
  /// The engine answers once it has read the header. That of a request which it waits for is in the call.
  void grant(const Transfer& transfer, Passage& passage) override;
  void transmit(const Transfer& transfer, Passage& passage, const Resources&) override;
  void arrive(const Transfer&, Passage& passage, const Resources&) override { passage.stored = passage.last; }
  Time receive(const Transfer& transfer, const Passage& passage, Time at, Matched matched) override;
  [[nodiscard]] Time copy_time(std::size_t bytes) const override;
  void count(const Transfer& transfer, const Passage& passage) override;
  [[nodiscard]] bool records() const override { return observed(); }
  void record_sender(const Transfer& transfer, const Passage& passage) override;
  [[nodiscard]] Time post_receive_cost() const override { return command_; }
  Task<Outcome> collective(const Operation& operation, Team& team, CollectiveBuffers buffers) override;
  [[nodiscard]] WireCounters wire() const override { return wire_; }

 private:
  // The published engine has one state machine for both directions, whose calls block: two roles that send to
  // each other wait for ever, each for the other's CLEAR_TO_SEND (seen in a run of its source). MPI has calls
  // that may not wait like that: MPI_Sendrecv, and every send whose receive is posted. So there is a machine
  // for sending and one for receiving here, each of which works on one call at a time, as the published one
  // does. A role that blocks, as in all collectives, has only one of them at work. As only one message's data
  // passes either machine, no more than that passes the FPGA's port.
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
      const int ranks = one.source * kMaximumNodes + one.destination;
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
  [[nodiscard]] std::string_view objection_to(const Operation& operation) const;

  /// The longest message that the algorithm sends: a replicator moves its group's blocks at once.
  [[nodiscard]] std::uint64_t longest_message(const Operation& operation) const;
  [[nodiscard]] static std::uint64_t saturated(std::uint64_t bytes, std::uint64_t blocks);

  static std::string_view strict_objection_to(const Operation& operation);

  /// Types beyond INT and FLOAT travel as words, with the call code of INT.
  [[nodiscard]] static Call call_of(const Transfer& transfer);

  /// Among those to one rank.
  [[nodiscard]] static std::uint64_t name_of(const Transfer& transfer);

  /// Calls of one kind take the same time: those of a size, and the calls of barriers.
  [[nodiscard]] static std::uint64_t kind_of(const Transfer& transfer);

  [[nodiscard]] ExchangeRequest request_for(const Transfer& transfer) const;

  Relative run(const ExchangeRequest& request);

  /// A call whose receiver is ready. Without faults it is the same for every message of a size, whenever it
  /// happens: the network runs once per size. Valid until the next call.
  const Relative& relative(const Transfer& transfer, Time begin);

  /// With faults every message is a case of its own. Its stages ask for it one after the other: the network
  /// runs once, or twice if the receiver was late. Valid until the next call.
  const Relative& faulty(const Transfer& transfer, Time begin, Time ready);

  /// When a call began whose first byte arrived then. How long that took may depend on when it began, if
  /// links fail at times; the second answer is that of the time itself, but at the edge of a failure.
  Time begin_of(const Transfer& transfer, Time first);

  /// Whether no timer fires at a sender whose receiver is late. It starts after the request has been sent, so
  /// the answer is in time if what follows it comes before.
  [[nodiscard]] bool is_in_time(const Transfer& transfer, const Relative& call, Time late) const;

  /// A call whose receiver is ready at a given time. A late receiver moves everything from the grant on, as
  /// long as no timer of the sender fires meanwhile; otherwise the network itself tells.
  Relative exchange(const Transfer& transfer, Time begin, Time ready);

  /// The call of a message that was granted; valid until the next call.
  const Relative& granted_call(const Transfer& transfer, const Passage& passage);

  /// Without faults and packets the spans are the same for every message of a size whose receiver is as late:
  /// they are kept, and told again at their place in time.
  void replay(const Transfer& transfer, Time begin, Time late, End end);

  [[nodiscard]] bool observed() const { return spans_ != nullptr || packets_ != nullptr; }

  /// When a receiver is ready that alone has the data leave when it did: behind its answer, the sender's
  /// machine may have been busy with another call.
  Time ready_for(const Transfer& transfer, const Passage& passage);

  /// The same network once more, at its place in time: with the spans and the packets of this rank's end.
  void observe(const Transfer& transfer, Time begin, Time ready, End end);

  Relative made_;
  Relative late_;
  MpeSpec spec_;
  ExchangeRunner runner_;
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
  CollectiveModel collectives_;
  std::unique_ptr<SeenSpans> seen_;                   // null unless spans are recorded
  DirectMappedCache<std::uint64_t, Relative> calls_;  // by kind
  std::unique_ptr<FaultyCalls> faulty_;               // null without faults
  WireCounters wire_;
};

}  // namespace offramp::zrlmpi
