#include "lib/run/mpi/runtime/bsend.hpp"

#include <algorithm>
#include <cstring>

#include "lib/run/mpi/runtime/session.hpp"

namespace offramp {

struct BsendBuffer::Message {
  SendRecord record;
  std::unique_ptr<std::byte[]> data;
  std::size_t occupied = 0;
  BsendBuffer* buffer = nullptr;
};

/// Goes on until there is room or nothing moves any more: the receivers may have everything, and this rank
/// has not looked yet.
void BsendBuffer::let_leave(Session& session, std::size_t bytes) const {
  constexpr int kIdleTurns = 16;       // a fabric may have something under way that a turn does not tell of
  constexpr int kMostTurns = 100'000;  // other ranks may send to this one without end
  const std::uint16_t function = session.engine().function();
  const void* const site = session.engine().site();
  int idle = 0;
  for (int turn = 0; idle < kIdleTurns && turn < kMostTurns && !has_room(bytes); ++turn)
    idle = session.progress() > 0 ? 0 : idle + 1;
  session.engine().enter(function, site);
}

bool BsendBuffer::send(Session& session, SendArguments arguments) {
  const std::size_t bytes = arguments.data.size();
  if (!has_room(bytes)) let_leave(session, bytes);
  if (!has_room(bytes)) return false;
  auto message = std::make_unique<Message>();
  message->data = std::make_unique_for_overwrite<std::byte[]>(std::max<std::size_t>(1, bytes));
  if (bytes > 0) std::memcpy(message->data.get(), arguments.data.data(), bytes);
  message->occupied = occupied_by(bytes);
  message->buffer = this;
  used_ += message->occupied;
  ++messages_;
  arguments.data = {message->data.get(), bytes};
  Message& owned = *message.release();  // NOLINT: on_complete ends it
  owned.record.owner = &owned;
  owned.record.on_complete = [](SendRecord& record) {
    const std::unique_ptr<Message> done(static_cast<Message*>(record.owner));
    done->buffer->used_ -= done->occupied;
    --done->buffer->messages_;
  };
  session.engine().send(owned.record, arguments);
  return true;
}

}  // namespace offramp
