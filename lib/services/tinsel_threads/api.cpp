// Implements the functions of include/offramp/tinsel.h.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <optional>
#include <utility>

#include "lib/services/tinsel_threads/program.hpp"
#include "offramp/tinsel.h"
#include "simulators/tinsel/placement.hpp"

using namespace offramp::tinsel;

struct tinselMachine {
  tinselMachine(const MachineSpec& spec, const Program::Options& of_runs)
      : machine(spec), options(of_runs), open(static_cast<std::size_t>(spec.mesh.boards())) {}

  Machine machine;
  Program::Options options;
  std::vector<std::vector<Record>> open;  // by board, the records of its next key
  std::string error;
  offramp::Time elapsed;
  std::uint64_t idle_rounds = 0;
};

namespace {

constexpr std::size_t kMostRecords = 1 << 24;  // in a list
constexpr std::size_t kLeastStack = 16384;
constexpr std::size_t kMostStack = std::size_t{1} << 26U;
constexpr std::uint32_t kMostMegahertz = 1000;
constexpr std::uint32_t kMostDramCycles = 10000;

int failed(tinselMachine* machine, std::string why) {
  machine->error = std::move(why);
  return -1;
}

std::optional<int> board_at(const tinselMachine* machine, std::uint32_t x, std::uint32_t y) {
  const Mesh& mesh = machine->machine.spec().mesh;
  if (x >= static_cast<std::uint32_t>(mesh.columns) || y >= static_cast<std::uint32_t>(mesh.rows)) return {};
  return mesh.at(static_cast<int>(x), static_cast<int>(y));
}

std::optional<ThreadLocation> place_at(const tinselMachine* machine, std::uint32_t id) {
  const auto board = board_at(machine, id >> 10U & 7U, id >> 13U);
  if (!board) return {};
  return ThreadLocation{static_cast<std::uint16_t>(*board), static_cast<std::uint8_t>(id >> 6U & 15U),
                        static_cast<std::uint8_t>(id & 63U)};
}

/// Converts exceptions for lack of memory to errors.
int guarded(tinselMachine* machine, auto action) {
  try {
    return action();
  } catch (const std::bad_alloc&) {
    return failed(machine, "no memory");
  }
}

int add(tinselMachine* machine, std::optional<int> board, const Record& record, const char* call) {
  if (!board) return failed(machine, fmt::format("{}: the board does not exist", call));
  std::vector<Record>& list = machine->open[static_cast<std::size_t>(*board)];
  if (list.size() >= kMostRecords) return failed(machine, fmt::format("{}: too many records", call));
  return guarded(machine, [&] { return list.push_back(record), 0; });
}

int add_to_thread(tinselMachine* machine, std::uint32_t dest, const char* call, auto make) {
  const auto place = place_at(machine, dest);
  if (!place) return failed(machine, fmt::format("{}: thread {:#x} does not exist", call, dest));
  return add(machine, place->board, make(*place), call);
}

Program& running(const char* call) {
  if (Program* const program = Program::running()) return *program;
  std::fprintf(stderr, "offramp: %s is for threads of a program within tinselRun()\n", call);
  std::abort();
}

}  // namespace

extern "C" {

tinselMachine* tinselCreate(const tinselOptions* options) {
  const tinselOptions given = options != nullptr ? *options : tinselOptions{};
  MachineSpec spec;
  const std::uint32_t columns = given.boardsX == 0 ? kBoxColumns : given.boardsX;
  const std::uint32_t rows = given.boardsY == 0 ? kBoxRows : given.boardsY;
  const std::size_t stack = given.stackBytes == 0 ? Program::Options().stack_bytes : given.stackBytes;
  if (columns > kMaximumColumns || rows > kMaximumRows || given.clockMHz > kMostMegahertz ||
      given.dramCycles > kMostDramCycles || stack < kLeastStack || stack > kMostStack)
    return nullptr;
  spec.mesh = {static_cast<int>(columns), static_cast<int>(rows)};
  if (given.clockMHz > 0) spec.clock = offramp::Frequency::megahertz(given.clockMHz);
  if (given.dramCycles > 0) spec.dram_cycles = static_cast<int>(given.dramCycles);
  Program::Options of_runs{stack};
  const auto most = static_cast<std::uint64_t>(spec.clock.cycles_in(kLongest));
  if (given.maxCycles > 0 && given.maxCycles < most)
    of_runs.limit = spec.cycles(static_cast<std::int64_t>(given.maxCycles));
  try {
    return new tinselMachine(spec, of_runs);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void tinselDestroy(tinselMachine* machine) {
  delete machine;
}

const char* tinselError(const tinselMachine* machine) {
  return machine->error.c_str();
}

int tinselAddURM1(tinselMachine* machine, uint32_t dest, uint32_t localKey) {
  return add_to_thread(machine, dest, "tinselAddURM1", [localKey](const ThreadLocation& place) {
    return Record::urm1(place.mailbox, place.thread, localKey);
  });
}

int tinselAddURM2(tinselMachine* machine, uint32_t dest, uint64_t localKey) {
  return add_to_thread(machine, dest, "tinselAddURM2", [localKey](const ThreadLocation& place) {
    return Record::urm2(place.mailbox, place.thread, localKey);
  });
}

int tinselAddMRM(tinselMachine* machine, uint32_t dest, uint32_t destMaskHigh, uint32_t destMaskLow,
                 uint16_t localKey) {
  const std::uint64_t mask = std::uint64_t{destMaskHigh} << 32U | destMaskLow;
  if (mask == 0) return failed(machine, "tinselAddMRM: no destination thread");
  return add_to_thread(machine, dest, "tinselAddMRM", [localKey, mask](const ThreadLocation& place) {
    return Record::mrm(place.mailbox, localKey, mask);
  });
}

int tinselAddRR(tinselMachine* machine, uint32_t boardX, uint32_t boardY, int direction, uint32_t newKey) {
  const auto board = board_at(machine, boardX, boardY);
  if (direction < TINSEL_NORTH || direction > TINSEL_WEST)
    return failed(machine, fmt::format("tinselAddRR: unknown direction {}", direction));
  const auto way = static_cast<Direction>(direction);
  if (board && machine->machine.spec().mesh.neighbour(*board, way) < 0)
    return failed(machine, "tinselAddRR: no board in that direction");
  return add(machine, board, Record::rr(way, newKey), "tinselAddRR");
}

int tinselGenKey(tinselMachine* machine, uint32_t boardX, uint32_t boardY, uint32_t* key) {
  const auto board = board_at(machine, boardX, boardY);
  if (!board) return failed(machine, "tinselGenKey: the board does not exist");
  const std::vector<Record> records = std::exchange(machine->open[static_cast<std::size_t>(*board)], {});
  return guarded(machine, [&] {
    const Placed placed = machine->machine.tables(*board).place(records);
    if (placed.trap != Trap::kNone)
      return failed(machine, fmt::format("tinselGenKey: {}", to_string(placed.trap)));
    *key = placed.key.encode();
    return 0;
  });
}

int tinselAddTree(tinselMachine* machine, uint32_t boardX, uint32_t boardY, const uint32_t* dests,
                  size_t count, uint16_t localKey, uint32_t* key) {
  const auto root = board_at(machine, boardX, boardY);
  if (!root) return failed(machine, "tinselAddTree: the board does not exist");
  return guarded(machine, [&] {
    std::vector<ThreadLocation> places;
    for (std::size_t i = 0; i < count; ++i) {
      const auto place = place_at(machine, dests[i]);
      if (!place) return failed(machine, fmt::format("tinselAddTree: thread {:#x} does not exist", dests[i]));
      places.push_back(*place);
    }
    const Tree tree = build_tree(machine->machine, *root, places, localKey);
    if (tree.trap != Trap::kNone)
      return failed(machine, fmt::format("tinselAddTree: {}", to_string(tree.trap)));
    *key = tree.key.encode();
    return 0;
  });
}

int tinselRun(tinselMachine* machine, void (*program)(void* argument), void* argument) {
  if (Program::running() != nullptr) return failed(machine, "tinselRun: a program is running in this thread");
  if (program == nullptr) return failed(machine, "tinselRun: there is no program");
  machine->elapsed = {};
  return guarded(machine, [&] {
    Program run(machine->machine, machine->options);
    const bool well = run.run(program, argument);
    machine->elapsed = run.end();
    machine->idle_rounds = run.idle_rounds();
    return well ? 0 : failed(machine, run.error());
  });
}

uint64_t tinselElapsedCycles(const tinselMachine* machine) {
  return static_cast<std::uint64_t>(machine->machine.spec().clock.cycles_in(machine->elapsed));
}

uint64_t tinselElapsedPicoseconds(const tinselMachine* machine) {
  return static_cast<std::uint64_t>(machine->elapsed.count());
}

void tinselGetCounters(const tinselMachine* machine, tinselCounters* counters) {
  const MachineCounters& from = machine->machine.counters();
  const std::uint64_t answers =
      machine->idle_rounds * static_cast<std::uint64_t>(machine->machine.spec().mesh.boards());
  *counters = {from.injected - std::min(from.injected, answers),
               from.delivered - std::min(from.delivered, answers),
               from.pointers - std::min(from.pointers, answers),
               from.lookups,
               from.beats,
               from.records,
               from.link.packets,
               from.slot_waits,
               machine->idle_rounds};
}

uint32_t tinselId(void) {
  return running("tinselId").id();
}

uint32_t tinselCycleCount(void) {
  return static_cast<std::uint32_t>(running("tinselCycleCount").cycles());
}

uint32_t tinselCycleCountU(void) {
  return static_cast<std::uint32_t>(running("tinselCycleCountU").cycles() >> 32U);
}

void tinselWork(uint64_t instructions) {
  running("tinselWork").work(instructions);
}

volatile void* tinselSendSlot(void) {
  return running("tinselSendSlot").send_slot(false);
}

volatile void* tinselSendSlotExtra(void) {
  return running("tinselSendSlotExtra").send_slot(true);
}

int tinselCanSend(void) {
  return running("tinselCanSend").can_send() ? 1 : 0;
}

void tinselSetLen(int n) {
  running("tinselSetLen").set_length(n);
}

void tinselSend(uint32_t dest, volatile void* addr) {
  running("tinselSend").multicast("tinselSend", dest >> 6U, std::uint64_t{1} << (dest & 63U), addr);
}

void tinselMulticast(uint32_t mboxDest, uint32_t destMaskHigh, uint32_t destMaskLow, volatile void* addr) {
  const std::uint64_t mask = std::uint64_t{destMaskHigh} << 32U | destMaskLow;
  running("tinselMulticast").multicast("tinselMulticast", mboxDest, mask, addr);
}

void tinselKeySend(uint32_t key, volatile void* addr) {
  running("tinselKeySend").multicast("tinselKeySend", tinselUseRoutingKey(), key, addr);
}

int tinselCanRecv(void) {
  return running("tinselCanRecv").can_receive() ? 1 : 0;
}

volatile void* tinselRecv(void) {
  return running("tinselRecv").receive();
}

void tinselFree(volatile void* addr) {
  running("tinselFree").free(addr);
}

void tinselWaitUntil(uint32_t condition) {
  running("tinselWaitUntil").wait_until(condition);
}

int tinselIdle(int vote) {
  return running("tinselIdle").idle(vote != 0);
}
}
