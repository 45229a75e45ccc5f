#include "backends/dpu/parameters.hpp"

#include <string>

#include "offramp/kernel/immortal.hpp"

namespace offramp::dpu {
namespace {

Parameter number(ParameterKind kind, std::string_view name, std::string_view unit, double value,
                 double minimum, double maximum, std::string_view source, std::string_view description) {
  return {name, kind, unit, value, minimum, maximum, {}, {}, source, description};
}
Parameter real(std::string_view name, std::string_view unit, double value, double maximum,
               std::string_view source, std::string_view description) {
  return number(ParameterKind::kReal, name, unit, value, 0, maximum, source, description);
}
Parameter rate(std::string_view name, double value, std::string_view source, std::string_view description) {
  return number(ParameterKind::kReal, name, "Gb/s", value, 0.001, 100000, source, description);
}
/// 0: what the card has.
Parameter card_rate(std::string_view name, std::string_view source, std::string_view description) {
  return number(ParameterKind::kReal, name, "Gb/s", 0, 0, 100000, source, description);
}
Parameter whole(std::string_view name, std::string_view unit, double value, double minimum, double maximum,
                std::string_view source, std::string_view description) {
  return number(ParameterKind::kInteger, name, unit, value, minimum, maximum, source, description);
}
Parameter choice(std::string_view name, std::string_view value, std::vector<std::string_view> choices,
                 std::string_view source, std::string_view description) {
  return {name, ParameterKind::kChoice, "", 0, 0, 0, value, std::move(choices), source, description};
}

Time in_units(const Settings& settings, const char* name, double picoseconds) {
  return Time::ps(static_cast<std::int64_t>(settings.real(name) * picoseconds + 0.5));
}
Bandwidth gigabits(const Settings& settings, const char* name) {
  return Bandwidth::bits_per_second(static_cast<std::int64_t>(settings.real(name) * 1e9 + 0.5));
}
void of_card(const Settings& settings, const char* name, Time& value) {
  if (settings.real(name) > 0) value = in_units(settings, name, 1e3);
}
void of_card(const Settings& settings, const char* name, Bandwidth& value) {
  if (settings.real(name) >= 1e-9) value = gigabits(settings, name);
}

CardSpec card_of(const Settings& s) {
  CardSpec card = s.choice("card") == "bf3" ? bluefield3() : bluefield2();
  of_card(s, "pair", card.pair);
  of_card(s, "import", card.import);
  of_card(s, "combine", card.combine);
  of_card(s, "link", card.link);
  of_card(s, "pcie", card.pcie);
  of_card(s, "dram", card.dram);
  of_card(s, "dma_write", card.dma_write);
  card.post = in_units(s, "post", 1e3);
  card.post_per_rank = in_units(s, "post_per_rank", 1e3);
  card.poll = in_units(s, "poll", 1e3);
  card.own_copy = gigabits(s, "own_copy");
  card.core_copy = gigabits(s, "core_copy");
  card.shared_block = in_units(s, "shared_block", 1e3);
  card.shared_copy = gigabits(s, "shared_copy");
  card.single_block = in_units(s, "single_block", 1e3);
  card.single_copy = gigabits(s, "single_copy");
  card.single_copy_from = s.integer("single_copy_from");
  card.pcie_latency = in_units(s, "pcie_latency", 1e3);
  card.local_latency = in_units(s, "local_latency", 1e3);
  card.network_latency = in_units(s, "network_latency", 1e3);
  return card;
}

FailureSpec failure_of(const Settings& s) {
  FailureSpec failure;
  const std::string& kind = s.choice("failure");
  if (kind == "never") failure.kind = Failure::kNever;
  if (kind == "dies") failure.kind = Failure::kDies;
  if (kind == "stalls") failure.kind = Failure::kStalls;
  failure.process = static_cast<int>(s.integer("failure_process"));
  if (failure.kind != Failure::kNever) failure.at = in_units(s, "failure_at", 1e6);
  failure.stall = in_units(s, "failure_stall", 1e6);
  failure.detect = in_units(s, "failure_detect", 1e6);
  return failure;
}

std::vector<Parameter> platform_parameters() {
  return {choice("card", "bf2", {"bf2", "bf3"}, "published: BlueField-2 and -3", "DPU of every host"),
          whole("ranks_per_node", "1", 2, 1, 4096, "assumed: one process per DPU would share nothing",
                "ranks on one host, which lie block by block"),
          whole("dpus_per_node", "1", 1, 1, 16, "read in code: one; several: inferred",
                "DPUs of one host, each with its own PCIe and network link"),
          whole("service_processes", "1", 1, 1, 64, "original document's default; read in code",
                "per DPU; a rank's is its local rank modulo this"),
          whole("reads", "1", 4, 1, 1024, "published: MAX_RECVS of the measured runs",
                "outstanding READs per service process"),
          choice("data_path", "gvmi", {"gvmi", "staging"}, "read in code: both exist",
                 "host to host by lent keys, or through the DPU's memory"),
          choice("delivery", "hosts", {"hosts", "dpu"}, "inferred from the published times",
                 "allgather: blocks reach a node once and hosts copy them, or service processes do all"),
          choice("broadcast", "flat", {"flat", "tree"}, "read in code: flat",
                 "all pull from the root, or along a binomial tree"),
          whole("slice", "B", 65536, 1, 1e9, "assumed", "least part of a reduction for one service process"),
          whole("eager_limit", "B", 65536, 0, 1e9, "design: small sends do not wait",
                "up to here a message waits in the receiver's DPU")};
}

std::vector<Parameter> arm_parameters() {
  return {
      real("pair", "ns", 0, 1e9, "fitted: 2000 (bf2), 1200 (bf3)",
           "a pair of ranks, one direction, on an Arm core; 0: of the card"),
      real("import", "ns", 0, 1e9, "fitted: 28000 (bf2), 17500 (bf3)",
           "memory handles of one arrival, on an Arm core; 0: of the card"),
      card_rate("combine", "inferred: DRAM over three streams; 68 (bf2), 200 (bf3)",
                "reduction on Arm; 0: of the card"),
      card_rate("link", "published: 200 (bf2), 400 (bf3)", "of the network; 0: of the card"),
      card_rate("pcie", "inferred: PCIe x16 less framing; 208 (bf2), 416 (bf3)",
                "host memory to NIC; 0: of the card"),
      card_rate("dram", "published: 204.8 (bf2); inferred: 614.4 (bf3)", "memory of the DPU; 0: of the card"),
      card_rate("dma_write", "published: 120 (bf2); assumed: 240 (bf3)",
                "DPU memory to host memory; 0: of the card")};
}

std::vector<Parameter> host_parameters() {
  return {real("emit", "ns", 300, 1e9, "assumed", "the host's time for the notification of a message"),
          real("post", "ns", 1500, 1e9, "assumed", "the host's time to start a collective"),
          real("post_per_rank", "ns", 66, 1e9, "fitted: 9.9 us at 128 ranks",
               "counts and displacements of allgather and alltoall"),
          real("poll", "ns", 300, 1e9, "assumed", "until the program sees a flag"),
          rate("own_copy", 296, "fitted: 912 us at 1 MiB", "own blocks of a node's ranks together"),
          rate("core_copy", 80, "assumed", "a copy by one core"),
          real("shared_block", "ns", 600, 1e9, "fitted: wait of 81 us for 128 blocks",
               "a block through shared buffers"),
          rate("shared_copy", 1280, "fitted: wait of 273 us at 8 KiB", "shared buffers of a node"),
          real("single_block", "ns", 8060, 1e9, "fitted: wait of 1032 us at 16 KiB",
               "least time of a block by single copy"),
          rate("single_copy", 712, "fitted: 47 us per KiB at 128 ranks", "single copies of a node"),
          whole("single_copy_from", "B", 16384, 1, 1e9, "fitted: step in the published wait",
                "blocks from here on are copied once")};
}

std::vector<Parameter> way_parameters() {
  return {real("pcie_latency", "ns", 1200, 1e9, "assumed: about 4 us to the DPU and back (published, crude)",
               "host to service process, one way"),
          real("local_latency", "ns", 500, 1e9, "assumed", "between service processes of one DPU"),
          real("network_latency", "ns", 1500, 1e9, "assumed: NICs and one switch", "NIC to NIC"),
          real("retry_timeout", "us", 67108.864, 1e9, "InfiniBand: 4.096 us x 2^14",
               "of the reliable transport, per lost notification"),
          whole("retries", "1", 7, 0, 7, "InfiniBand: 3-bit counter", "before the transport gives up")};
}

std::vector<Parameter> failure_parameters() {
  return {choice("failure", "none", {"none", "never", "dies", "stalls"}, "ours",
                 "what one service process does wrong"),
          whole("failure_process", "1", 0, 0, 1e6, "ours", "its global id"),
          real("failure_at", "us", 0, 1e12, "ours", "modelled time of its death or pause"),
          real("failure_stall", "us", 0, 1e12, "ours", "length of its pause"),
          real("failure_detect", "us", 1000, 1e9, "ours",
               "silence after which it is given up; a longer pause counts as death")};
}

}  // namespace

const std::vector<Parameter>& parameters() {
  static const auto& table = immortal([] {
    std::vector<Parameter> all;
    for (const auto& part :
         {platform_parameters(), arm_parameters(), host_parameters(), way_parameters(), failure_parameters()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }());
  return table;
}

DriverSpec driver_of(const Settings& settings, const FaultRates& faults) {
  DriverSpec spec;
  PlatformSpec& platform = spec.platform;
  platform.card = card_of(settings);
  platform.ranks_per_node = static_cast<int>(settings.integer("ranks_per_node"));
  platform.dpus = static_cast<int>(settings.integer("dpus_per_node"));
  platform.processes = static_cast<int>(settings.integer("service_processes"));
  platform.reads = static_cast<int>(settings.integer("reads"));
  platform.path = settings.choice("data_path") == "staging" ? DataPath::kStaging : DataPath::kGvmi;
  platform.host_delivers = settings.choice("delivery") == "hosts";
  platform.tree = settings.choice("broadcast") == "tree";
  platform.slice = settings.integer("slice");
  platform.failure = failure_of(settings);
  spec.emit = in_units(settings, "emit", 1e3);
  spec.eager_limit = settings.integer("eager_limit");
  platform.transport.faults = faults;
  platform.transport.retry_timeout = in_units(settings, "retry_timeout", 1e6);
  platform.transport.retries = static_cast<int>(settings.integer("retries"));
  return spec;
}

std::uint32_t fingerprint_of(const Settings& settings) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  const auto mix = [&hash](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  };
  for (const Parameter& p : parameters()) {
    mix(p.name);
    const std::string name(p.name);
    mix(p.kind == ParameterKind::kChoice ? settings.choice(name) : std::to_string(settings.real(name)));
  }
  return hash;
}

}  // namespace offramp::dpu
