// MPI requests of Offramp's own: native-layout objects (so that the MPI library's completion functions work
// on them) whose body holds the operation.
#pragma once

#include <mpi.h>

#include <functional>
#include <memory>
#include <new>
#include <vector>

#include "lib/run/mpi/marshal/buffers.hpp"
#include "lib/run/mpi/marshal/point.hpp"
#include "lib/run/mpi/runtime/session.hpp"
#include "lib/run/native/native.h"

namespace offramp {

class CollectiveCall;

struct Request {
  enum class Kind : std::uint8_t { kSend, kReceive, kCollective, kExchange, kCount };

  /// What each start of a persistent request does.
  struct Repeat {
    Point point{};
    TypeInfo type;                                           // the request may outlive the handle of its type
    MpiCommunicator communicator;                            // and of its communicator; of a collective,
                                                             // its own place (open_persistent())
    std::function<std::unique_ptr<CollectiveCall>()> build;  // of a collective
    std::vector<MPI_Datatype> types;                         // that it keeps
  };

  MPI_Request handle = MPI_REQUEST_NULL;  // this and the kind stay, whatever it is used for
  Kind kind = Kind::kSend;
  bool released = false;  // the program has let go of the handle
  SendMode mode = SendMode::kStandard;
  std::uint32_t recorded = 0;      // which request it is in the recording of this rank; 0: none
  std::unique_ptr<Repeat> repeat;  // null: not persistent
  Request* next_idle = nullptr;

  /// If it is done, the program has learnt of it.
  void observe();
};
// What the library changes of a request, and what is changed here besides the operation: two cache lines.
static_assert((kOfframpRequestBytes + sizeof(Request)) % kOfframpRequestAlignment == 0);

// A program may have a great many requests, so each has room for its own kind of operation only.
struct SendRequest : Request {
  SendBuffer outgoing;
  SendRecord record;
};

struct ReceiveRequest : Request {
  MessageBuffer incoming;
  std::uint32_t wildcard = 0;  // in the recording; 0: none
  ReceiveRecord record;
};

struct CollectiveRequest : Request {
  std::unique_ptr<CollectiveCall> collective;  // null: a request of the MPI library stands behind it
};

/// MPI_Isendrecv: both of its messages, of which either may be missing.
struct Exchange {
  SendBuffer outgoing;
  SendRecord send;
  MessageBuffer incoming;
  ReceiveRecord receive;
  std::uint32_t wildcard = 0;  // as of ReceiveRequest
  int running = 0;
  bool sends = false;
  bool receives = false;
};

struct ExchangeRequest : Request {
  std::unique_ptr<Exchange> exchange;
};

/// Records the start of an operation on behalf of the current function. Returns its number in the recording;
/// 0: there is none.
std::uint32_t record_start(Session& session, recording::EventKind kind, const Point& point,
                           std::uint8_t flags = 0);
std::uint32_t record_start(Session& session, const CollectiveCall& collective);
/// The same of a buffered send, once it is known that there was room.
inline void record_buffered(Session& session, const Point& point) {
  (void)record_start(session, recording::EventKind::kSend, point, recording::kBuffered);
}

/// Opens the pool; once per process, after MPI_Init.
void open_requests();
/// A new active (or inactive, persistent) request.
SendRequest& take_send_request(MPI_Comm comm, bool persistent = false) REQUIRES(session_lock);
ReceiveRequest& take_receive_request(MPI_Comm comm, bool persistent = false) REQUIRES(session_lock);
CollectiveRequest& take_collective_request(MPI_Comm comm, Request::Kind kind, bool persistent = false)
    REQUIRES(session_lock);
/// Starts a send and makes the request that the program waits for. A send that is over already is given the
/// MPI library's own complete request, which costs nobody anything. Returns an MPI error code; then there is
/// none.
int start_new_send(Session& session, MPI_Comm comm, const Point& point, SendMode mode, MPI_Request& handle)
    REQUIRES(session_lock);
/// The same for a receive, which always has a request of its own.
MPI_Request start_new_receive(Session& session, MPI_Comm comm, const Point& point) REQUIRES(session_lock);
/// The body behind a handle that is one of ours.
inline Request& request_in(void* body) {
  return *std::launder(static_cast<Request*>(body));
}
/// Completes a request for the MPI library.
void complete_request(Request& request, int source, int tag, Outcome outcome, std::size_t bytes)
    REQUIRES(session_lock);
/// Starts both messages of MPI_Isendrecv, one of which may be null (MPI_PROC_NULL); the request completes
/// with the later one, and has the status of the receive. replace: what is sent is copied first.
MPI_Request start_new_exchange(Session& session, MPI_Comm comm, const Point* to, const Point* from,
                               bool replace) REQUIRES(session_lock);

/// A request that completes with one of the MPI library's own, and then calls `finish`, if there is one.
MPI_Request follow(Session& session, MPI_Comm comm, MPI_Request library, std::uint32_t recorded,
                   std::function<void()> finish = nullptr) REQUIRES(session_lock);
/// Where nothing is carried: a request of the library's own stands for an operation of the recording. A
/// complete one that it shares among many is replaced.
TrackedRequest& track(Session& session, MPI_Comm comm, MPI_Request& handle, std::uint32_t recorded)
    REQUIRES(session_lock);
/// Which request it is in the recording, on its way; 0: none.
std::uint32_t recorded_of(Session& session, MPI_Request handle);

/// MPI_Start of a persistent request that is not active. Returns an MPI error code, and then it is not
/// active.
int start_again(Session& session, Request& request) REQUIRES(session_lock);
/// The request completes when the operation does.
void start_collective(CollectiveRequest& request, std::unique_ptr<CollectiveCall> collective);
void start_claimed(Session& session, ReceiveRequest& request, std::unique_ptr<UnexpectedMessage> message,
                   void* buffer, std::int64_t count, const TypeInfo& type);

}  // namespace offramp
