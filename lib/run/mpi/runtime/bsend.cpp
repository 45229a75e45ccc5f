#include "lib/run/mpi/runtime/bsend.hpp"

#include <algorithm>
#include <cstring>

#include "lib/run/mpi/runtime/session.hpp"

namespace offramp {

struct BsendBuffer::BufferedMessage {
  SendRecord record;
  std::unique_ptr<std::byte[]> data;
  std::size_t occupied = 0;
  BsendBuffer* buffer = nullptr;
};

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
  ++messages_;
  arguments.data = {message->data.get(), bytes};
  BufferedMessage& owned = *message.release();  // NOLINT: on_complete deletes it
  owned.record.owner = &owned;
  owned.record.on_complete = [](SendRecord& record) {
    const std::unique_ptr<BufferedMessage> done(static_cast<BufferedMessage*>(record.owner));
    done->buffer->used_ -= done->occupied;
    --done->buffer->messages_;
  };
  session.engine().send(owned.record, arguments);
  return true;
}

}  // namespace offramp
