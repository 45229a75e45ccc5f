// One collective call of the program: its buffers as packed bytes, the operation, and its result.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "lib/programs/recording/event.hpp"
#include "lib/run/engine/collective.hpp"
#include "lib/run/mpi/marshal/buffers.hpp"
#include "lib/run/mpi/marshal/communicator.hpp"

namespace offramp {

/// Reduces through the MPI library, so that every operation and type has MPI's meaning. Retains the operation
/// and the type, which the program may free meanwhile.
class MpiReducer final : public Reducer {
 public:
  MpiReducer() = default;
  ~MpiReducer() override;
  MpiReducer& operator=(MpiReducer&&) = delete;

  /// Call it once.
  void set(MPI_Op op, const TypeInfo& type);
  void combine(Bytes in, MutableBytes inout) override;

 private:
  /// As combine(), for a type whose elements have gaps in memory.
  void combine_with_gaps(Bytes in, MutableBytes inout, int count) const;
  MPI_Op op_ = MPI_OP_NULL;
  TypeInfo type_;
};

/// Built, started, completed, observed, and destroyed or rearmed. Must not move.
class CollectiveCall : public detail::Pooled {
 public:
  /// The context of the communicator must outlive the call: a start retains it.
  CollectiveCall(Engine& engine, MpiCommunicator& where)
      : communicator(where.recorded), collective(engine, *where.collective) {}

  std::uint32_t communicator;               // number in this rank's recording
  std::optional<recording::Event> event{};  // once it has been recorded
  Operation operation;
  CollectiveBuffers buffers;
  MpiReducer reducer;
  SendBuffer outgoing;
  ReceiveBuffer incoming;
  // One per rank, if blocks differ in size.
  std::vector<Bytes> send_blocks;
  std::vector<MutableBytes> receive_blocks;
  std::vector<SendBuffer> outgoing_blocks;
  std::vector<ReceiveBuffer> incoming_blocks;
  Collective collective;
  bool truncated = false;
  /// The MPI library's own function computes the result.
  bool native_result = false;
  /// The types and the operation of the arguments are MPI's own, which no program can free.
  bool is_predefined = true;

  /// `sent`: size of this rank's block to itself. The algorithm delivers all of it, the program gets what
  /// fits.
  void limit_receive(std::size_t sent) {
    if (sent <= buffers.receive.size()) {
      buffers.receive = buffers.receive.first(sent);
      return;
    }
    truncated = true;
    cut_ = buffers.receive;
    buffers.receive = {whole_.allocate(sent), sent};
  }
  /// The block to itself: both sides get the smaller of the two sizes, and a longer one sent is an error.
  void cut_own_block(int rank) {
    Bytes& sent = send_blocks[static_cast<std::size_t>(rank)];
    MutableBytes& received = receive_blocks[static_cast<std::size_t>(rank)];
    if (sent.size() > received.size()) truncated = true;
    const std::size_t bytes = std::min(sent.size(), received.size());
    sent = sent.first(bytes);
    received = received.first(bytes);
  }

  /// Call it when all arguments are set.
  void built() {
    buffers.send_blocks = send_blocks;
    buffers.receive_blocks = receive_blocks;
  }
  /// A null reducer makes the collective count the operation and leave its data to the MPI library.
  void start() { collective.start(operation, buffers, native_result ? nullptr : &reducer); }
  [[nodiscard]] bool done() const { return collective.done(); }
  /// A block that was cut counts as truncated, unless the operation has failed.
  [[nodiscard]] Outcome outcome() const {
    return collective.outcome() == Outcome::kOk && truncated ? Outcome::kTruncated : collective.outcome();
  }
  /// Unpacks the received data. Call it once, on completion.
  void deliver() {
    if (native_result) return;
    if (cut_) std::copy_n(buffers.receive.begin(), cut_->size(), cut_->begin());
    incoming.finish(cut_.value_or(buffers.receive).size());
    for (std::size_t i = 0; i < receive_blocks.size(); ++i)
      incoming_blocks[i].finish(receive_blocks[i].size());
  }
  void observe() { collective.observe(); }

  /// Returns true if a later call with the same arguments is the same, whatever is in the buffers.
  [[nodiscard]] bool is_repeatable() const {
    return is_predefined && send_blocks.empty() && receive_blocks.empty() && !native_result && !cut_ &&
           outgoing.is_in_place() && incoming.is_in_place();
  }
  /// Prepares for another start, after the first has been observed.
  void rearm() { collective.rearm(); }

 private:
  std::optional<MutableBytes> cut_;  // the program's buffer, shorter than the block
  detail::PooledMemory whole_;       // the whole block, as the algorithm delivers it
};

}  // namespace offramp
