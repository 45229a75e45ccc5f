#include "backends/host/parameters.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "backends/host/collectives.hpp"
#include "offramp/kernel/immortal.hpp"
#include "offramp/kernel/repair.hpp"
#include "simulators/model/footing.hpp"

namespace offramp::host {
namespace {

std::vector<Parameter> with_algorithms(std::vector<Parameter> table) {
  for (Parameter& parameter : algorithm_parameters()) table.push_back(std::move(parameter));
  return table;
}

// What each preset has, and 0 in the table stands for.
struct Preset {
  std::string_view name;
  Nic nic;
};
constexpr std::array kPresets = {
    Preset{"100g", {Time::ns(1000), Time::ns(250), Time::ns(50), Bandwidth::gigabits_per_second(100)}},
    // ConnectX-6 on HDR InfiniBand: 8 bytes take Open MPI 1.61 us, long messages run at 23.48 GB/s (OSU, two
    // virtual machines of Azure's HBv2); 215 million messages per second (data sheet).
    Preset{"200g",
           {Time::ns(1110), Time::ns(250), Time::ps(4650), Bandwidth::bits_per_second(187'800'000'000)}},
    // BlueField-3 as a NIC: 375 Gb/s between two hosts.
    Preset{"400g", {Time::ns(1110), Time::ns(250), Time::ps(4650), Bandwidth::gigabits_per_second(375)}}};

std::vector<std::string_view> preset_names() {
  std::vector<std::string_view> names;
  names.reserve(kPresets.size());
  for (const Preset& preset : kPresets) names.push_back(preset.name);
  return names;
}

/// 0: what the NIC has.
Parameter of_nic(std::string_view name, std::string_view unit, double most, std::string_view source,
                 std::string_view description) {
  return real(name, unit, 0, {0, most}, source, description);
}

}  // namespace

// LogGP: latency L, overhead o, gap g, gap per byte G (Alexandrov et al., SPAA 1995). The default is a
// 100 Gb/s NIC without any offload; it is assumed, not measured on one machine, and meant to be set to one's
// own.
const std::vector<Parameter>& parameters() {
  static const auto& table = immortal(with_algorithms(std::vector<Parameter>{
      choice("nic", kPresets.front().name, preset_names(),
             "100g: assumed; 200g: ConnectX-6; 400g: BlueField-3",
             "of every node: latency, overhead, gap and bandwidth"),
      of_nic("latency", "ns", 1e9, "assumed: 1000 (100g); fitted: 1110 (200g); assumed: 1110 (400g)",
             "L: first bit out to first bit in; 0: of the NIC"),
      of_nic("overhead", "ns", 1e9, "assumed: 250 (all)",
             "o: time of the processor per message, at each end; 0: of the NIC"),
      of_nic("gap", "ns", 1e9, "assumed: 50 (100g); published: 4.65 (200g); assumed: 4.65 (400g)",
             "g: least time between two messages of one NIC; 0: of the NIC"),
      of_nic("bandwidth", "Gb/s", 100000, "assumed: 100 (100g); published: 187.8 (200g), 375 (400g)",
             "1/G: of the link; 0: of the NIC"),
      real("post", "ns", 30, {0, 1e9}, "assumed", "time of the processor to post a receive"),
      integer("eager_limit", "B", 65536, {0, 1e9}, "design: small sends do not wait",
              "larger messages ask the receiver first"),
      real("memory_latency", "ns", 65, {0, 1e9},
           "fitted: half a round trip of 8 bytes, Open MPI's vader: 165 ns", "between two ranks of a node"),
      real("memory_overhead", "ns", 50, {0, 1e9}, "fitted to the same",
           "time of the processor per message within a node, at each end"),
      real("memory_bandwidth", "Gb/s", 712, {0.001, 1e6},
           "published: 89 GB/s delivered on a node of 32 ranks",
           "of a node's memory, an equal part of each socket: all that its ranks receive"),
      integer("memory_eager_limit", "B", 4096, {0, 1e9}, "Open MPI 4.1: btl_vader_eager_limit",
              "larger messages within a node ask the receiver first, and are copied once"),
      real("copy_bandwidth", "Gb/s", 80, {0.001, 100000}, "assumed",
           "local copies, and messages that arrive before their receive"),
      real("combine_bandwidth", "Gb/s", 160, {0.001, 100000},
           "measured: MPI_Reduce_local of doubles beyond the cache, 50 ps per byte",
           "reductions in host software"),
      choice("progress", "calls", {"calls", "thread", "hardware"}, "Open MPI 4.1: opal_progress",
             "what moves operations on: MPI calls that wait or ask, a thread, or the NIC"),
      real("progress_share", "1", 0.5, {0, 0.99}, "assumed: it polls on the program's own processor",
           "of the processor's time while the program computes, what the thread takes"),
      real("retry_timeout", "us", in_microseconds(ReliableTransport{}.retry_timeout), {0, 1e9},
           "InfiniBand: 4.096 us x 2^14", "after which a packet without an acknowledgement is sent again"),
      integer("retries", "1", ReliableTransport{}.retries, {0, 7}, "InfiniBand: 3-bit counter",
              "of one packet, before the connection is given up"),
      integer("segment", "B", 0, {0, 1e9}, "Open MPI 4.1: its fixed decisions cut nothing",
              "pieces in which trees and segmented rings forward a long message; 0: in one piece"),
      integer("han_segment", "B", 65536, {0, 1e9},
              "Open MPI 4.1: coll_han_bcast_segsize, and of reduce, allreduce",
              "pieces in which han pipelines bcast, reduce and allreduce; 0: in one piece")}));
  return table;
}

Nic nic_of(const Settings& settings) {
  const auto preset = std::find_if(kPresets.begin(), kPresets.end(),
                                   [&](const Preset& one) { return one.name == settings.choice("nic"); });
  Nic nic = preset->nic;
  if (settings.real("latency") > 0) nic.latency = settings.nanoseconds("latency");
  if (settings.real("overhead") > 0) nic.overhead = settings.nanoseconds("overhead");
  if (settings.real("gap") > 0) nic.gap = settings.nanoseconds("gap");
  if (settings.real("bandwidth") >= 1e-9) nic.bandwidth = settings.gigabits("bandwidth");
  return nic;
}

Progress progress_of(const Settings& settings) {
  const std::string& by = settings.choice("progress");
  if (by == "calls") return Progress::kCalls;
  return by == "thread" ? Progress::kThread : Progress::kHardware;
}

Footing footing(const Settings& settings, const MachineLayout& machine, int ranks) {
  return footing_on_nodes(machine, ranks, "NIC", nic_of(settings).bandwidth, machine.links_per_card);
}

std::vector<WithoutEffect> without_effect(const Settings& settings) {
  std::vector<WithoutEffect> without;
  const auto is_set = [&](const char* name) { return settings.real(name) > 0; };
  if (is_set("latency") && is_set("overhead") && is_set("gap") && is_set("bandwidth"))
    without.push_back({"nic", "has no effect: latency, overhead, gap and bandwidth are set"});
  if (progress_of(settings) != Progress::kThread)
    without.push_back({"progress_share", "has no effect: no thread makes progress (progress = thread)"});
  return without;
}

}  // namespace offramp::host
