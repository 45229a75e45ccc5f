// Builds a CollectiveCall from the arguments of an MPI collective. Facts that all ranks know decide whether
// Offramp carries a call. Invalid arguments of a single rank go to the MPI library, which reports them.
//
// Every builder returns null if Offramp does not carry the call. Callers need the session's lock.
#pragma once

#include <mpi.h>

#include <concepts>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "lib/run/mpi/marshal/collective_call.hpp"
#include "lib/run/mpi/marshal/marshal_context.hpp"

namespace offramp {

using BuiltCall = std::unique_ptr<CollectiveCall>;

/// The counts or displacements of a call, one per rank: int or 64 bits wide.
class Counts {
 public:
  template <std::integral T>
  Counts(const T* values)  // NOLINT(google-explicit-constructor): converts the argument
      : values_(values), wide_(sizeof(T) == sizeof(Wide)) {
    static_assert(sizeof(T) == sizeof(Wide) || std::is_same_v<T, int>);
  }
  [[nodiscard]] bool missing() const { return values_ == nullptr; }
  /// The value for rank i. The array must have one for each rank.
  std::int64_t operator[](int i) const {
    return wide_ ? static_cast<const Wide*>(values_)[i] : static_cast<const int*>(values_)[i];
  }

 private:
  using Wide [[gnu::may_alias]] = std::int64_t;
  const void* values_;
  bool wide_;
};

/// During its lifetime, the builders use a persistent collective's context instead of the communicator
/// argument, and its table of types.
class BuildOn {
 public:
  /// Both references must outlive the object. Objects of this class must not nest.
  BuildOn(MarshalContext& context, PersistentArguments& persistent) : context_(context) {
    context_.persistent = &persistent;
  }
  ~BuildOn() { context_.persistent = nullptr; }
  BuildOn& operator=(BuildOn&&) = delete;

 private:
  MarshalContext& context_;
};

BuiltCall build_bcast(MarshalContext& context, void* buffer, std::int64_t count, MPI_Datatype type, int root,
                      MPI_Comm comm);
BuiltCall build_reduce(MarshalContext& context, const void* sendbuf, void* recvbuf, std::int64_t count,
                       MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm);
BuiltCall build_allreduce(MarshalContext& context, const void* sendbuf, void* recvbuf, std::int64_t count,
                          MPI_Datatype type, MPI_Op op, MPI_Comm comm);
BuiltCall build_scan(MarshalContext& context, const void* sendbuf, void* recvbuf, std::int64_t count,
                     MPI_Datatype type, MPI_Op op, MPI_Comm comm);
BuiltCall build_exscan(MarshalContext& context, const void* sendbuf, void* recvbuf, std::int64_t count,
                       MPI_Datatype type, MPI_Op op, MPI_Comm comm);
BuiltCall build_reduce_scatter_block(MarshalContext& context, const void* sendbuf, void* recvbuf,
                                     std::int64_t count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
BuiltCall build_reduce_scatter(MarshalContext& context, const void* sendbuf, void* recvbuf, Counts counts,
                               MPI_Datatype type, MPI_Op op, MPI_Comm comm);
BuiltCall build_gather(MarshalContext& context, const void* sendbuf, std::int64_t sendcount,
                       MPI_Datatype sendtype, void* recvbuf, std::int64_t recvcount, MPI_Datatype recvtype,
                       int root, MPI_Comm comm);
BuiltCall build_gatherv(MarshalContext& context, const void* sendbuf, std::int64_t sendcount,
                        MPI_Datatype sendtype, void* recvbuf, Counts recvcounts, Counts displs,
                        MPI_Datatype recvtype, int root, MPI_Comm comm);
BuiltCall build_scatter(MarshalContext& context, const void* sendbuf, std::int64_t sendcount,
                        MPI_Datatype sendtype, void* recvbuf, std::int64_t recvcount, MPI_Datatype recvtype,
                        int root, MPI_Comm comm);
BuiltCall build_scatterv(MarshalContext& context, const void* sendbuf, Counts sendcounts, Counts displs,
                         MPI_Datatype sendtype, void* recvbuf, std::int64_t recvcount, MPI_Datatype recvtype,
                         int root, MPI_Comm comm);
BuiltCall build_allgather(MarshalContext& context, const void* sendbuf, std::int64_t sendcount,
                          MPI_Datatype sendtype, void* recvbuf, std::int64_t recvcount, MPI_Datatype recvtype,
                          MPI_Comm comm);
BuiltCall build_allgatherv(MarshalContext& context, const void* sendbuf, std::int64_t sendcount,
                           MPI_Datatype sendtype, void* recvbuf, Counts recvcounts, Counts displs,
                           MPI_Datatype recvtype, MPI_Comm comm);
BuiltCall build_alltoall(MarshalContext& context, const void* sendbuf, std::int64_t sendcount,
                         MPI_Datatype sendtype, void* recvbuf, std::int64_t recvcount, MPI_Datatype recvtype,
                         MPI_Comm comm);
BuiltCall build_alltoallv(MarshalContext& context, const void* sendbuf, Counts sendcounts, Counts sdispls,
                          MPI_Datatype sendtype, void* recvbuf, Counts recvcounts, Counts rdispls,
                          MPI_Datatype recvtype, MPI_Comm comm);
BuiltCall build_alltoallw(MarshalContext& context, const void* sendbuf, Counts sendcounts, Counts sdispls,
                          const MPI_Datatype sendtypes[], void* recvbuf, Counts recvcounts, Counts rdispls,
                          const MPI_Datatype recvtypes[], MPI_Comm comm);
BuiltCall build_barrier(MarshalContext& context, MPI_Comm comm);

}  // namespace offramp
