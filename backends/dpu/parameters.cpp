// The card's values are set first, and the rows then overwrite those that the user set. Rates of copies
// within a node were measured on the hosts of [sc23-logs]. use_memory_of() scales them by the ratio of this
// node's memory rates to the rates of host.processor = sc23.
#include "backends/dpu/parameters.hpp"

#include <algorithm>

#include "backends/host/host.hpp"
#include "backends/host/parameters.hpp"
#include "offramp/kernel/immortal.hpp"
#include "offramp/model/parameter_rows.hpp"
#include "simulators/world/deployment.hpp"

namespace offramp::dpu {
namespace {

constexpr Parameter::Range kNanoseconds{0, 1e9};
constexpr Parameter::Range kGigabits{0.001, 100000};
constexpr Parameter::Range kOfCard{0, kGigabits.maximum};  // rates; 0 selects the card's

void describe_platform(ParameterRows& rows, DriverSpec& spec) {
  PlatformSpec& platform = spec.platform;
  rows.add(choice("card", "bf2", {"bf2", "bf3"}, "published [bluefield]: BlueField-2 and -3",
                  "type of DPU in every host"));
  rows(platform.processes, "service_processes", "1", {1, 64},
       "read in [dpu-service-src]: its default; the example of [dpu-service] has 8",
       "service processes per DPU; a rank uses that of its local rank modulo this number");
  rows(platform.reads, "reads", "1", {1, 1024}, "published [sc23-logs]: MAX_RECVS of the measured runs",
       "outstanding READs per service process");
  rows.choice<DataPath>(platform.path, "data_path",
                        {{"gvmi", DataPath::kGvmi}, {"staging", DataPath::kStaging}},
                        "gvmi: read in [ucc-offload]; staging: read in [ucc-dpu]",
                        "path of data: host to host with lent keys, or through the DPU's memory");
  rows.choice<bool>(
      platform.host_delivers, "delivery", {{"hosts", true}, {"dpu", false}},
      "inferred from the times of [sc23-logs]",
      "delivery of allgather: blocks reach a node once and hosts copy them, or service processes "
      "deliver all");
  rows.choice<bool>(platform.tree, "broadcast", {{"flat", false}, {"tree", true}}, "read in [ucc-dpu]: flat",
                    "algorithm of bcast: all ranks pull from the root, or along a binomial tree");
  rows.add(
      integer("eager_limit", "B", -1, {-1, 1e9},
              "inferred: bytes that an Arm core copies in the extra step of a READ; 4454 (bf2), 6728 (bf3)",
              "largest message that waits in the receiver's DPU; -1: that of the card"));
  rows.choice<bool>(
      spec.carries_within_node, "within_node", {{"memory", false}, {"dpu", true}},
      "assumed: no MPI library is known to use the DPU for messages that its ranks can copy",
      "messages between ranks of a node: declined, so that the host carries them, or carried by their DPU");
  rows(platform.notification_limit, "notification_limit", "B", {0, 1e9}, "assumed: a usual threshold of UCX",
       "largest notification with its payload; the receiver fetches the payload of longer ones");
  rows(platform.posted_sends, "posted_sends", "1", {1, 65536}, "read in [dpu-service-src]: MAX_POSTED_SENDS",
       "notifications to one peer that may be in flight; others wait");
}

void describe_setup(ParameterRows& rows, PlatformSpec& platform) {
  rows.choice<Setup>(
      platform.setup, "setup",
      {{"none", Setup::kNone}, {"communicators", Setup::kCommunicators}, {"all", Setup::kAll}},
      "ours: the modelled time of a run begins after MPI_Init",
      "setup in modelled time: endpoint caches of communicators that the program creates; all: "
      "also the ranks' connections and the cache of all ranks");
  rows(platform.cache_entry, "cache_entry", "B", {1, 65536}, "read in [dpu-service-src]: 2264",
       "size of an entry about a rank that service processes exchange");
  rows(platform.card.connect, "connect", "us", {0, 1e6},
       "assumed: endpoint and queue pair of a reliable connection",
       "time of an Arm core to accept a rank or to create its endpoint; the host needs as long");
  rows(platform.card.tcp_latency, "tcp_latency", "us", {0, 1e6}, "assumed: the kernels of host and card",
       "one-way latency of the connection that a rank begins with");
}

void describe_arm(ParameterRows& rows, CardSpec& card) {
  rows.preset(card.pair, "pair", "ns", kNanoseconds,
              "fitted: 1068 (bf3) to its allgatherv [sc23-logs] and an ialltoall [sc25-odos]; 1740 (bf2), by "
              "the cores' ratio",
              "time of an Arm core for a pair of ranks, in one direction; 0: that of the card");
  rows.preset(
      card.import, "import", "ns", kNanoseconds,
      "fitted: 30968 (bf3) to its allgatherv [sc23-logs] and an ialltoall [sc25-odos]; 50474 (bf2), by "
      "the cores' ratio",
      "time of an Arm core for memory handles and sub-operations of one arrival; 0: that of the card");
  rows(card.message_import, "message_import", "ns", kNanoseconds,
       "assumed: programs reuse their buffers, and the handles are kept; the cost of a "
       "new buffer is not published; the 30968 of `import` (bf3) is plausible",
       "time of an Arm core for the memory handles of one long message");
  rows.plausible(30968);
  rows.preset(card.combine, "combine", "Gb/s", kOfCard,
              "inferred: DRAM over three streams; 68 (bf2), 200 (bf3)",
              "rate of reductions on Arm; 0: that of the card");
  rows.preset(card.arm_copy, "arm_copy", "Gb/s", kOfCard,
              "assumed: half of the memory's rate, 102.4 (bf2); fitted to [sc25-odos]: 252 (bf3)",
              "rate of copies from a notification into the DPU's memory, on Arm; 0: that of the card");
  rows.preset(card.link, "link", "Gb/s", kOfCard,
              "published [bluefield]: 200, also of the systems with bf3 (a bf3 is capable of 400)",
              "rate of the network; 0: that of the card");
  rows.preset(card.pcie, "pcie", "Gb/s", kOfCard, "inferred: PCIe x16 less framing; 208 (bf2), 416 (bf3)",
              "bandwidth from host memory to NIC; 0: that of the card");
  rows.preset(card.dram, "dram", "Gb/s", kOfCard, "published [bluefield]: 204.8 (bf2); inferred: 614.4 (bf3)",
              "bandwidth of the DPU's memory; 0: that of the card");
  rows.preset(card.dma_write, "dma_write", "Gb/s", kOfCard,
              "published [smartnic-bench]: 120 (bf2); assumed: 240 (bf3)",
              "bandwidth from DPU memory to host memory; 0: that of the card");
  rows(card.dma_request, "dma_request", "ns", kNanoseconds, "published [smartnic-bench]: 10.2 M/s (bf2)",
       "least time of a WRITE by the DMA engine");
}

void describe_host(ParameterRows& rows, DriverSpec& spec) {
  CardSpec& card = spec.platform.card;
  rows(spec.emit, "emit", "ns", kNanoseconds, "assumed",
       "time of the host for the notification of a message");
  rows(card.post, "post", "ns", kNanoseconds, "assumed", "time of the host to start a collective");
  rows(card.post_per_rank, "post_per_rank", "ns", kNanoseconds, "fitted to [sc23-logs]: 9.9 us at 128 ranks",
       "time per rank for counts and displacements of allgather and alltoall");
  rows(card.poll, "poll", "ns", kNanoseconds, "assumed", "time until the program sees a flag");
  rows(card.own_copy, "own_copy", "Gb/s", kGigabits, "fitted to [sc23-logs]: 912 us at 1 MiB",
       "bandwidth of copies of own blocks, all ranks of a node together");
  rows(card.shared_own_copy, "shared_own_copy", "Gb/s", kGigabits,
       "fitted to [sc23-logs]: initiation of 28 us at 8 KiB",
       "bandwidth of copies of own blocks into shared buffers: blocks below single_copy_from");
  rows(card.core_copy, "core_copy", "Gb/s", kGigabits, "assumed", "bandwidth of a copy by one core");
  rows(card.shared_block, "shared_block", "ns", kNanoseconds,
       "fitted to [sc23-logs]: wait of 81 us for 128 blocks", "time of a block through shared buffers");
  rows(card.shared_copy, "shared_copy", "Gb/s", kGigabits, "fitted to [sc23-logs]: wait of 273 us at 8 KiB",
       "bandwidth of a node's shared buffers");
  rows(card.single_block, "single_block", "ns", kNanoseconds,
       "fitted to [sc23-logs]: wait of 1032 us at 16 KiB", "least time of a block by single copy");
  rows(card.single_copy, "single_copy", "Gb/s", kGigabits,
       "fitted to [sc23-logs]: 47 us per KiB at 128 ranks", "bandwidth of a node's single copies");
  rows(card.single_copy_from, "single_copy_from", "B", {1, 1e9}, "fitted to [sc23-logs]: step in the wait",
       "smallest block that is copied once");
}

void describe_network(ParameterRows& rows, PlatformSpec& platform) {
  CardSpec& card = platform.card;
  rows(card.pcie_latency, "pcie_latency", "ns", kNanoseconds,
       "assumed: about 4 us to the DPU and back (published [exp00], crude)",
       "one-way latency between host and service process");
  rows(card.local_latency, "local_latency", "ns", kNanoseconds, "assumed",
       "latency between service processes of one DPU");
  rows(card.network_latency, "network_latency", "ns", kNanoseconds, "assumed: NICs and one switch",
       "latency from NIC to NIC");
  rows(platform.transport.retry_timeout, "retry_timeout", "us", {0, 1e9}, "[infiniband]: 4.096 us x 2^14",
       "timeout of the reliable transport per lost notification");
  rows(platform.transport.retries, "retries", "1", {0, 7}, "[infiniband]: 3-bit counter",
       "retransmissions before the transport gives up");
}

void describe_failure(ParameterRows& rows, FailureSpec& failure) {
  rows.choice<Failure>(failure.kind, "failure",
                       {{"none", Failure::kNone},
                        {"never", Failure::kNever},
                        {"dies", Failure::kDies},
                        {"stalls", Failure::kStalls}},
                       "ours", "failure of one service process");
  rows(failure.process, "failure_process", "1", {0, 1e6}, "ours", "global id of the failing service process");
  rows(failure.at, "failure_at", "us", {0, 1e12}, "ours", "modelled time of its death or pause");
  rows(failure.stall, "failure_stall", "us", {0, 1e12}, "ours", "length of its pause");
  rows(failure.detect, "failure_detect", "us", {0, 1e9}, "ours",
       "silence after which the process is given up; a longer pause counts as death");
}

void describe(ParameterRows& rows, DriverSpec& spec) {
  describe_platform(rows, spec);
  describe_setup(rows, spec.platform);
  describe_arm(rows, spec.platform.card);
  describe_host(rows, spec);
  describe_network(rows, spec.platform);
  describe_failure(rows, spec.platform.failure);
}

/// Scales the copy rates from the measured hosts' memory to that of these hosts.
void use_memory_of(const Settings& host, const MachineLayout& machine, CardSpec& card) {
  Settings measured = Settings::defaults(host_backend().parameters);
  measured.set("processor", {0, "sc23"});
  // The measured hosts.
  const host::NodeMemory there = host::node_memory_of(measured, machine);
  const host::NodeMemory here = host::node_memory_of(host, machine);
  const auto scale = [](Bandwidth& rate, Bandwidth now, Bandwidth then) {
    const double share = static_cast<double>(now.count()) / static_cast<double>(then.count());
    rate = Bandwidth::bits_per_second(
        std::max<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(rate.count()) * share), 1));
  };
  scale(card.shared_copy, here.cached, there.cached);
  scale(card.single_copy, here.bandwidth, there.bandwidth);
}

}  // namespace

const std::vector<Parameter>& parameters() {
  static const auto& table = immortal(rows_of<DriverSpec>(describe));
  return table;
}

DriverSpec driver_of(const Settings& settings, const FaultRates& faults, int ranks,
                     const MachineLayout& machine, const Settings* host) {
  DriverSpec spec;
  PlatformSpec& platform = spec.platform;
  platform.card = settings.choice("card") == "bf3" ? bluefield3() : bluefield2();
  ParameterRows rows(settings);
  describe(rows, spec);
  platform.ranks = ranks;
  // With one rank per node, no copies occur within a node.
  if (host != nullptr && machine.ranks_per_node > 1) use_memory_of(*host, machine, platform.card);
  platform.ranks_per_node = machine.ranks_per_node;
  platform.dpus = machine.cards_per_node;
  platform.links = machine.links_per_card;
  // A process that never starts has failed from the beginning.
  if (platform.failure.kind == Failure::kNever) platform.failure.at = {};
  spec.eager_limit =
      settings.integer("eager_limit") >= 0 ? settings.integer("eager_limit") : platform.card.eager_limit;
  platform.transport.faults = faults;
  return spec;
}

Deployment deployment(const Settings& settings, const MachineLayout& machine, int ranks) {
  const Bandwidth link = driver_of(settings, {}, ranks, machine).platform.card.link;
  return deployment_on_nodes(machine, ranks, "DPU", link, machine.links_per_card);
}

std::vector<WithoutEffect> without_effect(const Settings& settings) {
  std::vector<WithoutEffect> found;
  // The set-up does not depend on the number of ranks.
  const Setup setup = driver_of(settings, {}, 1, {}).platform.setup;
  for (const char* name : {"connect", "tcp_latency"}) {
    if (setup != Setup::kAll) found.push_back({name, "has no effect before the clock begins; see setup"});
  }
  if (setup == Setup::kNone) found.push_back({"cache_entry", "has no effect with setup = none"});
  return found;
}

}  // namespace offramp::dpu
