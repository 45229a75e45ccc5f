// Small collectives in one hop. Each rank writes its contribution into a slot of shared memory and reads
// those of the others. It computes its own result in the order of the backend's algorithm (CombinePlan).
// Collectives that are larger, or whose members do not share memory, move along the algorithm itself
// (Collective).
//
// - The engine owns one OneHop, each context at most one HopRing.
// - A communicator gets slots depending on its members and on the number of its collectives so far.
// - A collective uses the slots depending on its kind and size.
// - Members of an erroneous program may disagree about kind or size: see one_hop_mismatch.cpp.
//
// Not thread-safe: called under the engine's lock.
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

/// One collective at one rank, from its start until its data is in place or the algorithm has to carry it.
/// Owned by the Collective; must not move.
struct HopOperation {
  HopOperation(const Operation& operation_, const CollectiveBuffers& buffers_)
      : operation(operation_), buffers(buffers_) {}

  Context* context = nullptr;
  const Operation operation;
  const CollectiveBuffers buffers;
  Reducer* reducer = nullptr;
  const CombinePlan* plan = nullptr;  // null unless it is a reduction
  std::uint64_t number = 0;           // of OneHop::Answer
  std::uint8_t backend = 0;
  std::int32_t tag = 0;
  /// Called at the end, which is kDone or kRefused.
  void (*on_end)(HopOperation& self) = nullptr;
  void* owner = nullptr;
  enum class State : std::uint8_t {
    kUnpublished,  // waits for its slot, which is still being read
    kWaiting,      // waits for the contributions of others
    kWatched,      // the algorithm carries it here, but the slots may have its result
    kRead,         // as kWatched, and all slots are read: only a notice can end it
    kDone,         // `outcome` is the operation's
    kRefused       // the algorithm has to carry it
  };
  State state = State::kUnpublished;
  Outcome outcome = Outcome::kOk;

  // State of OneHop.
  int first = 0;                      // the first rank whose contribution is read
  int end = 0;                        // one past the last
  int next = 0;                       // the rank that is awaited
  std::uint32_t algorithm_ranks = 0;  // contributors along the algorithm: one bit per rank
  int mismatched = 0;                 // contributions to another collective
  unsigned failed_turns = 0;          // turns without an advance
  ListLink<HopOperation> link;
  /// A contribution that came as a message: its label, padding, and its data. A notice has no data.
  struct Arrived {
    static constexpr std::size_t kLabelBytes = 16;
    int rank = 0;
    ReceiveRecord record;
    alignas(std::max_align_t) std::array<std::byte, kLabelBytes + SlotRing::kMostBytes> message;
  };
  std::vector<std::unique_ptr<Arrived>> arrived;
};

/// One member's view of a communicator's slots, with its plans.
class HopRing {
 public:
  HopRing() = default;
  ~HopRing();
  HopRing& operator=(HopRing&&) = delete;

 private:
  friend class OneHop;
  enum class State : std::uint8_t { kNew, kJoining, kReady, kUnfit };

  /// Records that this rank reads no more slots of the operation.
  void finish(std::uint64_t number);

  State state_ = State::kNew;
  unsigned calls_ = 0;         // collectives before the slots
  std::uint64_t started_ = 0;  // operations since then; equal on all members
  std::uint64_t finished_ = 0;
  std::set<std::uint64_t> finished_early_;  // finished before an operation that started earlier
  std::vector<std::uint64_t> unlabelled_;   // carried by the algorithm before there were slots
  SlotRing slots_;
  std::uint64_t offset_ = 0;  // of the slots in the first member's shared memory
  ReceiveRecord invitation_;
  struct Plan {
    Operation operation;
    std::uint8_t backend = 0;
    std::optional<CombinePlan> plan;
    [[nodiscard]] const CombinePlan* get() const { return plan ? &*plan : nullptr; }
  };
  // A hash table with linear probing, at most half full.
  static constexpr std::size_t kPlans = 128;
  std::array<std::unique_ptr<Plan>, kPlans> plans_;
  std::size_t plan_count_ = 0;
  const Plan* recent_plan_ = nullptr;
};

/// One per engine. Operations and contexts belong to their callers.
class OneHop {
 public:
  OneHop(Engine& engine, Fabric& fabric) : engine_(engine), fabric_(fabric) {}
  OneHop& operator=(OneHop&&) = delete;

  /// The carrier of a collective that the backend supports. The plan is valid until the collective has ended.
  struct Answer {
    bool by_algorithm = true;  // the algorithm carries it; otherwise start() does
    bool is_numbered = false;  // the communicator has slots: leave_to_algorithm() if the algorithm carries it
    const CombinePlan* plan = nullptr;
    std::uint64_t number = 0;
  };
  /// Called once per collective, in the order of the calls on the context.
  Answer query(Context& context, const Operation& operation, std::uint8_t backend);
  /// The operation may end before this returns. The context must be valid until the end.
  void start(HopOperation& operation);
  /// Notes in this rank's slot that the algorithm carries an operation here. Called after its start. Returns
  /// true if the operation has to be watched until it ends.
  bool leave_to_algorithm(Context& context, const Operation& operation, std::uint64_t number, bool has_ended);
  /// Ends an operation whose algorithm would wait for ever, because the ranks disagree about the size.
  void watch(HopOperation& operation);
  /// The algorithm of a watched operation has failed. The state becomes kDone if the slots have the result.
  void look_for_result(HopOperation& operation);
  /// The algorithm of a watched operation has ended.
  void withdraw(HopOperation& operation);
  /// Advances all operations. Returns the number of those that have ended.
  int progress() { return waiting_.empty() ? 0 : advance_all(); }
  /// Number of collectives that used slots at this rank.
  [[nodiscard]] std::uint64_t carried() const { return carried_; }
  /// Describes what the operations wait for, one line each.
  [[nodiscard]] std::string describe() const;

 private:
  /// A message that is being sent.
  struct Sent {
    SendRecord record;
    std::vector<std::byte> data;
  };
  /// Memory for the slots of one communicator. Reused when all members have left it.
  struct Area {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    SlotRing slots;
  };

  void prepare(Context& context, std::uint8_t backend);
  const CombinePlan* plan_of(Context& context, const Operation& operation, std::uint8_t backend);
  void join(Context& context, std::uint8_t backend);
  /// The offset of the slots is known: checks it and opens the ring.
  void on_invitation(Context& context);
  std::uint64_t allocate_area(int ranks);

  int advance_all();
  bool advance(HopOperation& operation);
  bool advance_watched(HopOperation& operation);
  bool read_labels(HopOperation& operation);
  void end(HopOperation& operation);
  /// Writes this rank's contribution. Returns false if its slot is still being read.
  bool publish(HopOperation& operation);
  /// Sends the contribution as messages to all ranks that read it, instead of a slot.
  void send_to_readers(const HopOperation& operation, SlotRing::Label label, Bytes data);
  void notify_contributors(const HopOperation& operation);
  bool was_notified(HopOperation& operation);
  void send(Context& context, int to, std::int32_t tag, std::vector<std::byte> data, std::uint8_t backend);
  bool has_arrived_otherwise(HopOperation& operation, int rank, SlotRing::Label& label);
  const HopOperation::Arrived* receive_from(HopOperation& operation, int rank);
  static const HopOperation::Arrived* arrived_from(const HopOperation& operation, int rank);
  /// A rank's data: in its slot, in a message, or this rank's own buffer.
  static Bytes contribution(const HopOperation& operation, int rank);
  void resolve_mismatch(HopOperation& operation);
  void collect(HopOperation& operation);
  void combine(HopOperation& operation);

  Engine& engine_;
  Fabric& fabric_;
  IntrusiveList<HopOperation, &HopOperation::link> waiting_;
  std::vector<Area> areas_;  // in this rank's shared memory, for communicators whose first member it is
  std::vector<std::unique_ptr<Sent>> sent_;
  // Plans that were evicted while operations may still use them.
  std::vector<std::unique_ptr<HopRing::Plan>> replaced_;
  std::uint64_t carried_ = 0;
};

}  // namespace offramp
