// The topologies FatTree, Torus, and Dragonfly, and the parser of their notation, whose limits prevent
// overflow in products of user input. Links are numbered without gaps, so that networks can use arrays. Each
// class computes link numbers from positions, and names and positions from link numbers.
#include "simulators/network/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "offramp/kernel/random.hpp"
#include "simulators/world/text_fields.hpp"

namespace offramp {
namespace {

using std::string_view;

constexpr std::int64_t kMostNodes = 1 << 20;
constexpr std::int64_t kMostLinks = 1 << 24;
constexpr std::size_t kMostLevels = 8;

/// Generalised fat tree; a node has one switch. A switch of level l (from 1) is numbered by its subtree and
/// its index among the product(up[1..l)) switches of that level in the subtree.
class FatTree final : public Topology {
 public:
  struct Level {
    std::int64_t down = 1;    // children per switch
    std::int64_t up = 1;      // switches above each child; 1 at the first level
    std::int64_t cables = 1;  // per pair of child and parent
  };

  explicit FatTree(std::vector<Level> levels) : levels_(std::move(levels)) {
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      below_.push_back((l == 0 ? 1 : below_.back()) * levels_[l].down);
      places_.push_back((l == 0 ? 1 : places_.back()) * levels_[l].up);
    }
    std::int64_t first = 0;
    for (std::size_t l = 0; l + 1 < levels_.size(); ++l) {
      first_.push_back(first);
      first += switches(l) * ports(l) * 2;
    }
    links_ = first;
    std::int64_t all = 0;
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      first_switch_.push_back(all);
      all += switches(l);
    }
    switches_ = all;
  }

  [[nodiscard]] int nodes() const override { return static_cast<int>(below_.back()); }
  [[nodiscard]] std::size_t links() const override { return static_cast<std::size_t>(links_); }
  [[nodiscard]] bool supports(Routing routing) const override { return routing != Routing::kValiant; }

  [[nodiscard]] int switches() const override { return static_cast<int>(switches_); }
  [[nodiscard]] int switch_of(int node) const override { return static_cast<int>(node / below_[0]); }

  [[nodiscard]] SwitchMap::Ends ends(std::size_t link) const override {
    const Cable cable = cable_at(link);
    const auto lower = static_cast<int>(first_switch_[cable.level] + cable.lower);
    const auto upper = static_cast<int>(first_switch_[cable.level + 1] + cable.upper);
    return cable.up ? SwitchMap::Ends{lower, upper} : SwitchMap::Ends{upper, lower};
  }

  [[nodiscard]] std::string link_name(std::size_t link) const override {
    const Cable cable = cable_at(link);
    const std::string lower = fmt::format("switch {}.{}", cable.level + 1, cable.lower);
    const std::string upper = fmt::format("switch {}.{}", cable.level + 2, cable.upper);
    return cable.up ? lower + " to " + upper : upper + " to " + lower;
  }

  bool route(const RouteRequest& request, Routing routing, const LinkLoads& loads,
             std::vector<std::size_t>& links) const override {
    std::size_t top = 0;
    // The lowest level at which one subtree contains both nodes.
    while (request.source / below_[top] != request.destination / below_[top]) ++top;
    std::int64_t place = 0;
    for (std::size_t l = 0; l < top; ++l) {
      const std::int64_t child = (request.source / below_[l]) * places_[l] + place;
      const std::int64_t port = routing == Routing::kAdaptive ? freest(l, child, request.destination, loads)
                                                              : preferred(l, request.destination);
      links.push_back(up_link(l, child, port));
      place += places_[l] * (port / levels_[l + 1].cables);
    }
    // The way down is unique, except for the choice among parallel cables.
    for (std::size_t l = top; l-- > 0;) {
      const std::int64_t above = place / places_[l];
      place %= places_[l];
      const std::int64_t child = (request.destination / below_[l]) * places_[l] + place;
      const std::int64_t cable = cable_of(l, request.destination);
      links.push_back(up_link(l, child, above * levels_[l + 1].cables + cable) + 1);
    }
    return true;
  }

 private:
  struct Cable {
    std::size_t level;  // lower switch, from 0
    std::int64_t lower;
    std::int64_t upper;
    bool up;
  };
  [[nodiscard]] Cable cable_at(std::size_t link) const {
    std::size_t l = first_.size() - 1;
    while (static_cast<std::int64_t>(link) < first_[l]) --l;
    const std::int64_t at = static_cast<std::int64_t>(link) - first_[l];
    const std::int64_t child = at / 2 / ports(l);
    return {l, child, parent(l, child, at / 2 % ports(l) / levels_[l + 1].cables), at % 2 == 0};
  }
  /// All switches of level l + 1.
  [[nodiscard]] std::int64_t switches(std::size_t l) const { return below_.back() / below_[l] * places_[l]; }
  /// Upward ports of a switch of level l + 1.
  [[nodiscard]] std::int64_t ports(std::size_t l) const { return levels_[l + 1].up * levels_[l + 1].cables; }
  /// Up and down links of a cable follow each other: even and odd.
  [[nodiscard]] std::size_t up_link(std::size_t l, std::int64_t child, std::int64_t port) const {
    return static_cast<std::size_t>(first_[l] + 2 * (child * ports(l) + port));
  }
  /// The parent of a child over its up-th switch above, within the same subtree.
  [[nodiscard]] std::int64_t parent(std::size_t l, std::int64_t child, std::int64_t up) const {
    const std::int64_t tree = child / places_[l] / levels_[l + 1].down;
    return tree * places_[l + 1] + child % places_[l] + places_[l] * up;
  }
  /// D-mod-k: digits of the destination select the parent, so that the nodes of a subtree have different
  /// routes.
  [[nodiscard]] std::int64_t preferred(std::size_t l, std::int64_t destination) const {
    const std::int64_t up = destination / places_[l] % levels_[l + 1].up;
    return up * levels_[l + 1].cables + cable_of(l, destination);
  }
  /// Parallel cables are selected by the next digit, for the same reason.
  [[nodiscard]] std::int64_t cable_of(std::size_t l, std::int64_t destination) const {
    return destination / places_[l + 1] % levels_[l + 1].cables;
  }
  /// Begins with the port of static routing, so that an idle tree has the static routes.
  [[nodiscard]] std::int64_t freest(std::size_t l, std::int64_t child, std::int64_t destination,
                                    const LinkLoads& loads) const {
    const std::int64_t first = preferred(l, destination);
    std::int64_t best = first;
    for (std::int64_t step = 1; step < ports(l); ++step) {
      const std::int64_t port = (first + step) % ports(l);
      if (loads.load(up_link(l, child, port)) < loads.load(up_link(l, child, best))) best = port;
    }
    return best;
  }

  std::vector<Level> levels_;
  std::vector<std::int64_t> below_;   // nodes per subtree
  std::vector<std::int64_t> places_;  // switches of the level per subtree
  std::vector<std::int64_t> first_;   // first link of the level
  std::vector<std::int64_t> first_switch_;
  std::int64_t links_ = 0;
  std::int64_t switches_ = 0;
};

/// One router per node, with a link in each direction of each dimension.
class Torus final : public Topology {
 public:
  explicit Torus(std::vector<std::int64_t> sizes) : sizes_(std::move(sizes)) {
    for (const std::int64_t size : sizes_) nodes_ *= size;
  }
  [[nodiscard]] int nodes() const override { return static_cast<int>(nodes_); }
  [[nodiscard]] std::size_t links() const override {
    return static_cast<std::size_t>(nodes_) * sizes_.size() * 2;
  }

  [[nodiscard]] int switches() const override { return nodes(); }
  [[nodiscard]] SwitchMap::Ends ends(std::size_t link) const override {
    const auto node = static_cast<std::int64_t>(link / (2 * sizes_.size()));
    const std::size_t direction = link % (2 * sizes_.size());
    std::int64_t stride = 1;
    // The distance in node numbers between neighbours of this dimension.
    for (std::size_t d = 0; d < direction / 2; ++d) stride *= sizes_[d];
    const std::int64_t size = sizes_[direction / 2];
    const std::int64_t place = node / stride % size;
    const std::int64_t next = (place + (direction % 2 == 0 ? 1 : size - 1)) % size;
    return {static_cast<int>(node), static_cast<int>(node + (next - place) * stride)};
  }

  [[nodiscard]] std::string link_name(std::size_t link) const override {
    const std::size_t direction = link % (2 * sizes_.size());
    std::string place;
    auto node = static_cast<std::int64_t>(link / (2 * sizes_.size()));
    for (const std::int64_t size : sizes_) {
      place += fmt::format("{}{}", place.empty() ? "" : ",", node % size);
      node /= size;
    }
    return fmt::format("router {}, dimension {}, {}", place, direction / 2 + 1,
                       direction % 2 == 0 ? "up" : "down");
  }

  bool route(const RouteRequest& request, Routing, const LinkLoads&,
             std::vector<std::size_t>& links) const override {
    std::int64_t at = request.source;
    std::int64_t stride = 1;
    for (std::size_t d = 0; d < sizes_.size(); ++d) {
      const std::int64_t size = sizes_[d];
      const std::int64_t from = at / stride % size;
      const std::int64_t to = request.destination / stride % size;
      // Each dimension is a ring with two ways. The shorter one is taken.
      const std::int64_t ahead = (to - from + size) % size;
      // Equal distances: the choice of SimGrid 3.32, by its times on a torus of 4 x 4 x 4 (inferred).
      const bool forward = 2 * ahead < size || (2 * ahead == size && from != size / 2);
      std::int64_t place = from;
      while (place != to) {
        links.push_back(static_cast<std::size_t>(at) * 2 * sizes_.size() + 2 * d + (forward ? 0 : 1));
        const std::int64_t next = (place + (forward ? 1 : size - 1)) % size;
        at += (next - place) * stride;
        place = next;
      }
      stride *= size;
    }
    return true;
  }

 private:
  std::vector<std::int64_t> sizes_;
  std::int64_t nodes_ = 1;
};

/// Groups of fully connected routers. The global links of a group lead round-robin to the following groups;
/// router r has links r * global to (r + 1) * global - 1.
class Dragonfly final : public Topology {
 public:
  struct Shape {
    std::int64_t groups = 1;
    std::int64_t routers = 1;  // per group
    std::int64_t nodes = 1;    // per router
    std::int64_t global = 1;   // per router, to other groups
  };
  explicit Dragonfly(const Shape& shape) : s_(shape) {}

  [[nodiscard]] int nodes() const override { return static_cast<int>(s_.groups * s_.routers * s_.nodes); }
  [[nodiscard]] std::size_t links() const override {
    return static_cast<std::size_t>(s_.groups * s_.routers * (s_.routers + s_.global));
  }
  [[nodiscard]] bool supports(Routing routing) const override { return routing != Routing::kAdaptive; }

  [[nodiscard]] int switches() const override { return static_cast<int>(s_.groups * s_.routers); }
  [[nodiscard]] int switch_of(int node) const override { return static_cast<int>(node / s_.nodes); }

  /// The cables between two groups connect their links in order, as in leave().
  [[nodiscard]] SwitchMap::Ends ends(std::size_t link) const override {
    const std::int64_t router = static_cast<std::int64_t>(link) / (s_.routers + s_.global);
    const std::int64_t port = static_cast<std::int64_t>(link) % (s_.routers + s_.global);
    const std::int64_t own = router / s_.routers;
    std::int64_t other = own * s_.routers + port;
    if (port >= s_.routers) {
      const std::int64_t global = router % s_.routers * s_.global + port - s_.routers;
      const std::int64_t group = behind(own, global % distances());
      const std::int64_t back = (own - group - 1 + s_.groups) % s_.groups;
      const std::int64_t there = back + global / distances() % copies(back) * distances();
      other = group * s_.routers + there / s_.global;
    }
    return {static_cast<int>(router), static_cast<int>(other)};
  }

  [[nodiscard]] std::string link_name(std::size_t link) const override {
    const std::int64_t router = static_cast<std::int64_t>(link) / (s_.routers + s_.global);
    const std::int64_t port = static_cast<std::int64_t>(link) % (s_.routers + s_.global);
    const std::int64_t group = router / s_.routers;
    const std::string name = fmt::format("router {}.{} to ", group, router % s_.routers);
    if (port < s_.routers) return name + fmt::format("router {}.{}", group, port);
    const std::int64_t global = router % s_.routers * s_.global + port - s_.routers;
    return name + fmt::format("group {}", behind(group, global % distances()));
  }

  bool route(const RouteRequest& request, Routing routing, const LinkLoads&,
             std::vector<std::size_t>& links) const override {
    std::int64_t at = request.source / s_.nodes;
    const std::int64_t to = request.destination / s_.nodes;
    const std::int64_t home = at / s_.routers;
    const std::int64_t goal = to / s_.routers;
    if (routing == Routing::kValiant && home != goal && s_.groups > 2) {
      // A random group other than these two.
      auto over = static_cast<std::int64_t>(request.draw % static_cast<std::uint64_t>(s_.groups - 2));
      over += over >= std::min(home, goal) ? 1 : 0;
      over += over >= std::max(home, goal) ? 1 : 0;
      at = leave(at, over, request, links);
    }
    if (at / s_.routers != goal) at = leave(at, goal, request, links);
    local(at, to, links);
    return true;
  }

 private:
  /// The number of other groups; 1 for a single group, so that divisions are valid.
  [[nodiscard]] std::int64_t distances() const { return std::max<std::int64_t>(s_.groups - 1, 1); }
  /// The group that follows after this distance. Distance 0 is the next group.
  [[nodiscard]] std::int64_t behind(std::int64_t group, std::int64_t distance) const {
    return (group + 1 + distance) % s_.groups;
  }
  /// The routers of a group are fully connected, so one link suffices.
  void local(std::int64_t from, std::int64_t to, std::vector<std::size_t>& links) const {
    if (from != to)
      links.push_back(static_cast<std::size_t>(from * (s_.routers + s_.global) + to % s_.routers));
  }
  /// Appends the route to another group over one of the links to it. Returns the router reached there.
  std::int64_t leave(std::int64_t router, std::int64_t group, const RouteRequest& request,
                     std::vector<std::size_t>& links) const {
    const std::int64_t own = router / s_.routers;
    const std::int64_t distance = (group - own - 1 + s_.groups) % s_.groups;
    const std::int64_t back = (own - group - 1 + s_.groups) % s_.groups;
    // The destination selects among several links.
    const std::int64_t which = (request.destination % s_.nodes) % copies(distance);
    const std::int64_t port = distance + which * distances();
    const std::int64_t gate = own * s_.routers + port / s_.global;
    local(router, gate, links);
    links.push_back(
        static_cast<std::size_t>(gate * (s_.routers + s_.global) + s_.routers + port % s_.global));
    const std::int64_t other = back + which % copies(back) * distances();
    return group * s_.routers + other / s_.global;
  }
  /// The number of a group's links to the group at this distance.
  [[nodiscard]] std::int64_t copies(std::int64_t distance) const {
    const std::int64_t all = s_.routers * s_.global;
    return (all - distance - 1) / distances() + 1;
  }

  Shape s_;
};

// --- what the user writes ---

std::optional<std::int64_t> number(string_view text, std::int64_t most = kMostNodes) {
  return whole_number(text, 1, most);
}

std::optional<std::vector<std::int64_t>> numbers(string_view text, char between) {
  std::vector<std::int64_t> all;
  for (const string_view part : split(text, between)) {
    const auto value = number(part);
    if (!value || all.size() == kMostLevels) return std::nullopt;
    all.push_back(*value);
  }
  return all;
}

/// The product, or `nullopt` if it exceeds `most`.
std::optional<std::int64_t> product(std::span<const std::int64_t> factors, std::int64_t most) {
  std::int64_t all = 1;
  for (const std::int64_t factor : factors) {
    if (factor > most / all) return std::nullopt;
    all *= factor;
  }
  return all;
}

using Parsed = Result<std::shared_ptr<const Topology>>;

Parsed wrong(string_view text, string_view what) {
  return failure(fmt::format("\"{}\" {}", text.substr(0, 200), what));
}

Parsed made(const std::string& text, std::shared_ptr<const Topology> topology, int nodes) {
  if (topology->nodes() < nodes)
    return wrong(text, fmt::format("has room for {} nodes, but there are {}", topology->nodes(), nodes));
  return topology;
}

std::optional<std::string> tree_too_large(std::span<const FatTree::Level> levels) {
  std::vector<std::int64_t> down;
  std::vector<std::int64_t> up;
  for (const FatTree::Level& level : levels) {
    down.push_back(level.down);
    up.push_back(level.up);
    up.push_back(level.cables);
  }
  const auto nodes = product(down, kMostNodes);
  const auto ways = product(up, kMostLinks);
  if (nodes && ways && *nodes * static_cast<std::int64_t>(levels.size()) <= kMostLinks / *ways * 4)
    return std::nullopt;
  return fmt::format("is larger than {} nodes or {} links", kMostNodes, kMostLinks);
}

constexpr string_view kShortTree = "fat-tree:DOWN[,DOWN...][:OVERSUBSCRIPTION]";
constexpr string_view kLongTree = "fat-tree:LEVELS;DOWN,...;UP,...;CABLES,...";

Parsed parse_tree(const std::string& text, string_view rest, int nodes) {
  std::vector<FatTree::Level> levels;
  if (rest.find(';') != string_view::npos) {
    const auto parts = split(rest, ';');
    const auto count = number(parts[0], kMostLevels);
    if (parts.size() != 4 || !count) return wrong(text, fmt::format("is not {}", kLongTree));
    const auto down = numbers(parts[1], ',');
    const auto up = numbers(parts[2], ',');
    const auto cables = numbers(parts[3], ',');
    const auto size = static_cast<std::size_t>(*count);
    if (!down || !up || !cables || down->size() != size || up->size() != size || cables->size() != size)
      return wrong(text,
                   fmt::format("needs {} numbers of at least 1 for each of down, up, and cables", size));
    if ((*up)[0] != 1 || (*cables)[0] != 1)
      return wrong(text, "gives a node more than one link: a node has one port here");
    for (std::size_t l = 0; l < size; ++l) levels.push_back({(*down)[l], (*up)[l], (*cables)[l]});
  } else {
    const auto parts = split(rest, ':');
    const auto down = numbers(parts[0], ',');
    const auto over = parts.size() == 2 ? number(parts[1]) : std::optional<std::int64_t>(1);
    if (!down || !over || parts.size() > 2) return wrong(text, fmt::format("is not {}", kShortTree));
    for (std::size_t l = 0; l < down->size(); ++l)
      levels.push_back({(*down)[l], l == 0 ? 1 : (*down)[l - 1], 1});
    if (levels.size() == 1) levels.push_back({1, levels[0].down, 1});
    if (levels[1].up % *over != 0)
      return wrong(text, fmt::format("has {} nodes per switch, which is not a multiple of {}: an "
                                     "oversubscription of {} needs {}, {}, {}, ...",
                                     levels[0].down, *over, *over, *over, 2 * *over, 3 * *over));
    levels[1].up /= *over;
    std::int64_t room = 1;
    for (std::size_t l = 0; l + 1 < levels.size(); ++l) room = std::min(room * levels[l].down, kMostNodes);
    levels.back().down = std::max(levels.back().down, (nodes + room - 1) / room);
  }
  if (const auto large = tree_too_large(levels)) return wrong(text, *large);
  return made(text, std::make_shared<FatTree>(std::move(levels)), nodes);
}

Parsed parse_torus(const std::string& text, string_view rest, int nodes) {
  auto sizes = numbers(rest, 'x');
  if (!sizes) return wrong(text, "is not torus:AxBx...");
  if (!product(*sizes, kMostNodes)) return wrong(text, fmt::format("is larger than {} nodes", kMostNodes));
  return made(text, std::make_shared<Torus>(std::move(*sizes)), nodes);
}

Parsed parse_dragonfly(const std::string& text, string_view rest, int nodes) {
  const auto numbers_ = numbers(rest, ':');
  if (!numbers_ || numbers_->size() != 4) return wrong(text, "is not dragonfly:GROUPS:ROUTERS:NODES:GLOBAL");
  const auto& n = *numbers_;
  const std::int64_t factors[] = {n[0], n[1], n[2]};
  const std::int64_t ports[] = {n[0], n[1], n[1] + n[3]};
  if (!product(factors, kMostNodes) || !product(ports, kMostLinks))
    return wrong(text, fmt::format("is larger than {} nodes or {} links", kMostNodes, kMostLinks));
  if (n[1] * n[3] < n[0] - 1)
    return wrong(text,
                 fmt::format("has {} global links per group, but {} other groups", n[1] * n[3], n[0] - 1));
  return made(text, std::make_shared<Dragonfly>(Dragonfly::Shape{n[0], n[1], n[2], n[3]}), nodes);
}

}  // namespace

Result<std::shared_ptr<const Topology>> parse_topology(const std::string& text, int nodes) {
  const string_view all = text;
  const std::size_t colon = all.find(':');
  const string_view kind = all.substr(0, colon);
  const string_view rest = colon == string_view::npos ? string_view() : all.substr(colon + 1);
  if (all == "star") return std::shared_ptr<const Topology>();
  if (kind == "fat-tree") return parse_tree(text, rest, nodes);
  if (kind == "torus") return parse_torus(text, rest, nodes);
  if (kind == "dragonfly") return parse_dragonfly(text, rest, nodes);
  return wrong(text, "is not one of star, fat-tree:..., torus:..., dragonfly:...");
}

std::string check_topology(const std::string& text) {
  return parse_topology(text, 1).error();
}

}  // namespace offramp
