// Defaults are the values of an MpeSpec wherever it has the value, so table and simulator cannot differ.
// `preset` selects only the width of the bus, which `bus_width` overrides.
#include "backends/zrlmpi/parameters.hpp"

#include <string>

#include "offramp/kernel/immortal.hpp"

namespace offramp::zrlmpi {

const std::vector<Parameter>& parameters() {
  const MpeSpec spec;
  static const auto& table = immortal(std::vector<Parameter>{
      choice("preset", "seed", {"seed", "mpe2"}, "seed: [zrlmpi-protocol]; mpe2: read in [zrlmpi-src]",
             "version of the engine: that of the protocol document (8-bit bus) or the second one (64 bit)"),
      choice("bus_width", "preset", {"preset", "8", "32", "64"},
             "[zrlmpi-protocol] (8); read in [zrlmpi-src] (32, 64)", "of the role and network streams",
             "bit"),
      flag("strict", spec.format == Format::kStrict, "[zrlmpi-protocol]",
           "only the protocol document's features: INT and FLOAT, tag 0; the rest is declined"),
      real("clock", "MHz", in_megahertz(spec.clock), {1, 1000}, "read in [zrlmpi-src]: 6.4 ns",
           "clock of the engine and the shell"),
      real("link", "Gb/s", in_gigabits(spec.line.bandwidth), {0.1, 400}, "published [cfdoc]: 10 GbE per FPGA",
           "rate of the network"),
      real("latency", "ns", in_nanoseconds(spec.line.latency), {0, 1e9}, "assumed: one switch, MACs and PHYs",
           "one-way latency, besides shell and serialisation"),
      real("timer", "ms", in_milliseconds(spec.cycles(spec.timer_counts)), {0.001, 1e4},
           "read in [zrlmpi-src]: 15 625 000 counts, 100 ms in the comments, twice that at II = 2",
           "base of the retry timers, as the comments of the source count it"),
      integer("retries", "1", spec.retries, {0, 1000}, "ours: [zrlmpi-src] stops after 3 and waits forever",
              "retransmissions of a packet before the engine waits silently"),
      integer("eager_limit", "B", 65536, {0, 1e9}, "design: small sends do not wait",
              "largest message that the receiving engine grants without a posted receive"),
      real("command", "ns", 200, {0, 1e9}, "assumed: a posted write and a flag read over PCIe",
           "time of the host to hand over a command"),
      real("bounce_bandwidth", "Gb/s", 80, {0.1, 10000}, "published [dosa]: FPGA DDR, 10 GB/s per bank",
           "bandwidth of the memory where granted messages wait for their receive"),
      integer("bounce_latency", "cycles", 52, {0, 1e6}, "published [cfdk]: m_axi latency, measured there",
              "latency of that memory"),
      real("dram_datagram", "ns", in_nanoseconds(spec.dram_datagram), {0, 1e6},
           "read in [zrlmpi-src]: a comment beside the pacing of long messages",
           "time of a full datagram into the role's DRAM, which holds messages above 128 KiB; 0: as fast as "
           "the bus"),
      choice("collectives", "tree", {"linear", "tree"}, "read in [zrlmpi-src]: com_opt 0 and 1",
             "order of the collectives: linear, or groups of four with replicators")});
  return table;
}

MpeSpec spec_of(const Settings& settings) {
  MpeSpec spec;
  spec.clock = settings.megahertz("clock");
  const std::string& width = settings.choice("bus_width");
  spec.bus_bits = width != "preset"                     ? std::stoi(width)
                  : settings.choice("preset") == "mpe2" ? kSecondBusBits
                                                        : spec.bus_bits;
  spec.format = settings.flag("strict") ? Format::kStrict : Format::kExtended;
  spec.line.latency = settings.nanoseconds("latency");
  spec.line.bandwidth = settings.gigabits("link");
  spec.dram_datagram = settings.nanoseconds("dram_datagram");
  spec.timer_counts = spec.clock.cycles_in(settings.milliseconds("timer"));
  spec.retries = static_cast<int>(settings.integer("retries"));
  return spec;
}

}  // namespace offramp::zrlmpi
