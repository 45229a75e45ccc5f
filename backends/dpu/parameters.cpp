#include "backends/dpu/parameters.hpp"

#include <algorithm>
#include <string>

#include "backends/host/host.hpp"
#include "backends/host/parameters.hpp"
#include "offramp/kernel/immortal.hpp"
#include "simulators/world/deployment.hpp"

namespace offramp::dpu {
namespace {

constexpr Parameter::Range kNanoseconds{0, 1e9};
constexpr Parameter::Range kGigabits{0.001, 100000};

/// A rate whose 0 means that of the card.
Parameter card_rate(std::string_view name, std::string_view source, std::string_view description) {
  return real(name, "Gb/s", 0, {0, kGigabits.maximum}, source, description);
}

void of_card(const Settings& settings, const char* name, Time& value) {
  if (settings.real(name) > 0) value = settings.nanoseconds(name);
}
void of_card(const Settings& settings, const char* name, Bandwidth& value) {
  if (settings.real(name) >= 1e-9) value = settings.gigabits(name);
}

CardSpec card_of(const Settings& s) {
  CardSpec card = s.choice("card") == "bf3" ? bluefield3() : bluefield2();
  of_card(s, "pair", card.pair);
  of_card(s, "import", card.import);
  of_card(s, "combine", card.combine);
  of_card(s, "arm_copy", card.arm_copy);
  of_card(s, "link", card.link);
  of_card(s, "pcie", card.pcie);
  of_card(s, "dram", card.dram);
  of_card(s, "dma_write", card.dma_write);
  card.message_import = s.nanoseconds("message_import");
  card.dma_request = s.nanoseconds("dma_request");
  card.post = s.nanoseconds("post");
  card.post_per_rank = s.nanoseconds("post_per_rank");
  card.poll = s.nanoseconds("poll");
  card.own_copy = s.gigabits("own_copy");
  card.shared_own_copy = s.gigabits("shared_own_copy");
  card.core_copy = s.gigabits("core_copy");
  card.shared_block = s.nanoseconds("shared_block");
  card.shared_copy = s.gigabits("shared_copy");
  card.single_block = s.nanoseconds("single_block");
  card.single_copy = s.gigabits("single_copy");
  card.single_copy_from = s.integer("single_copy_from");
  card.pcie_latency = s.nanoseconds("pcie_latency");
  card.local_latency = s.nanoseconds("local_latency");
  card.network_latency = s.nanoseconds("network_latency");
  card.connect = s.microseconds("connect");
  card.tcp_latency = s.microseconds("tcp_latency");
  return card;
}

FailureSpec failure_of(const Settings& s) {
  FailureSpec failure;
  const std::string& kind = s.choice("failure");
  if (kind == "never") failure.kind = Failure::kNever;
  if (kind == "dies") failure.kind = Failure::kDies;
  if (kind == "stalls") failure.kind = Failure::kStalls;
  failure.process = static_cast<int>(s.integer("failure_process"));
  if (failure.kind != Failure::kNever) failure.at = s.microseconds("failure_at");
  failure.stall = s.microseconds("failure_stall");
  failure.detect = s.microseconds("failure_detect");
  return failure;
}

Setup setup_of(const std::string& word) {
  if (word == "none") return Setup::kNone;
  return word == "all" ? Setup::kAll : Setup::kCommunicators;
}

std::vector<Parameter> platform_parameters() {
  const PlatformSpec spec;
  return {
      choice("card", "bf2", {"bf2", "bf3"}, "published [bluefield]: BlueField-2 and -3",
             "type of DPU in every host"),
      integer("service_processes", "1", spec.processes, {1, 64},
              "read in [dpu-service-src]: its default; the example of [dpu-service] has 8",
              "service processes per DPU; a rank uses that of its local rank modulo this number"),
      integer("reads", "1", spec.reads, {1, 1024}, "published [sc23-logs]: MAX_RECVS of the measured runs",
              "outstanding READs per service process"),
      choice("data_path", spec.path == DataPath::kStaging ? "staging" : "gvmi", {"gvmi", "staging"},
             "gvmi: read in [ucc-offload]; staging: read in [ucc-dpu]",
             "path of data: host to host with lent keys, or through the DPU's memory"),
      choice("delivery", spec.host_delivers ? "hosts" : "dpu", {"hosts", "dpu"},
             "inferred from the times of [sc23-logs]",
             "delivery of allgather: blocks reach a node once and hosts copy them, or service processes "
             "deliver all"),
      choice("broadcast", spec.tree ? "tree" : "flat", {"flat", "tree"}, "read in [ucc-dpu]: flat",
             "algorithm of bcast: all ranks pull from the root, or along a binomial tree"),
      integer("eager_limit", "B", -1, {-1, 1e9},
              "inferred: bytes that an Arm core copies in the extra step of a READ; 4454 (bf2), 6728 (bf3)",
              "largest message that waits in the receiver's DPU; -1: that of the card"),
      choice("within_node", "memory", {"memory", "dpu"},
             "assumed: no MPI library is known to use the DPU for messages that its ranks can copy",
             "messages between ranks of a node: declined, so that the host carries them, or carried by their "
             "DPU"),
      integer("notification_limit", "B", spec.notification_limit, {0, 1e9},
              "assumed: a usual threshold of UCX",
              "largest notification with its payload; the receiver fetches the payload of longer ones"),
      integer("posted_sends", "1", spec.posted_sends, {1, 65536},
              "read in [dpu-service-src]: MAX_POSTED_SENDS",
              "notifications to one peer that may be in flight; others wait")};
}

std::vector<Parameter> setup_parameters() {
  const PlatformSpec spec;
  return {choice("setup", "communicators", {"none", "communicators", "all"},
                 "ours: the modelled time of a run begins after MPI_Init",
                 "setup in modelled time: endpoint caches of communicators that the program creates; all: "
                 "also the ranks' connections and the cache of all ranks"),
          integer("cache_entry", "B", spec.cache_entry, {1, 65536}, "read in [dpu-service-src]: 2264",
                  "size of an entry about a rank that service processes exchange"),
          real("connect", "us", in_microseconds(spec.card.connect), {0, 1e6},
               "assumed: endpoint and queue pair of a reliable connection",
               "time of an Arm core to accept a rank or to create its endpoint; the host needs as long"),
          real("tcp_latency", "us", in_microseconds(spec.card.tcp_latency), {0, 1e6},
               "assumed: the kernels of host and card",
               "one-way latency of the connection that a rank begins with")};
}

std::vector<Parameter> arm_parameters() {
  return {
      real("pair", "ns", 0, kNanoseconds,
           "fitted: 1068 (bf3) to its allgatherv [sc23-logs] and an ialltoall [sc25-odos]; 1740 (bf2), by "
           "the cores' ratio",
           "time of an Arm core for a pair of ranks, in one direction; 0: that of the card"),
      real("import", "ns", 0, kNanoseconds,
           "fitted: 30968 (bf3) to its allgatherv [sc23-logs] and an ialltoall [sc25-odos]; 50474 (bf2), by "
           "the cores' ratio",
           "time of an Arm core for memory handles and sub-operations of one arrival; 0: that of the card"),
      with_plausible(30968,
                     real("message_import", "ns", in_nanoseconds(CardSpec().message_import), kNanoseconds,
                          "assumed: programs reuse their buffers, and the handles are kept; the cost of a "
                          "new buffer is not published; the 30968 of `import` (bf3) is plausible",
                          "time of an Arm core for the memory handles of one long message")),
      card_rate("combine", "inferred: DRAM over three streams; 68 (bf2), 200 (bf3)",
                "rate of reductions on Arm; 0: that of the card"),
      card_rate("arm_copy",
                "assumed: half of the memory's rate, 102.4 (bf2); fitted to [sc25-odos]: 252 (bf3)",
                "rate of copies from a notification into the DPU's memory, on Arm; 0: that of the card"),
      card_rate("link", "published [bluefield]: 200, also of the systems with bf3 (a bf3 is capable of 400)",
                "rate of the network; 0: that of the card"),
      card_rate("pcie", "inferred: PCIe x16 less framing; 208 (bf2), 416 (bf3)",
                "bandwidth from host memory to NIC; 0: that of the card"),
      card_rate("dram", "published [bluefield]: 204.8 (bf2); inferred: 614.4 (bf3)",
                "bandwidth of the DPU's memory; 0: that of the card"),
      card_rate("dma_write", "published [smartnic-bench]: 120 (bf2); assumed: 240 (bf3)",
                "bandwidth from DPU memory to host memory; 0: that of the card"),
      real("dma_request", "ns", in_nanoseconds(CardSpec().dma_request), kNanoseconds,
           "published [smartnic-bench]: 10.2 M/s (bf2)", "least time of a WRITE by the DMA engine")};
}

std::vector<Parameter> host_parameters() {
  const CardSpec card;
  return {
      real("emit", "ns", 300, kNanoseconds, "assumed", "time of the host for the notification of a message"),
      real("post", "ns", in_nanoseconds(card.post), kNanoseconds, "assumed",
           "time of the host to start a collective"),
      real("post_per_rank", "ns", in_nanoseconds(card.post_per_rank), kNanoseconds,
           "fitted to [sc23-logs]: 9.9 us at 128 ranks",
           "time per rank for counts and displacements of allgather and alltoall"),
      real("poll", "ns", in_nanoseconds(card.poll), kNanoseconds, "assumed",
           "time until the program sees a flag"),
      real("own_copy", "Gb/s", in_gigabits(card.own_copy), kGigabits,
           "fitted to [sc23-logs]: 912 us at 1 MiB",
           "bandwidth of copies of own blocks, all ranks of a node together"),
      real("shared_own_copy", "Gb/s", in_gigabits(card.shared_own_copy), kGigabits,
           "fitted to [sc23-logs]: initiation of 28 us at 8 KiB",
           "bandwidth of copies of own blocks into shared buffers: blocks below single_copy_from"),
      real("core_copy", "Gb/s", in_gigabits(card.core_copy), kGigabits, "assumed",
           "bandwidth of a copy by one core"),
      real("shared_block", "ns", in_nanoseconds(card.shared_block), kNanoseconds,
           "fitted to [sc23-logs]: wait of 81 us for 128 blocks", "time of a block through shared buffers"),
      real("shared_copy", "Gb/s", in_gigabits(card.shared_copy), kGigabits,
           "fitted to [sc23-logs]: wait of 273 us at 8 KiB", "bandwidth of a node's shared buffers"),
      real("single_block", "ns", in_nanoseconds(card.single_block), kNanoseconds,
           "fitted to [sc23-logs]: wait of 1032 us at 16 KiB", "least time of a block by single copy"),
      real("single_copy", "Gb/s", in_gigabits(card.single_copy), kGigabits,
           "fitted to [sc23-logs]: 47 us per KiB at 128 ranks", "bandwidth of a node's single copies"),
      integer("single_copy_from", "B", card.single_copy_from, {1, 1e9},
              "fitted to [sc23-logs]: step in the wait", "smallest block that is copied once")};
}

std::vector<Parameter> way_parameters() {
  const CardSpec card;
  const Transport transport;
  return {real("pcie_latency", "ns", in_nanoseconds(card.pcie_latency), kNanoseconds,
               "assumed: about 4 us to the DPU and back (published [exp00], crude)",
               "one-way latency between host and service process"),
          real("local_latency", "ns", in_nanoseconds(card.local_latency), kNanoseconds, "assumed",
               "latency between service processes of one DPU"),
          real("network_latency", "ns", in_nanoseconds(card.network_latency), kNanoseconds,
               "assumed: NICs and one switch", "latency from NIC to NIC"),
          real("retry_timeout", "us", in_microseconds(transport.retry_timeout), {0, 1e9},
               "[infiniband]: 4.096 us x 2^14", "timeout of the reliable transport per lost notification"),
          integer("retries", "1", transport.retries, {0, 7}, "[infiniband]: 3-bit counter",
                  "retransmissions before the transport gives up")};
}

std::vector<Parameter> failure_parameters() {
  const FailureSpec failure;
  return {
      choice("failure", "none", {"none", "never", "dies", "stalls"}, "ours",
             "failure of one service process"),
      integer("failure_process", "1", failure.process, {0, 1e6}, "ours",
              "global id of the failing service process"),
      real("failure_at", "us", in_microseconds(failure.at), {0, 1e12}, "ours",
           "modelled time of its death or pause"),
      real("failure_stall", "us", in_microseconds(failure.stall), {0, 1e12}, "ours", "length of its pause"),
      real("failure_detect", "us", in_microseconds(failure.detect), {0, 1e9}, "ours",
           "silence after which the process is given up; a longer pause counts as death")};
}

/// Scales the copy rates from the measured hosts' memory to that of these hosts.
void use_memory_of(const Settings& host, const MachineLayout& machine, CardSpec& card) {
  Settings measured = Settings::defaults(host_backend().parameters);
  measured.set("processor", {0, "sc23"});
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
  static const auto& table = immortal([] {
    std::vector<Parameter> all;
    for (const auto& part : {platform_parameters(), setup_parameters(), arm_parameters(), host_parameters(),
                             way_parameters(), failure_parameters()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }());
  return table;
}

DriverSpec driver_of(const Settings& settings, const FaultRates& faults, int ranks,
                     const MachineLayout& machine, const Settings* host) {
  DriverSpec spec;
  PlatformSpec& platform = spec.platform;
  platform.ranks = ranks;
  platform.card = card_of(settings);
  if (host != nullptr && machine.ranks_per_node > 1) use_memory_of(*host, machine, platform.card);
  platform.ranks_per_node = machine.ranks_per_node;
  platform.dpus = machine.cards_per_node;
  platform.links = machine.links_per_card;
  platform.processes = static_cast<int>(settings.integer("service_processes"));
  platform.reads = static_cast<int>(settings.integer("reads"));
  platform.path = settings.choice("data_path") == "staging" ? DataPath::kStaging : DataPath::kGvmi;
  platform.host_delivers = settings.choice("delivery") == "hosts";
  platform.tree = settings.choice("broadcast") == "tree";
  platform.notification_limit = settings.integer("notification_limit");
  platform.posted_sends = static_cast<int>(settings.integer("posted_sends"));
  platform.setup = setup_of(settings.choice("setup"));
  platform.cache_entry = settings.integer("cache_entry");
  platform.failure = failure_of(settings);
  spec.emit = settings.nanoseconds("emit");
  spec.eager_limit =
      settings.integer("eager_limit") >= 0 ? settings.integer("eager_limit") : platform.card.eager_limit;
  spec.carries_within_node = settings.choice("within_node") == "dpu";
  platform.transport.faults = faults;
  platform.transport.retry_timeout = settings.microseconds("retry_timeout");
  platform.transport.retries = static_cast<int>(settings.integer("retries"));
  return spec;
}

Deployment deployment(const Settings& settings, const MachineLayout& machine, int ranks) {
  const CardSpec card = card_of(settings);
  return deployment_on_nodes(machine, ranks, "DPU", card.link, machine.links_per_card);
}

std::vector<WithoutEffect> without_effect(const Settings& settings) {
  std::vector<WithoutEffect> found;
  const Setup setup = setup_of(settings.choice("setup"));
  for (const char* name : {"connect", "tcp_latency"}) {
    if (setup != Setup::kAll) found.push_back({name, "has no effect before the clock begins; see setup"});
  }
  if (setup == Setup::kNone) found.push_back({"cache_entry", "has no effect with setup = none"});
  return found;
}

}  // namespace offramp::dpu
