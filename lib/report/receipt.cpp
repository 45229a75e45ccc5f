// A sweep over the moments at which a span begins or ends: between two of them the best candidate has the
// time (Candidate::operator<), so that the pieces fill the call without overlapping. Candidates are this
// rank's spans for the call's operations, those of its messages' other ends, and for collectives those of
// peers' own parts.
#include "lib/report/receipt.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "lib/report/receipts.hpp"

namespace offramp {
namespace {

using Json = nlohmann::json;

Time picoseconds(const Json& value) {
  return Time::ps(value.get<std::int64_t>());
}

Receipts::Rank read_rank(const Json& json) {
  Receipts::Rank rank;
  rank.dropped = json.at("dropped").get<std::uint64_t>();
  for (const Json& call : json.at("calls"))
    rank.calls.push_back({call.at(0).get<std::uint64_t>(), call.at(1).get<std::string>(),
                          picoseconds(call.at(2)), picoseconds(call.at(3)),
                          call.at(4).get<std::vector<std::uint64_t>>()});
  for (const Json& part : json.at("parts"))
    rank.parts.push_back({part.at(0).get<std::uint64_t>(), part.at(1).get<std::uint64_t>()});
  for (const Json& stage : json.at("stages"))
    rank.stages.push_back({stage.at(0).get<std::string>(), stage.at(1).get<std::string>()});
  for (const Json& span : json.at("spans")) {
    const Receipts::KnownSpan known{span.at(0).get<std::uint32_t>(), picoseconds(span.at(1)),
                                    picoseconds(span.at(2)), span.at(3).get<std::uint64_t>()};
    if (known.stage >= rank.stages.size()) throw std::out_of_range("a span of a stage that is not listed");
    rank.spans.push_back(known);
  }
  return rank;
}

bool is_wait(const std::string& what) {
  constexpr std::string_view kWait = "wait";
  return std::equal(kWait.begin(), kWait.end(), what.begin(),
                    what.begin() + static_cast<std::ptrdiff_t>(std::min(kWait.size(), what.size())),
                    [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); });
}

/// The order in which spans have a moment.
enum class Level : std::uint8_t { kOwn, kHost, kOther, kWait };

struct Candidate {
  Level level = Level::kOwn;
  int rank = 0;
  const Receipts::Stage* stage = nullptr;
  Time begin;
  Time end;
  std::uint64_t operation = 0;

  /// Whoever has a moment stands first. Begins that are later come first: they are the more special ones.
  friend bool operator<(const Candidate& a, const Candidate& b) {
    return std::tie(a.level, b.begin, a.end, a.rank, a.stage->unit, a.stage->what, a.operation) <
           std::tie(b.level, a.begin, b.end, b.rank, b.stage->unit, b.stage->what, b.operation);
  }
};

class Accountant {
 public:
  Accountant(const Receipts& receipts, int rank, const Receipts::Call& call)
      : receipts_(receipts), rank_(rank), call_(call) {
    collect_operations();
    collect_candidates();
  }

  std::vector<ReceiptLine> lines() {
    std::multimap<Time, const Candidate*> starts;
    std::set<Time> moments = {call_.begin, call_.end};
    for (const Candidate& c : candidates_) {
      starts.emplace(c.begin, &c);
      moments.insert(c.begin);
      moments.insert(c.end);
    }
    const auto before = [](const Candidate* a, const Candidate* b) { return *a < *b; };
    std::multiset<const Candidate*, decltype(before)> open(before);
    std::multimap<Time, decltype(open)::iterator> ends;
    std::vector<Piece> pieces;
    for (auto moment = moments.begin(); *moment != call_.end; ++moment) {
      for (auto [end, last] = ends.equal_range(*moment); end != last; ++end) open.erase(end->second);
      for (auto [start, last] = starts.equal_range(*moment); start != last; ++start)
        ends.emplace(start->second->end, open.insert(start->second));
      pieces.push_back({open.empty() ? nullptr : *open.begin(), *moment, *std::next(moment)});
    }
    return named(pieces);
  }

 private:
  struct Piece {
    const Candidate* owner;
    Time begin;
    Time end;
  };

  [[nodiscard]] const Receipts::Rank& own() const { return receipts_.ranks[static_cast<std::size_t>(rank_)]; }

  /// The call's operations, and of its collectives the messages.
  void collect_operations() {
    operations_.insert(call_.operations.begin(), call_.operations.end());
    const std::unordered_set<std::uint64_t> collectives = operations_;
    for (const Receipts::Part& part : own().parts) {
      if (collectives.contains(part.collective)) operations_.insert(part.message);
    }
    const std::unordered_set<std::uint64_t> messages = operations_;
    for (std::size_t r = 0; r < receipts_.ranks.size(); ++r) {
      if (static_cast<int>(r) == rank_) continue;
      // What a peer does for its part of the collective may be what this rank waits for.
      for (const Receipts::Part& part : receipts_.ranks[r].parts) {
        if (messages.contains(part.message)) operations_.insert(part.collective);
      }
      const auto note = [&](std::uint64_t operation) {
        if (messages.contains(operation)) partners_[operation] = static_cast<int>(r);
      };
      for (const Receipts::Part& part : receipts_.ranks[r].parts) note(part.message);
      for (const Receipts::Call& call : receipts_.ranks[r].calls) {
        for (const std::uint64_t operation : call.operations) note(operation);
      }
    }
  }

  void collect_candidates() {
    for (std::size_t r = 0; r < receipts_.ranks.size(); ++r) {
      const Receipts::Rank& of = receipts_.ranks[r];
      const bool mine = static_cast<int>(r) == rank_;
      for (const Receipts::KnownSpan& span : of.spans) {
        if (!operations_.contains(span.operation)) continue;
        const Receipts::Stage& stage = of.stages[span.stage];
        const bool wait = is_wait(stage.what);
        if (!mine && wait) continue;  // who waits for whom is for that rank's own receipts
        const Level level = wait                      ? Level::kWait
                            : !mine                   ? Level::kOther
                            : stage.unit == kHostUnit ? Level::kHost
                                                      : Level::kOwn;
        const Time begin = later(span.begin, call_.begin);
        const Time end = earlier(span.end, call_.end);
        if (begin < end)
          candidates_.push_back({level, static_cast<int>(r), &stage, begin, end, span.operation});
      }
    }
  }

  [[nodiscard]] ReceiptLine line_of(const Piece& piece, const Candidate* next) const {
    const Candidate* const owner = piece.owner;
    if (owner == nullptr) return gap(next, piece.begin, piece.end);
    if (owner->level != Level::kWait || owner->stage->unit != kHostUnit)
      return {owner->rank, owner->stage->unit, owner->stage->what, piece.begin, piece.end};
    const auto partner = partners_.find(owner->operation);
    return {partner == partners_.end() ? -1 : partner->second, "wait", "for a peer", piece.begin, piece.end};
  }

  [[nodiscard]] ReceiptLine gap(const Candidate* next, Time begin, Time end) const {
    if (next == nullptr) return {-1, kHostUnit, candidates_.empty() ? "call" : "completion", begin, end};
    if (next->level == Level::kOther) return {next->rank, "wait", "for a peer", begin, end};
    // What this rank sends waits for its own hardware, as far as is known.
    const bool sent_here = static_cast<int>(next->operation >> 32) == rank_;
    const auto partner = partners_.find(next->operation);
    if (partner == partners_.end())
      return {-1, "wait", sent_here ? "for hardware" : "for a peer", begin, end};
    if (sent_here) return {-1, "wait", "for hardware", begin, end};
    return {partner->second, "wait", "for a peer", begin, end};
  }

  [[nodiscard]] std::vector<ReceiptLine> named(const std::vector<Piece>& pieces) const {
    std::vector<ReceiptLine> lines;
    const Candidate* next = nullptr;
    for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
      if (piece->owner != nullptr) next = piece->owner;
      ReceiptLine line = line_of(*piece, next);
      if (!lines.empty() && lines.back().rank == line.rank && lines.back().unit == line.unit &&
          lines.back().what == line.what) {
        lines.back().begin = line.begin;
      } else {
        lines.push_back(std::move(line));
      }
    }
    std::reverse(lines.begin(), lines.end());
    return lines;
  }

  const Receipts& receipts_;
  int rank_;
  const Receipts::Call& call_;
  std::unordered_set<std::uint64_t> operations_;
  std::unordered_map<std::uint64_t, int> partners_;  // of messages: the rank at the other end
  std::vector<Candidate> candidates_;
};

}  // namespace

Result<Receipts> read_receipts(const std::string& report) {
  using Failure = Result<Receipts>;
  try {
    const Json json = Json::parse(report);
    if (!json.contains("receipts"))
      return Failure::failure("the report has no receipts: run with OFFRAMP_RECEIPTS=all, or name calls");
    Receipts receipts;
    for (const Json& rank : json.at("receipts")) receipts.ranks.push_back(read_rank(rank));
    return receipts;
  } catch (const std::exception& e) {
    return Failure::failure(fmt::format("this is no report of Offramp's: {}", e.what()));
  }
}

std::vector<ReceiptLine> receipt_of(const Receipts& receipts, int rank, const Receipts::Call& call) {
  if (call.end <= call.begin) return {};
  return Accountant(receipts, rank, call).lines();
}

}  // namespace offramp
