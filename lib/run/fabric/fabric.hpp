// The fabric: moves bytes between the ranks. It knows nothing of MPI and has no modelled time.
//
// A message is a small header and a payload. Between one pair of ranks headers are delivered in the order
// sent, by every implementation here; the engine checks it by sequence numbers all the same. Calls come from
// one thread at a time.
#pragma once

#include <cstddef>
#include <span>

namespace offramp {

/// Someone waiting for a send or a pull; lives until the callback. ok is false when the peer or the link is
/// gone. The callback comes from progress(), never from inside send() or pull().
struct FabricWaiter {
  void (*notify)(FabricWaiter& self, bool ok) = nullptr;
};

/// Produces a payload piece by piece, from the first byte to the last, so that memory never holds all of it.
class PieceSource {
 public:
  virtual ~PieceSource() = default;
  /// Writes the next piece, of at least one byte, and returns its size.
  virtual std::size_t make(std::span<std::byte> room) = 0;
};

/// Uses up a payload piece by piece, from the first byte to the last.
class PieceSink {
 public:
  virtual ~PieceSink() = default;
  virtual void use(std::span<const std::byte> piece, bool is_last) = 0;
};

class Fabric {
 public:
  /// The largest header that send() takes.
  static constexpr std::size_t kMaxHeader = 512;

  struct Inbound {
    std::span<const std::byte> header;  // valid during deliver()
    const std::byte* data = nullptr;    // payload, valid during deliver(); null if it is still at the sender
    std::size_t size = 0;               // of the payload
    void* remote = nullptr;  // payload at the sender: pass to pull() or drop() exactly once, now or later
  };

  class Sink {
   public:
    virtual ~Sink() = default;
    virtual void deliver(const Inbound& message) = 0;
  };

  /// kDone: buffers may be reused, no callback. kPending: they stay valid until the callback. kFailed: the
  /// peer is gone, no callback.
  enum class State { kDone, kPending, kFailed };

  virtual ~Fabric() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int ranks() const = 0;

  /// Sends to a peer (itself included). Small payloads never wait for the peer; larger ones may wait until it
  /// pulls them.
  virtual State send(int peer, std::span<const std::byte> header, std::span<const std::byte> payload,
                     FabricWaiter& waiter) = 0;

  /// The same for a payload that stays here, whatever its size, until the peer pulls or drops it.
  virtual State offer(int peer, std::span<const std::byte> header, std::span<const std::byte> payload,
                      FabricWaiter& waiter) = 0;

  /// Fetches a payload that stayed at the sender. `into` is exactly its size.
  virtual State pull(void* remote, std::span<std::byte> into, FabricWaiter& waiter) = 0;
  virtual void drop(void* remote) = 0;

  /// Whether payloads to and from this peer can go in pieces, with the two functions below. Each side chooses
  /// for itself: the peer may pull pieces as a whole, and a whole payload in pieces.
  [[nodiscard]] virtual bool has_pieces(int /*peer*/) const { return false; }
  /// The source is used until the callback. It needs progress() at this rank.
  virtual State offer_pieces(int /*peer*/, std::span<const std::byte> /*header*/, PieceSource& /*source*/,
                             std::size_t /*bytes*/, FabricWaiter& /*waiter*/) {
    return State::kFailed;
  }
  /// The sink is used until the callback, or until this function returns kDone.
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

  /// Delivers what has arrived; returns the number of things done.
  virtual int progress(Sink& sink) = 0;
};

}  // namespace offramp
