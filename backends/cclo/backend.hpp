// The Backend interface for the engines of all ranks: verdicts in cclo.cpp, messages in messages.cpp,
// collectives in collectives.cpp.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "backends/cclo/driver.hpp"
#include "backends/cclo/parameters.hpp"
#include "backends/cclo/plans.hpp"
#include "simulators/cclo/calendar.hpp"
#include "simulators/world/rank_table.hpp"

namespace offramp::cclo {

/// Owns the driver and the state of every rank's engine. Used by the thread of its world or rank.
class CcloBackend final : public Backend {
 public:
  /// The context's sinks must outlive the backend.
  explicit CcloBackend(const BackendContext& context);

  [[nodiscard]] Verdict supports(const Operation& operation) const override;
  [[nodiscard]] bool waits_for_receiver(const Transfer& transfer) const override {
    return is_write(transfer) ? transfer.bytes > kBuffered : waits_for_buffers(transfer);
  }
  /// Decided before the message departs, since both ends must agree.
  [[nodiscard]] DeliveryFault delivery_fault(const Transfer& transfer) override;
  [[nodiscard]] std::span<const ResourceDescription> resources() const override { return kEngineResources; }
  /// The host's part: copies the data to the card and starts the call.
  void issue(const Transfer& transfer, Passage& passage) override;
  void depart(const Transfer& transfer, Passage& passage, const Resources& sender) override;
  /// The receiver's call announces the address for the data.
  void grant(const Transfer& transfer, Passage& passage) override;
  void transmit(const Transfer& transfer, Passage& passage, const Resources& sender) override;
  void arrive(const Transfer& transfer, Passage& passage, const Resources& receiver) override;
  Time receive(const Transfer& transfer, const Passage& passage, Time at, Matched matched) override;
  /// The receiver's driver answers, or its call frees buffers for the rest of a long message.
  void confirm(const Transfer& transfer, Passage& passage) override;
  [[nodiscard]] Time copy_time(std::size_t bytes) const override;
  /// Adds the packets of a write. Eager messages are counted when they depart.
  void count(const Transfer& transfer, const Passage& passage) override;
  [[nodiscard]] bool records() const override { return spans_ != nullptr || tap_ != nullptr; }
  void record_sender(const Transfer& transfer, const Passage& passage) override;
  [[nodiscard]] Time post_receive_cost() const override { return configuration_.host.queue; }

  /// As the firmware combines. Arrival would decide it on hardware.
  [[nodiscard]] std::optional<ReductionOrder> order(const Operation& operation,
                                                    const TeamMembers& team) override;
  /// Runs a collective as a call of the engine.
  Task<Outcome> collective(const Operation& operation, Team& team, CollectiveBuffers buffers) override;

  [[nodiscard]] WireCounters wire() const override { return wire_; }

  /// reason: the code of an Error.
  [[nodiscard]] std::string_view failure(std::uint8_t reason) const override;

 private:
  /// Numbers of packets for faults: those of collectives have this bit.
  static constexpr std::uint64_t kCollectivePackets = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kBuffered = 64 * 1024;  // sends up to this size never wait for their receive

  /// The drivers' copies over a card's bus. Its ranks request them in an arbitrary order.
  struct Bus {
    Calendar to_card;
    Calendar from_card;
  };
  /// Per-rank state of the driver and the receives.
  struct RankEngine {
    /// Sets the engine up, which may change the spec.
    RankEngine(const Configuration& configuration, Spec& spec, int rank, int ranks, Bus& its_bus)
        : driver(configuration, spec, rank, ranks), bus(its_bus) {}

    Driver driver;
    Bus& bus;  // of the rank's card
    Calendar receive_calls;
    // A message that occupied RX buffers before its receive.
    struct Waiting {
      Time first;
      Time done;
      std::uint64_t buffers;
    };
    static constexpr std::size_t kMostWaiting = 1024;  // older ones have left the buffers
    std::deque<Waiting> waiting;
    // Collectives that the rank has begun, to number their packets.
    std::uint64_t collectives = 0;
  };
  /// Set up on first use.
  RankEngine& engine(int rank);
  /// All ranks' drivers have the same costs and limits.
  [[nodiscard]] const Driver& driver() const { return first_->driver; }

  /// True if a communicator of that many ranks fits the exchange memory.
  [[nodiscard]] bool fits(int ranks) const;

  /// Reasons of declines live as long as the backend.
  [[nodiscard]] std::string_view too_large(int ranks) const;

  /// Per rank five words, plus two per communicator ([accl] Communicators), in addition to the buffers.
  [[nodiscard]] const Remedy& larger_memory(int ranks) const;

  /// Empty if the engine has the call with this type and function.
  [[nodiscard]] std::string_view objection_to_call(const Operation& operation) const;

  /// kNop for operations that are declined.
  static Scenario scenario_of_kind(OperationKind kind);

  /// Returns the address of the world communicator or, if that does not fit, of one for the pair. Writing it
  /// advances the host's `clock`.
  std::uint32_t communicator_with(RankEngine& engine, int rank, int peer, Time& clock);

  /// Makes the call in the IO space only; the plans provide its duration.
  void call(RankEngine& engine, Scenario scenario, const Transfer& transfer, int peer, std::uint32_t address);

  /// epoch: when the call begins, for faults that depend on time.
  [[nodiscard]] PacketFaults packet_faults_of(const Transfer& transfer, Time epoch) const;
  /// True if the data is written to the receiver's memory, by rendezvous.
  [[nodiscard]] bool is_write(const Transfer& transfer) const {
    return is_rendezvous(spec_, Scenario::kSend, transfer.bytes);
  }

  /// Units are resources in this order.
  static constexpr std::size_t index_of(Unit unit) { return static_cast<std::size_t>(unit); }

  /// The driver copies the user's buffer to the card. Returns when it has arrived.
  Time stage_in(RankEngine& engine, Time at, Time duration) const;
  /// The driver copies a message that is `done` back to the user's buffer, once the program waits for it at
  /// `at`. With Coyote, DMA has copied the data already, unless the bus was busy.
  Time stage_out(RankEngine& engine, const Transfer& transfer, Time done, Time at);
  /// The copy of a collective's result, after the engine's call.
  void copy_back(RankEngine& engine, Team& team, std::uint64_t bytes) const;
  /// The bytes that a collective reads from and writes to the user's memory of this rank.
  struct Staged {
    std::uint64_t in = 0;
    std::uint64_t out = 0;
  };
  /// Returns null if ranks share the units of a card.
  const OwnSteps* own_steps(WorldDevices* devices) {
    if (devices_ != devices && machine_.ranks_per_card() == 1)
      own_steps_ = dynamic_cast<const OwnSteps*>(devices);
    devices_ = devices;
    return own_steps_;
  }
  /// Nothing for ranks without data on that side.
  static Staged staged_of(const Operation& operation, const Team& team, const CollectiveBuffers& buffers);

  void depart_write(const Transfer& transfer, Passage& passage, const Resources& sender);
  /// Computes a write on faulty wires; its fate depends on when its call began.
  MessageRunner::Rendezvous with_faults(const Transfer& transfer, const Passage& passage);
  /// Marks the message as lost, unless there is no error.
  static void fail(Passage& passage, Error error);
  /// Receives a message of a collective.
  void land(const Transfer& transfer, Passage& passage, const Resources& receiver);

  /// The first RX buffers accept data without a receive. The rest of a longer message waits at the sender.
  [[nodiscard]] bool waits_for_buffers(const Transfer& transfer) const {
    return transfer.bytes > kBuffered && spec_.segments(transfer.bytes) > spec_.rx_buffers;
  }

  /// The delay of the rest of such a message when the receiver claims its first buffer late. first: arrival
  /// of its first packet.
  Time back_pressure(const Transfer& transfer, Time first, Time posted);

  /// The delay by other users of the sender's memory or bus.
  Time wait_for_memory(const Resources& sender, const Plans::Rates& rates, Time begin, Time complete) const;
  /// The end of a call that would end at `call` alone, if the message's last byte leaves the card at `left`:
  /// the transmit buffer must have room for all remaining data.
  [[nodiscard]] Time handed_over(Time call, Time left) const;
  /// The delay by other messages in the protocol engine and on its link, which carry one message at a time.
  static Time wait_for_engine(const Resources& sender, Time at, Time engine, Time link);

  /// A message that arrived before its receive occupies RX buffers until `done`. Segments without a buffer
  /// were moved to host memory and are fetched from there. Returns the duration of that.
  Time wait_in_buffers(RankEngine& engine, const Transfer& transfer, Time first, Time done);

  // Repeat calls at their modelled times, to record spans and packets.
  // Where spans and packets of one rank's call go.
  [[nodiscard]] Watch watch(const Transfer& transfer, int rank) const;
  /// These do nothing without an observer.
  void observe_host(const Transfer& transfer, int rank, std::string_view what, Time begin, Time end) const;
  void observe_receive(const Transfer& transfer, const Plan& plan, Time first, Time begin);
  void observe_landing(const Transfer& transfer, const Passage& passage, Time begin);

  Configuration configuration_;
  Spec spec_;
  int ranks_;
  MachineLayout machine_;
  RankTable<Bus> buses_;  // by card
  RankTable<std::optional<RankEngine>> engines_;
  RankEngine* first_;
  mutable Plans plans_;  // a cache
  FaultRates faults_;
  SpanSink* spans_;
  std::unique_ptr<PacketTap> tap_;
  bool world_fits_;
  WorldDevices* devices_ = nullptr;  // as of the last collective
  const OwnSteps* own_steps_ = nullptr;
  mutable std::map<int, std::string> reasons_;  // by number of ranks, as remedies_
  mutable std::map<int, Remedy> remedies_;
  WireCounters wire_;
};

}  // namespace offramp::cclo
