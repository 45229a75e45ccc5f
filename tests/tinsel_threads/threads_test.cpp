// Programs for threads, through the C functions: deliveries, detection of idleness, and the messages for
// mistakes.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "offramp/tinsel.h"

namespace {

using Words = std::vector<std::uint32_t>;
constexpr std::uint32_t kClock = 210;

class TinselThreads : public testing::Test {
 protected:
  explicit TinselThreads(tinselOptions options = {}) : machine_(tinselCreate(&options)) {}
  ~TinselThreads() override { tinselDestroy(machine_); }

  void restart(const tinselOptions& options) {
    tinselDestroy(machine_);
    machine_ = tinselCreate(&options);
    ASSERT_NE(machine_, nullptr);
  }
  /// body(id) on every thread.
  int run(std::function<void(std::uint32_t)> body) {
    return tinselRun(
        machine_,
        [](void* argument) { (*static_cast<std::function<void(std::uint32_t)>*>(argument))(tinselId()); },
        &body);
  }
  [[nodiscard]] std::string error() const { return tinselError(machine_); }
  [[nodiscard]] tinselCounters counters() const {
    tinselCounters all;
    tinselGetCounters(machine_, &all);
    return all;
  }

  /// Thread 0 sends `flits` flits along the key; returns what every thread received, in order.
  std::map<std::uint32_t, std::vector<Words>> receipts_of(std::uint32_t key, int flits) {
    std::map<std::uint32_t, std::vector<Words>> all;
    EXPECT_EQ(run([&](std::uint32_t id) {
                if (id == 0) {
                  auto* slot = static_cast<volatile std::uint32_t*>(tinselSendSlot());
                  for (int i = 0; i < 4 * flits; ++i) slot[i] = 0x10U * static_cast<std::uint32_t>(i + 1);
                  tinselSetLen(flits - 1);
                  tinselKeySend(key, slot);
                }
                while (tinselIdle(1) == 0) {
                  const auto* message = static_cast<volatile std::uint32_t*>(tinselRecv());
                  all[id].emplace_back(message, message + 4 * flits);
                  tinselFree(const_cast<volatile std::uint32_t*>(message));
                }
              }),
              0)
        << error();
    return all;
  }

  tinselMachine* machine_;
};

TEST_F(TinselThreads, RecordsOfAllTypesReachTheirThreads) {
  std::uint32_t east = 0;
  ASSERT_EQ(tinselAddMRM(machine_, tinselToAddr(1, 0, 1, 0, 0, 0), 0, 3, 0xf0f0), 0);
  ASSERT_EQ(tinselGenKey(machine_, 1, 0, &east), 0);
  ASSERT_EQ(tinselAddRR(machine_, 0, 0, TINSEL_EAST, east), 0);
  ASSERT_EQ(tinselAddURM1(machine_, tinselToAddr(0, 0, 0, 0, 0, 10), 0xfff), 0);
  ASSERT_EQ(tinselAddURM2(machine_, tinselToAddr(0, 0, 0, 0, 3, 12), 0xff100000ff0), 0);
  std::uint32_t key = 0;
  ASSERT_EQ(tinselGenKey(machine_, 0, 0, &key), 0);
  EXPECT_EQ(key, tinselKey(0, 0x01804000 / 32, 1));
  const auto got = receipts_of(key, 2);
  EXPECT_EQ(got.size(), 4U);
  EXPECT_EQ(got.at(10), (std::vector<Words>{{0xfff, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0x80}}));
  EXPECT_EQ(got.at(60), (std::vector<Words>{{0xff0, 0xff1, 0x30, 0x40, 0x50, 0x60, 0x70, 0x80}}));
  const std::uint32_t there = tinselToAddr(1, 0, 1, 0, 0, 0);
  const std::vector<Words> by_mailbox = {{0xf0f0, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0x80}};
  EXPECT_EQ(got.at(there), by_mailbox);
  EXPECT_EQ(got.at(there + 1), by_mailbox);
  EXPECT_EQ(counters().records, 4U);
  EXPECT_EQ(counters().sent, 1U);
}

TEST_F(TinselThreads, LongListsGetIndirectionsByThemselves) {
  constexpr std::uint32_t kRecords = 20000;
  for (std::uint32_t i = 0; i < kRecords; ++i) ASSERT_EQ(tinselAddURM1(machine_, i % 1024, i), 0);
  std::uint32_t key = 0;
  ASSERT_EQ(tinselGenKey(machine_, 0, 0, &key), 0);
  EXPECT_EQ(key & 31U, 31U);
  const auto got = receipts_of(key, 1);
  std::vector<int> seen(kRecords);
  for (const auto& [id, messages] : got) {
    for (const Words& words : messages) {
      ASSERT_LT(words[0], kRecords);
      EXPECT_EQ(words[0] % 1024, id);
      ++seen[words[0]];
    }
  }
  for (const int times : seen) ASSERT_EQ(times, 1);
  EXPECT_GT(counters().records, kRecords) << "IND counts as a record";
}

TEST_F(TinselThreads, ATreeReachesOtherBoards) {
  std::vector<std::uint32_t> dests;
  for (std::uint32_t y = 0; y < 2; ++y) {
    for (std::uint32_t x = 0; x < 3; ++x) dests.push_back(tinselToAddr(x, y, x, y, 1, x + y));
  }
  std::uint32_t key = 0;
  ASSERT_EQ(tinselAddTree(machine_, 0, 0, dests.data(), dests.size(), 77, &key), 0);
  const auto got = receipts_of(key, 4);
  EXPECT_EQ(got.size(), dests.size());
  for (const std::uint32_t dest : dests) EXPECT_EQ(got.at(dest).at(0)[0], 77U);
  EXPECT_GE(counters().interBoard, 5U);
}

TEST_F(TinselThreads, IdsEncodeTheLocation) {
  std::uint32_t parts[6];
  tinselFromAddr(tinselToAddr(5, 7, 3, 2, 1, 15), &parts[0], &parts[1], &parts[2], &parts[3], &parts[4],
                 &parts[5]);
  EXPECT_EQ((std::vector<std::uint32_t>(parts, parts + 6)), (std::vector<std::uint32_t>{5, 7, 3, 2, 1, 15}));
  std::map<std::uint32_t, int> seen;
  ASSERT_EQ(run([&](std::uint32_t id) { ++seen[id]; }), 0);
  EXPECT_EQ(seen.size(), 6U * 1024);
  EXPECT_TRUE(seen.contains(tinselToAddr(2, 1, 3, 3, 3, 15)));
}

TEST_F(TinselThreads, IdleReturnsWhetherAllHaveVoted) {
  for (const bool against : {false, true}) {
    std::map<int, int> answers;
    ASSERT_EQ(run([&](std::uint32_t id) { ++answers[tinselIdle(!against || id != 3000) > 1 ? 2 : 1]; }), 0)
        << error();
    EXPECT_EQ(answers, (std::map<int, int>{{against ? 1 : 2, 6 * 1024}}));
  }
}

TEST_F(TinselThreads, IdleWaitsUntilTheLastMessageIsFreed) {
  constexpr std::uint64_t kInstructions = 100'000;
  std::uint64_t end = 0;
  ASSERT_EQ(run([&](std::uint32_t id) {
              if (id == 0) tinselSend(2500, tinselSendSlot());
              while (tinselIdle(0) == 0) {
                volatile void* message = tinselRecv();
                tinselWork(kInstructions);
                tinselFree(message);
              }
              if (id == 0) end = tinselCycleCount();
            }),
            0)
      << error();
  EXPECT_GT(end, 8 * kInstructions);
  EXPECT_LT(end, 8 * kInstructions + 50 * kClock) << "within a few rounds";
}

// Messages of a thread that is released early may not reach a thread that is still in the call.
TEST_F(TinselThreads, NoMessageOvertakesTheReleaseOfAllThreads) {
  constexpr int kRounds = 20;
  int early = 0;
  std::map<std::uint32_t, int> round;
  ASSERT_EQ(run([&](std::uint32_t id) {
              if ((id & 1023U) != 0) return;
              for (int i = 0; i < kRounds; ++i) {
                if (i % 6 == static_cast<int>(id >> 10U) % 6) {  // one board sends to all others
                  for (std::uint32_t y = 0; y < 2; ++y) {
                    for (std::uint32_t x = 0; x < 3; ++x) {
                      tinselWaitUntil(TINSEL_CAN_SEND);
                      *static_cast<volatile std::uint32_t*>(tinselSendSlot()) = static_cast<std::uint32_t>(i);
                      tinselSend(tinselToAddr(x, y, 0, 0, 0, 0), tinselSendSlot());
                    }
                  }
                }
                while (tinselIdle(1) == 0) {
                  auto* message = static_cast<volatile std::uint32_t*>(tinselRecv());
                  if (*message != static_cast<std::uint32_t>(i)) ++early;
                  ++round[id];
                  tinselFree(message);
                }
              }
            }),
            0)
      << error();
  EXPECT_EQ(early, 0);
  EXPECT_GT(round[0], 0);
}

// A ring has room for 63 pointers; then the mailbox and the network on chip fill up, and finally the sender
// waits.
TEST_F(TinselThreads, AThreadThatDoesNotReceiveHoldsItsSendersUp) {
  constexpr int kMessages = 100;
  constexpr std::uint64_t kBusy = 100'000;
  int sent = 0;
  int sent_meanwhile = 0;
  int received = 0;
  ASSERT_EQ(run([&](std::uint32_t id) {
              if (id == 0) {
                for (; sent < kMessages; ++sent) {
                  tinselWaitUntil(TINSEL_CAN_SEND);
                  tinselSend(64, tinselSendSlot());
                }
              } else if (id == 64) {
                tinselWork(kBusy);
                (void)tinselCanRecv();
                sent_meanwhile = sent;
                for (; received < kMessages; ++received) {
                  tinselWaitUntil(TINSEL_CAN_RECV);
                  tinselFree(tinselRecv());
                }
              }
            }),
            0)
      << error();
  EXPECT_EQ(received, kMessages);
  EXPECT_NEAR(sent_meanwhile, 63, 5);
}

// [tinsel-fpl]: 40,000 barriers per second on 3 x 2 boards at 250 MHz, 26,000 on 3 x 4.
TEST_F(TinselThreads, BarriersInALoopTakeThePublishedTime) {
  constexpr int kBarriers = 12;
  for (const auto& [rows, published] : {std::pair{2U, 25.0}, {4U, 38.46}}) {
    tinselOptions options{};
    options.boardsY = rows;
    options.clockMHz = 250;
    restart(options);
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    ASSERT_EQ(run([&](std::uint32_t id) {
                for (int i = 0; i < kBarriers; ++i) {
                  (void)tinselIdle(1);
                  if (id == 0) (i == 0 ? first : last) = tinselCycleCount();
                }
              }),
              0);
    const double us = static_cast<double>(last - first) / options.clockMHz / (kBarriers - 1);
    std::printf("barrier on %u boards: %.2f us, published %.2f\n", 3 * rows, us, published);
    EXPECT_NEAR(us, published, 0.2 * published);
  }
}

TEST_F(TinselThreads, RunsAreDeterministic) {
  std::uint32_t key = 0;
  for (std::uint32_t i = 0; i < 1000; ++i) ASSERT_EQ(tinselAddURM1(machine_, i, i), 0);
  ASSERT_EQ(tinselGenKey(machine_, 0, 0, &key), 0);
  (void)receipts_of(key, 4);
  const std::uint64_t first = tinselElapsedPicoseconds(machine_);
  (void)receipts_of(key, 4);
  EXPECT_EQ(tinselElapsedPicoseconds(machine_), first);
  EXPECT_GT(first, 0U);
}

TEST_F(TinselThreads, WorkTakesEightCyclesAnInstructionAndACoreOneForAllItsThreads) {
  ASSERT_EQ(run([](std::uint32_t id) {
              if (id == 0) tinselWork(1000);
            }),
            0);
  EXPECT_EQ(tinselElapsedCycles(machine_), 8000U);
  ASSERT_EQ(run([](std::uint32_t id) {
              if (id < 16) tinselWork(1000);
            }),
            0);
  EXPECT_EQ(tinselElapsedCycles(machine_), 16000U);
}

TEST_F(TinselThreads, MistakesEndTheRunAndAreNamed) {
  const std::vector<std::pair<std::string, std::function<void()>>> mistakes = {
      {"mailbox", [] { tinselSend(tinselToAddr(4, 0, 0, 0, 0, 0), tinselSendSlot()); }},
      {"mailbox", [] { tinselMulticast(1U << 10U, 0, 1, tinselSendSlot()); }},
      {"no destination thread", [] { tinselMulticast(0, 0, 0, tinselSendSlot()); }},
      {"not a send slot",
       [] {
         std::uint32_t other[16] = {};
         tinselSend(1, other);
       }},
      {"tinselCanSend() is false",
       [] {
         while (tinselIdle(1) == 0) continue;
         tinselSend(1, tinselSendSlot());  // before the detection's last round
       }},
      {"tinselSetLen: 4", [] { tinselSetLen(4); }},
      {"tinselSetLen: -1", [] { tinselSetLen(-1); }},
      {"tinselRecv", [] { (void)tinselRecv(); }},
      {"tinselFree", [] { tinselFree(tinselSendSlot()); }},
      {"unknown condition 4", [] { tinselWaitUntil(4); }},
      {"tinselWork", [] { tinselWork(~std::uint64_t{0}); }},
      {"deadlock: 1 threads are in tinselWaitUntil", [] { tinselWaitUntil(TINSEL_CAN_RECV); }},
      {"deadlock",
       [] {
         tinselSend(1025, tinselSendSlot());  // which has ended, and never frees it
         while (tinselIdle(1) == 0) continue;
       }},
      {"a router has stopped", [] { tinselKeySend(tinselKey(0, 5, 1), tinselSendSlot()); }}};
  for (const auto& each : mistakes) {
    EXPECT_EQ(run([&](std::uint32_t id) {
                if (id == 0) each.second();
              }),
              -1);
    EXPECT_NE(error().find(each.first), std::string::npos) << each.first << ": " << error();
  }
  ASSERT_EQ(run([](std::uint32_t) {}), 0) << "the machine is fit for use after all of them";
}

TEST_F(TinselThreads, ProgramsThatDoNotEndAreEnded) {
  tinselOptions options{};
  options.maxCycles = 10'000;
  restart(options);
  EXPECT_EQ(run([](std::uint32_t id) {
              if (id != 7) return;
              for (;;) (void)tinselCanRecv();
            }),
            -1);
  EXPECT_NE(error().find("did not end"), std::string::npos);
}

TEST_F(TinselThreads, WrongRecordsAndOptionsAreRefused) {
  std::uint32_t key = 0;
  EXPECT_EQ(tinselAddURM1(machine_, tinselToAddr(3, 0, 0, 0, 0, 0), 1), -1);
  EXPECT_NE(error().find("tinselAddURM1: thread 0xc00 does not exist"), std::string::npos) << error();
  EXPECT_EQ(tinselAddMRM(machine_, 0, 0, 0, 1), -1);
  EXPECT_EQ(tinselAddRR(machine_, 0, 0, TINSEL_SOUTH, 0), -1);
  EXPECT_EQ(tinselAddRR(machine_, 0, 0, 4, 0), -1);
  EXPECT_EQ(tinselAddRR(machine_, 9, 0, TINSEL_NORTH, 0), -1);
  EXPECT_EQ(tinselGenKey(machine_, 0, 9, &key), -1);
  EXPECT_EQ(tinselRun(machine_, nullptr, nullptr), -1);
  ASSERT_EQ(tinselGenKey(machine_, 0, 0, &key), 0);
  EXPECT_EQ(key, 0U) << "a list without records";
  std::array<tinselOptions, 5> wrong{};
  wrong[0].boardsX = 7;
  wrong[1].boardsY = 9;
  wrong[2].clockMHz = 1001;
  wrong[3].dramCycles = 10001;
  wrong[4].stackBytes = 100;
  for (const tinselOptions& each : wrong) EXPECT_EQ(tinselCreate(&each), nullptr);
}

TEST_F(TinselThreads, CallsOutsideOfARunEndTheProcess) {
  EXPECT_DEATH((void)tinselId(), "tinselId is for threads of a program within tinselRun");
}

TEST_F(TinselThreads, AStackThatIsTooSmallEndsTheProcess) {
  tinselOptions options{};
  options.boardsX = 1;
  options.boardsY = 1;
  options.stackBytes = 16384;
  restart(options);
  EXPECT_DEATH(run([](std::uint32_t id) {
                 volatile char much[20000];
                 for (std::size_t i = sizeof much; id == 5 && i-- > 0;) much[i] = 1;
               }),
               "");
}

}  // namespace
