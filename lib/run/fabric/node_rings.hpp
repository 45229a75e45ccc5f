// A segment of shared memory with a ring for each ordered pair of ranks of a node, for small messages. UCX's
// own shared memory has one queue per receiver, whose cache lines move between cores for every message: it
// reaches half of the message rate of one ring per pair (measured).
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lib/run/fabric/shared_ring.hpp"

namespace offramp {

/// The largest payload that goes through a ring, in bytes.
inline constexpr std::size_t kLargestInRing = 8192;

/// Owns the mapping of the segment. Used by the fabric's thread.
class NodeRings {
 public:
  NodeRings() = default;
  ~NodeRings();
  NodeRings& operator=(NodeRings&&) = delete;

  /// Gathers one text of each rank in rank order. Collective over all ranks.
  using Exchange = std::function<std::vector<std::string>(const std::string& own)>;
  /// Collective over all ranks of the run. node: the world ranks on this node, ascending; bytes: limit for
  /// all its rings. Pairs have no ring if that is too little, or if a rank cannot map the segment.
  void open(const std::vector<int>& node, int rank, double bytes, const Exchange& exchange);

  /// True if this rank and another rank of the node have rings to each other. join_all(): with all ranks.
  [[nodiscard]] bool join(std::size_t index) const {
    return index < outgoing_.size() && outgoing_[index].state != RingState::kNone;
  }
  [[nodiscard]] bool join_all() const { return joins_all_; }
  /// The index of this rank on its node.
  [[nodiscard]] std::size_t self() const { return self_; }

  /// The ring to a rank of the node, prepared at the first call. Null if there is none.
  RingWriter* towards(std::size_t index) {
    Outgoing& to = outgoing_[index];
    return to.state == RingState::kReady || (to.state == RingState::kUnused && prepare(index)) ? &to.ring
                                                                                               : nullptr;
  }
  /// What became of a message that read() has passed on.
  enum class Taken : std::uint8_t {
    kYes,
    kNotYet,  // the message stays in the ring
    kDamaged  // no rank sends such a message; the ring is not read again
  };
  /// True if nothing has arrived from a rank of the node. If false, read() decides.
  [[nodiscard]] bool is_empty(std::size_t index) const { return incoming_[index].ring.is_empty(); }
  /// Passes the next message from a rank of the node to take(message), and returns true if it was taken. It
  /// passes one message only, so that the program can post receives before the next one. A damaged ring is
  /// reported to the sink as a message without a header.
  bool read(std::size_t index, Fabric::Sink& sink, auto take) {
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

  /// Counts a message to a rank of the node by another path. announced(): such messages to this rank.
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

  /// Calls visit(index) for each rank of the node that has prepared its ring to this one.
  void for_each_sender(auto visit) {
    for (std::size_t i = 0; i < layout_.sender_words; ++i) {
      std::uint64_t bits = std::atomic_ref(board_[1 + i]).load(std::memory_order_relaxed);
      for (; bits != 0; bits &= bits - 1) {
        const std::size_t index = 64 * i + static_cast<std::size_t>(std::countr_zero(bits));
        if (index < layout_.ranks) visit(index);
      }
    }
  }

 private:
  /// kNone: no ring. kUnused: it exists, and its pages are not populated yet.
  enum class RingState : std::uint8_t { kNone, kUnused, kReady };
  /// The reading end of a ring from one rank.
  struct Incoming {
    RingReader ring;
    bool damaged = false;
  };
  /// The writing end of a ring to one rank.
  struct Outgoing {
    RingWriter ring;
    RingState state = RingState::kNone;
    bool sees_memory = false;  // true if that rank could open this rank's segment
  };
  /// The layout of the segment, the same on all ranks.
  struct Layout {
    Layout(std::size_t ranks, std::size_t ring_bytes);
    std::size_t ranks;
    std::size_t ring_bytes;
    std::size_t sender_words;  // words of a board with one bit per sender
    std::size_t board_words;   // words per receiver, with the announced count, in whole cache lines
    std::size_t counters;      // byte offset of the readers' counters, one line per ring
    std::size_t rings;         // byte offset of the rings
    std::size_t shared;        // byte offset of the ranks' other shared memory
    std::size_t bytes;         // of the segment
  };

  static constexpr std::size_t kSharedBytes = std::size_t{2} << 20;  // per rank; reserved when used

  static std::string create(std::size_t ranks, double bytes);
  /// Maps the segment. The name comes from another rank and is checked. Returns false on any failure.
  bool attach(const std::string& name, std::size_t ranks);
  /// Populates the ring to a rank and announces this rank as its sender. Returns false if memory is missing.
  bool prepare(std::size_t index);
  /// The first word counts announced messages. The others have one bit per sender.
  [[nodiscard]] std::uint64_t* board_of(std::size_t receiver) const {
    return reinterpret_cast<std::uint64_t*>(memory_) + receiver * layout_.board_words;
  }
  /// The ring from a sender to a receiver, both as indices on the node.
  [[nodiscard]] RingMemory ring(std::size_t receiver, std::size_t sender) const;

  Layout layout_{0, 0};
  std::byte* memory_ = nullptr;
  bool joins_all_ = false;
  std::size_t self_ = 0;
  std::uint64_t* board_ = nullptr;  // this rank's: the announced count, and the bits of its senders
  std::vector<Outgoing> outgoing_;
  std::vector<Incoming> incoming_;
};

}  // namespace offramp
