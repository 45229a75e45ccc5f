// MPI chapter 3.8: probe, matched probe, and matched receive.
#include "lib/run/mpi/api/entries.hpp"
#include "lib/run/mpi/api/point_arguments.hpp"
#include "lib/run/native/native.h"
#include "lib/run/native/world_comm.hpp"

namespace offramp {
namespace {

/// A probe of any source depends on which message came first.
void count_dependence(InterposedCall& call, const Point& point) {
  if (point.peer == kAnySource && point.communicator->size > 2)
    call.engine.count_arrival_order_dependence(Dependence::kUnnamedSource, point.communicator->context->id());
}

UnexpectedMessage* find(const Point& point) {
  return point.communicator->context->find_unexpected(point.peer, point.tag);
}

[[gnu::always_inline]] inline UnexpectedMessage* find_now(InterposedCall& call, const Point& point)
    REQUIRES(session_lock) {
  UnexpectedMessage* message = find(point);
  if (message == nullptr) {
    if (!call.session.progress_in_place_of_library())
      call.unlocked([] { return offramp_native_progress(), 0; });
    message = find(point);
  }
  if (message != nullptr) {
    count_dependence(call, point);
  } else {
    call.engine.count_arrival_order_dependence(Dependence::kPolling, point.communicator->context->id());
    if (call.recorder() != nullptr) call.recorder()->polled(call.function());
  }
  return message;
}

UnexpectedMessage& find_waiting(InterposedCall& call, const Point& point) {
  UnexpectedMessage* message = nullptr;
  call.wait([&] { return (message = find(point)) != nullptr; });
  count_dependence(call, point);
  return *message;
}

void fill_status(MPI_Status* status, const UnexpectedMessage& message) {
  const Envelope& e = message.envelope;
  offramp::fill_status(status, e.source, e.tag, e.bytes);
}

/// Returns the request of a claim.
std::uint32_t record(InterposedCall& call, recording::EventKind kind, const Point& point,
                     const UnexpectedMessage& message) {
  const Envelope& e = message.envelope;
  if (call.recorder() == nullptr) return 0;
  return call.recorder()->probe(call.function(), kind, point, e.bytes, {e.source, e.tag});
}

/// If the program is only recorded. flag, message: null if the function has no such argument.
int poll_library(InterposedCall& call, const Point& point, const int* flag, const MPI_Message* message,
                 MPI_Status* status, auto library) {
  // The recording needs source and tag, also where the program ignores the status.
  MPI_Status own{};
  MPI_Status* const library_status = status != MPI_STATUS_IGNORE ? status : &own;
  const int code = call.leave_to_library([&] { return library(library_status); });
  if (code != MPI_SUCCESS) return code;
  if (flag != nullptr && *flag == 0) {
    call.recorder()->polled(call.function());
    return code;
  }
  const auto kind = message != nullptr ? recording::EventKind::kClaim : recording::EventKind::kProbe;
  const std::uint32_t request =
      call.recorder()->probe(call.function(), kind, point, offramp_native_status_bytes(library_status),
                             {library_status->MPI_SOURCE, library_status->MPI_TAG});
  if (message != nullptr) call.session.claim(*message, request);
  return code;
}

MPI_Message claim(InterposedCall& call, UnexpectedMessage& message, MPI_Comm comm, const Point& point) {
  const std::uint32_t request = record(call, recording::EventKind::kClaim, point, message);
  const Envelope& e = message.envelope;
  // The handle owns the message until MPI_Mrecv or MPI_Imrecv. The library's own handle carries the pointer.
  UnexpectedMessage* claimed = message.context->pop_unexpected(message).release();
  MPI_Message handle = offramp_native_message_take(comm, claimed, e.source, e.bytes);
  call.session.claim(handle, request);
  return handle;
}

/// The four probes. `polls`: returns at once, with a flag. `claims`: the message is for a matched receive.
template <bool polls, bool claims, typename Library>
[[gnu::always_inline]] inline int probe(Function function, int source, int tag, MPI_Comm comm, int* flag,
                                        MPI_Message* message, MPI_Status* status, Library library) {
  Point point;
  if ((claims && message == nullptr) || !probe_point(*Session::current, source, tag, comm, point))
    return leave_uncarried(function, 0, MPI_BYTE, comm, [&] { return library(status); });
  InterposedCall call(function);
  if (!call.session.carries()) return poll_library(call, point, flag, message, status, library);
  UnexpectedMessage* const found = polls ? find_now(call, point) : &find_waiting(call, point);
  if (polls) *flag = found != nullptr ? 1 : 0;
  if (found == nullptr) return MPI_SUCCESS;
  fill_status(status, *found);
  if (claims) {
    *message = claim(call, *found, comm, point);
  } else {
    record(call, recording::EventKind::kProbe, point, *found);
  }
  return MPI_SUCCESS;
}

/// The message behind a handle of Offramp's. Consumes the claim. Null for a handle of the MPI library.
/// request: its number in the recording.
std::unique_ptr<UnexpectedMessage> redeem(Session& session, MPI_Message* handle, std::uint32_t& request) {
  const Session::Lock guard(session);
  if (handle == nullptr) return nullptr;
  const std::optional<std::uint32_t> claim = session.end_claim(*handle);
  if (!claim) return nullptr;
  request = *claim;
  // The library has the message. Only its number in the recording was needed.
  if (!session.carries()) return nullptr;
  std::unique_ptr<UnexpectedMessage> message(
      static_cast<UnexpectedMessage*>(offramp_native_message_payload(*handle)));
  return message;
}

bool receivable(Session& session, void* buf, std::int64_t count, MPI_Datatype type) {
  const Session::Lock guard(session);
  const TypeInfo* info = count >= 0 ? session.marshal().datatypes.find(type) : nullptr;
  // A null buffer is allowed for derived types, whose addresses may be absolute.
  return info != nullptr && (buf != nullptr || count == 0 || !info->predefined);
}

}  // namespace

namespace api {

int Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
  return probe<false, false>(
      Function::kProbe, source, tag, comm, nullptr, nullptr, status,
      [&](MPI_Status* library_status) { return native.Probe(source, tag, comm, library_status); });
}

int Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  return probe<true, false>(
      Function::kIprobe, source, tag, comm, flag, nullptr, status,
      [&](MPI_Status* library_status) { return native.Iprobe(source, tag, comm, flag, library_status); });
}

int Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  return probe<false, true>(
      Function::kMprobe, source, tag, comm, nullptr, message, status,
      [&](MPI_Status* library_status) { return native.Mprobe(source, tag, comm, message, library_status); });
}

int Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status) {
  return probe<true, true>(Function::kImprobe, source, tag, comm, flag, message, status,
                           [&](MPI_Status* library_status) {
                             return native.Improbe(source, tag, comm, flag, message, library_status);
                           });
}

}  // namespace api

namespace {

template <typename Form>
int mrecv(void* buf, typename Form::Count count, MPI_Datatype type, MPI_Message* message,
          MPI_Status* status) {
  Session& session = *Session::current;
  if (!receivable(session, buf, count, type)) return (native.*Form::Mrecv)(buf, count, type, message, status);
  std::uint32_t recorded = 0;
  std::unique_ptr<UnexpectedMessage> claimed = redeem(session, message, recorded);
  // The probe was recorded, and the library has the message.
  if (claimed == nullptr && recorded != 0) {
    InterposedCall call(Form::kMrecv);
    const int code =
        call.leave_to_library([&] { return (native.*Form::Mrecv)(buf, count, type, message, status); });
    call.recorder()->wait(Form::kMrecv, recorded);
    return code;
  }
  if (claimed == nullptr) return (native.*Form::Mrecv)(buf, count, type, message, status);
  // MPI sets the handle to null before the receive completes.
  const MPI_Message taken = std::exchange(*message, MPI_MESSAGE_NULL);
  Outcome outcome = Outcome::kOk;
  {
    InterposedCall call(Form::kMrecv);
    Records records(session);
    ReceiveRecord& record = records.receive();
    MessageBuffer buffer;
    call.engine.receive_claimed(record, std::move(claimed),
                                buffer.set(buf, count, *session.marshal().datatypes.find(type), record));
    call.wait([&] { return record.done; });
    call.engine.observe(record);
    if (call.recorder() != nullptr) call.recorder()->wait(Form::kMrecv, recorded);
    offramp::fill_status(status, record.envelope.source, record.envelope.tag, record.status_bytes());
    outcome = record.outcome;
  }
  // The handle's communicator, which an error names, is read before the handle is released.
  const int code = finish(Form::kMrecv, offramp_native_message_comm(taken), outcome);
  offramp_native_message_release(taken);
  return code;
}

template <typename Form>
int imrecv(void* buf, typename Form::Count count, MPI_Datatype type, MPI_Message* message,
           MPI_Request* handle) {
  Session& session = *Session::current;
  if (handle == nullptr || !receivable(session, buf, count, type))
    return (native.*Form::Imrecv)(buf, count, type, message, handle);
  std::uint32_t recorded = 0;
  std::unique_ptr<UnexpectedMessage> claimed = redeem(session, message, recorded);
  if (claimed == nullptr && recorded != 0) {
    InterposedCall call(Form::kImrecv);
    const int code =
        call.leave_to_library([&] { return (native.*Form::Imrecv)(buf, count, type, message, handle); });
    if (code == MPI_SUCCESS) track(session, mpi_world(), *handle, recorded);
    return code;
  }
  if (claimed == nullptr) return (native.*Form::Imrecv)(buf, count, type, message, handle);
  InterposedCall call(Form::kImrecv);
  ReceiveRequest& request = acquire_receive_request(offramp_native_message_comm(*message));
  offramp_native_message_release(std::exchange(*message, MPI_MESSAGE_NULL));
  request.recorded = recorded;
  *handle = request.handle;
  start_claimed(session, request, std::move(claimed), buf, count, *session.marshal().datatypes.find(type));
  return MPI_SUCCESS;
}

}  // namespace

template <typename F>
void fill_matched_receives(MpiTable& table) {
  table.*F::Mrecv = mrecv<F>;
  table.*F::Imrecv = imrecv<F>;
}
OFFRAMP_IN_BOTH_FORMS(fill_matched_receives)

}  // namespace offramp
