// MPI chapter 3.9: persistent requests. The MPI library's MPI_Start starts them through a callback.
#include <algorithm>
#include <utility>
#include <vector>

#include "lib/run/mpi/api/entries.hpp"
#include "lib/run/mpi/api/point_arguments.hpp"
#include "lib/run/mpi/runtime/native_calls.hpp"
#include "lib/run/native/native.h"

namespace offramp {
namespace {

MPI_Request prepare(Request& request, const Point& point) {
  Request::Repeat& repeat = *request.repeat;
  // The program may free the type and the communicator while the request exists, so both are retained.
  repeat.type = *point.type;
  offramp_native_type_retain(repeat.type.type);
  repeat.point = point;
  repeat.point.type = &repeat.type;
  repeat.communicator = *point.communicator;
  Engine::retain(*repeat.communicator.context);
  // A request between two starts does not keep MPI_Comm_disconnect waiting.
  ++repeat.communicator.context->dormant;
  repeat.point.communicator = &repeat.communicator;
  return request.handle;
}

/// A request of the MPI library whose starts are recorded.
int track_persistent(InterposedCall& call, MPI_Comm comm, const Point& point, recording::EventKind kind,
                     std::uint8_t flags, MPI_Request* handle, auto library) REQUIRES(session_lock) {
  const int code = call.leave_to_library(library);
  if (code != MPI_SUCCESS) return code;
  TrackedRequest& tracked = track(call.session, comm, *handle, 0);
  tracked.add_more().repeated = call.recorder()->message_event(Function::kStart, kind, point, flags);
  return code;
}

int make_send(Function function, const Point& point, SendMode mode, MPI_Comm comm, MPI_Request* handle,
              auto library) {
  InterposedCall call(function);
  if (!call.session.carries())
    return track_persistent(call, comm, point, recording::EventKind::kSend, flag_of(mode), handle, library);
  Request& request = acquire_send_request(comm, true);
  request.mode = mode;
  *handle = prepare(request, point);
  return MPI_SUCCESS;
}

int make_receive(Function function, const Point& point, MPI_Comm comm, MPI_Request* handle, auto library) {
  InterposedCall call(function);
  if (!call.session.carries())
    return track_persistent(call, comm, point, recording::EventKind::kReceive, 0, handle, library);
  *handle = prepare(acquire_receive_request(comm, true), point);
  return MPI_SUCCESS;
}

/// A request that Offramp does not carry.
int make_uncarried(Function function, std::int64_t count, MPI_Datatype type, MPI_Comm comm,
                   MPI_Request* handle, auto library) {
  if (handle == nullptr || !is_outside(*Session::current, comm)) return library();
  InterposedCall call(function);
  const int code = pass_through(call, function, library);
  if (code == MPI_SUCCESS)
    follow_outside(call.session, comm, *handle, call.session.marshal().bytes_of(count, type));
  return code;
}

/// Starts requests of the MPI library. If the message of an earlier start is still under way, Open MPI puts
/// another request into the program's handle. The requests are removed from the table meanwhile, since
/// another thread may get the old handle.
class LibraryStarts {
 public:
  LibraryStarts(InterposedCall& call, int count, const MPI_Request* requests) : call_(call) {
    for (int i = 0; i < count; ++i) {
      TrackedRequest* const tracked = call.session.tracked().find(requests[i]);
      if (tracked == nullptr || !tracked->persists()) continue;
      const TrackedRequest::More& more = *tracked->more;
      // The event precedes the call, as the message may arrive at its receiver before the call returns.
      tracked->recorded = more.repeat != nullptr
                              ? more.repeat()
                              : call.recorder()->started(call.function(), *more.repeated, tracked->wildcard);
      starts_.emplace_back(i, std::move(*tracked));
      call.session.tracked().remove(requests[i]);
    }
  }
  void end(int code, const MPI_Request* requests) {
    for (auto& [place, tracked] : starts_) {
      if (code != MPI_SUCCESS)
        call_.recorder()->withdraw(call_.function(), std::exchange(tracked.recorded, 0));
      call_.session.tracked().add(requests[place]) = std::move(tracked);
    }
  }

 private:
  InterposedCall& call_;
  std::vector<std::pair<int, TrackedRequest>> starts_;
};

/// Starts the requests here if all are Offramp's. Otherwise the MPI library starts them and calls back for
/// Offramp's. Open MPI 4.1 does not raise errors of a start, so they are raised here.
int start_requests(Function function, int count, MPI_Request* requests, auto library) {
  int code = MPI_SUCCESS;
  MPI_Comm comm = MPI_COMM_NULL;
  {
    InterposedCall call(function);
    if (!call.session.carries()) {
      LibraryStarts starts(call, requests != nullptr ? count : 0, requests);
      code = call.leave_to_library(library);
      starts.end(code, requests);
      return code;
    }
    if (requests == nullptr || count < 0 ||
        !std::all_of(requests, requests + count, offramp_native_request_startable))
      return call.unlocked(library);
    // The first error ends the call: later requests stay inactive.
    for (int i = 0; i < count && code == MPI_SUCCESS; ++i) {
      comm = offramp_native_request_comm(requests[i]);
      Request& request = request_in(offramp_native_request_body(requests[i]));
      if (request.repeat->record != nullptr) code = call.unlocked([&] { return start_in_library(request); });
      if (code == MPI_SUCCESS) code = start_again(call.session, request);
    }
  }
  return raise_error(function, comm, code);
}

/// The functions of one form.
template <typename Form>
struct PersistentEntries {
  using Count = typename Form::Count;

  template <Function function, auto Library, SendMode mode>
  static int send_init(const void* buf, Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                       MPI_Request* request) {
    const auto library = [&] { return (native.*Library)(buf, count, type, dest, tag, comm, request); };
    Point point;
    if (request == nullptr || !send_point(*Session::current, buf, count, type, dest, tag, comm, point))
      return make_uncarried(function, count, type, comm, request, library);
    return make_send(function, point, mode, comm, request, library);
  }

  static int recv_init(void* buf, Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                       MPI_Request* request) {
    const auto library = [&] {
      return (native.*Form::Recv_init)(buf, count, type, source, tag, comm, request);
    };
    Point point;
    if (request == nullptr || !receive_point(*Session::current, buf, count, type, source, tag, comm, point))
      return make_uncarried(Form::kRecv_init, 0, type, comm, request, library);
    return make_receive(Form::kRecv_init, point, comm, request, library);
  }
};

}  // namespace

template <typename F>
void fill_persistent_messages(MpiTable& table) {
  using E = PersistentEntries<F>;
  table.*F::Send_init = E::template send_init<F::kSend_init, F::Send_init, SendMode::kStandard>;
  table.*F::Bsend_init = E::template send_init<F::kBsend_init, F::Bsend_init, SendMode::kBuffered>;
  table.*F::Ssend_init = E::template send_init<F::kSsend_init, F::Ssend_init, SendMode::kSynchronous>;
  table.*F::Rsend_init = E::template send_init<F::kRsend_init, F::Rsend_init, SendMode::kReady>;
  table.*F::Recv_init = E::recv_init;
}
OFFRAMP_IN_BOTH_FORMS(fill_persistent_messages)

namespace api {

int Start(MPI_Request* request) {
  return start_requests(Function::kStart, 1, request, [&] { return native.Start(request); });
}

int Startall(int count, MPI_Request requests[]) {
  return start_requests(Function::kStartall, count, requests,
                        [&] { return native.Startall(count, requests); });
}

}  // namespace api
}  // namespace offramp
