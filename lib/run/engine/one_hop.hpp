// Small collectives in one hop: each rank writes its contribution into memory that all members see, and makes
// its own result from those of the others, in the order of the backend's algorithm (CombinePlan). For
// members that share memory; larger collectives and the others move along the algorithm itself (Collective).
//
// The engine owns one OneHop, and each context at most one HopRing. Whether a communicator has slots follows
// from its members and the number of its collectives so far, whatever those are. Whether a collective goes
// through them follows from its kind and size. Members that disagree about these have made a mistake, but
// find out (one_hop.cpp).
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
/// Stays where it is.
struct HopOperation {
  HopOperation(const Operation& operation_, const CollectiveBuffers& buffers_)
      : operation(operation_), buffers(buffers_) {}

  Context* context = nullptr;
  const Operation operation;
  const CollectiveBuffers buffers;
  Reducer* reducer = nullptr;
  const CombinePlan* plan = nullptr;  // of a reduction
  std::uint64_t number = 0;           // of OneHop::Answer
  bool by_algorithm = false;          // the algorithm carries it, and it is only watched
  std::uint8_t backend = 0;
  std::int32_t tag = 0;
  /// The operation is complete; or, if `refused`, the algorithm has to carry it.
  void (*on_end)(HopOperation& self) = nullptr;
  void* owner = nullptr;
  bool refused = false;
  Outcome outcome = Outcome::kOk;

  // The state that OneHop keeps.
  bool published = false;
  bool finished = false;              // this rank reads no slots for it any more
  int first = 0;                      // whose contributions are read: from this rank,
  int end = 0;                        // to the one before this
  int next = 0;                       // which is awaited
  std::uint32_t algorithm_ranks = 0;  // which of the others contribute along the algorithm: one bit each
  int mismatched = 0;                 // contributions to another collective
  unsigned failed_turns = 0;          // in vain
  ListLink<HopOperation> link;
  /// A contribution that came as a message: its label with something that fills it up, and its data.
  struct Arrived {
    static constexpr std::size_t kLabelBytes = 16;
    int rank = 0;
    ReceiveRecord record;
    alignas(std::max_align_t) std::array<std::byte, kLabelBytes + SlotRing::kMostBytes> message;
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
  unsigned calls_ = 0;         // of collectives, while it is new
  std::uint64_t started_ = 0;  // operations since then, alike on all members
  std::uint64_t finished_ = 0;
  std::set<std::uint64_t> finished_early_;  // before one that began earlier
  std::vector<std::uint64_t> unlabelled_;   // along the algorithm, before there were slots
  SlotRing slots_;
  std::uint64_t offset_ = 0;  // of the slots in the memory of the first member
  ReceiveRecord invitation_;
  struct Plan {
    Operation operation;
    std::uint8_t backend = 0;
    std::optional<CombinePlan> plan;
    [[nodiscard]] const CombinePlan* get() const { return plan ? &*plan : nullptr; }
  };
  // By their hash, or in the next free place. At most half of the places are in use.
  static constexpr std::size_t kPlans = 128;
  std::array<std::unique_ptr<Plan>, kPlans> plans_;
  std::size_t plan_count_ = 0;
  const Plan* recent_plan_ = nullptr;
};

class OneHop {
 public:
  OneHop(Engine& engine, Fabric& fabric) : engine_(engine), fabric_(fabric) {}
  OneHop(const OneHop&) = delete;
  OneHop& operator=(const OneHop&) = delete;

  /// How a collective is carried that this backend supports. Asked once for each, in the order of the calls
  /// on the context. The plan lives until the collective has ended.
  struct Answer {
    bool by_algorithm = true;  // the algorithm carries it; otherwise start() does
    bool is_numbered = false;  // the communicator has slots: leave_to_algorithm() if the algorithm carries it
    const CombinePlan* plan = nullptr;
    std::uint64_t number = 0;
  };
  Answer query(Context& context, const Operation& operation, std::uint8_t backend);
  /// May end before it returns. The context stays until the end.
  void start(HopOperation& operation);
  /// Notes in this rank's slot that the algorithm carries an operation here. Called after its start. Returns
  /// true if the operation has to be watched until it ends.
  bool leave_to_algorithm(Context& context, const Operation& operation, std::uint64_t number, bool has_ended);
  /// Ends an operation whose algorithm would wait for ever, because the ranks disagree about the size.
  void watch(HopOperation& operation);
  /// The algorithm of a watched operation has failed. Returns true if the slots have the result instead.
  bool has_other_result(HopOperation& operation);
  /// The algorithm of a watched operation has ended.
  void withdraw(HopOperation& operation);
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

  void prepare(Context& context, std::uint8_t backend);
  const CombinePlan* plan_of(Context& context, const Operation& operation, std::uint8_t backend);
  void join(Context& context, std::uint8_t backend);
  void on_invitation(Context& context);
  std::uint64_t allocate_area(int ranks);

  int advance_all();
  bool advance(HopOperation& operation);
  bool publish(HopOperation& operation);
  void send_to_readers(const HopOperation& operation, SlotRing::Label label, Bytes data);
  void notify_contributors(const HopOperation& operation);
  bool was_notified(HopOperation& operation);
  void send(Context& context, int to, std::int32_t tag, std::vector<std::byte> data, std::uint8_t backend);
  bool has_arrived_otherwise(HopOperation& operation, int rank, SlotRing::Label& label);
  const HopOperation::Arrived* receive_from(HopOperation& operation, int rank);
  static const HopOperation::Arrived* arrived_from(const HopOperation& operation, int rank);
  static Bytes contribution(const HopOperation& operation, int rank);
  void resolve(HopOperation& operation);
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
