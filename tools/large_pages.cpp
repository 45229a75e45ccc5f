#include "tools/large_pages.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

#include "lib/recording/format.hpp"
#include "lib/trace/program.hpp"

namespace offramp::tool {
namespace {

constexpr int kMany = 8192;  // ranks
constexpr const char* kVariable = "GLIBC_TUNABLES";
// Read by glibc when a program starts, and by mallopt() no more. What a world gives back stays for the next
// one.
constexpr std::string_view kLargePages =
    "glibc.malloc.hugetlb=1:glibc.malloc.trim_threshold=8589934592:glibc.malloc.top_pad=67108864";

/// Of what is opened at little cost; of anything else 0.
int ranks_of(const std::string& name) {
  std::string begin(recording::kFileMagic.size(), '\0');
  std::error_code error;
  if (std::filesystem::is_regular_file(name, error))  // else what is read is gone
    std::ifstream(name, std::ios::binary).read(begin.data(), static_cast<std::streamsize>(begin.size()));
  if (!name.starts_with("pattern:") && begin != recording::kFileMagic) return 0;
  const Result<trace::Program> program = trace::open_program(name);
  return program ? (*program).description.ranks : 0;
}

std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> words;
  for (std::size_t at = 0; at < all.size(); at += words.back().size() + 1)
    words.emplace_back(all.c_str() + at);
  return words;
}

}  // namespace

void use_large_pages(std::span<const std::string> files, int ranks) {
  if (const char* const set = std::getenv(kVariable); set != nullptr) {
    if (set == kLargePages) unsetenv(kVariable);  // what this command starts has no need of it
    return;
  }
  for (const std::string& file : files) {
    if (ranks >= kMany) break;
    ranks = std::max(ranks, ranks_of(file));
  }
  if (ranks < kMany) return;
  std::vector<std::string> words = command_line();
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  if (words.empty() || setenv(kVariable, std::string(kLargePages).c_str(), 1) != 0) return;
  execv("/proc/self/exe", pointers.data());
  unsetenv(kVariable);
}

}  // namespace offramp::tool
