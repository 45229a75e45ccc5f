// Sweeps: the values of an axis, and the point where one kind of hardware becomes faster than another.
#include "tools/commands/sweep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "lib/answers/advice/answer_of.hpp"
#include "lib/base/launched_job.hpp"
#include "tests/built_in_names.hpp"
#include "tools/command_line/setup.hpp"
#include "tools/page/plot.hpp"

namespace offramp::tool {
namespace {

using testing::ElementsAre;

TEST(ASweep, DoublesAddsOrMultipliesInTheUnitThatIsWritten) {
  EXPECT_THAT(sweep_axis("latency=500ns:4000ns").values, ElementsAre("500ns", "1000ns", "2000ns", "4000ns"));
  EXPECT_THAT(sweep_axis("cclo.link=100:400:+100").values, ElementsAre("100", "200", "300", "400"));
  EXPECT_THAT(sweep_axis("bandwidth=x0.5:x2").values, ElementsAre("x0.5", "x1", "x2"));
  EXPECT_THAT(sweep_axis("ranks_per_node=1:16:x4").values, ElementsAre("1", "4", "16"));
  EXPECT_THAT(sweep_axis("faults.loss=0:0.2:+0.1").values, ElementsAre("0", "0.1", "0.2"));
  EXPECT_THAT(sweep_axis("bytes=1KiB:1MiB:x32").values, ElementsAre("1024B", "32768B", "1048576B"));
  EXPECT_THAT(sweep_axis("latency=500ns:1us").values, ElementsAre("500ns", "1000ns"));
  EXPECT_THAT(sweep_axis("bytes=512:2KiB").values, ElementsAre("512B", "1024B", "2048B"));
  EXPECT_THAT(sweep_axis("bytes=0:16:x4", 4).values, ElementsAre("0", "4", "16"));
  EXPECT_THAT(sweep_axis("bytes=0:2", 4).values, ElementsAre("0"));
  EXPECT_EQ(sweep_axis("cclo.link=100:400").key, "cclo.link");
}

LaunchedJob job_with(const std::map<std::string, std::string>& variables) {
  return launched_job([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(AJob, IsFoundInTheVariablesOfItsLauncher) {
  const LaunchedJob openmpi = job_with({{"OMPI_COMM_WORLD_RANK", "3"},
                                        {"OMPI_COMM_WORLD_SIZE", "64"},
                                        {"SLURM_PROCID", "1"},  // of the daemon that started it
                                        {"SLURM_STEP_NUM_TASKS", "2"}});
  EXPECT_EQ(std::pair(openmpi.rank, openmpi.size), std::pair(3, 64));
  const LaunchedJob hydra = job_with({{"PMI_RANK", "0"}, {"PMI_SIZE", "4"}});
  EXPECT_EQ(std::pair(hydra.rank, hydra.size), std::pair(0, 4));
  const LaunchedJob srun = job_with({{"SLURM_PROCID", "5"}, {"SLURM_STEP_NUM_TASKS", "8"}});
  EXPECT_EQ(std::pair(srun.rank, srun.size), std::pair(5, 8));
}

TEST(AJob, IsOfOneProcessWhereNoLauncherStartedSeveral) {
  EXPECT_LE(job_with({}).size, 1);
  EXPECT_LE(job_with({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}).size, 1) << "a batch script";
  EXPECT_LE(job_with({{"PMI_RANK", "1"}}).size, 1);
  EXPECT_LE(job_with({{"PMI_RANK", "4"}, {"PMI_SIZE", "4"}}).size, 1);
  EXPECT_LE(job_with({{"PMI_RANK", "-1"}, {"PMI_SIZE", "4"}}).size, 1);
  EXPECT_EQ(job_with({{"PMIX_RANK", "2"}}).rank, 2) << "that alone is known";
}

TEST(ASweep, ThatIsNoneIsRefused) {
  for (const char* text : {"latency", "latency=1", "=1:2", "latency=2:1", "latency=0:4", "latency=1:8:x1",
                           "latency=1:8:2", "latency=a:b", "latency=1us:4ns", "latency=1us:4KiB",
                           "latency=x1:4", "latency=1:inf", "latency=nan:nan"})
    EXPECT_THROW(sweep_axis(text), Misuse) << text;
}

TEST(ASweep, IsRefusedIfItHasTooManyValues) {
  EXPECT_EQ(sweep_axis("latency=1:4096:+1").values.size(), kMostSweepPoints);
  const auto refusal = [](const char* text) -> std::string {
    try {
      sweep_axis(text);
    } catch (const Misuse& misuse) {
      return misuse.text;
    }
    return "";
  };
  EXPECT_EQ(refusal("latency=1:4097:+1"),
            "--sweep \"latency=1:4097:+1\" has 4 097 values; at most 4096 are allowed");
  EXPECT_THAT(refusal("latency=1:1e15:+1e-9"), testing::HasSubstr("at most 4096 are allowed"));
}

/// Times in us by point, below 0: none.
SweepSide side(const char* name, const std::vector<int>& times) {
  SweepSide one{name, {}};
  for (const int us : times) one.times.push_back(us < 0 ? std::nullopt : std::optional(Time::us(us)));
  return one;
}

TEST(ACrossover, IsWhereTheOrderChanges) {
  const auto text = [](const std::vector<int>& base, const std::vector<int>& other,
                       const std::vector<std::string>& points) {
    return crossover_text(side("dpu", other), side("host", base), points);
  };
  EXPECT_EQ(text({5, 6, 9}, {9, 9, 8}, {"2 ranks", "4 ranks", "8 ranks"}),
            "dpu compared with host: not faster at first, faster from 8 ranks on");
  EXPECT_EQ(text({9, 8, -1, 9}, {8, 8, 7, 7}, {"2", "4", "8", "16"}),
            "dpu compared with host: faster at first, not faster from 4 on, faster from 16 on");
  EXPECT_EQ(text({9, 9}, {8, 8}, {"2", "4"}), "dpu is faster than host at every point");
  EXPECT_EQ(text({-1}, {8}, {"2"}), "");
}

TEST(RankCounts, AreListedOrMultipliedOrAdded) {
  EXPECT_EQ(rank_counts("64"), (std::vector{64}));
  EXPECT_EQ(rank_counts("96,8:32,16"), (std::vector{8, 16, 32, 96}));
  EXPECT_EQ(rank_counts("32:512:x4"), (std::vector{32, 128, 512}));
  EXPECT_EQ(rank_counts("8:20:+4"), (std::vector{8, 12, 16, 20}));
  for (const char* wrong : {"", "0", "8,", "1.5", "x4", "8:4", "2:4:x1", "2000000", "many"})
    EXPECT_THROW(rank_counts(wrong), Misuse) << wrong;
}

TEST(ATextPlot, HasALetterForEachLineAtItsHeight) {
  const std::string text = text_plot({.columns = {"2", "4"},
                                      .lines = {{"aie", {2.0, 0.5}}, {"again", {1.0, {}}}, {"b", {2.0, 1.0}}},
                                      .level = 1});
  std::vector<std::string> rows;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    rows.push_back(text.substr(at, text.find('\n', at) - at));
  ASSERT_EQ(rows.size(), 15U);
  EXPECT_EQ(rows[0], "       2 |   *");
  EXPECT_EQ(rows[6], "       1 |---g---b");
  EXPECT_EQ(rows[12], "     0.5 |       a");
  EXPECT_EQ(rows[13], "             2   4");
  EXPECT_EQ(rows[14], "          a: aie, g: again, b: b; *: several");
  EXPECT_EQ(text_plot({.columns = {"2"}, .lines = {{"aie", {{}}}}}), "");
}

TEST(Colours, AreTheHardwaresOwnWhateverItsPlace) {
  const std::vector<const char*> built_in = test::built_in_names();
  const std::vector<std::string> names(built_in.begin(), built_in.end());
  const auto all = colours_of(names);
  const auto own = [&](const char* name) {
    return all[static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin())];
  };
  EXPECT_EQ(own("host"), kHostColour);
  EXPECT_EQ(std::set<std::size_t>(all.begin(), all.end()).size(), all.size());
  EXPECT_EQ(colours_of({"tinsel", "dpu"}), (std::vector{own("tinsel"), own("dpu")}));
  const auto twice = colours_of({"dpu", "dpu", "a plugin", "host", "host"});
  EXPECT_EQ(twice[0], own("dpu"));
  EXPECT_EQ(twice[3], kHostColour);
  EXPECT_EQ(std::set<std::size_t>(twice.begin(), twice.end()).size(), twice.size());
}

}  // namespace
}  // namespace offramp::tool
