#include "lib/mpi/request.hpp"

#include <new>

#include "lib/mpi/collective_call.hpp"
#include "lib/native/native.h"

namespace offramp {
namespace {

// The pool hands out zeroed memory; the body is built in it once and reused with it.
struct Body {
  bool built;
  alignas(Request) std::byte storage[sizeof(Request)];
};

Request& request_in(void* memory) {
  auto* body = static_cast<Body*>(memory);
  return *std::launder(reinterpret_cast<Request*>(body->storage));
}

void recycle(Request& request) {
  request.outgoing.reset();
  request.incoming.reset();
  request.collective.reset();
  request.meeting.reset();
  if (request.persistent && request.kind != Request::Kind::kCollective)
    offramp_native_type_release(request.type.type);
  for (MPI_Datatype type : request.types) offramp_native_type_release(type);
  request.types.clear();
  request.build = nullptr;
  offramp_native_request_recycle(request.handle);
}

// Called by the MPI library without our lock: the program learns of a completion, or frees the request.
void on_released(void* memory, int active) {
  if (Session::current == nullptr) return;
  const auto guard = Session::current->lock();
  Request& request = request_in(memory);
  request.released = true;
  if (active != 0) return;  // recycled when it completes
  if (request.done()) request.observe();
  recycle(request);
}

void on_cancel(void* memory) {
  const auto guard = Session::current->lock();
  Request& request = request_in(memory);
  // A send is on its way already: cancelling it has no effect, as with the MPI library's own.
  if (request.kind == Request::Kind::kReceive) Session::current->engine.cancel(request.receive);
}

int on_start(void* memory) {
  Session& session = *Session::current;
  const auto guard = session.lock();
  Request& request = request_in(memory);
  if (request.kind == Request::Kind::kCollective) {
    std::unique_ptr<CollectiveCall> collective = request.build();
    if (collective == nullptr) return MPI_ERR_COMM;  // freed since
    offramp_native_request_activate(request.handle);
    start_collective(request, std::move(collective));
    return MPI_SUCCESS;
  }
  offramp_native_request_activate(request.handle);
  return request.kind == Request::Kind::kSend ? start_send(session, request, request.point, request.mode)
                                              : start_receive(session, request, request.point);
}

/// Of its fields, those of the operation may be used; nobody else knows of it.
Request& reserve_request(Request::Kind kind) {
  void* memory = nullptr;
  const MPI_Request handle = offramp_native_request_reserve(&memory);
  if (handle == nullptr) throw std::bad_alloc();
  auto* body = static_cast<Body*>(memory);
  if (!body->built) {
    new (body->storage) Request();
    body->built = true;
  }
  Request& request = request_in(memory);
  request.handle = handle;
  request.kind = kind;
  return request;
}

void begin_request(Request& request, MPI_Comm comm, bool persistent) {
  offramp_native_request_begin(request.handle, comm, persistent ? 1 : 0);
  request.released = false;
  request.persistent = persistent;
}

void on_send_complete(SendRecord& record) {
  auto& request = *static_cast<Request*>(record.owner);
  request.outgoing.reset();
  complete_request(request, MPI_ANY_SOURCE, MPI_ANY_TAG, record.outcome, 0);
}

SendArguments arguments_of(Request& request, const Point& point, SendMode mode) {
  return {*point.communicator->context,
          point.peer,
          point.tag,
          request.outgoing.set(point.buffer, point.count, *point.type),
          point.type->element,
          mode == SendMode::kSynchronous};
}

void on_receive_complete(ReceiveRecord& record) {
  auto& request = *static_cast<Request*>(record.owner);
  const Envelope& e = record.header.envelope;
  if (record.outcome == Outcome::kCancelled) {
    request.incoming.reset();
    return complete_request(request, MPI_ANY_SOURCE, MPI_ANY_TAG, record.outcome, 0);
  }
  request.incoming.finish(record.received);
  request.incoming.reset();
  complete_request(request, e.source, e.tag, record.outcome, record.received);
}

}  // namespace

bool Request::done() const {
  switch (kind) {
    case Kind::kSend:
      return mode == SendMode::kBuffered || send.done;
    case Kind::kReceive:
      return receive.done;
    case Kind::kCollective:
      return collective != nullptr && collective->done();
    case Kind::kMeeting:
      return meeting->done();
  }
  return false;
}

void Request::observe() {
  Engine& engine = Session::current->engine;
  if (kind == Kind::kSend && mode != SendMode::kBuffered) engine.observe(send);
  if (kind == Kind::kReceive) engine.observe(receive);
  if (kind == Kind::kCollective) collective->observe();
  if (kind == Kind::kMeeting) meeting->observe();
}

void open_requests() {
  static const offramp_request_callbacks callbacks = {on_released, on_cancel, on_start};
  offramp_native_requests_open(sizeof(Body), &callbacks);
}

Request& take_request(MPI_Comm comm, Request::Kind kind, bool persistent) {
  Request& request = reserve_request(kind);
  begin_request(request, comm, persistent);
  return request;
}

Request* own_request(MPI_Request handle) {
  void* memory = offramp_native_request_body(handle);
  return memory != nullptr ? &request_in(memory) : nullptr;
}

void complete_request(Request& request, int source, int tag, Outcome outcome, std::size_t bytes) {
  const bool cancelled = outcome == Outcome::kCancelled;
  if (request.released) return recycle(request);
  offramp_native_request_finish(request.handle, source, tag, error_code(outcome), bytes, cancelled ? 1 : 0);
}

MPI_Request follow(Session& session, MPI_Comm comm, MPI_Request library, std::unique_ptr<Collective> meeting,
                   std::function<void()> finish) {
  Request& request = take_request(comm, Request::Kind::kMeeting);
  request.meeting = std::move(meeting);
  session.poll([&request, library, finish = std::move(finish)]() mutable {
    if (library != MPI_REQUEST_NULL && offramp_native_request_complete(library) == 0) return false;
    if (!request.meeting->done()) return false;
    // Freed, not waited for: an error is raised when the program learns of it.
    const int error = library != MPI_REQUEST_NULL ? offramp_native_request_error(library) : MPI_SUCCESS;
    if (library != MPI_REQUEST_NULL) native.Request_free(&library);
    if (finish != nullptr) finish();
    if (request.released)
      recycle(request);
    else
      offramp_native_request_finish(request.handle, MPI_ANY_SOURCE, MPI_ANY_TAG, error, 0, 0);
    return true;
  });
  return request.handle;
}

int start_send(Session& session, Request& request, const Point& point, SendMode mode) {
  request.mode = mode;
  const SendArguments arguments = arguments_of(request, point, mode);
  if (mode == SendMode::kBuffered) {
    const bool room = session.bsend.send(session.engine, arguments);
    request.outgoing.reset();
    complete_request(request, MPI_ANY_SOURCE, MPI_ANY_TAG, Outcome::kOk, 0);
    return room ? MPI_SUCCESS : MPI_ERR_BUFFER;
  }
  request.send.owner = &request;
  request.send.on_complete = on_send_complete;
  session.engine.send(request.send, arguments);
  return MPI_SUCCESS;
}

int start_new_send(Session& session, MPI_Comm comm, const Point& point, SendMode mode, MPI_Request& handle) {
  Request& request = reserve_request(Request::Kind::kSend);
  request.mode = mode;
  const SendArguments arguments = arguments_of(request, point, mode);
  bool room = true;
  if (mode == SendMode::kBuffered) {
    room = session.bsend.send(session.engine, arguments);
  } else {
    request.send.on_complete = nullptr;
    session.engine.send(request.send, arguments);
  }
  if (mode == SendMode::kBuffered || session.engine.is_over(request.send)) {
    request.outgoing.reset();
    offramp_native_request_unreserve(request.handle);
    handle = offramp_native_request_completed();
    return room ? MPI_SUCCESS : MPI_ERR_BUFFER;
  }
  begin_request(request, comm, false);
  handle = request.handle;
  request.send.owner = &request;
  request.send.on_complete = on_send_complete;
  if (request.send.done) on_send_complete(request.send);
  return MPI_SUCCESS;
}

int start_receive(Session& session, Request& request, const Point& point) {
  request.receive.owner = &request;
  request.receive.on_complete = on_receive_complete;
  const MutableBytes into = request.incoming.set(point.buffer, point.count, *point.type);
  session.engine.receive(request.receive, *point.communicator->context, point.peer, point.tag, into);
  return MPI_SUCCESS;
}

void start_collective(Request& request, std::unique_ptr<CollectiveCall> collective) {
  request.collective = std::move(collective);
  Collective& running = request.collective->collective;
  running.owner = &request;
  running.on_complete = [](Collective& self) {
    auto& done = *static_cast<Request*>(self.owner);
    const Outcome outcome = done.collective->outcome();
    done.collective->deliver();
    complete_request(done, MPI_ANY_SOURCE, MPI_ANY_TAG, outcome, 0);
  };
  request.collective->start();
}

void start_claimed(Session& session, Request& request, std::unique_ptr<UnexpectedMessage> message,
                   void* buffer, int count, const TypeInfo& type) {
  request.receive.owner = &request;
  request.receive.on_complete = on_receive_complete;
  session.engine.receive_claimed(request.receive, std::move(message),
                                 request.incoming.set(buffer, count, type));
}

}  // namespace offramp
