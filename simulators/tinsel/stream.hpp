// A message as sent by the machine's threads: fragments of at most 64 bytes under a window of credits, to one
// thread, or to several by one of three kinds of multicast.
//
// Fragment (inferred; no document defines one): word 0 contains the sequence number in [31:16] and, in
// [15:0], the bits that MRM overwrites; 60 bytes follow. The first fragment of a unicast message begins with
// an envelope of 16 bytes, since the hardware does not identify senders.
#pragma once

#include <cstdint>
#include <vector>

#include "simulators/tinsel/machine.hpp"

namespace offramp::tinsel {

inline constexpr std::uint64_t kFragmentBytes = 60;
inline constexpr std::uint64_t kEnvelopeBytes = 16;

/// Instruction counts of threads. A thread has at most one instruction in its core's 8-stage pipeline; a core
/// issues one per cycle (read in [tinsel-src]).
struct SoftwareSpec {
  int pipeline = 8;
  int fragment_send = 12;     // write the header, set the length, wait for CanSend, send
  int fragment_receive = 12;  // Recv, check the sequence number, Free
  int copy_word = 2;          // one load and one store
  int window = 32;            // fragments in flight per source; at most 63 (receive pointers)
};

/// How a source reaches several destinations.
enum class Multicast : std::uint8_t {
  kHardware,  // one keyed send per fragment
  kMailbox,   // one send per destination mailbox (tinselMulticast)
  kSoftware   // one send per destination
};

/// Observes the fragments that a stream's source sends, from its first instruction on.
class FragmentTap {
 public:
  virtual ~FragmentTap() = default;
  /// at: relative to the source's first instruction. fragment: its number.
  virtual void sent(Time at, const ThreadLocation& from, const MailboxMessage& message,
                    std::uint64_t fragment) = 0;
};

/// A stream from one source thread to one or more destinations.
struct StreamRequest {
  ThreadLocation source;
  std::vector<ThreadLocation> destinations;
  Multicast multicast = Multicast::kSoftware;
  Key key;  // on the source's board, for kHardware
  std::uint64_t bytes = 0;
  bool envelope = false;
  int workers = kThreadsPerMailbox;  // threads per rank, at both ends
  FaultRates faults;
  std::uint64_t number = 0;  // selects the packets' faults
  FragmentTap* tap = nullptr;
  Time epoch;  // modelled time of the first instruction
};

/// Times are relative to the source's first instruction.
struct StreamResult {
  struct Destination {
    Time first;  // arrival of the first fragment's pointer
    Time last;   // the last byte is stored
  };
  bool ok = true;
  Time sent;  // the source has sent its last fragment
  std::vector<Destination> destinations;
  std::uint64_t fragments = 0;
  std::uint64_t sends = 0;         // by the source
  std::uint64_t out_of_order = 0;  // fragments that overtook others; reordered by their numbers
  MachineCounters counters;
};

/// The number of fragments. An empty message has one.
std::uint64_t fragments_of(std::uint64_t bytes, bool envelope);

/// Simulates every fragment. The machine must be idle and is reset.
/// References in the request must outlive the call. `ok` is false if a fragment did not arrive.
StreamResult run_whole_stream(Machine& machine, const SoftwareSpec& software, const StreamRequest& request);
/// As run_whole_stream(), but long streams need only bounded work: a stream becomes periodic, so short
/// streams determine the times of a long one. Simulates all fragments if that does not hold.
StreamResult run_stream(Machine& machine, const SoftwareSpec& software, const StreamRequest& request);

}  // namespace offramp::tinsel
