// One rank's engine behind the Backend interface: verdicts in cclo.cpp, messages in messages.cpp, collectives
// in collectives.cpp.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "backends/cclo/driver.hpp"
#include "backends/cclo/parameters.hpp"
#include "backends/cclo/plans.hpp"
#include "simulators/cclo/calendar.hpp"
#include "simulators/model/issue_order.hpp"

namespace offramp::cclo {

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

  [[nodiscard]] Verdict supports(const Operation& operation) const override;
  Departure depart(const Transfer& transfer, Time issued, Units& units) override;
  Stamp match(const Transfer& transfer, const Stamp& departure, Time posted) override;
  Time receive(const Transfer& transfer, const Stamp& departure, Time posted, Units&) override;
  Time complete_send(const Transfer& transfer, const Stamp& reply, Units& units) override;
  [[nodiscard]] std::size_t units() const override { return kUnits; }
  [[nodiscard]] Time post_receive_cost() const override { return configuration_.host.queue; }

  Task<Outcome> collective(const Operation& operation, Team& team, CollectiveBuffers buffers) override;

  [[nodiscard]] WireCounters wire() const override { return wire_; }

  [[nodiscard]] std::string_view failure(const Stamp& stamp) const override;

 private:
  // Behind the engine's own.
  enum Index : std::size_t { kSendCalls = EngineUnits::kCount, kLateSends, kUnits };
  static constexpr std::uint64_t kCollectivePackets = std::uint64_t{1} << 63;

  [[nodiscard]] bool fits(int ranks) const;

  /// The texts live as long as the backend.
  [[nodiscard]] std::string_view too_large(int ranks) const;

  /// A communicator takes five words per rank and two of its own (published: Communicator) beside the
  /// buffers.
  [[nodiscard]] const Remedy& larger_memory(int ranks) const;

  [[nodiscard]] std::string_view objection_to_call(const Operation& operation) const;

  static Scenario scenario_of_kind(OperationKind kind);

  /// That of the world; where it does not fit, one of the pair. Writing it takes the host's time.
  std::uint32_t communicator_with(int peer, Time& clock);

  /// The call as the IO space sees it; its time comes from the plans.
  void call(Scenario scenario, const Transfer& transfer, int peer, std::uint32_t address);

  [[nodiscard]] Fate fate_of(const Transfer& transfer, Time epoch) const;

  static constexpr std::size_t index_of(Unit unit) { return static_cast<std::size_t>(unit); }

  /// The driver copies the user's buffer to the card; returns when it is there.
  Time stage_in(Arbiter& pcie, Time at, Time duration) const;
  /// And back, of a message; the DMAs of Coyote have done that already, if others left them the bus.
  Time stage_out(const Transfer& transfer, Time at);
  /// What a collective reads from the user's memory at this rank, and writes there.
  struct Staged {
    std::uint64_t in = 0;
    std::uint64_t out = 0;
  };
  static Staged staged_of(const Operation& operation, const Team& team, const CollectiveBuffers& buffers);
  Departure depart_local(const Transfer& transfer, Departure departure, Units& units);
  Departure depart_rendezvous(const Transfer& transfer, Departure departure, Units& units);

  /// The first RX buffers take what no receive has asked for; the rest of a longer message waits at the
  /// sender.
  [[nodiscard]] bool waits_for_buffers(const Transfer& transfer, const Plan& plan) const;

  /// How much later the rest of such a message comes because the receiver claimed its first buffer late.
  Time back_pressure(const Transfer& transfer, const Stamp& departure, Time posted);

  /// The protocol engine and its link carry one message after the other, also beside calls.
  Time wait_for_engine(Time at, const Plan& plan, Units& units) const;

  /// When the last packet of a message is here, whose first one came at `first`: engine and link carry those
  /// of all messages, in the order in which they come, whatever the program asks for first.
  Time land(std::uint64_t bytes, Time duration, Time first);

  /// A message that came before its receive takes RX buffers until `done`. What found none was moved to host
  /// memory and comes back from there. Returns how long that takes.
  Time wait_in_buffers(const Transfer& transfer, const Plan& plan, Time first, Time done);

  // Calls once more, at their places in time, with their spans and packets.
  [[nodiscard]] bool observed() const { return spans_ != nullptr || tap_ != nullptr; }
  [[nodiscard]] Watch watch(const Transfer& transfer) const;
  void observe_host(const Transfer& transfer, std::string_view what, Time begin, Time end) const;
  void observe_receive(const Transfer& transfer, const Plan& plan, const Stamp& departure, Time begin);
  void observe_landing(const Transfer& transfer, const Stamp& departure, Time begin, Time first, Time last);

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

}  // namespace offramp::cclo
