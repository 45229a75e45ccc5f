// Several programs in one replay, and background traffic beside them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/answers/replay/replay.hpp"
#include "lib/base/configuration/job_places.hpp"
#include "lib/base/registry/registry.hpp"
#include "lib/programs/import/pattern.hpp"

namespace offramp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// The given number of jobs of one pattern, one after the other in a world.
ReplaySource jobs_of(const Pattern& pattern, int jobs, int idle = 0) {
  ReplaySource source;
  source.ranks = jobs * pattern.ranks + idle;
  for (int job = 0; job < jobs; ++job) source.jobs.push_back({job * pattern.ranks, pattern.ranks});
  source.read = [pattern](int rank) { return pattern.read(rank % pattern.ranks); };
  return source;
}

ReplayResult replayed(const ReplaySource& source, const char* topology,
                      const std::string& placement = "order") {
  static const Registry registry{built_in_backends()};
  Configuration configuration;
  configuration.network.topology = topology;
  configuration.network.placement = placement;
  auto setting = world_setting(configuration, registry, *registry.find("host"), source.ranks);
  EXPECT_TRUE(setting) << setting.error();
  setting->check = true;
  auto result = replay(*setting, source);
  EXPECT_TRUE(result) << result.error();
  return std::move(*result);
}

Pattern pattern_of(const char* text) {
  return *parse_pattern(text);
}

TEST(Jobs, OnPortsOfTheirOwnTakeTheTimeOfOneAlone) {
  const Pattern pattern = pattern_of("pattern:alltoall:8:65536:2");
  const Time alone = replayed(jobs_of(pattern, 1), "star").modelled_time;
  const ReplaySource three = jobs_of(pattern, 3);
  const ReplayResult together = replayed(three, "star");
  for (const ReplayJob& job : three.jobs) EXPECT_EQ(together.end(job), alone);
  EXPECT_EQ(together.modelled_time, alone);
}

TEST(Jobs, CountTheirOwnCallsOnly) {
  const Pattern pattern = pattern_of("pattern:alltoall:4:1024");
  const ReplaySource two = jobs_of(pattern, 2);
  const ReplayResult together = replayed(two, "star");
  const ReplayResult alone = replayed(jobs_of(pattern, 1), "star");
  for (const ReplayJob& job : two.jobs) {
    const Counters counters = together.total(job);
    ASSERT_EQ(counters.calls.size(), alone.total().calls.size());
    for (std::size_t i = 0; i < counters.calls.size(); ++i) {
      EXPECT_EQ(counters.calls[i].count, alone.total().calls[i].count);
      EXPECT_EQ(counters.calls[i].bytes, alone.total().calls[i].bytes);
    }
  }
}

TEST(Jobs, SlowEachOtherDownOnSharedLinks) {
  // Two jobs of four ranks that send to the other switch, over one link up for four nodes.
  const Pattern pattern = pattern_of("pattern:shift:2:4:1MiB");
  const char* const tree = "fat-tree:2;4,2;1,1;1,1";
  const char* const apart = "list:0,1,4,5,2,3,6,7";
  ReplaySource one = jobs_of(pattern, 2);
  one.jobs.resize(1);
  const Time alone = replayed(one, tree, apart).modelled_time;
  const ReplayResult together = replayed(jobs_of(pattern, 2), tree, apart);
  const Time message = Bandwidth::gigabits_per_second(100).bytes(1 << 20);
  EXPECT_GE(together.modelled_time, alone + message * 2);
  EXPECT_LE(together.modelled_time, alone + message * 2 + Time::us(5));
}

TEST(Background, SlowsAJobAndEndsWithIt) {
  const Pattern pattern = pattern_of("pattern:shift:2:4:1MiB:4");
  const char* const tree = "fat-tree:2;4,2;1,1;1,1";
  const char* const apart = "list:0,1,4,5,2,3,6,7";
  const auto end = [&](const char* background) {
    ReplaySource source = jobs_of(pattern, 1, 4);
    if (*background != 0) {
      auto traffic = parse_background(background);
      EXPECT_TRUE(traffic) << traffic.error();
      source.background = *traffic;
      source.background.ranks = {4, 5, 6, 7};
    }
    const ReplayResult result = replayed(source, tree, apart);
    EXPECT_TRUE(result.unfinished.empty());
    return result.modelled_time;
  };
  const Time alone = end("");
  for (const char* const kind : {"uniform:", "incast:", "shift:"}) {
    const Time light = end((kind + std::string("1")).c_str());
    const Time heavy = end((kind + std::string("40")).c_str());
    EXPECT_GT(light, alone) << kind;
    EXPECT_GT(heavy, light + (light - alone) * 4) << kind;
    EXPECT_EQ(heavy, end((kind + std::string("40")).c_str()));
  }
  // Two nodes of a switch that send 20 Gb/s each to the other switch leave 60 of 100 Gb/s, or a little more
  // while the job leaves the link idle.
  const double share = end("shift:20").seconds() / alone.seconds();
  EXPECT_GT(share, 1.3);
  EXPECT_LE(share, 1 / 0.6);
}

TEST(Background, IsRefusedWithTheAllowedForms) {
  for (const char* const text : {"uniform", "ring:5", "uniform:", "shift:-1", "incast:fast", "uniform:1e9"})
    EXPECT_THAT(parse_background(text).error(), HasSubstr("is not uniform:RATE")) << text;
  EXPECT_EQ(parse_background("shift:2.5")->rate.count(), 2'500'000'000);
}

TEST(JobPlaces, AreThoseAskedForOrTheFirstThatAreLeft) {
  NetworkOptions network;
  network.topology = "torus:4x4";
  auto placed = place_jobs(network, {{2, {}}, {3, std::vector<int>{0, 2, 15}}}, false);
  ASSERT_TRUE(placed) << placed.error();
  EXPECT_THAT(*placed, ElementsAre(1, 3, 0, 2, 15));
  EXPECT_EQ(network.placement, "list:1,3,0,2,15");
  network.placement = "scattered";
  placed = place_jobs(network, {{1, {}}, {1, {}}}, true);
  EXPECT_EQ(placed->size(), 16U);
  EXPECT_THAT(std::vector<int>(placed->begin(), placed->begin() + 3), ElementsAre(0, 8, 1));
}

TEST(JobPlaces, AreRefusedWithTheJob) {
  const auto error = [](const char* topology, const std::vector<JobNodes>& jobs, bool others = false) {
    NetworkOptions network;
    network.topology = topology;
    return place_jobs(network, jobs, others).error();
  };
  EXPECT_THAT(error("torus:2x2", {{3, {}}, {2, {}}}), HasSubstr("has room for 4 nodes, but there are 5"));
  EXPECT_THAT(error("torus:2x2", {{1, std::vector<int>{4}}}), HasSubstr("has room for 4 nodes"));
  EXPECT_THAT(error("torus:2x2", {{2, std::vector<int>{1}}}),
              HasSubstr("job 1 needs 2 nodes, but 1 are named"));
  EXPECT_THAT(error("torus:2x2", {{1, std::vector<int>{1}}, {1, std::vector<int>{1}}}),
              HasSubstr("job 2: node 1 is already in use"));
  EXPECT_THAT(error("star", {{1, {}}}, true), HasSubstr("needs a network"));
}

TEST(JobPlaces, AreListsOfNumbersAndRanges) {
  EXPECT_THAT(*parse_nodes("0-2,7"), ElementsAre(0, 1, 2, 7));
  for (const char* const text : {"", "a", "3-1", "1,", "-1", "0-99999999", "1MiB"})
    EXPECT_FALSE(parse_nodes(text)) << text;
}

}  // namespace
}  // namespace offramp
