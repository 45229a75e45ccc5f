// The platform: hosts with one or more DPUs, service processes on the DPU's Arm cores, and their costs.
#pragma once

#include <cstdint>

#include "offramp/kernel/repair.hpp"
#include "offramp/kernel/time.hpp"
#include "simulators/dpu_protocol/placement.hpp"

namespace offramp::dpu {

/// The route of data to another host. kGvmi: the NIC reads remote host memory into local host memory with
/// keys that the DPUs have from their hosts. kStaging: through DPU memory.
enum class DataPath : std::uint8_t { kGvmi, kStaging };

/// The failure of a service process. kNever: does not start. kDies: stops responding. kStalls: pauses.
enum class Failure : std::uint8_t { kNone, kNever, kDies, kStalls };

/// Decimal megabytes.
constexpr Bandwidth megabytes_per_second(std::int64_t value) {
  return Bandwidth::bits_per_second(value * 8'000'000);
}

/// Costs of a card and its host. The defaults are for BlueField-2 (8 Cortex-A72, PCIe 4, 200 Gb/s). The
/// backend's parameters document the sources.
struct CardSpec {
  // Arm cores: a service process does one thing at a time. pair: per pair of ranks and direction, five steps:
  // send RTS, receive RTS, READ, ACK, receive ACK.
  Time pair = Time::ns(1740);
  Time import = Time::ns(50474);  // per arrival of a rank: import memory handles, create sub-operations
  Time message_import;            // per long message with unknown buffers
  Bandwidth combine = megabytes_per_second(8'500);    // reduction on Arm
  Bandwidth arm_copy = megabytes_per_second(12'800);  // the payload of a notification into the DPU's memory
  // Largest message sent as such a payload. A READ costs the receiver's core one step more than a payload
  // copied by it; this is the size that it copies in one step.
  std::int64_t eager_limit = 4454;
  // Host. post: emitting a notification. post_per_rank: counts and displacements of a vector collective.
  // poll: until the program sees a flag in its memory.
  Time post = Time::ns(1500);
  Time post_per_rank = Time::ns(66);
  Time poll = Time::ns(300);
  Bandwidth own_copy = megabytes_per_second(37'000);  // a rank's own block, all ranks of a node together
  Bandwidth shared_own_copy = megabytes_per_second(14'500);  // own blocks, into shared buffers
  Bandwidth core_copy = megabytes_per_second(10'000);        // own blocks, by one core
  // Blocks within a node, delivered by hosts: small ones through shared buffers, larger ones by single copy.
  Time shared_block = Time::ns(600);
  Bandwidth shared_copy = megabytes_per_second(160'000);
  Time single_block = Time::ns(8060);
  Bandwidth single_copy = megabytes_per_second(89'000);
  std::int64_t single_copy_from = 16384;  // bytes
  // Latencies and bandwidths.
  Time pcie_latency = Time::ns(1200);     // host memory to service process, without software
  Time local_latency = Time::ns(500);     // between service processes of one DPU, and from NIC to process
  Time network_latency = Time::ns(1500);  // NIC to NIC, through the switch
  Bandwidth link = Bandwidth::gigabits_per_second(200);
  Bandwidth pcie = megabytes_per_second(26'000);       // host memory to NIC
  Bandwidth dram = megabytes_per_second(25'600);       // of the DPU
  Bandwidth dma_write = megabytes_per_second(15'000);  // DPU memory to host memory
  Time dma_request = Time::ps(98'039);                 // minimum time of a WRITE by the DMA engine: 10.2 M/s

  // Set-up. connect: an Arm core accepts a rank or creates its endpoint. tcp_latency: one way between the
  // kernels of host and card.
  Time connect = Time::us(200);
  Time tcp_latency = Time::us(30);

  /// One of the five steps of a pair, see `pair`.
  [[nodiscard]] Time step() const { return Time::ps(pair.count() / 5); }
};

/// The defaults of CardSpec.
CardSpec bluefield2();
/// 16 Cortex-A78, PCIe 5, 400 Gb/s.
CardSpec bluefield3();

/// A failure of one service process.
struct FailureSpec {
  Failure kind = Failure::kNone;
  int process = 0;  // global id
  Time at;
  Time stall;                    // duration of kStalls
  Time detect = Time::us(1000);  // silence after which partners consider the process failed
};

/// Faults of notifications on the network, and the retries of the reliable transport.
struct Transport {
  FaultRates faults;
  Time retry_timeout = ReliableTransport{}.retry_timeout;
  int retries = ReliableTransport{}.retries;
};

/// The parts of the set-up that cost modelled time. kCommunicators: endpoint caches of communicators that the
/// program creates. kAll: also the connections of ranks, and the cache of all ranks.
enum class Setup : std::uint8_t { kNone, kCommunicators, kAll };

/// All settings of the platform. Plain values, for any thread.
struct PlatformSpec {
  CardSpec card;
  Transport transport;
  int ranks = 1;  // in the job; all its service processes know each other
  int ranks_per_node = 1;
  int dpus = 1;       // per host
  int links = 1;      // per DPU, each with its own network port
  int processes = 1;  // service processes per DPU
  int reads = 4;      // outstanding READs per service process
  DataPath path = DataPath::kGvmi;
  Setup setup = Setup::kCommunicators;
  std::int64_t cache_entry = 2264;         // bytes per rank in cache messages
  std::int64_t notification_limit = 8192;  // largest payload that travels with its header
  int posted_sends = 8;                    // unsent notifications per peer
  bool host_delivers = true;               // allgather: blocks reach a node once, and hosts copy them
  bool tree = false;  // broadcast along a binomial tree instead of directly from the root
  FailureSpec failure;

  /// A round trip takes the network latency twice.
  [[nodiscard]] ReliableTransport reliable() const {
    return {transport.retry_timeout, card.network_latency * 2, transport.retries};
  }
};

inline Placement placement_of(const PlatformSpec& spec) {
  return {spec.ranks_per_node, spec.processes, spec.dpus, spec.links};
}

}  // namespace offramp::dpu
