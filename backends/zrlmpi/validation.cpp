// Cycles of the engine come from runs of [zrlmpi-src] in a simulation without shell and wire; bare() models
// that set-up. Rows marked as a comment repeat a number that the source's authors wrote beside it. Network
// trips are found by adding 1 us to the line and observing by how much the end moves.
#include <fmt/core.h>

#include <array>

#include "backends/zrlmpi/zrlmpi.hpp"
#include "simulators/world/benchmarks.hpp"
#include "simulators/zrlmpi/exchange.hpp"
#include "simulators/zrlmpi/segmentation.hpp"

namespace offramp::zrlmpi {
namespace {

constexpr const char* kRun = "[zrlmpi-src], run";
constexpr const char* kComment = "read in [zrlmpi-src]: a comment";
constexpr const char* kInferred = "inferred from [zrlmpi-src]";

/// The second version without shell and wire, as in a cycle simulation of its source.
MpeSpec bare(int bus_bits) {
  MpeSpec spec{.bus_bits = bus_bits, .direct = true};
  spec.dram_datagram = {};
  return spec;
}

ExchangeResult run(const MpeSpec& spec, std::uint64_t bytes) {
  ExchangeRequest request;
  request.size = bytes;
  return ExchangeRunner(spec).run(request);
}

double cycles(const MpeSpec& spec, Time time) {
  return static_cast<double>(spec.clock.cycles_in(time));
}

/// Additional time of a full datagram, in a message of about this size.
Time per_datagram(const MpeSpec& spec, std::uint64_t bytes) {
  constexpr int kMore = 20;
  const Time longer = run(spec, bytes + std::uint64_t{kMore} * kDatagramBytes).complete;
  return Time::ps((longer - run(spec, bytes).complete).count() / kMore);
}

double megabytes_per_second(Time datagram) {
  return kDatagramBytes / datagram.seconds() / 1e6;
}

void add_cycles(const AddRow& add) {
  struct Point {
    std::uint64_t bytes;
    double cycles;
  };
  constexpr std::array kPoints = {Point{4, 52},       Point{16, 56},        Point{64, 68},
                                  Point{256, 116},    Point{1024, 308},     Point{1384, 396},
                                  Point{2800, 576},   Point{4096, 742},     Point{16384, 2304},
                                  Point{65536, 8554}, Point{262144, 33546}, Point{1048576, 133516}};
  const MpeSpec spec = bare(kSecondBusBits);
  for (const Point point : kPoints)
    add({fmt::format("sender done, {} B, bare engine", point.bytes), "cycles", point.cycles,
         cycles(spec, run(spec, point.bytes).complete), kFitted, kRun});
  const ExchangeResult small = run(spec, 16);
  add({"receiver done before the sender", "cycles", 4, cycles(spec, small.complete - small.last), kFitted,
       kRun});
}

void add_network(const AddRow& add) {
  MpeSpec far;
  far.line.latency += Time::us(1);
  const ExchangeResult a = run(MpeSpec(), 16);
  const ExchangeResult b = run(far, 16);
  add({"network trips until the sender is done", "", 4, (b.complete - a.complete).seconds() * 1e6, kHeldOut,
       kRun});
  add({"network trips until the receiver is done", "", 3, (b.last - a.last).seconds() * 1e6, kHeldOut, kRun});
  struct Cut {
    std::uint64_t words;
    double datagrams;
  };
  for (const Cut cut : {Cut{346, 1}, Cut{347, 2}, Cut{700, 2}, Cut{1054, 3}})
    add({fmt::format("datagrams of {} words", cut.words), "", cut.datagrams,
         static_cast<double>(cut_message(MpeSpec(), cut.words * kWordBytes).datagrams), kHeldOut, kRun});
  add({"full datagram on the wire", "ns", 1185.6, MpeSpec().line_time(kDatagramBytes).nanoseconds(), kHeldOut,
       kInferred});
}

void add_rates(const AddRow& add) {
  constexpr std::uint64_t kBytes = 100 * kDatagramBytes;  // still fits static memory
  for (const int bits : {8, 32, 64}) {
    const MpeSpec spec = bare(bits);
    const double ideal = static_cast<double>(spec.clock.count()) * spec.bus_bits / 8e6;
    add({fmt::format("rate of the engine, {} bit", bits), "MB/s", ideal,
         megabytes_per_second(per_datagram(spec, kBytes)), kHeldOut,
         "inferred from [zrlmpi-src]: a word of the bus per cycle; the engine needs more for a datagram's "
         "end"});
  }
  const MpeSpec second = bare(kSecondBusBits);
  add({"rate of the bare 64-bit engine, long messages", "MB/s", 1227,
       megabytes_per_second(per_datagram(second, 1 << 20)), kFitted, kRun});
  add({"full datagram through the engine", "ns", 1133, per_datagram(second, kBytes).nanoseconds(), kHeldOut,
       "a comment of [zrlmpi-src]: 177 lines; the run of the source takes 180.3 cycles"});
  MpeSpec whole;
  whole.bus_bits = kSecondBusBits;
  add({"full datagram to the role's DRAM, mpe2", "ns", 2300, per_datagram(whole, 1 << 20).nanoseconds(),
       kFitted, kComment});
  add({"link of 10 GbE below the headers, mpe2", "Gb/s", 9.87,
       megabytes_per_second(per_datagram(whole, kDatagramBytes)) * 8e-3, kHeldOut,
       "a commented constant of [dosa], for frames of 1518 B; the shell's have 1482 with 1416 of payload"});
}

void add_timers(const AddRow& add) {
  constexpr std::array kWaits = {200.0, 2200.0, 4200.0};
  for (std::size_t i = 0; i < kWaits.size(); ++i)
    add({fmt::format("wait {} for CLEAR_TO_SEND", i + 1), "ms", kWaits[i],
         MpeSpec().timeout(0, Awaited::kAnswer, static_cast<int>(i)).seconds() * 1e3, kFitted,
         "read in [zrlmpi-src], at II = 2"});
}

}  // namespace

ValidationRows validation() {
  return rows_by({add_cycles, add_network, add_rates, add_timers});
}

}  // namespace offramp::zrlmpi
