// Caches trips by distance and size, credit periods by distance, multicast trees by communicator and root,
// and trees of reductions by communicator, root, and order. Under faults each message is simulated
// separately. Trees of reductions: shape_of() groups ranks by board along the mesh, or takes all ranks in
// order. locate() finds a rank's parent and children by descending into its range, without building the tree.
#include "backends/tinsel/device.hpp"

#include <algorithm>
#include <cstdlib>

#include "simulators/tinsel/frame.hpp"

namespace offramp::tinsel {
namespace {

constexpr std::size_t kMostResults = 64;  // sizes cached per root

/// Encodes what the network's times between two threads depend on: hops between boards, and hops within the
/// boards' meshes.
std::uint64_t path_class(const Mesh& mesh, const ThreadLocation& a, const ThreadLocation& b) {
  const int a_row = a.mailbox / kMailboxColumns;
  const int b_row = b.mailbox / kMailboxColumns;
  if (a.board != b.board) {
    const auto boards = static_cast<std::uint64_t>(mesh.distance(a.board, b.board));
    // The column does not matter: messages leave a board by its edge.
    const std::uint64_t rows = boards * kMailboxColumns + static_cast<std::uint64_t>(a_row);
    return (rows * kMailboxColumns + static_cast<std::uint64_t>(b_row)) * 2 + 1;
  }
  const int hops =
      std::abs(a.mailbox % kMailboxColumns - b.mailbox % kMailboxColumns) + std::abs(a_row - b_row);
  return static_cast<std::uint64_t>(hops) * 2;
}

/// A tree of contiguous ranges: the first rank of a range is the parent of the first ranks of at most fan_in
/// equal parts of the rest.
void locate_in(const std::vector<int>& list, int fan_in, std::size_t index, Position& position) {
  std::size_t low = 0;
  std::size_t high = list.size();
  const auto parts = static_cast<std::size_t>(fan_in);
  for (;;) {
    const std::size_t rest = high - low - 1;
    const std::size_t begin = low + 1;
    const auto bound = [&](std::size_t part) { return begin + rest * part / parts; };
    if (index == low) {
      for (std::size_t p = 0; p < parts; ++p) {
        // Parts may be empty.
        if (bound(p) < bound(p + 1)) position.children.push_back(list[bound(p)]);
      }
      return;
    }
    std::size_t part = 0;
    while (index >= bound(part + 1)) ++part;
    position.parent = list[low];
    low = bound(part);
    high = bound(part + 1);
  }
}

}  // namespace

TreeShape shape_of(const Configuration& configuration, const std::vector<ThreadLocation>& places, int root,
                   bool any_order) {
  TreeShape shape;
  const auto ranks = static_cast<int>(places.size());
  const auto place = [&](int r) -> const ThreadLocation& { return places[static_cast<std::size_t>(r)]; };
  std::map<int, std::vector<int>> boards;  // a single list if the order matters
  for (int r = 0; r < ranks; ++r) boards[any_order ? place(r).board : 0].push_back(r);
  std::map<int, int> index;
  for (auto& [board, list] : boards) {
    if (any_order) {
      std::sort(list.begin(), list.end(), [&](int a, int b) {
        // The root comes first on its board.
        if ((a == root) != (b == root)) return a == root;
        return place(a) < place(b);
      });
    }
    index[board] = static_cast<int>(shape.lists.size());
    shape.lists.push_back(list);
  }
  shape.parents.assign(shape.lists.size(), -1);
  shape.at.resize(places.size());
  for (std::size_t l = 0; l < shape.lists.size(); ++l) {
    for (std::size_t i = 0; i < shape.lists[l].size(); ++i)
      shape.at[static_cast<std::size_t>(shape.lists[l][i])] = {static_cast<int>(l), static_cast<int>(i)};
  }
  if (!any_order) return shape;
  const Mesh& mesh = configuration.machine.mesh;
  for (const auto& [board, list] : index) {
    int above = board;  // nearest board towards the root that has ranks
    // Boards without ranks are skipped.
    do above = parent_board(mesh, place(root).board, above);
    while (above >= 0 && !index.contains(above));
    if (above >= 0) shape.parents[static_cast<std::size_t>(list)] = index.at(above);
  }
  return shape;
}

Position locate(const TreeShape& shape, int fan_in, int rank) {
  Position position;
  const auto [list, index] = shape.at[static_cast<std::size_t>(rank)];
  const auto l = static_cast<std::size_t>(list);
  locate_in(shape.lists[l], fan_in, static_cast<std::size_t>(index), position);
  if (index > 0) return position;
  for (std::size_t other = 0; other < shape.lists.size(); ++other) {
    if (shape.parents[other] == list) position.children.push_back(shape.lists[other].front());
  }
  if (shape.parents[l] >= 0)
    position.parent = shape.lists[static_cast<std::size_t>(shape.parents[l])].front();
  return position;
}

StreamRequest Device::unicast_request(const ThreadLocation& source, const ThreadLocation& destination,
                                      std::uint64_t bytes, std::uint64_t number, Time epoch) const {
  StreamRequest request;
  request.source = source;
  request.destinations.push_back(destination);
  request.bytes = bytes;
  request.envelope = true;
  request.workers = configuration_.workers();
  request.faults = faults_;
  request.number = number;
  request.epoch = epoch;
  return request;
}

Trip Device::whole_unicast(const ThreadLocation& source, const ThreadLocation& destination,
                           std::uint64_t bytes, std::uint64_t number, Time epoch) {
  const StreamRequest request = unicast_request(source, destination, bytes, number, epoch);
  const StreamResult result = run_stream(machine_, configuration_.software, request);
  Trip trip{result.sent, result.destinations[0].first, result.destinations[0].last, result.ok,
            result.counters.link};
  trip.wire.payload_bytes = bytes;
  if (source.board == destination.board) {  // network on chip: count fragments as packets
    trip.wire.packets = result.counters.injected;
    trip.wire.wire_bytes = result.counters.injected * kMaximumFlits * kFlitBytes;
  }
  // Keeps the times in order although the message is lost.
  if (!trip.ok) trip.last = later(trip.last, later(trip.first, trip.sent));
  return trip;
}

/// Without faults the times depend only on distance and size: the network is simulated once for each.
Trip Device::memorised(const ThreadLocation& source, const ThreadLocation& destination, std::uint64_t bytes,
                       std::uint64_t number, Time epoch) {
  if (faults_.any()) return whole_unicast(source, destination, bytes, number, epoch);
  const std::uint64_t key = bytes << 10U | path_class(configuration_.machine.mesh, source, destination);
  return trips_.get(key, [&] { return whole_unicast(source, destination, bytes, number); });
}

Trip Device::unicast(int source, int destination, std::uint64_t bytes, std::uint64_t number, Time epoch) {
  return memorised(configuration_.place(source), configuration_.place(destination), bytes,
                   number_of(source, destination, number), epoch);
}

SharedUnits::Delay Device::wait_for_credits(int source, int destination, std::uint64_t fragments, Time at) {
  const Time period = credit_period(configuration_.place(source), configuration_.place(destination));
  const auto window = static_cast<std::uint64_t>(configuration_.software.window);
  // Credits that the message does not need.
  const auto spare = static_cast<std::int64_t>(window - std::min(fragments, window));
  const auto found = credits_back_.find(number_of(source, destination, 0));
  if (found == credits_back_.end() || found->second <= at) return {};
  const Time out = found->second - at;
  return {later(out - period * static_cast<std::int64_t>(window - 1), {}), later(out - period * spare, {})};
}

void Device::spend_credits(int source, int destination, std::uint64_t fragments, Time at, Time late) {
  if (credits_back_.size() >= most_waits_) {
    // Past entries have no effect any more.
    std::erase_if(credits_back_, [at](const auto& wait) { return wait.second <= at; });
    most_waits_ = std::max(most_waits_, 2 * credits_back_.size());
  }
  const Time period = credit_period(configuration_.place(source), configuration_.place(destination));
  Time& back = credits_back_[number_of(source, destination, 0)];
  back = later(back, at + late) + period * static_cast<std::int64_t>(fragments);
}

/// The interval of fragments in a long stream on an idle machine, which is limited by returning credits.
Time Device::credit_period(const ThreadLocation& source, const ThreadLocation& destination) {
  const auto [entry, is_new] =
      credit_periods_.try_emplace(path_class(configuration_.machine.mesh, source, destination));
  if (!is_new) return entry->second;
  const auto window = static_cast<std::uint64_t>(configuration_.software.window);
  const auto sent = [&](std::uint64_t windows) {
    StreamRequest request =
        unicast_request(source, destination, windows * window * kFragmentBytes - kEnvelopeBytes, 0, {});
    request.faults = {};
    return run_whole_stream(machine_, configuration_.software, request).sent;
  };
  // The difference excludes the start of the stream.
  return entry->second = Time::ps((sent(4) - sent(2)).count() / static_cast<std::int64_t>(2 * window));
}

std::uint64_t Device::number_of(int source, int destination, std::uint64_t number) const {
  const auto pair = static_cast<std::uint64_t>(source) * static_cast<std::uint64_t>(configuration_.ranks) +
                    static_cast<std::uint64_t>(destination);
  return (pair << 20U) + number;
}

void Device::capture_unicast(const Transfer& transfer, std::uint64_t bytes, Time begin) {
  if (packets_ == nullptr) return;
  const FrameTap::Stream stream{transfer.source,
                                transfer.destination,
                                begin,
                                bytes,
                                transfer.data.first(std::min<std::size_t>(bytes, transfer.data.size())),
                                true,
                                static_cast<std::uint32_t>(transfer.tag)};
  FrameTap tap(*packets_, stream);
  StreamRequest request =
      unicast_request(configuration_.place(transfer.source), configuration_.place(transfer.destination),
                      bytes, number_of(transfer.source, transfer.destination, transfer.number), begin);
  request.tap = &tap;
  (void)run_stream(machine_, configuration_.software, request);
}

void Device::capture_multicast(int source, const RootPlan& plan, std::uint64_t bytes, Bytes data,
                               Time begin) {
  if (packets_ == nullptr) return;
  FrameTap::Stream stream{.source = source, .begin = begin, .bytes = bytes, .data = data};
  FrameTap tap(*packets_, stream);
  StreamRequest request = multicast_request(plan, bytes, begin);
  --request.number;  // multicast() has incremented it
  request.tap = &tap;
  (void)run_stream(machine_, configuration_.software, request);
}

Communicator& Device::communicator(const TeamMembers& team) {
  const std::uint64_t context = team.setup_context();
  if (recent_.second != nullptr && recent_.first == context) return *recent_.second;
  Communicator& communicator = communicators_[context];
  recent_ = {context, &communicator};
  if (!communicator.places.empty()) return communicator;
  communicator.is_world = team.size() == configuration_.ranks;
  for (int r = 0; r < team.size(); ++r) {
    communicator.places.push_back(configuration_.place(team.world_rank(r)));
    communicator.is_world = communicator.is_world && team.world_rank(r) == r;
  }
  return communicator;
}

void Device::forget(std::uint64_t context) {
  const auto found = communicators_.find(context);
  if (found == communicators_.end()) return;
  recent_ = {};
  // Tables are small, so later communicators need the room.
  for (const auto& [root, plan] : found->second.roots) remove_tree(machine_, plan->tree);
  communicators_.erase(found);
}

const std::shared_ptr<RootPlan>& Device::plan(Communicator& communicator, int root, Time& setup) {
  std::shared_ptr<RootPlan>& entry = communicator.roots[root];
  if (entry != nullptr) return entry;
  entry = std::make_shared<RootPlan>();
  RootPlan& plan = *entry;
  plan.root = communicator.places[static_cast<std::size_t>(root)];
  for (int r = 0; r < static_cast<int>(communicator.places.size()); ++r) {
    if (r == root) continue;
    plan.ranks.push_back(r);
    plan.places.push_back(communicator.places[static_cast<std::size_t>(r)]);
  }
  // Software multicasts need no tables.
  if (configuration_.multicast != Multicast::kHardware || plan.ranks.empty()) return entry;
  plan.tree = build_tree(machine_, plan.root.board, plan.places, next_flow_++, configuration_.order);
  plan.trap = plan.tree.trap;
  find_hops(plan);
  // Tables of the world are written before the program starts.
  if (!communicator.is_world) setup += setup_time(plan.root, plan.tree);
  return entry;
}

/// Finds the boards of a tree, from the root's on, by following the records in their tables.
void Device::find_hops(RootPlan& plan) {
  if (plan.trap != Trap::kNone) return;
  std::map<int, std::size_t> hop_of;
  std::vector<std::pair<TreeHop, Key>> open = {{TreeHop{plan.root.board}, plan.tree.key}};
  for (std::size_t i = 0; i < open.size(); ++i) {
    auto [hop, key] = open[i];
    const Expansion list = expand(machine_.tables(hop.board), key);
    hop.records = static_cast<int>(list.records.size());
    hop.beats = list.beats;
    hop.ram = key.ram;
    hop_of[hop.board] = i;
    plan.hops.push_back(hop);
    for (const Record& record : list.records) {
      // Other records deliver on this board.
      if (record.type() != RecordType::kRr) continue;
      const int next = configuration_.machine.mesh.neighbour(hop.board, record.direction());
      open.push_back({{next, static_cast<int>(i), record.direction()}, Key::decode(record.new_key())});
    }
  }
  for (const ThreadLocation& place : plan.places) plan.ways.push_back(hop_of.at(place.board));
}

/// The root sends each board's beats to a thread there, which writes and flushes them and answers.
Time Device::setup_time(const ThreadLocation& root, const Tree& tree) {
  Time begin;
  Time end;
  for (const auto& [board, placed] : tree.lists) {
    ThreadLocation leader;
    leader.board = static_cast<std::uint16_t>(board);
    const Trip there = memorised(root, leader, std::uint64_t{placed.beats} * kBeatBytes, 0, {});
    const Trip back = memorised(leader, root, 0, 0, {});
    end = later(end, begin + there.last + back.last);
    begin += there.sent;
    count(there.wire);
    count(back.wire);
  }
  return end;
}

std::shared_ptr<const StreamResult> Device::multicast(RootPlan& plan, std::uint64_t bytes, Time epoch) {
  if (plan.results.size() >= kMostResults) plan.results.clear();
  std::shared_ptr<const StreamResult>& result = plan.results[bytes];
  const StreamRequest request = multicast_request(plan, bytes, epoch);
  ++plan.number;
  if (result == nullptr || faults_.any())
    result = std::make_shared<const StreamResult>(run_stream(machine_, configuration_.software, request));
  return result;
}

StreamRequest Device::multicast_request(const RootPlan& plan, std::uint64_t bytes, Time epoch) const {
  StreamRequest request;
  request.source = plan.root;
  request.destinations = plan.places;
  request.multicast = configuration_.multicast;
  request.key = plan.tree.key;
  request.bytes = bytes;
  request.workers = configuration_.workers();
  request.faults = faults_;
  request.number = (std::uint64_t{1} << 38U) + (std::uint64_t{request.source.board} << 30U) + plan.number;
  request.epoch = epoch;
  return request;
}

const IdleTimes& Device::idle_detection() {
  if (!idle_) idle_ = detect_idle(configuration_.machine, configuration_.idle);
  return *idle_;
}

Time Device::work(Team& team, Time at, Time duration) {
  if (threads_.empty()) threads_.resize(static_cast<std::size_t>(configuration_.ranks));
  return threads_[static_cast<std::size_t>(team.world_rank(team.rank()))].acquire(at, duration).end;
}

const Position& Device::position(Communicator& communicator, int rank, int root, bool any_order) {
  const std::tuple<int, int, bool> key{rank, root, any_order};
  if (communicator.recent.second != nullptr && communicator.recent.first == key)
    return *communicator.recent.second;
  const auto [position, is_new] = communicator.positions.try_emplace(key);
  communicator.recent = {key, &position->second};
  if (!is_new) return position->second;
  const auto [shape, is_first] = communicator.shapes.try_emplace({root, any_order});
  if (is_first) shape->second = shape_of(configuration_, communicator.places, root, any_order);
  return position->second = locate(shape->second, configuration_.fan_in, rank);
}

}  // namespace offramp::tinsel
