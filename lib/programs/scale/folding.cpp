// Folding is greedy: after each call, Folder looks whether the newest nodes are another turn of an earlier
// loop, or repeat the nodes before them. Candidates come from equal hashes (at most kMostTries), are compared
// by a rolling hash in constant time, and then node by node. Inner loops fold first, so loops of loops
// follow.
#include "lib/programs/scale/folding.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "offramp/model/message.hpp"

namespace offramp::scale {
namespace {

using recording::Event;
using recording::EventKind;
using recording::Reader;

/// Mixes the next word into a hash.
std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15U;
  return hash ^ (hash >> 29U);
}

/// Folds calls as they come: if the newest nodes repeat those before them, both become a loop.
class Folder {
 public:
  void add(Node node) {
    push(std::move(node));
    while (extend_loop() || make_loop()) {
    }
  }
  std::vector<Node> release() { return std::move(nodes_); }

 private:
  // The multiplier of the rolling hash, modulo 2^64: an odd number.
  static constexpr std::uint64_t kBase = 0x100000001B3U;
  // How many earlier nodes equal to the newest one are tried as the start of a repetition.
  static constexpr int kMostTries = 64;

  // Adds a node and its entries in all indices.
  void push(Node node) {
    const std::size_t at = nodes_.size();
    const auto [newest, is_new] = newest_.try_emplace(node.hash, at);
    before_.push_back(is_new ? kNone : newest->second);
    newest->second = at;
    if (node.is_loop()) loops_.push_back(at);
    sums_.push_back(sums_.back() * kBase + node.hash);
    powers_.push_back(powers_.back() * kBase);
    nodes_.push_back(std::move(node));
  }
  // Reverses push().
  Node pop() {
    Node node = std::move(nodes_.back());
    nodes_.pop_back();
    if (before_.back() == kNone) {
      newest_.erase(node.hash);
    } else {
      newest_[node.hash] = before_.back();
    }
    before_.pop_back();
    if (node.is_loop()) loops_.pop_back();
    sums_.pop_back();
    powers_.pop_back();
    return node;
  }
  // The rolling hash of some consecutive nodes, in constant time.
  [[nodiscard]] std::uint64_t sum(std::size_t begin, std::size_t count) const {
    return sums_[begin + count] - sums_[begin] * powers_[count];
  }
  // By the hashes of the nodes, which have 64 bits.
  static bool same(std::span<const Node> a, std::span<const Node> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Node& one, const Node& other) { return one.hash == other.hash; });
  }
  // Both have the same shape: values follow each other in program order.
  static void append(Node& to, Node& from) {
    if (to.series != nullptr) {
      for (std::size_t i = 0; i < kFields; ++i) (*to.series)[i].append((*from.series)[i]);
    }
    for (std::size_t i = 0; i < to.body.size(); ++i) append(to.body[i], from.body[i]);
  }
  // Loops with different numbers of turns are different.
  static std::uint64_t hash_of(const Node& loop) {
    std::uint64_t hash = mixed(0x10F, loop.count);
    for (const Node& node : loop.body) hash = mixed(hash, node.hash);
    return hash;
  }
  std::vector<Node> pop_last(std::size_t count) {
    std::vector<Node> last(count);
    for (std::size_t i = count; i-- > 0;) last[i] = pop();
    return last;
  }

  /// Applies if the newest nodes are another turn of the loop before them.
  bool extend_loop() {
    // The inner loop comes last, and is extended first.
    for (auto at = loops_.rbegin(); at != loops_.rend(); ++at) {
      const std::size_t length = nodes_.size() - *at - 1;
      const std::vector<Node>& body = nodes_[*at].body;
      if (length == 0 || body.size() < length) continue;
      if (body.size() > length || !same(body, std::span(nodes_).last(length))) continue;
      std::vector<Node> turn = pop_last(length);
      Node loop = pop();
      for (std::size_t i = 0; i < length; ++i) append(loop.body[i], turn[i]);
      ++loop.count;
      loop.hash = hash_of(loop);
      push(std::move(loop));
      return true;
    }
    return false;
  }
  bool make_loop() {
    const std::size_t end = nodes_.size();
    int tries = 0;
    // Each earlier node equal to the newest may end the first of two turns.
    for (std::size_t at = before_.back(); at != kNone && tries < kMostTries; at = before_[at], ++tries) {
      const std::size_t length = end - 1 - at;
      if (2 * length > end) return false;
      // Compares the whole turn before looking at its nodes.
      if (sum(end - 2 * length, length) != sum(end - length, length)) continue;
      if (!same(std::span(nodes_).subspan(end - 2 * length, length), std::span(nodes_).last(length)))
        continue;
      std::vector<Node> second = pop_last(length);
      Node loop;
      loop.body = pop_last(length);
      for (std::size_t i = 0; i < length; ++i) append(loop.body[i], second[i]);
      loop.count = 2;
      loop.hash = hash_of(loop);
      push(std::move(loop));
      return true;
    }
    return false;
  }

  static constexpr std::size_t kNone = SIZE_MAX;
  std::vector<Node> nodes_;
  std::vector<std::size_t> before_;  // the previous node with the same hash
  std::vector<std::size_t> loops_;   // their indices
  std::vector<std::uint64_t> sums_ = {0};
  std::vector<std::uint64_t> powers_ = {1};
  std::unordered_map<std::uint64_t, std::size_t> newest_;
};

// Folds one rank as it is read.
class RankFolder {
 public:
  RankFolder(std::int64_t rank, std::int64_t ranks, Pool& pool, Tags tags) : pool_(pool), tags_(tags) {
    folded_.rank = rank;
    // World and self have no event.
    folded_.communicators = {{ranks, rank}, {1, 0}};
  }

  Result<void> add(Reader& reader, const Event& event) {
    if (++folded_.events == 1) thread_ = reader.thread();
    if (reader.thread() != thread_) return failure(several_threads_text(static_cast<int>(folded_.rank)));
    folded_.questions += reader.polls();
    folded_.wildcards += event.kind != EventKind::kSend && event.peer == kAnySource ? 1 : 0;
    folded_.choices += (event.flags & (recording::kAny | recording::kSome)) != 0 ? 1 : 0;
    const auto list = reader.list(event.list);
    if (event.kind == EventKind::kCommunicator) {
      const auto own = std::find(list.begin(), list.end(), static_cast<std::uint64_t>(folded_.rank));
      folded_.communicators.emplace_back(list.size(), own - list.begin());
    } else if (event.communicator >= folded_.communicators.size()) {
      return failure(fmt::format("rank {}, event {}: communicator {} does not exist", folded_.rank,
                                 folded_.events, event.communicator));
    }
    Node node;
    Event shape = event;
    shape.site = 0;  // differs between builds of the program
    if (tags_ == Tags::kValues) shape.tag = 0;
    node.symbol = pool_.symbol(shape, reader.call(event.call));
    // The constants keep hashes of calls and loops apart.
    node.hash = mixed(0xCA11, node.symbol);
    node.series = std::make_unique<AllSeries>();
    const auto put = [&](Field field, std::int64_t value) {
      (*node.series)[static_cast<std::size_t>(field)].add(value);
    };
    const bool makes = event.kind == EventKind::kCommunicator;
    put(Field::kPeer, event.peer);
    put(Field::kTag, event.tag);
    put(Field::kBytes, static_cast<std::int64_t>(event.bytes));
    put(Field::kExtra, makes ? 0 : static_cast<std::int64_t>(event.extra));  // ids carry no information
    put(Field::kList, pool_.list(list));
    put(Field::kSecondList, pool_.list(reader.list(event.second_list)));
    // Long gaps between polls count as work. Short ones count as waiting, whose time differs elsewhere.
    const recording::Times times = reader.times();
    put(Field::kComputing, static_cast<std::int64_t>(times.computing + reader.gaps().longer));
    put(Field::kBlocked, static_cast<std::int64_t>(times.blocked));
    put(Field::kNative, static_cast<std::int64_t>(times.native));
    folder_.add(std::move(node));
    return {};
  }
  FoldedRank release() {
    folded_.body = folder_.release();
    return std::move(folded_);
  }

 private:
  Pool& pool_;
  Tags tags_;
  std::uint32_t thread_ = 0;  // that makes all calls
  Folder folder_;
  FoldedRank folded_;
};

}  // namespace

std::string several_threads_text(int rank) {
  return fmt::format(
      "rank {}: several of its threads call MPI, in an order that varies from run to run; only recordings in "
      "which one thread of each rank calls MPI can be scaled, but all can be replayed at their own number of "
      "ranks",
      rank);
}

std::uint32_t Pool::symbol(Event event, std::string_view call) {
  auto number = call_numbers_.find(call);
  if (number == call_numbers_.end()) {
    number = call_numbers_.emplace(std::string(call), static_cast<std::uint16_t>(calls_.size())).first;
    calls_.emplace_back(call);
  }
  // What varies is cleared; it is stored in the series.
  event.call = number->second;
  event.peer = 0;
  event.list = event.second_list = 0;
  event.bytes = event.extra = 0;
  // Peers, lists, and sizes are 0 by now.
  std::uint64_t hash = mixed(static_cast<std::uint64_t>(event.kind), event.flags);
  for (const std::uint64_t word : {std::uint64_t{static_cast<std::uint8_t>(event.element)},
                                   std::uint64_t{static_cast<std::uint8_t>(event.function)},
                                   std::uint64_t{static_cast<std::uint8_t>(event.operation)},
                                   std::uint64_t{event.call}, std::uint64_t{event.communicator}})
    hash = mixed(hash, word);
  const auto [begin, end] = symbols_.equal_range(hash);
  // Equal hashes are only candidates.
  for (auto known = begin; known != end; ++known) {
    if (events_[known->second] == event) return known->second;
  }
  events_.push_back(event);
  return symbols_.emplace(hash, static_cast<std::uint32_t>(events_.size() - 1))->second;
}

std::uint32_t Pool::list(std::span<const std::uint64_t> values) {
  const auto [known, is_new] = list_numbers_.try_emplace(std::vector(values.begin(), values.end()),
                                                         static_cast<std::uint32_t>(lists_.size()));
  if (is_new) lists_.push_back(&known->first);
  return known->second;
}

Result<FoldedProgram> fold(const std::string& name, const trace::Program& program, Pool& pool, Tags tags) {
  FoldedProgram folded{name, program.description.ranks, {}};
  // One reader at a time bounds the memory.
  for (int rank = 0; rank < program.description.ranks; ++rank) {
    const std::unique_ptr<Reader> reader = program.read(rank);
    RankFolder folder(rank, folded.ranks, pool, tags);
    for (Event event; reader->next(event);) {
      if (const Result<void> done = folder.add(*reader, event); !done) return failure(done.error());
    }
    if (!reader->error().empty()) return failure(reader->error());
    // A part of a program has other loops than the whole one.
    if (!reader->cut().empty()) return failure(fmt::format("rank {}: {}", rank, reader->cut()));
    folded.each.push_back(folder.release());
  }
  return folded;
}

}  // namespace offramp::scale
