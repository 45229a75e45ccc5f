// The Backend interface for adapters and switches: verdicts in sharp.cpp, messages in messages.cpp,
// collectives in collectives.cpp.
#pragma once

#include <array>
#include <coroutine>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backends/sharp/parameters.hpp"
#include "simulators/sharp/machine.hpp"

namespace offramp::sharp {

/// A communicator on its nodes. Members are the nodes, in the order of their lowest ranks.
struct Plan {
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
  Offloads(const Offloads&) = delete;
  Offloads& operator=(const Offloads&) = delete;

  struct Completion {
    Time granted;
    Time done;
  };
  /// One member's part; awaited once, in the frame that owns it.
  class [[nodiscard]] RankPart {
   public:
    RankPart() = default;
    RankPart(const RankPart&) = delete;
    RankPart& operator=(const RankPart&) = delete;
    [[nodiscard]] bool await_ready() const { return ready_; }
    void await_suspend(std::coroutine_handle<> waiter) { waiter_ = waiter; }
    [[nodiscard]] Completion await_resume() const { return completion_; }

   private:
    friend class Offloads;
    Completion completion_;
    bool ready_ = false;
    std::coroutine_handle<> waiter_;
  };
  /// Adds a member's part. Parts of one operation are matched by context and number.
  void join(RankPart& part, const Plan& plan, const Request& request, std::uint64_t context, int member,
            Time posted, WorldDevices& devices);
  void forget(std::uint64_t context);

  void schedule(Time at, std::uint32_t number) override { devices_->schedule(at, *this, number); }
  void cross(std::size_t link, std::size_t bytes, Time first, Time last, std::uint32_t number) override {
    devices_->cross(link, bytes, first, last, *this, number);
  }
  [[nodiscard]] Resources ports(int world_rank) override { return devices_->resources(world_rank); }
  void step(Time at, std::uint32_t number) override { machine_.step(at, number); }
  void crossed(std::uint32_t number, Time first, Time last) override {
    machine_.crossed(number, first, last);
  }
  [[nodiscard]] const WireCounters& wire() const { return machine_.wire(); }

 private:
  class Running;
  using Name = std::pair<std::uint64_t, std::uint32_t>;  // communicator, number of the operation on it

  Machine machine_;
  WorldDevices* devices_ = nullptr;
  std::map<Name, std::unique_ptr<Running>> running_;
  std::map<std::pair<std::uint64_t, int>, std::uint32_t> begun_;  // by communicator and member
};

class SharpBackend final : public Backend {
 public:
  explicit SharpBackend(const BackendContext& context);

  [[nodiscard]] Verdict supports(const Operation& operation) const override;
  [[nodiscard]] bool waits_for_receiver(const Transfer&) const override { return false; }
  [[nodiscard]] std::span<const ResourceDescription> resources() const override { return resources_; }
  void issue(const Transfer& transfer, Passage& passage) override;
  void depart(const Transfer& transfer, Passage& passage, const Resources& sender) override;
  void grant(const Transfer& transfer, Passage& passage) override;
  void transmit(const Transfer& transfer, Passage& passage, const Resources& sender) override;
  void arrive(const Transfer& transfer, Passage& passage, const Resources& receiver) override;
  Time receive(const Transfer& transfer, const Passage& passage, Time at, Matched matched) override;
  [[nodiscard]] Time copy_time(std::size_t bytes) const override {
    return node_.copy.bytes(static_cast<std::int64_t>(bytes));
  }
  [[nodiscard]] Time post_receive_cost() const override { return {}; }
  [[nodiscard]] std::optional<ReductionOrder> order(const Operation& operation,
                                                    const TeamMembers& team) override;
  Task<Outcome> collective(const Operation& operation, Team& team, CollectiveBuffers buffers) override;
  void forget(std::uint64_t context) override;
  [[nodiscard]] WireCounters wire() const override { return offloads_.wire(); }

 private:
  enum Index : std::size_t { kMemory = kPortIn + 1, kResources };

  [[nodiscard]] Verdict size_verdict(const Operation& operation) const;
  [[nodiscard]] bool streams(const Operation& operation) const;
  [[nodiscard]] Time path_time(const Transfer& transfer) const;

  std::shared_ptr<const Plan> plan_of(const TeamMembers& team);
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
