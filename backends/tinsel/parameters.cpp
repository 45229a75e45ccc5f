#include "backends/tinsel/tinsel.hpp"
#include "offramp/kernel/immortal.hpp"
#include "simulators/tinsel/idle.hpp"
#include "simulators/tinsel/stream.hpp"

namespace offramp::tinsel {

const std::vector<Parameter>& parameters() {
  const MachineSpec machine;
  const SoftwareSpec software;
  const IdleSpec idle;
  static const auto& table = immortal(std::vector<Parameter>{
      choice("placement", "auto", {"auto", "spread", "per_core", "dense", "apart"},
             "inferred: threads of a mailbox share its ports",
             "placement of ranks on mailboxes, cores, threads, or boards; auto: on mailboxes, or evenly on "
             "all boards if 48 boards have too few mailboxes"),
      choice("mesh", "auto", {"auto", "3x2", "3x4", "6x4", "6x6", "6x8"},
             "published [tinsel-asap]: 1 to 8 boxes of 3 x 2 boards",
             "boards in use; auto: the smallest mesh that holds the ranks"),
      real("clock", "MHz", in_megahertz(machine.clock), {1, 1000},
           "published [tinsel-src]: 210 MHz (250, 240, 225 before)", "clock of the boards' logic"),
      real("link", "Gb/s", in_gigabits(machine.link), {0.1, 400}, "published [tinsel-src]: 10 Gb/s SFP+",
           "rate of an inter-board link"),
      real("link_latency", "ns", in_nanoseconds(machine.link_mac), {0, 1e6},
           "published [tinsel-src], revision 7bd6c6c: MAC and PHY loopback",
           "one-way latency of a link, besides link_cycles"),
      integer("link_cycles", "cycles", machine.link_cycles, {0, 1e6},
              "published [tinsel-asap]: 150 cycles at 240 MHz in all", "latency of the reliability layer"),
      integer("link_gap", "cycles", machine.packet_gap_cycles, {0, 1000},
              "fitted to [tinsel-fpl]: 75 % of the links' capacity", "gap between packets of a link"),
      integer("flit_bytes", "B", machine.flit_link_bytes, {16, 64},
              "read in [tinsel-src]; 24 before version 0.7", "bytes of a flit on a link"),
      integer("timeout", "cycles", machine.timeout_cycles, {1, 1e9}, "read in [tinsel-src]",
              "time after which a link retransmits unacknowledged packets"),
      integer("dram_latency", "cycles", machine.dram_cycles, {1, 10000},
              "assumed; not published, 60 to 120 plausible", "latency of a routing table lookup"),
      integer("bypass", "cycles", machine.bypass_cycles, {0, 10000}, "inferred from [tinsel-src]",
              "latency of a router for messages without a key"),
      integer("noc_turn", "cycles", machine.noc_turn_cycles, {0, 1000},
              "fitted to [tinsel-fpl]: 14.4 GB/s per board", "time per message at a mailbox's port"),
      integer("fragment_send", "1", software.fragment_send, {0, 1e6}, "assumed",
              "instructions to send a fragment"),
      integer("fragment_receive", "1", software.fragment_receive, {0, 1e6}, "assumed",
              "instructions to receive and free a fragment"),
      integer("copy_word", "1", software.copy_word, {0, 1000}, "read in [tinsel-src]: one load and one store",
              "instructions to copy 4 bytes"),
      integer("send_call", "1", 3, {0, 1e6}, "assumed: little more than the fragment itself",
              "instructions to begin a send"),
      integer("receive_call", "1", 26, {0, 1e6}, "fitted to [tinsel-src], clock trees: 1.62 us per child",
              "instructions to match a receive"),
      integer("wake", "1", 82, {0, 1e6}, "fitted to [tinsel-src], clock trees: 5.4 us per hop",
              "instructions until a waiting thread has received a message"),
      integer("window", "1", software.window, {2, 63},
              "inferred from [tinsel-src]: 63 receive pointers per thread",
              "fragments from one rank to another that may be in flight without a credit"),
      integer("eager_limit", "B", 65536, {0, 1e9}, "design: small sends do not wait",
              "largest eager message; longer ones request a grant first"),
      choice("multicast", "hardware", {"hardware", "mailbox", "software"},
             "hardware: [pip-0024]; mailbox: read in [tinsel-src]; software: for comparison",
             "implementation of multicast: one keyed send, one send per mailbox, or one per destination"),
      choice("tree_order", "y_first", {"y_first", "x_first"},
             "inferred: unicast goes y first (read in [tinsel-src]); its mapper goes x first",
             "dimension order of multicast trees; x_first can deadlock the hardware"),
      choice("barrier", "auto", {"auto", "idle", "tree"},
             "published [tinsel-asap]: idle detection; design: a tree for up to 16 ranks, where it is faster",
             "idle: by idle detection where that is legal, else by a tree; auto: as idle, or by a tree for "
             "few ranks"),
      integer("idle_token", "cycles", idle.token_cycles, {0, 1e6},
              "fitted to [tinsel-asap]: idle rounds of 6 and 48 boards", "work of the idle master per board"),
      integer("idle_round", "cycles", idle.round_cycles, {0, 1e6},
              "fitted to [tinsel-asap]: idle rounds of 6 and 48 boards", "fixed part of an idle round"),
      integer("idle_wake", "1", idle.wake_instructions, {0, 1e6}, "assumed",
              "instructions of each thread around tinselIdle()"),
      integer("fan_in", "1", 4, {1, 63}, "inferred: the pipeline is busy with a few children",
              "children of a thread in a reduction"),
      integer("segment", "B", 4096, {64, 1e9}, "assumed",
              "segment of a reduction that is combined and forwarded at once")});
  return table;
}

}  // namespace offramp::tinsel
