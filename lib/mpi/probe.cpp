// Chapter 3.8: probe, matched probe and matched receive.
#include "lib/mpi/point.hpp"
#include "lib/native/native.h"

namespace offramp {
namespace {

/// Finding a message tells the program that it has arrived: the clocks move there.
void observe_arrival(Call& call, const UnexpectedMessage& message, const Point& point) {
  for (std::size_t i = 0; i < call.engine.lanes().size(); ++i)
    call.engine.lane(i).advance_to(message.header.lanes[i].stamp.first);
  if (point.peer == kAnySource && point.communicator->size > 2)
    call.engine.count_arrival_order_dependence(Dependence::kUnnamedSource, point.communicator->context->id());
}

UnexpectedMessage* find(const Point& point) {
  return point.communicator->context->find_unexpected(point.peer, point.tag);
}

[[gnu::always_inline]] inline UnexpectedMessage* find_now(Call& call, const Point& point) {
  UnexpectedMessage* message = find(point);
  if (message == nullptr) {
    if (!call.session.progress_in_place_of_library())
      call.unlocked([] { return offramp_native_progress(), 0; });
    message = find(point);
  }
  if (message != nullptr) {
    observe_arrival(call, *message, point);
  } else {
    call.engine.count_arrival_order_dependence(Dependence::kPolling, point.communicator->context->id());
    call.session.add_query_time();
  }
  return message;
}

UnexpectedMessage& find_waiting(Call& call, const Point& point) {
  UnexpectedMessage* message = nullptr;
  call.wait([&] { return (message = find(point)) != nullptr; });
  observe_arrival(call, *message, point);
  return *message;
}

void fill_status(MPI_Status* status, const UnexpectedMessage& message) {
  const Envelope& e = message.header.envelope;
  offramp::fill_status(status, e.source, e.tag, e.bytes);
}

MPI_Message claim(Call& call, UnexpectedMessage& message, MPI_Comm comm) {
  const Envelope& e = message.header.envelope;
  UnexpectedMessage* claimed = message.context->take_unexpected(message).release();
  MPI_Message handle = offramp_native_message_take(comm, claimed, e.source, e.bytes);
  call.session.claimed.insert(handle);
  return handle;
}

/// The message behind a handle of ours, which ends with it; null for the library's own.
std::unique_ptr<UnexpectedMessage> redeem(Session& session, MPI_Message* handle) {
  const auto guard = session.lock();
  if (handle == nullptr || session.claimed.erase(*handle) == 0) return nullptr;
  std::unique_ptr<UnexpectedMessage> message(
      static_cast<UnexpectedMessage*>(offramp_native_message_payload(*handle)));
  return message;
}

bool receivable(Session& session, void* buf, int count, MPI_Datatype type) {
  const auto guard = session.lock();
  const TypeInfo* info = count >= 0 ? session.datatypes.find(type) : nullptr;
  return info != nullptr && (buf != nullptr || count == 0 || !info->predefined);
}

}  // namespace

namespace face {

int Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
  Point point;
  if (!probe_point(*Session::current, source, tag, comm, point))
    return native.Probe(source, tag, comm, status);
  Call call(Function::kProbe);
  fill_status(status, find_waiting(call, point));
  return MPI_SUCCESS;
}

int Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  Point point;
  if (!probe_point(*Session::current, source, tag, comm, point))
    return native.Iprobe(source, tag, comm, flag, status);
  Call call(Function::kIprobe);
  const UnexpectedMessage* message = find_now(call, point);
  *flag = message != nullptr ? 1 : 0;
  if (message != nullptr) fill_status(status, *message);
  return MPI_SUCCESS;
}

int Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  Point point;
  if (message == nullptr || !probe_point(*Session::current, source, tag, comm, point))
    return native.Mprobe(source, tag, comm, message, status);
  Call call(Function::kMprobe);
  UnexpectedMessage& found = find_waiting(call, point);
  fill_status(status, found);
  *message = claim(call, found, comm);
  return MPI_SUCCESS;
}

int Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status) {
  Point point;
  if (message == nullptr || !probe_point(*Session::current, source, tag, comm, point))
    return native.Improbe(source, tag, comm, flag, message, status);
  Call call(Function::kImprobe);
  UnexpectedMessage* found = find_now(call, point);
  *flag = found != nullptr ? 1 : 0;
  if (found == nullptr) return MPI_SUCCESS;
  fill_status(status, *found);
  *message = claim(call, *found, comm);
  return MPI_SUCCESS;
}

int Mrecv(void* buf, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
  Session& session = *Session::current;
  if (!receivable(session, buf, count, type)) return native.Mrecv(buf, count, type, message, status);
  std::unique_ptr<UnexpectedMessage> claimed = redeem(session, message);
  if (claimed == nullptr) return native.Mrecv(buf, count, type, message, status);
  const MPI_Comm comm = offramp_native_message_comm(*message);
  Outcome outcome = Outcome::kOk;
  {
    Call call(Function::kMrecv);
    offramp_native_message_release(*message);
    *message = MPI_MESSAGE_NULL;
    Records records(session);
    ReceiveRecord& record = records.receive();
    ReceiveBuffer buffer;
    call.engine.receive_claimed(record, std::move(claimed),
                                buffer.set(buf, count, *session.datatypes.find(type)));
    call.wait([&] { return record.done; });
    call.engine.observe(record);
    buffer.finish(record.received);
    offramp::fill_status(status, record.header.envelope.source, record.header.envelope.tag, record.told());
    outcome = record.outcome;
  }
  return finish(Function::kMrecv, comm, outcome);
}

int Imrecv(void* buf, int count, MPI_Datatype type, MPI_Message* message, MPI_Request* handle) {
  Session& session = *Session::current;
  if (handle == nullptr || !receivable(session, buf, count, type))
    return native.Imrecv(buf, count, type, message, handle);
  std::unique_ptr<UnexpectedMessage> claimed = redeem(session, message);
  if (claimed == nullptr) return native.Imrecv(buf, count, type, message, handle);
  const MPI_Comm comm = offramp_native_message_comm(*message);
  Call call(Function::kImrecv);
  offramp_native_message_release(*message);
  *message = MPI_MESSAGE_NULL;
  ReceiveRequest& request = take_receive_request(comm);
  *handle = request.handle;
  start_claimed(session, request, std::move(claimed), buf, count, *session.datatypes.find(type));
  return MPI_SUCCESS;
}

}  // namespace face
}  // namespace offramp
