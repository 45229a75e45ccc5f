// Each group runs a small program on the machine's model: idle detection, saturated exchanges, clock trees,
// and time steps of PageRank and heat. Published rates belong to different clocks (225 to 250 MHz), so each
// row sets its own. The source of a row states whether the figure was read off a plot. A time step is
// extrapolated from two short ones, because it grows linearly.
#include <fmt/core.h>

#include <array>
#include <cmath>
#include <utility>

#include "backends/tinsel/tinsel.hpp"
#include "simulators/tinsel/clock_tree.hpp"
#include "simulators/tinsel/exchange.hpp"
#include "simulators/tinsel/idle.hpp"
#include "simulators/tinsel/placement.hpp"
#include "simulators/tinsel/stream.hpp"
#include "simulators/world/benchmarks.hpp"

namespace offramp::tinsel {
namespace {

// The other values are the defaults.
MachineSpec machine_at(int megahertz, int columns, int rows) {
  MachineSpec spec;
  spec.clock = Frequency::megahertz(megahertz);
  spec.mesh = {columns, rows};
  return spec;
}

void add_hops(const AddRow& add) {
  add({"hop between boards, 240 MHz", "ns", 625, machine_at(240, 3, 2).hop_latency().nanoseconds(), kFitted,
       "published [tinsel-asap]; `link_cycles`, whole"});
  struct Round {
    int columns;
    int rows;
    double microseconds;
    bool fitted;
  };
  constexpr std::array kRounds = {Round{3, 2, 7.64, kFitted}, Round{3, 4, 10.35, kHeldOut},
                                  Round{6, 4, 15.06, kHeldOut}, Round{6, 6, 19.6, kHeldOut},
                                  Round{6, 8, 23.3, kFitted}};
  for (const Round& round : kRounds)
    add({fmt::format("idle round, {} boards, 240 MHz", round.columns * round.rows), "us", round.microseconds,
         in_microseconds(detect_idle(machine_at(240, round.columns, round.rows), IdleSpec()).round),
         round.fitted,
         round.fitted ? "published [tinsel-asap], read off a plot; `idle_token`, `idle_round`"
                      : "published [tinsel-asap], read off a plot"});
  constexpr const char* kBarrier =
      "published [tinsel-fpl]; the threads' own loop between two calls is assumed";
  add({"barrier, 6 boards, 250 MHz", "us", 25,
       in_microseconds(detect_idle(machine_at(250, 3, 2), IdleSpec()).barrier), kHeldOut, kBarrier});
  add({"barrier, 12 boards, 250 MHz", "us", 38.46,
       in_microseconds(detect_idle(machine_at(250, 3, 4), IdleSpec()).barrier), kHeldOut, kBarrier});
}

/// Receives every message at once.
class Drain final : public Software {
 public:
  explicit Drain(Machine& machine) : machine_(machine) { machine.run_on(this); }
  void delivered(const Delivery& delivery) override {
    for (int thread = 0; thread < kThreadsPerMailbox; ++thread) {
      if ((delivery.message.to.mask >> thread & 1U) == 0) continue;
      last = later(last, delivery.pointer[static_cast<std::size_t>(thread)]);
      ++messages;
      machine_.free(delivery.pointer[static_cast<std::size_t>(thread)] + Time::ns(10), delivery.slot);
    }
  }
  Time last;
  std::int64_t messages = 0;

 private:
  Machine& machine_;
};

/// Total receive throughput in bytes per second, in a saturated exchange of messages of one flit.
double saturated(const MachineSpec& spec, const std::vector<std::pair<ThreadLocation, ThreadLocation>>& pairs,
                 int messages) {
  Machine machine(spec);
  Drain drain(machine);
  MailboxMessage message;
  for (int i = 0; i < messages; ++i) {
    for (const auto& [from, to] : pairs) {
      message.to = Address::thread(to);
      machine.send({}, from, message);
    }
  }
  static_cast<void>(machine.run());
  machine.run_on(nullptr);
  return static_cast<double>(drain.messages) * kFlitBytes / drain.last.seconds();
}

/// Each mailbox of a board exchanges with its neighbours. Border mailboxes have fewer neighbours here than on
/// the machine, where the mesh continues, so the throughput is scaled to complete ones.
double network_on_chip() {
  const MachineSpec spec = machine_at(250, 1, 1);
  std::vector<std::pair<ThreadLocation, ThreadLocation>> pairs;
  const auto add = [&pairs](int from, int to) {
    pairs.emplace_back(ThreadLocation{0, static_cast<std::uint8_t>(from), 0},
                       ThreadLocation{0, static_cast<std::uint8_t>(to), 0});
  };
  for (int box = 0; box < kMailboxes; ++box) {
    if (box % kMailboxColumns > 0) add(box, box - 1);
    if (box % kMailboxColumns + 1 < kMailboxColumns) add(box, box + 1);
    if (box >= kMailboxColumns) add(box, box - kMailboxColumns);
    if (box + kMailboxColumns < kMailboxes) add(box, box + kMailboxColumns);
  }
  const auto neighbours = static_cast<double>(pairs.size());
  return saturated(spec, pairs, 400) / neighbours * kLinks * kMailboxes / 1e9;
}

/// All links of 3 x 4 boards, in both directions; flits had 24 bytes then.
double all_links() {
  MachineSpec spec = machine_at(250, 3, 4);
  spec.flit_link_bytes = 24;
  std::vector<std::pair<ThreadLocation, ThreadLocation>> pairs;
  for (int board = 0; board < spec.mesh.boards(); ++board) {
    for (int d = 0; d < kLinks; ++d) {
      const int next = spec.mesh.neighbour(board, static_cast<Direction>(d));
      if (next < 0) continue;
      pairs.emplace_back(
          ThreadLocation{static_cast<std::uint16_t>(board), static_cast<std::uint8_t>(d), 0},
          ThreadLocation{static_cast<std::uint16_t>(next), static_cast<std::uint8_t>(4 + d), 0});
    }
  }
  return saturated(spec, pairs, 4000) / kFlitBytes * spec.flit_link_bytes / 1e9;
}

void add_rates(const AddRow& add) {
  add({"network on chip, one board, 250 MHz", "GB/s", 14.4, network_on_chip(), kFitted,
       "published [tinsel-fpl]; `noc_turn`, in whole cycles"});
  add({"the links of 12 boards, 250 MHz", "GB/s", 32.1, all_links(), kFitted,
       "published [tinsel-fpl]; `link_gap`, with flits of 24 bytes"});
  // The caches' share: 32 beats in flight per DRAM; the routers may have 16 of them.
  const MachineSpec board = machine_at(250, 1, 1);
  constexpr int kInFlight = 32;
  const double dram =
      kRams * kInFlight * static_cast<double>(kBeatBytes) / board.cycles(board.dram_cycles).seconds() / 1e9;
  add({"both DRAMs of a board, 32 B reads, 250 MHz", "GB/s", 7.8, dram, kHeldOut,
       "published [tinsel-fpl]; `dram_latency` with 32 beats in flight: 66 cycles would meet it"});
}

constexpr int kTreeClock = 225;

// Without the start that the published times include.
Time clock_tree(int depth, int fan_out) {
  Machine machine(machine_at(kTreeClock, 3, 2));
  ClockTreeSpec tree{.depth = depth, .fan_out = fan_out};
  return run_clock_tree(machine, tree);
}

void add_trees(const AddRow& add) {
  struct Tree {
    int depth;
    int fan_out;
    double microseconds;
  };
  // The complete published table, up to the number of threads of the largest machine.
  constexpr Tree kTrees[] = {
      {1, 1, 18.14},   {2, 1, 30.64},   {3, 1, 42.29},  {4, 1, 54.47},   {5, 1, 66.1},    {6, 1, 78.36},
      {7, 1, 87.6},    {8, 1, 97.9},    {9, 1, 107.92}, {10, 1, 119.47}, {12, 1, 140},    {14, 1, 160.9},
      {16, 1, 181.6},  {1, 2, 19.7},    {2, 2, 33.31},  {3, 2, 50.71},   {4, 2, 56.55},   {5, 2, 69.19},
      {6, 2, 80.6},    {7, 2, 95.36},   {8, 2, 104.92}, {9, 2, 117.2},   {10, 2, 134.98}, {12, 2, 161.18},
      {14, 2, 279.78}, {1, 3, 21.36},   {2, 3, 35.72},  {3, 3, 48.24},   {4, 3, 63.59},   {5, 3, 76.44},
      {6, 3, 89.94},   {7, 3, 104.51},  {8, 3, 125.1},  {9, 3, 221.93},  {1, 4, 22.91},   {2, 4, 37.49},
      {3, 4, 53.99},   {4, 4, 68.58},   {5, 4, 84.28},  {6, 4, 100.16},  {7, 4, 146.52},  {1, 5, 24.22},
      {2, 5, 40.79},   {3, 5, 56.88},   {4, 5, 74.43},  {5, 5, 92.27},   {6, 5, 138.89},  {1, 6, 31.47},
      {2, 6, 43.42},   {3, 6, 62.2},    {4, 6, 80.14},  {5, 6, 106.68},  {1, 7, 27.38},   {2, 7, 45.96},
      {3, 7, 66.07},   {4, 7, 87.38},   {5, 7, 131.92}, {1, 8, 29.21},   {2, 8, 54.5},    {3, 8, 77.11},
      {4, 8, 99.33},   {5, 8, 176.64},  {1, 9, 30.46},  {2, 9, 57.44},   {3, 9, 80.84},   {4, 9, 108.8},
      {1, 10, 33.48},  {2, 10, 60.96},  {3, 10, 85.7},  {4, 10, 119.39}, {1, 12, 42.08},  {2, 12, 72.34},
      {3, 12, 94.42},  {4, 12, 155.99}, {1, 14, 46.34}, {2, 14, 74.2},   {3, 14, 105.37}, {4, 14, 215.28},
      {1, 16, 48.02},  {2, 16, 84.24},  {3, 16, 118.22}};
  // Before and after the tree, the root's thread leaves the barrier, iterates over its devices, and notifies
  // the host; none of that is in the network.
  const double start = kTrees[0].microseconds - in_microseconds(clock_tree(1, 1));
  for (const Tree& tree : kTrees) {
    const std::int64_t vertices = vertices_of({tree.depth, tree.fan_out});
    const char* source = "published [tinsel-src], the application's results";
    if (&tree == &kTrees[0]) source = "published [tinsel-src]; the start of all trees is chosen after it";
    if (vertices > std::int64_t{kBoxColumns} * kBoxRows * kThreadsPerBoard)
      source =
          "published [tinsel-src]; a thread has several vertices here: the boards that were used are not, "
          "nor what a thread's caches miss";
    add({fmt::format("clock tree in software, depth {}, fan-out {}, 225 MHz", tree.depth, tree.fan_out), "us",
         tree.microseconds, start + in_microseconds(clock_tree(tree.depth, tree.fan_out)),
         &tree == &kTrees[0], source, "", true});
  }
  add({"per child of the root", "us", 1.62, in_microseconds(clock_tree(1, 10) - clock_tree(1, 2)) / 8,
       kFitted, "published [tinsel-src], a slope; `receive_call`"});
  add({"per level", "us", 10.8, in_microseconds(clock_tree(8, 1) - clock_tree(2, 1)) / 6, kFitted,
       "published [tinsel-src], a slope; `wake`"});
  add({"clock trees in software per second, 4369 vertices", "1/s", 0,
       1e6 / (start + in_microseconds(clock_tree(3, 16))), kHeldOut,
       "published [tinsel-asap], read off a plot, of 6 to 48 boards", "10000 to 7000"});
}

/// A time step in which every thread sends and receives this many messages. It grows linearly, so it is
/// extrapolated from two short ones.
Time step_of(Machine& machine, std::int64_t messages, int crossing) {
  constexpr int kShort = 6;
  ExchangeSpec exchange;
  exchange.crossing = crossing;
  exchange.messages = kShort;
  const Time first = run_exchange(machine, exchange);
  exchange.messages = 2 * kShort;
  const Time second = run_exchange(machine, exchange);
  return first + Time::ps((second - first).count() * (messages - kShort) / kShort);
}

/// Messages of 16 bytes: the published on-chip traffic equals five messages per edge within the published
/// time.
void add_page_rank(const AddRow& add) {
  constexpr double kEdges = 200e6;
  constexpr int kIterations = 5;
  constexpr int kBoards = 12;
  constexpr int kCrossing = 23;  // per cent of inter-board traffic, published
  Machine machine(machine_at(250, 3, 4));
  // One message per edge and iteration, spread over all threads.
  const double messages = kEdges / (kBoards * kThreadsPerBoard);
  const double seconds = step_of(machine, std::llround(messages), kCrossing).seconds() * kIterations;
  const char* source =
      "published [tinsel-fpl]; five iterations inferred from its traffic; threads were busy for 56 % of the "
      "time; here they never wait for caches";
  add({"PageRank, 2M vertices, 200M edges, synchronous, 12 boards, 250 MHz", "s", 0.49, seconds, kHeldOut,
       source});
  add({"its traffic on chip", "GB/s", 32.2, kEdges * kIterations * kFlitBytes / seconds / 1e9, kHeldOut,
       source});
}

/// Per step, hardware detection needs three rounds over 48 boards, and software three trees.
void add_heat(const AddRow& add) {
  constexpr int kClock = 240;
  Machine all(machine_at(kClock, kMaximumColumns, kMaximumRows));
  constexpr ClockTreeSpec kTree{4, 14};
  const Time software = run_clock_tree(all, kTree) * 3;
  add({"clock trees in software per second, 48 boards, 240 MHz", "1/s", 7000, 3 / software.seconds(),
       kHeldOut,
       "published [tinsel-asap], read off a plot; a tree of 41371 vertices here; the authors' tree is not "
       "known"});
  const Time hardware = detect_idle(machine_at(kClock, kMaximumColumns, kMaximumRows), IdleSpec()).round * 3;
  struct Row {
    int fan_out;
    std::array<double, 5> gain;
  };
  constexpr std::array<int, 5> kVertices = {1, 7, 13, 19, 25};  // per thread
  constexpr std::array kRows = {Row{5, {4.4, 2.55, 2, 1.75, 1.6}}, Row{25, {2.5, 1.5, 1.3, 1.2, 1.2}},
                                Row{50, {1.6, 1.2, 1.1, 1.1, 1.1}}};
  // Messages stay on a board here, so one board is enough.
  Machine board(machine_at(kClock, 1, 1));
  for (const Row& row : kRows) {
    for (std::size_t i = 0; i < kVertices.size(); ++i) {
      const Time step = step_of(board, std::int64_t{row.fan_out} * kVertices[i], 0);
      add({fmt::format("heat, hardware over software termination, fan-out {}, {}K vertices", row.fan_out,
                       48 * kVertices[i]),
           "x", row.gain[i], (step + software).seconds() / (step + hardware).seconds(), kHeldOut,
           "published [tinsel-asap], read off a plot, the software's side predicted by the authors"});
    }
  }
}

}  // namespace

ValidationRows validation() {
  return rows_by({add_hops, add_rates, add_trees, add_page_rank, add_heat});
}

}  // namespace offramp::tinsel
