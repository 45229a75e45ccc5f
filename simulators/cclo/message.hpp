// One point-to-point message between two engines: a SEND and a RECV call, each on its own control processor.
#pragma once

#include <vector>

#include "simulators/cclo/firmware.hpp"

namespace offramp::cclo {

/// The team of a single call: received tokens are already there, and sent ones are only recorded.
class LoopbackTeam final : public Team {
 public:
  LoopbackTeam(int rank, std::vector<Stamp> arrivals = {})
      : Team(rank, 2, false), arrivals_(std::move(arrivals)) {}
  /// The memory has no data: its address is a placeholder that must not be accessed.
  MutableBytes scratch(std::size_t bytes) override { return {reinterpret_cast<std::byte*>(kNowhere), bytes}; }
  /// The stamps of all messages sent by the call, in order.
  [[nodiscard]] const std::vector<Stamp>& sent() const { return sent_; }

 protected:
  void combine_elements(Bytes, MutableBytes) override {}
  Handle start_send(int peer, Bytes data, const Stamp* stamp) override;
  Handle start_receive(int peer, MutableBytes data, bool token) override;
  bool ready(Handle) override { return true; }
  void wait(Handle, std::coroutine_handle<>) override {}
  Outcome finish(Handle) override { return Outcome::kOk; }
  Arrival finish_token(Handle handle) override;

 private:
  // No process has memory there, so an access fails.
  static constexpr std::uintptr_t kNowhere = std::uintptr_t{1} << 62 | std::uintptr_t{1} << 55;
  std::vector<Stamp> arrivals_;
  std::vector<Stamp> sent_;
  std::size_t taken_ = 0;
};

/// A SEND call. `begin` of send() is when the engine has the call.
struct SendResult {
  Time complete;                // end of the firmware's work
  std::vector<Stamp> segments;  // arrival times at the receiver
  Error error = Error::kNone;   // error of the first failed segment
  WireCounters wire;
};
/// A RECV call for segments with given arrival times.
struct ReceiveResult {
  Time complete;
  Error error = Error::kNone;
};

/// Observers of a call.
struct Watch {
  SpanSink* spans = nullptr;
  std::uint64_t operation = 0;
  PacketTap* tap = nullptr;
  std::uint32_t tag = kTagAny;
  Bytes data = {};  // the message's data, for the tap
  int place = 0;    // world rank of the engine, for spans
  [[nodiscard]] bool any() const { return spans != nullptr || tap != nullptr; }
};

/// Computes calls on otherwise idle engines. Owns an IO space for them. Not thread-safe.
class MessageRunner {
 public:
  /// The layout is copied. spec: copied as well, so that a caller may change its own.
  explicit MessageRunner(const Spec& spec, const Layout& layout);
  /// begin: when the engine has the call. The result counts from the same zero.
  SendResult send(std::uint64_t bytes, Time begin, const PacketFaults& packet_faults = {}) {
    return send(bytes, begin, packet_faults, {});
  }
  SendResult send(std::uint64_t bytes, Time begin, const PacketFaults& packet_faults, const Watch& watch);
  /// segments: as returned by send() of the peer.
  ReceiveResult receive(std::uint64_t bytes, Time begin, const std::vector<Stamp>& segments) {
    return receive(bytes, begin, segments, {});
  }
  ReceiveResult receive(std::uint64_t bytes, Time begin, const std::vector<Stamp>& segments,
                        const Watch& watch);
  /// A message that waits for the receiver's address (second generation). Times count from when both sides
  /// are ready; `announce` counts from the start of the RECV call until the sender has the address.
  struct Rendezvous {
    Time ready;  // from the start of the SEND call until it checks for the address
    Time announce;
    Time first;  // data at the receiver
    Time last;
    Time complete;  // at the sender
    Time received;  // at the receiver
    Error error = Error::kNone;
    WireCounters wire;
  };
  /// Computes both ends on idle engines. The caller shifts the parts by the time at which both are ready.
  Rendezvous rendezvous(std::uint64_t bytes, const PacketFaults& packet_faults = {});
  /// Repeat one part of a rendezvous for its observers: the receiver's announcement after its RECV call; the
  /// sender's write after the address; the receiver's completion for data that land at the given times.
  void watch_announcement(Time begin, const PacketFaults& packet_faults, const Watch& watch);
  void watch_write(std::uint64_t bytes, Time begin, const PacketFaults& packet_faults, const Watch& watch);
  void watch_landing(std::uint64_t bytes, Time first, Time last, const PacketFaults& packet_faults,
                     const Watch& watch);
  /// Duration of a COPY call within this rank's memory.
  Time copy(std::uint64_t bytes);
  /// Duration of a call without data: NOP or a configuration call.
  Time call(Scenario scenario, std::uint32_t function = 0);

 private:
  struct RunResult {
    Time complete;
    Error error = Error::kNone;
    WireCounters wire;
  };
  /// Runs a call to its end on a processor of its own.
  RunResult run(LoopbackTeam& team, Scenario scenario, std::uint64_t bytes, Time begin,
                const PacketFaults& packet_faults, const Watch& watch, std::uint32_t function = 0);
  CallContext context_of(LoopbackTeam& team, const PacketFaults& packet_faults, const Watch& watch,
                         Bytes memory);
  // The parts of a rendezvous, see the top of message.cpp. Each has a processor of its own.
  void announce(Processor& processor, const PacketFaults& packet_faults) const;
  void write(Processor& processor, Bytes memory, Time begin, const PacketFaults& packet_faults) const;
  void finish(Processor& processor, MutableBytes memory, const PacketFaults& packet_faults) const;

  Spec spec_;
  IoSpace space_;
  std::uint32_t communicator_;
};

/// Write the tables of RX buffers and communicators into an IO space from the control processor's side, for
/// engines that are not driven through their host port.
void poke_buffers(IoSpace& space, const Spec& spec);
void poke_communicator(IoSpace& space, std::uint32_t address, std::uint32_t ranks, std::uint32_t local);

}  // namespace offramp::cclo
