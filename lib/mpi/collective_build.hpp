// From the arguments of an MPI collective to a CollectiveCall. Whether Offramp carries a call is decided from
// what all ranks know alike; a mistake in one rank's arguments goes to the MPI library, which reports it.
//
// Every builder returns null when the call is not Offramp's. They need the session's lock.
#pragma once

#include <mpi.h>

#include <memory>

#include "lib/mpi/collective_call.hpp"
#include "lib/mpi/session.hpp"

namespace offramp {

using BuiltCall = std::unique_ptr<CollectiveCall>;

BuiltCall build_bcast(Session& session, void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm);
BuiltCall build_reduce(Session& session, const void* sendbuf, void* recvbuf, int count, MPI_Datatype type,
                       MPI_Op op, int root, MPI_Comm comm);
BuiltCall build_allreduce(Session& session, const void* sendbuf, void* recvbuf, int count, MPI_Datatype type,
                          MPI_Op op, MPI_Comm comm);
BuiltCall build_scan(Session& session, const void* sendbuf, void* recvbuf, int count, MPI_Datatype type,
                     MPI_Op op, MPI_Comm comm);
BuiltCall build_exscan(Session& session, const void* sendbuf, void* recvbuf, int count, MPI_Datatype type,
                       MPI_Op op, MPI_Comm comm);
BuiltCall build_reduce_scatter_block(Session& session, const void* sendbuf, void* recvbuf, int count,
                                     MPI_Datatype type, MPI_Op op, MPI_Comm comm);
BuiltCall build_reduce_scatter(Session& session, const void* sendbuf, void* recvbuf, const int counts[],
                               MPI_Datatype type, MPI_Op op, MPI_Comm comm);
BuiltCall build_gather(Session& session, const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                       void* recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm);
BuiltCall build_gatherv(Session& session, const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                        void* recvbuf, const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                        int root, MPI_Comm comm);
BuiltCall build_scatter(Session& session, const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                        void* recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm);
BuiltCall build_scatterv(Session& session, const void* sendbuf, const int sendcounts[], const int displs[],
                         MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype, int root,
                         MPI_Comm comm);
BuiltCall build_allgather(Session& session, const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                          void* recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm);
BuiltCall build_allgatherv(Session& session, const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                           void* recvbuf, const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                           MPI_Comm comm);
BuiltCall build_alltoall(Session& session, const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                         void* recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm);
BuiltCall build_alltoallv(Session& session, const void* sendbuf, const int sendcounts[], const int sdispls[],
                          MPI_Datatype sendtype, void* recvbuf, const int recvcounts[], const int rdispls[],
                          MPI_Datatype recvtype, MPI_Comm comm);
BuiltCall build_alltoallw(Session& session, const void* sendbuf, const int sendcounts[], const int sdispls[],
                          const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                          const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm);
BuiltCall build_barrier(Session& session, MPI_Comm comm);

}  // namespace offramp
