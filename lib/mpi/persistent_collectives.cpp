// Open MPI's persistent collectives (MPIX_*_init, which MPI 4 has without the X). Each start builds the
// operation anew from the arguments, which the program keeps as they are until it frees the request.
#include "lib/mpi/collective_build.hpp"
#include "lib/mpi/native_calls.hpp"
#include "lib/mpi/request.hpp"
#include "lib/native/native.h"

namespace offramp {
namespace {

/// Types that a request of the library's own needs as long as it is there: Open MPI 4.1 does not keep them.
struct KeptTypes {
  explicit KeptTypes(std::vector<MPI_Datatype> all) : types(std::move(all)) {
    for (MPI_Datatype type : types) offramp_native_type_retain(type);
  }
  ~KeptTypes() {
    for (MPI_Datatype type : types) offramp_native_type_release(type);
  }
  KeptTypes(const KeptTypes&) = delete;
  KeptTypes& operator=(const KeptTypes&) = delete;
  std::vector<MPI_Datatype> types;
};

/// build() makes what a start runs, or nothing if the call is not Offramp's. A reduction of the program's own
/// stays with the MPI library, which keeps it beyond MPI_Op_free, and so does one whose result is to be the
/// library's. Every rank decides alike.
template <typename Types, typename Build, typename Native>
int make(Function function, MPI_Comm comm, MPI_Request* handle, Types types, MPI_Op op, Build build,
         Native otherwise) {
  Call call(function);
  const bool user_defined = op != MPI_OP_NULL && op != MPI_Op{} && function_of(op) == ReduceFunction::kUser;
  // Its types may be freed before the starts: what is recorded of them is known now.
  std::shared_ptr<CollectiveCall> built = handle != nullptr && !user_defined ? build() : nullptr;
  if (built == nullptr || built->only_timed) {
    call.session.library_has_work();
    return pass_through(call, function, otherwise);
  }
  if (!call.session.carries) {
    const int code = call.leave_to_library(otherwise);
    if (code != MPI_SUCCESS) return code;
    auto kept = std::make_shared<KeptTypes>(types(*call.session.communicators.find(comm)));
    track(call.session, comm, *handle, 0).add_more().repeat = [built, kept = std::move(kept)] {
      return record_start(*Session::current, *built);
    };
    return code;
  }
  built.reset();
  Request& request = take_collective_request(comm, Request::Kind::kCollective, true);
  request.repeat->types = types(*call.session.communicators.find(comm));
  for (MPI_Datatype type : request.repeat->types) offramp_native_type_retain(type);
  request.repeat->build = build;
  *handle = request.handle;
  return MPI_SUCCESS;
}

// The types that a call's request keeps, given the communicator. Only those that MPI looks at: the others may
// be anything.

auto no_types() {
  return [](const MpiCommunicator&) { return std::vector<MPI_Datatype>(); };
}

auto one_type(MPI_Datatype type) {
  return [=](const MpiCommunicator&) { return std::vector<MPI_Datatype>{type}; };
}

std::vector<MPI_Datatype> significant(bool sends, MPI_Datatype sendtype, bool receives,
                                      MPI_Datatype recvtype) {
  std::vector<MPI_Datatype> types;
  if (sends) types.push_back(sendtype);
  if (receives) types.push_back(recvtype);
  return types;
}

auto types_of_gather(const void* sendbuf, MPI_Datatype sendtype, MPI_Datatype recvtype, int root) {
  return [=](const MpiCommunicator& comm) {
    return significant(sendbuf != MPI_IN_PLACE, sendtype, comm.rank == root, recvtype);
  };
}

auto types_of_scatter(MPI_Datatype sendtype, const void* recvbuf, MPI_Datatype recvtype, int root) {
  return [=](const MpiCommunicator& comm) {
    return significant(comm.rank == root, sendtype, recvbuf != MPI_IN_PLACE, recvtype);
  };
}

auto types_of_exchange(const void* sendbuf, MPI_Datatype sendtype, MPI_Datatype recvtype) {
  return
      [=](const MpiCommunicator&) { return significant(sendbuf != MPI_IN_PLACE, sendtype, true, recvtype); };
}

auto types_of_alltoallw(const void* sendbuf, const MPI_Datatype sendtypes[], const MPI_Datatype recvtypes[]) {
  return [=](const MpiCommunicator& comm) {
    std::vector<MPI_Datatype> types(recvtypes, recvtypes + comm.size);
    if (sendbuf != MPI_IN_PLACE) types.insert(types.end(), sendtypes, sendtypes + comm.size);
    return types;
  };
}

}  // namespace

namespace face {

int Barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return make(
      Function::kBarrier_init, comm, request, no_types(), MPI_OP_NULL,
      [=] { return build_barrier(*Session::current, comm); },
      [&] { return native.Barrier_init(comm, info, request); });
}

int Bcast_init(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm, MPI_Info info,
               MPI_Request* request) {
  return make(
      Function::kBcast_init, comm, request, one_type(datatype), MPI_OP_NULL,
      [=] { return build_bcast(*Session::current, buffer, count, datatype, root, comm); },
      [&] { return native.Bcast_init(buffer, count, datatype, root, comm, info, request); });
}

int Reduce_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root,
                MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return make(
      Function::kReduce_init, comm, request, one_type(datatype), op,
      [=] { return build_reduce(*Session::current, sendbuf, recvbuf, count, datatype, op, root, comm); },
      [&] { return native.Reduce_init(sendbuf, recvbuf, count, datatype, op, root, comm, info, request); });
}

int Allreduce_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                   MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return make(
      Function::kAllreduce_init, comm, request, one_type(datatype), op,
      [=] { return build_allreduce(*Session::current, sendbuf, recvbuf, count, datatype, op, comm); },
      [&] { return native.Allreduce_init(sendbuf, recvbuf, count, datatype, op, comm, info, request); });
}

int Scan_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
              MPI_Info info, MPI_Request* request) {
  return make(
      Function::kScan_init, comm, request, one_type(datatype), op,
      [=] { return build_scan(*Session::current, sendbuf, recvbuf, count, datatype, op, comm); },
      [&] { return native.Scan_init(sendbuf, recvbuf, count, datatype, op, comm, info, request); });
}

int Exscan_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return make(
      Function::kExscan_init, comm, request, one_type(datatype), op,
      [=] { return build_exscan(*Session::current, sendbuf, recvbuf, count, datatype, op, comm); },
      [&] { return native.Exscan_init(sendbuf, recvbuf, count, datatype, op, comm, info, request); });
}

int Reduce_scatter_block_init(const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype datatype,
                              MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return make(
      Function::kReduce_scatter_block_init, comm, request, one_type(datatype), op,
      [=] {
        return build_reduce_scatter_block(*Session::current, sendbuf, recvbuf, recvcount, datatype, op, comm);
      },
      [&] {
        return native.Reduce_scatter_block_init(sendbuf, recvbuf, recvcount, datatype, op, comm, info,
                                                request);
      });
}

int Reduce_scatter_init(const void* sendbuf, void* recvbuf, const int recvcounts[], MPI_Datatype datatype,
                        MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return make(
      Function::kReduce_scatter_init, comm, request, one_type(datatype), op,
      [=] {
        return build_reduce_scatter(*Session::current, sendbuf, recvbuf, recvcounts, datatype, op, comm);
      },
      [&] {
        return native.Reduce_scatter_init(sendbuf, recvbuf, recvcounts, datatype, op, comm, info, request);
      });
}

int Gather_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return make(
      Function::kGather_init, comm, request, types_of_gather(sendbuf, sendtype, recvtype, root), MPI_OP_NULL,
      [=] {
        return build_gather(*Session::current, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                            root, comm);
      },
      [&] {
        return native.Gather_init(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm,
                                  info, request);
      });
}

int Gatherv_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                 const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm,
                 MPI_Info info, MPI_Request* request) {
  return make(
      Function::kGatherv_init, comm, request, types_of_gather(sendbuf, sendtype, recvtype, root), MPI_OP_NULL,
      [=] {
        return build_gatherv(*Session::current, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                             recvtype, root, comm);
      },
      [&] {
        return native.Gatherv_init(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root,
                                   comm, info, request);
      });
}

int Scatter_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                 MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return make(
      Function::kScatter_init, comm, request, types_of_scatter(sendtype, recvbuf, recvtype, root),
      MPI_OP_NULL,
      [=] {
        return build_scatter(*Session::current, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                             root, comm);
      },
      [&] {
        return native.Scatter_init(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm,
                                   info, request);
      });
}

int Scatterv_init(const void* sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype,
                  void* recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                  MPI_Request* request) {
  return make(
      Function::kScatterv_init, comm, request, types_of_scatter(sendtype, recvbuf, recvtype, root),
      MPI_OP_NULL,
      [=] {
        return build_scatterv(*Session::current, sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount,
                              recvtype, root, comm);
      },
      [&] {
        return native.Scatterv_init(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root,
                                    comm, info, request);
      });
}

int Allgather_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                   MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return make(
      Function::kAllgather_init, comm, request, types_of_exchange(sendbuf, sendtype, recvtype), MPI_OP_NULL,
      [=] {
        return build_allgather(*Session::current, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                               comm);
      },
      [&] {
        return native.Allgather_init(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, info,
                                     request);
      });
}

int Allgatherv_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                    const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm,
                    MPI_Info info, MPI_Request* request) {
  return make(
      Function::kAllgatherv_init, comm, request, types_of_exchange(sendbuf, sendtype, recvtype), MPI_OP_NULL,
      [=] {
        return build_allgatherv(*Session::current, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                recvtype, comm);
      },
      [&] {
        return native.Allgatherv_init(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype,
                                      comm, info, request);
      });
}

int Alltoall_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                  MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return make(
      Function::kAlltoall_init, comm, request, types_of_exchange(sendbuf, sendtype, recvtype), MPI_OP_NULL,
      [=] {
        return build_alltoall(*Session::current, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                              comm);
      },
      [&] {
        return native.Alltoall_init(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, info,
                                    request);
      });
}

int Alltoallv_init(const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                   void* recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                   MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return make(
      Function::kAlltoallv_init, comm, request, types_of_exchange(sendbuf, sendtype, recvtype), MPI_OP_NULL,
      [=] {
        return build_alltoallv(*Session::current, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
                               rdispls, recvtype, comm);
      },
      [&] {
        return native.Alltoallv_init(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                                     recvtype, comm, info, request);
      });
}

int Alltoallw_init(const void* sendbuf, const int sendcounts[], const int sdispls[],
                   const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[], const int rdispls[],
                   const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return make(
      Function::kAlltoallw_init, comm, request, types_of_alltoallw(sendbuf, sendtypes, recvtypes),
      MPI_OP_NULL,
      [=] {
        return build_alltoallw(*Session::current, sendbuf, sendcounts, sdispls, sendtypes, recvbuf,
                               recvcounts, rdispls, recvtypes, comm);
      },
      [&] {
        return native.Alltoallw_init(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls,
                                     recvtypes, comm, info, request);
      });
}

}  // namespace face
}  // namespace offramp
