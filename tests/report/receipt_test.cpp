// The receipt of one call from hand-made spans; and the recorder's receipts, read back.
#include "lib/answers/report/receipt.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/answers/report/receipts.hpp"

namespace offramp {
namespace {

constexpr std::uint64_t kMine = 1;                   // begun by rank 0
constexpr std::uint64_t kTheirs = (1ULL << 32) | 1;  // begun by rank 1
constexpr std::uint64_t kCollective = (1ULL << 32) | 2;

std::vector<std::string> shown(const std::vector<ReceiptLine>& lines) {
  std::vector<std::string> texts;
  for (const ReceiptLine& line : lines)
    texts.push_back(std::to_string((line.end - line.begin).count()) + " " + std::to_string(line.rank) + " " +
                    line.unit + " " + line.what);
  return texts;
}

Time sum_of(const std::vector<ReceiptLine>& lines) {
  Time sum;
  for (const ReceiptLine& line : lines) sum += line.end - line.begin;
  return sum;
}

/// Two ranks; the calls of rank 0 from 100 to 200 ps.
class Receipt : public testing::Test {
 protected:
  Receipt() { receipts_.ranks.resize(2); }

  void add(int rank, const char* unit, const char* what, int begin, int end, std::uint64_t operation) {
    Receipts::Rank& to = receipts_.ranks[static_cast<std::size_t>(rank)];
    to.spans.push_back(
        {static_cast<std::uint32_t>(to.stages.size()), Time::ps(begin), Time::ps(end), operation});
    to.stages.push_back({unit, what});
  }
  std::vector<ReceiptLine> lines(std::vector<std::uint64_t> operations) {
    return receipt_of(receipts_, 0, {7, "MPI_Recv", Time::ps(100), Time::ps(200), std::move(operations)});
  }
  void peer_knows(std::uint64_t operation) {
    receipts_.ranks[1].calls.push_back({1, "MPI_Send", Time::ps(0), Time::ps(10), {operation}});
  }

  Receipts receipts_;
};

TEST_F(Receipt, AssignsACallWithoutOperationsToTheHost) {
  EXPECT_THAT(shown(lines({})), testing::ElementsAre("100 -1 host call"));
}

TEST_F(Receipt, GivesOverlapsToTheStageThatBeganLast) {
  add(0, "dma", "write", 90, 160, kMine);
  add(0, "firmware", "step", 120, 130, kMine);
  const auto all = lines({kMine});
  EXPECT_THAT(shown(all), testing::ElementsAre("20 0 dma write", "10 0 firmware step", "30 0 dma write",
                                               "40 -1 host completion"));
  EXPECT_EQ(sum_of(all), Time::ps(100));
}

TEST_F(Receipt, PutsOwnHardwareBeforeTheHostAndTheHostBeforeOthers) {
  add(1, "wire", "data", 100, 200, kTheirs);
  add(0, kHostUnit, "post receive", 100, 150, kTheirs);
  add(0, "dma", "write", 110, 120, kTheirs);
  EXPECT_THAT(shown(lines({kTheirs})), testing::ElementsAre("10 0 host post receive", "10 0 dma write",
                                                            "30 0 host post receive", "50 1 wire data"));
}

TEST_F(Receipt, CallsTheTimeBeforeAPeersStageAWaitForThatPeer) {
  peer_knows(kTheirs);
  add(1, "wire", "data", 140, 180, kTheirs);
  add(0, "dma", "write", 190, 200, kTheirs);
  EXPECT_THAT(shown(lines({kTheirs})), testing::ElementsAre("40 1 wait for a peer", "40 1 wire data",
                                                            "10 1 wait for a peer", "10 0 dma write"));
}

TEST_F(Receipt, PrefersThePeersActivityToTheNameOfAWait) {
  add(0, "engine", "WAIT4ACK", 100, 200, kMine);
  add(1, "engine", "work", 130, 150, kMine);
  add(1, "engine", "wait for input", 100, 200, kMine);
  EXPECT_THAT(shown(lines({kMine})),
              testing::ElementsAre("30 0 engine WAIT4ACK", "20 1 engine work", "50 0 engine WAIT4ACK"));
}

TEST_F(Receipt, LooksIntoTheMessagesOfACollectiveAndAtThePeersPartOfIt) {
  receipts_.ranks[0].parts = {{kTheirs, kMine}};
  receipts_.ranks[1].parts = {{kTheirs, kCollective}};
  add(1, "role", "combine", 100, 130, kCollective);
  add(1, "wire", "data", 130, 160, kTheirs);
  add(0, "role", "copy", 160, 200, kMine);
  EXPECT_THAT(shown(lines({kMine})),
              testing::ElementsAre("30 1 role combine", "30 1 wire data", "40 0 role copy"));
}

TEST_F(Receipt, IgnoresSpansOfOtherOperations) {
  add(0, "dma", "write", 100, 200, kMine + 1);
  EXPECT_THAT(shown(lines({kMine})), testing::ElementsAre("100 -1 host call"));
}

TEST(ReceiptRecorder, KeepsTheCallsOfItsRangeAndIsReadBack) {
  ReceiptRecorder recorder({2, 3});
  const auto call = [&recorder](std::uint64_t operation, int begin) {
    recorder.enter();
    recorder.used(operation);
    recorder.used(operation);
    recorder.store({"unit \"a\"", "work", Time::ps(begin), Time::ps(begin + 5), operation, 0});
    recorder.leave("MPI_Send", 0, Time::ps(begin), Time::ps(begin + 10));
  };
  for (const std::uint64_t number : {1, 2, 3, 4}) call(number, 10 * static_cast<int>(number - 1));
  const std::string other =
      R"({"rank": 1, "dropped": 4, "calls": [], "parts": [[1, 2]], "stages": [], "spans": []})";
  Result<Receipts> read =
      read_receipts("{\"offramp\": \"1\", \"receipts\": [" + recorder.json(0) + "," + other + "]}", "r.json");
  ASSERT_TRUE(read) << read.error();
  ASSERT_EQ(read->ranks.size(), 2U);
  ASSERT_EQ(read->ranks[0].calls.size(), 2U);
  EXPECT_EQ(read->ranks[0].calls[1].number, 3U);
  EXPECT_THAT(read->ranks[0].calls[1].operations, testing::ElementsAre(3U));
  EXPECT_THAT(shown(receipt_of(*read, 0, read->ranks[0].calls[1])),
              testing::ElementsAre("5 0 unit \"a\" work", "5 -1 host completion"));
  EXPECT_EQ(read->ranks[1].dropped, 4U);
  EXPECT_EQ(read->ranks[1].parts[0].collective, 2U);
}

TEST(ReadReceipts, NamesTheError) {
  const auto error = [](const char* text) { return read_receipts(text, "r.json").error(); };
  EXPECT_EQ(error("{}"), "r.json is not a report: Offramp did not write this file");
  EXPECT_THAT(error("[]"), testing::StartsWith("r.json is not a report: "));
  EXPECT_THAT(error("[1"), testing::StartsWith("r.json is not a report: "));
  EXPECT_THAT(error(R"({"offramp": "1"})"), testing::StartsWith("no receipts in r.json: "));
  EXPECT_THAT(error(R"({"offramp": "1", "receipts": [{"rank": 0}]})"), testing::HasSubstr("dropped"));
  EXPECT_THAT(
      error(
          R"({"offramp": "1", "receipts": [{"dropped": 0, "calls": [], "parts": [], "stages": [], "spans": [[0, 1, 2, 3]]}]})"),
      testing::HasSubstr("stage"));
}

}  // namespace
}  // namespace offramp
