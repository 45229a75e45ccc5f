// The Backend interface for adapters and switches: verdicts in sharp.cpp, messages in messages.cpp,
// collectives in collectives.cpp.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backends/sharp/parameters.hpp"
#include "simulators/sharp/machine.hpp"
#include "simulators/world/awaited_part.hpp"

namespace offramp::sharp {

/// A communicator on its nodes. Members are the nodes, in the order of their lowest ranks.
/// Immutable, and shared by the operations of its communicator.
struct Plan {
  /// A rank's node among the members, and its place there.
  struct MemberPosition {
    int member = 0;
    int local = 0;  // index among the ranks of the member
  };
  std::shared_ptr<Group> group = std::make_shared<Group>();
  std::vector<std::vector<int>> ranks;  // of the communicator, by member
  std::vector<MemberPosition> places;   // by rank of the communicator
};

/// The switches' work for all communicators of a world, in the order of modelled time.
class Offloads final : public EventSink, public WorldDevices::Work {
 public:
  /// spec must outlive the object.
  explicit Offloads(const Spec& spec);
  ~Offloads();
  Offloads& operator=(Offloads&&) = delete;

  /// When the tree began to work for the member, and when its result was there.
  struct Completion {
    Time granted;
    Time done;
  };
  using RankPart = AwaitedPart<Completion, Offloads>;  // valid once the switches are done
  /// Adds a member's part. Parts of one operation are matched by context and number.
  void join(RankPart& part, const Plan& plan, const Request& request, std::uint64_t context, int member,
            Time posted, WorldDevices& devices);
  /// The communicator was freed: forgets how many operations it had.
  void forget(std::uint64_t context);

  /// The machine's requests to the world.
  void schedule(Time at, std::uint32_t number) override { devices_->schedule(at, *this, number); }
  void cross(std::size_t link, std::size_t bytes, Time first, Time last, std::uint32_t number) override {
    devices_->cross(link, bytes, first, last, *this, number);
  }
  [[nodiscard]] Resources ports(int world_rank) override { return devices_->resources(world_rank); }
  /// The world's answers, in the order of modelled time.
  void step(Time at, std::uint32_t number) override { machine_.step(at, number); }
  void crossed(std::uint32_t number, Time first, Time last) override {
    machine_.crossed(number, first, last);
  }
  /// Packets of all operations so far.
  [[nodiscard]] const WireCounters& wire() const { return machine_.wire(); }

 private:
  /// An operation that some members have joined.
  class Running;
  using Name = std::pair<std::uint64_t, std::uint32_t>;  // communicator, number of the operation on it

  Machine machine_;
  WorldDevices* devices_ = nullptr;
  std::map<Name, std::unique_ptr<Running>> running_;
  std::map<std::pair<std::uint64_t, int>, std::uint32_t> begun_;  // by communicator and member
};

/// Used by the thread of its world or rank. The context's sinks must outlive it.
class SharpBackend final : public Backend {
 public:
  /// The network must be known: the context's machine describes its switches.
  explicit SharpBackend(const BackendContext& context);

  /// Declines all messages: the host's adapter carries them.
  [[nodiscard]] Verdict supports(const Operation& operation) const override;
  [[nodiscard]] bool waits_for_receiver(const Transfer&) const override { return false; }
  /// Ports of an adapter in both directions, and a node's memory.
  [[nodiscard]] std::span<const ResourceDescription> resources() const override { return resources_; }
  /// The sender copies into shared memory, so its buffer is free at once.
  void issue(const Transfer& transfer, Passage& passage) override;
  void depart(const Transfer& transfer, Passage& passage, const Resources& sender) override;
  /// The stages of messages within a node, before and after the switches.
  void grant(const Transfer& transfer, Passage& passage) override;
  void transmit(const Transfer& transfer, Passage& passage, const Resources& sender) override;
  void arrive(const Transfer& transfer, Passage& passage, const Resources& receiver) override;
  /// The receiver copies out of shared memory.
  Time receive(const Transfer& transfer, const Passage& passage, Time at, Matched matched) override;
  [[nodiscard]] Time copy_time(std::size_t bytes) const override {
    return node_.copy.bytes(static_cast<std::int64_t>(bytes));
  }
  /// Included in the overhead of a message.
  [[nodiscard]] Time post_receive_cost() const override { return {}; }
  /// As the switches combine: see collectives.cpp.
  [[nodiscard]] std::optional<ReductionOrder> order(const Operation& operation,
                                                    const TeamMembers& team) override;
  Task<Outcome> collective(const Operation& operation, Team& team, CollectiveBuffers buffers) override;
  void forget(std::uint64_t context) override;
  [[nodiscard]] WireCounters wire() const override { return offloads_.wire(); }

 private:
  /// Continues the indices of the adapter's ports.
  enum Index : std::size_t { kMemory = kPortIn + 1, kResources };

  /// Declines sizes between low-latency operations and streams.
  [[nodiscard]] Verdict size_verdict(const Operation& operation) const;
  /// True if the operation is streamed rather than sent in packets.
  [[nodiscard]] bool streams(const Operation& operation) const;
  /// Latency from memory to memory.
  [[nodiscard]] Time path_time(const Transfer& transfer) const;

  /// Made at the first use of a communicator, and kept until forget().
  std::shared_ptr<const Plan> plan_of(const TeamMembers& team);
  /// Charges the processor of a rank.
  void spend(Team& team, std::string_view what, Time time);

  Driver driver_;
  NodeCosts node_;
  MachineLayout machine_;
  std::array<ResourceDescription, kResources> resources_;
  Fabric fabric_;
  Offloads offloads_;
  std::unordered_map<std::uint64_t, std::shared_ptr<const Plan>> plans_;  // by set-up context
  std::unordered_map<int, int> job_of_;                                   // by world rank
  std::unordered_map<int, int> groups_of_;                                // by job
  SpanSink* spans_;
};

}  // namespace offramp::sharp
