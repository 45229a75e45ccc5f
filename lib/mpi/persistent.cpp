// Chapter 3.9: persistent requests. Starting them is the MPI library's MPI_Start, which calls back into the
// request.
#include "lib/mpi/point.hpp"
#include "lib/native/native.h"

namespace offramp {
namespace {

int make(Function function, const Point& point, Request::Kind kind, SendMode mode, MPI_Comm comm,
         MPI_Request* handle) {
  Call call(function);
  Request& request = take_request(comm, kind, true);
  request.type = *point.type;
  offramp_native_type_retain(request.type.type);
  request.point = point;
  request.point.type = &request.type;
  request.mode = mode;
  *handle = request.handle;
  return MPI_SUCCESS;
}

}  // namespace

namespace face {

int Send_init(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
              MPI_Request* request) {
  Point point;
  if (request == nullptr || !send_point(*Session::current, buf, count, type, dest, tag, comm, point))
    return native.Send_init(buf, count, type, dest, tag, comm, request);
  return make(Function::kSend_init, point, Request::Kind::kSend, SendMode::kStandard, comm, request);
}

int Bsend_init(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
               MPI_Request* request) {
  Point point;
  if (request == nullptr || !send_point(*Session::current, buf, count, type, dest, tag, comm, point))
    return native.Bsend_init(buf, count, type, dest, tag, comm, request);
  return make(Function::kBsend_init, point, Request::Kind::kSend, SendMode::kBuffered, comm, request);
}

int Ssend_init(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
               MPI_Request* request) {
  Point point;
  if (request == nullptr || !send_point(*Session::current, buf, count, type, dest, tag, comm, point))
    return native.Ssend_init(buf, count, type, dest, tag, comm, request);
  return make(Function::kSsend_init, point, Request::Kind::kSend, SendMode::kSynchronous, comm, request);
}

int Rsend_init(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
               MPI_Request* request) {
  Point point;
  if (request == nullptr || !send_point(*Session::current, buf, count, type, dest, tag, comm, point))
    return native.Rsend_init(buf, count, type, dest, tag, comm, request);
  return make(Function::kRsend_init, point, Request::Kind::kSend, SendMode::kReady, comm, request);
}

int Recv_init(void* buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Request* request) {
  Point point;
  if (request == nullptr || !receive_point(*Session::current, buf, count, type, source, tag, comm, point))
    return native.Recv_init(buf, count, type, source, tag, comm, request);
  return make(Function::kRecv_init, point, Request::Kind::kReceive, SendMode::kStandard, comm, request);
}

int Start(MPI_Request* request) {
  Call call(Function::kStart);
  return call.unlocked([&] { return native.Start(request); });
}

int Startall(int count, MPI_Request requests[]) {
  Call call(Function::kStartall);
  return call.unlocked([&] { return native.Startall(count, requests); });
}

}  // namespace face
}  // namespace offramp
