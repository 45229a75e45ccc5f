// All constants of the ZRLMPI protocol, of the message passing engine (MPE), and of the shell around it, with
// their sources. Settings have their defaults here.
//
// [zrlmpi-protocol] is the protocol document, [zrlmpi-src] the engine's source; [cfdoc] and [cfdk] describe
// the shell. "inferred" constants follow from the others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "offramp/kernel/time.hpp"

namespace offramp::zrlmpi {

// Header [zrlmpi-protocol].
inline constexpr std::size_t kHeaderBytes = 32;
inline constexpr std::uint32_t kMagic = 0x96969696;
inline constexpr std::size_t kWordBytes = 4;  // unit of the size field
/// The size field counts words in 32 bits.
inline constexpr std::uint64_t kMaximumMessageBytes = std::uint64_t{0xffffffff} * kWordBytes;
/// Body of an ERROR: one word with the kind of error. [zrlmpi-protocol] allows "some bytes".
inline constexpr std::size_t kErrorBytes = kWordBytes;
/// Extension block (ours): size of the message and offset of the fragment.
inline constexpr std::size_t kBlockBytes = 16;

// Network.
inline constexpr std::uint16_t kUdpPort = 2718;  // read in [zrlmpi-src]
inline constexpr int kMaximumNodes = 64;         // published [cfdk]: the shell's node ids are 0-63
/// UDP payload of a datagram (read in [zrlmpi-src]): 1500 - 50 (VXLAN) - 28 (IP, UDP), in whole 64-bit words.
inline constexpr std::uint32_t kDatagramBytes = 1416;
/// Bytes after the header in a datagram of maximum size.
inline constexpr std::uint32_t kFirstPayloadBytes = kDatagramBytes - kHeaderBytes;
inline constexpr std::uint32_t kFragmentBytes = kFirstPayloadBytes - kBlockBytes;
/// Framing of the UDP payload: UDP 8, IP 20, Ethernet 18, preamble 8, gap 12 (inferred).
inline constexpr std::uint32_t kFramingBytes = 66;
inline constexpr Bandwidth kLink = Bandwidth::gigabits_per_second(10);  // published [cfdoc]: 10 GbE per FPGA
inline constexpr Time kLatency = Time::us(1);                           // assumed: one switch, MACs, PHYs

// Engine (read in [zrlmpi-src]).
inline constexpr Frequency kClock = Frequency::kilohertz(156250);  // 6.4 ns
inline constexpr int kInitiationInterval = 2;                      // cycles, of the protocol state machine
inline constexpr int kBusBits = 8;                                 // [zrlmpi-protocol]
inline constexpr int kSecondBusBits = 64;                          // MPE v2
inline constexpr int kShellBusBits = 64;
inline constexpr std::size_t kControlEntries = 4;          // FIFO between the state machine and its dequeuers
inline constexpr std::size_t kCacheSlots = kMaximumNodes;  // header cache
inline constexpr std::size_t kInputFifoBytes = 2048;       // network side
inline constexpr std::size_t kInputFifoHeaders = kInputFifoBytes / kHeaderBytes;

// Shell: buffers before the engine's input (published [cfdk]).
inline constexpr std::size_t kShellHeaders = 64;      // UDP offload engine
inline constexpr std::size_t kTransportHeaders = 98;  // transport and network layers before it
/// Handshake packets that can wait for an engine that is not reading; further ones are dropped.
inline constexpr std::size_t kWaitingHeaders = kInputFifoHeaders + kShellHeaders + kTransportHeaders;

/// The event that a timer waits for: the ACK after the data, or an answer before it (CLEAR_TO_SEND or DATA).
enum class Awaited { kAnswer, kAck };
// Timers count idle iterations of the state machine (read in [zrlmpi-src]).
inline constexpr std::int64_t kTimerCounts = 15'625'000;  // 100 ms in the comments, 200 ms at II = 2
inline constexpr std::int64_t kTimerRankParts = 8;        // each rank adds rank / 8 of it
inline constexpr std::int64_t kTimerGrowth = 10;          // factor that each repetition adds
inline constexpr int kTimerSteps = 2;                     // repetitions that increase it
inline constexpr int kAckBases = 2;                       // an ACK has twice the timeout
inline constexpr int kRetries = 16;                       // ours: [zrlmpi-src] stops after 3

// Role.
inline constexpr int kRoleWordBits = 32;               // per cycle, in loops over its memory (inferred)
inline constexpr std::uint64_t kStaticBytes = 131072;  // read in [zrlmpi-src]: larger arrays are in DRAM
inline constexpr Time kDramDatagram =
    Time::ns(2300);               // read in [zrlmpi-src]: a full datagram written to DRAM
inline constexpr int kGroup = 4;  // read in [zrlmpi-src]: members of the tree

/// A constant as listed by `offramp explain constants`.
struct Constant {
  std::string_view name;
  std::uint64_t value;
  std::string_view unit;
  std::string_view source;
};

/// Rounds down.
constexpr std::uint64_t whole_nanoseconds(Time time) {
  return static_cast<std::uint64_t>(time.count()) / 1000;
}

/// All constants for `offramp explain constants`, in the order of this file.
inline constexpr std::array kConstants = {
    Constant{"header", kHeaderBytes, "B", "[zrlmpi-protocol]"},
    Constant{"magic", kMagic, "hex", "[zrlmpi-protocol]"},
    Constant{"word of the size field", kWordBytes, "B", "[zrlmpi-protocol]"},
    Constant{"body of an ERROR", kErrorBytes, "B", "[zrlmpi-protocol]: some bytes; one word is ours"},
    Constant{"extension block", kBlockBytes, "B", "ours"},
    Constant{"UDP port", kUdpPort, "", "read in [zrlmpi-src]"},
    Constant{"nodes", kMaximumNodes, "", "published [cfdk]"},
    Constant{"datagram", kDatagramBytes, "B", "read in [zrlmpi-src]"},
    Constant{"framing", kFramingBytes, "B", "inferred"},
    Constant{"link", kLink.count() / 1'000'000'000, "Gb/s", "published [cfdoc]"},
    Constant{"latency", whole_nanoseconds(kLatency), "ns", "assumed"},
    Constant{"clock", kClock.count() / 1000, "kHz", "read in [zrlmpi-src]"},
    Constant{"initiation interval", kInitiationInterval, "cycles", "read in [zrlmpi-src]"},
    Constant{"bus, seed", kBusBits, "bit", "[zrlmpi-protocol]"},
    Constant{"bus, mpe2", kSecondBusBits, "bit", "read in [zrlmpi-src]"},
    Constant{"shell's bus", kShellBusBits, "bit", "read in [zrlmpi-src]"},
    Constant{"header cache", kCacheSlots, "slots", "read in [zrlmpi-src]"},
    Constant{"input FIFO", kInputFifoBytes, "B", "read in [zrlmpi-src]"},
    Constant{"shell's headers", kShellHeaders, "headers", "published [cfdk]"},
    Constant{"transport's headers", kTransportHeaders, "headers", "published [cfdk]"},
    Constant{"timer", kTimerCounts, "iterations", "read in [zrlmpi-src]"},
    Constant{"timer, parts per rank", kTimerRankParts, "", "read in [zrlmpi-src]"},
    Constant{"timer, growth", kTimerGrowth, "times", "read in [zrlmpi-src]"},
    Constant{"timer, steps", kTimerSteps, "", "read in [zrlmpi-src]"},
    Constant{"repetitions", kRetries, "", "ours; [zrlmpi-src] has 3"},
    Constant{"word of the role", kRoleWordBits, "bit", "inferred"},
    Constant{"largest static array", kStaticBytes, "B", "read in [zrlmpi-src]"},
    Constant{"datagram to DRAM", whole_nanoseconds(kDramDatagram), "ns", "read in [zrlmpi-src]"},
    Constant{"group of the tree", kGroup, "ranks", "read in [zrlmpi-src]"},
};

}  // namespace offramp::zrlmpi
