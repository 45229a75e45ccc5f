// Shared by the tests of all formats: reads a whole program, and replays it.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lib/answers/replay/replay.hpp"
#include "lib/base/configuration/configuration.hpp"
#include "lib/base/registry/registry.hpp"
#include "lib/programs/check/rehearsal.hpp"
#include "lib/programs/import/program.hpp"
#include "tests/built_in_names.hpp"

namespace offramp::trace {

/// The path of a trace of the tests.
inline std::string data(const std::string& name) {
  return std::string(OFFRAMP_TEST_TRACES) + "/" + name;
}

/// A folder for this test only.
class Folder {
 public:
  Folder() {
    std::string name = "/tmp/offramp-trace-XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  /// Writes a file into the folder. Returns its path.
  std::string file(const std::string& name, const std::string& contents) const {
    std::ofstream(file(name), std::ios::binary) << contents;
    return file(name);
  }

 private:
  std::string path_;
};

/// The bytes of a file. Empty if it cannot be read.
inline std::string contents_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// Opens a program. A failure fails the test.
inline Program opened(const std::string& path) {
  Result<Program> program = open_program(path);
  EXPECT_TRUE(program) << program.error();
  return program ? std::move(*program) : Program();
}

/// Calls the function for each event of a rank, without outcomes of waits. Returns the reader's error.
template <typename Call>
std::string each_event(const Program& program, int rank, Call call) {
  const auto reader = program.read(rank);
  for (recording::Event event; reader->next(event);) call(*reader, event);
  return reader->error();
}

/// The reason why a file cannot be opened, or its ranks cannot be read.
inline std::string problem_of(const std::string& path) {
  const Result<Program> program = open_program(path);
  if (!program) return program.error();
  for (int rank = 0; rank < program->description.ranks; ++rank) {
    const std::string problem = each_event(*program, rank, [](const auto&, const auto&) {});
    if (!problem.empty()) return problem;
  }
  return {};
}

/// Replays with measured computing and the checks of the world's invariants.
inline Result<ReplayResult> replayed(const Program& program, const std::string& backend) {
  const Registry registry(built_in_backends());
  Result<WorldSetting> setting =
      world_setting(Configuration(), registry, *registry.find(backend), program.description.ranks);
  EXPECT_TRUE(setting) << setting.error();
  setting->check = true;
  ReplaySource source{program.description.ranks, program.read};
  source.has_arrival = program.has_arrival;
  ReplayOptions options;
  options.compute.kind = Compute::Mode::kMeasured;
  return replay(*setting, source, options);
}

inline void expect_to_end_everywhere(const Program& program) {
  for (const char* backend : test::built_in_names()) {
    const Result<ReplayResult> result = replayed(program, backend);
    ASSERT_TRUE(result) << backend << ": " << result.error();
    EXPECT_TRUE(result->unfinished.empty()) << backend;
    EXPECT_GT(result->modelled_time, Time()) << backend;
  }
}

/// All calls match, and the program ends over every backend.
inline void expect_to_fit_and_end(const Program& program) {
  const Result<Findings> findings = rehearse(program);
  ASSERT_TRUE(findings) << findings.error();
  EXPECT_TRUE(findings->problems.empty()) << findings->problems.front();
  expect_to_end_everywhere(program);
}

/// The bytes of a program's messages, in the order in which the sender begins them: (source, destination).
inline std::map<std::pair<int, int>, std::vector<std::uint64_t>> messages_of(const Program& program) {
  std::map<std::pair<int, int>, std::vector<std::uint64_t>> messages;
  for (int rank = 0; rank < program.description.ranks; ++rank) {
    const std::string problem = each_event(program, rank, [&](const auto&, const recording::Event& event) {
      if (event.kind == recording::EventKind::kSend) messages[{rank, event.peer}].push_back(event.bytes);
    });
    EXPECT_EQ(problem, "");
  }
  return messages;
}

}  // namespace offramp::trace
