// Offramp's own MPI requests: objects in the MPI library's layout, so that its completion functions accept
// them, with the operation in their body. Used with the session's lock.
#pragma once

#include <mpi.h>

#include <functional>
#include <memory>
#include <new>

#include "lib/run/mpi/marshal/buffers.hpp"
#include "lib/run/mpi/marshal/point.hpp"
#include "lib/run/mpi/runtime/session.hpp"
#include "lib/run/native/native.h"

namespace offramp {

/// Used by the starts of a persistent collective. Destroyed with its request.
struct KeptByRequest : PersistentArguments {
  KeptByRequest() = default;
  ~KeptByRequest();
  KeptByRequest& operator=(KeptByRequest&&) = delete;
};

/// The common part of all kinds. Never moves: the handle gives its address.
struct Request {
  enum class Kind : std::uint8_t { kSend, kReceive, kCollective, kExchange, kCount };

  /// What each start of a persistent request does.
  struct Repeat {
    Point point{};
    TypeInfo type;                 // the handle of the type may be freed earlier
    MpiCommunicator communicator;  // likewise
    // Only for collectives.
    std::unique_ptr<KeptByRequest> kept;
    std::function<std::unique_ptr<CollectiveCall>()> build;
    // Only for operations that the MPI library carries: its request, and what records a start.
    MPI_Request library = MPI_REQUEST_NULL;
    bool was_started = false;
    std::function<std::uint32_t()> record;
  };

  MPI_Request handle = MPI_REQUEST_NULL;  // handle and kind never change
  Kind kind = Kind::kSend;
  bool released = false;  // the program has released the handle
  SendMode mode = SendMode::kStandard;
  std::uint32_t recorded = 0;      // its number in the rank's recording; 0 if not recorded
  std::unique_ptr<Repeat> repeat;  // null: not persistent
  Request* next_idle = nullptr;

  /// Marks a completed operation as seen by the program.
  void observe();
};
// Two cache lines: the library's fields of a request and Offramp's, without the operation.
static_assert((kOfframpRequestBytes + sizeof(Request)) % kOfframpRequestAlignment == 0);

// Each kind only has room for its own operation, because a program may have many requests.
struct SendRequest : Request {
  SendBuffer outgoing;
  SendRecord record;
};

struct ReceiveRequest : Request {
  MessageBuffer incoming;
  std::uint32_t wildcard = 0;  // its number in the recording; 0: no wildcard
  ReceiveRecord record;
};

struct CollectiveRequest : Request {
  std::unique_ptr<CollectiveCall> collective;  // null: backed by a request of the MPI library
};

/// Both messages of MPI_Isendrecv; either may be missing.
struct Exchange {
  SendBuffer outgoing;
  SendRecord send;
  MessageBuffer incoming;
  ReceiveRecord receive;
  std::uint32_t wildcard = 0;  // as in ReceiveRequest
  int running = 0;
  bool sends = false;
  bool receives = false;
};

struct ExchangeRequest : Request {
  std::unique_ptr<Exchange> exchange;
};

/// Records the start of an operation for the current function. Returns its number, or 0 if not recorded.
std::uint32_t record_start(Session& session, recording::EventKind kind, const Point& point,
                           std::uint8_t flags = 0);
std::uint32_t record_start(Session& session, const CollectiveCall& collective);
/// For a buffered send: call it when the buffer had room.
inline void record_buffered(Session& session, const Point& point) {
  (void)record_start(session, recording::EventKind::kSend, point, recording::kBuffered);
}

/// Registers the callbacks with the MPI library. Call once per process, after MPI_Init.
void open_requests();
/// A new request: active, or inactive if persistent.
SendRequest& acquire_send_request(MPI_Comm comm, bool persistent = false) REQUIRES(session_lock);
ReceiveRequest& acquire_receive_request(MPI_Comm comm, bool persistent = false) REQUIRES(session_lock);
CollectiveRequest& acquire_collective_request(MPI_Comm comm, Request::Kind kind, bool persistent = false)
    REQUIRES(session_lock);
/// Starts a send and returns its request in `handle`: for a send that is already complete, the MPI library's
/// shared complete request, which costs nothing. Returns an MPI error code, without an active request.
int start_new_send(Session& session, MPI_Comm comm, const Point& point, SendMode mode, MPI_Request& handle)
    REQUIRES(session_lock);
/// Starts a receive, which always has a request of its own.
MPI_Request start_new_receive(Session& session, MPI_Comm comm, const Point& point) REQUIRES(session_lock);
/// The body behind a handle of Offramp's.
inline Request& request_in(void* body) {
  return *std::launder(static_cast<Request*>(body));
}
/// Completes a request for the MPI library.
void complete_request(Request& request, int source, int tag, Outcome outcome, std::size_t bytes)
    REQUIRES(session_lock);
/// Starts both messages of MPI_Isendrecv. Either may be null (MPI_PROC_NULL). The request completes with the
/// later one and has the status of the receive. replace: copies the sent data first.
MPI_Request start_new_exchange(Session& session, MPI_Comm comm, const Point* to, const Point* from,
                               bool replace) REQUIRES(session_lock);

/// A request that completes with one of the MPI library's, and then calls `finish` if there is one.
MPI_Request follow(Session& session, MPI_Comm comm, MPI_Request library, std::uint32_t recorded,
                   std::function<void()> finish = nullptr) REQUIRES(session_lock);
/// Makes a persistent request of the MPI library a recorded one. record(): records a start, and returns the
/// number of what the completion waits for.
void follow_starts(Session& session, MPI_Comm comm, MPI_Request& handle,
                   std::function<std::uint32_t()> record) REQUIRES(session_lock);
/// Makes a persistent request, whose starts communicate with processes outside of MPI_COMM_WORLD, a recorded
/// one.
void follow_outside(Session& session, MPI_Comm comm, MPI_Request& handle, std::uint64_t bytes)
    REQUIRES(session_lock);
/// The MPI library's request behind one that follow_starts() made.
MPI_Request library_request(MPI_Request handle);
/// Sets the number of what the completion of a started request waits for.
void set_recorded(Session& session, MPI_Request handle, std::uint32_t recorded);
/// For programs that are only recorded: links a request of the library to an operation of the recording.
/// Replaces a complete request that the library shares among many.
TrackedRequest& track(Session& session, MPI_Comm comm, MPI_Request& handle, std::uint32_t recorded)
    REQUIRES(session_lock);
/// The request's number in the recording. 0 if it has none or is inactive.
std::uint32_t recorded_of(Session& session, MPI_Request handle);

/// The library's part of MPI_Start, called without the session's lock before start_again().
int start_in_library(Request& request);
/// MPI_Start of an inactive persistent request. Returns an MPI error code and then leaves it inactive.
int start_again(Session& session, Request& request) REQUIRES(session_lock);
/// The request completes when the operation does.
void start_collective(CollectiveRequest& request, std::unique_ptr<CollectiveCall> collective);
/// Receives the message of a matched probe into a buffer of the program.
void start_claimed(Session& session, ReceiveRequest& request, std::unique_ptr<UnexpectedMessage> message,
                   void* buffer, std::int64_t count, const TypeInfo& type);

}  // namespace offramp
