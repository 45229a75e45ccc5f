// A sweep over the moments at which a span begins or ends: between two of them the best candidate has the
// time (Candidate::operator<), so that the pieces fill the call without overlapping. Candidates are this
// rank's spans for the call's operations, those of its messages' other ends, and for collectives those of
// peers' own parts.
#include "lib/answers/report/receipt.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "lib/answers/report/receipts.hpp"
#include "lib/base/printable.hpp"
#include "offramp/kernel/operation_id.hpp"
#include "simulators/world/network.hpp"

namespace offramp {
namespace {

using SortedJson = nlohmann::json;

Time picoseconds(const SortedJson& value) {
  return Time::ps(value.get<std::int64_t>());
}

Receipts::Rank read_rank(const SortedJson& json) {
  Receipts::Rank rank;
  rank.dropped = json.at("dropped").get<std::uint64_t>();
  for (const SortedJson& call : json.at("calls"))
    rank.calls.push_back({call.at(0).get<std::uint64_t>(), call.at(1).get<std::string>(),
                          picoseconds(call.at(2)), picoseconds(call.at(3)),
                          call.at(4).get<std::vector<std::uint64_t>>()});
  for (const SortedJson& part : json.at("parts"))
    rank.parts.push_back({part.at(0).get<std::uint64_t>(), part.at(1).get<std::uint64_t>()});
  for (const SortedJson& stage : json.at("stages"))
    rank.stages.push_back({stage.at(0).get<std::string>(), stage.at(1).get<std::string>()});
  for (const SortedJson& span : json.at("spans")) {
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

  /// The first in order gets the moment. Later begins come first, because they are more specific.
  friend bool operator<(const Candidate& a, const Candidate& b) {
    return std::tie(a.level, b.begin, a.end, a.rank, a.stage->unit, a.stage->what, a.operation) <
           std::tie(b.level, a.begin, b.end, b.rank, b.stage->unit, b.stage->what, b.operation);
  }
};

/// A processor: the host's, or a model's unit for it, "host.cpu".
bool is_software(const std::string& unit) {
  constexpr std::string_view kProcessor = ".cpu";
  return unit == kHostUnit || std::string_view(unit).ends_with(kProcessor);
}

}  // namespace

class Accountant {
 public:
  Accountant(const ReceiptBook& book, int rank, const Receipts::Call& call)
      : book_(book), rank_(rank), call_(call) {
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

  template <typename What>
  static const std::vector<What>& entries_of(const ReceiptBook::OfOperation<What>& map,
                                             std::uint64_t operation) {
    static const std::vector<What> nothing;
    const auto found = map.find(operation);
    return found == map.end() ? nothing : found->second;
  }

  /// The call's operations, and of its collectives the messages.
  void collect_operations() {
    operations_.insert(call_.operations.begin(), call_.operations.end());
    for (const std::uint64_t operation : call_.operations) {
      const std::vector<std::uint64_t>& messages = entries_of(book_.messages_, operation);
      if ((operation & kCollectiveOperation) != 0 || !messages.empty()) collective_.insert(operation);
      collective_.insert(messages.begin(), messages.end());
      operations_.insert(messages.begin(), messages.end());
    }
    const std::vector<std::uint64_t> own(operations_.begin(), operations_.end());
    for (const std::uint64_t operation : own) {
      for (const ReceiptBook::Use& use : entries_of(book_.uses_, operation)) {
        if (use.rank == rank_) continue;
        partners_[operation] = use.rank;
        // What a peer does for its part of the collective may be what this rank waits for.
        if (use.collective != 0) operations_.insert(use.collective);
        if (use.collective != 0) collective_.insert(use.collective);
      }
    }
  }

  void collect_candidates() {
    for (const std::uint64_t operation : operations_) {
      for (const ReceiptBook::SpanIndex& place : entries_of(book_.spans_, operation)) {
        const Receipts::Rank& rank = book_.receipts_.ranks[static_cast<std::size_t>(place.rank)];
        const Receipts::KnownSpan& span = rank.spans[place.span];
        const Receipts::Stage& stage = rank.stages[span.stage];
        const bool mine = place.rank == rank_;
        const bool wait = is_wait(stage.what);
        if (!mine && wait) continue;  // who waits for whom is for that rank's own receipts
        const Level level = wait                      ? Level::kWait
                            : !mine                   ? Level::kOther
                            : stage.unit == kHostUnit ? Level::kHost
                                                      : Level::kOwn;
        const Time begin = later(span.begin, call_.begin);
        const Time end = earlier(span.end, call_.end);
        if (begin < end) candidates_.push_back({level, place.rank, &stage, begin, end, span.operation});
      }
    }
  }

  [[nodiscard]] bool is_sent_here(std::uint64_t operation) const {
    return rank_of_operation(operation) == rank_;
  }
  /// What waiting for the peer of this operation is.
  [[nodiscard]] TimeKind wait_for(std::uint64_t operation) const {
    if (collective_.contains(operation)) return TimeKind::kCollectiveWait;
    return is_sent_here(operation) ? TimeKind::kLateReceiver : TimeKind::kLateSender;
  }
  [[nodiscard]] TimeKind kind_of(const Candidate& owner) const {
    if (owner.level != Level::kWait)
      return is_software(owner.stage->unit) ? TimeKind::kSoftware : TimeKind::kTransfer;
    return owner.stage->what == kSharedLink ? TimeKind::kLinkWait : wait_for(owner.operation);
  }

  [[nodiscard]] ReceiptLine line_of(const Piece& piece, const Candidate* next) const {
    const Candidate* const owner = piece.owner;
    if (owner == nullptr) return gap(next, piece.begin, piece.end);
    if (owner->level != Level::kWait || owner->stage->unit != kHostUnit)
      return {owner->rank, owner->stage->unit, owner->stage->what, piece.begin, piece.end, kind_of(*owner)};
    return wait_for_partner(owner->operation, piece.begin, piece.end);
  }

  [[nodiscard]] ReceiptLine wait_for_partner(std::uint64_t operation, Time begin, Time end) const {
    const auto partner = partners_.find(operation);
    const int rank = partner == partners_.end() ? -1 : partner->second;
    return {rank, "wait", "for a peer", begin, end, wait_for(operation)};
  }

  [[nodiscard]] ReceiptLine gap(const Candidate* next, Time begin, Time end) const {
    if (next == nullptr) {
      // A probe that finds a message has waited for it, and has no operation.
      const bool probes = call_.operations.empty() && call_.function.find("robe") != std::string::npos;
      return {-1,    kHostUnit, candidates_.empty() ? "call" : "completion",
              begin, end,       probes ? TimeKind::kLateSender : TimeKind::kSoftware};
    }
    if (next->level == Level::kOther)
      return {next->rank, "wait", "for a peer", begin, end, wait_for(next->operation)};
    if (!is_sent_here(next->operation)) return wait_for_partner(next->operation, begin, end);
    // What this rank sends waits for its own hardware, as far as is known.
    const bool in_collective = collective_.contains(next->operation);
    const TimeKind wait = in_collective ? TimeKind::kCollectiveWait : TimeKind::kBusyHardware;
    return {-1, "wait", "for hardware", begin, end, wait};
  }

  [[nodiscard]] std::vector<ReceiptLine> named(const std::vector<Piece>& pieces) const {
    std::vector<ReceiptLine> lines;
    const Candidate* next = nullptr;
    for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
      if (piece->owner != nullptr) next = piece->owner;
      ReceiptLine line = line_of(*piece, next);
      if (!lines.empty() && lines.back().rank == line.rank && lines.back().unit == line.unit &&
          lines.back().what == line.what && lines.back().kind == line.kind) {
        lines.back().begin = line.begin;
      } else {
        lines.push_back(std::move(line));
      }
    }
    std::reverse(lines.begin(), lines.end());
    return lines;
  }

  const ReceiptBook& book_;
  int rank_;
  const Receipts::Call& call_;
  std::unordered_set<std::uint64_t> operations_;
  std::unordered_set<std::uint64_t> collective_;     // of them, collectives and their messages
  std::unordered_map<std::uint64_t, int> partners_;  // of messages: the rank at the other end
  std::vector<Candidate> candidates_;
};

Result<Receipts> read_receipts(const std::string& report, const std::string& file) {
  const std::string name = printable(file);
  try {
    const SortedJson json = SortedJson::parse(report);
    if (!json.is_object() || !json.contains("offramp"))
      return failure(fmt::format("{} is not a report: Offramp did not write this file", name));
    if (!json.contains("receipts"))
      return failure(fmt::format(
          "no receipts in {}: make the report with --receipts all, or --receipts 100-200 for some calls",
          name));
    Receipts receipts;
    for (const SortedJson& rank : json.at("receipts")) receipts.ranks.push_back(read_rank(rank));
    return receipts;
  } catch (const std::exception& e) {
    return failure(fmt::format("{} is not a report: {}", name, e.what()));
  }
}

ReceiptBook::ReceiptBook(const Receipts& receipts) : receipts_(receipts) {
  for (std::size_t i = 0; i < receipts.ranks.size(); ++i) {
    const Receipts::Rank& rank = receipts.ranks[i];
    const int number = static_cast<int>(i);
    for (std::size_t span = 0; span < rank.spans.size(); ++span)
      spans_[rank.spans[span].operation].push_back({number, span});
    for (const Receipts::MessagePart& part : rank.parts) {
      messages_[part.collective].push_back(part.message);
      uses_[part.message].push_back({number, part.collective});
    }
    for (const Receipts::Call& call : rank.calls) {
      for (const std::uint64_t operation : call.operations) uses_[operation].push_back({number, 0});
    }
  }
}

std::vector<ReceiptLine> ReceiptBook::lines(int rank, const Receipts::Call& call) const {
  if (call.end <= call.begin) return {};
  return Accountant(*this, rank, call).lines();
}

std::vector<ReceiptLine> receipt_of(const Receipts& receipts, int rank, const Receipts::Call& call) {
  return ReceiptBook(receipts).lines(rank, call);
}

}  // namespace offramp
