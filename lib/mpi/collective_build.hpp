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

BuiltCall build_bcast(Call& call, void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm);
BuiltCall build_reduce(Call& call, const void* sendbuf, void* recvbuf, int count, MPI_Datatype type,
                       MPI_Op op, int root, MPI_Comm comm);
BuiltCall build_allreduce(Call& call, const void* sendbuf, void* recvbuf, int count, MPI_Datatype type,
                          MPI_Op op, MPI_Comm comm);
BuiltCall build_scan(Call& call, const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op,
                     MPI_Comm comm);
BuiltCall build_exscan(Call& call, const void* sendbuf, void* recvbuf, int count, MPI_Datatype type,
                       MPI_Op op, MPI_Comm comm);
BuiltCall build_reduce_scatter_block(Call& call, const void* sendbuf, void* recvbuf, int count,
                                     MPI_Datatype type, MPI_Op op, MPI_Comm comm);
BuiltCall build_reduce_scatter(Call& call, const void* sendbuf, void* recvbuf, const int counts[],
                               MPI_Datatype type, MPI_Op op, MPI_Comm comm);
BuiltCall build_gather(Call& call, const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                       int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm);
BuiltCall build_gatherv(Call& call, const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                        const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root,
                        MPI_Comm comm);
BuiltCall build_scatter(Call& call, const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                        int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm);
BuiltCall build_scatterv(Call& call, const void* sendbuf, const int sendcounts[], const int displs[],
                         MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype, int root,
                         MPI_Comm comm);
BuiltCall build_allgather(Call& call, const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                          void* recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm);
BuiltCall build_allgatherv(Call& call, const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                           void* recvbuf, const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                           MPI_Comm comm);
BuiltCall build_alltoall(Call& call, const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                         int recvcount, MPI_Datatype recvtype, MPI_Comm comm);
BuiltCall build_alltoallv(Call& call, const void* sendbuf, const int sendcounts[], const int sdispls[],
                          MPI_Datatype sendtype, void* recvbuf, const int recvcounts[], const int rdispls[],
                          MPI_Datatype recvtype, MPI_Comm comm);
BuiltCall build_alltoallw(Call& call, const void* sendbuf, const int sendcounts[], const int sdispls[],
                          const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                          const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm);
BuiltCall build_barrier(Call& call, MPI_Comm comm);

}  // namespace offramp
