// Team: the ranks of one collective, as seen by a backend's algorithm.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>

#include "offramp/kernel/time.hpp"
#include "offramp/model/message.hpp"
#include "offramp/model/resource.hpp"

namespace offramp {

class WorldDevices;

/// Hardware access of a collective algorithm. It exists only where modelled time is computed: see
/// Team::hardware().
class TeamHardware {
 public:
  /// The resources of a world rank's device. Outside of a world only the team's own rank is allowed.
  [[nodiscard]] virtual Resources resources(int world_rank) = 0;
  /// nullptr outside of a world.
  [[nodiscard]] virtual WorldDevices* devices() { return nullptr; }

 protected:
  ~TeamHardware() = default;
};

/// The devices of all ranks in a world, for hardware that executes a collective itself rather than by
/// messages. The world runs its steps in the order of modelled time with all other events. Lives as long as
/// the backend.
class WorldDevices : public TeamHardware {
 public:
  /// Callbacks of a device.
  class Work {
   public:
    /// Called at the time requested by schedule().
    virtual void step(Time at, std::uint32_t number) = 0;
    /// The bytes of cross() are at the far end of the link, with the times of the first and last byte. Called
    /// once these times are final, possibly after the first byte has arrived.
    virtual void crossed(std::uint32_t /*number*/, Time /*first*/, Time /*last*/) {}

   protected:
    ~Work() = default;
  };

  [[nodiscard]] WorldDevices* devices() final { return this; }
  /// Calls work.step(at, number); `at` is not in the past. work must live until then.
  virtual void schedule(Time at, Work& work, std::uint32_t number) = 0;
  /// Sends bytes over one link of the network (SwitchMap), which is shared with all messages; for devices in
  /// switches. first, last: when the bytes are at the near end if nothing else uses the link, not in the
  /// past. Up to 16 KiB pass several links cut-through; the network splits larger data and reports its
  /// arrival only when it is complete. Calls work.crossed(number, ...).
  virtual void cross(std::size_t link, std::size_t bytes, Time first, Time last, Work& work,
                     std::uint32_t number) = 0;

 protected:
  ~WorldDevices() = default;
};

/// The members of a communicator, as one of its ranks sees them.
class TeamMembers {
 public:
  virtual ~TeamMembers() = default;

  /// This rank in the communicator, from 0, and the number of its members.
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  /// The world rank of a rank, for hardware that depends on the location of its members.
  [[nodiscard]] virtual int world_rank(int rank) const { return rank; }
  /// Identifies the communicator: equal on all members, and unique in a run. See Backend::forget().
  [[nodiscard]] virtual std::uint64_t context() const { return 0; }
  /// The context of the hardware's per-communicator state. It differs from context() for a persistent
  /// collective: its messages have their own context, but it uses the state of its communicator.
  [[nodiscard]] virtual std::uint64_t setup_context() const { return context(); }

 protected:
  TeamMembers(int rank, int size) : rank_(rank), size_(size) {}

 private:
  int rank_;
  int size_;
};

/// One collective operation as its algorithm sees it: ranks are those of the communicator, and the clock is
/// the algorithm's position in modelled time. Implemented by the library; used by one coroutine.
class Team : public TeamMembers {
 public:
  /// A message under way. Opaque to algorithms: valid from its start until finish() or finish_token().
  using Handle = void*;

  /// True in a run: buffers have contents, which copy() and combine() move. In a world they have sizes only.
  [[nodiscard]] bool carries_data() const { return carries_data_; }
  /// The modelled hardware of a world. Returns nullptr in a run, where only algorithms of the host's software
  /// run (DataCarrier::order()): the clock is meaningless, and messages never wait for their receiver.
  [[nodiscard]] virtual TeamHardware* hardware() { return nullptr; }
  /// The devices of all members; nullptr outside of a world.
  [[nodiscard]] WorldDevices* devices() {
    TeamHardware* const own = hardware();
    return own != nullptr ? own->devices() : nullptr;
  }
  Time clock;
  /// For spans of the whole operation rather than one of its messages.
  std::uint64_t operation = 0;
  /// Properties of this algorithm's messages, for hardware that distinguishes them: see Transfer.
  bool synchronous = false;
  bool signals = false;
  /// Bytes of the buffers in this rank's call, for memory with caches; 0: count each message alone.
  std::size_t footprint = 0;

  // For hardware that works while the program computes.
  /// The time at which a nonblocking call returns to the program. Set it before the first co_await; 0: at
  /// once.
  Time host_free;
  /// Remaining work of the host. It begins when the program waits, at host_begin or later, and overlaps with
  /// the hardware's. The operation completes when both are done.
  Time host_begin;
  Time host_work;
  /// Computes the end of that work from its beginning, instead of host_work, if it uses shared resources.
  /// Called once.
  std::function<Time(Time begin)> host_end;
  /// Duration of the host's work if it begins then.
  [[nodiscard]] Time host_time(Time begin) const { return host_end ? host_end(begin) - begin : host_work; }

  /// The result of a message that was started. co_await it exactly once, since that releases the handle.
  class [[nodiscard]] Pending {
   public:
    Pending(Team& team, Handle handle) : team_(team), handle_(handle) {}
    [[nodiscard]] bool await_ready() const { return team_.ready(handle_); }
    void await_suspend(std::coroutine_handle<> waiter) const { team_.wait(handle_, waiter); }
    /// Advances the clock to the completion and releases the handle.
    Outcome await_resume() const { return team_.finish(handle_); }

   private:
    Team& team_;
    Handle handle_;
  };

  /// Start a send or a receive of exactly data.size() bytes; co_await the result once. Buffers must be valid
  /// until then. The costs are those of the backend's point-to-point model.
  Pending send(int peer, Bytes data) { return {*this, start_send(peer, data, nullptr)}; }
  Pending receive(int peer, MutableBytes data) { return {*this, start_receive(peer, data, false)}; }
  /// For worlds, where messages have no contents.
  Pending send(int peer, std::size_t bytes) { return send(peer, without_contents(bytes)); }
  Pending receive(int peer, std::size_t bytes) { return receive(peer, without_contents(bytes)); }

  /// A received token with its sender's stamp. If it has crossed a network, first and last are its arrival
  /// times and stored is the result of Backend::arrive(); otherwise stored is negative.
  struct Arrival {
    Outcome outcome = Outcome::kOk;
    Stamp stamp;
    Time stored = Time::ps(-1);
  };
  /// The result of a token that was started. co_await it exactly once, as Pending.
  class [[nodiscard]] PendingToken {
   public:
    PendingToken(Team& team, Handle handle) : team_(team), handle_(handle) {}
    [[nodiscard]] bool await_ready() const { return team_.ready(handle_); }
    void await_suspend(std::coroutine_handle<> waiter) const { team_.wait(handle_, waiter); }
    /// Leaves the clock unchanged and releases the handle.
    Arrival await_resume() const { return team_.finish_token(handle_); }

   private:
    Team& team_;
    Handle handle_;
  };

  /// Sends a token, for models that compute the time of each byte at both ends. A token may have data. The
  /// library delivers it without adding time to either clock. Tokens and messages of one pair arrive in
  /// order; receive a token as a token.
  PendingToken send_token(int peer, Bytes data, const Stamp& stamp) {
    return {*this, start_send(peer, data, &stamp)};
  }
  /// As send_token(), but in a world the token crosses the network as a message does, and arrives at the
  /// modelled time, when the receiver's device is charged (Backend::arrive()). stamp: arrival of the first
  /// and last byte on an idle network, including `latency`. Must not be called before the modelled departure.
  PendingToken send_crossing(int peer, Bytes data, const Stamp& stamp, Time latency) {
    // start_send() reads latency_, so that messages and tokens share one virtual function.
    latency_ = latency;
    const Handle handle = start_send(peer, data, &stamp);
    latency_ = Time::ps(-1);
    return {*this, handle};
  }
  PendingToken receive_token(int peer, MutableBytes data) { return {*this, start_receive(peer, data, true)}; }
  PendingToken send_token(int peer, std::size_t bytes, const Stamp& stamp) {
    return send_token(peer, without_contents(bytes), stamp);
  }
  PendingToken receive_token(int peer, std::size_t bytes) {
    return receive_token(peer, without_contents(bytes));
  }

  /// inout = in (op) inout on whole elements. As in MPI's operand order, `in` comes from the lower ranks.
  void combine(Bytes in, MutableBytes inout) {
    if (carries_data_) combine_elements(in, inout);
  }
  /// Local copy; the sizes are equal. Replaces memcpy, because buffers may have no contents (carries_data()).
  void copy(Bytes from, MutableBytes to) const {
    if (carries_data_ && !from.empty() && from.data() != to.data())
      std::memcpy(to.data(), from.data(), from.size());
  }
  /// Uninitialised working memory, valid until the operation ends.
  virtual MutableBytes scratch(std::size_t bytes) = 0;

 protected:
  Team(int rank, int size, bool carries_data) : TeamMembers(rank, size), carries_data_(carries_data) {}
  /// combine() in a run, where the buffers have contents.
  virtual void combine_elements(Bytes in, MutableBytes inout) = 0;
  /// stamp: that of a token; nullptr: the backend's point-to-point model computes the message's time.
  virtual Handle start_send(int peer, Bytes data, const Stamp* stamp) = 0;
  /// token: the message must have been sent as a token.
  virtual Handle start_receive(int peer, MutableBytes data, bool token) = 0;
  /// True if the message is complete, so that co_await needs no suspension.
  virtual bool ready(Handle handle) = 0;
  /// Resumes the waiter at completion. Called once, and only if ready() returned false.
  virtual void wait(Handle handle, std::coroutine_handle<> waiter) = 0;
  /// Returns the outcome of a complete message, advances the clock to its completion, and releases the
  /// handle.
  virtual Outcome finish(Handle handle) = 0;
  /// As finish(), for a token: the clock stays.
  virtual Arrival finish_token(Handle handle) = 0;

  Time latency_ = Time::ps(-1);  // of the token being sent; negative: it does not cross the network

 private:
  /// A span that has a size only.
  static MutableBytes without_contents(std::size_t bytes) {
    return {bytes > 0 ? reinterpret_cast<std::byte*>(kNowhere) : nullptr, bytes};
  }
  /// Not nullptr, so that a sized buffer differs from an empty one; an access to it faults at once.
  static constexpr std::uintptr_t kNowhere = 64;  // no address of memory

  bool carries_data_;
};

/// Buffers of a collective, packed (contiguous, in type-map order). send: this rank's contribution; receive:
/// this rank's result (empty where MPI defines none). For bcast, receive is the buffer on every rank. Blocks
/// of gather, scatter, allgather, reduce_scatter, and alltoall are in rank order. send and receive are
/// identical for MPI_IN_PLACE and bcast, and never overlap otherwise.
struct CollectiveBuffers {
  Bytes send;
  MutableBytes receive;
  std::size_t block = 0;  // bytes of one rank's block
  // For different block sizes: one block per rank, anywhere in memory. send_blocks: kScatterv at the root,
  // kReduceScatterv (parts of send), kAlltoallv. receive_blocks: kGatherv at the root, kAllgatherv,
  // kAlltoallv.
  std::span<const Bytes> send_blocks = {};
  std::span<const MutableBytes> receive_blocks = {};
};

}  // namespace offramp
