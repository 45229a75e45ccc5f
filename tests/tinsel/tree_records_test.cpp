// The time of a broadcast to one thread per mailbox with unicast records (URM1) instead of mailbox records
// (MRM). MPI operations use MRM only; the documentation shows these figures.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "tests/tinsel/support.hpp"

namespace offramp::tinsel {
namespace {

/// The tree of a key, with a URM1 for every thread of a mask.
Key with_unicast_records(Machine& machine, int board, const Key& key) {
  std::vector<Record> records;
  for (const Record& record : expand(machine.tables(board), key).records) {
    if (record.type() == RecordType::kRr) {
      const int next = machine.spec().mesh.neighbour(board, record.direction());
      const Key there = with_unicast_records(machine, next, Key::decode(record.new_key()));
      records.push_back(Record::rr(record.direction(), there.encode()));
      continue;
    }
    for (unsigned thread = 0; thread < kThreadsPerMailbox; ++thread) {
      if ((record.get(Field::kDestMask) >> thread & 1U) != 0)
        records.push_back(Record::urm1(record.mailbox(), thread, 7));
    }
  }
  return machine.tables(board).place(records).key;
}

struct Times {
  Time one;   // until the last thread has a message
  Time each;  // of many, one after the other
};

Times times_of(Machine& machine, const Key& key, int flits) {
  constexpr int kMany = 40;
  const auto last_of = [&](int count) {
    machine.reset();
    Recorder recorder(machine);
    for (int i = 0; i < count; ++i) machine.send({}, {0, 0, 0}, keyed(key, flits));
    EXPECT_TRUE(machine.run());
    machine.run_on(nullptr);
    return recorder.last;
  };
  return {last_of(1), Time::ps((last_of(2 * kMany) - last_of(kMany)).count() / kMany)};
}

TEST(TinselTrees, UnicastRecordsSaveLittleForOneThreadPerMailboxAndLoseForMore) {
  for (const int per_mailbox : {1, 4}) {
    for (const auto& [columns, rows] : {std::pair{1, 1}, {3, 2}}) {
      Machine machine(small_machine(columns, rows));
      std::vector<ThreadLocation> places;
      for (int board = 0; board < columns * rows; ++board) {
        for (int i = 0; i < kMailboxes * per_mailbox; ++i)
          places.push_back({static_cast<std::uint16_t>(board), static_cast<std::uint8_t>(i / per_mailbox),
                            static_cast<std::uint8_t>(i % per_mailbox)});
      }
      const Key by_mailbox = build_tree(machine, 0, places, 7).key;
      const Key by_thread = with_unicast_records(machine, 0, by_mailbox);
      for (const int flits : {1, kMaximumFlits}) {
        const Times mrm = times_of(machine, by_mailbox, flits);
        const Times urm = times_of(machine, by_thread, flits);
        fmt::print(
            "{} boards, {} threads of a mailbox, {} flits: MRM {:.0f} and {:.0f} ns, URM1 {:.0f} and {:.0f} "
            "ns\n",
            columns * rows, per_mailbox, flits, mrm.one.nanoseconds(), mrm.each.nanoseconds(),
            urm.one.nanoseconds(), urm.each.nanoseconds());
        if (per_mailbox == 1) {
          EXPECT_LE(urm.one, mrm.one);
          EXPECT_GT(urm.one.seconds(), 0.95 * mrm.one.seconds());
          EXPECT_GT(urm.each.seconds(), 0.8 * mrm.each.seconds());
        } else {
          EXPECT_GT(urm.each.seconds(), 2 * mrm.each.seconds());
        }
      }
    }
  }
}

}  // namespace
}  // namespace offramp::tinsel
