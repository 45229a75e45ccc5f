// Most parameters are parts of a preset: of a NIC, a transport, or a class of processors. Their default in
// the table is 0 or -1, which selects the preset's value; the functions below resolve it. So a user can
// change one value, and the rest follows the preset. Sources are beside the presets and in the rows.
#include "backends/host/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "backends/host/collectives.hpp"
#include "offramp/kernel/immortal.hpp"
#include "offramp/kernel/repair.hpp"
#include "simulators/world/deployment.hpp"

namespace offramp::host {
namespace {

std::vector<Parameter> with_algorithms(std::vector<Parameter> table) {
  for (Parameter& parameter : algorithm_parameters()) table.push_back(std::move(parameter));
  return table;
}

constexpr Bandwidth gigabits(std::int64_t per_second) {
  return Bandwidth::gigabits_per_second(per_second);
}

// The values of each preset, selected by 0 in the table of parameters.
struct Preset {
  std::string_view name;
  Nic nic;
};
// Framing per packet. RoCE v2: preamble and gap 20, Ethernet 18, IP 20, UDP 8, BTH 12, ICRC 4. InfiniBand:
// LRH 8, BTH 12, ICRC 4, VCRC 2, start and end 4.
constexpr std::size_t kRoce = 82;
constexpr std::size_t kInfiniBand = 30;
constexpr std::array kPresets = {
    Preset{"100g", {Time::ns(1000), Time::ns(250), Time::ns(50), gigabits(100), gigabits(208), kRoce}},
    // BlueField-2 as a NIC [bf2-osu]: OSU's bcast between two nodes, which is one message, takes 1.75 us for
    // 8 bytes and 84.18 us for 1 MiB.
    Preset{"bf2", {Time::ns(1370), Time::ns(250), Time::ns(80), gigabits(100), gigabits(208), kInfiniBand}},
    // ConnectX-6 on HDR InfiniBand: 8 bytes take 1.61 us with Open MPI, long messages reach 23.48 GB/s (OSU,
    // two virtual machines [azure-hbv2]), which is 189.2 Gb/s with framing; 215 million messages per second
    // [connectx-6].
    Preset{"200g",
           {Time::ns(1110), Time::ns(250), Time::ps(4650), Bandwidth::bits_per_second(189'200'000'000),
            gigabits(208), kInfiniBand}},
    // BlueField-3 as a NIC [smartns]: 375 Gb/s between two hosts, 382.5 Gb/s with framing.
    Preset{"400g",
           {Time::ns(1110), Time::ns(250), Time::ps(4650), Bandwidth::bits_per_second(382'500'000'000),
            gigabits(416), kRoce}}};

/// Transports of Open MPI: their limits (-1 in the table of parameters), and costs within a node (0 there).
struct Transport {
  std::string_view name;
  EagerLimits limits;
  NodeMessages within_node;
};
// ob1 puts a header of 64 bytes into the buffers of its transports: openib has 12288 bytes, vader 4096. UCX
// uses rendezvous above one segment of its reliable transport, and within a node from
// UCX_RNDV_SEND_NBR_THRESH = 256 KiB on; a blocking send there may complete once it is copied.
//
// Within a node vader's buffers have room for all eager messages with their headers. An element of UCX's
// queue has 128 bytes; the rest of a message is in separate lines, which the receiver fetches, too. vader's
// times are those of two ranks on an idle node, UCX's those of a node with one rank on each of 32 cores
// [hpc-tests].
constexpr Bandwidth kAsAllCopies = Bandwidth::bits_per_second(1);  // replaced by copy_bandwidth
constexpr std::array kTransports = {
    Transport{"ob1", {12288 - 64, 4096 - 64}, {Time::ns(65), Time::ns(50), 4096 - 64, kAsAllCopies}},
    Transport{"ucx", {8192, 256 * 1024 - 1}, {Time::ns(400), Time::ns(250), 92, kAsAllCopies}}};
// Shared memory of MPICH and its descendants on a full node: twice the times of two ranks on an idle one.
// A copy from or to a shared buffer fetches its lines from another core: a rank of a full node that sends and
// receives 4 to 16 KiB at once copies at 3.2 to 4.3 GB/s each way [imb-full-nodes].
constexpr NodeMessages kOfMpich = {Time::ns(130), Time::ns(100), 4096 - 64, gigabits(28)};

/// The memory throughput of a node for all its ranks together. The rates are those of copies, which read,
/// fetch the written line, and write it back: a fraction of the channels' rates.
struct Processor {
  std::string_view name;
  NodeMemory memory;
  int ranks;  // memory scales with the ranks from here on; 0: constant
};
// xeon: AlaSKA and CSD3, 32 ranks on two sockets of six channels each. Allgathers beyond the caches run at 24
// and 22 GB/s, within them at 26 and 45; the caches end between 34 and 68 MB, and beyond 136 MB. epyc: the
// same bytes per channel (16 of 3200 MT/s instead of 12 of 2666 to 2933) and per core (128 instead of 32).
// sc23: the hosts of the dpu backend's measurements, with unpublished processors: 47 us per KiB of an
// allgatherv on 128 ranks are 89 GB/s, the fastest of all.
constexpr std::array kProcessors = {
    Processor{"any", {gigabits(190), gigabits(280), 96 << 20, 0.9, 3.8}, 32},
    Processor{"xeon", {gigabits(190), gigabits(280), 96 << 20, 0.9, 1.1}, 0},
    Processor{"epyc", {gigabits(290), gigabits(1120), 576 << 20, 0.5, 2.5}, 0},
    Processor{"sc23", {gigabits(712), gigabits(712), 96 << 20, 1, 1}, 0}};

auto row_of(const auto& table, std::string_view name) {
  return *std::find_if(table.begin(), table.end(), [&](const auto& row) { return row.name == name; });
}

std::vector<std::string_view> names_of(const auto& table) {
  std::vector<std::string_view> names;
  names.reserve(table.size());
  for (const auto& row : table) names.push_back(row.name);
  return names;
}

/// A parameter whose 0 selects the NIC's value.
Parameter of_nic(std::string_view name, std::string_view unit, double most, std::string_view source,
                 std::string_view description) {
  return real(name, unit, 0, {0, most}, source, description);
}

}  // namespace

// LogGP [loggp]: latency L, overhead o, gap g, gap per byte G. The default is a 100 Gb/s NIC without offload.
// Its values are assumed rather than measured on one machine; users should set their own.
const std::vector<Parameter>& parameters() {
  static const auto& table = immortal(with_algorithms(std::vector<Parameter>{
      choice("nic", kPresets.front().name, names_of(kPresets),
             "100g: assumed; bf2: BlueField-2 [bf2-osu]; 200g: ConnectX-6 [azure-hbv2]; 400g: BlueField-3 "
             "[smartns]",
             "NIC of every node: latency, overhead, gap, bandwidth, pcie, and framing"),
      of_nic(
          "latency", "ns", 1e9,
          "assumed: 1000 (100g), 1110 (400g); fitted: 1370 (bf2) to [bf2-osu], 1110 (200g) to [azure-hbv2]",
          "L: latency from the first bit out to the first bit in; 0: that of the NIC"),
      of_nic("overhead", "ns", 1e9, "assumed: 250 (all)",
             "o: processor time per message, at each end; 0: that of the NIC"),
      of_nic("gap", "ns", 1e9,
             "assumed: 50 (100g), 4.65 (400g); fitted to [sc23-logs]: 80 (bf2); published [connectx-6]: 4.65 "
             "(200g)",
             "g: least time between two messages of one NIC; 0: that of the NIC"),
      of_nic("bandwidth", "Gb/s", 100000,
             "assumed: 100 (100g, bf2); published: 189.2 (200g) [azure-hbv2], 382.5 (400g) [smartns], "
             "187.8 and 375 of them payload",
             "1/G: rate of the link, including the framing of packets; 0: that of the NIC"),
      of_nic("pcie", "Gb/s", 100000, "inferred: PCIe x16 less framing; 208 (100g, bf2, 200g), 416 (400g)",
             "bandwidth between host memory and NIC; 0: that of the NIC"),
      of_nic("process_bandwidth", "Gb/s", 100000, "assumed: no limit of its own",
             "bandwidth limit of one process, per direction; 0: that of the NIC"),
      of_nic("framing", "B", 4096, "[infiniband]: 30 (bf2, 200g); RoCE v2: 82 (100g, 400g)",
             "framing of each packet of 4096 B; 0: that of the NIC"),
      real("fetch", "ns", 550, {0, 1e9},
           "published [pcie-bench]: DMA read of 64 B from a Xeon E5, median 547",
           "latency of the NIC's reads from host memory"),
      integer("inline_limit", "B", 128, {0, 1e9}, "[openmpi]: btl_openib_max_inline_data",
              "largest message that the processor writes into the NIC, which then fetches nothing"),
      real("post", "ns", 30, {0, 1e9}, "assumed", "processor time to post a receive"),
      choice("transport", kTransports.front().name, names_of(kTransports), "[openmpi]: pml ob1 and pml ucx",
             "transport of Open MPI: sets eager_limit and memory_eager_limit"),
      integer("eager_limit", "B", -1, {-1, 1e9},
              "[openmpi]: btl_openib_eager_limit less a header: 12224 (ob1); inferred: 8192 (ucx)",
              "largest eager message; larger ones use rendezvous; -1: that of the transport"),
      real("memory_latency", "ns", 0, {0, 1e9},
           "fitted: 65 (ob1) to half a round trip of 8 bytes, measured: Open MPI 4.1.4, vader: 165 ns; 400 "
           "(ucx) to [hpc-tests]",
           "latency between two ranks of a node; 0: that of the transport, or 130 by MPICH's or HCOLL's "
           "rules"),
      real("memory_overhead", "ns", 0, {0, 1e9},
           "fitted to the times of memory_latency, [hpc-tests]: 50 (ob1), 250 (ucx)",
           "processor time per message within a node, at each end; 0: that of the transport, or 100 by "
           "MPICH's or HCOLL's rules"),
      of_nic("memory_copy_bandwidth", "Gb/s", 100000,
             "fitted to [imb-full-nodes], Sendrecv of 4 to 16 KiB: 28 (MPICH's rules); assumed: as "
             "copy_bandwidth (ob1, ucx)",
             "copy rate of a processor from and to a buffer that two ranks share; 0: that of the library"),
      real("single_copy", "ns", 1700, {0, 1e9},
           "fitted to half a round trip of 4 KiB, measured: Open MPI 4.1.4, vader: 2.39 us",
           "time of the system call that copies from another rank's memory"),
      choice("processor", kProcessors.front().name, names_of(kProcessors),
             "any, xeon: fitted to [hpc-tests]; epyc: inferred from its channels and cores; sc23: fitted to "
             "[sc23-logs], hosts of the dpu's measurements",
             "class of a node's two processors: memory_bandwidth, cache_bandwidth, and cache"),
      of_nic("memory_bandwidth", "Gb/s", 1e6,
             "fitted to [hpc-tests]: 190 (any, xeon), to [sc23-logs]: 712 (sc23); inferred: 290 (epyc)",
             "bandwidth of a node's memory, shared equally by its sockets, for all data that its ranks "
             "receive beyond the caches; 0: that of the processor"),
      of_nic("cache_bandwidth", "Gb/s", 1e6,
             "fitted to [hpc-tests]: 280 (any, xeon); inferred: 1120 (epyc); assumed: 712 (sc23)",
             "bandwidth of the caches; 0: memory_bandwidth if set, else that of the processor"),
      of_nic("cache", "MiB", 1e6,
             "fitted to [hpc-tests]: 96 (any, xeon); inferred: 576 (epyc); assumed: 96 (sc23)",
             "capacity of a node's caches for the buffers of all its ranks; 0: that of the processor"),
      real("memory_detour", "1", 1.5, {1, 10},
           "fitted to [hpc-tests]: allgather of 64 KiB on AlaSKA, through a buffer, and of 256 KiB, in one "
           "copy",
           "traffic of a copy between two ranks through a buffer beyond the caches, relative to a single "
           "copy"),
      integer("memory_eager_limit", "B", -1, {-1, 1e9},
              "[openmpi]: btl_vader_eager_limit less a header: 4032 (ob1); inferred: 262143 (ucx)",
              "largest eager message within a node; larger ones use rendezvous and a single copy; -1: that "
              "of the transport"),
      real("copy_bandwidth", "Gb/s", 80, {0.001, 100000}, "assumed",
           "copy rate of a processor: local copies, and messages from and to buffers"),
      real("combine_bandwidth", "Gb/s", 160, {0.001, 100000},
           "measured: MPI_Reduce_local of doubles beyond the cache, 50 ps per byte",
           "rate of reductions in host software"),
      real("type_block", "ns", 32, {0, 1e6},
           "measured: MPI_Type_indexed of 32 blocks, Open MPI 4.1.4: 24 to make, 4 to pack, 4 to unpack",
           "time per block of a datatype that an algorithm creates and sends"),
      choice("progress", "calls", {"calls", "thread", "hardware"}, "[openmpi]: opal_progress",
             "source of progress: MPI calls that wait or poll, a thread, or the NIC"),
      real("progress_share", "1", 0.5, {0, 0.99}, "assumed: it polls on the program's own processor",
           "share of the processor's time that the thread uses while the program computes"),
      real("retry_timeout", "us", in_microseconds(ReliableTransport{}.retry_timeout), {0, 1e9},
           "[infiniband]: 4.096 us x 2^14",
           "time after which a packet without an acknowledgement is retransmitted"),
      integer("retries", "1", ReliableTransport{}.retries, {0, 7}, "[infiniband]: 3-bit counter",
              "retransmissions of one packet before the connection is given up"),
      integer("segment", "B", 0, {0, 1e9}, "[openmpi]: its fixed decisions do not segment",
              "segment size of trees and segmented rings; 0: no segmentation"),
      integer("han_segment", "B", 65536, {0, 1e9},
              "[openmpi]: coll_han_bcast_segsize, and of reduce, allreduce",
              "segment size of han's pipelined bcast, reduce, and allreduce; 0: no segmentation"),
      real("best_margin", "1", 0.15, {0, 10},
           "design: half of the host's figures for known machines are off by about as much",
           "`best` keeps the library's own choice unless another algorithm makes it longer by this share")}));
  return table;
}

Nic nic_of(const Settings& settings) {
  Nic nic = row_of(kPresets, settings.choice("nic")).nic;
  if (settings.real("latency") > 0) nic.latency = settings.nanoseconds("latency");
  if (settings.real("overhead") > 0) nic.overhead = settings.nanoseconds("overhead");
  if (settings.real("gap") > 0) nic.gap = settings.nanoseconds("gap");
  if (settings.real("bandwidth") >= 1e-9) nic.bandwidth = settings.gigabits("bandwidth");
  if (settings.real("pcie") >= 1e-9) nic.pcie = settings.gigabits("pcie");
  if (settings.real("framing") > 0) nic.framing = static_cast<std::size_t>(settings.real("framing"));
  return nic;
}

std::optional<double> in_force(const Settings& settings, std::string_view parameter) {
  const Nic nic = nic_of(settings);
  if (parameter == "latency") return in_nanoseconds(nic.latency);
  if (parameter == "overhead") return in_nanoseconds(nic.overhead);
  if (parameter == "gap") return in_nanoseconds(nic.gap);
  if (parameter == "bandwidth") return in_gigabits(nic.bandwidth);
  if (parameter == "pcie") return in_gigabits(nic.pcie);
  if (parameter == "framing") return static_cast<double>(nic.framing);
  if (parameter == "memory_latency") return in_nanoseconds(node_messages_of(settings).latency);
  if (parameter == "memory_overhead") return in_nanoseconds(node_messages_of(settings).overhead);
  if (parameter == "memory_copy_bandwidth") return in_gigabits(node_messages_of(settings).copy);
  return std::nullopt;
}

EagerLimits eager_limits_of(const Settings& settings) {
  EagerLimits limits = row_of(kTransports, settings.choice("transport")).limits;
  const auto take = [&](const char* name, std::size_t& limit) {
    if (settings.integer(name) >= 0) limit = static_cast<std::size_t>(settings.integer(name));
  };
  take("eager_limit", limits.network);
  take("memory_eager_limit", limits.memory);
  return limits;
}

NodeMessages node_messages_of(const Settings& settings) {
  const std::string& rules = settings.choice("collectives");
  // HCOLL's shared memory is its own, whatever carries messages.
  const bool is_of_mpich = rules == "hcoll" || (settings.choice("transport") == kTransports.front().name &&
                                                (rules == "mpich" || rules == "node-wise"));
  NodeMessages within =
      is_of_mpich ? kOfMpich : row_of(kTransports, settings.choice("transport")).within_node;
  if (settings.real("memory_latency") > 0) within.latency = settings.nanoseconds("memory_latency");
  if (settings.real("memory_overhead") > 0) within.overhead = settings.nanoseconds("memory_overhead");
  if (settings.real("memory_copy_bandwidth") > 0)
    within.copy = settings.gigabits("memory_copy_bandwidth");
  else if (within.copy.count() == kAsAllCopies.count())
    within.copy = settings.gigabits("copy_bandwidth");
  return within;
}

NodeMemory node_memory_of(const Settings& settings, const MachineLayout& machine) {
  constexpr double kMebi = 1024 * 1024;
  const Processor processor = row_of(kProcessors, settings.choice("processor"));
  NodeMemory memory = processor.memory;
  if (processor.ranks > 0 && machine.ranks_per_node > processor.ranks)
    memory = memory.scaled(static_cast<double>(machine.ranks_per_node) / processor.ranks);
  const bool is_set = settings.real("memory_bandwidth") > 0;
  if (is_set) memory.bandwidth = memory.cached = settings.gigabits("memory_bandwidth");
  if (settings.real("cache_bandwidth") > 0) memory.cached = settings.gigabits("cache_bandwidth");
  if (settings.real("cache") > 0) memory.cache = static_cast<std::size_t>(settings.real("cache") * kMebi);
  return memory;
}

Progress progress_of(const Settings& settings) {
  const std::string& by = settings.choice("progress");
  if (by == "calls") return Progress::kCalls;
  return by == "thread" ? Progress::kThread : Progress::kHardware;
}

Deployment deployment(const Settings& settings, const MachineLayout& machine, int ranks) {
  Deployment deployment =
      deployment_on_nodes(machine, ranks, "NIC", nic_of(settings).bandwidth, machine.links_per_card);
  if (machine.ranks_per_node > 1 && settings.real("memory_bandwidth") <= 0) {
    constexpr double kGigabyte = 8;  // Gb
    const NodeMemory memory = node_memory_of(settings, machine);
    const double rate = in_gigabits(memory.bandwidth) / kGigabyte;
    deployment.text += fmt::format(", memory of {:.0f} GB/s (processor = {}: {:.0f} to {:.0f})", rate,
                                   settings.choice("processor"), rate * memory.least, rate * memory.most);
    const auto add = [&](std::string_view name, Bandwidth value) {
      if (memory.least < memory.most)
        deployment.bands.push_back(
            {name, in_gigabits(value) * memory.least, in_gigabits(value) * memory.most});
    };
    add("memory_bandwidth", memory.bandwidth);
    if (settings.real("cache_bandwidth") <= 0) add("cache_bandwidth", memory.cached);
  }
  deployment.text += ", " + selection_text(settings);
  return deployment;
}

std::vector<WithoutEffect> without_effect(const Settings& settings) {
  std::vector<WithoutEffect> without;
  const auto is_set = [&](const char* name) { return settings.real(name) > 0; };
  if (is_set("latency") && is_set("overhead") && is_set("gap") && is_set("bandwidth") && is_set("pcie") &&
      is_set("framing"))
    without.push_back({"nic", "has no effect: latency, overhead, gap, bandwidth, pcie and framing are set"});
  if (settings.integer("eager_limit") >= 0 && settings.integer("memory_eager_limit") >= 0 &&
      is_set("memory_latency") && is_set("memory_overhead") && is_set("memory_copy_bandwidth"))
    without.push_back({"transport",
                       "has no effect: eager_limit, memory_eager_limit, memory_latency, memory_overhead and "
                       "memory_copy_bandwidth are set"});
  if (is_set("memory_bandwidth") && is_set("cache_bandwidth") && is_set("cache"))
    without.push_back({"processor", "has no effect: memory_bandwidth, cache_bandwidth and cache are set"});
  if (progress_of(settings) != Progress::kThread)
    without.push_back({"progress_share", "has no effect: no thread makes progress (progress = thread)"});
  return without;
}

}  // namespace offramp::host
