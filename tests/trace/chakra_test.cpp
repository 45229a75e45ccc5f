// Chakra's execution traces: fields of protocol buffers, graphs with collectives on groups, and errors.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "lib/programs/check/rehearsal.hpp"
#include "lib/programs/export/writers.hpp"
#include "lib/programs/import/pattern.hpp"
#include "lib/programs/import/protobuf.hpp"
#include "tests/trace/replayed.hpp"

namespace offramp::trace {
namespace {

using recording::Event;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string with_length(const std::string& message) {
  std::string bytes;
  put_varint(bytes, message.size());
  return bytes + message;
}
const std::string kMetadata = with_length(
    "\n\x05"
    "0.0.4");

constexpr std::uint64_t kNone = UINT64_MAX;  // a node waits for none
std::string attribute(const std::string& name, std::uint32_t member, std::uint64_t value) {
  std::string message;
  put_bytes(message, 1, name);
  put_number(message, member, value);
  return message;
}
std::string node(std::uint64_t id, std::uint64_t type, const std::vector<std::string>& attributes,
                 std::uint64_t before = kNone) {
  std::string message;
  put_number(message, 1, id);
  put_number(message, 3, type);
  if (before != kNone) put_number(message, 5, before);
  for (const std::string& one : attributes) put_bytes(message, 10, one);
  return with_length(message);
}

TEST(ChakraTrace, RunsAsAGraphOnAllHardware) {
  const Program program = opened(data("chakra/step.2.et"));
  ASSERT_EQ(program.description.ranks, 4);
  const Result<Findings> findings = rehearse(program);
  ASSERT_TRUE(findings) << findings.error();
  EXPECT_THAT(findings->problems, IsEmpty());
  EXPECT_EQ(findings->messages, 4U);
  EXPECT_EQ(findings->collectives, 16U);
  expect_to_end_everywhere(program);
}

TEST(ChakraTrace, HasTheOperationsOfEachRank) {
  std::vector<std::string> calls;
  EXPECT_EQ(each_event(opened(data("chakra/step.0.et")), 3,
                       [&](const recording::Reader& reader, const Event& event) {
                         if (event.kind == recording::EventKind::kWait) return;
                         calls.push_back(fmt::format(
                             "{} {} {} {} [{}] {}", reader.call(event.call), event.communicator, event.bytes,
                             event.peer, fmt::join(reader.list(event.list), ","), reader.times().computing));
                       }),
            "");
  EXPECT_THAT(calls, ElementsAre("MPI_Comm_rank 0 0 0 [2,3] 0", "MPI_Isend 0 1000 0 [] 100000",
                                 "MPI_Iallreduce 2 4096 0 [] 0", "MPI_Irecv 0 1000 2 [] 50000",
                                 "MPI_Iallgather 0 512 0 [] 0", "MPI_Ialltoall 0 1000 0 [] 0",
                                 "MPI_Ibarrier 0 0 0 [] 0", "MPI_Finalize 0 0 0 [] 0"));
}

/// A field with its default value is absent; sizes may be in any integer member.
TEST(ChakraTrace, ReadsTheSmallestFile) {
  const Folder folder;
  // ASTRA-sim's generator: node 0, "a", of kind 7, whose size of 1 MiB is a varint in member 9.
  const std::string bytes =
      kMetadata + with_length(std::string("\x12\x01"
                                          "a\x18\x07R\x0e\n\tis_cpu_op\xd8\x01\x00"
                                          "R\r\n\tcomm_typeH\x02R\x0f\n\tcomm_sizeH\x80\x80@",
                                          5 + 16 + 15 + 17));
  const Program program = opened(folder.file("a.0.et", bytes));
  std::vector<std::uint64_t> sizes;
  EXPECT_EQ(each_event(program, 0,
                       [&](const auto&, const Event& event) {
                         if (event.kind == recording::EventKind::kCollective) sizes.push_back(event.bytes);
                       }),
            "");
  EXPECT_THAT(sizes, ElementsAre(1U << 20U));
  for (const std::uint32_t member : {7U, 9U, 11U, 13U, 19U + 2U, 15U}) {
    std::string size;
    put_bytes(size, 1, "comm_size");
    if (member == 21) {
      put_varint(size, 21U << 3U | 1U);
      size += std::string("\x08\0\0\0\0\0\0\0", 8);
    } else {
      put_number(size, member, member == 15 ? 16 : 8);  // sint32 is zigzag
    }
    sizes.clear();
    const std::string path =
        folder.file("b.et", kMetadata + node(1, 7, {attribute("comm_type", 9, 0), size}));
    EXPECT_EQ(each_event(opened(path), 0,
                         [&](const auto&, const Event& event) {
                           if (event.kind == recording::EventKind::kCollective) sizes.push_back(event.bytes);
                         }),
              "");
    EXPECT_THAT(sizes, ElementsAre(8U)) << member;
  }
}

/// Each version of the schema: it is read, or its converter is named.
TEST(ChakraTrace, IsReadOrRefusedInEachVersion) {
  const Folder folder;
  const auto named = [](std::uint64_t type, const std::string& more) {
    std::string message = "\x08\x01\x12\x01n\x18";  // id 1, name "n"; before 0.0.4 both are always there
    put_varint(message, type);
    return with_length(message + more);
  };
  std::string fields;  // of 0.0.1: comm_type, comm_size
  put_number(fields, 13, 1);
  put_number(fields, 18, 4096);
  std::string attributes;  // of 0.0.2 and 0.0.3
  put_bytes(attributes, 11, attribute("comm_size", 5, 8));
  std::string metadata;  // of August 2023
  put_bytes(metadata, 1, attribute("by", 5, 8));
  for (const std::string& old :
       {named(6, fields), named(3, "") + named(6, attributes), with_length(metadata) + named(7, attributes)})
    EXPECT_THAT(
        problem_of(folder.file("t.et", old)),
        HasSubstr("t.et: its schema is older than Chakra 0.0.4: convert the original trace again with "
                  "chakra_converter"));
  const std::string reduction = node(2, 7, {attribute("comm_type", 9, 0), attribute("comm_size", 9, 64)}, 1);
  std::string storage = "\x38\x19";                    // 25 us
  put_bytes(storage, 11, std::string("\x52\x00", 2));  // an operation at an unknown level
  const std::string computing = named(4, "\x38\x19");
  const std::string newer = with_length("\n\x05" + std::string("1.0.0"));
  for (const std::string& nodes : {kMetadata + computing, newer + computing, newer + named(8, storage)}) {
    std::vector<std::uint64_t> numbers;
    EXPECT_EQ(each_event(opened(folder.file("t.et", nodes + reduction)), 0,
                         [&](const recording::Reader& reader, const Event& event) {
                           if (event.kind == recording::EventKind::kCollective)
                             numbers = {reader.times().computing, event.bytes};
                         }),
              "");
    EXPECT_THAT(numbers, ElementsAre(25000, 64)) << nodes;
  }
}

/// Two collectives of one group begin in the order of their ids, even if the second is ready first.
TEST(ChakraTrace, KeepsTheOrderOfCollectives) {
  const Folder folder;
  const auto coll = [](std::uint64_t id, std::uint64_t size, std::uint64_t before) {
    return node(id, 7, {attribute("comm_type", 9, 0), attribute("comm_size", 9, size)}, before);
  };
  const std::string computing = node(1, 4, {});
  (void)folder.file("t.0.et", kMetadata + computing + coll(2, 8, 1) + coll(3, 16, UINT64_MAX));
  (void)folder.file("t.1.et", kMetadata + computing + coll(2, 8, UINT64_MAX) + coll(3, 16, 1));
  const Program program = opened(folder.file("t.0.et"));
  expect_to_fit_and_end(program);
}

/// As in ASTRA-sim's rings: each rank first sends, and receives after that.
TEST(ChakraTrace, SendsBeforeItsReceiverIsThere) {
  const Folder folder;
  for (const std::uint64_t rank : {0U, 1U}) {
    const std::string size = attribute("comm_size", 9, 1U << 20U);
    (void)folder.file(fmt::format("t.{}.et", rank),
                      kMetadata + node(1, 5, {size, attribute("comm_dst", 7, 1 - rank)}) +
                          node(2, 6, {size, attribute("comm_src", 7, 1 - rank)}, 1));
  }
  expect_to_end_everywhere(opened(folder.file("t.0.et")));
}

TEST(ChakraTrace, NamesRankAndNodeOfAnError) {
  const Folder folder;
  const auto problem = [&](const std::string& nodes) {
    return problem_of(folder.file("t.et", kMetadata + nodes));
  };
  const std::string size = attribute("comm_size", 9, 8);
  const std::string reduction = attribute("comm_type", 9, 0);
  EXPECT_EQ(problem(node(4, 7, {reduction, size})), "");
  EXPECT_THAT(problem(node(4, 7, {reduction})), HasSubstr("rank 0: node 4: its comm_size is missing"));
  EXPECT_THAT(problem(node(4, 7, {size, attribute("comm_type", 9, 12)})),
              HasSubstr("node 4: its comm_type is not one of the ten"));
  EXPECT_THAT(problem(node(4, 7, {size})),
              HasSubstr("node 4: it is a collective without comm_type, and is_cpu_op"));
  std::string dimensions;
  put_bytes(dimensions, 1, "involved_dim");
  put_bytes(dimensions, 28, std::string("\x0a\x02\x01\x00", 4));
  EXPECT_THAT(problem(node(4, 7, {reduction, size, dimensions})),
              HasSubstr("node 4: its involved_dim leaves out dimensions"));
  EXPECT_THAT(problem(node(4, 5, {size, attribute("comm_dst", 7, 1)})),
              HasSubstr("its comm_dst is not a rank below 1"));
  EXPECT_THAT(problem(node(4, 6, {size})), HasSubstr("its comm_src is not a rank below 1"));
  EXPECT_THAT(problem(node(4, 4, {}, 5)), HasSubstr("it waits for node 5, which is missing"));
  EXPECT_THAT(problem(node(4, 4, {}, 5) + node(5, 4, {}, 4)),
              HasSubstr("node 4: it depends on itself through others"));
  EXPECT_THAT(problem(node(4, 4, {}) + node(4, 4, {})), HasSubstr("another node has the same id"));
  std::string group;
  put_bytes(group, 1, "pg_name");
  put_bytes(group, 29, "3");
  EXPECT_THAT(problem(node(4, 7, {reduction, size, group})),
              HasSubstr("the members of its group 3 are unknown"));
  (void)folder.file("t.json", R"({"3": [0, 7]})");
  EXPECT_THAT(problem(node(4, 7, {reduction, size, group})),
              HasSubstr("t.json: group 3 is not a list of different ranks below 1"));
  const std::string good = kMetadata + node(4, 7, {reduction, size});
  for (std::size_t cut = kMetadata.size() + 1; cut < good.size(); ++cut)
    EXPECT_NE(problem_of(folder.file("cut.et", good.substr(0, cut))), "") << cut;
}

/// PyTorch: the host launches the work of the accelerator, and both nodes have the type of a collective.
TEST(ChakraTrace, CountsLaunchesOfCommunicationAsComputing) {
  const Folder folder;
  const std::string on_host = attribute("is_cpu_op", 27, 1);
  std::string launch = node(1, 7, {on_host});
  launch = launch.substr(1);
  put_number(launch, 7, 25);  // us
  const std::string real =
      node(2, 7,
           {attribute("comm_type", 9, 0), attribute("comm_size", 9, 8), attribute("comm_priority", 9, 1)}, 1);
  const Program program = opened(folder.file("t.et", kMetadata + with_length(launch) + real));
  std::vector<std::uint64_t> computed;
  EXPECT_EQ(each_event(program, 0,
                       [&](const recording::Reader& reader, const Event& event) {
                         if (event.kind == recording::EventKind::kCollective)
                           computed.push_back(reader.times().computing);
                       }),
            "");
  EXPECT_THAT(computed, ElementsAre(25000U));
  EXPECT_THAT(program.notes, Contains(HasSubstr("launch communication compute for their duration: 1 with")));
  EXPECT_THAT(program.notes, Contains("attributes of communication that are not read: comm_priority"));
}

/// Written traces are read again: the same messages between each pair, and as many collectives.
TEST(ChakraTrace, HasTheMessagesAndCollectivesOfItsPattern) {
  const Folder folder;
  for (const PatternKind& kind : pattern_kinds()) {
    const Program program =
        opened(fmt::format("pattern:{}{}:9:4096:2", kind.name, kind.parameter.empty() ? "" : ":3"));
    std::vector<std::string> unsupported;
    const std::string path = folder.file(std::string(kind.name));
    const std::string problem = write_chakra(program, path, unsupported).error();
    if (kind.name == "experts") {
      EXPECT_THAT(problem, HasSubstr("blocks of different sizes, but the format has one size"));
      continue;
    }
    ASSERT_EQ(problem, "") << kind.name;
    const Program again = opened(path + ".4.et");
    EXPECT_EQ(messages_of(again), messages_of(program)) << kind.name;
    const Result<Findings> before = rehearse(program);
    const Result<Findings> after = rehearse(again);
    ASSERT_TRUE(before && after) << kind.name << ": " << after.error();
    EXPECT_THAT(after->problems, before->problems) << kind.name;
    EXPECT_EQ(after->collectives, before->collectives) << kind.name;
    const Result<ReplayResult> result = replayed(again, "host");
    ASSERT_TRUE(result) << kind.name << ": " << result.error();
    EXPECT_TRUE(result->unfinished.empty()) << kind.name;
  }
}

TEST(ChakraTrace, WritesTheGraphThatItRead) {
  const Folder folder;
  std::vector<std::string> unsupported;
  ASSERT_EQ(write_chakra(opened(data("chakra/step.0.et")), folder.file("a"), unsupported).error(), "");
  ASSERT_EQ(write_chakra(opened(folder.file("a.0.et")), folder.file("b"), unsupported).error(), "");
  for (const char* end : {".0.et", ".3.et", ".json"})
    EXPECT_EQ(contents_of(folder.file(std::string("a") + end)),
              contents_of(folder.file(std::string("b") + end)));
  EXPECT_EQ(contents_of(folder.file("a.json")), "{\"1\": [0, 1],\n \"2\": [2, 3]}\n");
}

TEST(Protobuf, RefusesInvalidMessages) {
  Field field;
  for (const std::string& bytes :
       {std::string("\x08"), std::string("\x08\x80"), std::string("\x0b\x01"),
        std::string("\x12\x05"
                    "abc"),
        std::string("\x09\x01\x02"), std::string("\x00\x01", 2), std::string(11, '\xff')}) {
    Fields fields(recording::byte_span(bytes));
    while (fields.next(field)) {
    }
    EXPECT_FALSE(fields.is_valid()) << bytes.size();
  }
}

/// A file of zeros consists of empty messages, and is no trace.
TEST(ChakraTrace, IsNoFileOfZeros) {
  const Folder folder;
  EXPECT_THAT(problem_of(folder.file("t.et", std::string(5000, '\0'))), HasSubstr("supported formats"));
  EXPECT_THAT(problem_of(folder.file("t.et", std::string(2, '\0'))), HasSubstr("supported formats"));
}

/// Rank 0 has to compute before its first collective but not before its second one; ranks call them in one
/// order.
TEST(ChakraTrace, BeginsCollectivesInTheOrderOfTheirIds) {
  const Folder folder;
  const auto reduction = [](std::uint64_t id, std::uint64_t bytes, std::uint64_t before) {
    return node(id, 7, {attribute("comm_type", 9, 0), attribute("comm_size", 9, bytes)}, before);
  };
  (void)folder.file("t.0.et", kMetadata + reduction(5, 8, 9) + reduction(6, 16, kNone) + node(9, 4, {}) +
                                  reduction(7, 24, 8) + reduction(8, 32, kNone));
  (void)folder.file("t.1.et", kMetadata + reduction(5, 8, kNone) + reduction(6, 16, kNone) +
                                  reduction(7, 24, 8) + reduction(8, 32, kNone));
  const Program program = opened(folder.file("t.0.et"));
  for (const int rank : {0, 1}) {
    std::vector<std::uint64_t> bytes;
    EXPECT_EQ(each_event(program, rank,
                         [&](const auto&, const Event& event) {
                           if (event.kind == recording::EventKind::kCollective) bytes.push_back(event.bytes);
                         }),
              "");
    EXPECT_THAT(bytes, ElementsAre(8, 16, 32, 24)) << rank;
  }
  expect_to_fit_and_end(program);
}

/// In the file, too, events after a nonblocking send wait until it is issued.
TEST(ChakraTrace, WritesTheEventsThatWaitForASend) {
  const Folder folder;
  const std::string text =
      "0 init\n0 compute 5000\n0 isend 1 1 8 6\n0 compute 7000\n0 waitall\n0 finalize\n1 init\n1 recv 0 1 8 "
      "6\n"
      "1 finalize\n";
  std::vector<std::string> unsupported;
  ASSERT_EQ(write_chakra(opened(folder.file("t", text)), folder.file("a"), unsupported).error(), "");
  const Program again = opened(folder.file("a.0.et"));
  const Result<Graph> graph = again.graph(0);
  ASSERT_TRUE(graph) << graph.error();
  const auto send = std::find_if(graph->nodes.begin(), graph->nodes.end(),
                                 [](const Graph::Node& one) { return one.kind == Graph::NodeKind::kSend; });
  ASSERT_NE(send, graph->nodes.end());
  EXPECT_EQ(graph->at_begin(static_cast<std::uint32_t>(send - graph->nodes.begin())).size(), 2U)
      << "computing, and the wait";
}

}  // namespace
}  // namespace offramp::trace
