#include "lib/core/path_log.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace offramp {
namespace {

static_assert(std::is_trivially_copyable_v<PathLog::Wait> && std::is_trivially_copyable_v<Time>);

/// What precedes the arrays of a packed log.
struct Head {
  std::uint64_t waits = 0;
  std::uint64_t issues = 0;
  Time end;
};

struct RankLog {
  std::vector<PathLog::Wait> waits;  // by time
  std::vector<Time> issues;
  Time end;
  std::size_t left = 0;  // waits that the walk has not passed
};

template <typename T>
void append(std::string& text, const T* values, std::size_t count) {
  const std::size_t before = text.size();
  text.resize(before + count * sizeof(T));
  if (count > 0) std::memcpy(text.data() + before, values, count * sizeof(T));
}

std::optional<RankLog> unpacked(std::string_view text) {
  Head head;
  if (text.size() < sizeof head) return std::nullopt;
  std::memcpy(static_cast<void*>(&head), text.data(), sizeof head);
  if (head.waits > PathLog::kMost || head.issues > PathLog::kMost) return std::nullopt;
  if (text.size() != sizeof head + head.waits * sizeof(PathLog::Wait) + head.issues * sizeof(Time))
    return std::nullopt;
  RankLog log;
  log.end = head.end;
  log.waits.resize(head.waits);
  log.issues.resize(head.issues);
  const char* from = text.data() + sizeof head;
  if (head.waits > 0)
    std::memcpy(static_cast<void*>(log.waits.data()), from, head.waits * sizeof(PathLog::Wait));
  from += head.waits * sizeof(PathLog::Wait);
  if (head.issues > 0) std::memcpy(static_cast<void*>(log.issues.data()), from, head.issues * sizeof(Time));
  // They are in order already, but for those of collectives that overlap with something else.
  const auto earlier = [](const PathLog::Wait& a, const PathLog::Wait& b) { return a.at < b.at; };
  if (!std::is_sorted(log.waits.begin(), log.waits.end(), earlier))
    std::stable_sort(log.waits.begin(), log.waits.end(), earlier);
  log.left = log.waits.size();
  return log;
}

/// The last message that the rank waited for until `time`; it is not found again.
const PathLog::Wait* last_wait(RankLog& log, Time time) {
  while (log.left > 0) {
    const PathLog::Wait& wait = log.waits[--log.left];
    if (wait.at <= time) return &wait;
  }
  return nullptr;
}

void keep_longest(std::vector<CriticalPath::Step>& steps, const CriticalPath::Step& step) {
  const auto longer = [](const CriticalPath::Step& a, const CriticalPath::Step& b) {
    return a.end - a.begin > b.end - b.begin;
  };
  if (steps.size() == CriticalPath::kLongest && !longer(step, steps.back())) return;
  steps.insert(std::upper_bound(steps.begin(), steps.end(), step, longer), step);
  if (steps.size() > CriticalPath::kLongest) steps.pop_back();
}

}  // namespace

bool PathLog::make_room(std::uint32_t operation) {
  if (operation >= kMost) return complete_ = false;
  issues_.resize(std::min(kMost, 2 * (std::size_t{operation} + 1)));
  return true;
}

std::string PathLog::packed(Time end) const {
  if (!complete_) return {};
  const Head head{waits_.size(), issues_.size(), end};
  std::string text;
  append(text, &head, 1);
  append(text, waits_.data(), waits_.size());
  append(text, issues_.data(), issues_.size());
  return text;
}

std::optional<CriticalPath> critical_path(std::span<const std::string> logs) {
  std::vector<RankLog> ranks;
  for (const std::string& text : logs) {
    std::optional<RankLog> log = unpacked(text);
    if (!log) return std::nullopt;
    ranks.push_back(std::move(*log));
  }
  if (ranks.empty()) return std::nullopt;
  std::size_t rank = 0;
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    if (ranks[i].end > ranks[rank].end) rank = i;
  }
  CriticalPath path;
  path.by_rank.resize(ranks.size());
  // Backwards from the end. Every turn uses up a wait, so it ends.
  for (Time time = ranks[rank].end;;) {
    const PathLog::Wait* const wait = last_wait(ranks[rank], time);
    const Time since = wait != nullptr ? wait->at : Time();
    path.on_ranks += time - since;
    path.by_rank[rank] += time - since;
    if (wait == nullptr) return path;
    time = since;
    if (wait->source >= ranks.size() || wait->operation >= ranks[wait->source].issues.size()) continue;
    const Time begin = ranks[wait->source].issues[wait->operation];
    if (begin >= time) continue;  // the sender's clock is of another operation: stay on this rank
    path.in_messages += time - begin;
    ++path.messages;
    keep_longest(path.longest, {wait->source, static_cast<std::uint32_t>(rank), wait->bytes, begin, time});
    rank = wait->source;
    time = begin;
  }
}

}  // namespace offramp
