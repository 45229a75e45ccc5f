#include "lib/mpi/request.hpp"

#include <cstddef>
#include <new>

#include "lib/mpi/collective_call.hpp"
#include "lib/native/native.h"

namespace offramp {
namespace {

// The pool hands out zeroed memory; the body is built in it once and reused with it.
struct Body {
  bool built;
  alignas(std::max_align_t) std::byte storage[1];
};
constexpr std::size_t kBodyStart = offsetof(Body, storage);

enum Sort : std::uint8_t { kSends, kReceives, kCollectives };

Request& request_in(void* memory) {
  return *std::launder(reinterpret_cast<Request*>(static_cast<Body*>(memory)->storage));
}

SendRequest& as_send(Request& request) {
  return static_cast<SendRequest&>(request);
}
ReceiveRequest& as_receive(Request& request) {
  return static_cast<ReceiveRequest&>(request);
}
CollectiveRequest& as_collective(Request& request) {
  return static_cast<CollectiveRequest&>(request);
}

void let_go(Request::Repeat& repeat) {
  if (repeat.communicator.context != nullptr) Session::current->engine.release(*repeat.communicator.context);
  if (repeat.type.type != MPI_DATATYPE_NULL) offramp_native_type_release(repeat.type.type);
  for (MPI_Datatype type : repeat.types) offramp_native_type_release(type);
}

void recycle(Request& request) {
  switch (request.kind) {
    case Request::Kind::kSend:
      as_send(request).outgoing.reset();
      break;
    case Request::Kind::kReceive:
      as_receive(request).incoming.reset();
      break;
    case Request::Kind::kCollective:
    case Request::Kind::kMeeting:
      as_collective(request).collective.reset();
      as_collective(request).meeting.reset();
      break;
  }
  if (request.repeat != nullptr) let_go(*request.repeat);
  request.repeat.reset();
  offramp_native_request_recycle(request.handle);
}

/// Of its fields, those of the operation may be used; nobody else knows of it.
template <typename T>
T& reserve(Sort sort, Request::Kind kind) {
  void* memory = nullptr;
  const MPI_Request handle = offramp_native_request_reserve(sort, &memory);
  if (handle == nullptr) throw std::bad_alloc();
  auto* body = static_cast<Body*>(memory);
  if (!body->built) {
    new (static_cast<void*>(body->storage)) T;  // not "T()", which would clear memory that is not there
    body->built = true;
  }
  T& request = static_cast<T&>(request_in(memory));
  request.handle = handle;
  request.kind = kind;
  return request;
}

void begin(Request& request, MPI_Comm comm, bool persistent) {
  offramp_native_request_begin(request.handle, comm, persistent ? 1 : 0);
  request.released = false;
  if (persistent) request.repeat = std::make_unique<Request::Repeat>();
}

template <typename T>
T& take(MPI_Comm comm, Sort sort, Request::Kind kind, bool persistent) {
  T& request = reserve<T>(sort, kind);
  begin(request, comm, persistent);
  return request;
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
  if (Session::current == nullptr) return;
  const auto guard = Session::current->lock();
  Request& request = request_in(memory);
  // A send is on its way already: cancelling it has no effect, as with the MPI library's own.
  if (request.kind == Request::Kind::kReceive) Session::current->engine.cancel(as_receive(request).record);
}

int on_start(void* memory) {
  if (Session::current == nullptr) return MPI_ERR_OTHER;
  Session& session = *Session::current;
  const auto guard = session.lock();
  Request& request = request_in(memory);
  if (request.kind == Request::Kind::kCollective) {
    std::unique_ptr<CollectiveCall> collective = request.repeat->build();
    if (collective == nullptr) return MPI_ERR_COMM;  // freed since
    offramp_native_request_activate(request.handle);
    start_collective(as_collective(request), std::move(collective));
    return MPI_SUCCESS;
  }
  offramp_native_request_activate(request.handle);
  const Point& point = request.repeat->point;
  return request.kind == Request::Kind::kSend ? start_send(session, as_send(request), point, request.mode)
                                              : start_receive(session, as_receive(request), point);
}

void on_send_complete(SendRecord& record) {
  auto& request = *static_cast<SendRequest*>(record.owner);
  request.outgoing.reset();
  complete_request(request, MPI_ANY_SOURCE, MPI_ANY_TAG, record.outcome, 0);
}

SendArguments arguments_of(SendRequest& request, const Point& point, SendMode mode) {
  return {*point.communicator->context,
          point.peer,
          point.tag,
          request.outgoing.set(point.buffer, point.count, *point.type),
          point.type->element,
          mode == SendMode::kSynchronous};
}

void on_receive_complete(ReceiveRecord& record) {
  auto& request = *static_cast<ReceiveRequest*>(record.owner);
  const Envelope& e = record.header.envelope;
  if (record.outcome == Outcome::kCancelled) {
    request.incoming.reset();
    return complete_request(request, MPI_ANY_SOURCE, MPI_ANY_TAG, record.outcome, 0);
  }
  request.incoming.finish(record.received);
  request.incoming.reset();
  complete_request(request, e.source, e.tag, record.outcome, record.told());
}

}  // namespace

bool Request::done() const {
  switch (kind) {
    case Kind::kSend:
      return mode == SendMode::kBuffered || static_cast<const SendRequest&>(*this).record.done;
    case Kind::kReceive:
      return static_cast<const ReceiveRequest&>(*this).record.done;
    case Kind::kCollective: {
      const auto& collective = static_cast<const CollectiveRequest&>(*this).collective;
      return collective != nullptr && collective->done();
    }
    case Kind::kMeeting:
      return static_cast<const CollectiveRequest&>(*this).meeting->done();
  }
  return false;
}

void Request::observe() {
  Engine& engine = Session::current->engine;
  if (kind == Kind::kSend && mode != SendMode::kBuffered) engine.observe(as_send(*this).record);
  if (kind == Kind::kReceive) engine.observe(as_receive(*this).record);
  if (kind == Kind::kCollective) as_collective(*this).collective->observe();
  if (kind == Kind::kMeeting) as_collective(*this).meeting->observe();
}

void open_requests(std::size_t lanes) {
  static const offramp_request_callbacks callbacks = {on_released, on_cancel, on_start};
  std::size_t bytes[kOfframpRequestSorts] = {};
  bytes[kSends] = kBodyStart + Tail<SendRequest>::size(lanes);
  bytes[kReceives] = kBodyStart + Tail<ReceiveRequest>::size(lanes);
  bytes[kCollectives] = kBodyStart + sizeof(CollectiveRequest);
  offramp_native_requests_open(bytes, &callbacks);
}

SendRequest& take_send_request(MPI_Comm comm, bool persistent) {
  return take<SendRequest>(comm, kSends, Request::Kind::kSend, persistent);
}
ReceiveRequest& take_receive_request(MPI_Comm comm, bool persistent) {
  return take<ReceiveRequest>(comm, kReceives, Request::Kind::kReceive, persistent);
}
CollectiveRequest& take_collective_request(MPI_Comm comm, Request::Kind kind, bool persistent) {
  return take<CollectiveRequest>(comm, kCollectives, kind, persistent);
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
  CollectiveRequest& request = take_collective_request(comm, Request::Kind::kMeeting);
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

int start_send(Session& session, SendRequest& request, const Point& point, SendMode mode) {
  request.mode = mode;
  const SendArguments arguments = arguments_of(request, point, mode);
  if (mode == SendMode::kBuffered) {
    const bool room = session.bsend.send(session.engine, arguments);
    request.outgoing.reset();
    complete_request(request, MPI_ANY_SOURCE, MPI_ANY_TAG, Outcome::kOk, 0);
    return room ? MPI_SUCCESS : MPI_ERR_BUFFER;
  }
  request.record.owner = &request;
  request.record.on_complete = on_send_complete;
  session.engine.send(request.record, arguments);
  return MPI_SUCCESS;
}

int start_new_send(Session& session, MPI_Comm comm, const Point& point, SendMode mode, MPI_Request& handle) {
  SendRequest& request = reserve<SendRequest>(kSends, Request::Kind::kSend);
  request.mode = mode;
  const SendArguments arguments = arguments_of(request, point, mode);
  bool room = true;
  if (mode == SendMode::kBuffered) {
    room = session.bsend.send(session.engine, arguments);
  } else {
    request.record.on_complete = nullptr;
    session.engine.send(request.record, arguments);
  }
  if (mode == SendMode::kBuffered || session.engine.is_over(request.record)) {
    request.outgoing.reset();
    offramp_native_request_unreserve(request.handle);
    handle = offramp_native_request_completed();
    return room ? MPI_SUCCESS : MPI_ERR_BUFFER;
  }
  begin(request, comm, false);
  handle = request.handle;
  request.record.owner = &request;
  request.record.on_complete = on_send_complete;
  if (request.record.done) on_send_complete(request.record);
  return MPI_SUCCESS;
}

int start_receive(Session& session, ReceiveRequest& request, const Point& point) {
  request.record.owner = &request;
  request.record.on_complete = on_receive_complete;
  const MutableBytes into = request.incoming.set(point.buffer, point.count, *point.type);
  session.engine.receive(request.record, *point.communicator->context, point.peer, point.tag, into);
  return MPI_SUCCESS;
}

void start_collective(CollectiveRequest& request, std::unique_ptr<CollectiveCall> collective) {
  request.collective = std::move(collective);
  Collective& running = request.collective->collective;
  running.owner = &request;
  running.on_complete = [](Collective& self) {
    auto& done = *static_cast<CollectiveRequest*>(self.owner);
    const Outcome outcome = done.collective->outcome();
    done.collective->deliver();
    complete_request(done, MPI_ANY_SOURCE, MPI_ANY_TAG, outcome, 0);
  };
  request.collective->start();
}

void start_claimed(Session& session, ReceiveRequest& request, std::unique_ptr<UnexpectedMessage> message,
                   void* buffer, int count, const TypeInfo& type) {
  request.record.owner = &request;
  request.record.on_complete = on_receive_complete;
  session.engine.receive_claimed(request.record, std::move(message),
                                 request.incoming.set(buffer, count, type));
}

}  // namespace offramp
