// The tool is a library of objects with run_command_line(). Subcommands register themselves, and an archive
// would leave out files without references to them.
#include "tools/command_line/tool.hpp"

int main(int argc, char** argv) {
  return offramp::tool::run_command_line({argv + 1, argv + argc});
}
