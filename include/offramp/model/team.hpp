// The ranks of one collective, as the algorithm of a backend sees them.
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

/// What the algorithm of a collective reaches of the hardware. It exists only where modelled time is
/// computed: see Team::hardware().
class TeamHardware {
 public:
  /// What the device of a world rank reaches. Outside of a world only the team's own rank may be asked for.
  [[nodiscard]] virtual Resources resources(int world_rank) = 0;
  /// Null outside of a world.
  [[nodiscard]] virtual WorldDevices* devices() { return nullptr; }

 protected:
  ~TeamHardware() = default;
};

/// The devices of all ranks in a world, for hardware that works on a collective by itself: what happens there
/// is not told by messages. The world takes its steps in the order of modelled time, with all others. Lives
/// as long as the backend.
class WorldDevices : public TeamHardware {
 public:
  /// What a device does from moment to moment.
  class Work {
   public:
    /// The moment has come that schedule() was called for.
    virtual void step(Time at, std::uint32_t number) = 0;
    /// What cross() was called for is at the far end of its link: the first and the last byte. Called once
    /// nothing can change these times any more, which may be after the first byte has come.
    virtual void crossed(std::uint32_t /*number*/, Time /*first*/, Time /*last*/) {}

   protected:
    ~Work() = default;
  };

  [[nodiscard]] WorldDevices* devices() final { return this; }
  /// Calls work.step(at, number), not before the present moment. work lives until then.
  virtual void schedule(Time at, Work& work, std::uint32_t number) = 0;
  /// For devices in switches: sends bytes over one link of the network (SwitchMap), which they share with all
  /// messages. first, last: when these bytes are at the near end if nothing else uses the link, not before
  /// the present moment. What has at most 16 KiB passes several links cut-through; more is cut up by the
  /// network and known at the far end only when all of it is there. Calls work.crossed(number, ...).
  virtual void cross(std::size_t link, std::size_t bytes, Time first, Time last, Work& work,
                     std::uint32_t number) = 0;

 protected:
  ~WorldDevices() = default;
};

/// The ranks of one collective operation as its algorithm sees them: ranks are those of the communicator. The
/// clock is the algorithm's position in modelled time. Implemented by the library; used by one coroutine.
class Team {
 public:
  using Handle = void*;
  virtual ~Team() = default;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  /// False: the buffers are sizes, and there is nothing to read in them.
  [[nodiscard]] bool carries_data() const { return carries_data_; }
  /// Where the members are, for hardware to which their places matter: the world rank of a rank.
  [[nodiscard]] virtual int world_rank(int rank) const { return rank; }
  /// The communicator: the same on all members, and never used again in a run. See Backend::forget().
  [[nodiscard]] virtual std::uint64_t context() const { return 0; }
  /// The context under which the hardware keeps what it sets up for the communicator. It differs from
  /// context() for a persistent collective: its messages have a context of their own, and it uses the set-up
  /// of the communicator that it was made on.
  [[nodiscard]] virtual std::uint64_t setup_context() const { return context(); }
  /// Null in a run: only data moves. Then the clock and the stamps of tokens mean nothing, a token is a
  /// message like any other, no message waits for its receiver, and an algorithm leaves out what serves only
  /// the time: credits, windows, segments, registers. What it combines, and in which order, stays the same.
  /// All members have hardware, or none has.
  [[nodiscard]] virtual TeamHardware* hardware() { return nullptr; }
  /// The devices of all members; null without a world.
  [[nodiscard]] WorldDevices* devices() {
    TeamHardware* const own = hardware();
    return own != nullptr ? own->devices() : nullptr;
  }
  Time clock;
  /// For spans of what belongs to the whole operation and not to one of its messages.
  std::uint64_t operation = 0;
  /// How the messages of this algorithm go, for hardware to which it makes a difference: see Transfer.
  bool synchronous = false;
  bool signals = false;
  /// Bytes of the buffers that this rank's call has, for memory with caches; 0: only the message's own count.
  std::size_t footprint = 0;

  // For hardware that works while the program computes.
  /// When a nonblocking call returns to the program. Set before the first co_await; 0: at once.
  Time host_free;
  /// Work of the host itself that is left: it begins when the program waits, not before host_begin, and goes
  /// on beside the hardware's. The operation is complete when both are done.
  Time host_begin;
  Time host_work;
  /// When such work ends that begins at a moment, in place of host_work: of work that needs what others use,
  /// too. Asked once.
  std::function<Time(Time begin)> host_end;
  /// How long it takes from then on.
  [[nodiscard]] Time host_time(Time begin) const { return host_end ? host_end(begin) - begin : host_work; }

  class [[nodiscard]] Pending {
   public:
    Pending(Team& team, Handle handle) : team_(team), handle_(handle) {}
    [[nodiscard]] bool await_ready() const { return team_.ready(handle_); }
    void await_suspend(std::coroutine_handle<> waiter) const { team_.wait(handle_, waiter); }
    /// Takes the clock to the completion; the handle is used up.
    Outcome await_resume() const { return team_.finish(handle_); }

   private:
    Team& team_;
    Handle handle_;
  };

  /// Starts a send or a receive of exactly data.size() bytes; co_await it once. Buffers stay valid until
  /// then. They cost what the backend's point-to-point model says.
  Pending send(int peer, Bytes data) { return {*this, start_send(peer, data, nullptr)}; }
  Pending receive(int peer, MutableBytes data) { return {*this, start_receive(peer, data, false)}; }

  /// What came with a token: the stamp that its sender gave it. Of one that has crossed a network, first and
  /// last are when it came, and stored is what Backend::arrive() said; otherwise that is negative.
  struct Arrival {
    Outcome outcome = Outcome::kOk;
    Stamp stamp;
    Time stored = Time::ps(-1);
  };
  class [[nodiscard]] PendingToken {
   public:
    PendingToken(Team& team, Handle handle) : team_(team), handle_(handle) {}
    [[nodiscard]] bool await_ready() const { return team_.ready(handle_); }
    void await_suspend(std::coroutine_handle<> waiter) const { team_.wait(handle_, waiter); }
    /// The clock stays; the handle is used up.
    Arrival await_resume() const { return team_.take(handle_); }

   private:
    Team& team_;
    Handle handle_;
  };

  /// The same for models with processes of their own on both sides, which know when each byte leaves and
  /// arrives: a token of their network, with data or without. The library carries it and adds no time;
  /// neither clock moves. Tokens of one pair arrive in order, and in order with send(): a token is received
  /// as a token.
  PendingToken send_token(int peer, Bytes data, const Stamp& stamp) {
    return {*this, start_send(peer, data, &stamp)};
  }
  /// The same, but in a world the token crosses its network as a message does, and is there at its time: the
  /// receiver's device is charged then (Backend::arrive()). stamp: when its first and its last byte are there
  /// if others leave it the way, which takes `latency` of that. Not to be sent before the world has come to
  /// the moment at which it leaves.
  PendingToken send_crossing(int peer, Bytes data, const Stamp& stamp, Time latency) {
    latency_ = latency;
    const Handle handle = start_send(peer, data, &stamp);
    latency_ = Time::ps(-1);
    return {*this, handle};
  }
  PendingToken receive_token(int peer, MutableBytes data) { return {*this, start_receive(peer, data, true)}; }

  /// inout = in (op) inout on whole elements: MPI's operand order, `in` comes from the lower ranks.
  void combine(Bytes in, MutableBytes inout) {
    if (carries_data_) combine_elements(in, inout);
  }
  /// Local copy; the sizes are equal. Use it instead of memcpy: an algorithm that is only watched has no
  /// data.
  void copy(Bytes from, MutableBytes to) const {
    if (carries_data_ && !from.empty() && from.data() != to.data())
      std::memcpy(to.data(), from.data(), from.size());
  }
  /// Working memory that lives until the operation ends; uninitialised.
  virtual MutableBytes scratch(std::size_t bytes) = 0;

 protected:
  Team(int rank, int size, bool carries_data) : rank_(rank), size_(size), carries_data_(carries_data) {}
  virtual void combine_elements(Bytes in, MutableBytes inout) = 0;
  /// stamp: of a token; null: the backend's point-to-point model prices the message.
  virtual Handle start_send(int peer, Bytes data, const Stamp* stamp) = 0;
  virtual Handle start_receive(int peer, MutableBytes data, bool token) = 0;
  virtual bool ready(Handle handle) = 0;
  virtual void wait(Handle handle, std::coroutine_handle<> waiter) = 0;
  virtual Outcome finish(Handle handle) = 0;
  virtual Arrival take(Handle handle) = 0;

  Time latency_ = Time::ps(-1);  // of the token that is being sent; negative: it crosses nothing

 private:
  int rank_;
  int size_;
  bool carries_data_;
};

/// Buffers of a collective, packed (contiguous, in type-map order). send: this rank's contribution; receive:
/// where this rank's result goes (empty where MPI gives it none). For bcast, receive is the buffer on every
/// rank. Blocks of gather, scatter, allgather, reduce_scatter and alltoall lie in rank order. send and
/// receive never overlap, except that they are the same memory where MPI_IN_PLACE says so (bcast always).
struct CollectiveBuffers {
  Bytes send;
  MutableBytes receive;
  std::size_t block = 0;  // bytes of one rank's block
  // Where blocks differ, one per rank, anywhere in memory. send_blocks: kScatterv at the root,
  // kReduceScatterv (the parts of send), kAlltoallv. receive_blocks: kGatherv at the root, kAllgatherv,
  // kAlltoallv.
  std::span<const Bytes> send_blocks = {};
  std::span<const MutableBytes> receive_blocks = {};
};

}  // namespace offramp
