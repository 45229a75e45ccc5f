// The rings between the ranks of one node: a segment of shared memory with one for each ordered pair.
//
// They carry small messages. UCX's own shared memory has one queue for all senders of a receiver, whose
// shared lines go to and fro for every message: measured, it has half of the message rate that a ring for
// each pair has.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lib/run/fabric/shared_ring.hpp"

namespace offramp {

/// A payload up to this size goes through a ring, if there is one.
inline constexpr std::size_t kLargestInRing = 8192;

class NodeRings {
 public:
  NodeRings() = default;
  ~NodeRings();
  NodeRings(const NodeRings&) = delete;
  NodeRings& operator=(const NodeRings&) = delete;

  using Exchange = std::function<std::vector<std::string>(const std::string& own)>;
  /// Collective over all ranks of the run. node: the world ranks on this rank's node, rising; bytes: what all
  /// rings of the node may take. Where that is not enough, or a rank cannot see the memory, some pairs or all
  /// have no ring: that is no error.
  void open(const std::vector<int>& node, int rank, double bytes, const Exchange& exchange);

  /// Whether there are rings to and from a rank of the node, and whether to and from all but this one.
  [[nodiscard]] bool join(std::size_t index) const {
    return index < outgoing_.size() && outgoing_[index].state != RingState::kNone;
  }
  [[nodiscard]] bool join_all() const { return joins_all_; }
  /// Index of this rank on its node.
  [[nodiscard]] std::size_t self() const { return self_; }

  /// The ring towards a rank of the node, made ready at first use; null: there is none.
  RingWriter* towards(std::size_t index) {
    Outgoing& to = outgoing_[index];
    return to.state == RingState::kReady || (to.state == RingState::kUnused && prepare(index)) ? &to.ring
                                                                                               : nullptr;
  }
  enum class Taken : std::uint8_t {
    kYes,
    kNotYet,  // the message stays the next one
    kDamaged  // no rank sends such a thing: nothing more comes from there
  };
  /// Nothing has come from a rank of the node. False: read() knows.
  [[nodiscard]] bool is_empty(std::size_t index) const { return incoming_[index].ring.is_empty(); }
  /// Hands the next message from a rank of the node to take(message), if there is one. It hands over a single
  /// message, so that the program goes on with it before others come, for which there may be no receive yet.
  /// A damaged ring is reported to the sink as a message without a header. Returns whether one was taken.
  template <typename Take>
  bool read(std::size_t index, Fabric::Sink& sink, Take take) {
    Incoming& from = incoming_[index];
    if (from.damaged) return false;
    RingReader::RingMessage message;
    const RingReader::State state = from.ring.look(message);
    if (state == RingReader::State::kEmpty) return false;
    const Taken taken = state == RingReader::State::kDamaged ? Taken::kDamaged : take(message);
    if (taken == Taken::kYes) from.ring.done(message);
    from.damaged = taken == Taken::kDamaged;
    if (from.damaged) sink.deliver({});
    return taken == Taken::kYes;
  }

  /// Tells a rank of the node that a message for it is on its way elsewhere, and how many this one was told
  /// of.
  void announce(std::size_t index) const { std::atomic_ref(board_of(index)[0]).fetch_add(1); }
  [[nodiscard]] std::uint64_t announced() const {
    return board_ != nullptr ? std::atomic_ref(board_[0]).load(std::memory_order_relaxed) : 0;
  }

  /// Shared memory of a rank of the node, in addition to its rings (Fabric::shared_memory()).
  [[nodiscard]] std::span<std::byte> shared_memory(std::size_t index) const {
    if (memory_ == nullptr || !outgoing_[index].sees_memory) return {};
    return {memory_ + layout_.shared + index * kSharedBytes, kSharedBytes};
  }
  /// Reserves pages now: without memory, a store into them would end the process. Returns false if there is
  /// no memory, or with a kernel before 5.14, which cannot reserve pages.
  static bool reserve(std::span<std::byte> pages);

  /// Calls visit(index) for each rank of the node that has written to this one.
  template <typename Visitor>
  void for_each_sender(Visitor visit) {
    for (std::size_t i = 0; i < layout_.sender_words; ++i) {
      std::uint64_t bits = std::atomic_ref(board_[1 + i]).load(std::memory_order_relaxed);
      for (; bits != 0; bits &= bits - 1) {
        const std::size_t index = 64 * i + static_cast<std::size_t>(std::countr_zero(bits));
        if (index < layout_.ranks) visit(index);
      }
    }
  }

 private:
  enum class RingState : std::uint8_t { kNone, kUnused, kReady };
  struct Incoming {
    RingReader ring;
    bool damaged = false;
  };
  struct Outgoing {
    RingWriter ring;
    RingState state = RingState::kNone;
    bool sees_memory = false;  // true if that rank could open this rank's segment
  };
  /// Where everything is in the segment; equal for all.
  struct Layout {
    Layout(std::size_t ranks, std::size_t ring_bytes);
    std::size_t ranks;
    std::size_t ring_bytes;
    std::size_t sender_words;  // of a board: a bit for each sender
    std::size_t board_words;   // per receiver, with the count of what was announced: whole lines
    std::size_t counters;      // offset of the readers' counters, one line per ring
    std::size_t rings;         // offset of the rings themselves
    std::size_t shared;        // offset of the ranks' other shared memory
    std::size_t bytes;         // of the segment
  };

  static constexpr std::size_t kSharedBytes = std::size_t{2} << 20;  // per rank; reserved when used

  static std::string create(std::size_t ranks, double bytes);
  bool attach(const std::string& name, std::size_t ranks);
  bool prepare(std::size_t index);
  [[nodiscard]] std::uint64_t* board_of(std::size_t receiver) const {
    return reinterpret_cast<std::uint64_t*>(memory_) + receiver * layout_.board_words;
  }
  [[nodiscard]] RingMemory ring(std::size_t receiver, std::size_t sender) const;

  Layout layout_{0, 0};
  std::byte* memory_ = nullptr;
  bool joins_all_ = false;
  std::size_t self_ = 0;
  std::uint64_t* board_ = nullptr;  // of this rank: what was announced, and who has written to its rings
  std::vector<Outgoing> outgoing_;
  std::vector<Incoming> incoming_;
};

}  // namespace offramp
