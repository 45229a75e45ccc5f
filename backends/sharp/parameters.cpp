#include "backends/sharp/parameters.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "backends/host/host.hpp"
#include "backends/host/parameters.hpp"
#include "offramp/kernel/immortal.hpp"
#include "simulators/world/deployment.hpp"

namespace offramp::sharp {
namespace {

/// The values of a preset, selected by 0 in the table of parameters.
struct Preset {
  std::string_view name;
  Generation generation;
  Bandwidth link;
  Time latency;
  Time call;
  std::size_t payload;
  std::size_t header;
  int outstanding;
  std::size_t low_latency_limit;  // 0: outstanding * payload
  Bandwidth engine;
  Time engine_latency;
  std::size_t stream_from;
  Time time_out;
};
constexpr std::array kPresets = {
    Preset{"quantum", Generation::kQuantum, Bandwidth::gigabits_per_second(100), Time::ns(1000),
           Time::ns(450), 1024, 60, 8, 0, Bandwidth::gigabits_per_second(200), Time::ns(200), 16384, Time()},
    Preset{"switch_ib2", Generation::kSwitchIb2, Bandwidth::gigabits_per_second(100), Time::ns(1000), Time(),
           256, 60, 8, 4096, Bandwidth::gigabits_per_second(100), Time::ns(200), 0, Time()},
    Preset{"slingshot", Generation::kSlingshot, Bandwidth::gigabits_per_second(200), Time::ns(1500), Time(),
           32, 17, 8, 32, Bandwidth::gigabits_per_second(200), Time::ns(200), 0, Time::ms(32)}};

const Preset& preset_of(const Settings& settings) {
  const std::string& name = settings.choice("preset");
  return *std::find_if(kPresets.begin(), kPresets.end(), [&](const Preset& p) { return p.name == name; });
}

/// A parameter whose 0 selects the preset's value.
Parameter of_preset(std::string_view name, std::string_view unit, double most, std::string_view source,
                    std::string_view description) {
  return real(name, unit, 0, {0, most}, source, description);
}

std::size_t bytes_of(const Settings& settings, const char* name) {
  return static_cast<std::size_t>(settings.real(name));
}

}  // namespace

const std::vector<Parameter>& parameters() {
  static const auto& table = immortal(std::vector<Parameter>{
      choice("preset", kPresets[0].name, {kPresets[0].name, kPresets[1].name, kPresets[2].name},
             "quantum, switch_ib2: [sharp-docs]; slingshot: read in [libfabric], its latencies composed",
             "generation of switches: NVIDIA's of two generations, or HPE Slingshot"),
      of_preset("link", "Gb/s", 100000,
                "inferred from [sharp-docs], the streaming table: 100 (quantum); EDR: 100 (switch_ib2); "
                "assumed: 200 (slingshot)",
                "rate of an adapter, per direction; 0: that of the preset"),
      of_preset("latency", "ns", 1e9, "assumed: 1000, as host.nic 100g; 1500 (slingshot)",
                "latency from memory to memory over one switch; 0: that of the preset"),
      of_preset("call", "ns", 1e9,
                "fitted to [ucc-sharp]: 450 (quantum); assumed: none (switch_ib2, slingshot)",
                "time of the collective library before the first packet; 0: that of the preset"),
      real("overhead", "ns", 250, {0, 1e9}, "assumed, as host.overhead", "processor time to detect a result"),
      real("post", "ns", 850, {0, 1e9}, "fitted to [ucc-sharp]: 128 KiB in packets of 1 KiB",
           "processor time for each low-latency packet"),
      real("fetch", "ns", 550, {0, 1e9},
           "published [pcie-bench]: DMA read of 64 B from a Xeon E5, median 547",
           "time until the adapter has data that is not in the work request"),
      integer("inline_limit", "B", 128, {0, 1e9}, "assumed, as host.inline_limit",
              "most data that the work request contains"),
      of_preset("payload", "B", 65536,
                "[sharp-docs]: 256 (switch_ib2), 1024 (quantum); read in [libfabric]: 32 (slingshot)",
                "payload of a low-latency packet and of an outstanding transaction; 0: that of the preset"),
      of_preset(
          "outstanding", "1", 65536, "assumed: 8; read in [libfabric]: 8 (slingshot)",
          "packets of a communicator that may wait for their result at each member; 0: that of the preset"),
      of_preset("low_latency_limit", "B", 1e9,
                "[sharp-docs]: outstanding times payload (quantum); 4096 (switch_ib2), the largest in its "
                "published runs; read in [libfabric]: 32 (slingshot)",
                "largest low-latency operation; 0: that of the preset"),
      of_preset("engine", "Gb/s", 100000,
                "assumed: a port of the switch, 200 (quantum, slingshot), 100 (switch_ib2)",
                "rate of the port of a switch's aggregation node; 0: that of the preset"),
      of_preset("engine_latency", "ns", 1e9,
                "fitted to [sharp-2016]: 200 (switch_ib2); assumed: 200 (quantum, slingshot)",
                "latency of an aggregation node after the last operand; 0: that of the preset"),
      of_preset(
          "header", "B", 4096,
          "assumed: 60, InfiniBand's 30 and another 30 of the protocol; read in [libfabric]: 17 (slingshot)",
          "framing of a low-latency packet; 0: that of the preset"),
      flag("multicast", true, "published [sharp-2017]: a result by UD multicast",
           "the switches copy one result packet; otherwise each input gets its own packet"),
      flag("reproducible", false, "assumed: [sharp-docs] names the mode but not its cost",
           "an aggregation node starts to add when it has all operands; slingshot: REPSUM, one double"),
      flag("streaming", true, "[sharp-docs]: SHARP_COLL_ENABLE_SAT, which its published runs set",
           "long operations are streamed (quantum)"),
      of_preset("stream_from", "B", 1e9, "[sharp-docs]: SHARP_COLL_SAT_THRESHOLD, 16384 (quantum)",
                "smallest streamed operation; 0: that of the preset"),
      real("stream_share", "1", 0.95, {0.01, 1}, "published [sharp-2020]: about 95 % of the network",
           "share of the link for the payload of a stream"),
      real("stream_start", "ns", 3000, {0, 1e9}, "fitted to [sharp-docs]: 64 KiB on 128 nodes",
           "time to lock the tree and to set up a stream"),
      real("stream_latency", "ns", 300, {0, 1e9}, "assumed", "latency of a switch that reduces a stream"),
      integer("trees", "1", 126, {1, 1e6}, "[sharp-docs]: up to 126, one for each root switch",
              "root switches that communicators are spread over; 1: all use one"),
      integer("transactions", "1", 2048, {1, 1e9}, "assumed",
              "outstanding transactions of a tree, for all jobs"),
      real("job_share", "%", 20, {0.1, 100}, "[sharp-docs]: per_prio_default_quota, 20",
           "share of a tree's transactions for one job; further communicators take turns"),
      real("time_out", "ms", -1, {-1, 1e6}, "read in [libfabric]: 32 (slingshot); no other preset has one",
           "time after which a node forwards a partial result; 0: never; -1: that of the preset"),
      integer("least_ranks", "1", 2, {1, 1e6}, "assumed: 2; HCOLL takes 4 nodes [sharp-docs]",
              "fewest ranks of an operation in the switches; the host carries smaller ones"),
      integer("node_radix", "1", 4, {2, 1024}, "assumed: 4, of the trees of UCC",
              "radix of the tree that combines the ranks of a node first")});
  return table;
}

Driver driver_of(const Settings& settings) {
  const Preset& preset = preset_of(settings);
  const auto is_set = [&](const char* name) { return settings.real(name) > 0; };
  Driver driver;
  driver.generation = preset.generation;
  driver.call = is_set("call") ? settings.nanoseconds("call") : preset.call;
  driver.overhead = settings.nanoseconds("overhead");
  driver.least_ranks = static_cast<int>(settings.integer("least_ranks"));
  driver.node_radix = static_cast<int>(settings.integer("node_radix"));

  Spec& spec = driver.spec;
  const auto rate = [&](const char* name, Bandwidth own) {
    return settings.real(name) >= 1e-9 ? settings.gigabits(name) : own;
  };
  spec.link = rate("link", preset.link);
  spec.latency = is_set("latency") ? settings.nanoseconds("latency") : preset.latency;
  spec.post = settings.nanoseconds("post");
  spec.fetch = settings.nanoseconds("fetch");
  spec.inline_limit = bytes_of(settings, "inline_limit");
  spec.payload = settings.real("payload") >= 1 ? bytes_of(settings, "payload") : preset.payload;
  spec.header = settings.real("header") >= 1 ? bytes_of(settings, "header") : preset.header;
  spec.outstanding =
      settings.real("outstanding") >= 1 ? static_cast<int>(settings.real("outstanding")) : preset.outstanding;
  spec.engine = rate("engine", preset.engine);
  spec.engine_latency =
      is_set("engine_latency") ? settings.nanoseconds("engine_latency") : preset.engine_latency;
  spec.multicast = settings.flag("multicast");
  spec.reproducible = settings.flag("reproducible");
  spec.arms = preset.generation == Generation::kSlingshot;
  spec.time_out = settings.real("time_out") >= 0 ? settings.milliseconds("time_out") : preset.time_out;
  const double stream = static_cast<double>(spec.link.count()) * settings.real("stream_share");
  spec.stream = Bandwidth::bits_per_second(std::max<std::int64_t>(static_cast<std::int64_t>(stream), 1));
  spec.stream_latency = settings.nanoseconds("stream_latency");
  spec.stream_start = settings.nanoseconds("stream_start");
  spec.trees = static_cast<int>(settings.integer("trees"));
  const double share =
      static_cast<double>(settings.integer("transactions")) * settings.real("job_share") / 100;
  spec.reserved_groups = static_cast<int>(std::min(share / spec.outstanding, 1e9));

  driver.low_latency_limit = is_set("low_latency_limit") ? bytes_of(settings, "low_latency_limit")
                             : preset.low_latency_limit > 0
                                 ? preset.low_latency_limit
                                 : static_cast<std::size_t>(spec.outstanding) * spec.payload;
  const bool streams = settings.flag("streaming") && preset.stream_from > 0;
  driver.stream_from = !streams                            ? 0
                       : settings.real("stream_from") >= 1 ? bytes_of(settings, "stream_from")
                                                           : preset.stream_from;
  return driver;
}

NodeCosts node_costs_of(const BackendContext& context) {
  static const Settings& defaults = immortal(Settings::defaults(host_backend().parameters));
  const Settings& settings = context.host != nullptr ? *context.host : defaults;
  const host::NodeMessages messages = host::node_messages_of(settings);
  return {messages.latency, messages.overhead, settings.gigabits("copy_bandwidth"),
          settings.gigabits("combine_bandwidth"), host::node_memory_of(settings, context.machine).bandwidth};
}

std::optional<double> in_force(const Settings& settings, std::string_view parameter) {
  const Driver driver = driver_of(settings);
  const Spec& spec = driver.spec;
  if (parameter == "link") return in_gigabits(spec.link);
  if (parameter == "latency") return in_nanoseconds(spec.latency);
  if (parameter == "call") return in_nanoseconds(driver.call);
  if (parameter == "payload") return static_cast<double>(spec.payload);
  if (parameter == "outstanding") return spec.outstanding;
  if (parameter == "low_latency_limit") return static_cast<double>(driver.low_latency_limit);
  if (parameter == "engine") return in_gigabits(spec.engine);
  if (parameter == "engine_latency") return in_nanoseconds(spec.engine_latency);
  if (parameter == "header") return static_cast<double>(spec.header);
  if (parameter == "stream_from") return static_cast<double>(driver.stream_from);
  if (parameter == "time_out") return in_milliseconds(spec.time_out);
  return std::nullopt;
}

Deployment deployment(const Settings& settings, const MachineLayout& machine, int ranks) {
  Deployment deployment =
      deployment_on_nodes(machine, ranks, "adapter", driver_of(settings).spec.link, machine.links_per_card);
  deployment.text += ", with switches that reduce";
  return deployment;
}

std::vector<WithoutEffect> without_effect(const Settings& settings) {
  std::vector<WithoutEffect> without;
  if (driver_of(settings).stream_from > 0) return without;
  for (const std::string_view name : {"stream_from", "stream_share", "stream_start", "stream_latency"})
    without.push_back({name, "has no effect: nothing is streamed (preset, streaming)"});
  return without;
}

}  // namespace offramp::sharp
