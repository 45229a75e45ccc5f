// An object is used only if its build ID is that of the recording, since another build has other lines at the
// same offsets. All offsets of one object are looked up by one call of addr2line, since reading the symbols
// of a large program takes long. A failure is reported once per object.
#include "tools/launch/places.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <sstream>

#include "lib/base/text_format.hpp"
#include "tools/command_line/tool.hpp"
#include "tools/launch/child.hpp"
#include "tools/launch/elf_image.hpp"

namespace offramp::tool {
namespace {

constexpr double kTimeLimit = 60;  // seconds; symbols of large programs take long

/// Splits "jacobi+0x12a4". Returns empty strings for other texts.
std::pair<std::string, std::string> parts_of(std::string_view site) {
  const std::size_t plus = site.rfind("+0x");
  if (plus == std::string_view::npos) return {};
  return {std::string(site.substr(0, plus)), std::string(site.substr(plus + 1))};
}

std::string file_of(const std::string& line) {
  return line.substr(line.rfind('/') + 1);
}

}  // namespace

void Places::look_up(const std::vector<std::string>& sites) {
  std::map<std::string, std::vector<std::string>> by_object;
  for (const std::string& site : sites) {
    const auto [object, offset] = parts_of(site);
    if (!object.empty() && !texts_.contains(site)) by_object[object].push_back(offset);
  }
  for (const auto& [object, offsets] : by_object) query(object, offsets);
}

void Places::query(const std::string& name, const std::vector<std::string>& offsets) {
  const auto object = std::ranges::find(objects_, name, &LoadedObject::name);
  if (object == objects_.end()) return;
  const auto [_, build_id, path] = *object;
  const std::string program = find_program("addr2line");
  const auto give_up = [&](std::string problem) {
    problems_.push_back(std::move(problem));
    objects_.erase(object);  // query it only once
  };
  if (build_id_of_file(path) != build_id)
    return give_up(fmt::format(
        "{} is missing or has changed since the recording: its calls are shown with offsets instead of lines",
        in_quotes(path)));
  if (program.empty())
    return give_up("addr2line (binutils) is not installed: calls are shown with offsets instead of lines");
  std::vector<std::string> words = {program, "-f", "-C", "-e", path};
  words.insert(words.end(), offsets.begin(), offsets.end());
  const ChildResult done = run_child(words, kTimeLimit);
  if (done.status != 0 || done.timed_out)
    return give_up(fmt::format("addr2line cannot read {}", in_quotes(path)));
  std::istringstream lines(done.output);
  std::string function, line;
  for (const std::string& offset : offsets) {
    // addr2line prints two lines per offset.
    if (!std::getline(lines, function) || !std::getline(lines, line)) return;
    const std::string site = fmt::format("{}+{}", name, offset);
    // Unknown: the place keeps its offset.
    if (function.starts_with("??")) continue;
    // "FILE:LINE (discriminator N)", "??:0", "FILE:?"
    line = file_of(line.substr(0, line.find(' ')));
    const bool has_line = !line.starts_with("??") && !line.ends_with(":?") && !line.ends_with(":0");
    texts_[site] = has_line ? fmt::format("{}, {}", function, line) : fmt::format("{} ({})", function, site);
  }
}

std::string Places::text(std::string_view site) const {
  const auto known = texts_.find(site);
  return known == texts_.end() ? std::string(site) : known->second;
}

void name_places(ReportAccounts& accounts, Places& places) {
  std::vector<std::string> sites;
  const auto for_each = [&](const auto& body) {
    for (ReportSiteAccount& row : accounts.sites) body(row);
    for (ReportDelay& row : accounts.delays) body(row);
  };
  for_each([&](const auto& row) {
    if (!row.site.empty() && row.place.empty()) sites.push_back(row.site);
  });
  places.look_up(sites);
  for_each([&](auto& row) {
    if (!row.place.empty()) return;
    if (std::string text = places.text(row.site); text != row.site) row.place = std::move(text);
  });
}

}  // namespace offramp::tool
