// Chapter 5: the collectives.
#include "lib/mpi/collective_build.hpp"
#include "lib/mpi/native_calls.hpp"
#include "lib/mpi/pmpi.hpp"
#include "lib/mpi/request.hpp"

namespace offramp {
namespace {

Outcome run(Call& call, CollectiveCall& collective) {
  collective.start();
  call.wait([&] { return collective.done(); });
  collective.deliver();
  collective.observe();
  return collective.outcome();
}

/// Of a blocking collective.
class BlockingEvents {
 public:
  BlockingEvents(Call& call, const CollectiveCall& collective)
      : recorder_(call.recorder()), function_(call.function()) {
    if (recorder_ != nullptr)
      request_ =
          recorder_->begin(function_, collective.operation, collective.buffers, collective.communicator);
  }
  ~BlockingEvents() {
    if (recorder_ != nullptr) recorder_->end(function_, request_);
  }
  BlockingEvents(const BlockingEvents&) = delete;
  BlockingEvents& operator=(const BlockingEvents&) = delete;

 private:
  ProgramRecorder* recorder_;
  Function function_;
  std::uint32_t request_ = 0;
};

/// Between the groups of an intercommunicator, everybody gets something of everybody on the other side.
bool is_mutual(Function function) {
  switch (function) {
    case Function::kBarrier:
    case Function::kAllreduce:
    case Function::kAllgather:
    case Function::kAllgatherv:
    case Function::kAlltoall:
    case Function::kAlltoallv:
    case Function::kAlltoallw:
    case Function::kReduce_scatter:
    case Function::kReduce_scatter_block:
      return true;
    default:
      return false;
  }
}

/// Runs what the builder makes of the arguments, or the MPI library's function when it makes nothing.
template <typename Build, typename Native, typename... Arguments>
int blocking(Function function, MPI_Comm comm, Build build, Native otherwise, Arguments... arguments) {
  Outcome outcome = Outcome::kOk;
  {
    Call call(function);
    const BuiltCall collective = build(call.session, arguments..., comm);
    if (collective == nullptr) {
      MeetingAround meeting = MeetingAround::other_group(call, is_mutual(function) ? comm : MPI_COMM_NULL);
      const int code = pass_through(call, function, [&] { return otherwise(arguments..., comm); });
      meeting.end(took_part(code));
      return code;
    }
    const BlockingEvents events(call, *collective);
    if (!call.session.carries) return call.leave_to_library([&] { return otherwise(arguments..., comm); });
    outcome = run(call, *collective);
    if (collective->only_timed) {
      const int code = call.unlocked([&] { return otherwise(arguments..., comm); });
      if (code != MPI_SUCCESS) return code;
    }
  }
  return finish(function, comm, outcome);
}

template <typename Build, typename Native, typename... Arguments>
int nonblocking(Function function, MPI_Comm comm, MPI_Request* handle, Build build, Native otherwise,
                Arguments... arguments) {
  Call call(function);
  BuiltCall collective = handle != nullptr ? build(call.session, arguments..., comm) : nullptr;
  if (collective == nullptr) {
    call.session.library_has_work();
    return pass_through(call, function, [&] { return otherwise(arguments..., comm, handle); });
  }
  const std::uint32_t recorded = record_start(call.session, *collective);
  if (!call.session.carries) {
    const int code = call.leave_to_library([&] { return otherwise(arguments..., comm, handle); });
    if (code == MPI_SUCCESS) track(call.session, comm, *handle, recorded);
    return code;
  }
  if (collective->only_timed) {
    call.session.library_has_work();
    const int code = call.unlocked([&] { return otherwise(arguments..., comm, handle); });
    if (code == MPI_SUCCESS) *handle = follow(call.session, comm, *handle, std::move(collective), recorded);
    return code;
  }
  CollectiveRequest& request = take_collective_request(comm, Request::Kind::kCollective);
  request.recorded = recorded;
  *handle = request.handle;
  start_collective(request, std::move(collective));
  return MPI_SUCCESS;
}

}  // namespace

namespace face {

int Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return blocking(Function::kBcast, comm, build_bcast, native.Bcast, buffer, count, type, root);
}
int Ibcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
  return nonblocking(Function::kIbcast, comm, request, build_bcast, native.Ibcast, buffer, count, type, root);
}

int Reduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op, int root,
           MPI_Comm comm) {
  return blocking(Function::kReduce, comm, build_reduce, native.Reduce, sendbuf, recvbuf, count, type, op,
                  root);
}
int Ireduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op, int root,
            MPI_Comm comm, MPI_Request* request) {
  return nonblocking(Function::kIreduce, comm, request, build_reduce, native.Ireduce, sendbuf, recvbuf, count,
                     type, op, root);
}

int Allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return blocking(Function::kAllreduce, comm, build_allreduce, native.Allreduce, sendbuf, recvbuf, count,
                  type, op);
}
int Iallreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
               MPI_Request* request) {
  return nonblocking(Function::kIallreduce, comm, request, build_allreduce, native.Iallreduce, sendbuf,
                     recvbuf, count, type, op);
}

int Scan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return blocking(Function::kScan, comm, build_scan, native.Scan, sendbuf, recvbuf, count, type, op);
}
int Iscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
          MPI_Request* request) {
  return nonblocking(Function::kIscan, comm, request, build_scan, native.Iscan, sendbuf, recvbuf, count, type,
                     op);
}

int Exscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return blocking(Function::kExscan, comm, build_exscan, native.Exscan, sendbuf, recvbuf, count, type, op);
}
int Iexscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
            MPI_Request* request) {
  return nonblocking(Function::kIexscan, comm, request, build_exscan, native.Iexscan, sendbuf, recvbuf, count,
                     type, op);
}

int Reduce_scatter_block(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm) {
  return blocking(Function::kReduce_scatter_block, comm, build_reduce_scatter_block,
                  native.Reduce_scatter_block, sendbuf, recvbuf, count, type, op);
}
int Ireduce_scatter_block(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op,
                          MPI_Comm comm, MPI_Request* request) {
  return nonblocking(Function::kIreduce_scatter_block, comm, request, build_reduce_scatter_block,
                     native.Ireduce_scatter_block, sendbuf, recvbuf, count, type, op);
}

int Reduce_scatter(const void* sendbuf, void* recvbuf, const int counts[], MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm) {
  return blocking(Function::kReduce_scatter, comm, build_reduce_scatter, native.Reduce_scatter, sendbuf,
                  recvbuf, counts, type, op);
}
int Ireduce_scatter(const void* sendbuf, void* recvbuf, const int counts[], MPI_Datatype type, MPI_Op op,
                    MPI_Comm comm, MPI_Request* request) {
  return nonblocking(Function::kIreduce_scatter, comm, request, build_reduce_scatter, native.Ireduce_scatter,
                     sendbuf, recvbuf, counts, type, op);
}

int Gather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
           MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return blocking(Function::kGather, comm, build_gather, native.Gather, sendbuf, sendcount, sendtype, recvbuf,
                  recvcount, recvtype, root);
}
int Igather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
            MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request* request) {
  return nonblocking(Function::kIgather, comm, request, build_gather, native.Igather, sendbuf, sendcount,
                     sendtype, recvbuf, recvcount, recvtype, root);
}

int Gatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
            const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return blocking(Function::kGatherv, comm, build_gatherv, native.Gatherv, sendbuf, sendcount, sendtype,
                  recvbuf, recvcounts, displs, recvtype, root);
}
int Igatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
             const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request* request) {
  return nonblocking(Function::kIgatherv, comm, request, build_gatherv, native.Igatherv, sendbuf, sendcount,
                     sendtype, recvbuf, recvcounts, displs, recvtype, root);
}

int Scatter(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
            MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return blocking(Function::kScatter, comm, build_scatter, native.Scatter, sendbuf, sendcount, sendtype,
                  recvbuf, recvcount, recvtype, root);
}
int Iscatter(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
             MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request* request) {
  return nonblocking(Function::kIscatter, comm, request, build_scatter, native.Iscatter, sendbuf, sendcount,
                     sendtype, recvbuf, recvcount, recvtype, root);
}

int Scatterv(const void* sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype,
             void* recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return blocking(Function::kScatterv, comm, build_scatterv, native.Scatterv, sendbuf, sendcounts, displs,
                  sendtype, recvbuf, recvcount, recvtype, root);
}
int Iscatterv(const void* sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype,
              void* recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
              MPI_Request* request) {
  return nonblocking(Function::kIscatterv, comm, request, build_scatterv, native.Iscatterv, sendbuf,
                     sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root);
}

int Allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
              MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking(Function::kAllgather, comm, build_allgather, native.Allgather, sendbuf, sendcount, sendtype,
                  recvbuf, recvcount, recvtype);
}
int Iallgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
               MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request) {
  return nonblocking(Function::kIallgather, comm, request, build_allgather, native.Iallgather, sendbuf,
                     sendcount, sendtype, recvbuf, recvcount, recvtype);
}

int Allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
               const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking(Function::kAllgatherv, comm, build_allgatherv, native.Allgatherv, sendbuf, sendcount,
                  sendtype, recvbuf, recvcounts, displs, recvtype);
}
int Iallgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm,
                MPI_Request* request) {
  return nonblocking(Function::kIallgatherv, comm, request, build_allgatherv, native.Iallgatherv, sendbuf,
                     sendcount, sendtype, recvbuf, recvcounts, displs, recvtype);
}

int Alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
             MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking(Function::kAlltoall, comm, build_alltoall, native.Alltoall, sendbuf, sendcount, sendtype,
                  recvbuf, recvcount, recvtype);
}
int Ialltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
              MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request) {
  return nonblocking(Function::kIalltoall, comm, request, build_alltoall, native.Ialltoall, sendbuf,
                     sendcount, sendtype, recvbuf, recvcount, recvtype);
}

int Alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
              void* recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
              MPI_Comm comm) {
  return blocking(Function::kAlltoallv, comm, build_alltoallv, native.Alltoallv, sendbuf, sendcounts, sdispls,
                  sendtype, recvbuf, recvcounts, rdispls, recvtype);
}
int Ialltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
               void* recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
               MPI_Comm comm, MPI_Request* request) {
  return nonblocking(Function::kIalltoallv, comm, request, build_alltoallv, native.Ialltoallv, sendbuf,
                     sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype);
}

int Alltoallw(const void* sendbuf, const int sendcounts[], const int sdispls[],
              const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[], const int rdispls[],
              const MPI_Datatype recvtypes[], MPI_Comm comm) {
  return blocking(Function::kAlltoallw, comm, build_alltoallw, native.Alltoallw, sendbuf, sendcounts, sdispls,
                  sendtypes, recvbuf, recvcounts, rdispls, recvtypes);
}
int Ialltoallw(const void* sendbuf, const int sendcounts[], const int sdispls[],
               const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[], const int rdispls[],
               const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Request* request) {
  return nonblocking(Function::kIalltoallw, comm, request, build_alltoallw, native.Ialltoallw, sendbuf,
                     sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes);
}

int Barrier(MPI_Comm comm) {
  return blocking(Function::kBarrier, comm, build_barrier, native.Barrier);
}
int Ibarrier(MPI_Comm comm, MPI_Request* request) {
  return nonblocking(Function::kIbarrier, comm, request, build_barrier, native.Ibarrier);
}

}  // namespace face
}  // namespace offramp
