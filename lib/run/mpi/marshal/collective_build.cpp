// One function per collective, based on class Builder. Builder collects a call and becomes invalid at the
// first argument that is left to the MPI library; later steps then do nothing, so each build_*() reads like
// its list of arguments.
//
// Two kinds of checks look alike but differ. Conditions that all ranks can evaluate alike may decide that
// Offramp does not carry the call (refuse()). Conditions that only this rank can evaluate may not, or the
// ranks would disagree. They are left to the library's errors or reported after the operation (truncated).
#include "lib/run/mpi/marshal/collective_build.hpp"

#include <utility>

#include "lib/run/native/pmpi.hpp"

namespace offramp {
namespace {

// As is_null_buffer() for messages: a derived type with an offset may contain the address itself.
bool null_buffer(const void* buffer, std::int64_t count, const TypeInfo& type) {
  return buffer == nullptr && count > 0 && type.size > 0 && (type.predefined || type.true_lb == 0);
}

template <typename Pointer>
Pointer element(Pointer buffer, std::int64_t index, const TypeInfo& type) {
  using Byte =
      std::conditional_t<std::is_const_v<std::remove_pointer_t<Pointer>>, const std::byte, std::byte>;
  return static_cast<Byte*>(buffer) + static_cast<MPI_Aint>(index) * type.extent;
}

/// Collects one call. valid() becomes false for good at the first argument that is left to the MPI library.
class Builder {
 public:
  Builder(MarshalContext& context, MPI_Comm comm, OperationKind kind, int root = 0)
      : context_(context), communicator_(context.find_for_collectives(comm)) {
    if (communicator_ == nullptr || root < 0 || root >= communicator_->size) return;
    made_ = std::make_unique<CollectiveCall>(context.engine, *communicator_);
    made_->operation.kind = kind;
    made_->operation.ranks = communicator_->size;
    made_->operation.root = root;
  }

  [[nodiscard]] bool valid() const { return made_ != nullptr; }
  // Leaves the call to the MPI library. Only for conditions that all ranks see alike, or errors of arguments.
  void refuse() { made_.reset(); }
  void refuse_if(bool wrong) {
    if (wrong) refuse();
  }
  [[nodiscard]] int rank() const { return communicator_->rank; }
  [[nodiscard]] int size() const { return communicator_->size; }
  [[nodiscard]] bool at_root() const { return valid() && rank() == made_->operation.root; }
  // Returns the finished call, or null if it was refused.
  BuiltCall release() {
    if (made_ != nullptr) made_->built();
    return std::move(made_);
  }

  /// Returns the type if the arguments of a buffer are valid. Otherwise refuses the call and returns null.
  const TypeInfo* check(const void* buffer, std::int64_t count, MPI_Datatype type) {
    if (!valid()) return nullptr;
    const TypeInfo* info = count < 0 ? nullptr : context_.find_type(type);
    if (info == nullptr || buffer == MPI_IN_PLACE || null_buffer(buffer, count, *info)) {
      refuse();
      return nullptr;
    }
    made_->is_predefined = made_->is_predefined && info->predefined;
    return info;
  }

  /// Sets the size that all ranks know, for collectives that have one.
  void describe(const TypeInfo& type, std::int64_t count) {
    made_->operation.bytes = type.bytes(count);
    // Empty data matches any type, so its type does not describe the other ranks' data.
    made_->operation.element = made_->operation.bytes > 0 ? type.parts : ElementType::kByte;
    made_->buffers.block = made_->operation.bytes;
  }

  /// Call it after describe().
  void reduce(MPI_Op op, const TypeInfo& type, std::int64_t count) {
    if (op == MPI_OP_NULL || op == MPI_Op{}) return refuse();
    const ReduceFunction function = function_of(op);
    if (!reducible(function, type)) return refuse();
    int commutative = 1;
    pmpi::Op_commutative(op, &commutative);
    made_->operation.element = type.element;
    made_->operation.function = function;
    made_->operation.elements = static_cast<std::size_t>(count);
    made_->operation.commutative = commutative != 0;
    made_->native_result = context_.native_reductions;
    made_->is_predefined = made_->is_predefined && function != ReduceFunction::kUser;
    made_->reducer.set(op, type);
  }

  // This rank's contribution. The buffer must be valid until the collective has completed.
  void send(const void* buffer, std::int64_t count, const TypeInfo& type) {
    made_->buffers.send = bytes_of(made_->outgoing, buffer, count, type);
  }
  /// For a send buffer that the operation also writes to.
  void send_copy(const void* buffer, std::int64_t count, const TypeInfo& type) {
    made_->buffers.send = copy_of(made_->outgoing, buffer, count, type);
  }
  // The place of this rank's result. Call it after send() where both may be in one buffer.
  void receive(void* buffer, std::int64_t count, const TypeInfo& type) {
    made_->buffers.receive = made_->incoming.set(buffer, count, type);
  }
  /// This rank's block is already where its result belongs.
  void send_in_place(const void* buffer, std::int64_t count, const TypeInfo& type) {
    const std::size_t block = made_->buffers.block;
    if (type.contiguous(count * size())) {
      made_->buffers.send =
          Bytes(made_->buffers.receive).subspan(block * static_cast<std::size_t>(rank()), block);
    } else {
      send_copy(element(buffer, count * rank(), type), count, type);
    }
  }
  /// This rank's block stays in the send buffer.
  void receive_in_place(Bytes block) {
    made_->buffers.receive = {const_cast<std::byte*>(block.data()), block.size()};
  }

  /// Truncates a contribution longer than the receivers expect. Too late to refuse: others may be in the
  /// call.
  void cut_to_block() {
    if (made_->buffers.send.size() <= made_->buffers.block) return;
    made_->buffers.send = made_->buffers.send.first(made_->buffers.block);
    made_->truncated = true;
  }

  // Appends the block for the next rank.
  void send_block(const void* buffer, std::int64_t count, const TypeInfo& type) {
    SendBuffer& place = next_place(made_->outgoing_blocks, made_->send_blocks);
    made_->send_blocks.push_back(bytes_of(place, buffer, count, type));
  }
  void send_block_copy(const void* buffer, std::int64_t count, const TypeInfo& type) {
    SendBuffer& place = next_place(made_->outgoing_blocks, made_->send_blocks);
    made_->send_blocks.push_back(copy_of(place, buffer, count, type));
  }
  void receive_block(void* buffer, std::int64_t count, const TypeInfo& type) {
    ReceiveBuffer& place = next_place(made_->incoming_blocks, made_->receive_blocks);
    made_->receive_blocks.push_back(place.set(buffer, count, type));
  }
  CollectiveCall& made() { return *made_; }

 private:
  Bytes bytes_of(SendBuffer& place, const void* buffer, std::int64_t count, const TypeInfo& type) const {
    return type.contiguous(count) ? place.set(buffer, count, type) : copy_of(place, buffer, count, type);
  }
  /// If payload is not moved, its bytes are never read: only its size and another address are recorded.
  Bytes copy_of(SendBuffer& place, const void* buffer, std::int64_t count, const TypeInfo& type) const {
    if (context_.moves_payload) return place.copy(buffer, count, type);
    return {reinterpret_cast<const std::byte*>(&place), type.bytes(count)};
  }
  /// The buffer of the next block; there is one per rank.
  template <typename Buffer, typename Span>
  Buffer& next_place(std::vector<Buffer>& buffers, std::vector<Span>& blocks) const {
    if (blocks.empty()) {
      buffers = std::vector<Buffer>(static_cast<std::size_t>(size()));
      blocks.reserve(buffers.size());
    }
    return buffers[blocks.size()];
  }

  MarshalContext& context_;
  MpiCommunicator* communicator_;
  BuiltCall made_;
};

/// Blocks as in MPI: a count and a displacement per rank, in elements of one type.
struct CountedBlocks {
  Counts counts;
  Counts displacements;
  MPI_Datatype type;
};

/// Returns null and refuses the call if an argument is invalid.
const TypeInfo* check_blocks(Builder& builder, const void* buffer, const CountedBlocks& blocks) {
  if (!builder.valid()) return nullptr;
  if (blocks.counts.missing() || blocks.displacements.missing()) {
    builder.refuse();
    return nullptr;
  }
  const TypeInfo* info = nullptr;
  for (int i = 0; i < builder.size(); ++i) {
    // Each count is checked, since a single wrong one would read or write beyond the buffer.
    info = builder.check(buffer, blocks.counts[i], blocks.type);
    if (info == nullptr) return nullptr;
  }
  return info;
}

void receive_blocks(Builder& builder, void* buffer, const CountedBlocks& blocks, const TypeInfo& type) {
  for (int i = 0; i < builder.size(); ++i)
    builder.receive_block(element(buffer, blocks.displacements[i], type), blocks.counts[i], type);
}

void send_blocks(Builder& builder, const void* buffer, const CountedBlocks& blocks, const TypeInfo& type) {
  for (int i = 0; i < builder.size(); ++i)
    builder.send_block(element(buffer, blocks.displacements[i], type), blocks.counts[i], type);
}

/// Sends this rank's contribution, which is in its place among the received blocks.
void send_own_block(Builder& builder, const void* buffer, const CountedBlocks& blocks, const TypeInfo& type) {
  const int own = builder.rank();
  const std::int64_t count = blocks.counts[own];
  if (type.contiguous(count)) {
    builder.made().buffers.send = builder.made().receive_blocks[static_cast<std::size_t>(own)];
  } else {
    builder.send_copy(element(buffer, blocks.displacements[own], type), count, type);
  }
}

/// Operands of the reductions without a root.
struct Operands {
  const TypeInfo* type = nullptr;
  const void* from = nullptr;
  bool in_place = false;
};

Operands check_operands(Builder& builder, const void* sendbuf, void* recvbuf, std::int64_t count,
                        MPI_Datatype type) {
  Operands operands;
  operands.in_place = sendbuf == MPI_IN_PLACE;
  operands.from = operands.in_place ? recvbuf : sendbuf;
  builder.check(operands.from, count, type);
  operands.type = builder.check(recvbuf, count, type);
  return operands;
}

BuiltCall build_whole_reduction(MarshalContext& context, OperationKind kind, const void* sendbuf,
                                void* recvbuf, std::int64_t count, MPI_Datatype type, MPI_Op op,
                                MPI_Comm comm) {
  Builder builder(context, comm, kind);
  const Operands operands = check_operands(builder, sendbuf, recvbuf, count, type);
  if (!builder.valid()) return nullptr;
  builder.describe(*operands.type, count);
  builder.reduce(op, *operands.type, count);
  if (!builder.valid()) return nullptr;
  builder.send(operands.from, count, *operands.type);
  builder.receive(recvbuf, count, *operands.type);
  return builder.release();
}

}  // namespace

BuiltCall build_bcast(MarshalContext& context, void* buffer, std::int64_t count, MPI_Datatype type, int root,
                      MPI_Comm comm) {
  Builder builder(context, comm, OperationKind::kBcast, root);
  const TypeInfo* const info = builder.check(buffer, count, type);
  if (info == nullptr) return nullptr;
  builder.describe(*info, count);
  if (builder.at_root()) {
    builder.send(buffer, count, *info);
    builder.receive_in_place(builder.made().buffers.send);  // the algorithm only reads the root's buffer
  } else {
    builder.receive(buffer, count, *info);
    builder.made().buffers.send = builder.made().buffers.receive;
  }
  return builder.release();
}

BuiltCall build_reduce(MarshalContext& context, const void* sendbuf, void* recvbuf, std::int64_t count,
                       MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  Builder builder(context, comm, OperationKind::kReduce, root);
  const bool at_root = builder.at_root();
  const bool in_place = sendbuf == MPI_IN_PLACE;
  // The other ranks' receive buffer is not checked, so that all ranks make the same choice.
  builder.refuse_if((in_place && !at_root) || (at_root && recvbuf == MPI_IN_PLACE) ||
                    (at_root && sendbuf == recvbuf && count > 0));
  if (at_root) builder.check(recvbuf, count, type);
  const TypeInfo* const info = builder.check(in_place ? recvbuf : sendbuf, count, type);
  if (info == nullptr) return nullptr;
  builder.describe(*info, count);
  builder.reduce(op, *info, count);
  if (!builder.valid()) return nullptr;
  builder.send(in_place ? recvbuf : sendbuf, count, *info);
  if (at_root) builder.receive(recvbuf, count, *info);
  return builder.release();
}

BuiltCall build_allreduce(MarshalContext& context, const void* sendbuf, void* recvbuf, std::int64_t count,
                          MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  if (sendbuf == recvbuf && count > 1) return nullptr;  // the MPI library reports the error
  return build_whole_reduction(context, OperationKind::kAllreduce, sendbuf, recvbuf, count, type, op, comm);
}

BuiltCall build_scan(MarshalContext& context, const void* sendbuf, void* recvbuf, std::int64_t count,
                     MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return build_whole_reduction(context, OperationKind::kScan, sendbuf, recvbuf, count, type, op, comm);
}

BuiltCall build_exscan(MarshalContext& context, const void* sendbuf, void* recvbuf, std::int64_t count,
                       MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  BuiltCall made =
      build_whole_reduction(context, OperationKind::kExscan, sendbuf, recvbuf, count, type, op, comm);
  // The first rank has no result: its buffer is not changed.
  if (made != nullptr && context.find_for_collectives(comm)->rank == 0) {
    made->buffers.receive = {};
    made->incoming.reset();
  }
  return made;
}

BuiltCall build_reduce_scatter_block(MarshalContext& context, const void* sendbuf, void* recvbuf,
                                     std::int64_t count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  Builder builder(context, comm, OperationKind::kReduceScatter);
  const Operands operands = check_operands(builder, sendbuf, recvbuf, count, type);
  if (!builder.valid()) return nullptr;
  builder.describe(*operands.type, count);
  builder.reduce(op, *operands.type, count);
  if (!builder.valid()) return nullptr;
  const std::int64_t all = count * builder.size();
  // In place, the result overwrites the beginning of the contributions, so they are copied.
  operands.in_place ? builder.send_copy(operands.from, all, *operands.type)
                    : builder.send(operands.from, all, *operands.type);
  builder.receive(recvbuf, count, *operands.type);
  return builder.release();
}

BuiltCall build_reduce_scatter(MarshalContext& context, const void* sendbuf, void* recvbuf, Counts counts,
                               MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const MpiCommunicator* const communicator = context.find_for_collectives(comm);
  if (communicator == nullptr || counts.missing()) return nullptr;
  const int size = communicator->size;
  bool alike = true;
  std::int64_t all = 0;
  for (int i = 0; i < size; ++i) {
    if (counts[i] < 0) return nullptr;
    alike = alike && counts[i] == counts[0];
    all += counts[i];
  }
  // All ranks see the counts, so all of them choose the simpler operation.
  if (alike) return build_reduce_scatter_block(context, sendbuf, recvbuf, counts[0], type, op, comm);

  Builder builder(context, comm, OperationKind::kReduceScatterv);
  const std::int64_t own = counts[communicator->rank];
  const bool in_place = sendbuf == MPI_IN_PLACE;
  builder.refuse_if(recvbuf == MPI_IN_PLACE);
  builder.check(recvbuf, own, type);
  const TypeInfo* const info = builder.check(in_place ? recvbuf : sendbuf, all, type);
  if (info == nullptr) return nullptr;
  builder.reduce(op, *info, all);
  if (!builder.valid()) return nullptr;
  in_place ? builder.send_copy(recvbuf, all, *info) : builder.send(sendbuf, all, *info);
  std::size_t offset = 0;
  for (int i = 0; i < size; ++i) {
    const std::size_t bytes = info->bytes(counts[i]);
    builder.made().send_blocks.push_back(builder.made().buffers.send.subspan(offset, bytes));
    offset += bytes;
  }
  builder.receive(recvbuf, own, *info);
  return builder.release();
}

BuiltCall build_gather(MarshalContext& context, const void* sendbuf, std::int64_t sendcount,
                       MPI_Datatype sendtype, void* recvbuf, std::int64_t recvcount, MPI_Datatype recvtype,
                       int root, MPI_Comm comm) {
  Builder builder(context, comm, OperationKind::kGather, root);
  const bool at_root = builder.at_root();
  const bool in_place = sendbuf == MPI_IN_PLACE;
  builder.refuse_if(in_place && !at_root);
  const TypeInfo* const sent = in_place ? nullptr : builder.check(sendbuf, sendcount, sendtype);
  const TypeInfo* const received = at_root ? builder.check(recvbuf, recvcount, recvtype) : nullptr;
  if (!builder.valid()) return nullptr;
  if (!at_root) {
    builder.describe(*sent, sendcount);
    builder.send(sendbuf, sendcount, *sent);
    return builder.release();
  }
  builder.describe(*received, recvcount);
  builder.receive(recvbuf, recvcount * builder.size(), *received);
  in_place ? builder.send_in_place(recvbuf, recvcount, *received) : builder.send(sendbuf, sendcount, *sent);
  builder.cut_to_block();
  return builder.release();
}

BuiltCall build_gatherv(MarshalContext& context, const void* sendbuf, std::int64_t sendcount,
                        MPI_Datatype sendtype, void* recvbuf, Counts recvcounts, Counts displs,
                        MPI_Datatype recvtype, int root, MPI_Comm comm) {
  Builder builder(context, comm, OperationKind::kGatherv, root);
  const bool at_root = builder.at_root();
  const bool in_place = sendbuf == MPI_IN_PLACE;
  const CountedBlocks blocks{recvcounts, displs, recvtype};
  builder.refuse_if(in_place && !at_root);
  const TypeInfo* const sent = in_place ? nullptr : builder.check(sendbuf, sendcount, sendtype);
  const TypeInfo* const received = at_root ? check_blocks(builder, recvbuf, blocks) : nullptr;
  if (!builder.valid()) return nullptr;
  if (at_root) {
    receive_blocks(builder, recvbuf, blocks, *received);
    builder.made().buffers.block = received->bytes(recvcounts[builder.rank()]);
  }
  in_place ? send_own_block(builder, recvbuf, blocks, *received) : builder.send(sendbuf, sendcount, *sent);
  // The root alone knows the size that it expects.
  if (at_root) builder.cut_to_block();
  return builder.release();
}

BuiltCall build_scatter(MarshalContext& context, const void* sendbuf, std::int64_t sendcount,
                        MPI_Datatype sendtype, void* recvbuf, std::int64_t recvcount, MPI_Datatype recvtype,
                        int root, MPI_Comm comm) {
  Builder builder(context, comm, OperationKind::kScatter, root);
  const bool at_root = builder.at_root();
  const bool in_place = recvbuf == MPI_IN_PLACE;
  builder.refuse_if(in_place && !at_root);
  const TypeInfo* const sent = at_root ? builder.check(sendbuf, sendcount, sendtype) : nullptr;
  const TypeInfo* const received = in_place ? nullptr : builder.check(recvbuf, recvcount, recvtype);
  if (!builder.valid()) return nullptr;
  at_root ? builder.describe(*sent, sendcount) : builder.describe(*received, recvcount);
  CollectiveCall& made = builder.made();
  if (at_root) builder.send(sendbuf, sendcount * builder.size(), *sent);
  if (in_place) {
    builder.receive_in_place(
        made.buffers.send.subspan(made.buffers.block * static_cast<std::size_t>(root), made.buffers.block));
    return builder.release();
  }
  builder.receive(recvbuf, recvcount, *received);
  // The root's block to itself has the size that it sends, like all others.
  if (at_root) made.limit_receive(made.buffers.block);
  return builder.release();
}

BuiltCall build_scatterv(MarshalContext& context, const void* sendbuf, Counts sendcounts, Counts displs,
                         MPI_Datatype sendtype, void* recvbuf, std::int64_t recvcount, MPI_Datatype recvtype,
                         int root, MPI_Comm comm) {
  Builder builder(context, comm, OperationKind::kScatterv, root);
  const bool at_root = builder.at_root();
  const bool in_place = recvbuf == MPI_IN_PLACE;
  const CountedBlocks blocks{sendcounts, displs, sendtype};
  builder.refuse_if(in_place && !at_root);
  const TypeInfo* const sent = at_root ? check_blocks(builder, sendbuf, blocks) : nullptr;
  const TypeInfo* const received = in_place ? nullptr : builder.check(recvbuf, recvcount, recvtype);
  if (!builder.valid()) return nullptr;
  CollectiveCall& made = builder.made();
  if (at_root) send_blocks(builder, sendbuf, blocks, *sent);
  if (in_place) {
    builder.receive_in_place(made.send_blocks[static_cast<std::size_t>(root)]);
    return builder.release();
  }
  builder.receive(recvbuf, recvcount, *received);
  if (at_root) made.limit_receive(made.send_blocks[static_cast<std::size_t>(root)].size());
  return builder.release();
}

BuiltCall build_allgather(MarshalContext& context, const void* sendbuf, std::int64_t sendcount,
                          MPI_Datatype sendtype, void* recvbuf, std::int64_t recvcount, MPI_Datatype recvtype,
                          MPI_Comm comm) {
  Builder builder(context, comm, OperationKind::kAllgather);
  const bool in_place = sendbuf == MPI_IN_PLACE;
  builder.refuse_if(recvbuf == MPI_IN_PLACE);
  const TypeInfo* const sent = in_place ? nullptr : builder.check(sendbuf, sendcount, sendtype);
  const TypeInfo* const received = builder.check(recvbuf, recvcount, recvtype);
  if (!builder.valid()) return nullptr;
  builder.describe(*received, recvcount);
  builder.receive(recvbuf, recvcount * builder.size(), *received);
  in_place ? builder.send_in_place(recvbuf, recvcount, *received) : builder.send(sendbuf, sendcount, *sent);
  builder.cut_to_block();
  return builder.release();
}

BuiltCall build_allgatherv(MarshalContext& context, const void* sendbuf, std::int64_t sendcount,
                           MPI_Datatype sendtype, void* recvbuf, Counts recvcounts, Counts displs,
                           MPI_Datatype recvtype, MPI_Comm comm) {
  Builder builder(context, comm, OperationKind::kAllgatherv);
  const bool in_place = sendbuf == MPI_IN_PLACE;
  const CountedBlocks blocks{recvcounts, displs, recvtype};
  builder.refuse_if(recvbuf == MPI_IN_PLACE);
  const TypeInfo* const sent = in_place ? nullptr : builder.check(sendbuf, sendcount, sendtype);
  const TypeInfo* const received = check_blocks(builder, recvbuf, blocks);
  if (!builder.valid()) return nullptr;
  receive_blocks(builder, recvbuf, blocks, *received);
  in_place ? send_own_block(builder, recvbuf, blocks, *received) : builder.send(sendbuf, sendcount, *sent);
  builder.made().buffers.block = received->bytes(recvcounts[builder.rank()]);
  builder.cut_to_block();
  return builder.release();
}

BuiltCall build_alltoall(MarshalContext& context, const void* sendbuf, std::int64_t sendcount,
                         MPI_Datatype sendtype, void* recvbuf, std::int64_t recvcount, MPI_Datatype recvtype,
                         MPI_Comm comm) {
  Builder builder(context, comm, OperationKind::kAlltoall);
  const bool in_place = sendbuf == MPI_IN_PLACE;
  builder.refuse_if(recvbuf == MPI_IN_PLACE);
  const TypeInfo* const sent = in_place ? nullptr : builder.check(sendbuf, sendcount, sendtype);
  const TypeInfo* const received = builder.check(recvbuf, recvcount, recvtype);
  if (!builder.valid()) return nullptr;
  builder.describe(*received, recvcount);
  // If the block sizes differ, the MPI library handles the call.
  if (!in_place && sent->bytes(sendcount) != received->bytes(recvcount)) return nullptr;
  const std::int64_t all = recvcount * builder.size();
  in_place ? builder.send_copy(recvbuf, all, *received)
           : builder.send(sendbuf, sendcount * builder.size(), *sent);
  builder.receive(recvbuf, all, *received);
  return builder.release();
}

BuiltCall build_alltoallv(MarshalContext& context, const void* sendbuf, Counts sendcounts, Counts sdispls,
                          MPI_Datatype sendtype, void* recvbuf, Counts recvcounts, Counts rdispls,
                          MPI_Datatype recvtype, MPI_Comm comm) {
  Builder builder(context, comm, OperationKind::kAlltoallv);
  const bool in_place = sendbuf == MPI_IN_PLACE;
  const CountedBlocks outgoing{sendcounts, sdispls, sendtype};
  const CountedBlocks incoming{recvcounts, rdispls, recvtype};
  builder.refuse_if(recvbuf == MPI_IN_PLACE);
  const TypeInfo* const sent = in_place ? nullptr : check_blocks(builder, sendbuf, outgoing);
  const TypeInfo* const received = check_blocks(builder, recvbuf, incoming);
  if (!builder.valid()) return nullptr;
  if (in_place) {
    // Each received block overwrites a block that is still to be sent, so all are copied first.
    for (int i = 0; i < builder.size(); ++i)
      builder.send_block_copy(element(recvbuf, rdispls[i], *received), recvcounts[i], *received);
  } else {
    send_blocks(builder, sendbuf, outgoing, *sent);
  }
  receive_blocks(builder, recvbuf, incoming, *received);
  // The block to itself is a plain copy, in which sender and receiver must agree on the size.
  builder.made().cut_own_block(builder.rank());
  return builder.release();
}

BuiltCall build_alltoallw(MarshalContext& context, const void* sendbuf, Counts sendcounts, Counts sdispls,
                          const MPI_Datatype sendtypes[], void* recvbuf, Counts recvcounts, Counts rdispls,
                          const MPI_Datatype recvtypes[], MPI_Comm comm) {
  Builder builder(context, comm, OperationKind::kAlltoallv);
  const bool in_place = sendbuf == MPI_IN_PLACE;
  builder.refuse_if(recvbuf == MPI_IN_PLACE || recvcounts.missing() || rdispls.missing() ||
                    recvtypes == nullptr);
  builder.refuse_if(!in_place && (sendcounts.missing() || sdispls.missing() || sendtypes == nullptr));
  if (!builder.valid()) return nullptr;
  for (int i = 0; i < builder.size(); ++i) {
    // Displacements are in bytes here.
    auto* const into = static_cast<std::byte*>(recvbuf) + rdispls[i];
    const TypeInfo* const received = builder.check(into, recvcounts[i], recvtypes[i]);
    if (received == nullptr) return nullptr;
    if (in_place) {
      builder.send_block_copy(into, recvcounts[i], *received);
    } else {
      const auto* const from = static_cast<const std::byte*>(sendbuf) + sdispls[i];
      const TypeInfo* const sent = builder.check(from, sendcounts[i], sendtypes[i]);
      if (sent == nullptr) return nullptr;
      builder.send_block(from, sendcounts[i], *sent);
    }
    builder.receive_block(into, recvcounts[i], *received);
  }
  builder.made().cut_own_block(builder.rank());
  return builder.release();
}

BuiltCall build_barrier(MarshalContext& context, MPI_Comm comm) {
  return Builder(context, comm, OperationKind::kBarrier).release();
}

}  // namespace offramp
