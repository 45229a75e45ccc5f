// The recordings of programs in tests/data/scale: those of few ranks predict those of 32 and 64 ranks.
#include <gmock/gmock.h>

#include <charconv>
#include <filesystem>
#include <map>

#include "lib/programs/import/phase.hpp"
#include "tests/scale/written.hpp"

namespace offramp::scale {
namespace {

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

/// Programs that do not depend on the number of ranks in a simple way, with the reason of the refusal.
const std::map<std::string, std::string> kRefused = {
    {"fftw", "differ from call"},
    {"hpcc", "its list follows no known rule"},
    {"hpcc_hpl", "differ from call"},
    {"hpcc_ptrans", "differ from call"},
    {"hpcc_random_access", "rank 0 receives from any source"},
    {"hpcc_random_ring", "its peer follows no known rule"},
    {"lammps_melt", "its peer follows no known rule"},
    {"master_worker", "rank 0 receives from any source"},
    {"scalapack_lu", "differ from call"},
};

/// A program's recording; for a part of HPCC, the phase of its name.
Result<trace::Program> recorded(const std::string& name, const std::string& file) {
  constexpr std::string_view kParts = "hpcc_";
  Result<trace::Program> program = trace::open_program(file);
  if (!program || !name.starts_with(kParts)) return program;
  return trace::part_of(*program, name.substr(kParts.size()));
}

class Recordings : public testing::TestWithParam<std::string> {};

TEST_P(Recordings, ComeOutAsTheyWereRecorded) {
  std::vector<NamedProgram> fewer;
  std::map<int, trace::Program> real;
  const Files all = files();
  for (const auto& [ranks, file] : all.at(GetParam())) {
    Result<trace::Program> program = recorded(GetParam(), file);
    ASSERT_TRUE(program) << program.error();
    ASSERT_EQ(program->description.ranks, ranks);
    if (ranks == 32 || ranks == 64) {
      real.emplace(ranks, std::move(*program));
    } else {
      fewer.push_back({file, std::move(*program)});
    }
  }
  if (const auto refused = kRefused.find(GetParam()); refused != kRefused.end()) {
    const Result<Scaling> scaling = scale(fewer, 32, ComputeScaling::kRecorded);
    EXPECT_THAT(scaling.error(), testing::HasSubstr(refused->second));
    return;
  }
  ASSERT_TRUE(real.contains(32));
  Result<LearnedProgram> learned = LearnedProgram::learn(fewer, ComputeScaling::kRecorded);
  ASSERT_TRUE(learned) << learned.error();
  for (const auto& [ranks, program] : real) {
    const Result<Scaling> scaling = learned->at(ranks);
    ASSERT_TRUE(scaling) << scaling.error();
    EXPECT_THAT(scaling->notes, testing::IsEmpty());
    const auto comparison = compare(program, scaling->program.read, [](int) { return std::string("all"); });
    ASSERT_TRUE(comparison) << comparison.error();
    EXPECT_EQ(comparison->first_difference, "");
    EXPECT_GT(comparison->total().exact, 0U);
    EXPECT_EQ(comparison->total().exact, comparison->total().count());
  }
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
