#include "lib/report/run_facts.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

namespace offramp {
namespace {

void make_printable(std::string& text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = '?';
  }
}

/// "model name	: AMD EPYC" has the key "model name" and the value "AMD EPYC".
std::pair<std::string, std::string> key_and_value(const std::string& line) {
  const auto colon = line.find(':');
  if (colon == std::string::npos) return {};
  const auto key_end = line.find_last_not_of(" \t", colon == 0 ? 0 : colon - 1);
  const auto value = line.find_first_not_of(" \t", colon + 1);
  return {line.substr(0, key_end + 1), value == std::string::npos ? std::string() : line.substr(value)};
}

}  // namespace

HostFacts look_at_host() {
  HostFacts facts;
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) == 0) facts.name = name.data();
  std::ifstream file("/proc/cpuinfo");
  std::set<std::pair<std::string, std::string>> cores;  // of each package
  std::string package;
  for (std::string line; std::getline(file, line);) {
    const auto [key, value] = key_and_value(line);
    if (key == "model name" && facts.cpu.empty()) facts.cpu = value;
    if (key == "physical id") package = value;
    if (key == "core id") cores.emplace(package, value);
  }
  // Virtual machines and other architectures may not tell cores from threads.
  facts.cores =
      !cores.empty() ? cores.size() : static_cast<std::uint64_t>(std::max(1L, sysconf(_SC_NPROCESSORS_CONF)));
  make_printable(facts.name);
  make_printable(facts.cpu);
  return facts;
}

std::vector<std::string> own_command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) {
    make_printable(word);
    words.push_back(std::move(word));
  }
  return words;
}

std::string date_text() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  std::array<char, 32> text{};
  if (gmtime_r(&now, &utc) == nullptr) return {};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

}  // namespace offramp
