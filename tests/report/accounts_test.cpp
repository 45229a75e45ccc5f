// The time in MPI calls: the accounts add up to the totals of a replay, and have the names of phases and
// places.
#include "lib/answers/report/accounts.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "lib/answers/report/call_table.hpp"
#include "lib/answers/report/delays.hpp"
#include "tests/replay/tape.hpp"

namespace offramp {
namespace {

using testing::HasSubstr;

/// Rank 1 computes before it sends to rank 0, and rank 0 before the sum of all.
std::vector<test::Tape> late_ranks(std::uint64_t sender, std::uint64_t receiver) {
  Operation sum;
  sum.kind = OperationKind::kAllreduce;
  sum.element = ElementType::kFloat64;
  sum.function = ReduceFunction::kSum;
  sum.bytes = 8;
  sum.elements = 1;
  sum.ranks = 3;
  std::vector<test::Tape> tapes(3);
  tapes[1].compute(sender);
  const auto out = tapes[1].isend(0, 4096);
  const auto in = tapes[0].irecv(1, 4096);
  tapes[0].wait({in});
  tapes[1].wait({out});
  tapes[0].compute(receiver);
  for (test::Tape& tape : tapes) tape.add(tape.collective(sum));
  return tapes;
}

Time of(const ReportAccounts& accounts, TimeKind kind) {
  return std::accumulate(accounts.functions.begin(), accounts.functions.end(), Time(),
                         [kind](Time sum, const ReportAccount& row) { return sum + row.parts.at(kind); });
}

class Accounts : public testing::Test {
 protected:
  ReportAccounts accounts_over(const char* backend) {
    const auto setting = world_setting(configuration_, registry_, *registry_.find(backend), source_.ranks);
    auto result = replay(*setting, source_);
    return *accounts_of(*setting, source_, {}, *result);
  }

  Registry registry_{built_in_backends()};
  Configuration configuration_;
  std::vector<test::Tape> tapes_ = late_ranks(500'000, 200'000);
  ReplaySource source_ = test::source_of(tapes_);
};

TEST_F(Accounts, AddUpToTheTimeInCallsOverAllHardware) {
  for (const BackendDescription* backend : registry_.all()) {
    const std::string name(backend->name);
    const ReportAccounts accounts = accounts_over(name.c_str());
    EXPECT_TRUE(accounts.with_computing) << name;
    EXPECT_EQ(accounts.not_accounted, Time()) << name;
    ReplayOptions with_computing;
    with_computing.compute.kind = Compute::Mode::kMeasured;
    const auto setting = world_setting(configuration_, registry_, *backend, source_.ranks);
    auto run = replay(*setting, source_, with_computing);
    const Counters total = run->total();
    std::map<std::string, Time> counted;
    for (std::size_t i = 0; i < total.calls.size(); ++i) {
      if (total.calls[i].modelled > Time()) counted[run->functions[i]] = total.calls[i].modelled;
    }
    std::map<std::string, Time> accounted;
    for (const ReportAccount& row : accounts.functions) {
      if (row.parts.sum() > Time()) accounted[row.function] = row.parts.sum();
    }
    EXPECT_EQ(accounted, counted) << name;
  }
}

/// Sums of rows by kind, and of their calls.
template <typename Rows>
std::pair<std::uint64_t, std::vector<Time>> sums_of(const Rows& rows) {
  TimeParts parts;
  std::uint64_t calls = 0;
  for (const auto& row : rows) {
    parts += row.parts;
    calls += row.calls;
  }
  std::vector<Time> kinds;
  for (const TimeKindName& kind : kTimeKinds) kinds.push_back(parts.at(kind.kind));
  return {calls, kinds};
}

TEST_F(Accounts, BySizePhaseAndPlaceAddUpToThoseByFunction) {
  for (std::size_t rank = 0; rank < tapes_.size(); ++rank) {
    test::Tape& tape = tapes_[rank];
    const int next = static_cast<int>(rank + 1) % 3;
    const int last = static_cast<int>(rank + 2) % 3;
    for (const auto& [phase, bytes] : {std::pair("solve", 100), {"solve", 100'000}, {"write", 0}}) {
      tape.phase(phase == std::string_view("solve") ? 1 : 2, phase);
      tape.at("app+0x10");
      const auto in = tape.irecv(last, static_cast<std::uint64_t>(bytes));
      tape.at("app+0x20");
      const auto out = tape.isend(next, static_cast<std::uint64_t>(bytes));
      tape.at(rank == 0 ? "app+0x10" : "lib.so+0x30");
      tape.wait({in, out});
    }
    tape.phase(-2);
    tape.phase(-1);
  }
  for (const BackendDescription* backend : registry_.all()) {
    const std::string name(backend->name);
    const ReportAccounts accounts = accounts_over(name.c_str());
    EXPECT_EQ(sums_of(accounts.sizes), sums_of(accounts.functions)) << name;
    EXPECT_EQ(sums_of(accounts.phases), sums_of(accounts.functions)) << name;
    EXPECT_EQ(sums_of(accounts.sites), sums_of(accounts.functions)) << name;
    std::vector<std::string> places;
    for (const ReportSiteAccount& row : accounts.sites) {
      const ReportSpread& by_rank = row.by_rank;
      EXPECT_LE(by_rank.least, by_rank.mean(row.parts.sum())) << name << row.site;
      EXPECT_GE(by_rank.most, by_rank.mean(row.parts.sum())) << name << row.site;
      if (!row.site.empty())
        places.push_back(fmt::format("{} {} {} on {}", row.function, row.site, row.calls, by_rank.ranks));
    }
    EXPECT_THAT(places,
                testing::UnorderedElementsAre("MPI_Recv app+0x10 9 on 3", "MPI_Send app+0x20 9 on 3",
                                              "MPI_Wait app+0x10 3 on 1", "MPI_Wait lib.so+0x30 6 on 2"))
        << name;
    std::vector<std::string> phases;
    for (const ReportPhaseAccount& row : accounts.phases)
      phases.push_back(row.phase + " " + std::to_string(row.level) + " " + std::to_string(row.calls));
    // Two exchanges of three calls in "solve" and one in "write", by three ranks; the other calls come
    // before.
    EXPECT_THAT(phases, testing::ElementsAre("solve 1 18", "write 2 9", testing::StartsWith(" 0 "))) << name;
    std::vector<std::uint64_t> sizes;
    for (const ReportSizeAccount& row : accounts.sizes) sizes.push_back(row.has_size ? row.max_bytes + 1 : 0);
    EXPECT_THAT(sizes, testing::IsSupersetOf({std::uint64_t{1}, std::uint64_t{16}, std::uint64_t{128},
                                              std::uint64_t{8192}, std::uint64_t{131'072}}))
        << name;
    EXPECT_TRUE(std::is_sorted(sizes.begin(), sizes.end())) << name;
  }
}

TEST_F(Accounts, DistinguishALateSenderFromOtherLateRanks) {
  const ReportAccounts accounts = accounts_over("host");
  EXPECT_GT(of(accounts, TimeKind::kLateSender), Time::us(499));
  EXPECT_GT(of(accounts, TimeKind::kCollectiveWait), Time::us(199)) << "rank 0 comes later than 1 and 2";
  EXPECT_GT(of(accounts, TimeKind::kTransfer), Time());
  ASSERT_FALSE(accounts.waits.empty());
  EXPECT_THAT(accounts_text(accounts), HasSubstr("waiting for other ranks"));
}

TEST_F(Accounts, CountTheMessagesOfTheProgram) {
  const std::vector<ReportTraffic> traffic = traffic_of(source_);
  ASSERT_EQ(traffic.size(), 1U) << "messages of the sum are none of the program's";
  EXPECT_EQ(traffic[0].source, 1U);
  EXPECT_EQ(traffic[0].destination, 0U);
  EXPECT_EQ(traffic[0].messages, 1U);
  EXPECT_EQ(traffic[0].bytes, 4096U);
}

TEST_F(Accounts, ChargeWaitingToTheComputingThatBeganIt) {
  ReportAccounts accounts = accounts_over("host");
  EXPECT_FALSE(accounts.delays.at(0).saves);  // takes replays of its own
  const auto setting = world_setting(configuration_, registry_, registry_.baseline(), source_.ranks);
  find_savings(accounts, *setting, source_, {});
  Time waited;
  for (const ReportAccount& row : accounts.functions) waited += row.parts.waiting();
  Time charged;
  for (const ReportDelay& delay : accounts.delays) charged += delay.caused;
  EXPECT_EQ(charged, waited);
  // Rank 1 computes half a millisecond: rank 0 waits for it, and rank 2 for both, through rank 0.
  const ReportDelay& first = accounts.delays.at(0);
  EXPECT_TRUE(first.computing);
  EXPECT_EQ(first.rank, 1U);
  EXPECT_GT(first.caused, Time::us(900));
  EXPECT_EQ(first.of_rank, first.caused);
  const ReportDelay& second = accounts.delays.at(1);
  EXPECT_TRUE(second.computing);
  EXPECT_EQ(second.rank, 0U);
  // A tenth less of it, and all that follows is as much earlier.
  ASSERT_TRUE(first.saves);
  EXPECT_EQ(*first.saves, Time::us(50));
  ASSERT_TRUE(second.saves);
  EXPECT_EQ(*second.saves, Time::us(20));
  EXPECT_THAT(delays_text(accounts), HasSubstr("% of the waiting is for the time outside MPI before "));
  EXPECT_THAT(delays_text(accounts), HasSubstr(", 100.0 % of it on rank 1; 10 % less of it makes the run "));
}

TEST(CallTable, SaysWhatBoundsEachSiteAndWhetherHardwareCarriesIt) {
  RunReport report;
  report.lanes.resize(2);
  ReportLane& host = report.lanes[0];
  host.deployment.node_bits_per_second = 100'000'000'000;
  host.accounts.emplace();
  const auto add = [&](const char* function, std::uint64_t bytes, TimeKind kind, Time time) {
    ReportSiteAccount& site = host.accounts->sites.emplace_back();
    site.function = function;
    site.place = std::string("main, a.c:") + function;
    site.calls = 1;
    site.bytes = bytes;
    site.parts.at(kind) = time;
    host.accounts->functions.push_back({function, 1, site.parts});
  };
  add("MPI_Allreduce", 8, TimeKind::kTransfer, Time::us(30));
  add("MPI_Isend", 1'250'000, TimeKind::kTransfer, Time::us(110));
  add("MPI_Bcast", 8, TimeKind::kCollectiveWait, Time::us(20));
  add("MPI_Wait", 0, TimeKind::kSoftware, Time::us(40));
  add("MPI_Cart_create", 0, TimeKind::kSoftware, Time::us(50));
  host.accounts->functions.back().has_model = false;
  ReportLane& hardware = report.lanes[1];
  hardware.backend = "sharp";
  hardware.time.carried = Time::us(1);
  hardware.declines = {{"bcast", "switches do not fan out", 1}};
  const auto called = [&](const char* name, std::uint64_t offloaded, std::uint64_t declined) {
    ReportCall& call = hardware.calls.emplace_back();
    call.name = name;
    call.offloaded = offloaded;
    call.declined = declined;
  };
  called("MPI_Allreduce", 1, 0);
  called("MPI_Bcast", 0, 1);
  called("MPI_Isend", 1, 3);
  const std::vector<ReportCallRow> rows = call_rows(host, &hardware);
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[0].bound_by, "latency");
  EXPECT_EQ(rows[0].offloaded, "yes");
  EXPECT_EQ(rows[0].place, "main, a.c:MPI_Allreduce");
  EXPECT_DOUBLE_EQ(rows[0].share, 0.12);
  EXPECT_EQ(rows[1].bound_by, "link rate");
  EXPECT_EQ(rows[1].offloaded, "25 %");  // and not the reason of another operation
  EXPECT_EQ(rows[2].bound_by, "waiting for other ranks");
  EXPECT_EQ(rows[2].offloaded, "no: switches do not fan out");
  EXPECT_EQ(rows[3].bound_by, "host software");
  EXPECT_EQ(rows[3].offloaded, "");
  EXPECT_FALSE(rows[3].hardware);
  EXPECT_EQ(rows[4].bound_by, "no model: lasts as natively");
  EXPECT_EQ(longest_call_text(rows), "MPI_Allreduce (main, a.c:MPI_Allreduce) has 12 % of MPI time: latency");
  EXPECT_TRUE(call_rows(ReportLane(), &hardware).empty());
}

TEST(Traffic, HasAccessesInBothDirectionsAndBlocksForNeighbours) {
  std::vector<test::Tape> tapes(3);
  tapes[0].access(Access::kWrite, 2, 100);
  tapes[0].access(Access::kRead, 2, 0, 30);
  tapes[1].neighbours({0, 7, 2, 5}, {});
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> bytes;
  for (const ReportTraffic& row : traffic_of(test::source_of(tapes)))
    bytes[{row.source, row.destination}] = row.bytes;
  EXPECT_THAT(bytes, testing::UnorderedElementsAre(
                         testing::Pair(std::pair(0U, 2U), 100), testing::Pair(std::pair(2U, 0U), 30),
                         testing::Pair(std::pair(1U, 0U), 7), testing::Pair(std::pair(1U, 2U), 5)));
}

TEST(AccountsOfReceipts, ReportTheTimeThatTheyOmit) {
  Receipts receipts;
  receipts.ranks.resize(1);
  receipts.ranks[0].calls.push_back({1, "MPI_Send", Time::us(1), Time::us(3), {}});
  const ReportAccounts accounts = add_up(receipts, Time::us(5));
  EXPECT_EQ(accounts.not_accounted, Time::us(3));
  ASSERT_EQ(accounts.functions.size(), 1U);
  EXPECT_EQ(accounts.functions[0].parts.at(TimeKind::kSoftware), Time::us(2));
  EXPECT_THAT(accounts_text(accounts), HasSubstr("unaccounted for"));
}

}  // namespace
}  // namespace offramp
