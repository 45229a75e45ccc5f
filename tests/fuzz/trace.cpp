// Traces of other tools: opens any file, reads each rank, and rehearses. Everything that can be read can be
// written and read again.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "lib/answers/loggops/loggops.hpp"
#include "lib/programs/check/rehearsal.hpp"
#include "lib/programs/export/writers.hpp"
#include "lib/programs/import/program.hpp"
#include "tests/fuzz/support.hpp"

namespace {

/// A limit, because a few bytes can encode many ranks.
constexpr int kMostRanks = 64;

/// In a folder of its own, because files beside a trace may be those of other ranks.
const std::string& path() {
  static const std::string name = [] {
    const std::string folder = "/tmp/offramp-fuzz-trace-" + std::to_string(getpid());
    std::filesystem::create_directory(folder);
    return folder + "/trace";
  }();
  return name;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::ofstream(path(), std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  const auto program = offramp::trace::open_program(path());
  if (!program || program->description.ranks > kMostRanks) return 0;
  if (program->graph != nullptr) static_cast<void>(offramp::trace::run_by_loggops(*program, {}));
  static_cast<void>(offramp::trace::rehearse(*program));
  std::vector<std::string> unsupported;
  const std::string again = path() + ".goal";
  if (offramp::trace::write_goal_text(*program, again, unsupported).error().empty())
    offramp::fuzz::require(static_cast<bool>(offramp::trace::open_program(again)));
  const std::string folder = path() + "-chakra";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  const std::string graphs = folder + "/a";
  if (offramp::trace::write_chakra(*program, graphs, unsupported).error().empty())
    offramp::fuzz::require(static_cast<bool>(offramp::trace::open_program(graphs + ".0.et")));
  return 0;
}
