// The model against the published measurements of the machine (fact sheet, section 4.1). Fitted figures say
// so.
#include <gtest/gtest.h>

#include <cmath>

#include "simulators/tinsel/idle.hpp"
#include "simulators/tinsel/stream.hpp"
#include "tests/tinsel/support.hpp"

namespace offramp::tinsel {
namespace {

MachineSpec at_megahertz(int clock, int columns, int rows) {
  MachineSpec spec = small_machine(columns, rows);
  spec.clock = Frequency::megahertz(clock);
  return spec;
}

void expect_within(const char* what, double model, double published, double part) {
  std::printf("%-40s published %10.3f model %10.3f error %+6.1f %%\n", what, published, model,
              100 * (model / published - 1));
  EXPECT_LE(std::abs(model / published - 1), part) << what << ": " << model << " for " << published;
}

TEST(TinselPublished, HopLatency) {  // P1
  expect_within("P1 hop, ns", at_megahertz(240, 3, 2).hop_latency().nanoseconds(), 625, 0.01);
}

TEST(TinselPublished, IdleRounds) {  // P3: 6 and 48 boards fitted, the others held out
  const struct {
    int columns;
    int rows;
    double microseconds;
  } rows[] = {{3, 2, 7.64}, {3, 4, 10.35}, {6, 4, 15.06}, {6, 6, 19.6}, {6, 8, 23.3}};
  for (const auto& row : rows) {
    const MachineSpec spec = at_megahertz(240, row.columns, row.rows);
    const double model = idle_round(spec, IdleSpec()).nanoseconds() / 1000;
    expect_within("P3 idle round, us", model, row.microseconds, 0.10);
  }
}

TEST(TinselPublished, Barriers) {  // P5, held out
  expect_within("P5 barrier 3x2, us", idle_barrier(at_megahertz(250, 3, 2), IdleSpec()).nanoseconds() / 1000,
                25, 0.20);
  expect_within("P5 barrier 3x4, us", idle_barrier(at_megahertz(250, 3, 4), IdleSpec()).nanoseconds() / 1000,
                1000 / 26.0, 0.20);
}

/// Bytes per second that all receivers together get in a saturated exchange of one-flit messages.
double rate(Machine& machine, const std::vector<std::pair<Place, Place>>& pairs, int messages, int flits) {
  Recorder recorder(machine);
  recorder.hold = Time::ns(10);
  for (int i = 0; i < messages; ++i) {
    for (const auto& [from, to] : pairs) {
      Message message;
      message.to = Address::thread(to);
      message.flits = static_cast<std::uint8_t>(flits);
      machine.send({}, from, message);
    }
  }
  EXPECT_TRUE(machine.run());
  return static_cast<double>(recorder.receipts.size()) * flits * kFlitBytes / recorder.last.seconds();
}

TEST(TinselPublished, NetworkOnChip) {  // P6, fitted (noc_turn)
  Machine machine(at_megahertz(250, 1, 1));
  const Mesh& mesh = machine.spec().mesh;
  std::vector<std::pair<Place, Place>> pairs;
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 4; ++x) {
      const Place from = at(mesh, 0, 0, x, y);
      if (x > 0) pairs.emplace_back(from, at(mesh, 0, 0, x - 1, y));
      if (x < 3) pairs.emplace_back(from, at(mesh, 0, 0, x + 1, y));
      if (y > 0) pairs.emplace_back(from, at(mesh, 0, 0, x, y - 1));
      if (y < 3) pairs.emplace_back(from, at(mesh, 0, 0, x, y + 1));
    }
  }
  // Border mailboxes have fewer neighbours here than on the machine, where the mesh goes on: count the full
  // ones.
  const double per_mailbox = rate(machine, pairs, 400, 1) / 48 * 4;
  expect_within("P6 network on chip per board, GB/s", per_mailbox * 16 / 1e9, 14.4, 0.15);
}

TEST(TinselPublished, Links) {  // P7, fitted (link_gap); flits of 24 bytes in that version
  MachineSpec spec = at_megahertz(250, 3, 4);
  spec.flit_link_bytes = 24;
  Machine machine(spec);
  const Mesh& mesh = spec.mesh;
  std::vector<std::pair<Place, Place>> pairs;
  int links = 0;
  for (int board = 0; board < mesh.boards(); ++board) {
    for (int d = 0; d < kLinks; ++d) {
      const int next = mesh.neighbour(board, static_cast<Direction>(d));
      if (next < 0) continue;
      ++links;
      pairs.emplace_back(Place{static_cast<std::uint16_t>(board), static_cast<std::uint8_t>(d), 0},
                         Place{static_cast<std::uint16_t>(next), static_cast<std::uint8_t>(4 + d), 0});
    }
  }
  EXPECT_EQ(links, 34);
  const double payload = rate(machine, pairs, 4000, 1);
  expect_within("P7 all links, GB/s", payload / kFlitBytes * 24 / 1e9, 32.1, 0.05);
}

/// The software clock tree of P10: a tick goes down a tree of threads, acknowledgements come back up. One
/// thread per vertex, one send per child.
class ClockTree final : public Software {
 public:
  ClockTree(Machine& machine, int depth, int fan_out) : machine_(machine), fan_out_(fan_out) {
    int level = 1;
    for (int d = 0; d <= depth; ++d, level *= fan_out) vertices_ += level;
    inner_ = vertices_ - level / fan_out;
    threads_.resize(static_cast<std::size_t>(vertices_));
    acknowledged_.resize(threads_.size());
    machine.run_on(this);
  }

  double microseconds() {
    tick(0, {});
    EXPECT_TRUE(machine_.run());
    return done_.nanoseconds() / 1000;
  }

  void delivered(const Delivery& delivery) override {
    const Message& m = delivery.message;
    const int vertex = static_cast<int>(m.words[1]);
    Arbiter& thread = threads_[static_cast<std::size_t>(vertex)];
    const Place place = place_of(vertex, Policy::kDense, machine_.spec().mesh);
    const Time pointer = delivery.pointer[place.thread];
    const bool asleep = thread.free_at() <= pointer;
    const int instructions = 12 + 2 * kWordsPerFlit + 26 + (asleep ? 82 : 0);  // the backend's defaults
    const Time at = thread.acquire(pointer, cycles(instructions)).end;
    machine_.free(at, delivery.slot);
    if (m.words[2] == 0) return vertex < inner_ ? tick(vertex, at) : acknowledge(vertex, at);
    if (++acknowledged_[static_cast<std::size_t>(vertex)] < fan_out_) return;
    vertex == 0 ? void(done_ = at) : acknowledge(vertex, at);
  }

 private:
  [[nodiscard]] Time cycles(int instructions) const { return machine_.spec().cycles(8 * instructions); }
  void tick(int vertex, Time at) {
    for (int c = 1; c <= fan_out_; ++c) send(vertex, vertex * fan_out_ + c, 0, at);
  }
  void acknowledge(int vertex, Time at) { send(vertex, (vertex - 1) / fan_out_, 1, at); }
  void send(int from, int to, std::uint32_t kind, Time at) {
    const Mesh& mesh = machine_.spec().mesh;
    Message message;
    message.to = Address::thread(place_of(to, Policy::kDense, mesh));
    message.words[1] = static_cast<std::uint32_t>(to);
    message.words[2] = kind;
    const Time ready =
        threads_[static_cast<std::size_t>(from)].acquire(at, cycles(12 + 2 * kWordsPerFlit + 3)).end;
    machine_.send(ready, place_of(from, Policy::kDense, mesh), message);
  }

  Machine& machine_;
  int fan_out_;
  int vertices_ = 0;
  int inner_ = 0;
  std::vector<Arbiter> threads_;
  std::vector<int> acknowledged_;
  Time done_;
};

double clock_tree(int depth, int fan_out) {
  Machine machine(at_megahertz(225, 3, 2));
  return ClockTree(machine, depth, fan_out).microseconds();
}

TEST(TinselPublished, SoftwareTrees) {  // P10: both slopes fitted, the large tree held out
  expect_within("P10 per child, us", (clock_tree(1, 10) - clock_tree(1, 2)) / 8, 1.62, 0.15);
  expect_within("P10 per level, us", (clock_tree(8, 1) - clock_tree(2, 1)) / 6, 10.8, 0.15);
  // Far off: the reference's threads overlap more than the model's.
  expect_within("P10 depth 3, fan-out 16, us", clock_tree(3, 16), 118, 0.45);
}

}  // namespace
}  // namespace offramp::tinsel
