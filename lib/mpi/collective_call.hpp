// One collective call of the program: its buffers as packed bytes, the operation, and what to do with the
// result.
#pragma once

#include <mpi.h>

#include <memory>

#include "lib/core/collective.hpp"
#include "lib/mpi/buffers.hpp"
#include "lib/mpi/communicator.hpp"

namespace offramp {

/// A reduction through the MPI library, so that every operation and type has MPI's own meaning.
class MpiReducer final : public Reducer {
 public:
  void set(MPI_Op op, const TypeInfo& type) {
    op_ = op;
    type_ = type;
  }
  void combine(Bytes in, MutableBytes inout) override;

 private:
  void combine_with_gaps(Bytes in, MutableBytes inout, int count) const;
  MPI_Op op_ = MPI_OP_NULL;
  TypeInfo type_;
};

/// Built, started, completed, observed, destroyed; must stay where it is.
class CollectiveCall {
 public:
  CollectiveCall(Engine& engine, Communicator& communicator) : collective(engine, *communicator.collective) {}

  Operation operation;
  CollectiveBuffers buffers;
  MpiReducer reducer;
  SendBuffer outgoing;
  ReceiveBuffer incoming;
  Collective collective;
  bool truncated = false;

  void start() { collective.start(operation, buffers, &reducer); }
  [[nodiscard]] bool done() const { return collective.done(); }
  [[nodiscard]] Outcome outcome() const {
    return collective.outcome() == Outcome::kOk && truncated ? Outcome::kTruncated : collective.outcome();
  }
  /// Data is in place: unpacks it. Once, on completion.
  void deliver() { incoming.finish(buffers.receive.size()); }
  void observe() { collective.observe(); }
};

}  // namespace offramp
