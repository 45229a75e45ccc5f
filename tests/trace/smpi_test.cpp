// SMPI's time-independent traces: the events of their lines, and traces that are written again.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "lib/programs/export/writers.hpp"
#include "lib/programs/import/pattern.hpp"
#include "tests/trace/replayed.hpp"

namespace offramp::trace {
namespace {

using recording::Event;
using recording::EventKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Seen {
  Event event;
  std::string call;
  std::uint64_t computed;
  std::vector<std::uint64_t> list;
  std::vector<std::uint64_t> second;
};

std::vector<Seen> seen(const Program& program, int rank) {
  std::vector<Seen> all;
  const auto reader = program.read(rank);
  for (Event event; reader->next(event);) {
    const auto list = reader->list(event.list);
    const auto second = reader->list(event.second_list);
    all.push_back({event,
                   std::string(reader->call(event.call)),
                   reader->times().computing,
                   {list.begin(), list.end()},
                   {second.begin(), second.end()}});
  }
  EXPECT_EQ(reader->error(), "");
  return all;
}

std::string in_words(const Seen& one) {
  return fmt::format("{} peer={} tag={} bytes={} extra={} [{}] [{}]", one.call, one.event.peer, one.event.tag,
                     one.event.bytes, one.event.extra, fmt::join(one.list, ","), fmt::join(one.second, ","));
}

TEST(SmpiTrace, HasAnEventForEachLine) {
  const Program program = opened(data("smpi/program.txt"));
  ASSERT_EQ(program.description.ranks, 2);
  std::vector<std::string> words;
  for (const Seen& one : seen(program, 0)) words.push_back(in_words(one));
  EXPECT_THAT(
      words,
      ElementsAre(
          "MPI_Init peer=0 tag=0 bytes=0 extra=0 [] []", "MPI_Isend peer=1 tag=7 bytes=1000 extra=0 [] []",
          "MPI_Irecv peer=1 tag=8 bytes=1024 extra=0 [] []", "MPI_Wait peer=0 tag=0 bytes=0 extra=2 [] []",
          "MPI_Wait peer=0 tag=0 bytes=0 extra=1 [] []", "MPI_Sendrecv peer=1 tag=0 bytes=32 extra=0 [] []",
          "MPI_Sendrecv peer=1 tag=0 bytes=64 extra=0 [] []",
          "MPI_Sendrecv peer=0 tag=0 bytes=0 extra=0 [2,1] []",
          "MPI_Bcast peer=0 tag=0 bytes=400 extra=0 [] []",
          "MPI_Allreduce peer=0 tag=0 bytes=80 extra=10 [] []",
          "MPI_Gather peer=1 tag=0 bytes=16 extra=0 [] []", "MPI_Scatter peer=1 tag=0 bytes=16 extra=0 [] []",
          "MPI_Alltoall peer=0 tag=0 bytes=16 extra=0 [] []",
          "MPI_Allgather peer=0 tag=0 bytes=8 extra=0 [] []",
          "MPI_Allgatherv peer=0 tag=0 bytes=3 extra=8 [] [3,5]",
          "MPI_Gatherv peer=0 tag=0 bytes=3 extra=0 [] [3,5]",
          "MPI_Scatterv peer=0 tag=0 bytes=0 extra=2 [2,6] []",
          "MPI_Alltoallv peer=0 tag=0 bytes=12 extra=10 [4,8] [4,6]",
          "MPI_Reduce_scatter_block peer=0 tag=0 bytes=20 extra=5 [] []",
          "MPI_Reduce_scatter peer=0 tag=0 bytes=32 extra=8 [8,24] []",
          "MPI_Scan peer=0 tag=0 bytes=24 extra=3 [] []",
          "MPI_Iallreduce peer=0 tag=0 bytes=16 extra=2 [] []",
          "MPI_Waitall peer=0 tag=0 bytes=0 extra=0 [1] []", "MPI_Ssend peer=1 tag=3 bytes=50 extra=0 [] []",
          "MPI_Barrier peer=0 tag=0 bytes=0 extra=0 [] []",
          "MPI_Finalize peer=0 tag=0 bytes=0 extra=0 [] []"));
  EXPECT_EQ(seen(program, 0)[1].computed, 2500U);
}

TEST(SmpiTrace, IsReplayedOnAllHardware) {
  expect_to_end_everywhere(opened(data("smpi/program.txt")));
}

/// Written by SimGrid 3.32 itself, whose replay stops at the receive from any source.
TEST(SmpiTrace, FromSimGridIsReplayedOnAllHardware) {
  const Program program = opened(data("smpi/captured.txt"));
  ASSERT_EQ(program.description.ranks, 3);
  expect_to_end_everywhere(program);
  EXPECT_EQ(messages_of(program)[std::make_pair(2, 0)], (std::vector<std::uint64_t>{8000, 40, 32}));
}

TEST(SmpiTrace, IsEqualInOneFileForAllRanks) {
  const Program several = opened(data("smpi/program.txt"));
  const Program shared = opened(data("smpi/shared.txt"));
  ASSERT_EQ(shared.description.ranks, 2);
  for (int rank = 0; rank < 2; ++rank) {
    const std::vector<Seen> a = seen(several, rank);
    const std::vector<Seen> b = seen(shared, rank);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(in_words(a[i]), in_words(b[i]));
  }
}

TEST(SmpiTrace, NamesFileAndLineOfAnError) {
  const Folder folder;
  for (const auto& [line, problem] : std::initializer_list<std::pair<const char*, const char*>>{
           {"0 fly 1 2 3", "unknown action fly"},
           {"0 send 1", "send: too few arguments"},
           {"0 send 1 x 3", "x is not a number"},
           {"0 send 1 0 1e300", "is not a number up to 2^53"},
           {"0 send 1 0 -4", "-4 is less than 0"},
           {"0 send 1 0 4e15 27", ""},
           {"0 bcast 4 7", "rank 7 does not exist"},
           {"0 send 1 0 nan", "is not a number"},
           {"0 send 1 0 8 6 9", "send: too many arguments, from 9 on"},
           {"0 barrier 3", "barrier: too many arguments, from 3 on"},
           {"0 send 0.5 0 8", "0.5 is not a whole number"},
           {"0 compute -5", "-5 is less than 0"},
           {"0 allreduce 8 -1", "-1 is less than 0"},
           {"0", "it has a rank but no action"},
       }) {
    const std::string path = folder.file("t", fmt::format("0 init\n1 init\n{}\n", line));
    const std::string found = problem_of(path);
    if (*problem == '\0') {
      EXPECT_EQ(found, "") << line;
    } else {
      EXPECT_THAT(found, HasSubstr(path + ":3: ")) << line;
      EXPECT_THAT(found, HasSubstr(problem)) << line;
    }
  }
}

std::vector<std::string> words_of(const Program& program, int rank) {
  std::vector<std::string> words;
  for (const Seen& one : seen(program, rank)) words.push_back(in_words(one));
  return words;
}

/// Until SimGrid 3.19: no tags, waits without arguments for the last request, bytes without a type, derived
/// types as -1, receives of 0 elements that ask for the size, and names with capitals.
TEST(SmpiTrace, HasNoTagsInOldVersions) {
  const Folder folder;
  const Program program = opened(folder.file("t", R"(0 init
1 init
0 Irecv 1 500 0
0 Isend 1 1000000
0 wait
0 send 1 3 -1
0 wait
1 Recv 0 0
1 recv 0 3 -1
1 send 0 500 0
0 allReduce 5 100 1
1 allReduce 5 100 1
0 finalize
1 finalize
)"));
  EXPECT_THAT(words_of(program, 0), ElementsAre("MPI_Init peer=0 tag=0 bytes=0 extra=0 [] []",
                                                "MPI_Irecv peer=1 tag=0 bytes=4000 extra=0 [] []",
                                                "MPI_Isend peer=1 tag=0 bytes=1000000 extra=0 [] []",
                                                "MPI_Wait peer=0 tag=0 bytes=0 extra=1 [] []",
                                                "MPI_Send peer=1 tag=0 bytes=3 extra=0 [] []",
                                                "MPI_Wait peer=0 tag=0 bytes=0 extra=2 [] []",
                                                "MPI_Allreduce peer=0 tag=0 bytes=20 extra=5 [] []",
                                                "MPI_Finalize peer=0 tag=0 bytes=0 extra=0 [] []"));
  EXPECT_THAT(program.notes, ::testing::Contains(HasSubstr("before SimGrid 3.20")));
  expect_to_end_everywhere(program);
}

/// Lines PEER A B are ambiguous. One line that only one version writes decides for all.
TEST(SmpiTrace, IsReadAsItsVersionWritesMessages) {
  const Folder folder;
  const auto first_send = [&](const std::string& lines) {
    return words_of(opened(folder.file("t", lines)), 0).front();
  };
  const std::string plain = "0 send 1 40000 6\n1 recv 0 40000 6\n";
  EXPECT_EQ(first_send(plain), "MPI_Send peer=1 tag=0 bytes=40000 extra=0 [] []");
  EXPECT_EQ(first_send(plain + "0 send 1 0 7 6\n"), "MPI_Send peer=1 tag=40000 bytes=6 extra=0 [] []");
  EXPECT_EQ(first_send(plain + "0 send 1 0 700\n"), "MPI_Send peer=1 tag=40000 bytes=6 extra=0 [] []");
  const std::string small = "0 send 1 40 8\n1 recv 0 40 8\n";
  EXPECT_EQ(first_send(small), "MPI_Send peer=1 tag=40 bytes=8 extra=0 [] []");
  EXPECT_EQ(first_send(small + "0 isend 1 40 8\n0 wait\n"), "MPI_Send peer=1 tag=0 bytes=40 extra=0 [] []");
  EXPECT_EQ(problem_of(folder.file("t", "0 send 1 40\n1 recv 0 0 40 6\n")),
            fmt::format("{0}:1: too few arguments: {0}:2 is written with tags, as from SimGrid 3.20 on",
                        folder.file("t")));
}

TEST(SmpiTrace, RefusesListsThatDoNotFit) {
  const Folder folder;
  folder.file("a", "0 init\n");
  folder.file("b", "0 init\n");
  folder.file("c", "5 init\n");
  EXPECT_THAT(problem_of(folder.file("twice", "a\nb\n")), HasSubstr("also belongs to rank 0"));
  EXPECT_THAT(problem_of(folder.file("beyond", "a\nc\n")), HasSubstr("rank 5, but the list has 2 files"));
  EXPECT_THAT(problem_of(folder.file("missing", "a\nnowhere\n")), HasSubstr("missing:2: cannot read"));
  folder.file("mixed", "0 init\n1 send 0 0 8\n0 finalize\n");
  folder.file("other", "1 init\n1 finalize\n");
  EXPECT_THAT(problem_of(folder.file("strange", "mixed\nother\n")),
              HasSubstr("mixed:2: a line of rank 1 in the file of rank 0"));
  EXPECT_THAT(problem_of(folder.file("none", "traces/actions0.txt\ntraces/actions1.txt\n")),
              HasSubstr("none:1: cannot read " + folder.file("traces/actions0.txt") +
                        ": No such file or directory; a list of SMPI's traces"));
  for (const char* const other : {"alpha\nbeta\n", "#!/bin/sh\n", "{\"a\":1.5}\n"})
    EXPECT_THAT(problem_of(folder.file("other", other)), HasSubstr("supported formats")) << other;
  EXPECT_THAT(problem_of(folder.file("text", "any other text\n")), HasSubstr("supported formats"));
}

std::string missing_of(const std::string& path) {
  return opened(path).missing;
}

/// A tracer that writes "init" also writes "finalize"; a trace written by hand may have neither.
TEST(SmpiTrace, ThatIsCutIsNotWhole) {
  const Folder folder;
  const std::string cut = "0 init\n0 isend 1 7 1000 6\n0 waitall\n1 init\n1 recv 0 7 1000 6\n";
  EXPECT_EQ(missing_of(folder.file("cut", cut)), "ranks 0, 1 are cut off before finalize");
  EXPECT_EQ(missing_of(folder.file("cut", cut + "1 Finalize\n")), "rank 0 is cut off before finalize");
  EXPECT_EQ(missing_of(folder.file("whole", cut + "1 finalize\n0 finalize\n")), "");
  EXPECT_EQ(missing_of(folder.file("bare", "0 send 1 7 8\n1 recv 0 7 8\n")), "");
  folder.file("a", "0 init\n0 finalize\n");
  folder.file("b", "1 init\n1 send 0 0 8\n");
  folder.file("c", "");
  EXPECT_EQ(missing_of(folder.file("list", "a\nb\nc\n")),
            "rank 1 is cut off before finalize; no events of rank 2");
  const Program program = opened(folder.file("cut", cut));
  const auto reader = program.read(0);
  for (Event event; reader->next(event);) EXPECT_NE(reader->call(event.call), "MPI_Finalize");
  EXPECT_EQ(reader->cut(), recording::kCut);
}

/// SimGrid replays its examples from the folder above that of the list.
TEST(SmpiTrace, FindsFilesFromTheFolderAboveItsList) {
  const Folder folder;
  std::filesystem::create_directory(folder.file("replay"));
  folder.file("replay/a", "0 init\n0 finalize\n");
  EXPECT_EQ(opened(folder.file("replay/list", "replay/a\n")).description.ranks, 1);
}

/// A program, written and read again: the same messages, and similar times.
TEST(SmpiTrace, ComesBackAsItWasWritten) {
  const Folder folder;
  const Program program = opened(data("smpi/program.txt"));
  std::vector<std::string> unsupported;
  Program without_wildcards = program;
  ASSERT_EQ(write_smpi(without_wildcards, folder.file("out"), unsupported).error(), "");
  EXPECT_THAT(unsupported, ElementsAre("written as blocking: nonblocking collectives",
                                       "written as plain sends: synchronous sends",
                                       "left out: probes (the receives after them wait instead)"));
  const Program again = opened(folder.file("out"));
  EXPECT_EQ(messages_of(again), messages_of(program));
  expect_to_end_everywhere(again);
}

TEST(SmpiTrace, TakesAsLongAsItsPattern) {
  const Folder folder;
  for (const PatternKind& kind : pattern_kinds()) {
    if (kind.has_collectives) continue;
    const Result<Pattern> pattern =
        parse_pattern(fmt::format("pattern:{}{}:9:4096:2", kind.name, kind.parameter.empty() ? "" : ":1"));
    ASSERT_TRUE(pattern) << pattern.error();
    Program program;
    program.description.ranks = 9;
    program.has_arrival = true;
    program.read = [made = *pattern](int rank) { return made.read(rank); };
    std::vector<std::string> unsupported;
    const std::string path = folder.file(std::string(kind.name));
    ASSERT_EQ(write_smpi(program, path, unsupported).error(), "");
    const Program again = opened(path);
    EXPECT_EQ(messages_of(again), messages_of(program)) << kind.name;
    const Result<ReplayResult> before = replayed(program, "host");
    const Result<ReplayResult> after = replayed(again, "host");
    ASSERT_TRUE(before && after) << kind.name << after.error();
    EXPECT_EQ(before->modelled_time, after->modelled_time) << kind.name;
  }
}

}  // namespace
}  // namespace offramp::trace
