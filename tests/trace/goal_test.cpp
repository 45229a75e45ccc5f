// GOAL schedules: graphs run as graphs, both forms agree, and errors name their place.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "lib/programs/check/rehearsal.hpp"
#include "lib/programs/export/writers.hpp"
#include "lib/programs/import/pattern.hpp"
#include "lib/programs/recording/bytes.hpp"
#include "tests/trace/replayed.hpp"

namespace offramp::trace {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

/// Byte by byte, as in LogGOPSim's Goal.hpp.
class Bytes {
 public:
  template <typename Word>
  Bytes& put(Word word) {
    std::array<std::uint8_t, sizeof(Word)> image{};
    recording::put_word(image.data(), word);
    text_.append(recording::text_of(image));
    return *this;
  }
  Bytes& node(std::uint32_t waits, std::uint8_t type, std::uint32_t peer, std::uint64_t size,
              std::uint32_t tag, std::array<std::uint32_t, 4> dependants) {
    put(waits).put(type).put(peer).put(size).put(tag).put(std::uint8_t{0}).put(std::uint8_t{0});
    for (const std::uint32_t one : dependants) put(one);
    return *this;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Rank 0 sends 100 bytes and computes 50 ns from the send's beginning; rank 1 receives them from any.
std::string small_binary() {
  Bytes block0;
  block0.put(2U).put(1U).put(0U);
  block0.node(0, 1, 1, 100, 7, {0, 0, 1, 0}).node(1, 3, 0, 50, 0, {0, 1, 0, 1}).put(1U);
  Bytes block1;
  block1.put(1U).put(1U).put(0U).node(0, 2, 0xffffffff, 100, 0xffffffff, {0, 0, 0, 0});
  Bytes file;
  file.put(std::uint64_t{4223}).put(2U).put(std::uint8_t{0}).put(std::uint8_t{0});
  const std::uint64_t first = 6 + 16 * 2;
  const std::uint64_t second = first + block0.text().size();
  file.put(first).put(second).put(second).put(std::uint64_t{second + block1.text().size()});
  return file.text() + block0.text() + block1.text();
}

TEST(GoalSchedule, RunsAsAGraphOnAllHardware) {
  const Program program = opened(data("goal/diamond.goal"));
  ASSERT_EQ(program.description.ranks, 4);
  expect_to_end_everywhere(program);
  const Result<ReplayResult> result = replayed(program, "host");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->messages, 4U);
  // Rank 1 continues 500 ns after its message has arrived; rank 3 waits for it.
  EXPECT_GT(result->ranks[3].clock, result->ranks[1].clock - Time::ns(500));
  EXPECT_GE(result->ranks[0].clock, Time::ns(3000));
}

/// A reader without a replay gets no outcomes of waits.
TEST(GoalSchedule, EndsForThoseWhoOnlyRead) {
  const Program program = opened(data("goal/diamond.goal"));
  const Result<Findings> findings = rehearse(program);
  ASSERT_TRUE(findings) << findings.error();
  EXPECT_EQ(events_of(program), findings->events);
}

/// In the order of the text rank 0 would wait for ever, so any event that can begin does.
TEST(GoalSchedule, BeginsReadyEventsInAnyOrder) {
  const Folder folder;
  const std::string path = folder.file("t", R"(num_ranks 2
rank 0 {
a: recv 8b from 1 tag 1
b: send 8b to 1 tag 2
c: recv 8b from 1 tag 3
d: send 8b to 1 tag 4
d requires a
}
rank 1 {
a: recv 8b from 0 tag 2
b: send 8b to 0 tag 1
b requires a
c: recv 8b from 0 tag 4
d: send 8b to 0 tag 3
d requires c
}
)");
  expect_to_end_everywhere(opened(path));
}

TEST(GoalSchedule, ReadsTheBinaryForm) {
  const Folder folder;
  const Program program = opened(folder.file("t.bin", small_binary()));
  ASSERT_EQ(program.description.ranks, 2);
  const Result<Graph> graph = program.graph(0);
  ASSERT_TRUE(graph) << graph.error();
  ASSERT_EQ(graph->nodes.size(), 2U);
  EXPECT_EQ(graph->nodes[0].tag, 7);
  EXPECT_EQ(graph->at_begin(0).size(), 1U);
  EXPECT_EQ((*program.graph(1)).nodes[0].peer, -1);
  expect_to_end_everywhere(program);
}

std::vector<std::string> collectives_of(const Program& program, int rank) {
  std::vector<std::string> texts;
  EXPECT_EQ(each_event(program, rank,
                       [&](const recording::Reader& reader, const recording::Event& event) {
                         if (event.kind == recording::EventKind::kCollective)
                           texts.push_back(fmt::format("{} {} on {}, root {}", reader.call(event.call),
                                                       event.bytes, event.communicator, event.peer));
                       }),
            "");
  return texts;
}

/// A group has the ranks that name it. Instances order the collectives of a communicator, not lines.
TEST(GoalSchedule, HasCollectivesOfGroups) {
  const Folder folder;
  const Program program = opened(folder.file("t", R"(num_ranks 4
rank 0 {
l1: coll reduce_scatter 80 b 1 9 -1
l2:coll allreduce 4096b 0 0 -1 cpu 0 nic 1
l3: coll bcast 100b 1 3 2
l4: calc 100
l4 requires l2
}
rank 1 {
coll allreduce 4096b 0 0 -1
}
rank 2 {
coll bcast 100b 1 3 2
coll reduce_scatter 80b 1 9 -1
coll allreduce 4096b 0 0 -1
}
rank 3 {
coll allreduce 4096b 0 0 -1
}
)"));
  const std::string bcast = fmt::format("MPI_Ibcast 100 on {}, root 1", recording::kFirstMade);
  const std::string scatter =
      fmt::format("MPI_Ireduce_scatter_block 40 on {}, root 0", recording::kFirstMade);
  const std::string all = fmt::format("MPI_Iallreduce 4096 on {}, root 0", recording::kWorld);
  EXPECT_THAT(collectives_of(program, 0), ::testing::UnorderedElementsAre(bcast, scatter, all));
  EXPECT_THAT(collectives_of(program, 2), ::testing::IsSupersetOf({bcast, scatter}));
  EXPECT_THAT(collectives_of(program, 3), ::testing::ElementsAre(all));
  for (const int rank : {0, 2}) {
    std::vector<std::string> ours = collectives_of(program, rank);
    EXPECT_LT(std::find(ours.begin(), ours.end(), bcast), std::find(ours.begin(), ours.end(), scatter));
  }
  expect_to_end_everywhere(program);
}

/// Types 10 to 14, with the group and the root as peer, and the instance as tag.
TEST(GoalSchedule, HasCollectivesInItsBinaryForm) {
  const Folder folder;
  Bytes block;
  block.put(3U).put(3U).put(0U).put(1U).put(2U);
  block.node(0, 12, 0xffff0000, 64, 5, {0, 0, 0, 0});
  block.node(0, 10, 0x00010007, 16, 2, {0, 0, 0, 0});
  block.node(0, 14, 0xffff0007, 32, 1, {0, 0, 0, 0});
  Bytes file;
  file.put(std::uint64_t{4223}).put(2U).put(std::uint8_t{0}).put(std::uint8_t{0});
  const std::uint64_t first = 6 + 16 * 2;
  const std::uint64_t second = first + block.text().size();
  file.put(first).put(second).put(second).put(std::uint64_t{second + block.text().size()});
  const Program program = opened(folder.file("t.bin", file.text() + block.text() + block.text()));
  for (const int rank : {0, 1})
    EXPECT_THAT(collectives_of(program, rank),
                ::testing::ElementsAre("MPI_Iallgather 16 on 0, root 0", "MPI_Ibcast 16 on 0, root 1",
                                       "MPI_Iallreduce 64 on 0, root 0"));
  expect_to_end_everywhere(program);
}

TEST(GoalSchedule, WritesTheBytesThatItRead) {
  const Folder folder;
  const Program program = opened(folder.file("t.bin", small_binary()));
  std::vector<std::string> unsupported;
  ASSERT_EQ(write_goal_binary(program, folder.file("again.bin"), unsupported).error(), "");
  EXPECT_EQ(contents_of(folder.file("again.bin")), small_binary());
  ASSERT_EQ(write_goal_text(program, folder.file("t.goal"), unsupported).error(), "");
  ASSERT_EQ(write_goal_binary(opened(folder.file("t.goal")), folder.file("third.bin"), unsupported).error(),
            "");
  EXPECT_EQ(contents_of(folder.file("third.bin")), small_binary());
}

TEST(GoalSchedule, RefusesBinaryFilesThatMakeNoSense) {
  const Folder folder;
  const std::string good = small_binary();
  EXPECT_EQ(problem_of(folder.file("good", good)), "");
  const auto changed = [&](std::size_t at, char byte) {
    std::string bytes = good;
    bytes[at] = byte;
    return problem_of(folder.file("bad", bytes));
  };
  EXPECT_THAT(changed(14, 5), HasSubstr("offset 14: rank 0 is from"));
  EXPECT_THAT(changed(46, 9), HasSubstr("operations do not fit"));
  EXPECT_THAT(changed(46 + 12 + 4, 4), HasSubstr("unknown kind 4"));
  EXPECT_THAT(changed(46 + 12 + 5, 9), HasSubstr("rank 9 does not exist"));
  EXPECT_THAT(changed(46 + 12 + 39, 2), HasSubstr("operation 2 depends on 2 others, but 1 list it"));
  EXPECT_THAT(changed(46 + 12 + 78, 2), HasSubstr("operation 2 does not exist"));
  EXPECT_THAT(opened(folder.file("more", good + "ten bytes.")).notes,
              Contains("10 bytes after the last rank are ignored"));
  for (std::size_t size = 14; size < good.size(); ++size)
    EXPECT_NE(problem_of(folder.file("cut", good.substr(0, size))), "") << size;
}

TEST(GoalSchedule, NamesFileAndLineOfAnError) {
  const Folder folder;
  for (const auto& [statement, problem] : std::initializer_list<std::pair<const char*, const char*>>{
           {"send 8 to 1", "the size of a message ends with b"},
           {"send 8b from 1", "send SIZEb to RANK is expected"},
           {"send 8b to 2", "2 is not a rank below 2"},
           {"send 8b to -1", "-1 is not a rank"},
           {"calc 8 nic 1", "nic 1 is not allowed here"},
           {"calc", " is not a size"},
           {"fly 8", "unknown statement fly"},
           {"coll alltoall 8b 0 0 -1", "coll bcast|reduce|allreduce|reduce_scatter|allgather SIZEb GROUP"},
           {"coll allreduce 8b 0 0", "SIZEb GROUP INSTANCE ROOT is expected"},
           {"coll bcast 8b 0 0 -1", "its root is not a rank of its group 0"},
           {"coll allreduce 8b 0 0 -1 size 4", "size 4 is not allowed here"},
           {"a requires b", "label a is not defined before this line"},
           {"send 8b to 1 tag 5000000000", "is not a tag below 2^31"},
       }) {
    const std::string path =
        folder.file("t", fmt::format("num_ranks 2\nrank 0 {{\n{}\n}}\nrank 1 {{\n}}\n", statement));
    EXPECT_THAT(problem_of(path), HasSubstr(path + ":3: ")) << statement;
    EXPECT_THAT(problem_of(path), HasSubstr(problem)) << statement;
  }
  const std::string circle =
      folder.file("circle", "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb irequires a\n}\n");
  EXPECT_THAT(problem_of(circle), HasSubstr("operation 1 depends on itself through others"));
  EXPECT_THAT(problem_of(folder.file("none", "num_ranks 2\nrank 0 {\n}\n")),
              HasSubstr("rank 1 does not exist among 2 ranks"));
  EXPECT_THAT(problem_of(folder.file("open", "num_ranks 1\nrank 0 {\ncalc 1\n")),
              HasSubstr("rank 0 has no closing brace"));
  // The first pass skips the lines of a rank, which count all the same.
  const std::string sent = "num_ranks 2\nrank 0 {\n\ncalc 1\nsend 8b to 1\n}\nrank 1 {\n";
  EXPECT_THAT(problem_of(folder.file("later", sent + "recv 8b from 2\n}\n")),
              HasSubstr("later:8: 2 is not a rank below 2"));
  EXPECT_THAT(problem_of(folder.file("after", sent + "recv 8b from 0\n}\nrank 1 {\n}\n")),
              HasSubstr("after:10: rank 1 occurs twice"));
  EXPECT_THAT(problem_of(folder.file("outside", "num_ranks 1\nrank 0 {\n}\nsend 8b to 0\n")),
              HasSubstr("outside:4: rank R { is expected"));
  EXPECT_THAT(problem_of(folder.file("unended", "num_ranks 2\nrank 0 {\ncalc 1\nrank 1 {\n}\n")),
              HasSubstr("unended:4: a rank begins before the } of the previous one"));
  EXPECT_THAT(problem_of(folder.file("shared", "num_ranks 1\nrank 0 {\n} calc 2\n")),
              HasSubstr("shared:3: the } of a rank has to be alone on its line"));
}

TEST(GoalSchedule, HasTheMessagesOfItsPattern) {
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
    for (const bool binary : {false, true}) {
      std::vector<std::string> unsupported;
      const std::string path = folder.file(std::string(kind.name));
      ASSERT_EQ((binary ? write_goal_binary : write_goal_text)(program, path, unsupported).error(), "");
      const Program again = opened(path);
      EXPECT_EQ(messages_of(again), messages_of(program)) << kind.name;
      const Result<ReplayResult> result = replayed(again, "host");
      ASSERT_TRUE(result) << kind.name << ": " << result.error();
      EXPECT_TRUE(result->unfinished.empty());
    }
  }
}

}  // namespace
}  // namespace offramp::trace
