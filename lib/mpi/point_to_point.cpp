// Chapter 3: blocking and nonblocking point-to-point communication.
#include "lib/mpi/point.hpp"

#include "lib/native/native.h"

namespace offramp {
namespace {

SendArguments arguments_of(const Point& point, Bytes data, SendMode mode) {
  return {*point.communicator->context,  point.peer, point.tag, data, point.type->element,
          mode == SendMode::kSynchronous};
}

[[gnu::always_inline]] inline int send_blocking(Function function, const Point& point, SendMode mode,
                                                MPI_Comm comm) {
  Outcome outcome = Outcome::kOk;
  {
    Call call(function);
    Records records(call.session);
    SendRecord& record = records.send();
    SendBuffer buffer;
    call.engine.send(record, arguments_of(point, buffer.set(point.buffer, point.count, *point.type), mode));
    call.wait([&] { return record.done; });
    call.engine.observe(record);
    outcome = record.outcome;
  }
  return finish(function, comm, outcome);
}

int receive_blocking(Function function, const Point& point, MPI_Comm comm, MPI_Status* status,
                     const void* site = __builtin_return_address(0)) {
  Outcome outcome = Outcome::kOk;
  {
    Call call(function, site);
    Records records(call.session);
    ReceiveRecord& record = records.receive();
    ReceiveBuffer buffer;
    call.engine.receive(record, *point.communicator->context, point.peer, point.tag,
                        buffer.set(point.buffer, point.count, *point.type));
    call.wait([&] { return record.done; });
    call.engine.observe(record);
    buffer.finish(record.received);
    fill_status(status, record.header.envelope.source, record.header.envelope.tag, record.told());
    outcome = record.outcome;
  }
  return finish(function, comm, outcome);
}

/// Both halves of MPI_Sendrecv; either point may be null (MPI_PROC_NULL).
Outcome exchange(Function function, const Point* to, const Point* from, bool replace, MPI_Status* status,
                 const void* site = __builtin_return_address(0)) {
  Call call(function, site);
  Records records(call.session);
  SendRecord& send = records.send();
  ReceiveRecord& receive = records.receive();
  SendBuffer outgoing;
  ReceiveBuffer incoming;
  Bytes data;
  if (to != nullptr)
    data = replace ? outgoing.copy(to->buffer, to->count, *to->type)
                   : outgoing.set(to->buffer, to->count, *to->type);
  if (from != nullptr)
    call.engine.receive(receive, *from->communicator->context, from->peer, from->tag,
                        incoming.set(from->buffer, from->count, *from->type));
  if (to != nullptr) call.engine.send(send, arguments_of(*to, data, SendMode::kStandard));
  call.wait([&] { return (to == nullptr || send.done) && (from == nullptr || receive.done); });
  Outcome outcome = Outcome::kOk;
  if (to != nullptr) {
    call.engine.observe(send);
    outcome = send.outcome;
  }
  if (from == nullptr) {
    fill_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    return outcome;
  }
  call.engine.observe(receive);
  incoming.finish(receive.received);
  fill_status(status, receive.header.envelope.source, receive.header.envelope.tag, receive.told());
  return receive.outcome != Outcome::kOk ? receive.outcome : outcome;
}

int buffered_send(Function function, const Point& point, MPI_Comm comm) {
  bool room = false;
  {
    Call call(function);
    SendBuffer buffer;
    const Bytes data = buffer.set(point.buffer, point.count, *point.type);
    room = call.session.bsend.send(call.session, arguments_of(point, data, SendMode::kStandard));
  }
  return raise_error(function, comm, room ? MPI_SUCCESS : MPI_ERR_BUFFER);
}

[[gnu::always_inline]] inline int send_nonblocking(Function function, const Point& point, SendMode mode,
                                                   MPI_Comm comm, MPI_Request* handle) {
  int code = MPI_SUCCESS;
  {
    Call call(function);
    code = start_new_send(call.session, comm, point, mode, *handle);
  }
  if (code != MPI_SUCCESS) *handle = MPI_REQUEST_NULL;
  return raise_error(function, comm, code);
}

}  // namespace

namespace face {

int Send(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  Point point;
  if (!send_point(*Session::current, buf, count, type, dest, tag, comm, point))
    return native.Send(buf, count, type, dest, tag, comm);
  return send_blocking(Function::kSend, point, SendMode::kStandard, comm);
}

int Ssend(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  Point point;
  if (!send_point(*Session::current, buf, count, type, dest, tag, comm, point))
    return native.Ssend(buf, count, type, dest, tag, comm);
  return send_blocking(Function::kSsend, point, SendMode::kSynchronous, comm);
}

int Rsend(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  Point point;
  if (!send_point(*Session::current, buf, count, type, dest, tag, comm, point))
    return native.Rsend(buf, count, type, dest, tag, comm);
  return send_blocking(Function::kRsend, point, SendMode::kReady, comm);
}

int Bsend(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  Point point;
  if (!send_point(*Session::current, buf, count, type, dest, tag, comm, point))
    return native.Bsend(buf, count, type, dest, tag, comm);
  return buffered_send(Function::kBsend, point, comm);
}

int Recv(void* buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status) {
  Point point;
  if (!receive_point(*Session::current, buf, count, type, source, tag, comm, point))
    return native.Recv(buf, count, type, source, tag, comm, status);
  return receive_blocking(Function::kRecv, point, comm, status);
}

int Sendrecv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf,
             int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
             MPI_Status* status) {
  Session& session = *Session::current;
  Point to;
  Point from;
  const bool sends = dest != MPI_PROC_NULL;
  const bool receives = source != MPI_PROC_NULL;
  const bool carried =
      (sends || receives) &&
      (!sends || send_point(session, sendbuf, sendcount, sendtype, dest, sendtag, comm, to)) &&
      (!receives || receive_point(session, recvbuf, recvcount, recvtype, source, recvtag, comm, from));
  if (!carried)
    return native.Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source,
                           recvtag, comm, status);
  return finish(
      Function::kSendrecv, comm,
      exchange(Function::kSendrecv, sends ? &to : nullptr, receives ? &from : nullptr, false, status));
}

int Sendrecv_replace(void* buf, int count, MPI_Datatype type, int dest, int sendtag, int source, int recvtag,
                     MPI_Comm comm, MPI_Status* status) {
  Session& session = *Session::current;
  Point to;
  Point from;
  const bool sends = dest != MPI_PROC_NULL;
  const bool receives = source != MPI_PROC_NULL;
  const bool carried = (sends || receives) &&
                       (!sends || send_point(session, buf, count, type, dest, sendtag, comm, to)) &&
                       (!receives || receive_point(session, buf, count, type, source, recvtag, comm, from));
  if (!carried)
    return native.Sendrecv_replace(buf, count, type, dest, sendtag, source, recvtag, comm, status);
  return finish(
      Function::kSendrecv_replace, comm,
      exchange(Function::kSendrecv_replace, sends ? &to : nullptr, receives ? &from : nullptr, true, status));
}

int Isend(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
          MPI_Request* request) {
  Point point;
  if (request == nullptr || !send_point(*Session::current, buf, count, type, dest, tag, comm, point))
    return native.Isend(buf, count, type, dest, tag, comm, request);
  return send_nonblocking(Function::kIsend, point, SendMode::kStandard, comm, request);
}

int Issend(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
           MPI_Request* request) {
  Point point;
  if (request == nullptr || !send_point(*Session::current, buf, count, type, dest, tag, comm, point))
    return native.Issend(buf, count, type, dest, tag, comm, request);
  return send_nonblocking(Function::kIssend, point, SendMode::kSynchronous, comm, request);
}

int Irsend(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
           MPI_Request* request) {
  Point point;
  if (request == nullptr || !send_point(*Session::current, buf, count, type, dest, tag, comm, point))
    return native.Irsend(buf, count, type, dest, tag, comm, request);
  return send_nonblocking(Function::kIrsend, point, SendMode::kReady, comm, request);
}

int Ibsend(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
           MPI_Request* request) {
  Point point;
  if (request == nullptr || !send_point(*Session::current, buf, count, type, dest, tag, comm, point))
    return native.Ibsend(buf, count, type, dest, tag, comm, request);
  return send_nonblocking(Function::kIbsend, point, SendMode::kBuffered, comm, request);
}

int Irecv(void* buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* handle) {
  Point point;
  if (handle == nullptr || !receive_point(*Session::current, buf, count, type, source, tag, comm, point))
    return native.Irecv(buf, count, type, source, tag, comm, handle);
  Call call(Function::kIrecv);
  *handle = start_new_receive(call.session, comm, point);
  return MPI_SUCCESS;
}

}  // namespace face
}  // namespace offramp
