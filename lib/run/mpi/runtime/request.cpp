// The life of a request object: taken from a pool, begun under a handle of the MPI library, completed by the
// engine, observed by the program, and recycled. Completion and release come in either order: a request freed
// while active is recycled when it completes (`released`). The library calls on_released(), on_cancel(), and
// on_start() without the session's lock, so each acquires it. They may come after MPI_Finalize has ended the
// session.
#include "lib/run/mpi/runtime/request.hpp"

#include <array>
#include <cstddef>
#include <utility>

#include "lib/run/mpi/marshal/collective_build.hpp"

namespace offramp {
namespace {

/// Idle objects. They are never freed: the program may need many again.
struct Pool {
  std::array<Request*, static_cast<std::size_t>(Request::Kind::kCount)> idle{};
} pool;

SendRequest& as_send(Request& request) {
  return static_cast<SendRequest&>(request);
}
ReceiveRequest& as_receive(Request& request) {
  return static_cast<ReceiveRequest&>(request);
}
CollectiveRequest& as_collective(Request& request) {
  return static_cast<CollectiveRequest&>(request);
}
ExchangeRequest& as_exchange(Request& request) {
  return static_cast<ExchangeRequest&>(request);
}

// Releases what a persistent request has retained since its `_init` call.
void let_go(Request::Repeat& repeat) {
  if (repeat.record != nullptr) {
    (void)native.Request_free(&repeat.library);
    return;
  }
  if (repeat.kept != nullptr) return;
  Context& context = *repeat.communicator.context;
  // See Context::dormant: the persistent request no longer counts as a user that waits.
  --context.dormant;
  Session::current->engine().release(context);
  offramp_native_type_release(repeat.type.type);
}

void release_request(Request& request) {
  request.next_idle = std::exchange(pool.idle[static_cast<std::size_t>(request.kind)], &request);
}

/// Releases what only some kinds of requests own.
[[gnu::noinline]] void clear(Request& request) {
  if (request.kind == Request::Kind::kExchange) {
    as_exchange(request).exchange.reset();
  } else if (request.kind >= Request::Kind::kCollective) {
    as_collective(request).collective.reset();
  }
  if (request.repeat != nullptr) let_go(*request.repeat);
  request.repeat.reset();
}

[[gnu::always_inline]] inline void recycle(Request& request) {
  // The common kinds own nothing, so the test keeps their path short.
  if (request.kind >= Request::Kind::kCollective || request.repeat != nullptr) clear(request);
  offramp_native_request_end(request.handle);
  release_request(request);
}

template <typename T>
[[gnu::noinline]] Request* make(Request::Kind kind) {
  const MPI_Request handle = offramp_native_request_make(sizeof(T));
  if (handle == MPI_REQUEST_NULL) throw std::bad_alloc();
  Request* const request = new (offramp_native_request_body(handle)) T;
  request->handle = handle;
  request->kind = kind;
  return request;
}

/// Only the fields of the operation may be used before begin(); the object is not published yet.
template <typename T>
T& reserve(Request::Kind kind) {
  // The pool is last in, first out: the newest object is still in the caches.
  Request*& idle = pool.idle[static_cast<std::size_t>(kind)];
  Request* const request = idle != nullptr ? std::exchange(idle, idle->next_idle) : make<T>(kind);
  return static_cast<T&>(*request);
}

void begin(Request& request, MPI_Comm comm, bool persistent) {
  offramp_native_request_begin(request.handle, comm, persistent ? 1 : 0);
  request.released = false;
  request.recorded = 0;
  if (persistent) request.repeat = std::make_unique<Request::Repeat>();
}

template <typename T>
T& acquire_request(MPI_Comm comm, Request::Kind kind, bool persistent) {
  T& request = reserve<T>(kind);
  begin(request, comm, persistent);
  return request;
}

[[gnu::always_inline]] inline void observe_if_done(Engine& engine, Request& request) {
  // Sends are counted at their start, so only the other kinds have something to count here.
  switch (request.kind) {
    case Request::Kind::kReceive:
      if (ReceiveRecord& record = as_receive(request).record; record.done) engine.observe(record);
      break;
    case Request::Kind::kSend:
      break;
    case Request::Kind::kCollective:
      if (const auto& collective = as_collective(request).collective;
          collective != nullptr && collective->done())
        collective->observe();
      break;
    case Request::Kind::kExchange:
      if (const auto& both = as_exchange(request).exchange;
          both != nullptr && both->running == 0 && both->receives)
        engine.observe(both->receive);
      break;
    case Request::Kind::kCount:
      break;
  }
}

void run_locked(void (*body)(void*), void* argument) {
  if (Session::current == nullptr) return;
  const Session::Lock guard(*Session::current);
  body(argument);
}

void run_serving(void (*call)(void*), void* argument) {
  const BackgroundProgress serving;
  call(argument);
}

// Called by the MPI library, without the session's lock, on a completion that the program sees or on a free.
void on_released(void* memory, int active) {
  if (Session::current == nullptr) return;
  const Session::Lock guard(*Session::current);
  Request& request = request_in(memory);
  request.released = true;
  if (active != 0) return;  // recycled when it completes
  observe_if_done(Session::current->engine(), request);
  recycle(request);
}

void on_cancel(void* memory) {
  if (Session::current == nullptr) return;
  const Session::Lock guard(*Session::current);
  Request& request = request_in(memory);
  // The send is already under way, so cancelling has no effect, as with the MPI library's own sends.
  if (request.kind == Request::Kind::kReceive) Session::current->engine().cancel(as_receive(request).record);
}

// Called by the MPI library for Offramp's requests in a list that also has the library's own.
int on_start(void* memory) {
  if (Session::current == nullptr) return MPI_ERR_OTHER;
  Request& request = request_in(memory);
  // Without the lock: the library's own start may call back.
  if (const int code = start_in_library(request); code != MPI_SUCCESS) return code;
  const Session::Lock guard(*Session::current);
  return start_again(*Session::current, request);
}

void on_send_complete(SendRecord& record) {
  session_lock.assume_held();
  auto& request = *static_cast<SendRequest*>(record.owner);
  // The copy of the data, if there is one, is released at once: the program may keep the request for long.
  request.outgoing.reset();
  complete_request(request, MPI_ANY_SOURCE, MPI_ANY_TAG, record.outcome, 0);
}

SendArguments arguments_of(SendRequest& request, const Point& point, SendMode mode) {
  // A buffered send completes before its data is read.
  const Bytes data = mode == SendMode::kBuffered
                         ? request.outgoing.set(point.buffer, point.count, *point.type)
                         : data_of(point, request.outgoing, Session::current->engine(), request.record);
  return {*point.communicator->context,  point.peer, point.tag, data, point.type->element,
          mode == SendMode::kSynchronous};
}

void on_receive_complete(ReceiveRecord& record) {
  session_lock.assume_held();
  auto& request = *static_cast<ReceiveRequest*>(record.owner);
  const Envelope& e = record.envelope;
  const bool cancelled = record.outcome == Outcome::kCancelled;
  // The recording learns the source and tag that the wildcard has matched.
  if (request.wildcard != 0) {
    Session::current->recorder()->matched(request.wildcard, cancelled ? -1 : e.source, cancelled ? 0 : e.tag);
    request.wildcard = 0;
  }
  if (cancelled) {
    request.incoming.reset();
    return complete_request(request, MPI_ANY_SOURCE, MPI_ANY_TAG, record.outcome, 0);
  }
  request.incoming.reset();
  complete_request(request, e.source, e.tag, record.outcome, record.status_bytes());
}

}  // namespace

KeptByRequest::~KeptByRequest() {
  // After MPI_Finalize the session has closed all contexts.
  if (Session::current != nullptr && place.collective != nullptr)
    Session::current->marshal().communicators.close_persistent(place);
}

void Request::observe() {
  observe_if_done(Session::current->engine(), *this);
}

std::uint32_t record_start(Session& session, recording::EventKind kind, const Point& point,
                           std::uint8_t flags) {
  if (session.recorder() == nullptr) return 0;
  return session.recorder()->message(current_function(), kind, point, flags);
}

std::uint32_t record_start(Session& session, const CollectiveCall& collective) {
  if (session.recorder() == nullptr) return 0;
  return session.recorder()->collective(current_function(), collective);
}

void open_requests() {
  static const offramp_callbacks callbacks = {.locked = run_locked,
                                              .serving = run_serving,
                                              .released = on_released,
                                              .cancel = on_cancel,
                                              .start = on_start};
  offramp_native_open(&callbacks);
}

SendRequest& acquire_send_request(MPI_Comm comm, bool persistent) {
  return acquire_request<SendRequest>(comm, Request::Kind::kSend, persistent);
}
ReceiveRequest& acquire_receive_request(MPI_Comm comm, bool persistent) {
  return acquire_request<ReceiveRequest>(comm, Request::Kind::kReceive, persistent);
}
CollectiveRequest& acquire_collective_request(MPI_Comm comm, Request::Kind kind, bool persistent) {
  return acquire_request<CollectiveRequest>(comm, kind, persistent);
}

void complete_request(Request& request, int source, int tag, Outcome outcome, std::size_t bytes) {
  if (request.released) return recycle(request);
  int error = MPI_SUCCESS;
  // The library's completion functions raise the error of the request; the count makes a wait leave the rest
  // to them.
  if (outcome != Outcome::kOk && (error = error_code(outcome)) != MPI_SUCCESS)
    Session::current->count_failed_request();
  const int cancelled = outcome == Outcome::kCancelled ? 1 : 0;
  offramp_native_request_finish(request.handle, source, tag, error, bytes, cancelled);
}

namespace {
/// The request completes with one of the MPI library's.
void complete_with(Session& session, CollectiveRequest& request, MPI_Request library,
                   std::function<void()> finish) REQUIRES(session_lock) {
  // Called in turns until the library's request is complete. MPI has no callback for that.
  session.poll([&request, library, finish = std::move(finish)]() mutable {
    if (library != MPI_REQUEST_NULL && offramp_native_request_complete(library) == 0) return false;
    // Freed instead of waited for: an error is raised when the program learns of it.
    const int error = library != MPI_REQUEST_NULL ? offramp_native_request_error(library) : MPI_SUCCESS;
    // A persistent request stays as it is until the next start: MPI_Parrived needs an active one.
    if (library != MPI_REQUEST_NULL && request.repeat == nullptr) offramp_native_request_drop(library);
    if (finish != nullptr) finish();
    if (request.released)
      recycle(request);
    else
      offramp_native_request_finish(request.handle, MPI_ANY_SOURCE, MPI_ANY_TAG, error, 0, 0);
    return true;
  });
}
}  // namespace

MPI_Request follow(Session& session, MPI_Comm comm, MPI_Request library, std::uint32_t recorded,
                   std::function<void()> finish) {
  CollectiveRequest& request = acquire_collective_request(comm, Request::Kind::kCollective);
  request.recorded = recorded;
  complete_with(session, request, library, std::move(finish));
  return request.handle;
}

void follow_starts(Session& session, MPI_Comm comm, MPI_Request& handle,
                   std::function<std::uint32_t()> record) {
  if (!session.carries()) {
    track(session, comm, handle, 0).add_more().repeat = std::move(record);
    return;
  }
  Request& request = acquire_collective_request(comm, Request::Kind::kCollective, true);
  request.repeat->library = handle;
  request.repeat->record = std::move(record);
  handle = request.handle;
}

void follow_outside(Session& session, MPI_Comm comm, MPI_Request& handle, std::uint64_t bytes) {
  if (session.recorder() == nullptr) return;
  follow_starts(session, comm, handle, [bytes] {
    Session::current->recorder()->communicates(current_function(), bytes);
    return std::uint32_t{0};
  });
}

MPI_Request library_request(MPI_Request handle) {
  if (handle == MPI_REQUEST_NULL || offramp_native_request_is_own(handle) == 0) return handle;
  const Request& request = request_in(offramp_native_request_body(handle));
  return request.repeat != nullptr ? request.repeat->library : handle;
}

void set_recorded(Session& session, MPI_Request handle, std::uint32_t recorded) {
  if (session.carries()) {
    request_in(offramp_native_request_body(handle)).recorded = recorded;
  } else if (TrackedRequest* const tracked = session.tracked().find(handle); tracked != nullptr) {
    tracked->recorded = recorded;
  }
}

TrackedRequest& track(Session& session, MPI_Comm comm, MPI_Request& handle, std::uint32_t recorded) {
  // The table is by handle, so each request needs a handle that no other one has.
  if (offramp_native_request_is_shared(handle) != 0) {
    offramp_native_request_drop(handle);
    SendRequest& request = acquire_send_request(comm);
    request.mode = SendMode::kBuffered;  // has nothing to observe
    handle = request.handle;
    complete_request(request, MPI_ANY_SOURCE, MPI_ANY_TAG, Outcome::kOk, 0);
  }
  TrackedRequest& tracked = session.tracked().add(handle);
  tracked.recorded = recorded;
  return tracked;
}

std::uint32_t recorded_of(Session& session, MPI_Request handle) {
  if (!session.carries()) {
    const TrackedRequest* const tracked = session.tracked().find(handle);
    return tracked != nullptr ? tracked->recorded : 0;
  }
  if (offramp_native_request_is_own(handle) == 0 || offramp_native_request_inactive(handle) != 0) return 0;
  return request_in(offramp_native_request_body(handle)).recorded;
}

int start_new_send(Session& session, MPI_Comm comm, const Point& point, SendMode mode, MPI_Request& handle) {
  SendRequest& request = reserve<SendRequest>(Request::Kind::kSend);
  request.mode = mode;
  const std::uint32_t recorded =
      mode != SendMode::kBuffered ? record_start(session, recording::EventKind::kSend, point, flag_of(mode))
                                  : 0;
  const SendArguments arguments = arguments_of(request, point, mode);
  bool room = true;
  if (mode == SendMode::kBuffered) {
    room = session.bsend().send(session, arguments);
    if (room) record_buffered(session, point);
  } else {
    // Set after the start, because the request is published only if the send is still under way.
    request.record.on_complete = nullptr;
    session.engine().send(request.record, arguments);
  }
  // A recorded send needs a request of its own: a wait has to refer to it.
  if (mode == SendMode::kBuffered || (recorded == 0 && session.engine().is_over(request.record))) {
    request.outgoing.reset();
    release_request(request);
    handle = offramp_native_request_completed();
    return room ? MPI_SUCCESS : MPI_ERR_BUFFER;
  }
  begin(request, comm, false);
  request.recorded = recorded;
  handle = request.handle;
  request.record.owner = &request;
  request.record.on_complete = on_send_complete;
  // The send has completed within the call, before there was a callback.
  if (request.record.done) on_send_complete(request.record);
  return MPI_SUCCESS;
}

namespace {
void start_receive(Session& session, ReceiveRequest& request, const Point& point) {
  request.recorded = record_start(session, recording::EventKind::kReceive, point);
  request.wildcard = request.recorded != 0 ? session.recorder()->wildcard(point) : 0;
  request.record.owner = &request;
  request.record.on_complete = on_receive_complete;
  const MutableBytes into = room_of(point, request.incoming, request.record);
  session.engine().receive(request.record, *point.communicator->context, point.peer, point.tag, into);
}

int start_buffered(Session& session, SendRequest& request, const SendArguments& arguments)
    REQUIRES(session_lock) {
  const bool room = session.bsend().send(session, arguments);
  request.outgoing.reset();
  if (!room) return MPI_ERR_BUFFER;
  offramp_native_request_activate(request.handle);
  complete_request(request, MPI_ANY_SOURCE, MPI_ANY_TAG, Outcome::kOk, 0);
  return MPI_SUCCESS;
}

int start_send(Session& session, SendRequest& request, const Point& point) REQUIRES(session_lock) {
  const SendArguments arguments = arguments_of(request, point, request.mode);
  if (request.mode == SendMode::kBuffered) {
    const int code = start_buffered(session, request, arguments);
    if (code == MPI_SUCCESS) record_buffered(session, point);
    return code;
  }
  request.recorded = record_start(session, recording::EventKind::kSend, point, flag_of(request.mode));
  // The request is active before its message leaves: completion may come within send().
  offramp_native_request_activate(request.handle);
  request.record.owner = &request;
  request.record.on_complete = on_send_complete;
  session.engine().send(request.record, arguments);
  return MPI_SUCCESS;
}

int start_collective_again(CollectiveRequest& request) {
  const BuildOn place(Session::current->marshal(), *request.repeat->kept);
  std::unique_ptr<CollectiveCall> collective = request.repeat->build();
  if (collective == nullptr) return MPI_ERR_OTHER;  // the arguments are no longer valid
  request.recorded = record_start(*Session::current, *collective);
  offramp_native_request_activate(request.handle);
  start_collective(request, std::move(collective));
  return MPI_SUCCESS;
}

int start_followed(Session& session, CollectiveRequest& request) REQUIRES(session_lock) {
  request.recorded = request.repeat->record();
  offramp_native_request_activate(request.handle);
  complete_with(session, request, request.repeat->library, nullptr);
  return MPI_SUCCESS;
}
}  // namespace

int start_in_library(Request& request) {
  if (request.repeat->record == nullptr) return MPI_SUCCESS;
  MPI_Request* const library = &request.repeat->library;
  // Makes it inactive. MPICH 4.0 would wait for ever for a collective that was never started.
  int code = request.repeat->was_started ? native.Wait(library, MPI_STATUS_IGNORE) : MPI_SUCCESS;
  if (code == MPI_SUCCESS) code = native.Start(library);
  request.repeat->was_started = code == MPI_SUCCESS;
  return code;
}

int start_again(Session& session, Request& request) {
  const Point& point = request.repeat->point;
  switch (request.kind) {
    case Request::Kind::kCollective:
      if (request.repeat->record != nullptr) return start_followed(session, as_collective(request));
      return start_collective_again(as_collective(request));
    case Request::Kind::kSend:
      return start_send(session, as_send(request), point);
    default:
      offramp_native_request_activate(request.handle);
      start_receive(session, as_receive(request), point);
      return MPI_SUCCESS;
  }
}

namespace {

/// One of the messages has ended, or both have been started.
void end_part(ExchangeRequest& request) REQUIRES(session_lock) {
  Exchange& both = *request.exchange;
  // Each message counts one, and the start itself one more, so that the last of them completes the request.
  if (--both.running > 0) return;
  Outcome outcome = both.sends ? both.send.outcome : Outcome::kOk;
  if (!both.receives) return complete_request(request, MPI_PROC_NULL, MPI_ANY_TAG, outcome, 0);
  // The status is that of the receive, so its error goes first.
  if (both.receive.outcome != Outcome::kOk) outcome = both.receive.outcome;
  const Envelope& e = both.receive.envelope;
  complete_request(request, e.source, e.tag, outcome, both.receive.status_bytes());
}

void on_exchange_sent(SendRecord& record) {
  auto& request = *static_cast<ExchangeRequest*>(record.owner);
  request.exchange->outgoing.reset();
  session_lock.assume_held();
  end_part(request);
}

void on_exchange_received(ReceiveRecord& record) {
  auto& request = *static_cast<ExchangeRequest*>(record.owner);
  Exchange& both = *request.exchange;
  const Envelope& e = record.envelope;
  if (both.wildcard != 0) Session::current->recorder()->matched(both.wildcard, e.source, e.tag);
  both.incoming.reset();
  session_lock.assume_held();
  end_part(request);
}

}  // namespace

MPI_Request start_new_exchange(Session& session, MPI_Comm comm, const Point* to, const Point* from,
                               bool replace) {
  auto& request = acquire_request<ExchangeRequest>(comm, Request::Kind::kExchange, false);
  request.exchange = std::make_unique<Exchange>();
  Exchange& both = *request.exchange;
  both.sends = to != nullptr;
  both.receives = from != nullptr;
  // The start counts too: a message may complete before the other one has been started.
  both.running = 1 + (both.sends ? 1 : 0) + (both.receives ? 1 : 0);
  // Kept here, since the request may have been recycled when both messages have completed.
  const MPI_Request handle = request.handle;
  Bytes data;
  // The copy for MPI_Isendrecv_replace is made before the receive may write into the buffer.
  if (both.sends)
    data = replace ? both.outgoing.copy(to->buffer, to->count, *to->type)
                   : data_of(*to, both.outgoing, session.engine(), both.send);
  if (both.receives) {
    request.recorded = record_start(session, recording::EventKind::kReceive, *from);
    both.wildcard = request.recorded != 0 ? session.recorder()->wildcard(*from) : 0;
    both.receive.owner = &request;
    both.receive.on_complete = on_exchange_received;
    session.engine().receive(both.receive, *from->communicator->context, from->peer, from->tag,
                             room_of(*from, both.incoming, both.receive));
  }
  if (both.sends) {
    const std::uint32_t recorded = record_start(session, recording::EventKind::kSend, *to);
    if (!both.receives) request.recorded = recorded;
    // A request refers to one recorded operation. A replay waits for the receive.
    if (both.receives && recorded != 0)
      session.recorder()->free(static_cast<Function>(session.engine().function()), recorded);
    both.send.owner = &request;
    both.send.on_complete = on_exchange_sent;
    session.engine().send(both.send,
                          {*to->communicator->context, to->peer, to->tag, data, to->type->element, false});
  }
  end_part(request);
  return handle;
}

MPI_Request start_new_receive(Session& session, MPI_Comm comm, const Point& point) {
  ReceiveRequest& request = acquire_receive_request(comm, false);
  start_receive(session, request, point);
  return request.handle;
}

void start_collective(CollectiveRequest& request, std::unique_ptr<CollectiveCall> collective) {
  request.collective = std::move(collective);
  Collective& running = request.collective->collective;
  running.owner = &request;
  running.on_complete = [](Collective& self) {
    auto& done = *static_cast<CollectiveRequest*>(self.owner);
    const Outcome outcome = done.collective->outcome();
    done.collective->deliver();
    session_lock.assume_held();
    complete_request(done, MPI_ANY_SOURCE, MPI_ANY_TAG, outcome, 0);
  };
  request.collective->start();
}

void start_claimed(Session& session, ReceiveRequest& request, std::unique_ptr<UnexpectedMessage> message,
                   void* buffer, std::int64_t count, const TypeInfo& type) {
  // A matched receive has no wildcard: its message was chosen by the probe.
  request.wildcard = 0;
  request.record.owner = &request;
  request.record.on_complete = on_receive_complete;
  session.engine().receive_claimed(request.record, std::move(message),
                                   request.incoming.set(buffer, count, type, request.record));
}

}  // namespace offramp
