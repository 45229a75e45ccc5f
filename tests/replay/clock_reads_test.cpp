// Files with the return values of MPI_Wtime, and how a world uses them.
#include "lib/answers/replay/clock_reads.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "lib/answers/replay/replay.hpp"
#include "tests/cluster.hpp"
#include "tests/replay/tape.hpp"

namespace offramp {
namespace {

using testing::HasSubstr;

class ClockReadsFile : public testing::Test {
 protected:
  ClockReadsFile() {
    std::string name = (std::filesystem::temp_directory_path() / "offramp-clocks-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    path_ = folder_ / "times";
  }
  ~ClockReadsFile() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  void write(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }

  std::filesystem::path folder_;
  std::filesystem::path path_;
  const ClockReads reads_ = {{{Time::ps(5), 1}, {Time::us(7), 20}}, {}, {{Time::ms(3), 0}}};
};

TEST_F(ClockReadsFile, GivesEachRankItsOwn) {
  ASSERT_EQ(write_clock_reads(path_, reads_), "");
  for (int rank = 0; rank < 3; ++rank) {
    const Result<std::vector<ClockRead>> own = read_clock_reads(path_, rank, 3);
    ASSERT_TRUE(own) << own.error();
    EXPECT_EQ(*own, reads_[static_cast<std::size_t>(rank)]);
  }
}

TEST_F(ClockReadsFile, IsOfSoManyRanks) {
  ASSERT_EQ(write_clock_reads(path_, reads_), "");
  EXPECT_THAT(read_clock_reads(path_, 0, 2).error(), HasSubstr("those of 3 ranks, but the program has 2"));
}

TEST_F(ClockReadsFile, ThatIsMissingOrAnothersIsNamed) {
  EXPECT_THAT(read_clock_reads(path_, 0, 3).error(), HasSubstr("No such file"));
  write("something else that is long enough for a head");
  EXPECT_THAT(read_clock_reads(path_, 0, 3).error(), HasSubstr("not a file of MPI_Wtime times"));
}

TEST_F(ClockReadsFile, ThatIsDamagedIsRefused) {
  ASSERT_EQ(write_clock_reads(path_, reads_), "");
  const std::string whole = bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write(whole.substr(0, size));
    for (int rank = 0; rank < 3; ++rank) EXPECT_FALSE(read_clock_reads(path_, rank, 3)) << size;
  }
  write(whole + "x");
  EXPECT_FALSE(read_clock_reads(path_, 0, 3));
  constexpr std::size_t kFirstCount = 24;
  std::string huge = whole;
  huge.replace(kFirstCount, 8, 8, '\xff');
  write(huge);
  EXPECT_FALSE(read_clock_reads(path_, 2, 3));
}

TEST(ClockReads, AreTheClocksOfTheirRanksInAWorld) {
  static const Registry registry{built_in_backends()};
  std::vector<test::Tape> tapes(2);
  const auto ask = [](test::Tape& tape, std::uint64_t calls) {
    recording::Event event;
    event.kind = recording::EventKind::kClock;
    event.call = static_cast<std::uint16_t>(event.kind);
    event.extra = calls;
    tape.add(event);
  };
  ask(tapes[0], 0);
  tapes[0].send(1, 64);
  tapes[0].receive(1, 64);
  ask(tapes[0], 2);
  tapes[1].receive(0, 64);
  tapes[1].send(0, 64);
  ask(tapes[1], 2);
  ClockReads reads;
  ReplayOptions options;
  options.clock_reads = &reads;
  Result<ReplayResult> result = replay(test::setting_of(registry, "host"), test::source_of(tapes), options);
  ASSERT_TRUE(result) << result.error();
  ASSERT_EQ(reads.size(), 2U);
  ASSERT_EQ(reads[0].size(), 2U);
  EXPECT_EQ(reads[0][0], (ClockRead{Time(), 0}));
  EXPECT_EQ(reads[0][1], (ClockRead{result->clocks()[0], 2}));
  ASSERT_EQ(reads[1].size(), 1U);
  EXPECT_EQ(reads[1][0], (ClockRead{result->clocks()[1], 2}));
}

}  // namespace
}  // namespace offramp
