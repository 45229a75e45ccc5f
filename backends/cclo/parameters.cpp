// A value of 0 often selects one that is derived from these choices. without_effect() lists parameters that
// the choices leave unused, and rates that are not the bottleneck.
// - profile: the generation and the register layout.
// - transport: the framing, the latency, and the engine's rate.
// - driver, data: the cost of a call, and the copies of buffers.
#include "backends/cclo/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "offramp/kernel/immortal.hpp"
#include "offramp/model/parameter_rows.hpp"
#include "simulators/cclo/codes.hpp"

namespace offramp::cclo {
namespace {

constexpr Parameter::Range kCycles{0, 1e6};
constexpr Parameter::Range kNanoseconds{0, 1e9};
constexpr Parameter::Range kGigabits{0.1, 10000};

Profile profile_of(const std::string& name) {
  return name == "gen2" ? Profile::kGen2 : name == "dump" ? Profile::kDump : Profile::kSeed;
}

Transport transport_of(const std::string& name, Generation generation) {
  if (name == "udp") return Transport::kUdp;
  if (name == "rdma") return Transport::kRdma;
  if (name == "tcp" || generation == Generation::kFirst) return Transport::kTcp;
  return Transport::kRdma;
}

void read_network(const Settings& settings, Spec& spec) {
  spec.transport = transport_of(settings.choice("transport"), spec.generation);
  spec.max_packet = max_packet_of(spec.generation);
  spec.overhead = framing_of(spec.transport);
  spec.latency = settings.nanoseconds("latency");
  if (spec.transport == Transport::kUdp) {  // the engine's bus: one word per cycle
    spec.engine = Bandwidth::bits_per_second(spec.clock.count() * kWordBytes * 8);
  } else {
    const bool tcp = spec.transport == Transport::kTcp;
    spec.engine = settings.gigabits(tcp ? "tcp_bandwidth" : "rdma_bandwidth");
    spec.latency += settings.nanoseconds("stack_latency");
  }
  // Only TCP keeps data for retransmission in a buffer of its own.
  const bool buffers = spec.transport == Transport::kTcp;
  spec.transmit_buffer = buffers ? static_cast<std::uint32_t>(settings.integer("tcp_buffer")) : 0;
}

DriverKind driver_of(const std::string& name) {
  return name == "xrt" ? DriverKind::kXrt : name == "coyote" ? DriverKind::kCoyote : DriverKind::kMapped;
}

constexpr Time kXrtCall = Time::us(75);
/// Fitted such that an empty call through Coyote has the mean of two published durations, 73.61 and 93.34 us,
/// which include the start of a thread in the driver.
constexpr Time kCoyoteCall = Time::ns(78'700);

Time call_cost_of(DriverKind driver) {
  return driver == DriverKind::kXrt ? kXrtCall : driver == DriverKind::kCoyote ? kCoyoteCall : Time();
}

void read_host_path(const Settings& settings, Configuration& c) {
  const DriverKind driver = driver_of(settings.choice("driver"));
  const bool in_host = settings.choice("data") == "host";
  // XRT copies buffers; Coyote shares the process's address space.
  c.host.staged = in_host && driver != DriverKind::kCoyote;
  c.spec.host_memory = in_host && driver == DriverKind::kCoyote;
}

void describe(ParameterRows& rows, Configuration& c) {
  Spec& spec = c.spec;
  FirmwareCosts& firmware = spec.firmware;
  Tuning& tuning = c.tuning;
  static const auto& buffer_source =
      immortal(fmt::format("seed: assumed {} ([accl] lets the user choose); gen2: {} (read in [accl-2025])",
                           rx_buffer_bytes_of(Generation::kFirst), rx_buffer_bytes_of(Generation::kSecond)));
  static const auto& call_source = immortal(fmt::format(
      "coyote: {}, fitted to the mean of two calls without an operation in [accl-issues]; xrt: {}, the "
      "middle of the published 50 to 100 [xrt-issues]",
      in_microseconds(kCoyoteCall), in_microseconds(kXrtCall)));
  rows.add(choice("profile", "seed", {"seed", "dump", "gen2"},
                  "seed: the text of [accl]; dump: its register dump; gen2: read in [accl-2025]",
                  "generation and register layout"));
  rows.add(choice("transport", "profile", {"profile", "tcp", "udp", "rdma"},
                  "[accl]: TCP or UDP; rdma: [accl-2025] only",
                  "transport protocol; profile: tcp, for gen2 rdma"));
  rows(spec.clock, "clock", "MHz", {1, 1000}, "[accl]: up to 250 MHz",
       "clock of the engine and its control processor");
  rows(spec.link, "link", "Gb/s", kGigabits, "published [accl-plus]: 100 GbE", "rate of the network");
  rows.add(real("latency", "ns", in_nanoseconds(kLatency), kNanoseconds,
                "fitted to [vnx]: 1380 ns of 64 B over UDP through one switch",
                "one-way latency of the network, besides engines and serialisation"));
  rows.add(real("stack_latency", "ns", in_nanoseconds(kStackLatency), kNanoseconds,
                "inferred: TCP and RDMA stacks need another 0.5 to 1.5 us",
                "additional one-way latency of tcp and rdma"));
  rows.add(real("tcp_bandwidth", "Gb/s", in_gigabits(spec.engine), kGigabits,
                "published [easynet]: 91 to 92 Gb/s between two FPGAs", "bandwidth of the TCP engine"));
  rows.add(
      integer("tcp_buffer", "B", spec.transmit_buffer, {0, 1 << 30},
              "inferred from [accl-h2rc]: 64 MB, for 1000 connections [accl-plus]",
              "transmit buffer of a connection; a send is complete once its remainder is in the buffer"));
  rows.add(real("rdma_bandwidth", "Gb/s", in_gigabits(kRdmaBandwidth), kGigabits,
                "published [accl-plus]: 95 Gb/s peak", "bandwidth of the RDMA engine"));
  rows(spec.retransmission, "retransmission", "us", {1, 1e7}, "assumed",
       "retransmission timer of the TCP and RDMA engines");
  rows(spec.retries, "retries", "1", {0, 1000}, "assumed",
       "retransmissions of one packet before the engine gives up");
  rows(spec.rx_buffers, "rx_buffers", "1", {1, 1000}, "[accl]: its dump; the benchmark of [accl-2025]",
       "RX buffers of a device");
  rows.add(integer("rx_buffer_bytes", "B", 0, {0, kGen2MaximumTransferBytes}, buffer_source,
                   "size of an RX buffer and of a segment; 0: that of the profile"));
  rows(spec.window, "window", "1", {1, kMaximumTransactionsInFlight},
       "read in [accl-2021]: the driver sets 10, the firmware 20", "segments in flight, first generation");
  rows.add(
      integer("max_eager", "B", 0, {0, 1e9}, "read in [accl-2025]: the driver uses the RX buffer's size",
              "largest eager collective; larger ones wait for the receiver's address; 0: rx_buffer_bytes"));
  rows(tuning.bcast_flat_ranks, "bcast_flat_ranks", "1", {0, 1e6}, "read in [accl-2025]: the driver's",
       "most ranks of a flat bcast by rendezvous; with more, it is a tree");
  rows(tuning.reduce_flat_ranks, "reduce_flat_ranks", "1", {0, 1e6}, "read in [accl-2025]: the driver's",
       "most ranks of a flat reduce by rendezvous; with more, and more than reduce_flat_bytes, it is a tree");
  rows(tuning.reduce_flat_bytes, "reduce_flat_bytes", "B", {0, 1e9},
       "read in [accl-2025]: the driver's, a quarter of the longest rendezvous", "see reduce_flat_ranks");
  rows(tuning.gather_fan_in, "gather_fan_in", "1", {1, 1e6}, "read in [accl-2025]: the driver's",
       "peers at once in a gather of more than gather_flat_bytes");
  rows(tuning.gather_flat_bytes, "gather_flat_bytes", "B", {0, 1e9}, "read in [accl-2025]: the driver's",
       "see gather_fan_in");
  rows.add(integer("timeout", "polls", kTimeoutPolls, {1, 4294967295.0},
                   "published set-up of [accl-h2rc]: 10 000 000 polls",
                   "time after which a receive gives up a lost message"));
  rows.add(integer("exchange_memory", "B", 0, {0, 16777216},
                   "0: the layout of [accl]; other values are hypothetical",
                   "memory for descriptors and communicators"));
  rows(firmware.fetch, "fw_fetch", "cycles", kCycles,
       "fitted to [accl-issues]: 235 cycles of a configuration call", "time to fetch and dispatch a call");
  rows(firmware.finish, "fw_finish", "cycles", kCycles,
       "fitted to [accl-issues]: 235 cycles of a configuration call", "time to complete a call");
  rows(firmware.axi, "fw_axi", "cycles", kCycles, "inferred: 7 to 9",
       "time of one access to a register of a peripheral");
  rows(firmware.word, "fw_word", "cycles", kCycles, "inferred: stream instructions of the MicroBlaze",
       "time of one word of a command");
  rows(firmware.step, "fw_step", "cycles", kCycles, "inferred: branches around a group of commands",
       "time of one step of the firmware");
  rows(firmware.interrupt, "fw_interrupt", "cycles", kCycles, "inferred: 150 to 300",
       "time to serve a filled RX buffer, first generation");
  rows(firmware.move, "fw_move", "cycles", kCycles, "inferred: 40 to 80, including its 7 to 12 words",
       "time to issue a move, besides its words, second generation");
  rows(firmware.decode, "mover_decode", "cycles", kCycles, "inferred: 20, and six reads of the communicator",
       "time to decode a move, second generation");
  rows(firmware.retire, "mover_retire", "cycles", kCycles, "inferred",
       "time to retire a move, second generation");
  rows(firmware.enqueue, "rx_engine", "cycles", kCycles, "inferred",
       "time of the hardware to serve a filled RX buffer, second generation");
  rows(spec.memory_cycles, "memory", "cycles", kCycles, "read in [accl-2025]: default of its simulation",
       "latency of the first word of device memory");
  rows(spec.memory_channel, "memory_bandwidth", "Gb/s", kGigabits,
       "published [coyote-issues]: 14746 MB/s through card memory",
       "bandwidth of a channel of device memory");
  rows(spec.memory_channels, "memory_channels", "1", {1, 64}, "[accl]: the memory masters m_axi_0 to m_axi_2",
       "channels of device memory that the engine's DMAs share");
  rows(spec.arithmetic_cycles, "arithmetic", "cycles", kCycles, "inferred: one word per cycle, pipelined",
       "pipeline depth of the arithmetic unit, and of a lane that casts");
  rows(c.host.read, "mmio_read", "ns", kNanoseconds,
       "inferred: one PCIe round trip; XRT on a U250 takes 123 000 (published [xrt-issues])",
       "time of the host to read a register");
  rows(c.host.write, "mmio_write", "ns", kNanoseconds,
       "inferred: a posted PCIe write; XRT on a U250 takes 83 000 (published [xrt-issues])",
       "time of the host to write a register");
  rows(c.host.queue, "queue", "ns", kNanoseconds, "assumed",
       "time of the host to hand a receive to the driver");
  rows.add(choice("driver", "xrt", {"xrt", "coyote", "mapped"},
                  "[accl]: XRT; the second generation's: XRT and Coyote (read in [accl-2025])",
                  "call path of the host: XRT, Coyote's driver, or the engine's registers without software "
                  "(hypothetical)"));
  rows.preset(c.host.call, "call", "us", {0, 1e6}, call_source,
              "time of software around each call on the host; 0: that of the driver, none for mapped");
  rows.add(
      choice("data", "host", {"host", "device"}, "design: programs of MPI have their buffers in host memory",
             "location of the program's buffers; host: copied to the card and back, or with coyote accessed "
             "over PCIe"));
  rows(spec.pcie, "pcie", "Gb/s", kGigabits, "published [coyote-issues]: 12126 MB/s through host memory",
       "bandwidth of the card's PCIe, per direction");
  rows(spec.pcie_latency, "pcie_latency", "ns", kNanoseconds,
       "published [coyote-issues]: 3.1 us for 256 B through host memory; half of that",
       "one-way latency to or from host memory");
}

}  // namespace

const std::vector<Parameter>& parameters() {
  static const auto& table = immortal(rows_of<Configuration>(describe));
  return table;
}

Configuration configuration_of(const Settings& settings) {
  Configuration c;
  c.host.call = call_cost_of(driver_of(settings.choice("driver")));
  ParameterRows rows(settings);
  describe(rows, c);
  const Profile profile = profile_of(settings.choice("profile"));
  c.layout = layout_of(profile);
  if (settings.integer("exchange_memory") > 0)
    c.layout = resized(c.layout, static_cast<std::uint32_t>(settings.integer("exchange_memory")));
  Spec& spec = c.spec;
  spec.generation = c.layout.generation;
  read_network(settings, spec);
  const auto asked = static_cast<std::uint32_t>(settings.integer("rx_buffer_bytes"));
  // Segments are whole words, so that no element is split.
  spec.rx_buffer_bytes =
      asked == 0 ? rx_buffer_bytes_of(spec.generation) : (asked + kWordBytes - 1) / kWordBytes * kWordBytes;
  const auto eager = static_cast<std::uint64_t>(settings.integer("max_eager"));
  spec.max_eager = eager == 0 ? spec.rx_buffer_bytes : eager;
  spec.timeout = spec.polls(settings.integer("timeout"));
  c.rx_buffers = spec.rx_buffers;
  read_host_path(settings, c);
  return c;
}

std::string_view call_interface_text(const Settings& settings) {
  switch (driver_of(settings.choice("driver"))) {
    case DriverKind::kXrt:
      return ", called through XRT";
    case DriverKind::kCoyote:
      return ", called through Coyote";
    default:
      return ", called by registers alone (hypothetical)";
  }
}

std::vector<WithoutEffect> without_effect(const Settings& settings) {
  std::vector<WithoutEffect> found;
  const Configuration c = configuration_of(settings);
  const bool tcp = c.spec.transport == Transport::kTcp;
  const bool udp = c.spec.transport == Transport::kUdp;
  const char* const engine = tcp ? "tcp_bandwidth" : "rdma_bandwidth";
  // Protocols reduce the engine's rate by some percent below its link's: a similar difference is normal.
  constexpr double kNearly = 1.05;
  const Settings defaults = Settings::defaults(parameters());
  const double usual = defaults.real("link") / defaults.real(engine);
  if (udp) {
    found.push_back({"stack_latency", "has no effect over udp, which has no such stack"});
    if (settings.real("clock") * 1e6 * kWordBytes * 8 < settings.real("link") * 1e9)
      found.push_back({"link",
                       "has little effect above the rate of the engine's bus, which is the limit over udp; "
                       "raise clock too"});
  } else if (settings.real("link") > kNearly * std::max(usual, 1.0) * settings.real(engine)) {
    found.push_back(
        {"link", fmt::format("has little effect above {} = {} Gb/s, which is the limit; raise it too", engine,
                             settings.real(engine))});
  } else if (settings.real(engine) >= settings.real("link")) {
    found.push_back(
        {engine, fmt::format("has little effect above link = {} Gb/s, which is the limit; raise it too",
                             settings.real("link"))});
  }
  for (const char* other : {"tcp_bandwidth", "rdma_bandwidth"}) {
    if (udp || std::string_view(other) != engine)
      found.push_back({other, "has no effect with this transport; see profile and transport"});
  }
  return found;
}

}  // namespace offramp::cclo
