// A preset is a generation of switches. rows.preset() lets a value of 0 keep the preset's, -1 for `time_out`,
// whose 0 means never. Three fields are computed from several rows: the stream's rate, the limit of
// low-latency operations, and the communicators that a job may have in flight. The latter is its share of the
// tree's transactions.
#include "backends/sharp/parameters.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "backends/host/host.hpp"
#include "backends/host/parameters.hpp"
#include "offramp/kernel/immortal.hpp"
#include "offramp/model/parameter_rows.hpp"
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

// The choices are those of the table, so one is found.
const Preset& preset_of(const Settings& settings) {
  const std::string& name = settings.choice("preset");
  return *std::find_if(kPresets.begin(), kPresets.end(), [&](const Preset& p) { return p.name == name; });
}

Driver driver_of(const Preset& preset) {
  Driver driver;
  driver.generation = preset.generation;
  driver.call = preset.call;
  driver.low_latency_limit = preset.low_latency_limit;
  driver.stream_from = preset.stream_from;
  Spec& spec = driver.spec;
  spec.latency = preset.latency;
  spec.link = preset.link;
  spec.payload = preset.payload;
  spec.header = preset.header;
  spec.outstanding = preset.outstanding;
  spec.engine = preset.engine;
  spec.engine_latency = preset.engine_latency;
  // Slingshot's switches wait for the members' contributions up to a timeout.
  spec.arms = preset.generation == Generation::kSlingshot;
  spec.time_out = preset.time_out;
  return driver;
}

void describe(ParameterRows& rows, Driver& driver) {
  Spec& spec = driver.spec;
  rows.add(choice("preset", kPresets[0].name, {kPresets[0].name, kPresets[1].name, kPresets[2].name},
                  "quantum, switch_ib2: [sharp-docs]; slingshot: read in [libfabric], its latencies composed",
                  "generation of switches: NVIDIA's of two generations, or HPE Slingshot"));
  rows.preset(spec.link, "link", "Gb/s", {0, 100000},
              "inferred from [sharp-docs], the streaming table: 100 (quantum); EDR: 100 (switch_ib2); "
              "assumed: 200 (slingshot)",
              "rate of an adapter, per direction; 0: that of the preset");
  rows.preset(spec.latency, "latency", "ns", {0, 1e9}, "assumed: 1000, as host.nic 100g; 1500 (slingshot)",
              "latency from memory to memory over one switch; 0: that of the preset");
  rows.preset(driver.call, "call", "ns", {0, 1e9},
              "fitted to [ucc-sharp]: 450 (quantum); assumed: none (switch_ib2, slingshot)",
              "time of the collective library before the first packet; 0: that of the preset");
  rows(driver.overhead, "overhead", "ns", {0, 1e9}, "assumed, as host.overhead",
       "processor time to detect a result");
  rows(spec.post, "post", "ns", {0, 1e9}, "fitted to [ucc-sharp]: 128 KiB in packets of 1 KiB",
       "processor time for each low-latency packet");
  rows(spec.fetch, "fetch", "ns", {0, 1e9},
       "published [pcie-bench]: DMA read of 64 B from a Xeon E5, median 547",
       "time until the adapter has data that is not in the work request");
  rows(spec.inline_limit, "inline_limit", "B", {0, 1e9}, "assumed, as host.inline_limit",
       "most data that the work request contains");
  rows.preset(spec.payload, "payload", "B", {0, 65536},
              "[sharp-docs]: 256 (switch_ib2), 1024 (quantum); read in [libfabric]: 32 (slingshot)",
              "payload of a low-latency packet and of an outstanding transaction; 0: that of the preset");
  rows.preset(
      spec.outstanding, "outstanding", "1", {0, 65536}, "assumed: 8; read in [libfabric]: 8 (slingshot)",
      "packets of a communicator that may wait for their result at each member; 0: that of the preset");
  rows.preset(driver.low_latency_limit, "low_latency_limit", "B", {0, 1e9},
              "[sharp-docs]: outstanding times payload (quantum); 4096 (switch_ib2), the largest in its "
              "published runs; read in [libfabric]: 32 (slingshot)",
              "largest low-latency operation; 0: that of the preset");
  rows.preset(spec.engine, "engine", "Gb/s", {0, 100000},
              "assumed: a port of the switch, 200 (quantum, slingshot), 100 (switch_ib2)",
              "rate of the port of a switch's aggregation node; 0: that of the preset");
  rows.preset(spec.engine_latency, "engine_latency", "ns", {0, 1e9},
              "fitted to [sharp-2016]: 200 (switch_ib2); assumed: 200 (quantum, slingshot)",
              "latency of an aggregation node after the last operand; 0: that of the preset");
  rows.preset(
      spec.header, "header", "B", {0, 4096},
      "assumed: 60, InfiniBand's 30 and another 30 of the protocol; read in [libfabric]: 17 (slingshot)",
      "framing of a low-latency packet; 0: that of the preset");
  rows.flag(spec.multicast, "multicast", "published [sharp-2017]: a result by UD multicast",
            "the switches copy one result packet; otherwise each input gets its own packet");
  rows.flag(spec.reproducible, "reproducible", "assumed: [sharp-docs] names the mode but not its cost",
            "an aggregation node starts to add when it has all operands; slingshot: REPSUM, one double");
  rows.add(flag("streaming", true, "[sharp-docs]: SHARP_COLL_ENABLE_SAT, which its published runs set",
                "long operations are streamed (quantum)"));
  rows.preset(driver.stream_from, "stream_from", "B", {0, 1e9},
              "[sharp-docs]: SHARP_COLL_SAT_THRESHOLD, 16384 (quantum)",
              "smallest streamed operation; 0: that of the preset");
  rows.add(real("stream_share", "1", 0.95, {0.01, 1}, "published [sharp-2020]: about 95 % of the network",
                "share of the link for the payload of a stream"));
  rows(spec.stream_start, "stream_start", "ns", {0, 1e9}, "fitted to [sharp-docs]: 64 KiB on 128 nodes",
       "time to lock the tree and to set up a stream");
  rows(spec.stream_latency, "stream_latency", "ns", {0, 1e9}, "assumed",
       "latency of a switch that reduces a stream");
  rows(spec.trees, "trees", "1", {1, 1e6}, "[sharp-docs]: up to 126, one for each root switch",
       "root switches that communicators are spread over; 1: all use one");
  rows.add(integer("transactions", "1", 2048, {1, 1e9}, "assumed",
                   "outstanding transactions of a tree, for all jobs"));
  rows.add(real("job_share", "%", 20, {0.1, 100}, "[sharp-docs]: per_prio_default_quota, 20",
                "share of a tree's transactions for one job; further communicators take turns"));
  rows.preset(spec.time_out, "time_out", "ms", {-1, 1e6},
              "read in [libfabric]: 32 (slingshot); no other preset has one",
              "time after which a node forwards a partial result; 0: never; -1: that of the preset");
  rows(driver.least_ranks, "least_ranks", "1", {1, 1e6}, "assumed: 2; HCOLL takes 4 nodes [sharp-docs]",
       "fewest ranks of an operation in the switches; the host carries smaller ones");
  rows(driver.node_radix, "node_radix", "1", {2, 1024}, "assumed: 4, of the trees of UCC",
       "radix of the tree that combines the ranks of a node first");
}

}  // namespace

const std::vector<Parameter>& parameters() {
  static const auto& table = immortal(rows_of<Driver>(describe));
  return table;
}

Driver driver_of(const Settings& settings) {
  Driver driver = driver_of(preset_of(settings));
  // Before the rows, which may set a limit for streams.
  const bool has_streams = driver.stream_from > 0;
  ParameterRows rows(settings);
  describe(rows, driver);
  Spec& spec = driver.spec;
  const double stream = static_cast<double>(spec.link.count()) * settings.real("stream_share");
  // A rate of 0 would never end.
  spec.stream = Bandwidth::bits_per_second(std::max<std::int64_t>(static_cast<std::int64_t>(stream), 1));
  const double share =
      static_cast<double>(settings.integer("transactions")) * settings.real("job_share") / 100;
  // Within an int.
  spec.reserved_groups = static_cast<int>(std::min(share / spec.outstanding, 1e9));
  if (driver.low_latency_limit == 0)
    driver.low_latency_limit = static_cast<std::size_t>(spec.outstanding) * spec.payload;
  if (!settings.flag("streaming") || !has_streams) driver.stream_from = 0;
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
  // The rows then only report the values.
  Driver driver = driver_of(settings);
  ParameterRows rows;
  describe(rows, driver);
  return rows.in_force(parameter);
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
