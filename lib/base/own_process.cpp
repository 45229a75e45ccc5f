#include "lib/base/own_process.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace offramp {

std::vector<std::string> own_command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

std::string restart() {
  std::vector<std::string> words = own_command();
  if (words.empty()) return "its command line cannot be read";
  std::vector<char*> pointers(words.size() + 1);  // the last one is null
  for (std::size_t i = 0; i < words.size(); ++i) pointers[i] = words[i].data();
  std::error_code ignored;
  const auto program =
      std::filesystem::read_symlink("/proc/self/exe", ignored);  // by its name, which tools show
  if (!program.empty()) execv(program.c_str(), pointers.data());
  execv("/proc/self/exe", pointers.data());  // the file may have been moved since
  return std::strerror(errno);
}

}  // namespace offramp
