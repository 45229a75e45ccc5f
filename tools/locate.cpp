// Where things are: the library that is preloaded, and programs on the PATH.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "lib/core/names.hpp"
#include "offramp/version.hpp"
#include "tools/tool.hpp"

namespace offramp::tool {
namespace fs = std::filesystem;

void complain(std::string_view text) {
  fmt::print(stderr, "offramp: {}\n", text);
}

std::string option_problem(std::string_view option, const std::string& path) {
  const std::string problem = output_problem(path);
  return problem.empty() ? problem : fmt::format("{}: cannot write {}: {}", option, in_quotes(path), problem);
}

int write_file(const std::string& path, std::string_view text) {
  const std::string problem = write_output(path, text, Readers::kAsUmask);
  if (problem.empty()) return kDone;
  complain(fmt::format("cannot write {}: {}", in_quotes(path), problem));
  return kNotWritten;
}

std::string library_path() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path prefix = program.parent_path().parent_path();
  std::vector<fs::path> folders = {prefix / "lib", prefix / "lib64"};
#if defined(__x86_64__)
  folders.push_back(prefix / "lib/x86_64-linux-gnu");
#elif defined(__aarch64__)
  folders.push_back(prefix / "lib/aarch64-linux-gnu");
#endif
#ifdef OFFRAMP_LIBDIR
  folders.emplace_back(OFFRAMP_LIBDIR);
#endif
  for (const fs::path& folder : folders) {
    const fs::path candidate = folder / "libofframp.so";
    if (fs::exists(candidate, error)) return candidate.string();
  }
  return {};
}

std::string find_program(const std::string& name) {
  std::error_code error;
  if (name.find('/') != std::string::npos) return fs::exists(name, error) ? name : std::string();
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path;
  while (!name.empty() && !rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    const fs::path candidate = fs::path(folder) / name;
    if (fs::is_regular_file(candidate, error) && access(candidate.c_str(), X_OK) == 0)
      return candidate.string();
  }
  return {};
}

}  // namespace offramp::tool
