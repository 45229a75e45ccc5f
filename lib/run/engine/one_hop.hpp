// Small collectives in one hop: each rank writes its contribution into memory that all members see, and makes
// its own result from those of the others, in the order of the backend's algorithm (CombinePlan). For
// members that share memory; larger collectives and the others move along the algorithm itself (Collective).
//
// The engine owns one OneHop, and each context at most one HopRing. All decisions follow from what the
// members know alike: kind, size, members, and the number of collectives so far.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/run/engine/combine_plan.hpp"
#include "lib/run/engine/records.hpp"
#include "lib/run/engine/slot_ring.hpp"

namespace offramp {

class Context;
class Engine;
class Reducer;

/// One collective through slots, at one rank. Stays where it is from start to end.
struct HopOperation {
  HopOperation(const Operation& operation_, const CollectiveBuffers& buffers_)
      : operation(operation_), buffers(buffers_) {}

  Context* context = nullptr;
  const Operation operation;
  const CollectiveBuffers buffers;
  Reducer* reducer = nullptr;
  const CombinePlan* plan = nullptr;  // of a reduction
  std::uint8_t backend = 0;
  std::int32_t tag = 0;
  /// The operation is complete; or, if `refused`, the algorithm has to carry it after all.
  void (*on_end)(HopOperation& self) = nullptr;
  void* owner = nullptr;
  bool refused = false;
  Outcome outcome = Outcome::kOk;

  // Of OneHop.
  bool published = false;
  int next = 0;  // the rank whose contribution is awaited
  int end = 0;   // behind the last one
  unsigned turns_without_credit = 0;
  std::uint64_t number = 0;
  ListLink<HopOperation> link;
  /// A contribution that came as a message.
  struct Arrived {
    int rank = 0;
    ReceiveRecord record;
    alignas(std::max_align_t) std::array<std::byte, SlotRing::kMostBytes> data;
  };
  std::vector<std::unique_ptr<Arrived>> arrived;
};

/// A communicator's slots, as one member has them.
class HopRing {
 public:
  HopRing() = default;
  ~HopRing();
  HopRing(const HopRing&) = delete;
  HopRing& operator=(const HopRing&) = delete;

 private:
  friend class OneHop;
  enum class State : std::uint8_t { kNew, kJoining, kReady, kUnfit };

  /// This rank reads nothing of the operation any more.
  void finish(std::uint64_t number);

  State state_ = State::kNew;
  unsigned calls_ = 0;         // of small collectives, while it is new
  std::uint64_t started_ = 0;  // operations
  std::uint64_t finished_ = 0;
  std::set<std::uint64_t> finished_early_;  // before one that began earlier
  SlotRing slots_;
  std::uint64_t place_ = 0;  // of the slots, as its leader has told
  ReceiveRecord invitation_;
  struct Plan {
    Operation operation;
    std::uint8_t backend = 0;
    std::optional<CombinePlan> plan;
  };
  static constexpr std::size_t kPlans = 64;
  std::array<std::unique_ptr<Plan>, kPlans> plans_;
};

class OneHop {
 public:
  OneHop(Engine& engine, Fabric& fabric) : engine_(engine), fabric_(fabric) {}
  OneHop(const OneHop&) = delete;
  OneHop& operator=(const OneHop&) = delete;

  /// How slots carry a collective that this backend supports. Asked once for each, in the order of the calls
  /// on the context. The plan lives until the collective has ended.
  struct Answer {
    bool yes = false;
    const CombinePlan* plan = nullptr;  // of a reduction
  };
  Answer takes(Context& context, const Operation& operation, std::uint8_t backend);
  /// May end before it returns. The context stays until the end.
  void start(HopOperation& operation);
  /// Returns the number of operations that have ended.
  int progress() { return waiting_.empty() ? 0 : advance_all(); }
  /// Collectives that have gone through slots at this rank.
  [[nodiscard]] std::uint64_t carried() const { return carried_; }
  /// What the operations wait for, a line each.
  [[nodiscard]] std::string describe() const;

 private:
  /// A message on its way.
  struct Sent {
    SendRecord record;
    std::vector<std::byte> data;
  };
  struct Area {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    SlotRing slots;
  };

  HopRing* ring_of(Context& context);
  const CombinePlan* plan_of(Context& context, const Operation& operation, std::uint8_t backend);
  void join(Context& context, std::uint8_t backend);
  void on_invitation(Context& context);
  std::uint64_t take_area(int ranks);
  void send(Context& context, int to, std::int32_t tag, Bytes data, std::uint8_t backend);

  int advance_all();
  bool advance(HopOperation& operation);
  bool publish(HopOperation& operation);
  bool has_come(HopOperation& operation, int rank);
  static Bytes contribution(const HopOperation& operation, int rank);
  void collect(HopOperation& operation);
  void combine(HopOperation& operation);

  Engine& engine_;
  Fabric& fabric_;
  IntrusiveList<HopOperation, &HopOperation::link> waiting_;
  std::vector<Area> areas_;  // of the memory of this rank: for communicators whose first member it is
  std::vector<std::unique_ptr<Sent>> sent_;
  // Replaced while operations may still use them.
  std::vector<std::unique_ptr<HopRing::Plan>> replaced_;
  std::uint64_t carried_ = 0;
};

}  // namespace offramp
