// MPI chapter 3: blocking and nonblocking point-to-point communication.
#include <array>

#include "lib/run/mpi/api/entries.hpp"
#include "lib/run/mpi/api/point_arguments.hpp"

namespace offramp {
namespace {

SendArguments arguments_of(const Point& point, Bytes data, SendMode mode) {
  return {*point.communicator->context,  point.peer, point.tag, data, point.type->element,
          mode == SendMode::kSynchronous};
}

[[gnu::always_inline]] inline int send_blocking(Function function, const Point& point, SendMode mode,
                                                MPI_Comm comm, auto library) {
  Outcome outcome = Outcome::kOk;
  {
    InterposedCall call(function);
    // Recorded only: the event frames the library's call.
    if (!call.session.carries()) {
      const std::uint32_t recorded =
          call.recorder()->begin(function, recording::EventKind::kSend, point, flag_of(mode));
      const int code = call.leave_to_library(library);
      call.recorder()->end(function, recorded);
      return code;
    }
    Records records(call.session);
    SendRecord& record = records.send();
    SendBuffer buffer;
    ProgramRecorder* const recorder = call.recorder();
    const std::uint32_t recorded =
        recorder != nullptr ? recorder->begin(function, recording::EventKind::kSend, point, flag_of(mode))
                            : 0;
    call.engine.send(record, arguments_of(point, data_of(point, buffer, call.engine, record), mode));
    call.wait([&] { return record.done; });
    if (recorder != nullptr) recorder->end(function, recorded);
    outcome = record.outcome;
  }
  // The lock is released before: an error handler of the program may call MPI.
  return finish(function, comm, outcome);
}

[[gnu::always_inline]] inline int receive_blocking(Function function, const Point& point, MPI_Comm comm,
                                                   MPI_Status* status, auto library) {
  Outcome outcome = Outcome::kOk;
  {
    InterposedCall call(function);
    if (!call.session.carries()) {
      ProgramRecorder& recorder = *call.recorder();
      const std::uint32_t recorded = recorder.begin(function, recording::EventKind::kReceive, point);
      // The source of a wildcard is known only after the match, so its place in the recording is reserved
      // here.
      const std::uint32_t wildcard = recorder.wildcard(point);
      MPI_Status own{};
      MPI_Status* const library_status = status != MPI_STATUS_IGNORE ? status : &own;
      const int code = call.leave_to_library([&] { return library(library_status); });
      recorder.matched(wildcard, library_status->MPI_SOURCE, library_status->MPI_TAG);
      recorder.end(function, recorded);
      return code;
    }
    Records records(call.session);
    ReceiveRecord& record = records.receive();
    MessageBuffer buffer;
    ProgramRecorder* const recorder = call.recorder();
    const std::uint32_t recorded =
        recorder != nullptr ? recorder->begin(function, recording::EventKind::kReceive, point) : 0;
    const std::uint32_t wildcard = recorder != nullptr ? recorder->wildcard(point) : 0;
    call.engine.receive(record, *point.communicator->context, point.peer, point.tag,
                        room_of(point, buffer, record));
    call.wait([&] { return record.done; });
    call.engine.observe(record);
    if (recorder != nullptr) {
      recorder->matched(wildcard, record.envelope.source, record.envelope.tag);
      recorder->end(function, recorded);
    }
    fill_status(status, record.envelope.source, record.envelope.tag, record.status_bytes());
    outcome = record.outcome;
  }
  return finish(function, comm, outcome);
}

/// The events of MPI_Sendrecv: the receive is posted first, and the send is completed first.
class ExchangeEvents {
 public:
  ExchangeEvents(InterposedCall& call, const Point* to, const Point* from)
      : recorder_(call.recorder()), function_(call.function()) {
    if (recorder_ == nullptr) return;
    // With MPI_PROC_NULL on one side, the call is a plain send or receive.
    if (to == nullptr || from == nullptr) {
      alone_ = true;
      request_ = to != nullptr ? recorder_->begin(function_, recording::EventKind::kSend, *to)
                               : recorder_->begin(function_, recording::EventKind::kReceive, *from);
      wildcard_ = from != nullptr ? recorder_->wildcard(*from) : 0;
      return;
    }
    request_ = recorder_->message(function_, recording::EventKind::kReceive, *from);
    wildcard_ = recorder_->wildcard(*from);
    send_ = recorder_->message(function_, recording::EventKind::kSend, *to);
  }
  void end(int source, int tag) {
    if (recorder_ == nullptr) return;
    recorder_->matched(wildcard_, source, tag);
    if (alone_) return recorder_->end(function_, request_);
    const std::array requests = {send_, request_};
    recorder_->wait_all(function_, requests);
  }

 private:
  ProgramRecorder* recorder_;
  Function function_;
  bool alone_ = false;
  std::uint32_t request_ = 0;
  std::uint32_t send_ = 0;
  std::uint32_t wildcard_ = 0;
};

/// Both halves of MPI_Sendrecv; either point may be null (MPI_PROC_NULL).
Outcome exchange(InterposedCall& call, const Point* to, const Point* from, bool replace, MPI_Status* status) {
  Records records(call.session);
  SendRecord& send = records.send();
  ReceiveRecord& receive = records.receive();
  SendBuffer outgoing;
  MessageBuffer incoming;
  Bytes data;
  // For MPI_Sendrecv_replace, the send needs a copy before the receive may write into the buffer.
  if (to != nullptr)
    data =
        replace ? outgoing.copy(to->buffer, to->count, *to->type) : data_of(*to, outgoing, call.engine, send);
  ExchangeEvents events(call, to, from);
  // The receive is posted first: the peer's message may then go straight into the buffer.
  if (from != nullptr)
    call.engine.receive(receive, *from->communicator->context, from->peer, from->tag,
                        room_of(*from, incoming, receive));
  if (to != nullptr) call.engine.send(send, arguments_of(*to, data, SendMode::kStandard));
  call.wait([&] { return (to == nullptr || send.done) && (from == nullptr || receive.done); });
  const Outcome outcome = to != nullptr ? send.outcome : Outcome::kOk;
  events.end(receive.envelope.source, receive.envelope.tag);
  if (from == nullptr) {
    fill_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    return outcome;
  }
  call.engine.observe(receive);
  fill_status(status, receive.envelope.source, receive.envelope.tag, receive.status_bytes());
  // An error of the receive concerns the data, so it goes before an error of the send.
  return receive.outcome != Outcome::kOk ? receive.outcome : outcome;
}

int exchange(Function function, const Point* to, const Point* from, bool replace, MPI_Comm comm,
             MPI_Status* status, auto library) {
  Outcome outcome = Outcome::kOk;
  {
    InterposedCall call(function);
    if (!call.session.carries()) {
      ExchangeEvents events(call, to, from);
      MPI_Status own{};
      MPI_Status* const library_status = status != MPI_STATUS_IGNORE ? status : &own;
      const int code = call.leave_to_library([&] { return library(library_status); });
      events.end(library_status->MPI_SOURCE, library_status->MPI_TAG);
      return code;
    }
    outcome = exchange(call, to, from, replace, status);
  }
  return finish(function, comm, outcome);
}

/// If the program is only recorded. Without threads the send is recorded after the call, when it is known
/// whether the buffer had room. With threads it must precede what other ranks do after receiving it, so it is
/// recorded first, even if the buffer had no room.
int leave_buffered_to_library(InterposedCall& call, const Point& point, auto library) {
  const bool threads = call.session.has_threads();
  if (threads) record_buffered(call.session, point);
  const int code = call.leave_to_library(library);
  if (!threads && code == MPI_SUCCESS) record_buffered(call.session, point);
  return code;
}

int buffered_send(Function function, const Point& point, MPI_Comm comm, auto library) {
  bool room = false;
  {
    InterposedCall call(function);
    if (!call.session.carries()) return leave_buffered_to_library(call, point, library);
    SendBuffer buffer;
    const Bytes data = buffer.set(point.buffer, point.count, *point.type);
    room = call.session.bsend().send(call.session, arguments_of(point, data, SendMode::kStandard));
    if (room) record_buffered(call.session, point);
  }
  return raise_error(function, comm, room ? MPI_SUCCESS : MPI_ERR_BUFFER);
}

[[gnu::always_inline]] inline int send_nonblocking(Function function, const Point& point, SendMode mode,
                                                   MPI_Comm comm, MPI_Request* handle, auto library) {
  int code = MPI_SUCCESS;
  {
    InterposedCall call(function);
    if (!call.session.carries()) {
      if (mode == SendMode::kBuffered) return leave_buffered_to_library(call, point, library);
      const std::uint32_t recorded =
          record_start(call.session, recording::EventKind::kSend, point, flag_of(mode));
      code = call.leave_to_library(library);
      code == MPI_SUCCESS ? (void)track(call.session, comm, *handle, recorded)
                          : call.recorder()->withdraw(function, recorded);
      return code;
    }
    code = start_new_send(call.session, comm, point, mode, *handle);
  }
  if (code != MPI_SUCCESS) *handle = MPI_REQUEST_NULL;
  return raise_error(function, comm, code);
}

int track_receive(InterposedCall& call, MPI_Comm comm, const Point& point, MPI_Request* handle, auto library)
    REQUIRES(session_lock) {
  const std::uint32_t recorded = record_start(call.session, recording::EventKind::kReceive, point);
  const std::uint32_t wildcard = call.recorder()->wildcard(point);
  const int code = call.leave_to_library(library);
  if (code == MPI_SUCCESS)
    track(call.session, comm, *handle, recorded).wildcard = wildcard;
  else
    call.recorder()->withdraw(call.function(), recorded);
  return code;
}

/// The messages of MPI_Sendrecv and related calls. `carried`: Offramp carries all that exist.
struct Pair {
  Point points[2];
  const Point* to = nullptr;
  const Point* from = nullptr;
  bool carried = false;

  Pair(const void* sendbuf, std::int64_t sendcount, MPI_Datatype sendtype, int dest, int sendtag,
       void* recvbuf, std::int64_t recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm) {
    Session& session = *Session::current;
    if (dest != MPI_PROC_NULL) to = &points[0];
    if (source != MPI_PROC_NULL) from = &points[1];
    carried = (to != nullptr || from != nullptr) &&
              (to == nullptr ||
               send_point(session, sendbuf, sendcount, sendtype, dest, sendtag, comm, points[0])) &&
              (from == nullptr ||
               receive_point(session, recvbuf, recvcount, recvtype, source, recvtag, comm, points[1]));
  }
  Pair& operator=(Pair&&) = delete;
};

#ifdef OFFRAMP_HAS_Isendrecv
int exchange_nonblocking(Function function, const Pair& pair, bool replace, MPI_Comm comm,
                         MPI_Request* handle, auto library) {
  if (handle == nullptr || !pair.carried) return library();
  InterposedCall call(function);
  if (call.session.carries()) {
    *handle = start_new_exchange(call.session, comm, pair.to, pair.from, replace);
    return MPI_SUCCESS;
  }
  if (pair.from == nullptr) {
    const std::uint32_t recorded = record_start(call.session, recording::EventKind::kSend, *pair.to);
    const int code = call.leave_to_library(library);
    code == MPI_SUCCESS ? (void)track(call.session, comm, *handle, recorded)
                        : call.recorder()->withdraw(function, recorded);
    return code;
  }
  const int code = track_receive(call, comm, *pair.from, handle, library);
  if (code == MPI_SUCCESS && pair.to != nullptr)  // as in start_new_exchange()
    // The send has no request of its own that the program could wait for.
    call.recorder()->free(function, record_start(call.session, recording::EventKind::kSend, *pair.to));
  return code;
}
#endif

/// The functions of one form.
template <typename Form>
struct Entries {
  using Count = typename Form::Count;

  template <Function function, auto Library, SendMode mode>
  static int send(const void* buf, Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
    const auto library = [&] { return (native.*Library)(buf, count, type, dest, tag, comm); };
    Point point;
    if (!send_point(*Session::current, buf, count, type, dest, tag, comm, point))
      return leave_uncarried(function, count, type, comm, library);
    if constexpr (mode == SendMode::kBuffered) {
      return buffered_send(function, point, comm, library);
    } else {
      return send_blocking(function, point, mode, comm, library);
    }
  }

  template <Function function, auto Library, SendMode mode>
  static int isend(const void* buf, Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                   MPI_Request* request) {
    const auto library = [&] { return (native.*Library)(buf, count, type, dest, tag, comm, request); };
    Point point;
    if (request == nullptr || !send_point(*Session::current, buf, count, type, dest, tag, comm, point))
      return leave_uncarried(function, count, type, comm, library);
    return send_nonblocking(function, point, mode, comm, request, library);
  }

  static int recv(void* buf, Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                  MPI_Status* status) {
    const auto library = [&](MPI_Status* library_status) {
      return (native.*Form::Recv)(buf, count, type, source, tag, comm, library_status);
    };
    Point point;
    if (!receive_point(*Session::current, buf, count, type, source, tag, comm, point))
      return leave_uncarried(Form::kRecv, 0, type, comm, [&] { return library(status); });
    return receive_blocking(Form::kRecv, point, comm, status, library);
  }

  static int irecv(void* buf, Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                   MPI_Request* handle) {
    const auto library = [&] { return (native.*Form::Irecv)(buf, count, type, source, tag, comm, handle); };
    Point point;
    if (handle == nullptr || !receive_point(*Session::current, buf, count, type, source, tag, comm, point))
      return leave_uncarried(Form::kIrecv, 0, type, comm, library);
    InterposedCall call(Form::kIrecv);
    if (!call.session.carries()) return track_receive(call, comm, point, handle, library);
    *handle = start_new_receive(call.session, comm, point);
    return MPI_SUCCESS;
  }

  static int sendrecv(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                      void* recvbuf, Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
                      MPI_Comm comm, MPI_Status* status) {
    const auto library = [&](MPI_Status* library_status) {
      return (native.*Form::Sendrecv)(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount,
                                      recvtype, source, recvtag, comm, library_status);
    };
    const Pair pair(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source,
                    recvtag, comm);
    if (!pair.carried)
      return leave_uncarried(Form::kSendrecv, sendcount, sendtype, comm, [&] { return library(status); });
    return exchange(Form::kSendrecv, pair.to, pair.from, false, comm, status, library);
  }

  static int sendrecv_replace(void* buf, Count count, MPI_Datatype type, int dest, int sendtag, int source,
                              int recvtag, MPI_Comm comm, MPI_Status* status) {
    const auto library = [&](MPI_Status* library_status) {
      return (native.*Form::Sendrecv_replace)(buf, count, type, dest, sendtag, source, recvtag, comm,
                                              library_status);
    };
    const Pair pair(buf, count, type, dest, sendtag, buf, count, type, source, recvtag, comm);
    if (!pair.carried)
      return leave_uncarried(Form::kSendrecv_replace, count, type, comm, [&] { return library(status); });
    return exchange(Form::kSendrecv_replace, pair.to, pair.from, true, comm, status, library);
  }

#ifdef OFFRAMP_HAS_Isendrecv
  static int isendrecv(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                       void* recvbuf, Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
                       MPI_Comm comm, MPI_Request* request) {
    const Pair pair(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source,
                    recvtag, comm);
    return exchange_nonblocking(Form::kIsendrecv, pair, false, comm, request, [&] {
      return (native.*Form::Isendrecv)(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount,
                                       recvtype, source, recvtag, comm, request);
    });
  }

  static int isendrecv_replace(void* buf, Count count, MPI_Datatype type, int dest, int sendtag, int source,
                               int recvtag, MPI_Comm comm, MPI_Request* request) {
    const Pair pair(buf, count, type, dest, sendtag, buf, count, type, source, recvtag, comm);
    return exchange_nonblocking(Form::kIsendrecv_replace, pair, true, comm, request, [&] {
      return (native.*Form::Isendrecv_replace)(buf, count, type, dest, sendtag, source, recvtag, comm,
                                               request);
    });
  }
#endif
};

}  // namespace

template <typename F>
void fill_messages(MpiTable& table) {
  using E = Entries<F>;
  table.*F::Send = E::template send<F::kSend, F::Send, SendMode::kStandard>;
  table.*F::Ssend = E::template send<F::kSsend, F::Ssend, SendMode::kSynchronous>;
  table.*F::Rsend = E::template send<F::kRsend, F::Rsend, SendMode::kReady>;
  table.*F::Bsend = E::template send<F::kBsend, F::Bsend, SendMode::kBuffered>;
  table.*F::Isend = E::template isend<F::kIsend, F::Isend, SendMode::kStandard>;
  table.*F::Issend = E::template isend<F::kIssend, F::Issend, SendMode::kSynchronous>;
  table.*F::Irsend = E::template isend<F::kIrsend, F::Irsend, SendMode::kReady>;
  table.*F::Ibsend = E::template isend<F::kIbsend, F::Ibsend, SendMode::kBuffered>;
  table.*F::Recv = E::recv;
  table.*F::Irecv = E::irecv;
  table.*F::Sendrecv = E::sendrecv;
  table.*F::Sendrecv_replace = E::sendrecv_replace;
#ifdef OFFRAMP_HAS_Isendrecv
  table.*F::Isendrecv = E::isendrecv;
  table.*F::Isendrecv_replace = E::isendrecv_replace;
#endif
}
OFFRAMP_IN_BOTH_FORMS(fill_messages)

}  // namespace offramp
