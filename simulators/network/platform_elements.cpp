// One table has every element with its attributes in three classes. An unknown name is an error instead of a
// note, because a network read without it could be another one. A kind of note appears once, with the line of
// its first occurrence.
#include "simulators/network/platform_elements.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace offramp {
namespace {

using std::string_view;

/// Each kind of note is reported once.
enum class NoteKind : std::uint8_t { kProfiles, kLoopback, kModels, kActors, kLimiters, kCount };

string_view consequence(NoteKind kind) {
  // In the order of NoteKind.
  constexpr string_view kTexts[] = {
      "ignored: links and hosts do not change with time",
      "ignored: messages within a node use the backend's memory",
      "ignored: it sets SimGrid's own models",
      "ignored: network.placement sets the nodes of the ranks",
      "limits only the hosts here; in SimGrid it also limits switches and routes",
  };
  return kTexts[static_cast<std::size_t>(kind)];
}

struct ElementWords {
  string_view name;
  string_view read;                 // attributes, separated by blanks
  string_view without_effect = {};  // attributes irrelevant to a network
  string_view noted = {};           // unsupported attributes, which are reported
  NoteKind kind = NoteKind::kProfiles;
  bool has_parts = false;  // has child elements that are read
};
constexpr string_view kLinkProfiles = "bandwidth_file latency_file state_file";
constexpr ElementWords kElements[] = {
    {.name = "platform", .read = "version", .has_parts = true},
    {.name = "zone", .read = "id routing", .has_parts = true},
    {.name = "AS", .read = "id routing", .has_parts = true},
    {"cluster",
     "id prefix suffix radical bw lat sharing_policy topology topo_parameters bb_bw bb_lat bb_sharing_policy "
     "router_id limiter_link",
     "speed core", "loopback_bw loopback_lat", NoteKind::kLoopback},
    {"cabinet", "id prefix suffix radical bw lat", "speed"},
    {"host", "id", "speed core pstate coordinates", "speed_file availability_file state_file"},
    {"router", "id", "coordinates"},
    {"link", "id bandwidth latency sharing_policy", "", kLinkProfiles},
    {"backbone", "id bandwidth latency sharing_policy", "", kLinkProfiles},
    {"host_link", "id up down", ""},
    {.name = "route", .read = "src dst symmetrical", .has_parts = true},
    {.name = "zoneRoute", .read = "src dst gw_src gw_dst symmetrical", .has_parts = true},
    {.name = "ASroute", .read = "src dst gw_src gw_dst symmetrical", .has_parts = true},
    {"link_ctn", "id direction", ""},
};

struct NotedElement {
  string_view name;
  NoteKind kind;
};
constexpr NotedElement kNotedElements[] = {{"trace", NoteKind::kProfiles},
                                           {"trace_connect", NoteKind::kProfiles},
                                           {"config", NoteKind::kModels},
                                           {"actor", NoteKind::kActors},
                                           {"process", NoteKind::kActors}};

bool is_word_of(string_view words, string_view word) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

class ElementCheck {
 public:
  void walk(const XmlElement& element) {
    // Properties and disks may contain anything.
    if (is_passed_over(element.name)) return;
    for (const NotedElement& noted : kNotedElements) {
      if (noted.name == element.name) return note(noted.kind, fmt::format("<{}>", noted.name), element.line);
    }
    const auto* const words = std::find_if(std::begin(kElements), std::end(kElements),
                                           [&](const ElementWords& one) { return one.name == element.name; });
    if (words == std::end(kElements))
      throw WrongPlatform{
          element.line,
          fmt::format("<{}> is not supported by Offramp: see docs/configuration.md", element.name)};
    for (const auto& [attribute, value] : element.attributes) {
      if (is_word_of(words->read, attribute) || is_word_of(words->without_effect, attribute)) continue;
      if (!is_word_of(words->noted, attribute))
        throw WrongPlatform{element.line, fmt::format("<{}> has no attribute {}; it has {}", element.name,
                                                      attribute, words->read)};
      // An empty attribute has no effect: SimGrid's default applies.
      if (!value.empty()) note(words->kind, attribute, element.line);
    }
    const std::string* const topology = attribute_of(element, "topology");
    if (topology != nullptr && *topology != "FLAT" && attribute_of(element, "limiter_link") != nullptr)
      note(NoteKind::kLimiters, "limiter_link", element.line);
    for (const XmlElement& child : element.children) {
      if (!words->has_parts && !is_passed_over(child.name))
        throw WrongPlatform{child.line,
                            fmt::format("<{}> is not allowed in a <{}>", child.name, element.name)};
      walk(child);
    }
  }

  [[nodiscard]] std::vector<std::string> notes() const {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < noted_.size(); ++i) {
      const Noted& noted = noted_[i];
      if (noted.names.empty()) continue;
      texts.push_back(fmt::format("{}: {}: {}", noted.line, fmt::join(noted.names, ", "),
                                  consequence(static_cast<NoteKind>(i))));
    }
    return texts;
  }

 private:
  struct Noted {
    int line = 0;
    std::vector<std::string> names;
  };

  void note(NoteKind kind, const std::string& name, int line) {
    Noted& noted = noted_[static_cast<std::size_t>(kind)];
    if (noted.names.empty()) noted.line = line;
    if (std::find(noted.names.begin(), noted.names.end(), name) == noted.names.end())
      noted.names.push_back(name);
  }

  std::array<Noted, static_cast<std::size_t>(NoteKind::kCount)> noted_;
};

}  // namespace

bool is_passed_over(string_view element) {
  constexpr string_view kPassedOver = "prop disk storage mount storage_type";
  return is_word_of(kPassedOver, element);
}

bool is_only_noted(string_view element) {
  return std::any_of(std::begin(kNotedElements), std::end(kNotedElements),
                     [&](const NotedElement& noted) { return noted.name == element; });
}

const std::string* attribute_of(const XmlElement& element, string_view attribute) {
  const std::string* const value = element.find(attribute);
  return value != nullptr && !value->empty() ? value : nullptr;
}

std::vector<std::string> check_elements(const XmlElement& root) {
  ElementCheck check;
  check.walk(root);
  return check.notes();
}

}  // namespace offramp
