#include "lib/mpi/bsend.hpp"

#include <algorithm>
#include <cstring>

namespace offramp {

struct BsendBuffer::Message {
  SendRecord record;
  std::unique_ptr<std::byte[]> data;
  std::size_t occupied = 0;
  BsendBuffer* buffer = nullptr;
};

bool BsendBuffer::send(Engine& engine, SendArguments arguments) {
  const std::size_t bytes = arguments.data.size();
  const std::size_t occupied = bytes + MPI_BSEND_OVERHEAD;
  if (occupied > size_ - std::min(size_, used_)) return false;
  auto message = std::make_unique<Message>();
  message->data = std::make_unique_for_overwrite<std::byte[]>(std::max<std::size_t>(1, bytes));
  if (bytes > 0) std::memcpy(message->data.get(), arguments.data.data(), bytes);
  message->occupied = occupied;
  message->buffer = this;
  used_ += occupied;
  arguments.data = {message->data.get(), bytes};
  Message& owned = *message.release();  // NOLINT: on_complete ends it
  owned.record.owner = &owned;
  owned.record.on_complete = [](SendRecord& record) {
    const std::unique_ptr<Message> done(static_cast<Message*>(record.owner));
    done->buffer->used_ -= done->occupied;
  };
  engine.send(owned.record, arguments);
  return true;
}

}  // namespace offramp
