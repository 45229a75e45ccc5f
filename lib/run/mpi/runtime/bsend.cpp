// A buffer without room is not an error at once: this rank may only have missed that messages have left, so
// it drives progress first. The engine's function and call site are restored afterwards, as progress may have
// changed them.
#include "lib/run/mpi/runtime/bsend.hpp"

#include <algorithm>
#include <cstring>

#include "lib/run/mpi/runtime/session.hpp"

namespace offramp {

/// Drives progress until the buffer has room or nothing moves any more. Messages may have been received
/// without this rank having noticed.
void BsendBuffer::drain(Session& session, std::size_t bytes) const {
  constexpr int kIdleTurns = 16;       // a turn may return 0 although the fabric still has work under way
  constexpr int kMostTurns = 100'000;  // other ranks may send to this one endlessly
  const std::uint16_t function = session.engine().function();
  const void* const site = session.engine().site();
  int idle = 0;
  for (int turn = 0; idle < kIdleTurns && turn < kMostTurns && !has_room(bytes); ++turn)
    idle = session.progress() > 0 ? 0 : idle + 1;
  session.engine().enter(function, site);
}

bool BsendBuffer::send(Session& session, SendArguments arguments) {
  const std::size_t bytes = arguments.data.size();
  if (!has_room(bytes)) drain(session, bytes);
  if (!has_room(bytes)) return false;
  auto message = std::make_unique<BufferedMessage>();
  message->data = std::make_unique_for_overwrite<std::byte[]>(std::max<std::size_t>(1, bytes));
  if (bytes > 0) std::memcpy(message->data.get(), arguments.data.data(), bytes);
  message->occupied = occupied_by(bytes);
  message->buffer = this;
  used_ += message->occupied;
  arguments.data = {message->data.get(), bytes};
  BufferedMessage& owned = messages_.add(std::move(message));
  owned.record.owner = &owned;
  owned.record.on_complete = [](SendRecord& record) {
    auto& sent = *static_cast<BufferedMessage*>(record.owner);
    sent.buffer->used_ -= sent.occupied;
    // The owner's end releases the record itself, so nothing may follow.
    (void)sent.buffer->messages_.remove(sent);
  };
  // The record may complete, and end, within this call.
  session.engine().send(owned.record, arguments);
  return true;
}

}  // namespace offramp
