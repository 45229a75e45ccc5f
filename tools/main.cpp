// The tool is a library of objects with run_command_line(). Subcommands register themselves, and an archive
// would leave out files without references to them.
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "lib/base/own_process.hpp"
#include "tools/command_line/tool.hpp"

/// Restarts a subcommand that simulates with large pages for its heap: worlds of tens of thousands of ranks
/// take a fifth less time with them. glibc reads the variable only as a process begins, and the kernel gives
/// them to those who ask only in this mode. With LD_PRELOAD, the heap may be another one (valgrind's).
static void use_large_pages(std::string_view subcommand) {
  constexpr const char* kVariable = "GLIBC_TUNABLES";
  constexpr std::string_view kLargePages = "glibc.malloc.hugetlb=1";
  if (subcommand != "advise" && subcommand != "predict" && subcommand != "replay") return;
  const char* const present = std::getenv(kVariable);
  std::string modes;
  std::getline(std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"), modes);
  if (present != nullptr && present != kLargePages) return;
  if (present == nullptr && std::getenv("LD_PRELOAD") == nullptr &&
      modes.find("[madvise]") != std::string::npos && setenv(kVariable, kLargePages.data(), 1) == 0)
    (void)offramp::restart();
  unsetenv(kVariable);
}

int main(int argc, char** argv) {
  if (argc > 1) use_large_pages(argv[1]);
  return offramp::tool::run_command_line({argv + 1, argv + argc});
}
