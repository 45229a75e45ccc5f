// The records of sends and receives in progress, and of messages that nobody asked for yet.
//
// A record belongs to its creator (a request object, a coroutine's team, or the stack of a blocking call) and
// must stay where it is from start to completion. Completion (the data is where it belongs) and observation
// (the program has learnt of it) are two moments.
#pragma once

#include <memory>
#include <new>

#include "lib/run/engine/envelope.hpp"
#include "lib/run/engine/intrusive_list.hpp"
#include "lib/run/fabric/fabric.hpp"
#include "offramp/kernel/frame_pool.hpp"

namespace offramp {

class Context;
class Engine;

/// Makes an object with room for a payload behind it, in memory of the pool. The object notes how much that
/// is (`allocated`), and gives it back when it is deleted.
template <typename T>
std::unique_ptr<T> make_with_payload(std::size_t bytes) {
  const std::size_t size = sizeof(T) + bytes;
  std::unique_ptr<T> object(::new (detail::FramePool::allocate(size)) T);
  object->allocated = size;
  return object;
}
/// Where the payload is.
template <typename T>
std::byte* payload_behind(T& object) {
  return reinterpret_cast<std::byte*>(&object + 1);
}
template <typename T>
void delete_with_payload(T* object) {
  const std::size_t size = object->allocated;
  object->~T();
  detail::FramePool::release(object, size);
}

struct SendRecord : FabricWaiter {
  Engine* engine = nullptr;
  Context* context = nullptr;
  void (*on_complete)(SendRecord& self) = nullptr;
  void* owner = nullptr;
  Bytes data;                 // if the address is null, `pieces` has the payload
  int destination = 0;        // rank in the communicator
  int destination_world = 0;  // world rank
  std::uint16_t function = 0;
  Outcome outcome = Outcome::kOk;
  bool transport_done = false;
  bool reply_done = false;  // no reply is awaited (any more)
  bool done = false;
  ListLink<SendRecord> link;  // in the engine's list of sends in flight
  Envelope envelope;          // what goes out
  PieceSource* pieces = nullptr;
};

struct ReceiveRecord : FabricWaiter {
  Engine* engine = nullptr;
  Context* context = nullptr;
  void (*on_complete)(ReceiveRecord& self) = nullptr;
  void* owner = nullptr;
  int source = 0;              // rank in the communicator, or kAnySource
  int tag = 0;                 // or kAnyTag
  MutableBytes buffer;         // if the address is null, `pieces` takes the payload
  std::uint64_t order = 0;     // of posting, per context
  const void* site = nullptr;  // of the call in the program
  std::uint16_t function = 0;
  Outcome outcome = Outcome::kOk;
  bool done = false;
  bool observed = false;
  bool claimed = false;                  // by a matched probe, and not posted
  ListLink<ReceiveRecord> link;          // in a posted queue
  std::size_t received = 0;              // bytes in the buffer
  std::unique_ptr<std::byte[]> landing;  // for a message longer than the buffer
  std::uint64_t digest = 0;              // of the bytes in the buffer, where a certificate wants it
  Envelope envelope;                     // of the matched message
  PieceSink* pieces = nullptr;

  /// The size that a status tells: of a message that was cut, the whole one, so that it can be sent again.
  [[nodiscard]] std::size_t status_bytes() const {
    return outcome == Outcome::kTruncated ? static_cast<std::size_t>(envelope.bytes) : received;
  }
};

/// A message that this rank sends on its own account: a reply, or a piece of window given back.
struct Notice : FabricWaiter {
  Engine* engine = nullptr;
  Envelope envelope;
};

/// What is left of a completed send whose receiver had no window for the payload: it waits here to be pulled.
struct DeferredSend : FabricWaiter {
  DeferredSend() = default;
  static void* operator new(std::size_t size) = delete;  // see make_with_payload()
  static void operator delete(DeferredSend* self, std::destroying_delete_t) { delete_with_payload(self); }

  Engine* engine = nullptr;
  std::size_t allocated = 0;
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  ListLink<DeferredSend> link;
  Envelope envelope;
};

/// A message without a receive. Owned by its context until it is taken (matched or claimed by a matched
/// probe).
struct UnexpectedMessage : FabricWaiter {
  UnexpectedMessage() = default;
  static void* operator new(std::size_t size) = delete;  // see make_with_payload()
  static void operator delete(UnexpectedMessage* self, std::destroying_delete_t) {
    delete_with_payload(self);
  }
  ~UnexpectedMessage();
  UnexpectedMessage(const UnexpectedMessage&) = delete;
  UnexpectedMessage& operator=(const UnexpectedMessage&) = delete;

  Engine* engine = nullptr;
  Context* context = nullptr;
  std::size_t allocated = 0;
  std::byte* data = nullptr;          // behind the header: eager payload, or one that was fetched
  void* remote = nullptr;             // payload still at the sender
  bool fetching = false;              // data is being filled
  bool failed = false;                // the fetch was lost with its sender
  bool abandoned = false;             // ends with the fetch
  std::size_t held = 0;               // bytes of payload in this rank's memory
  ReceiveRecord* receiver = nullptr;  // matched while fetching
  ListLink<UnexpectedMessage> by_source;
  ListLink<UnexpectedMessage> by_arrival;
  std::uint64_t arrival = 0;  // counted, per context
  // Of UnexpectedIndex; the last two of heads only.
  UnexpectedMessage* next_alike = nullptr;
  UnexpectedMessage* last_alike = nullptr;
  UnexpectedMessage* next_head = nullptr;
  Envelope envelope;
};

}  // namespace offramp
