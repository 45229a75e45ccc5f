// The recordings of programs in tests/data/scale: from those of fewer ranks comes the one of 32 ranks.
#include <gmock/gmock.h>

#include <charconv>
#include <filesystem>
#include <map>

#include "lib/scale/scaling.hpp"

namespace offramp::scale {
namespace {

constexpr int kRanks = 32;

/// Name -> number of ranks -> file.
using Files = std::map<std::string, std::map<int, std::string>>;
Files files() {
  Files files;
  for (const auto& entry : std::filesystem::directory_iterator(OFFRAMP_TEST_SCALE)) {
    const std::string stem = entry.path().stem().string();
    const std::size_t dash = stem.rfind('-');
    int ranks = 0;
    std::from_chars(stem.data() + dash + 1, stem.data() + stem.size(), ranks);
    files[stem.substr(0, dash)][ranks] = entry.path().string();
  }
  return files;
}

class Recordings : public testing::TestWithParam<std::string> {};

TEST_P(Recordings, ComeOutAsTheyWereRecorded) {
  std::vector<NamedProgram> fewer;
  std::optional<trace::Program> real;
  const Files all = files();
  for (const auto& [ranks, file] : all.at(GetParam())) {
    Result<trace::Program> program = trace::open_program(file);
    ASSERT_TRUE(program) << program.error();
    ASSERT_EQ((*program).description.ranks, ranks);
    if (ranks == kRanks) {
      real = std::move(*program);
    } else {
      fewer.push_back({file, std::move(*program)});
    }
  }
  ASSERT_TRUE(real);
  const Result<Scaling> scaling = scale(fewer, kRanks, ComputeScaling::kRecorded);
  if (GetParam() == "master_worker") {
    EXPECT_THAT(scaling.error(), testing::HasSubstr("rank 0 receives from any source"));
    return;
  }
  ASSERT_TRUE(scaling) << scaling.error();
  EXPECT_THAT((*scaling).notes, testing::IsEmpty());
  const auto comparison = compare(*real, (*scaling).program.read, [](int) { return std::string("all"); });
  ASSERT_TRUE(comparison) << comparison.error();
  EXPECT_EQ((*comparison).first_difference, "");
  EXPECT_GT((*comparison).total().exact, 0U);
  EXPECT_EQ((*comparison).total().exact, (*comparison).total().all());
}

std::vector<std::string> names() {
  std::vector<std::string> names;
  const Files all = files();
  for (const auto& [name, each] : all) names.push_back(name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(All, Recordings, testing::ValuesIn(names()),
                         [](const auto& name) { return name.param; });

}  // namespace
}  // namespace offramp::scale
