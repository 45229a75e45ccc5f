// Finds the preloaded library, helper programs, and programs on the PATH.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "lib/base/mpi_family.hpp"
#include "lib/base/text_format.hpp"
#include "lib/programs/recording/format.hpp"
#include "offramp/version.hpp"
#include "tools/command_line/tool.hpp"

namespace offramp::tool {
namespace fs = std::filesystem;

std::string without_controls(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // The second byte of U+0080 to U+009F, which some terminals treat like ESC.
    const bool is_c1 = byte >= 0x80 && byte < 0xa0 && i > 0 && text[i - 1] == '\xc2';
    if ((byte < ' ' && byte != '\n' && byte != '\t') || byte == 0x7f || is_c1) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += text[i];
    }
  }
  return out;
}

void warn(std::string_view text) {
  fmt::print(stderr, "offramp: {}\n", without_controls(text));
}

std::string option_problem(std::string_view option, const std::string& path) {
  std::string begin(recording::kFileMagic.size(), '\0');
  std::error_code error;
  if (option != "--output" && fs::is_regular_file(path, error) &&
      std::ifstream(path).read(begin.data(), static_cast<std::streamsize>(begin.size())) &&
      begin == recording::kFileMagic)
    return option_problem(option, path, "it is a recording; name another file");
  return option_problem(option, path, check_output(path).error());
}

std::string option_problem(std::string_view option, const std::string& path, const std::string& problem) {
  return problem.empty() ? problem : fmt::format("{}: cannot write {}: {}", option, in_quotes(path), problem);
}

int write_file(const std::string& path, std::string_view text, Naming naming) {
  const Result<void> written = write_output(path, text, naming, Readers::kAsUmask);
  if (written) return kDone;
  warn(fmt::format("cannot write {}: {}", in_quotes(path), written.error()));
  return kNotWritten;
}

namespace {

/// The parent of this program's folder, in a build or an installation.
fs::path own_prefix() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
}

/// The path in the first folder that contains the name. Empty if none does.
std::string first_with(const std::vector<fs::path>& folders, const std::string& name) {
  std::error_code error;
  for (const fs::path& folder : folders) {
    const fs::path candidate = folder / name;
    if (fs::exists(candidate, error)) return candidate.string();
  }
  return {};
}

}  // namespace

std::string library_path(std::string_view family) {
  const fs::path prefix = own_prefix();
  std::vector<fs::path> folders = {prefix / "lib", prefix / "lib64"};
#if defined(__x86_64__)
  folders.push_back(prefix / "lib/x86_64-linux-gnu");
#elif defined(__aarch64__)
  folders.push_back(prefix / "lib/aarch64-linux-gnu");
#endif
  return first_with(folders, family == kMpiFamily ? "libofframp.so" : interposer_of_family(family));
}

std::string helper_path(const std::string& name) {
  return first_with({own_prefix() / "libexec/offramp"}, name);
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
