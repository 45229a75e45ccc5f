#include "tools/command_line/tool.hpp"

int main(int argc, char** argv) {
  return offramp::tool::run_command_line({argv + 1, argv + argc});
}
