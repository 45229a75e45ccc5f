// Archives of OTF2: those written call by call with its library, as by Score-P, and those written from
// programs; damaged and inconsistent ones.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "lib/answers/otf2/otf2_output.hpp"
#include "lib/answers/report/replay_records.hpp"
#include "lib/programs/check/rehearsal.hpp"
#include "tests/scale/written.hpp"
#include "tests/trace/replayed.hpp"

#ifdef OFFRAMP_OTF2
#include <otf2/otf2.h>
#endif

namespace offramp::trace {
namespace {

using recording::Event;
using recording::EventKind;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

#ifndef OFFRAMP_OTF2

TEST(Otf2Archive, IsRefusedWithoutTheLibrary) {
  const Folder folder;
  using namespace std::string_literals;
  folder.file("traces.otf2", "\3BOTF2\0\3\2\3"s);
  for (const std::string& name : {folder.file("traces.otf2"), folder.file("")})
    EXPECT_THAT(problem_of(name), HasSubstr("libopen-trace-format2-dev"));
  std::vector<std::string> unsupported;
  EXPECT_THAT(write_otf2(opened("pattern:ring:2:8"), folder.file("out"), unsupported),
              HasSubstr("libopen-trace-format2-dev"));
}

#else

// --- an archive, call by call ---

constexpr std::uint32_t kWorldComm = 3;
constexpr std::uint32_t kSelfComm = 5;
constexpr std::uint32_t kOddComm = 8;                       // ranks 3 and 1, in this order
constexpr std::uint32_t kWindow = 4;                        // of all ranks
constexpr std::uint32_t kOnlyFirst = 14, kOnlySecond = 15;  // groups of one rank
constexpr std::uint64_t kUndefined = OTF2_UNDEFINED_UINT64;

OTF2_FlushType before_flush(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) {
  return OTF2_FLUSH;
}

/// Written with OTF2's library. A clock tick is 10 ns.
class Written {
 public:
  Written(const Folder& folder, std::vector<std::uint64_t> ranks)
      : path_(folder.file("traces.otf2")), ranks_(std::move(ranks)) {
    archive_ = OTF2_Archive_Open(folder.file("").c_str(), "traces", OTF2_FILEMODE_WRITE, 256 * 1024,
                                 256 * 1024, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    static constexpr OTF2_FlushCallbacks kFlush = {before_flush, nullptr};
    OTF2_Archive_SetFlushCallbacks(archive_, &kFlush, nullptr);
    OTF2_Archive_SetSerialCollectiveCallbacks(archive_);
    OTF2_Archive_OpenEvtFiles(archive_);
  }
  ~Written() { close(); }
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;

  /// The events that follow belong to this thread of a process; the first thread of each is a rank.
  Written& at(std::uint64_t location, std::uint32_t process) {
    location_ = location;
    if (!writers_.contains(location)) {
      writers_[location] = OTF2_Archive_GetEvtWriter(archive_, location);
      processes_[location] = process;
    }
    writer_ = writers_[location];
    now_ = &clocks_[location];
    return *this;
  }
  Written& compute(std::uint64_t ticks) {
    *now_ += ticks;
    return *this;
  }
  /// A call of a function, with its events, written with the library.
  template <typename... Does>
  Written& call(const std::string& function, Does... does) {
    const auto number =
        regions_.try_emplace(function, static_cast<std::uint32_t>(regions_.size())).first->second;
    OTF2_EvtWriter_Enter(writer_, nullptr, ++*now_, number);
    (does(writer_, ++*now_), ...);
    OTF2_EvtWriter_Leave(writer_, nullptr, ++*now_, number);
    return *this;
  }
  /// Outside of any function.
  template <typename Does>
  Written& bare(Does does) {
    does(writer_, ++*now_);
    return *this;
  }
  void claim_events(std::uint64_t location, std::uint64_t more) { claimed_[location] += more; }
  void tick(std::uint64_t ticks) { ticks_ = ticks; }
  std::vector<std::uint64_t>& odd_members() { return odd_members_; }
  bool& has_locations() { return has_locations_; }

  const std::string& close() {
    if (archive_ == nullptr) return path_;
    for (const auto& [location, writer] : writers_) {
      std::uint64_t count = 0;
      OTF2_EvtWriter_GetNumberOfEvents(writer, &count);
      claimed_[location] += count;
      OTF2_Archive_CloseEvtWriter(archive_, writer);
    }
    OTF2_Archive_CloseEvtFiles(archive_);
    OTF2_Archive_OpenDefFiles(archive_);
    for (const auto& [location, writer] : writers_)
      OTF2_Archive_CloseDefWriter(archive_, OTF2_Archive_GetDefWriter(archive_, location));
    OTF2_Archive_CloseDefFiles(archive_);
    define(OTF2_Archive_GetGlobalDefWriter(archive_));
    OTF2_Archive_Close(archive_);
    archive_ = nullptr;
    return path_;
  }

 private:
  std::uint32_t text(OTF2_GlobalDefWriter* writer, const std::string& text) {
    OTF2_GlobalDefWriter_WriteString(writer, texts_, text.c_str());
    return texts_++;
  }
  void define(OTF2_GlobalDefWriter* writer) {
    OTF2_GlobalDefWriter_WriteClockProperties(writer, ticks_, 1000, 1U << 30U, kUndefined);
    const std::uint32_t none = text(writer, "");
    OTF2_GlobalDefWriter_WriteSystemTreeNode(writer, 0, none, none, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    for (const auto& [name, number] : regions_) {
      const std::uint32_t known = text(writer, name);
      const bool is_mpi = name.starts_with("MPI_");
      OTF2_GlobalDefWriter_WriteRegion(writer, number, known, known, none, OTF2_REGION_ROLE_FUNCTION,
                                       is_mpi ? OTF2_PARADIGM_MPI : OTF2_PARADIGM_USER, OTF2_REGION_FLAG_NONE,
                                       none, 0, 0);
    }
    std::map<std::uint32_t, bool> groups;
    for (const auto& [location, process] : processes_) {
      if (!std::exchange(groups[process], true))
        OTF2_GlobalDefWriter_WriteLocationGroup(writer, process, none, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                                OTF2_UNDEFINED_LOCATION_GROUP);
      OTF2_GlobalDefWriter_WriteLocation(writer, location, none, OTF2_LOCATION_TYPE_CPU_THREAD,
                                         claimed_[location], process);
    }
    const auto group = [&](std::uint32_t number, OTF2_GroupType type,
                           const std::vector<std::uint64_t>& members) {
      OTF2_GlobalDefWriter_WriteGroup(writer, number, none, type, OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE,
                                      static_cast<std::uint32_t>(members.size()), members.data());
    };
    if (has_locations_) group(10, OTF2_GROUP_TYPE_COMM_LOCATIONS, ranks_);
    std::vector<std::uint64_t> all(ranks_.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    group(11, OTF2_GROUP_TYPE_COMM_GROUP, all);
    group(12, OTF2_GROUP_TYPE_COMM_SELF, {});
    group(13, OTF2_GROUP_TYPE_COMM_GROUP, odd_members_);
    group(kOnlyFirst, OTF2_GROUP_TYPE_COMM_GROUP, {0});
    if (ranks_.size() > 1) group(kOnlySecond, OTF2_GROUP_TYPE_COMM_GROUP, {1});
    const std::uint32_t world = text(writer, "MPI_COMM_WORLD");
    OTF2_GlobalDefWriter_WriteComm(writer, kWorldComm, world, 11, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
    OTF2_GlobalDefWriter_WriteComm(writer, kSelfComm, none, 12, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
    OTF2_GlobalDefWriter_WriteComm(writer, kOddComm, none, 13, kWorldComm, OTF2_COMM_FLAG_NONE);
    OTF2_GlobalDefWriter_WriteRmaWin(writer, kWindow, none, kWorldComm, OTF2_RMA_WIN_FLAG_NONE);
  }

  std::string path_;
  std::vector<std::uint64_t> ranks_;  // locations
  std::vector<std::uint64_t> odd_members_ = {0};
  OTF2_Archive* archive_ = nullptr;
  OTF2_EvtWriter* writer_ = nullptr;
  std::uint64_t location_ = 0;
  std::uint64_t* now_ = nullptr;
  std::uint64_t ticks_ = 100'000'000;
  std::uint32_t texts_ = 0;
  bool has_locations_ = true;
  std::map<std::uint64_t, OTF2_EvtWriter*> writers_;
  std::map<std::uint64_t, std::uint32_t> processes_;
  std::map<std::uint64_t, std::uint64_t> clocks_;
  std::map<std::uint64_t, std::uint64_t> claimed_;
  std::map<std::string, std::uint32_t> regions_;
};

auto sends(std::uint32_t to, std::uint32_t comm, std::uint32_t tag, std::uint64_t bytes) {
  return [=](OTF2_EvtWriter* w, std::uint64_t t) {
    OTF2_EvtWriter_MpiSend(w, nullptr, t, to, comm, tag, bytes);
  };
}
auto receives(std::uint32_t from, std::uint32_t comm, std::uint32_t tag, std::uint64_t bytes) {
  return [=](OTF2_EvtWriter* w, std::uint64_t t) {
    OTF2_EvtWriter_MpiRecv(w, nullptr, t, from, comm, tag, bytes);
  };
}
auto begins_send(std::uint32_t to, std::uint32_t comm, std::uint32_t tag, std::uint64_t bytes,
                 std::uint64_t id) {
  return [=](OTF2_EvtWriter* w, std::uint64_t t) {
    OTF2_EvtWriter_MpiIsend(w, nullptr, t, to, comm, tag, bytes, id);
  };
}
auto sent(std::uint64_t id) {
  return [=](OTF2_EvtWriter* w, std::uint64_t t) { OTF2_EvtWriter_MpiIsendComplete(w, nullptr, t, id); };
}
auto begins_receive(std::uint64_t id) {
  return [=](OTF2_EvtWriter* w, std::uint64_t t) { OTF2_EvtWriter_MpiIrecvRequest(w, nullptr, t, id); };
}
auto received(std::uint32_t from, std::uint32_t comm, std::uint32_t tag, std::uint64_t bytes,
              std::uint64_t id) {
  return [=](OTF2_EvtWriter* w, std::uint64_t t) {
    OTF2_EvtWriter_MpiIrecv(w, nullptr, t, from, comm, tag, bytes, id);
  };
}
auto tested(std::uint64_t id) {
  return [=](OTF2_EvtWriter* w, std::uint64_t t) { OTF2_EvtWriter_MpiRequestTest(w, nullptr, t, id); };
}
auto cancelled(std::uint64_t id) {
  return [=](OTF2_EvtWriter* w, std::uint64_t t) { OTF2_EvtWriter_MpiRequestCancelled(w, nullptr, t, id); };
}
auto collective(OTF2_CollectiveOp op, std::uint32_t comm, std::uint32_t root, std::uint64_t out,
                std::uint64_t in) {
  return [=](OTF2_EvtWriter* w, std::uint64_t t) {
    OTF2_EvtWriter_MpiCollectiveBegin(w, nullptr, t);
    OTF2_EvtWriter_MpiCollectiveEnd(w, nullptr, t, op, comm, root, out, in);
  };
}
auto begins_collective(std::uint64_t id) {
  return [=](OTF2_EvtWriter* w, std::uint64_t t) {
    OTF2_EvtWriter_NonBlockingCollectiveRequest(w, nullptr, t, id);
  };
}
auto ended(OTF2_CollectiveOp op, std::uint32_t comm, std::uint32_t root, std::uint64_t out, std::uint64_t in,
           std::uint64_t id) {
  return [=](OTF2_EvtWriter* w, std::uint64_t t) {
    OTF2_EvtWriter_NonBlockingCollectiveComplete(w, nullptr, t, op, comm, root, out, in, id);
  };
}
constexpr std::uint32_t kNoRoot = OTF2_COLLECTIVE_ROOT_NONE;

/// "MPI_Send 0 100 1 7": communicator, bytes, peer, tag, and further fields.
std::vector<std::string> calls_of(const Program& program, int rank, bool natives = false) {
  std::vector<std::string> calls;
  const std::string problem =
      each_event(program, rank, [&](const recording::Reader& reader, const Event& event) {
        if (event.kind == EventKind::kNative && !natives) return;
        std::string text =
            fmt::format("{}{} {} {} {} {}", (event.flags & recording::kContinues) != 0 ? "+" : "",
                        reader.call(event.call), event.communicator, event.bytes, event.peer, event.tag);
        if (event.extra != 0) text += fmt::format(" x{}", event.extra);
        for (const std::uint32_t list : {event.list, event.second_list}) {
          if (list != 0) text += fmt::format(" [{}]", fmt::join(reader.list(list), ","));
        }
        if (reader.times().computing > 0) text += fmt::format(" after {}", reader.times().computing);
        calls.push_back(text);
      });
  EXPECT_EQ(problem, "");
  return calls;
}

/// The calls without those that make communicators, which are written where they are needed, with other
/// numbers.
std::vector<std::string> communication_of(const Program& program, int rank) {
  std::vector<std::string> calls = calls_of(program, rank);
  std::erase_if(calls, [](const std::string& call) { return call.starts_with("MPI_Comm_rank"); });
  for (std::string& call : calls) {
    if (call.starts_with("MPI_Send 2")) call.resize(std::min(call.find(" after"), call.size()));
  }
  return calls;
}

/// A step of four ranks in a ring, with the usual functions of MPI.
std::string write_step(Written& written) {
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    const std::uint32_t next = (rank + 1) % 4;
    const std::uint32_t before = (rank + 3) % 4;
    written.at(10 * rank, rank).call("MPI_Init").compute(100);
    written.call("MPI_Irecv", begins_receive(1)).call("MPI_Isend", begins_send(next, kWorldComm, 7, 4096, 2));
    written.call("MPI_Test", tested(1)).call("work").compute(50);
    written.call("MPI_Waitall", received(before, kWorldComm, 7, 4096, 1), sent(2));
    written.call("MPI_Sendrecv", sends(next, kWorldComm, 8, 100000), receives(before, kWorldComm, 8, 100000));
    const bool is_root = rank == 2;
    written.call("MPI_Bcast", collective(OTF2_COLLECTIVE_OP_BCAST, kWorldComm, 2, is_root ? 4 * 64 : 0, 64));
    written.call("MPI_Allreduce",
                 collective(OTF2_COLLECTIVE_OP_ALLREDUCE, kWorldComm, kNoRoot, 4 * 8, 4 * 8));
    written.call("MPI_Ibarrier", begins_collective(3));
    written.call("MPI_Wait", ended(OTF2_COLLECTIVE_OP_BARRIER, kWorldComm, kNoRoot, 0, 0, 3));
    if (rank == 3) written.call("MPI_Send", sends(1, kOddComm, 1, 10));
    if (rank == 1) written.call("MPI_Recv", receives(0, kOddComm, 1, 10));
    written.call("MPI_Finalize");
  }
  written.odd_members() = {3, 1};
  return written.close();
}

TEST(Otf2Archive, HasTheCallsOfEachRank) {
  const Folder folder;
  Written written(folder, {0, 10, 20, 30});
  const Program program = opened(write_step(written));
  ASSERT_EQ(program.description.ranks, 4);
  EXPECT_THAT(calls_of(program, 3),
              ElementsAre("MPI_Irecv 0 4096 2 7 after 1010", "MPI_Isend 0 4096 0 7 after 10",
                          "MPI_Waitall 0 0 0 0 [2,1] after 530", "MPI_Sendrecv 0 100000 2 8 after 10",
                          "+MPI_Sendrecv 0 100000 0 8", "+MPI_Sendrecv 0 0 0 0 [2,1]",
                          "MPI_Bcast 0 64 2 0 after 10", "MPI_Allreduce 0 8 0 0 x2 after 10",
                          "MPI_Ibarrier 0 0 0 0 after 10", "MPI_Wait 0 0 0 0 x1 after 10",
                          // The communicator is made at its first use.
                          "MPI_Comm_rank 0 0 0 0 x8 [3,1] after 10", "MPI_Send 2 10 1 1"));
  EXPECT_THAT(calls_of(program, 1), Contains("MPI_Recv 2 10 0 1"));
  EXPECT_THAT(calls_of(program, 0, true).front(), HasSubstr("MPI_Init"));
  EXPECT_THAT(calls_of(program, 0, true).back(), HasSubstr("MPI_Finalize"));
}

TEST(Otf2Archive, IsFoundInItsFolder) {
  const Folder folder;
  Written written(folder, {0, 10, 20, 30});
  write_step(written);
  EXPECT_EQ(opened(folder.file("")).description.ranks, 4);
  folder.file("more.otf2", "x");
  EXPECT_THAT(problem_of(folder.file("")), HasSubstr("has 2 OTF2 archives: name one of them"));
}

TEST(Otf2Archive, IsReplayedOnAllHardware) {
  const Folder folder;
  Written written(folder, {0, 10, 20, 30});
  const Program program = opened(write_step(written));
  const Result<Findings> findings = rehearse(program);
  ASSERT_TRUE(findings) << findings.error();
  EXPECT_THAT(findings->problems, IsEmpty());
  EXPECT_EQ(findings->messages, 9U);
  EXPECT_EQ(findings->collectives, 12U);
  expect_to_end_everywhere(program);
}

// --- collectives ---

struct Sums {
  OTF2_CollectiveOp operation;
  std::uint32_t root;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> sent_and_received;  // by rank
};

std::vector<std::string> collectives_of(const std::vector<Sums>& all, int rank,
                                        std::vector<std::string>* notes = nullptr) {
  const Folder folder;
  const std::size_t ranks = all.front().sent_and_received.size();
  std::vector<std::uint64_t> locations;
  for (std::size_t i = 0; i < ranks; ++i) locations.push_back(i);
  Written written(folder, locations);
  for (std::size_t i = 0; i < ranks; ++i) {
    written.at(i, static_cast<std::uint32_t>(i));
    for (const Sums& one : all) {
      const auto [out, in] = one.sent_and_received[i];
      written.call("MPI_Some", collective(one.operation, kWorldComm, one.root, out, in));
    }
  }
  const Program program = opened(written.close());
  expect_to_end_everywhere(program);
  if (notes != nullptr) *notes = program.notes;
  std::vector<std::string> calls = calls_of(program, rank);
  for (std::string& call : calls) call.resize(std::min(call.find(" after"), call.size()));
  return calls;
}

TEST(Otf2Archive, DerivesTheBlocksOfCollectivesFromTheirSums) {
  std::vector<std::string> notes;
  const auto calls =
      collectives_of({{OTF2_COLLECTIVE_OP_GATHER, 1, {{6, 0}, {6, 18}, {6, 0}}},
                      {OTF2_COLLECTIVE_OP_REDUCE, 0, {{8, 24}, {8, 0}, {8, 0}}},
                      {OTF2_COLLECTIVE_OP_SCATTER, 2, {{0, 5}, {0, 5}, {15, 5}}},
                      {OTF2_COLLECTIVE_OP_ALLGATHER, kNoRoot, {{21, 21}, {21, 21}, {21, 21}}},
                      {OTF2_COLLECTIVE_OP_ALLTOALL, kNoRoot, {{30, 30}, {30, 30}, {30, 30}}},
                      {OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK, kNoRoot, {{12, 12}, {12, 12}, {12, 12}}},
                      {OTF2_COLLECTIVE_OP_SCAN, kNoRoot, {{12, 4}, {8, 8}, {4, 12}}},
                      {OTF2_COLLECTIVE_OP_EXSCAN, kNoRoot, {{8, 0}, {4, 4}, {0, 8}}},
                      {OTF2_COLLECTIVE_OP_GATHERV, 1, {{1, 0}, {2, 6}, {3, 0}}},
                      {OTF2_COLLECTIVE_OP_SCATTERV, 1, {{0, 7}, {24, 8}, {0, 9}}},
                      {OTF2_COLLECTIVE_OP_ALLGATHERV, kNoRoot, {{3, 6}, {6, 6}, {9, 6}}},
                      {OTF2_COLLECTIVE_OP_REDUCE_SCATTER, kNoRoot, {{24, 12}, {24, 24}, {24, 36}}},
                      {OTF2_COLLECTIVE_OP_ALLTOALLV, kNoRoot, {{40, 10}, {40, 40}, {20, 50}}},
                      {OTF2_COLLECTIVE_OP_BARRIER, kNoRoot, {{0, 0}, {0, 0}, {0, 0}}},
                      {OTF2_COLLECTIVE_OP_CREATE_HANDLE, kNoRoot, {{0, 0}, {0, 0}, {0, 0}}}},
                     1, &notes);
  EXPECT_THAT(calls, ElementsAre("MPI_Gather 0 6 1 0", "MPI_Reduce 0 8 0 0 x2", "MPI_Scatter 0 5 2 0",
                                 "MPI_Allgather 0 7 0 0", "MPI_Alltoall 0 10 0 0",
                                 "MPI_Reduce_scatter_block 0 4 0 0 x1", "MPI_Scan 0 4 0 0 x1",
                                 "MPI_Exscan 0 4 0 0 x1", "MPI_Gatherv 0 2 1 0 [1,2,3]",
                                 "MPI_Scatterv 0 0 1 0 x8 [7,8,9]", "MPI_Allgatherv 0 2 0 0 x6 [1,2,3]",
                                 "MPI_Reduce_scatter 0 24 0 0 x6 [4,8,12]",
                                 // 40 of 100 bytes leave, distributed like the incoming 10:40:50; and 40 of
                                 // 100 arrive, like 40:40:20.
                                 "MPI_Alltoallv 0 40 0 0 x40 [4,16,20] [16,16,8]", "MPI_Barrier 0 0 0 0"));
  EXPECT_THAT(notes, Contains(HasSubstr("these are spread in proportion")));
  EXPECT_THAT(notes, Contains(HasSubstr("types and functions")));
}

/// Score-P includes a rank's own part in neither sum.
TEST(Otf2Archive, DerivesTheBlocksOfCollectivesInPlace) {
  EXPECT_THAT(
      collectives_of({{OTF2_COLLECTIVE_OP_ALLREDUCE, kNoRoot, {{16, 16}, {16, 16}, {16, 16}}},
                      {OTF2_COLLECTIVE_OP_GATHER, 1, {{8, 0}, {0, 16}, {8, 0}}},
                      {OTF2_COLLECTIVE_OP_ALLGATHERV, kNoRoot, {{2, 5}, {4, 4}, {6, 3}}}},
                     0),
      ElementsAre("MPI_Allreduce 0 8 0 0 x2", "MPI_Gather 0 8 1 0", "MPI_Allgatherv 0 1 0 0 x6 [1,2,3]"));
}

TEST(Otf2Archive, NamesCollectivesThatDoNotFitTogether) {
  const Folder folder;
  Written written(folder, {0, 1});
  written.at(0, 0).call("MPI_Barrier", collective(OTF2_COLLECTIVE_OP_BARRIER, kWorldComm, kNoRoot, 0, 0));
  written.at(1, 1).call("MPI_Bcast", collective(OTF2_COLLECTIVE_OP_BCAST, kWorldComm, 0, 0, 8));
  EXPECT_THAT(
      problem_of(written.close()),
      HasSubstr("traces.otf2: collective 1 on communicator 3 is bcast with root 0 at rank 1, and barrier"));
}

// --- requests, threads, and what is left out ---

TEST(Otf2Archive, NamesOmittedEvents) {
  const Folder folder;
  Written written(folder, {0});
  written.at(0, 0).call("MPI_Irecv", begins_receive(1)).call("MPI_Cancel").call("MPI_Wait", cancelled(1));
  written.call("MPI_Irecv", begins_receive(2)).call("MPI_Put").call("MPI_Iprobe").call("MPI_Wait", sent(9));
  written.call("MPI_Ibsend", begins_send(0, kSelfComm, 3, 8, 4)).call("MPI_Wait", sent(4));
  written.call("MPI_Recv", receives(0, kSelfComm, 3, 8))
      .call("MPI_Issend", begins_send(0, kSelfComm, 4, 8, 5));
  written.call("MPI_Request_free", sent(5)).bare(receives(0, kSelfComm, 4, 8));
  const Program program = opened(written.close());
  EXPECT_THAT(
      program.notes,
      ElementsAre("computing is the time between MPI calls", HasSubstr("receives have the source"),
                  "completions of requests whose start is missing are left out",
                  HasSubstr("probes take no time"), "receives and collectives without an end are left out",
                  "receives that were cancelled are left out",
                  "calls without a model, which last as long as in the trace: MPI_Put"));
  const auto calls = calls_of(program, 0);
  EXPECT_EQ(calls.size(), 5U) << fmt::format("{}", fmt::join(calls, "\n"));
  EXPECT_THAT(calls[0], HasSubstr("MPI_Ibsend 1 8 0 3"));
  EXPECT_THAT(calls[3], HasSubstr("MPI_Comm_rank 0 0 0 0 x1"));
  expect_to_end_everywhere(program);
}

TEST(Otf2Archive, WithoutMpiFinalizeIsNotWhole) {
  for (const bool ends : {true, false}) {
    const Folder folder;
    Written written(folder, {0});
    written.at(0, 0).call("MPI_Init").call("MPI_Barrier");
    if (ends) written.call("MPI_Finalize");
    EXPECT_EQ(opened(written.close()).missing, ends ? "" : "rank 0 is cut off before MPI_Finalize");
  }
}

TEST(Otf2Archive, KeepsThreadsApart) {
  const Folder folder;
  Written written(folder, {0, 1});
  constexpr std::uint64_t kSecond = std::uint64_t{1} << 32U;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    written.at(rank, rank).call("MPI_Init_thread").compute(10);
    written.call("MPI_Isend", begins_send(1 - rank, kWorldComm, 1, 64, 1)).call("work").compute(100);
    // The second thread waits for a request of the first one.
    written.at(kSecond + rank, rank).compute(50).call("MPI_Recv", receives(1 - rank, kWorldComm, 1, 64));
    written.call("MPI_Wait", sent(1));
    written.at(rank, rank).call("MPI_Finalize");
  }
  const Program program = opened(written.close());
  std::vector<std::uint32_t> threads;
  each_event(program, 1,
             [&](const recording::Reader& reader, const Event&) { threads.push_back(reader.thread()); });
  EXPECT_TRUE(program.read(1)->has_threads());
  EXPECT_THAT(threads, ElementsAre(0, 0, 1, 1, 0));
  EXPECT_THAT(program.notes, Contains(HasSubstr("calls of several threads")));
  expect_to_end_everywhere(program);
}

// --- what makes no sense ---

template <typename Does>
std::string problem_with(Does does) {
  const Folder folder;
  Written written(folder, {0, 1});
  written.at(1, 1).call("MPI_Init");
  written.at(0, 0).call("MPI_Init").call("MPI_Some", does);
  return problem_of(written.close());
}

TEST(Otf2Archive, NamesRankAndRecordOfAnError) {
  EXPECT_EQ(problem_with(sends(0, kSelfComm, 1, 1)), "");
  EXPECT_THAT(problem_with(sends(2, kWorldComm, 1, 1)),
              HasSubstr("traces.otf2: rank 0, record 4 (MpiSend): communicator 3 has no rank 2"));
  EXPECT_THAT(problem_with(sends(1, 77, 1, 1)),
              HasSubstr("communicator 77 is not defined, or joins two groups"));
  EXPECT_THAT(problem_with(sends(1, kWorldComm, 1U << 31U, 1)), HasSubstr("invalid tag 2147483648"));
  EXPECT_THAT(problem_with(receives(1, kWorldComm, 1, UINT64_MAX)),
              HasSubstr("(MpiRecv): 18446744073709551615 bytes"));
  EXPECT_THAT(problem_with(collective(OTF2_COLLECTIVE_OP_BCAST, kWorldComm, 2, 8, 8)),
              HasSubstr("has no rank 2"));
  EXPECT_THAT(problem_with(collective(OTF2_COLLECTIVE_OP_BCAST, kWorldComm, kNoRoot, 8, 8)),
              HasSubstr("has no rank"));
  EXPECT_THAT(problem_with(collective(OTF2_COLLECTIVE_OP_BARRIER, kWorldComm, kNoRoot, UINT64_MAX, 0)),
              HasSubstr("bytes are too many"));
  EXPECT_THAT(problem_with([](OTF2_EvtWriter* w, std::uint64_t t) {
                begins_receive(6)(w, t);
                ended(OTF2_COLLECTIVE_OP_BARRIER, kWorldComm, kNoRoot, 0, 0, 6)(w, t);
              }),
              HasSubstr("request 6 was started as another operation"));
}

TEST(Otf2Archive, RefusesDefinitionsThatDoNotFit) {
  const auto problem = [](auto change) {
    const Folder folder;
    Written written(folder, {0, 1});
    written.at(0, 0).call("MPI_Init").call("MPI_Send", sends(0, kOddComm, 1, 1));
    written.at(1, 1).call("MPI_Init");
    change(written);
    return problem_of(written.close());
  };
  EXPECT_EQ(problem([](Written&) {}), "");
  EXPECT_THAT(problem([](Written& one) { one.has_locations() = false; }), HasSubstr("it has no MPI ranks"));
  EXPECT_THAT(problem([](Written& one) {
                one.odd_members() = {0, 2};
              }),
              HasSubstr("communicator 8 contains rank 2, but there are 2 ranks"));
  EXPECT_THAT(problem([](Written& one) { one.odd_members() = {1, 1}; }), HasSubstr("has rank 1 twice"));
  EXPECT_THAT(problem([](Written& one) { one.odd_members() = {1}; }), HasSubstr("this rank is not a member"));
  EXPECT_THAT(problem([](Written& one) { one.tick(0); }), HasSubstr("clock"));
  EXPECT_THAT(problem([](Written& one) { one.claim_events(1, 3); }),
              HasSubstr("rank 1: 3 of its records are missing"));
  const Folder folder;
  Written written(folder, {0, 1, 2});
  written.at(0, 0).call("MPI_Init");
  written.at(1, 1).call("MPI_Init");
  EXPECT_THAT(problem_of(written.close()), HasSubstr("location 2 of rank 2 does not exist"));
}

/// Each file of an archive, truncated anywhere.
TEST(Otf2Archive, ThatIsCutIsAnErrorAndNoCrash) {
  const Folder folder;
  Written written(folder, {0, 10, 20, 30});
  const std::string anchor = write_step(written);
  ASSERT_EQ(problem_of(anchor), "");
  for (const char* name : {"traces.otf2", "traces.def", "traces/20.evt", "traces/20.def"}) {
    const std::string whole = contents_of(folder.file(name));
    ASSERT_FALSE(whole.empty());
    std::size_t refused = 0;
    const std::size_t step = std::max<std::size_t>(1, whole.size() / 40);
    for (std::size_t size = 0; size < whole.size(); size += step) {
      folder.file(name, whole.substr(0, size));
      refused += problem_of(anchor).empty() ? 0 : 1;
    }
    EXPECT_GT(refused, 0U) << name;
    std::filesystem::remove(folder.file(name));
    // A location need not have definitions of its own.
    const bool is_needed = !std::string_view(name).ends_with("20.def");
    EXPECT_EQ(!problem_of(anchor).empty(), is_needed) << name;
    folder.file(name, whole);
  }
  EXPECT_EQ(problem_of(anchor), "");
}

// --- written from programs ---

std::string written_from(const Program& program, const std::string& folder,
                         std::vector<std::string>& unsupported) {
  EXPECT_EQ(write_otf2(program, folder, unsupported), "");
  return folder + "/traces.otf2";
}

TEST(Otf2Archive, ComesBackAsItWasWritten) {
  const Folder folder;
  Written written(folder, {0, 10, 20, 30});
  const Program program = opened(write_step(written));
  std::vector<std::string> unsupported;
  const Program back = opened(written_from(program, folder.file("out"), unsupported));
  EXPECT_THAT(unsupported, ElementsAre("left out: types and functions of reductions"));
  ASSERT_EQ(back.description.ranks, 4);
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_THAT(communication_of(back, rank), ElementsAreArray(communication_of(program, rank)));
  const Program again = opened(written_from(back, folder.file("again"), unsupported));
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_THAT(communication_of(again, rank), ElementsAreArray(communication_of(program, rank)));
}

TEST(Otf2Archive, TakesAsLongAsItsPattern) {
  const Folder folder;
  std::vector<std::string> unsupported;
  int number = 0;
  for (const char* pattern :
       {"pattern:stencil2d:16:4KiB:3", "pattern:transpose2d:4:64KiB", "pattern:ring:5:1MiB"}) {
    const Program program = opened(pattern);
    const Program back = opened(written_from(program, folder.file(fmt::format("{}", number++)), unsupported));
    EXPECT_EQ(messages_of(back), messages_of(program)) << pattern;
    for (const char* backend : {"host", "cclo"}) {
      const auto one = replayed(program, backend);
      const auto other = replayed(back, backend);
      ASSERT_TRUE(one && other) << pattern;
      EXPECT_EQ(one->modelled_time, other->modelled_time) << pattern << " " << backend;
    }
  }
}

TEST(Otf2Archive, WithThreadsKeepsThemApart) {
  const Folder folder;
  Written written(folder, {0, 1});
  constexpr std::uint64_t kSecond = std::uint64_t{1} << 32U;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    written.at(rank, rank)
        .call("MPI_Init_thread")
        .call("MPI_Send", sends(1 - rank, kWorldComm, 1, 64))
        .compute(100);
    written.at(kSecond + rank, rank).compute(50).call("MPI_Recv", receives(1 - rank, kWorldComm, 1, 64));
    written.at(rank, rank).call("MPI_Finalize");
  }
  const Program program = opened(written.close());
  std::vector<std::string> unsupported;
  const Program back = opened(written_from(program, folder.file("out"), unsupported));
  EXPECT_TRUE(back.read(0)->has_threads());
  expect_to_end_everywhere(back);
}

// --- windows, as Score-P writes them ---

/// In the function of a window.
template <typename Write, typename... Values>
auto rma(Write write, Values... values) {
  return [=](OTF2_EvtWriter* w, std::uint64_t t) { write(w, nullptr, t, values...); };
}

TEST(Otf2Archive, HasTheAccessesAndSynchronizationOfWindows) {
  constexpr std::uint64_t kSecond = 7;
  constexpr std::uint32_t kAll = OTF2_UNDEFINED_UINT32;
  const Folder folder;
  Written written(folder, {0, kSecond});
  const auto fence = [] {
    return rma(OTF2_EvtWriter_RmaCollectiveEnd, OTF2_COLLECTIVE_OP_BARRIER,
               OTF2_RMA_SYNC_LEVEL_PROCESS | OTF2_RMA_SYNC_LEVEL_MEMORY, kWindow, OTF2_COLLECTIVE_ROOT_NONE,
               std::uint64_t{0}, std::uint64_t{0});
  };
  const auto done = [](std::uint64_t id) { return rma(OTF2_EvtWriter_RmaOpCompleteRemote, kWindow, id); };
  const auto group = [](std::uint32_t number) {
    return rma(OTF2_EvtWriter_RmaGroupSync, OTF2_RMA_SYNC_LEVEL_PROCESS, kWindow, number);
  };
  constexpr std::uint64_t kZero = 0;
  written.at(0, 0)
      .call("MPI_Init")
      .call("MPI_Win_fence", fence())
      .call("MPI_Put", rma(OTF2_EvtWriter_RmaPut, kWindow, 1U, std::uint64_t{4096}, std::uint64_t{50}))
      .call("MPI_Win_fence", fence())  // completes the access, although no record says so
      .call("MPI_Win_lock_all", rma(OTF2_EvtWriter_RmaRequestLock, kWindow, kAll, kZero, OTF2_LOCK_SHARED),
            rma(OTF2_EvtWriter_RmaAcquireLock, kWindow, kAll, kZero, OTF2_LOCK_SHARED))
      .call("MPI_Rget", rma(OTF2_EvtWriter_RmaGet, kWindow, 1U, std::uint64_t{100}, std::uint64_t{51}))
      .call("MPI_Wait", done(51))
      .call("MPI_Fetch_and_op", rma(OTF2_EvtWriter_RmaAtomic, kWindow, 1U, OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ADD,
                                    std::uint64_t{8}, std::uint64_t{8}, std::uint64_t{52}))
      .call("MPI_Accumulate", rma(OTF2_EvtWriter_RmaAtomic, kWindow, 1U, OTF2_RMA_ATOMIC_TYPE_ACCUMULATE,
                                  std::uint64_t{80}, kZero, std::uint64_t{53}))
      .call("MPI_Win_unlock_all", done(52), done(53),
            rma(OTF2_EvtWriter_RmaReleaseLock, kWindow, kAll, kZero))
      .call("MPI_Win_start", group(kOnlySecond))
      .call("MPI_Win_complete", group(kOnlySecond))
      .call("MPI_Win_sync", rma(OTF2_EvtWriter_RmaWaitChange, kWindow))
      .call("MPI_Finalize");
  written.at(kSecond, 1)
      .call("MPI_Init")
      .call("MPI_Win_fence", fence())
      .call("MPI_Win_fence", fence())
      .call("MPI_Win_post", group(kOnlyFirst))
      .call("MPI_Win_wait", group(kOnlyFirst))
      .call("MPI_Finalize");
  const Program program = opened(written.close());
  EXPECT_THAT(program.notes,
              Contains("notifications in windows, and windows that are not MPI's, are left out"));
  std::vector<std::string> events;
  EXPECT_EQ(
      each_event(program, 0,
                 [&](const auto& reader, const Event& event) {
                   if (event.kind == EventKind::kNative) return;
                   const bool accesses = event.kind == EventKind::kAccess;
                   events.push_back(fmt::format(
                       "{} {}{}", reader.call(event.call), static_cast<int>(event.kind),
                       accesses ? fmt::format(" {} to {}: {}, {}", to_string(static_cast<Access>(event.tag)),
                                              event.peer, event.bytes, event.extra)
                                : std::string()));
                 }),
      "");
  const auto kind = [](const char* function, EventKind what) {
    return fmt::format("{} {}", function, static_cast<int>(what));
  };
  const auto access = [&](const char* function, const char* what) {
    return kind(function, EventKind::kAccess) + " " + what;
  };
  EXPECT_THAT(events, ElementsAre(kind("MPI_Win_fence", EventKind::kCollective),      //
                                  access("MPI_Put", "write to 1: 4096, 0"),           //
                                  kind("MPI_Win_fence", EventKind::kWait),            //
                                  kind("MPI_Win_fence", EventKind::kCollective),      //
                                  access("MPI_Win_lock_all", "atomic to 0: 8, 8"),    //
                                  access("MPI_Rget", "read to 1: 0, 100"),            //
                                  kind("MPI_Wait", EventKind::kWait),                 //
                                  access("MPI_Fetch_and_op", "atomic to 1: 8, 8"),    //
                                  access("MPI_Accumulate", "combine to 1: 80, 0"),    //
                                  kind("MPI_Win_unlock_all", EventKind::kWait),       //
                                  access("MPI_Win_unlock_all", "atomic to 0: 8, 8"),  //
                                  kind("MPI_Win_start", EventKind::kReceive),         //
                                  kind("MPI_Win_complete", EventKind::kSend)));
  expect_to_fit_and_end(program);
}

/// Accesses in all ways, and collectives of neighbours, come back with their times.
TEST(Otf2Archive, TakesAsLongAsItsAccessesAndNeighbours) {
  using test::Tape;
  const auto fence = [](Tape& tape) {
    tape.add(tape.collective({.kind = OperationKind::kBarrier, .ranks = 2}, recording::kFirstMade));
    tape.as("MPI_Win_fence");
  };
  const Program program = scale::written(
      [&](Tape& tape, int rank, int) {
        const int other = 1 - rank;
        const auto notify = [&](EventKind kind, int tag, const char* function) {
          tape.message(kind, other, 0, tag,
                       kind == EventKind::kSend ? recording::kBuffered : recording::kBlocking,
                       recording::kFirstMade + 1);
          tape.as(function);
        };
        for (const std::uint64_t id : {5, 6}) tape.communicator({0, 1}, id);
        fence(tape);
        std::vector<std::uint64_t> requests;
        for (const Access kind : {Access::kWrite, Access::kRead, Access::kAtomic, Access::kCombine})
          requests.push_back(tape.access(kind, other,
                                         kind == Access::kRead     ? 0
                                         : kind == Access::kAtomic ? 8
                                                                   : 6000,
                                         kind == Access::kRead     ? 3000
                                         : kind == Access::kAtomic ? 8
                                                                   : 0,
                                         0, recording::kFirstMade));
        tape.wait(requests);
        tape.as("MPI_Win_fence");
        fence(tape);
        tape.last().event.flags |= recording::kContinues;
        notify(EventKind::kSend, 0, "MPI_Win_post");
        notify(EventKind::kReceive, 0, "MPI_Win_start");
        notify(EventKind::kSend, 1, "MPI_Win_complete");
        notify(EventKind::kReceive, 1, "MPI_Win_wait");
        tape.access(Access::kAtomic, other, 8, 8, recording::kBlocking, recording::kFirstMade);
        tape.as("MPI_Win_lock");
        tape.access(Access::kAtomic, other, 8, 8, recording::kBlocking, recording::kFirstMade);
        tape.as("MPI_Win_unlock");
        const auto to = static_cast<std::uint64_t>(other);
        tape.neighbours({to, 5000}, {to, 5000});
        const std::uint64_t request = tape.neighbours({to, 70, to, 80}, {to, 70, to, 80}, 0);
        tape.wait({request});
        tape.finalize();
      },
      2);
  const Folder folder;
  std::vector<std::string> unsupported;
  const Program back = opened(written_from(program, folder.file("out"), unsupported));
  EXPECT_THAT(unsupported, ElementsAre("written as exclusive: shared locks of windows"));
  expect_to_fit_and_end(back);
  for (const char* backend : {"host", "dpu"}) {
    const Result<ReplayResult> one = replayed(program, backend);
    const Result<ReplayResult> other = replayed(back, backend);
    ASSERT_TRUE(one && other);
    EXPECT_NEAR(other->modelled_time.seconds() / one->modelled_time.seconds(), 1, 0.15) << backend;
    EXPECT_EQ(one->total().declines, other->total().declines);
  }
  std::uint64_t bytes = 0;
  EXPECT_EQ(each_event(back, 0,
                       [&](const auto&, const Event& event) {
                         if (event.kind == EventKind::kAccess) bytes += event.bytes + event.extra;
                       }),
            "");
  EXPECT_EQ(bytes, 6000U + 3000 + 16 + 6000 + 2 * 16);
  EXPECT_THAT(messages_of(back).at({0, 1}), ElementsAre(0, 0, 5000, 70, 80));
}

TEST(Otf2Archive, DoesNotTakeThePlaceOfAnother) {
  const Folder folder;
  std::vector<std::string> unsupported;
  written_from(opened("pattern:ring:2:8"), folder.file("out"), unsupported);
  EXPECT_THAT(write_otf2(opened("pattern:ring:2:8"), folder.file("out"), unsupported),
              HasSubstr("an archive already exists"));
  folder.file("file", "x");
  EXPECT_THAT(otf2_problem(folder.file("file")), HasSubstr("it is a file"));
  EXPECT_THAT(otf2_problem(folder.file("no/out")), HasSubstr("there is no folder"));
}

/// The timeline of a replay has the modelled times, to the picosecond.
TEST(Otf2Archive, HasTheModelledTimesOfAReplay) {
  const Folder folder;
  const Program program = opened("pattern:ring:4:1MiB");
  const Registry registry(built_in_backends());
  Result<WorldSetting> setting = world_setting(Configuration(), registry, *registry.find("cclo"), 4);
  ASSERT_TRUE(setting) << setting.error();
  ReplayRecords records(4, {.timeline = true});
  ReplayOptions options;
  options.observer = &records;
  const ReplaySource source{.ranks = 4, .read = program.read, .has_arrival = program.has_arrival};
  const Result<ReplayResult> result = replay(*setting, source, options);
  ASSERT_TRUE(result) << result.error();
  const Timeline& timeline = *records.timeline();
  ASSERT_EQ(timeline.tracks().size(), 4U);
  for (const Timeline::Track* track : timeline.tracks())
    EXPECT_EQ(track->entries.back().at, result->ranks[static_cast<std::size_t>(track->rank)].clock);
  ASSERT_EQ(write_otf2(timeline, "ring", folder.file("out")), "");
  const Program back = opened(folder.file("out"));
  EXPECT_EQ(messages_of(back), messages_of(program));
}

#endif

}  // namespace
}  // namespace offramp::trace
