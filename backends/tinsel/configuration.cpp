#include "backends/tinsel/configuration.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "offramp/kernel/immortal.hpp"

namespace offramp::tinsel {
namespace {

constexpr int kMostWorkers = 32;  // four cores of eight instructions in flight

int count(const Settings& settings, const char* name) {
  return static_cast<int>(settings.integer(name));
}

Policy policy_of(const std::string& name, int ranks) {
  if (name == "spread") return Policy::kSpread;
  if (name == "apart") return Policy::kApart;
  if (name == "per_core") return Policy::kPerCore;
  return name == "dense" ? Policy::kDense : roomiest(ranks);
}

/// Instructions per element: load both, operate, store; a thread has single precision and 32-bit integers
/// only, so everything wider is software (counts assumed).
std::uint64_t instructions_for(ElementType element) {
  switch (element) {
    case ElementType::kInt64:
    case ElementType::kUint64:
      return 10;
    case ElementType::kFloat64:
      return 60;
    case ElementType::kFloatExtended:
      return 200;
    case ElementType::kComplex:
      return 120;
    case ElementType::kPair:
    case ElementType::kMixed:
      return 20;
    default:
      return 4;
  }
}

}  // namespace

const std::vector<Parameter>& parameters() {
  using Kind = ParameterKind;
  static const auto& table = immortal(std::vector<Parameter>{
      {"placement",
       Kind::kChoice,
       "",
       0,
       0,
       0,
       "auto",
       {"auto", "spread", "per_core", "dense", "apart"},
       "inferred: threads of a mailbox share its ports",
       "ranks on mailboxes, on cores, on threads or on boards; auto: the roomiest of the first three that 48 "
       "boards can hold"},
      {"mesh",
       Kind::kChoice,
       "",
       0,
       0,
       0,
       "auto",
       {"auto", "3x2", "3x4", "6x4", "6x6", "6x8"},
       "published: 1 to 8 boxes of 3 x 2 boards",
       "boards in use; auto: the smallest mesh that holds the ranks"},
      {"clock",
       Kind::kReal,
       "MHz",
       210,
       1,
       1000,
       {},
       {},
       "published: 210 MHz (250, 240, 225 before)",
       "of the boards' logic"},
      {"link",
       Kind::kReal,
       "Gb/s",
       10,
       0.1,
       400,
       {},
       {},
       "published: 10 Gb/s SFP+",
       "of an inter-board link"},
      {"link_latency",
       Kind::kReal,
       "ns",
       490,
       0,
       1e6,
       {},
       {},
       "measured by the authors: MAC and PHY loopback",
       "one way, besides link_cycles"},
      {"link_cycles",
       Kind::kInteger,
       "cycles",
       32,
       0,
       1e6,
       {},
       {},
       "published: 150 cycles at 240 MHz in all",
       "of the reliability layer"},
      {"link_gap",
       Kind::kInteger,
       "cycles",
       2,
       0,
       1000,
       {},
       {},
       "fitted: 75 % of the links' capacity (FPL 2019)",
       "between packets of a link"},
      {"flit_bytes",
       Kind::kInteger,
       "B",
       32,
       16,
       64,
       {},
       {},
       "read in code; 24 before version 0.7",
       "of a flit on a link"},
      {"timeout",
       Kind::kInteger,
       "cycles",
       1024,
       1,
       1e9,
       {},
       {},
       "read in code",
       "until a link sends again what was not acknowledged"},
      {"dram_latency",
       Kind::kInteger,
       "cycles",
       80,
       1,
       10000,
       {},
       {},
       "assumed; not published, 60 to 120 plausible",
       "of a routing table lookup"},
      {"bypass",
       Kind::kInteger,
       "cycles",
       8,
       0,
       10000,
       {},
       {},
       "inferred from code",
       "of a router, for messages without a key"},
      {"noc_turn",
       Kind::kInteger,
       "cycles",
       2,
       0,
       1000,
       {},
       {},
       "fitted: 14.4 GB/s per board (FPL 2019)",
       "per message at a mailbox's port"},
      {"fragment_send",
       Kind::kInteger,
       "1",
       12,
       0,
       1e6,
       {},
       {},
       "assumed",
       "instructions to send a fragment"},
      {"fragment_receive",
       Kind::kInteger,
       "1",
       12,
       0,
       1e6,
       {},
       {},
       "assumed",
       "instructions to receive and free a fragment"},
      {"copy_word",
       Kind::kInteger,
       "1",
       2,
       0,
       1000,
       {},
       {},
       "read in code: one load and one store",
       "instructions to copy 4 bytes"},
      {"send_call",
       Kind::kInteger,
       "1",
       3,
       0,
       1e6,
       {},
       {},
       "assumed: little more than the fragment itself",
       "instructions to begin a send"},
      {"receive_call",
       Kind::kInteger,
       "1",
       26,
       0,
       1e6,
       {},
       {},
       "fitted: 1.62 us per child of a software tree (P10)",
       "instructions to match a receive"},
      {"wake",
       Kind::kInteger,
       "1",
       82,
       0,
       1e6,
       {},
       {},
       "fitted: 5.4 us per hop of a software tree (P10)",
       "instructions until a waiting thread has taken a message up"},
      {"window",
       Kind::kInteger,
       "1",
       32,
       2,
       63,
       {},
       {},
       "inferred: 63 receive pointers per thread",
       "fragments in flight without a credit"},
      {"eager_limit",
       Kind::kInteger,
       "B",
       65536,
       0,
       1e9,
       {},
       {},
       "design: small sends do not wait",
       "longer messages ask for a grant first"},
      {"multicast",
       Kind::kChoice,
       "",
       0,
       0,
       0,
       "hardware",
       {"hardware", "mailbox", "software"},
       "original document (hardware); read in code (mailbox); software: for comparison",
       "one keyed send, one send per mailbox, or one per destination"},
      {"tree_order",
       Kind::kChoice,
       "",
       0,
       0,
       0,
       "y_first",
       {"y_first", "x_first"},
       "inferred: unicast goes y first (read in code); the reference's mapper goes x first",
       "of multicast trees; x_first can deadlock the hardware"},
      {"barrier",
       Kind::kChoice,
       "",
       0,
       0,
       0,
       "idle",
       {"idle", "tree"},
       "published: idle detection",
       "idle: by idle detection where that is legal, else by a tree"},
      {"idle_token",
       Kind::kInteger,
       "cycles",
       26,
       0,
       1e6,
       {},
       {},
       "fitted: idle rounds of 6 and 48 boards (ASAP 2020)",
       "the idle master's work per board"},
      {"idle_round",
       Kind::kInteger,
       "cycles",
       398,
       0,
       1e6,
       {},
       {},
       "fitted: idle rounds of 6 and 48 boards (ASAP 2020)",
       "fixed part of an idle round"},
      {"idle_wake",
       Kind::kInteger,
       "1",
       20,
       0,
       1e6,
       {},
       {},
       "assumed",
       "instructions of each thread around tinselIdle()"},
      {"fan_in",
       Kind::kInteger,
       "1",
       4,
       1,
       63,
       {},
       {},
       "inferred: the pipeline is busy with a few children",
       "children of a thread in a reduction"},
      {"segment",
       Kind::kInteger,
       "B",
       4096,
       64,
       1e9,
       {},
       {},
       "assumed",
       "part of a reduction that is combined and passed on at once"}});
  return table;
}

Configuration::Configuration(const Settings& settings, int world_ranks)
    : ranks(world_ranks), policy(policy_of(settings.choice("placement"), world_ranks)) {
  const std::string& shape = settings.choice("mesh");
  const auto smallest = smallest_mesh(ranks, policy);
  machine.mesh = smallest.value_or(Mesh{kMaximumColumns, kMaximumRows});
  if (shape != "auto") machine.mesh = {shape[0] - '0', shape[2] - '0'};
  const int room = machine.mesh.boards() * ranks_per_board(policy);
  fits = ranks <= room;
  too_many = fmt::format("{} boards hold {} ranks with this placement, the world has {}",
                         machine.mesh.boards(), room, ranks);
  machine.clock = Frequency::hertz(static_cast<std::int64_t>(settings.real("clock") * 1e6 + 0.5));
  machine.link_mac = Time::ps(static_cast<std::int64_t>(settings.real("link_latency") * 1e3 + 0.5));
  machine.link_bits_per_second = static_cast<std::int64_t>(settings.real("link") * 1e9 + 0.5);
  machine.link_cycles = count(settings, "link_cycles");
  machine.packet_gap_cycles = count(settings, "link_gap");
  machine.flit_link_bytes = count(settings, "flit_bytes");
  machine.timeout_cycles = count(settings, "timeout");
  machine.dram_cycles = count(settings, "dram_latency");
  machine.bypass_cycles = count(settings, "bypass");
  machine.noc_turn_cycles = count(settings, "noc_turn");
  software.fragment_send = count(settings, "fragment_send");
  software.fragment_receive = count(settings, "fragment_receive");
  software.copy_word = count(settings, "copy_word");
  software.window = count(settings, "window");
  idle.token_cycles = count(settings, "idle_token");
  idle.round_cycles = count(settings, "idle_round");
  idle.wake_instructions = count(settings, "idle_wake");
  const std::string& kind = settings.choice("multicast");
  multicast = kind == "hardware"  ? Multicast::kHardware
              : kind == "mailbox" ? Multicast::kMailbox
                                  : Multicast::kSoftware;
  order = settings.choice("tree_order") == "y_first" ? DimensionOrder::kYFirst : DimensionOrder::kXFirst;
  barrier = settings.choice("barrier") == "idle" ? BarrierKind::kIdle : BarrierKind::kTree;
  eager_limit = static_cast<std::uint64_t>(settings.integer("eager_limit"));
  segment = static_cast<std::uint64_t>(settings.integer("segment"));
  fan_in = count(settings, "fan_in");
  // One thread does these: an instruction per pass of the pipeline.
  const auto thread = [&](const char* name) {
    return machine.cycles(settings.integer(name) * software.pipeline);
  };
  send_call = thread("send_call");
  receive_call = thread("receive_call");
  wake = thread("wake");
}

Time Configuration::work(std::uint64_t instructions) const {
  const auto team = static_cast<std::uint64_t>(std::min(workers(), kMostWorkers));
  const std::uint64_t cycles =
      (instructions * static_cast<std::uint64_t>(software.pipeline) + team - 1) / team;
  return machine.cycles(static_cast<std::int64_t>(cycles));
}

Time Configuration::copy(std::uint64_t bytes) const {
  return work((bytes + 3) / 4 * static_cast<std::uint64_t>(software.copy_word));
}

Time Configuration::taken_up(Time posted, Time first, Time last, std::uint64_t bytes) const {
  if (posted <= last) {  // the rank waits for it
    const Time late = posted > first ? copy(bytes) : Time();
    return last + late + wake + receive_call;
  }
  return posted + copy(bytes) + receive_call;
}

Time Configuration::combine(const Operation& operation, std::uint64_t bytes) const {
  if (operation.bytes == 0) return {};
  const std::uint64_t size =
      std::max<std::uint64_t>(1, operation.bytes / std::max<std::size_t>(1, operation.elements));
  return work(bytes / size * instructions_for(operation.element));
}

}  // namespace offramp::tinsel
