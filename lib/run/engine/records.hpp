// The records of sends and receives in progress, and of messages without a receive.
//
// The creator owns a record: a request object, a coroutine's team, or the stack of a blocking call. A record
// must not move between start and completion. An operation completes when its data is in place; it is
// observed when the program learns of that.
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

/// Creates an object with room for a payload behind it, in memory of the pool. `allocated` is the size of
/// that memory, which the object releases when it is deleted.
template <typename T>
std::unique_ptr<T> make_with_payload(std::size_t bytes) {
  const std::size_t size = sizeof(T) + bytes;
  std::unique_ptr<T> object(::new (detail::FramePool::allocate(size)) T);
  object->allocated = size;
  return object;
}
/// The address of the payload.
std::byte* payload_behind(auto& object) {
  return reinterpret_cast<std::byte*>(&object + 1);
}
template <typename T>
void delete_with_payload(T* object) {
  const std::size_t size = object->allocated;
  object->~T();
  detail::FramePool::release(object, size);
}

/// A send in progress. on_complete may be null; owner is for the creator.
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
  bool reply_done = false;  // the reply has come, or none is needed
  bool done = false;
  ListLink<SendRecord> link;  // in the engine's list of sends in flight
  Envelope envelope;          // as sent
  PieceSource* pieces = nullptr;
};

/// A receive in progress. on_complete may be null; owner is for the creator.
struct ReceiveRecord : FabricWaiter {
  Engine* engine = nullptr;
  Context* context = nullptr;
  void (*on_complete)(ReceiveRecord& self) = nullptr;
  void* owner = nullptr;
  int source = 0;              // rank in the communicator, or kAnySource
  int tag = 0;                 // or kAnyTag
  MutableBytes buffer;         // if the address is null, `pieces` receives the payload
  std::uint64_t order = 0;     // of posting, per context
  const void* site = nullptr;  // of the call in the program
  std::uint16_t function = 0;
  Outcome outcome = Outcome::kOk;
  bool done = false;
  bool observed = false;
  bool claimed = false;                  // by a matched probe; never posted
  ListLink<ReceiveRecord> link;          // in a posted queue
  std::size_t received = 0;              // bytes in the buffer
  std::unique_ptr<std::byte[]> landing;  // for a message longer than the buffer
  std::uint64_t digest = 0;              // of the bytes in the buffer, for the certificate
  Envelope envelope;                     // of the matched message
  PieceSink* pieces = nullptr;

  /// The size for MPI_Status, in bytes. The full size of a truncated message, for a new receive.
  [[nodiscard]] std::size_t status_bytes() const {
    return outcome == Outcome::kTruncated ? static_cast<std::size_t>(envelope.bytes) : received;
  }
};

/// A message of the engine itself: a reply, or restored window.
struct Notice : FabricWaiter {
  Engine* engine = nullptr;
  Envelope envelope;
};

/// The payload of a completed send that exceeded the receiver's window. The receiver pulls it.
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

/// A message without a receive. Its context owns it until a receive or a matched probe removes it.
struct UnexpectedMessage : FabricWaiter {
  UnexpectedMessage() = default;
  static void* operator new(std::size_t size) = delete;  // see make_with_payload()
  static void operator delete(UnexpectedMessage* self, std::destroying_delete_t) {
    delete_with_payload(self);
  }
  ~UnexpectedMessage();
  UnexpectedMessage& operator=(UnexpectedMessage&&) = delete;

  Engine* engine = nullptr;
  Context* context = nullptr;
  std::size_t allocated = 0;
  std::byte* data = nullptr;          // behind the header: payload that came along or was fetched
  void* remote = nullptr;             // payload still at the sender
  bool fetching = false;              // data is being filled
  bool failed = false;                // the sender was lost during the fetch
  bool is_detached = false;           // left its context during the fetch; deleted at its end
  std::size_t held = 0;               // bytes of payload in this rank's memory
  ReceiveRecord* receiver = nullptr;  // matched while fetching
  ListLink<UnexpectedMessage> by_source;
  ListLink<UnexpectedMessage> by_arrival;
  std::uint64_t arrival = 0;  // number of the arrival in the context
  // Links of UnexpectedIndex; the last two are used in heads only.
  UnexpectedMessage* next_alike = nullptr;
  UnexpectedMessage* last_alike = nullptr;
  UnexpectedMessage* next_head = nullptr;
  Envelope envelope;
};

}  // namespace offramp
