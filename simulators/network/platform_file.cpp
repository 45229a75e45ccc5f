// Builds a Platform from the elements of a SimGrid platform file.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <queue>

#include "simulators/network/cascade.hpp"
#include "simulators/network/platform.hpp"
#include "simulators/network/platform_elements.hpp"
#include "simulators/network/xml_tree.hpp"
#include "simulators/world/text_fields.hpp"

namespace offramp {
namespace {

using std::string;
using std::string_view;

constexpr std::size_t kMostHosts = std::size_t{1} << 20;
constexpr std::size_t kMostFileLinks = std::size_t{1} << 22;
constexpr std::size_t kMostHops = std::size_t{1} << 22;      // links of all routes together
constexpr std::size_t kMostSearched = std::size_t{1} << 22;  // points x hops, for Floyd and Dijkstra

/// Refuses the file because of an element.
template <typename... Arguments>
[[noreturn]] void refuse(const XmlElement& element, fmt::format_string<Arguments...> what,
                         Arguments&&... arguments) {
  throw WrongPlatform{element.line, fmt::format(what, std::forward<Arguments>(arguments)...)};
}

const string& required(const XmlElement& element, string_view attribute) {
  if (const string* const value = element.find(attribute)) return *value;
  refuse(element, "<{}> has no {}", element.name, attribute);
}

/// For messages: control characters of the file must not reach a terminal.
string shown(string_view text) {
  string out;
  for (const char c : text.substr(0, 100)) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return fmt::format("\"{}\"", out);
}

struct Unit {
  string_view name;
  double factor;
};

/// A number with an optional unit, in SimGrid's notation. `nullopt` if it is invalid.
/// plain: the factor for numbers without a unit.
std::optional<double> quantity(string_view text, std::span<const Unit> units, double plain) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  const string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (unit.empty()) return value * plain;
  for (const Unit& known : units) {
    if (known.name == unit) return value * known.factor;
  }
  return std::nullopt;
}

/// "125MBps", "1.25GBps", "10Gbps"; without unit: bytes per second. wrong: gets the error for rates that no
/// network has; a null pointer throws it.
Bandwidth rate_of(const XmlElement& element, string_view attribute,
                  std::optional<WrongPlatform>* wrong = nullptr) {
  static constexpr double kLeast = 1e3;
  static constexpr double kMost = 1e14;
  static constexpr string_view kPrefixes = "kMGTPEZY";
  const string& text = required(element, attribute);
  string_view rest = text;
  double factor = 8;
  for (const auto& [ending, bits] : {std::pair("Bps", 8.0), {"bps", 1.0}, {"Bs", 8.0}}) {
    if (!rest.ends_with(ending)) continue;
    rest.remove_suffix(string_view(ending).size());
    const bool binary = rest.size() > 1 && rest.ends_with('i');
    if (binary) rest.remove_suffix(1);
    // Binary prefixes may be written with a capital K.
    const char letter = binary && rest.back() == 'K' ? 'k' : rest.empty() ? '\0' : rest.back();
    const std::size_t prefix = kPrefixes.find(letter);
    if (prefix != string_view::npos)
      rest.remove_suffix(1);
    else if (binary)
      rest = text;  // "1iBps" is no number
    const double power = prefix == string_view::npos ? 0 : static_cast<double>(prefix + 1);
    factor = bits * std::pow(binary ? 1024 : 1000, power);
    break;
  }
  const auto bits = quantity(rest, {}, factor);
  // Without `wrong`, a rate out of range is an error at once. With it, only if a route uses the link.
  if (!bits || ((*bits < kLeast || *bits > kMost) && wrong == nullptr))
    refuse(element, "{} is not a {} from 1kbps to 100Tbps", shown(text), attribute);
  if (*bits < kLeast || *bits > kMost)
    *wrong = WrongPlatform{element.line,
                           fmt::format("{} is not a {} from 1kbps to 100Tbps", shown(text), attribute)};
  return Bandwidth::bits_per_second(std::llround(std::clamp(*bits, kLeast, kMost)));
}

/// "50us"; without unit: seconds.
Time latency_of(const XmlElement& element, string_view attribute, const char* otherwise = nullptr) {
  static constexpr std::array<Unit, 6> kUnits = {
      {{"ps", 1e-12}, {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60}}};
  const string* const found = element.find(attribute);
  const string& text = found == nullptr && otherwise != nullptr ? otherwise : required(element, attribute);
  const auto seconds = quantity(text, kUnits, 1);
  if (!seconds || *seconds < 0 || *seconds > 10)
    refuse(element, "{} is not a {} from 0 to 10s", shown(text), attribute);
  return Time::ps(std::llround(*seconds * 1e12));
}

bool is_yes(const XmlElement& element, string_view attribute, bool otherwise) {
  const string* const value = attribute_of(element, attribute);
  if (value == nullptr) return otherwise;
  if (*value == "yes" || *value == "YES" || *value == "1" || *value == "true") return true;
  if (*value == "no" || *value == "NO" || *value == "0" || *value == "false") return false;
  refuse(element, "{}={} is neither YES nor NO", attribute, shown(*value));
}

std::optional<std::int64_t> whole(string_view text, std::int64_t least, std::int64_t most) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return whole_number(text, least, most);
}

/// "0-7,12": the numbers 0 to 7 and 12.
std::vector<std::int64_t> radical_of(const XmlElement& element) {
  const string& text = required(element, "radical");
  std::vector<std::int64_t> all;
  for (const string_view part : split(text, ',')) {
    const std::size_t dash = part.find('-');
    const auto first = whole(part.substr(0, dash), 0, std::numeric_limits<int>::max());
    const auto last =
        dash == string_view::npos ? first : whole(part.substr(dash + 1), 0, std::numeric_limits<int>::max());
    if (!first || !last || *first > *last)
      refuse(element, "radical={} is not a list of numbers and ranges", shown(text));
    // Checked before the numbers are made, so that a short text cannot exhaust memory.
    if (all.size() + static_cast<std::size_t>(*last - *first) >= kMostHosts)
      refuse(element, "there are more than {} hosts", kMostHosts);
    for (std::int64_t number = *first; number <= *last; ++number) all.push_back(number);
  }
  return all;
}

/// "3,4;4,3;5,1;2"
Cascade::Shape cascade_of(const XmlElement& element, string_view text) {
  std::vector<std::int64_t> n;
  bool good = true;
  const auto parts = split(text, ';');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto pair = split(parts[i], ',');
    good = good && pair.size() == (i < 3 ? 2U : 1U);
    for (const string_view number : pair) {
      const auto value = whole(number, 1, 4096);
      good = good && value;
      n.push_back(value.value_or(1));
    }
  }
  if (!good || parts.size() != 4)
    refuse(element, "topo_parameters={} is not GROUPS,LINKS;CHASSIS,LINKS;ROUTERS,LINKS;NODES", shown(text));
  if (n[0] > n[4]) refuse(element, "a chassis has {} routers, but {} groups need one each", n[4], n[0]);
  // The products cannot overflow, since each factor is at most 4096.
  const std::int64_t routers = n[0] * n[2] * n[4];
  if (routers * (n[2] + n[4] + 1) > static_cast<std::int64_t>(kMostFileLinks) ||
      routers * n[6] > static_cast<std::int64_t>(kMostHosts))
    refuse(element, "there are more than {} links or {} hosts", kMostFileLinks, kMostHosts);
  return {n[0], n[1], n[2], n[3], n[4], n[5], n[6]};
}

}  // namespace

class PlatformReader {
 public:
  explicit PlatformReader(Platform& platform) : p_(platform) {}

  void read(const XmlElement& root) {
    if (root.name != "platform")
      refuse(root, "it begins with <{}>: it is not a platform file of SimGrid", root.name);
    const string* const version = root.find("version");
    if (version == nullptr || (*version != "4" && *version != "4.1"))
      refuse(root, "the platform's version is not 4.1; simgrid_update_xml brings files up to date");
    for (const string& note : check_elements(root)) p_.notes_.push_back(note);
    const XmlElement* only = nullptr;
    for (const XmlElement& element : root.children) {
      if (is_passed_over(element.name) || is_only_noted(element.name)) continue;
      if (!is_zone(element)) refuse(element, "<{}> is not a zone", element.name);
      if (only != nullptr)
        refuse(element, "the platform has a second zone; the first begins in line {}", only->line);
      only = &element;
    }
    if (only == nullptr) {
      const bool has_actors = std::any_of(
          root.children.begin(), root.children.end(),
          [](const auto& element) { return element.name == "actor" || element.name == "process"; });
      refuse(root, "{}",
             has_actors ? "it has actors but no zone: it is a deployment, not a machine"
                        : "the platform has no zone");
    }
    read_zone(*only, Platform::kNone);
    if (p_.hosts_.empty()) refuse(*only, "the platform has no host");
    line_ = only->line;
  }
  [[nodiscard]] int line() const { return line_; }

 private:
  struct Ends {
    std::int32_t up = Platform::kNone;
    std::int32_t down = Platform::kNone;  // equal to `up` for a link that both directions share
    std::optional<WrongPlatform> wrong;   // why no route between hosts may have it
  };

  static bool is_zone(const XmlElement& element) {
    return element.name == "zone" || element.name == "AS" || element.name == "cluster";
  }

  Platform::Zone& zone(std::int32_t at) { return p_.zones_[static_cast<std::size_t>(at)]; }

  std::int32_t add_point(const XmlElement& element, string id, std::int32_t in) {
    const auto number = static_cast<std::int32_t>(p_.points_.size());
    if (p_.points_.size() >= 2 * kMostHosts)
      refuse(element, "there are more than {} hosts and zones", 2 * kMostHosts);
    if (!names_.emplace(id, number).second) refuse(element, "{} occurs twice", shown(id));
    p_.points_.push_back({std::move(id), in, Platform::kNone, Platform::kNone});
    return number;
  }

  std::int32_t add_host(const XmlElement& element, string id, std::int32_t in) {
    if (p_.hosts_.size() == kMostHosts) refuse(element, "there are more than {} hosts", kMostHosts);
    const std::int32_t point = add_point(element, std::move(id), in);
    p_.hosts_.push_back(point);
    return point;
  }

  std::int32_t add_link(const XmlElement& element, string name, const Topology::Link& link) {
    if (p_.links_.size() == kMostFileLinks) refuse(element, "there are more than {} links", kMostFileLinks);
    p_.links_.push_back({std::move(name), link});
    return static_cast<std::int32_t>(p_.links_.size() - 1);
  }

  /// Adds one link, or one per direction.
  Ends add_links(const XmlElement& element, const string& name, Topology::Link link, const string& policy) {
    link.shared = policy != "FATPIPE";
    if (policy == "SPLITDUPLEX" || policy == "FULLDUPLEX") {
      const std::int32_t up = add_link(element, name + "_UP", link);
      return {up, add_link(element, name + "_DOWN", link), {}};
    }
    if (policy != "SHARED" && policy != "FATPIPE")
      refuse(element, "sharing_policy={} is not one of SHARED, SPLITDUPLEX, and FATPIPE", shown(policy));
    const std::int32_t one = add_link(element, name, link);
    return {one, one, {}};
  }

  static string policy_of(const XmlElement& element, string_view attribute, const char* otherwise) {
    const string* const policy = attribute_of(element, attribute);
    return policy == nullptr ? otherwise : *policy;
  }

  void read_zone(const XmlElement& element, std::int32_t parent) {
    const auto number = static_cast<std::int32_t>(p_.zones_.size());
    p_.zones_.emplace_back().line = element.line;
    if (parent != Platform::kNone) {
      zone(number).depth = zone(parent).depth + 1;
      const std::int32_t point = add_point(element, required(element, "id"), parent);
      zone(number).point = point;
      // Point and zone refer to each other, so routes can enter and leave the zone.
      p_.points_[static_cast<std::size_t>(point)].inner = number;
    }
    if (element.name == "cluster") return read_cluster(element, number);
    const string& routing = required(element, "routing");
    if (routing == "Cluster") return read_star(element, number);
    if (routing == "Floyd" || routing == "Dijkstra" || routing == "DijkstraCache") {
      zone(number).kind = Platform::ZoneKind::kShortest;
    } else if (routing != "Full" && routing != "None") {
      refuse(element, "routing={} is not one of Full, Floyd, Dijkstra, DijkstraCache, Cluster, None",
             shown(routing));
    }
    for (const XmlElement& child : element.children) read_member(child, number);
    // Only now are all routes of the zone known.
    if (zone(number).kind == Platform::ZoneKind::kShortest) search(element, number);
  }

  void read_member(const XmlElement& element, std::int32_t in) {
    if (is_passed_over(element.name) || is_only_noted(element.name)) return;
    if (is_zone(element)) return read_zone(element, in);
    if (element.name == "host") return void(add_host(element, required(element, "id"), in));
    if (element.name == "router") return void(add_point(element, required(element, "id"), in));
    if (element.name == "link") return void(read_link(element));
    if (element.name == "route") return read_route(element, in, false);
    if (element.name == "zoneRoute" || element.name == "ASroute") return read_route(element, in, true);
    refuse(element, "<{}> belongs in a zone with routing=\"Cluster\"", element.name);
  }

  /// Links within hosts often have huge rates.
  static const Ends& usable(const Ends& ends) {
    if (ends.wrong) throw WrongPlatform(*ends.wrong);
    return ends;
  }

  Ends read_link(const XmlElement& element) {
    const string& id = required(element, "id");
    std::optional<WrongPlatform> wrong;
    const Bandwidth rate = rate_of(element, "bandwidth", &wrong);
    Ends ends = add_links(element, id, {rate, latency_of(element, "latency", "0")},
                          policy_of(element, "sharing_policy", "SHARED"));
    ends.wrong = std::move(wrong);
    if (!ends_.emplace(id, ends).second) refuse(element, "the link {} occurs twice", shown(id));
    return ends;
  }

  // --- clusters ---

  void read_cluster(const XmlElement& element, std::int32_t number) {
    zone(number).kind = Platform::ZoneKind::kCluster;
    zone(number).cluster = std::make_unique<Platform::Cluster>();
    const string& id = required(element, "id");
    const string& prefix = required(element, "prefix");
    const string& suffix = required(element, "suffix");
    const std::vector<std::int64_t> radical = radical_of(element);
    const Topology::Link link{rate_of(element, "bw"), latency_of(element, "lat")};
    const string policy = policy_of(element, "sharing_policy", "SPLITDUPLEX");
    const string topology = policy_of(element, "topology", "FLAT");
    for (std::size_t i = 0; i < radical.size(); ++i) {
      const std::int32_t host = add_host(element, fmt::format("{}{}{}", prefix, radical[i], suffix), number);
      // The place selects the host's own links, and its node in an inner topology.
      p_.points_[static_cast<std::size_t>(host)].place = static_cast<std::int32_t>(i);
    }
    const string* const router = attribute_of(element, "router_id");
    // Routes of outer zones may name the router as their gateway.
    add_point(element, router != nullptr ? *router : prefix + id + "_router" + suffix, number);
    add_limiters(element, number, radical);
    // The hosts of a torus are its routers, so they need no links to one.
    if (topology != "TORUS") add_cables(element, number, radical, link.rate, policy);
    if (topology == "FLAT") return add_backbone(element, number, id);
    if (attribute_of(element, "bb_bw") != nullptr)
      refuse(element, "a cluster with the topology {} has no backbone", shown(topology));
    add_inner(element, number, radical.size(), link, policy);
  }

  /// Adds each host's own link.
  void add_cables(const XmlElement& element, std::int32_t number, const std::vector<std::int64_t>& radical,
                  Bandwidth rate, const string& policy) {
    for (const std::int64_t place : radical) {
      const Ends ends = add_links(element, fmt::format("{}_link_{}", required(element, "id"), place),
                                  {rate, Time()}, policy);
      zone(number).cluster->up.push_back(ends.up);
      zone(number).cluster->down.push_back(ends.down);
    }
  }

  /// Adds each host's limiter, which all traffic of the host crosses in either direction.
  void add_limiters(const XmlElement& element, std::int32_t number,
                    const std::vector<std::int64_t>& radical) {
    if (attribute_of(element, "limiter_link") == nullptr) return;
    const Bandwidth rate = rate_of(element, "limiter_link");
    for (const std::int64_t place : radical)
      zone(number).cluster->limiters.push_back(add_link(
          element, fmt::format("{}_link_{}_limiter", required(element, "id"), place), {rate, Time()}));
  }

  void add_backbone(const XmlElement& element, std::int32_t number, const string& id) {
    if (attribute_of(element, "bb_bw") == nullptr) return;
    Topology::Link link{rate_of(element, "bb_bw"), latency_of(element, "bb_lat", "0")};
    const string policy = policy_of(element, "bb_sharing_policy", "SHARED");
    if (policy == "SPLITDUPLEX")
      refuse(element, "bb_sharing_policy=\"SPLITDUPLEX\": a backbone has one direction");
    zone(number).cluster->backbone = add_links(element, id + "_backbone", link, policy).up;
  }

  void add_inner(const XmlElement& element, std::int32_t number, std::size_t hosts, Topology::Link link,
                 const string& policy) {
    link.shared = policy != "FATPIPE";
    if (policy == "SHARED")
      refuse(element, "sharing_policy=\"SHARED\": only in a cluster without a topology");
    const string& kind = required(element, "topology");
    const string& parameters = required(element, "topo_parameters");
    std::shared_ptr<const Topology> inner;
    const Cascade* cascade = nullptr;
    if (kind == "FAT_TREE" || kind == "TORUS") {
      string text = (kind == "TORUS" ? "torus:" : "fat-tree:") + parameters;
      if (kind == "TORUS") std::replace(text.begin(), text.end(), ',', 'x');
      const auto parsed = parse_topology(text, 1);
      if (!parsed) refuse(element, "{}", parsed.error());
      inner = *parsed;
    } else if (kind == "DRAGONFLY") {
      const auto made = std::make_shared<const Cascade>(cascade_of(element, parameters));
      cascade = made.get();
      inner = made;
    } else {
      refuse(element, "topology={} is not one of FLAT, FAT_TREE, TORUS, DRAGONFLY", shown(kind));
    }
    if (static_cast<std::size_t>(inner->nodes()) != hosts)
      refuse(element, "the radical has {} hosts, but topo_parameters={} has room for {}", hosts,
             shown(parameters), inner->nodes());
    if (inner->links() > kMostFileLinks - p_.links_.size())
      refuse(element, "there are more than {} links", kMostFileLinks);
    Platform::Cluster& cluster = *zone(number).cluster;
    cluster.first_inner = p_.links_.size();
    for (std::size_t i = 0; i < inner->links(); ++i) {
      Topology::Link own = link;
      if (cascade != nullptr)
        // Parallel cables are one link of their combined rate, which must not overflow.
        own.rate = Bandwidth::bits_per_second(
            std::min(link.rate.count(), std::numeric_limits<std::int64_t>::max() / cascade->cables(i)) *
            cascade->cables(i));
      add_link(element, inner->link_name(i), own);
    }
    cluster.inner = std::move(inner);
  }

  // --- zones with routing="Cluster": hosts with links of their own around a backbone ---

  void read_star(const XmlElement& element, std::int32_t number) {
    zone(number).kind = Platform::ZoneKind::kCluster;
    zone(number).cluster = std::make_unique<Platform::Cluster>();
    for (const XmlElement& child : element.children) {
      if (is_passed_over(child.name) || is_only_noted(child.name)) continue;
      if (child.name == "host") {
        add_star_host(child, required(child, "id"), number, {});
      } else if (child.name == "router") {
        add_point(child, required(child, "id"), number);
      } else if (child.name == "link") {
        read_link(child);
      } else if (child.name == "host_link") {
        read_host_link(child, number);
      } else if (child.name == "cabinet") {
        read_cabinet(child, number);
      } else if (child.name == "backbone") {
        if (zone(number).cluster->backbone != Platform::kNone)
          refuse(child, "the zone has a second backbone");
        zone(number).cluster->backbone = usable(read_link(child)).up;
      } else {
        refuse(child, "<{}> is not part of a zone with routing=\"Cluster\"", child.name);
      }
    }
  }

  void add_star_host(const XmlElement& element, string id, std::int32_t in, const Ends& ends) {
    const std::int32_t host = add_host(element, std::move(id), in);
    Platform::Cluster& cluster = *zone(in).cluster;
    p_.points_[static_cast<std::size_t>(host)].place = static_cast<std::int32_t>(cluster.up.size());
    cluster.up.push_back(ends.up);
    cluster.down.push_back(ends.down);
  }

  void read_host_link(const XmlElement& element, std::int32_t in) {
    const Platform::Point& host = p_.point(member(element, "id", in));
    if (host.place == Platform::kNone) refuse(element, "id={} is not a host", shown(host.id));
    const auto at = static_cast<std::size_t>(host.place);
    Platform::Cluster& cluster = *zone(in).cluster;
    cluster.up[at] = wire(element, "up", &Ends::up);
    cluster.down[at] = wire(element, "down", &Ends::down);
  }
  /// A host's link, whose latency is the backend wire's. A split link l has the halves l_UP and l_DOWN.
  std::int32_t wire(const XmlElement& element, string_view attribute, std::int32_t Ends::*half) {
    const string& id = required(element, attribute);
    auto found = ends_.find(id);
    for (const auto& [ending, named_half] : {std::pair("_UP", &Ends::up), {"_DOWN", &Ends::down}}) {
      if (found != ends_.end() || !id.ends_with(ending)) continue;
      found = ends_.find(id.substr(0, id.rfind('_')));
      half = named_half;
    }
    if (found == ends_.end()) refuse(element, "link {} is not defined before this line", shown(id));
    const std::int32_t link = usable(found->second).*half;
    p_.links_[static_cast<std::size_t>(link)].link.latency = Time();
    return link;
  }

  void read_cabinet(const XmlElement& element, std::int32_t in) {
    const string& prefix = required(element, "prefix");
    const string& suffix = required(element, "suffix");
    const Bandwidth rate = rate_of(element, "bw");
    (void)latency_of(element, "lat");  // part of the backend's own wire
    for (const std::int64_t place : radical_of(element)) {
      string id = fmt::format("{}{}{}", prefix, place, suffix);
      const Ends ends = add_links(element, "link_" + id, {rate, Time()}, "SPLITDUPLEX");
      add_star_host(element, std::move(id), in, ends);
    }
  }

  // --- routes ---

  std::int32_t named(const XmlElement& element, string_view attribute) {
    const string& id = required(element, attribute);
    const auto found = names_.find(id);
    if (found == names_.end())
      refuse(element, "{}={}: no such host, router, or zone is defined before this line", attribute,
             shown(id));
    return found->second;
  }

  std::int32_t member(const XmlElement& element, string_view attribute, std::int32_t in) {
    const std::int32_t point = named(element, attribute);
    if (p_.point(point).zone != in)
      refuse(element, "{}={} is not in this zone", attribute, shown(p_.point(point).id));
    return point;
  }

  /// The gateway of a zone; a host or router is its own gateway.
  std::int32_t gate(const XmlElement& element, string_view attribute, std::int32_t point) {
    const bool is_zone = p_.point(point).inner != Platform::kNone;
    if (!is_zone && attribute_of(element, attribute) == nullptr) return point;
    const std::int32_t gateway = named(element, attribute);
    if (!is_zone && gateway != point)
      refuse(element, "{}={}: {} is not a zone, so its only gateway is itself", attribute,
             shown(p_.point(gateway).id), p_.point(point).id);
    // Climbs from the gateway to the point of this zone that contains it.
    std::int32_t at = gateway;
    while (at != Platform::kNone && at != point) at = zone(p_.point(at).zone).point;
    if (at != point || p_.point(gateway).inner != Platform::kNone)
      refuse(element, "{}={} is not a host or router in {}", attribute, shown(p_.point(gateway).id),
             shown(p_.point(point).id));
    return gateway;
  }

  void read_route(const XmlElement& element, std::int32_t in, bool of_zones) {
    const std::int32_t from = member(element, "src", in);
    const std::int32_t to = member(element, "dst", in);
    if (from == to) return;  // within a node or zone, which has its own routes
    if (zone(in).kind == Platform::ZoneKind::kCluster) refuse(element, "a cluster has its own routes");
    const bool is_inner = p_.point(from).inner == Platform::kNone && p_.point(to).inner == Platform::kNone;
    if (!of_zones && !is_inner) refuse(element, "a route of zones is a <zoneRoute>");
    Platform::Hop hop;
    hop.leaves = gate(element, "gw_src", from);
    hop.enters = gate(element, "gw_dst", to);
    Platform::Hop back;
    back.leaves = hop.enters;
    back.enters = hop.leaves;
    for (const XmlElement& child : element.children) {
      if (is_passed_over(child.name)) continue;
      if (child.name != "link_ctn") refuse(child, "<{}> is not part of a route", child.name);
      add_step(child, hop, back);
    }
    if (hop.links.empty()) refuse(element, "the route has no link");
    // The way back crosses the links in the opposite order.
    std::reverse(back.links.begin(), back.links.end());
    const bool both = is_yes(element, "symmetrical", true);
    if ((hops_ += hop.links.size() * 2) > kMostHops)
      refuse(element, "the routes have more than {} links together", kMostHops);
    auto& hops = zone(in).hops;
    if (!hops.emplace(Platform::pair(from, to), std::move(hop)).second)
      refuse(element, "the route from {} to {} occurs twice", shown(p_.point(from).id),
             shown(p_.point(to).id));
    // A route back that the file has written before stays.
    if (both) hops.emplace(Platform::pair(to, from), std::move(back));
  }

  void add_step(const XmlElement& element, Platform::Hop& hop, Platform::Hop& back) {
    const string& id = required(element, "id");
    const string* const direction = attribute_of(element, "direction");
    const auto found = ends_.find(id);
    if (found == ends_.end()) refuse(element, "link {} is not defined before this line", shown(id));
    const Ends& ends = usable(found->second);
    if (direction != nullptr && *direction != "UP" && *direction != "DOWN" && *direction != "NONE")
      refuse(element, "direction={} is not one of UP, DOWN, NONE", shown(*direction));
    const bool down = direction != nullptr && *direction == "DOWN";
    if (ends.up != ends.down && (direction == nullptr || *direction == "NONE"))
      refuse(element, "the link {} has two directions: add UP or DOWN", shown(id));
    hop.links.push_back(static_cast<std::uint32_t>(down ? ends.down : ends.up));
    back.links.push_back(static_cast<std::uint32_t>(down ? ends.up : ends.down));
  }

  /// Finds the routes with the fewest links between all points of a zone (SimGrid's Floyd and Dijkstra).
  void search(const XmlElement& element, std::int32_t number) {
    Platform::Zone& own = zone(number);
    struct Edge {
      std::int32_t to;
      std::size_t links;
    };
    std::map<std::int32_t, std::vector<Edge>> edges;
    for (const auto& [ends, hop] : own.hops)
      edges[static_cast<std::int32_t>(ends >> 32)].push_back(
          {static_cast<std::int32_t>(ends & 0xffffffffU), hop.links.size()});
    if (edges.size() * own.hops.size() > kMostSearched)
      refuse(element, "the zone is too large for its routing: write its routes out (routing=\"Full\")");
    // Sorted by point, because the order of a hash map differs between libraries.
    for (auto& [from, all] : edges)
      std::sort(all.begin(), all.end(), [](const Edge& a, const Edge& b) { return a.to < b.to; });
    using Entry = std::pair<std::size_t, std::int32_t>;
    for (const auto& [from, unused] : edges) {
      std::map<std::int32_t, std::size_t> known = {{from, 0}};
      std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
      queue.emplace(0, from);
      while (!queue.empty()) {
        const auto [length, at] = queue.top();
        queue.pop();
        const auto next = edges.find(at);
        // A shorter route to this point was found after the entry was queued.
        if (length > known[at] || next == edges.end()) continue;
        for (const Edge& edge : next->second) {
          const auto [place, is_new] = known.try_emplace(edge.to, length + edge.links);
          if (!is_new && place->second <= length + edge.links) continue;
          place->second = length + edge.links;
          // cross() follows these predecessors from the destination.
          own.at[Platform::pair(from, edge.to)] = at;
          queue.emplace(place->second, edge.to);
        }
      }
    }
  }

  Platform& p_;
  std::unordered_map<string, std::int32_t> names_;
  std::unordered_map<string, Ends> ends_;
  std::size_t hops_ = 0;
  int line_ = 0;
};

Result<std::shared_ptr<const Platform>> Platform::read(string_view text, const string& file) {
  const Result<XmlElement> root = read_xml(text, file);
  if (!root) return failure(root.error());
  const auto platform = std::make_shared<Platform>();
  try {
    PlatformReader reader(*platform);
    reader.read(*root);
    platform->file_ = file;
    platform->place_ = fmt::format("{}:{}", file, reader.line());
    for (string& note : platform->notes_) note = fmt::format("{}:{}", file, note);
  } catch (const WrongPlatform& wrong) {
    return failure(fmt::format("{}:{}: {}", file, wrong.line, wrong.what));
  }
  return std::shared_ptr<const Platform>(platform);
}

}  // namespace offramp
