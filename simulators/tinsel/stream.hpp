// A message as the machine's threads send it: fragments of at most 64 bytes under a window of credits, to one
// thread, or to many by one of three kinds of multicast.
//
// Fragment (inferred; no document fixes one): word 0 holds [31:16] the sequence number and [15:0] what
// MRM overwrites; 60 bytes follow. The first fragment of a unicast message begins with an envelope of 16
// bytes, since the hardware tells no sender.
#pragma once

#include <cstdint>
#include <vector>

#include "simulators/tinsel/machine.hpp"

namespace offramp::tinsel {

inline constexpr std::uint64_t kFragmentBytes = 60;
inline constexpr std::uint64_t kEnvelopeBytes = 16;

/// What threads do, in instructions. A thread gets at most one instruction through its core's 8-stage
/// pipeline at a time, a core one per cycle (read in [tinsel-src]).
struct SoftwareSpec {
  int pipeline = 8;
  int fragment_send = 12;     // write the header, set the length, wait for CanSend, send
  int fragment_receive = 12;  // Recv, check the sequence number, Free
  int copy_word = 2;          // a load and a store
  int window = 32;            // fragments in flight per source; at most 63 (receive pointers)
};

enum class Multicast : std::uint8_t {
  kHardware,  // one keyed send per fragment
  kMailbox,   // one send per destination mailbox (tinselMulticast)
  kSoftware   // one send per destination
};

/// Is told what a stream's source sends, from its first instruction on.
class FragmentTap {
 public:
  virtual ~FragmentTap() = default;
  virtual void sent(Time at, const Place& from, const Message& message, std::uint64_t fragment) = 0;
};

struct StreamRequest {
  Place source;
  std::vector<Place> destinations;
  Multicast multicast = Multicast::kSoftware;
  Key key;  // of the source's board, for kHardware
  std::uint64_t bytes = 0;
  bool envelope = false;
  int workers = kThreadsPerMailbox;  // threads per rank, at both ends
  FaultRates faults;
  std::uint64_t number = 0;  // selects the packets' fates
  FragmentTap* tap = nullptr;
  Time epoch;  // the modelled time of the first instruction
};

/// Times from the first instruction of the source on.
struct StreamResult {
  struct Destination {
    Time first;  // the first fragment's pointer
    Time last;   // the last byte is in memory
  };
  bool ok = true;
  Time sent;  // the source has handed over its last fragment
  std::vector<Destination> destinations;
  std::uint64_t fragments = 0;
  std::uint64_t sends = 0;         // of the source
  std::uint64_t out_of_order = 0;  // fragments that overtook others: put back in order by their numbers
  MachineCounters counters;
};

std::uint64_t fragments_of(std::uint64_t bytes, bool envelope);

/// Every fragment through the machine (which must be idle and is reset).
StreamResult run_whole_stream(Machine& machine, const SoftwareSpec& software, const StreamRequest& request);
/// The same times for long streams in bounded work: a stream becomes periodic, so the times of two short ones
/// tell those of the long one. Falls back to all fragments where that does not hold.
StreamResult run_stream(Machine& machine, const SoftwareSpec& software, const StreamRequest& request);

}  // namespace offramp::tinsel
