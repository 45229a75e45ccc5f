// Reads the text of a GOAL schedule in two passes: find_ranks() finds each rank's block, and RankText reads a
// block into a graph on demand. Comments may span lines and blocks, so scans keep their state. The first pass
// skips lines that do not concern it many at a time, see plain_lines().
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/programs/import/goal.hpp"
#include "lib/programs/import/lines.hpp"
#include "lib/programs/import/made_events.hpp"
#include "lib/programs/import/openers.hpp"
#include "offramp/kernel/frame_pool.hpp"
#include "offramp/model/message.hpp"

namespace offramp::trace {
namespace {

using recording::Event;

/// Removes comments from lines. Text after a comment on the same line counts.
class Comments {
 public:
  /// Valid until the next line.
  std::string_view strip(std::string_view line) {
    // Most lines have no slash and are returned as they are, without a copy.
    if (!inside_ && line.find('/') == std::string_view::npos) return line;
    kept_.clear();
    while (!line.empty()) {
      if (inside_) {
        const std::size_t end = line.find("*/");
        if (end == std::string_view::npos) return kept_;
        inside_ = false;
        line.remove_prefix(end + 2);
        continue;
      }
      const std::size_t begin = line.find('/');
      kept_ += line.substr(0, begin);
      if (begin == std::string_view::npos) break;
      line.remove_prefix(begin);
      if (line.starts_with("//")) break;
      inside_ = line.starts_with("/*");
      // A single slash is no comment.
      if (!inside_) kept_ += '/';
      line.remove_prefix(inside_ ? 2 : 1);
    }
    return kept_;
  }
  [[nodiscard]] bool inside() const { return inside_; }

 private:
  bool inside_ = false;
  std::string kept_;
};

/// Compares without a call, since a schedule has millions of words.
template <std::size_t kSize>
bool is(std::string_view word, const char (&text)[kSize]) {
  return word.size() == kSize - 1 && std::memcmp(word.data(), text, kSize - 1) == 0;
}

/// Returns 12 for "rank 12 {".
std::optional<std::uint32_t> rank_begun(const std::vector<std::string_view>& words) {
  if (words.size() == 2 && words[0] == "rank" && words[1].ends_with('{'))
    return number_in<std::uint32_t>(words[1].substr(0, words[1].size() - 1));
  if (words.size() != 3 || words[0] != "rank" || words[2] != "{") return std::nullopt;
  return number_in<std::uint32_t>(words[1]);
}

/// Takes "4096b" or "4096 b" from the words.
std::optional<std::uint64_t> bytes_in(std::span<const std::string_view>& words) {
  if (words.empty()) return std::nullopt;
  std::string_view size = words[0];
  words = words.subspan(1);
  if (size.ends_with('b')) {
    size.remove_suffix(1);
  } else if (!words.empty() && words[0] == "b") {
    words = words.subspan(1);
  } else {
    return std::nullopt;
  }
  return number_in<std::uint64_t>(size);
}

/// coll KIND SIZEb GROUP INSTANCE ROOT: takes these words. `nullopt` if one is wrong.
std::optional<GoalCollective> collective_in(std::span<const std::string_view>& words) {
  if (words.size() < 2) return std::nullopt;
  const auto* const kind = std::find_if(std::begin(kGoalCollectives), std::end(kGoalCollectives),
                                        [&](const auto& one) { return one.name == words[1]; });
  words = words.subspan(2);
  const auto size = bytes_in(words);
  if (kind == std::end(kGoalCollectives) || !size || words.size() < 3) return std::nullopt;
  const auto group = number_in<std::uint32_t>(words[0]);
  const auto instance = number_in<std::uint32_t>(words[1]);
  const auto root = number_in<std::uint32_t>(words[2]);
  if (!group || !instance || *instance > INT32_MAX || (!root && words[2] != "-1")) return std::nullopt;
  words = words.subspan(3);
  return GoalCollective{static_cast<std::size_t>(kind - std::begin(kGoalCollectives)), *size, *group,
                        *instance, root};
}

/// For searches by text without a copy.
struct TextHash : std::hash<std::string_view> {
  using is_transparent = void;
};

/// Builds the graphs of ranks, one after the other, statement by statement.
class RankText {
 public:
  /// groups: must outlive the graph.
  void begin(std::uint32_t ranks, const GoalGroups& groups) {
    ranks_ = ranks;
    communicators_.emplace(groups, ranks);
    labels_.clear();
  }

  Result<void> statement(std::string_view text) {
    Words words(text);
    const std::string_view label = words.next_label();
    if (!label.empty()) return operation(label, words);
    Result<void> done = unlabelled(words);
    if (!done && text.find(':') != std::string_view::npos)
      return failure("a label is one word before a colon");
    return done;
  }
  Graph build() { return communicators_->complete(builder_.build()); }

 private:
  Result<void> unlabelled(Words words) {
    Words left = words;
    const std::string_view node = left.next();
    const std::string_view relation = left.next();
    const std::string_view before = left.next();
    const bool begun = is(relation, "irequires");
    if ((!begun && !is(relation, "requires")) || before.empty() || !left.next().empty())
      return operation({}, words);
    const auto waiting = labels_.find(node);
    const auto awaited = labels_.find(before);
    if (waiting == labels_.end() || awaited == labels_.end())
      return failure(fmt::format("label {} is not defined before this line",
                                 (waiting == labels_.end() ? node : before).substr(0, 60)));
    builder_.depend(waiting->second, awaited->second, begun);
    return {};
  }

  Result<void> operation(std::string_view label, Words words) {
    Graph::Node node;
    const std::string_view all = words.rest();
    const std::string_view what = words.next();
    if (what.empty()) return failure("a label without an operation");
    if (is(what, "coll")) return collective(label, all);
    std::string_view size = words.next();
    const bool sends = is(what, "send");
    if (sends || is(what, "recv")) {
      node.kind = sends ? Graph::NodeKind::kSend : Graph::NodeKind::kReceive;
      if (size.ends_with('b')) {
        size.remove_suffix(1);
      } else if (!is(words.next(), "b")) {
        return failure("the size of a message ends with b");
      }
      const std::string_view direction = words.next();
      if (sends ? !is(direction, "to") : !is(direction, "from"))
        return failure(fmt::format("{} SIZEb {} RANK is expected", what, sends ? "to" : "from"));
      const std::string_view peer = words.next();
      if (!sends && is(peer, "-1")) {
        node.peer = kAnySource;
      } else if (const auto rank = number_in<std::uint32_t>(peer); rank && *rank < ranks_) {
        node.peer = static_cast<std::int32_t>(*rank);
      } else {
        return failure(fmt::format("{} is not a rank below {}", peer.substr(0, 40), ranks_));
      }
    } else if (!is(what, "calc")) {
      return failure(fmt::format("unknown statement {}; known: send, recv, calc, coll, requires, irequires",
                                 what.substr(0, 40)));
    }
    const auto amount = number_in<std::uint64_t>(size);
    if (!amount) return failure(fmt::format("{} is not a size", size.substr(0, 40)));
    node.size = *amount;
    if (Result<void> done = options(node, words); !done) return done;
    define(label, builder_.add(node));
    return {};
  }

  Result<void> collective(std::string_view label, std::string_view text) {
    std::vector<std::string_view> words;
    split(text, words);
    std::span<const std::string_view> rest = words;
    const std::optional<GoalCollective> one = collective_in(rest);
    if (!one) {
      std::string kinds;
      for (const auto& known : kGoalCollectives) kinds.append(kinds.empty() ? "" : "|").append(known.name);
      return failure(fmt::format("coll {} SIZEb GROUP INSTANCE ROOT is expected; ROOT may be -1", kinds));
    }
    Graph::Node unused{.kind = Graph::NodeKind::kCollective};  // the backend determines cpu and nic
    const char* const left = rest.empty() ? text.end() : rest.front().begin();
    if (Result<void> done = options(unused, Words({left, text.end()})); !done) return done;
    const Result<Event> event = communicators_->event(*one);
    if (!event) return failure(event.error());
    define(label, builder_.add(*event, static_cast<std::int32_t>(one->instance)));
    return {};
  }

  void define(std::string_view label, std::uint32_t node) {
    if (!label.empty()) labels_.try_emplace(std::string(label), node);  // the first definition counts
  }

  static Result<void> options(Graph::Node& node, Words words) {
    const bool computes = node.kind == Graph::NodeKind::kCompute;
    for (std::string_view name = words.next(); !name.empty(); name = words.next()) {
      const std::string_view text = words.next();
      const auto value = number_in<std::uint32_t>(text);
      if (is(name, "tag") && !computes) {
        const bool any = node.kind == Graph::NodeKind::kReceive && is(text, "-1");
        if (!any && (!value || *value > INT32_MAX))
          return failure(fmt::format("{} is not a tag below 2^31", text.substr(0, 40)));
        node.tag = any ? kAnyTag : static_cast<std::int32_t>(*value);
      } else if ((is(name, "cpu") || (is(name, "nic") && !computes)) && value && *value <= UINT8_MAX) {
        (is(name, "cpu") ? node.cpu : node.nic) = static_cast<std::uint8_t>(*value);
      } else {
        return failure(fmt::format("{} {} is not allowed here", name.substr(0, 40), text.substr(0, 40)));
      }
    }
    return {};
  }

  std::uint32_t ranks_ = 0;
  std::optional<GoalCommunicators> communicators_;
  GraphBuilder builder_;
  // Labels are the many small objects of this reader, so they come from the pool of frames.
  using Allocator = offramp::detail::PoolAllocator<std::pair<const std::string, std::uint32_t>>;
  std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>, Allocator> labels_;
};

/// The statements of a rank.
struct RankPlace {
  std::uint64_t offset = 0;
  std::uint64_t end = 0;
  std::uint64_t lines_before = 0;
};

struct TextSchedule {
  std::shared_ptr<const recording::Source> source;
  std::vector<RankPlace> ranks;  // lines_before is 0 for ranks without statements
  bool several = false;          // uses cpus or nics
  GoalGroups groups;
};

/// The memory for a rank of this size may be kept for the next one.
constexpr std::size_t kFewNodes = 4096;

Result<Graph> read_rank(const TextSchedule& schedule, int rank) {
  const RankPlace& place = schedule.ranks[static_cast<std::size_t>(rank)];
  Lines lines(schedule.source, place.offset, place.lines_before, place.end);
  Comments comments;
  // A failure leaves statements behind, and a large rank much memory: neither is kept for the next rank.
  thread_local std::unique_ptr<RankText> kept;
  std::unique_ptr<RankText> text = kept != nullptr ? std::move(kept) : std::make_unique<RankText>();
  text->begin(static_cast<std::uint32_t>(schedule.ranks.size()), schedule.groups);
  for (std::string_view line; lines.next(line);) {
    const std::string_view statement = comments.strip(line);
    const std::string_view word = Words(statement).next();
    if (word.empty()) continue;
    if (is(word, "}")) {
      Graph graph = text->build();
      if (const std::size_t node = node_on_circle(graph); node < graph.nodes.size())
        return failure(
            lines.at(fmt::format("rank {}: operation {} depends on itself through others", rank, node + 1)));
      if (graph.nodes.size() <= kFewNodes) kept = std::move(text);
      return graph;
    }
    if (const Result<void> done = text->statement(statement); !done) return failure(lines.at(done.error()));
  }
  return failure(lines.error().empty() ? lines.at(fmt::format("rank {} has no closing brace", rank))
                                       : lines.error());
}

/// The text contains the word between blanks.
bool contains_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    if (at > 0 && text[at - 1] == ' ' && at + word.size() < text.size() && text[at + word.size()] == ' ')
      return true;
  }
  return false;
}

/// Lines at the beginning of a block that only RankText reads: before the next brace, with nothing that looks
/// like a comment, a collective, a rank, a cpu, or a nic. lines: their number.
std::string_view plain_lines(std::string_view block, std::uint64_t& lines) {
  block = block.substr(0, block.find('}'));
  block = block.substr(0, block.rfind('\n') + 1);
  // Without branches and with sums of a byte, so that the compiler makes vector instructions of it.
  constexpr std::size_t kMostInByte = UINT8_MAX;
  std::uint64_t count = block.starts_with('\n') ? 1 : 0;
  for (std::size_t begin = 0; begin + 1 < block.size(); begin += kMostInByte) {
    const char* const at = block.data() + begin;
    const std::size_t bytes = std::min(kMostInByte, block.size() - 1 - begin);
    std::uint8_t newlines = 0;
    std::uint8_t special = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
      const auto is_pair = [&](char first, char second) { return (at[i] == first) & (at[i + 1] == second); };
      newlines = static_cast<std::uint8_t>(newlines + (at[i + 1] == '\n'));
      special = static_cast<std::uint8_t>(special | (at[i] == '/') | is_pair('l', 'l') | is_pair('n', 'k') |
                                          is_pair('p', 'u') | is_pair('i', 'c'));
    }
    if (special != 0) return {};
    count += newlines;
  }
  lines = count;
  return block;
}

/// Finds the ranks. Their statements are read on demand.
Result<TextSchedule> find_ranks(Lines& lines, std::uint32_t ranks, TextSchedule schedule, Comments comments) {
  schedule.ranks.resize(ranks);
  std::vector<std::string_view> words;
  RankPlace* inside = nullptr;  // its block contains the line
  std::size_t looked_at = 0;  // the end of a block in which plain lines were sought, so that no part is twice
  const auto skip_plain = [&] {
    if (inside == nullptr || comments.inside() || lines.rest().size() <= looked_at) return;
    std::uint64_t count = 0;
    const std::string_view plain = plain_lines(lines.rest(), count);
    lines.skip(plain.size(), count);
    looked_at = lines.rest().size();
  };
  for (std::string_view line; skip_plain(), lines.next(line);) {
    const std::string_view statement = comments.strip(line);
    // The note about several cpus needs no exact parse, and this pass must be fast.
    schedule.several = schedule.several || contains_word(statement, "cpu") || contains_word(statement, "nic");
    if (inside != nullptr && statement.find("coll") != std::string_view::npos) {
      split(statement.substr(statement.find(':') + 1), words);
      std::span<const std::string_view> rest(std::find(words.begin(), words.end(), "coll"), words.end());
      if (const auto one = collective_in(rest))
        add_member(schedule.groups, one->group, static_cast<std::size_t>(inside - schedule.ranks.data()));
    }
    const std::string_view word = Words(statement).next();
    if (word.empty() || (inside != nullptr && word != "}" && word != "rank")) continue;
    split(statement, words);
    if (inside != nullptr && word == "}") {
      if (words.size() > 1) return failure(lines.at("the } of a rank has to be alone on its line"));
      std::exchange(inside, nullptr)->end = lines.next_offset();
      continue;
    }
    if (inside != nullptr) return failure(lines.at("a rank begins before the } of the previous one"));
    const auto rank = rank_begun(words);
    if (!rank || *rank >= ranks)
      return failure(lines.at(fmt::format("rank R {{ is expected, R below {}", ranks)));
    RankPlace& place = schedule.ranks[*rank];
    if (place.lines_before != 0) return failure(lines.at(fmt::format("rank {} occurs twice", *rank)));
    place = {lines.next_offset(), UINT64_MAX, lines.number()};
    inside = &place;
    looked_at = 0;
  }
  if (!lines.error().empty()) return failure(lines.error());
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (schedule.ranks[rank].lines_before == 0)
      return failure(fmt::format("{}: rank {} does not exist among {} ranks", lines.file(), rank, ranks));
  }
  return schedule;
}

Result<std::optional<Program>> open_text(const Candidate& candidate) {
  if (!candidate.is_text()) return std::optional<Program>();
  const std::string& path = candidate.name;
  Result<recording::Source> source = recording::Source::open(path);
  if (!source) return failure(source.error());
  TextSchedule schedule;
  schedule.source = std::make_shared<const recording::Source>(std::move(*source));
  Lines lines(schedule.source);
  Comments comments;
  std::vector<std::string_view> words;
  for (std::string_view line; words.empty() && lines.next(line);) split(comments.strip(line), words);
  if (words.size() != 2 || words[0] != "num_ranks") return std::optional<Program>();
  const auto ranks = number_in<std::uint32_t>(words[1]);
  if (!ranks || *ranks == 0 || *ranks > std::uint32_t{kMostRanks})
    return failure(lines.at(fmt::format("num_ranks has to be from 1 to {}", kMostRanks)));
  Result<TextSchedule> found = find_ranks(lines, *ranks, std::move(schedule), comments);
  if (!found) return failure(found.error());
  const bool several = found->several;
  const auto shared = std::make_shared<const TextSchedule>(std::move(*found));
  return std::optional(goal_program(path, static_cast<int>(*ranks), several,
                                    [shared](int rank) { return read_rank(*shared, rank); }));
}

}  // namespace

const Opener kGoalTexts = {
    .kind = "GOAL schedule", .origin = "Schedgen and ATLAHS, as text", .open = open_text};

}  // namespace offramp::trace
