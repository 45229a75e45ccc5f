// Facts of a recording and of the host are untrusted text that ends up in terminals and pages. They pass
// clean_text(), which accepts UTF-8 by the rules of RFC 3629 and no control characters. Cores are counted as
// pairs of package and core, which does not count hardware threads.
#include "lib/answers/report/run_facts.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <set>
#include <utility>

namespace offramp {
namespace {

/// Bytes of the character that the text begins with; 0: it is a control character, or no UTF-8 as RFC 3629
/// has it (no surrogates, nothing longer than needed, nothing above U+10FFFF).
std::size_t printable_bytes(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7f ? 1 : 0;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const std::size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (text.size() < length) return 0;
  std::uint32_t code = lead & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3fU);
  }
  constexpr std::array<std::uint32_t, 5> kLeast = {0, 0, 0xa0, 0x800, 0x10000};  // below U+00A0: C1 controls
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code >= kLeast.at(length) && code <= 0x10ffff && !surrogate ? length : 0;
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

std::vector<LoadedObject> objects_of(const recording::Description& description) {
  std::vector<LoadedObject> objects;
  for (const auto& [key, value] : description.facts) {
    const std::size_t space = value.find(' ');
    if (key.starts_with(kObjectFact) && space != std::string::npos)
      objects.push_back({clean_text(key.substr(kObjectFact.size())), clean_text(value.substr(0, space)),
                         clean_text(value.substr(space + 1))});
  }
  return objects;
}

RunFacts facts_of(const recording::Description& description) {
  RunFacts facts;
  for (const auto& [key, value] : description.facts) {
    if (key == "program" || key == "arguments") {
      if (!value.empty()) facts.command.push_back(clean_text(value));
    } else if (key == "mpi") {
      facts.mpi = clean_text(value);
    }
  }
  facts.objects = objects_of(description);
  facts.date = date_text();
  facts.is_replay = true;
  return facts;
}

RecordingFacts recording_facts(const recording::Description& description, const std::string& file) {
  RecordingFacts facts;
  facts.file = clean_text(file);
  for (const auto& [key, value] : description.facts) {
    if (key == "date") facts.date = clean_text(value);
    if (key == "host") facts.host = clean_text(value);
  }
  return facts;
}

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
  facts.name = clean_text(facts.name);
  facts.cpu = clean_text(facts.cpu);
  return facts;
}

std::string clean_text(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t bytes = printable_bytes(text);
    result += bytes > 0 ? text.substr(0, bytes) : "?";
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return result;
}

std::string date_text() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  std::array<char, 32> text{};
  if (gmtime_r(&now, &utc) == nullptr) return {};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

}  // namespace offramp
