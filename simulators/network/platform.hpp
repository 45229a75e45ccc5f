// A machine described by a SimGrid platform file: hosts and links with individual rates and latencies in
// nested zones, with explicit routes between them or clusters that generate them.
//
// Follows the format of SimGrid's documentation ("The XML reference", version 4.1); docs/configuration.md
// lists the supported elements. Known but unsupported parts become notes; anything else is an error that
// names the line. Hosts are nodes in the order of the file.
//
// The links of a cluster's hosts represent the backends' own wires, which already include a latency. Here
// they have a rate and zero latency. A Platform is immutable, for any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "offramp/kernel/result.hpp"
#include "simulators/network/topology.hpp"

namespace offramp {

class Platform final : public Topology {
 public:
  static constexpr std::size_t kLargestFile = std::size_t{32} << 20;  // bytes

  /// text: the file's content, which may be arbitrary. file: its name, for messages ("FILE:12: ...").
  static Result<std::shared_ptr<const Platform>> read(std::string_view text, const std::string& file);

  [[nodiscard]] int nodes() const override { return static_cast<int>(hosts_.size()); }
  [[nodiscard]] std::size_t links() const override { return links_.size(); }
  [[nodiscard]] std::string link_name(std::size_t link) const override { return links_[link].name; }
  [[nodiscard]] const Link* link(std::size_t link) const override { return &links_[link].link; }
  bool route(const RouteRequest& request, Routing routing, const LinkLoads& loads,
             std::vector<std::size_t>& links) const override;
  [[nodiscard]] std::string node_name(int node) const override;
  /// "FILE:7: the zone z has no route from a to b"
  [[nodiscard]] std::string missing(const RouteRequest& request) const override;
  /// The place of the element with the hosts, "FILE:7".
  [[nodiscard]] const std::string& place() const { return place_; }
  /// Ignored parts of the file, each as "FILE:7: SENTENCE".
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  friend class PlatformReader;
  static constexpr std::int32_t kNone = -1;

  struct OwnLink {
    std::string name;
    Link link;
  };
  /// An endpoint of a route: a host, a router, or a zone as its parent sees it.
  struct Point {
    std::string id;
    std::int32_t zone = kNone;   // the enclosing zone
    std::int32_t inner = kNone;  // the zone that it represents
    std::int32_t place = kNone;  // index among the hosts of a cluster
  };
  /// A route within one zone.
  struct Hop {
    std::vector<std::uint32_t> links;
    // The gateways of the zones at the ends. Hosts and routers are their own gateways.
    std::int32_t leaves = kNone;
    std::int32_t enters = kNone;
  };
  /// Routes of a zone: all explicit, shortest ways over explicit ones, or those of a cluster.
  enum class ZoneKind : std::uint8_t { kFull, kShortest, kCluster };
  /// The links of a cluster, from which its routes follow.
  struct Cluster {
    // Links by host. Empty, or kNone for a host, if absent.
    std::vector<std::int32_t> up;
    std::vector<std::int32_t> down;
    std::vector<std::int32_t> limiters;
    std::int32_t backbone = kNone;
    std::shared_ptr<const Topology> inner;  // null: one switch
    std::size_t first_inner = 0;            // index of its first link
  };
  struct Zone {
    std::int32_t point = kNone;  // in the parent zone
    std::int32_t depth = 0;
    int line = 0;
    ZoneKind kind = ZoneKind::kFull;
    std::unordered_map<std::uint64_t, Hop> hops;         // by source and destination
    std::unordered_map<std::uint64_t, std::int32_t> at;  // kShortest: the last point before the destination
    std::unique_ptr<Cluster> cluster;
  };

  /// The key for a source and a destination.
  static std::uint64_t pair(std::int32_t a, std::int32_t b) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) << 32 | static_cast<std::uint32_t>(b);
  }
  [[nodiscard]] const Point& point(std::int32_t at) const { return points_[static_cast<std::size_t>(at)]; }
  [[nodiscard]] const Zone& zone(std::int32_t at) const { return zones_[static_cast<std::size_t>(at)]; }
  /// The innermost zone that contains both; replaces a and b by their points in that zone.
  std::int32_t meet(std::int32_t& a, std::int32_t& b) const;
  /// A zone without a route between two of its points.
  struct Gap {
    const Zone* zone = nullptr;
    std::int32_t from = kNone;
    std::int32_t to = kNone;
  };
  /// Appends the links between two points of any zones. Returns false, with the gap, if a route is
  /// missing.
  bool find(std::int32_t from, std::int32_t to, std::vector<std::size_t>& links, Gap& gap) const;
  /// Appends the links from `first` to `last`, which are within the points `from` and `to` of a zone.
  bool cross(const Zone& zone, std::int32_t from, std::int32_t to, std::int32_t first, std::int32_t last,
             std::vector<std::size_t>& links, Gap& gap) const;
  /// Appends the links through a cluster. Points that are no hosts have no links of their own.
  static void through(const Cluster& cluster, const Point& from, const Point& to,
                      std::vector<std::size_t>& links);

  std::vector<OwnLink> links_;
  std::vector<Point> points_;
  std::vector<Zone> zones_;
  std::vector<std::int32_t> hosts_;  // as points
  std::string file_;
  std::string place_;
  std::vector<std::string> notes_;
};

}  // namespace offramp
