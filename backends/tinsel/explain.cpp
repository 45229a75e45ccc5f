// `tables` builds a broadcast's routing tables and decodes them again from the boards' memory, so it prints
// what the routers read. `multicast` runs each kind on a machine of its own, without other traffic, and
// leaves out sizes that need hundreds of millions of events.
#include <fmt/format.h>

#include <array>

#include "backends/tinsel/device.hpp"
#include "backends/tinsel/tinsel.hpp"
#include "simulators/tinsel/frame.hpp"

namespace offramp::tinsel {
namespace {

std::vector<ThreadLocation> others(const Configuration& configuration, int root) {
  std::vector<ThreadLocation> places;
  for (int r = 0; r < configuration.ranks; ++r) {
    if (r != root) places.push_back(configuration.place(r));
  }
  return places;
}

std::string problem(const Configuration& configuration, const Operation& operation) {
  if (!configuration.fits) return configuration.too_many;
  if (operation.ranks < 2) return "a broadcast needs two ranks";
  return operation.root < operation.ranks && operation.root >= 0 ? "" : "the root does not exist";
}

/// Key, beats, and records of every board on the path of a broadcast.
Explanation explain_tables(const ExplainRequest& request) {
  const Configuration configuration(request.settings, request.operation.ranks);
  if (std::string why = problem(configuration, request.operation); !why.empty()) return {{}, why};
  Machine machine(configuration.machine);
  const int root = request.operation.root;
  const Tree tree = build_tree(machine, configuration.place(root).board, others(configuration, root), 0,
                               configuration.order);
  const Mesh& mesh = configuration.machine.mesh;
  std::string out =
      fmt::format("{} boards of {} x {}, {} beats of 32 bytes in {} tables; the root sends with key {:08x}\n",
                  mesh.boards(), mesh.columns, mesh.rows, tree.beats, tree.lists.size(), tree.key.encode());
  // From the root's board on.
  for (auto it = tree.lists.rbegin(); it != tree.lists.rend(); ++it) {
    const auto& [board, placed] = *it;
    out += fmt::format("board ({}, {}): key {:08x} ({})\n", mesh.x(board), mesh.y(board), placed.key.encode(),
                       print(placed.key));
    for (const Record& record : expand(machine.tables(board), placed.key).records)
      out += fmt::format("  {}\n", print(record));
  }
  return {out, {}};
}

Time time_of(const Configuration& configuration, int root, std::uint64_t bytes, Multicast multicast) {
  Machine machine(configuration.machine);
  StreamRequest request;
  request.source = configuration.place(root);
  request.destinations = others(configuration, root);
  request.multicast = multicast;
  request.key = build_tree(machine, request.source.board, request.destinations, 0, configuration.order).key;
  request.bytes = bytes;
  request.workers = configuration.workers();
  Time last;
  for (const auto& destination : run_stream(machine, configuration.software, request).destinations)
    last = later(last, destination.last);
  return last;
}

/// The gain of the router's multicast, by fan-out and size.
Explanation explain_multicast(const ExplainRequest& request) {
  std::vector<int> counts = {4, 16, 96, 768, 3072, 12288, 49152};
  if (request.operation.ranks > 2) counts = {request.operation.ranks};
  std::vector<std::uint64_t> sizes = {8, 64, 1024};
  if (request.operation.bytes > 0) sizes = {request.operation.bytes};
  std::string out =
      fmt::format("time until the last rank has a broadcast, us\n{:>7} {:>8} {:>12} {:>12} {:>12} {:>8}\n",
                  "ranks", "bytes", "router", "per mailbox", "per rank", "speed-up");
  for (const int ranks : counts) {
    for (const std::uint64_t bytes : sizes) {
      const Configuration configuration(request.settings, ranks);
      if (!configuration.fits) continue;
      // The software sends would need hundreds of millions of events.
      if (static_cast<std::uint64_t>(ranks) * bytes > 64'000'000) continue;
      std::array<double, 3> us{};
      for (const Multicast kind : {Multicast::kHardware, Multicast::kMailbox, Multicast::kSoftware})
        us[static_cast<std::size_t>(kind)] = time_of(configuration, 0, bytes, kind).nanoseconds() / 1000;
      out += fmt::format("{:>7} {:>8} {:>12.2f} {:>12.2f} {:>12.2f} {:>8.1f}\n", ranks, bytes, us[0], us[1],
                         us[2], us[2] / us[0]);
    }
  }
  return {out, {}};
}

/// The formats, from the tables of the codec.
Explanation explain_records(const ExplainRequest&) {
  std::string out = "key ";
  for (const KeyField& f : key_fields())
    out += fmt::format(" [{}:{}] {}", f.low + f.width - 1, f.low, f.name);
  out += '\n';
  for (const RecordSpec& spec : record_specs()) {
    out += fmt::format("{:<4}", spec.name);
    for (const FieldSpec& f : spec.fields)
      out += fmt::format(" [{}:{}] {}", f.low + f.width - 1, f.low, f.name);
    out += '\n';
  }
  return {out, {}};
}

/// The header of a fragment in a packet capture.
Explanation explain_fragment(const ExplainRequest&) {
  std::string text = "byte  size  field\n";
  for (const FrameField& field : frame_fields())
    text += fmt::format("{:>4}  {:>4}  {}\n", field.offset, field.width, field.name);
  return {text, {}};
}

constexpr std::array<ExplainTopic, 4> kTopics = {
    {{"records", "the fields of routing keys and records", explain_records},
     {"fragment", "the fields of a fragment in a packet capture", explain_fragment},
     {"tables", "the routing tables of a broadcast, board by board", explain_tables},
     {"multicast", "broadcasts by router, by mailbox, and by software", explain_multicast}}};

}  // namespace

std::span<const ExplainTopic> topics() {
  return kTopics;
}

}  // namespace offramp::tinsel
