// Costs of software are counts of instructions, costs of the boards' logic counts of cycles, so both scale
// with `clock`. The latency of a link's transceivers is in ns. The rows added with rows.add() (placement,
// mesh, send_call, receive_call, wake) are read by the constructor of Configuration.
#include "backends/tinsel/configuration.hpp"
#include "backends/tinsel/tinsel.hpp"
#include "offramp/kernel/immortal.hpp"

namespace offramp::tinsel {

void describe(ParameterRows& rows, Configuration& c) {
  MachineSpec& machine = c.machine;
  SoftwareSpec& software = c.software;
  rows.add(
      choice("placement", "auto", {"auto", "spread", "per_core", "dense", "apart"},
             "inferred: threads of a mailbox share its ports",
             "placement of ranks on mailboxes, cores, threads, or boards; auto: on mailboxes, or evenly on "
             "all boards if 48 boards have too few mailboxes"));
  rows.add(choice("mesh", "auto", {"auto", "3x2", "3x4", "6x4", "6x6", "6x8"},
                  "published [tinsel-asap]: 1 to 8 boxes of 3 x 2 boards",
                  "boards in use; auto: the smallest mesh that holds the ranks"));
  rows(machine.clock, "clock", "MHz", {1, 1000}, "published [tinsel-src]: 210 MHz (250, 240, 225 before)",
       "clock of the boards' logic");
  rows(machine.link, "link", "Gb/s", {0.1, 400}, "published [tinsel-src]: 10 Gb/s SFP+",
       "rate of an inter-board link");
  rows(machine.link_mac, "link_latency", "ns", {0, 1e6},
       "published [tinsel-src], revision 7bd6c6c: MAC and PHY loopback",
       "one-way latency of a link, besides link_cycles");
  rows(machine.link_cycles, "link_cycles", "cycles", {0, 1e6},
       "published [tinsel-asap]: 150 cycles at 240 MHz in all", "latency of the reliability layer");
  rows(machine.packet_gap_cycles, "link_gap", "cycles", {0, 1000},
       "fitted to [tinsel-fpl]: 75 % of the links' capacity", "gap between packets of a link");
  rows(machine.flit_link_bytes, "flit_bytes", "B", {16, 64}, "read in [tinsel-src]; 24 before version 0.7",
       "bytes of a flit on a link");
  rows(machine.timeout_cycles, "timeout", "cycles", {1, 1e9}, "read in [tinsel-src]",
       "time after which a link retransmits unacknowledged packets");
  rows(machine.dram_cycles, "dram_latency", "cycles", {1, 10000},
       "assumed; not published, 60 to 120 plausible", "latency of a routing table lookup");
  rows(machine.bypass_cycles, "bypass", "cycles", {0, 10000}, "inferred from [tinsel-src]",
       "latency of a router for messages without a key");
  rows(machine.noc_turn_cycles, "noc_turn", "cycles", {0, 1000},
       "fitted to [tinsel-fpl]: 14.4 GB/s per board", "time per message at a mailbox's port");
  rows(software.fragment_send, "fragment_send", "1", {0, 1e6}, "assumed", "instructions to send a fragment");
  rows(software.fragment_receive, "fragment_receive", "1", {0, 1e6}, "assumed",
       "instructions to receive and free a fragment");
  rows(software.copy_word, "copy_word", "1", {0, 1000}, "read in [tinsel-src]: one load and one store",
       "instructions to copy 4 bytes");
  rows.add(integer("send_call", "1", 3, {0, 1e6}, "assumed: little more than the fragment itself",
                   "instructions to begin a send"));
  rows.add(integer("receive_call", "1", 26, {0, 1e6},
                   "fitted to [tinsel-src], clock trees: 1.62 us per child",
                   "instructions to match a receive"));
  rows.add(integer("wake", "1", 82, {0, 1e6}, "fitted to [tinsel-src], clock trees: 5.4 us per hop",
                   "instructions until a waiting thread has received a message"));
  rows(software.window, "window", "1", {2, 63}, "inferred from [tinsel-src]: 63 receive pointers per thread",
       "fragments from one rank to another that may be in flight without a credit");
  rows(c.eager_limit, "eager_limit", "B", {0, 1e9}, "design: small sends do not wait",
       "largest eager message; longer ones request a grant first");
  rows.choice<Multicast>(
      c.multicast, "multicast",
      {{"hardware", Multicast::kHardware},
       {"mailbox", Multicast::kMailbox},
       {"software", Multicast::kSoftware}},
      "hardware: [pip-0024]; mailbox: read in [tinsel-src]; software: for comparison",
      "implementation of multicast: one keyed send, one send per mailbox, or one per destination");
  rows.choice<DimensionOrder>(
      c.order, "tree_order", {{"y_first", DimensionOrder::kYFirst}, {"x_first", DimensionOrder::kXFirst}},
      "inferred: unicast goes y first (read in [tinsel-src]); its mapper goes x first",
      "dimension order of multicast trees; x_first can deadlock the hardware");
  rows.choice<BarrierKind>(
      c.barrier, "barrier",
      {{"auto", BarrierKind::kAuto}, {"idle", BarrierKind::kIdle}, {"tree", BarrierKind::kTree}},
      "published [tinsel-asap]: idle detection; design: a tree for up to 16 ranks, where it is faster",
      "idle: by idle detection where that is legal, else by a tree; auto: as idle, or by a tree for "
      "few ranks");
  rows(c.idle.token_cycles, "idle_token", "cycles", {0, 1e6},
       "fitted to [tinsel-asap]: idle rounds of 6 and 48 boards", "work of the idle master per board");
  rows(c.idle.round_cycles, "idle_round", "cycles", {0, 1e6},
       "fitted to [tinsel-asap]: idle rounds of 6 and 48 boards", "fixed part of an idle round");
  rows(c.idle.wake_instructions, "idle_wake", "1", {0, 1e6}, "assumed",
       "instructions of each thread around tinselIdle()");
  rows(c.fan_in, "fan_in", "1", {1, 63}, "inferred: the pipeline is busy with a few children",
       "children of a thread in a reduction");
  rows(c.segment, "segment", "B", {64, 1e9}, "assumed",
       "segment of a reduction that is combined and forwarded at once");
}

const std::vector<Parameter>& parameters() {
  static const auto& table = immortal(rows_of<Configuration>(describe));
  return table;
}

}  // namespace offramp::tinsel
