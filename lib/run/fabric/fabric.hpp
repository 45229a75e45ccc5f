// The fabric moves bytes between the ranks of a run. It has no notion of MPI or of modelled time.
//
// A message is a small header and a payload. Messages between a pair of ranks arrive in order, in every
// implementation; the engine checks that by sequence numbers. Only one thread at a time may call a fabric.
#pragma once

#include <cstddef>
#include <span>

namespace offramp {

/// Receives the completion of a send or a pull; must live until the callback. ok is false if the peer or the
/// link is gone. progress() calls back; send() and pull() never do.
struct FabricWaiter {
  /// Called once, from progress() of the rank that started the operation. May start other operations.
  void (*notify)(FabricWaiter& self, bool ok) = nullptr;
};

/// Produces a payload in pieces, from the first byte to the last, so that memory never contains all of it.
class PieceSource {
 public:
  virtual ~PieceSource() = default;
  /// Writes the next piece, of at least one byte, and returns its size.
  virtual std::size_t make(std::span<std::byte> room) = 0;
};

/// Consumes a payload in pieces, from the first byte to the last.
class PieceSink {
 public:
  virtual ~PieceSink() = default;
  /// The piece is valid during the call only.
  virtual void use(std::span<const std::byte> piece, bool is_last) = 0;
};

/// One per process and run. It owns no memory of its callers.
class Fabric {
 public:
  /// The largest header that send() accepts.
  static constexpr std::size_t kMaxHeader = 512;

  /// An arrival. Everything in it comes from another process: check it before use.
  struct Inbound {
    std::span<const std::byte> header;  // valid during deliver()
    const std::byte* data = nullptr;    // payload, valid during deliver(); null if it is still at the sender
    std::size_t size = 0;               // of the payload
    void* remote = nullptr;  // payload at the sender: pass to pull() or drop() exactly once, now or later
  };

  /// Receives arrivals: the engine.
  class Sink {
   public:
    virtual ~Sink() = default;
    // Called from progress() only, once for each message. May call any function of the fabric but progress().
    virtual void deliver(const Inbound& message) = 0;
  };

  /// kDone: buffers may be reused, no callback follows. kPending: buffers must stay valid until the callback.
  /// kFailed: the peer is gone, no callback follows.
  enum class State { kDone, kPending, kFailed };

  virtual ~Fabric() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int ranks() const = 0;

  /// Sends to a peer, or to this rank. Small payloads are sent at once; larger ones may wait for the pull.
  virtual State send(int peer, std::span<const std::byte> header, std::span<const std::byte> payload,
                     FabricWaiter& waiter) = 0;

  /// Like send(), but a payload of any size stays at this rank until the peer pulls or drops it.
  virtual State offer(int peer, std::span<const std::byte> header, std::span<const std::byte> payload,
                      FabricWaiter& waiter) = 0;

  /// Fetches a payload that stayed at the sender. `into` must have exactly its size.
  virtual State pull(void* remote, std::span<std::byte> into, FabricWaiter& waiter) = 0;
  /// Releases a payload that stayed at the sender without copying it. The sender's waiter is notified as
  /// after a pull.
  virtual void drop(void* remote) = 0;

  /// True if the two functions below work with this peer. Each side may use them by itself: pull() accepts a
  /// payload offered in pieces, and pull_pieces() a whole one.
  [[nodiscard]] virtual bool has_pieces(int /*peer*/) const { return false; }
  /// Uses the source until the callback. The payload advances in progress() of this rank.
  virtual State offer_pieces(int /*peer*/, std::span<const std::byte> /*header*/, PieceSource& /*source*/,
                             std::size_t /*bytes*/, FabricWaiter& /*waiter*/) {
    return State::kFailed;
  }
  /// Uses the sink until the callback, or until it returns kDone.
  virtual State pull_pieces(void* /*remote*/, PieceSink& /*sink*/, FabricWaiter& /*waiter*/) {
    return State::kFailed;
  }

  /// Memory of a rank, shared with all ranks for which the result is not empty. Zero at first; its address
  /// differs between processes. Empty if there is none. Ranks that share memory with each other share it with
  /// the same ranks.
  [[nodiscard]] virtual std::span<std::byte> shared_memory(int /*peer*/) { return {}; }
  /// Reserves whole pages of this rank's shared memory, so that they can be written. Returns false if no
  /// memory is left.
  virtual bool reserve(std::span<std::byte> /*part*/) { return false; }

  /// Delivers arrived messages. Returns the number of events.
  virtual int progress(Sink& sink) = 0;
};

}  // namespace offramp
