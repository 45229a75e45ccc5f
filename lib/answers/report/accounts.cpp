// A call's receipt is added to four tables at once: functions, sizes (a row per power of two), phases, and
// call sites. Functions, call sites, and pairs of ranks are sorted and cut to the limits of a report only at
// the end. accounts_of() replays with the recorded computing: without it, waiting for other ranks would be
// missing.
#include "lib/answers/report/accounts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <utility>

#include "lib/answers/report/delays.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text_format.hpp"

namespace offramp {
namespace {

/// Those with the most first, and no more than a report may have.
template <typename Row, typename Most>
std::vector<Row> longest_of(std::vector<Row> rows, std::size_t limit, Most most) {
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return most(a) > most(b); });
  rows.resize(std::min(rows.size(), limit));
  return rows;
}

/// Members of a rank's communicators, as ranks of the program.
class Communicators {
 public:
  Communicators(int rank, int ranks) : lists_(2) {
    lists_[recording::kWorld].resize(static_cast<std::size_t>(ranks));
    std::iota(lists_[recording::kWorld].begin(), lists_[recording::kWorld].end(), 0);
    lists_[recording::kSelf] = {static_cast<std::uint64_t>(rank)};
  }
  void add(const auto& members) { lists_.emplace_back(members.begin(), members.end()); }
  /// `nullopt` if the recording makes no sense; its replay reports that.
  [[nodiscard]] std::optional<std::uint64_t> world_rank(std::uint32_t communicator, std::int32_t peer) const {
    if (communicator >= lists_.size() || peer < 0) return std::nullopt;
    const auto& list = lists_[communicator];
    return static_cast<std::size_t>(peer) < list.size() ? std::optional(list[static_cast<std::size_t>(peer)])
                                                        : std::nullopt;
  }

 private:
  std::vector<std::vector<std::uint64_t>> lists_;
};

/// The rows of sizes, of phases and of places that a call belongs to.
class AccountClasses {
 public:
  AccountClasses(ReportAccounts& all, const ReplayRecords* records)
      : all_(all), records_(records), sizes_(1 + SizeTable::kClasses), phases_(1) {
    if (records != nullptr) phases_.resize(1 + records->phases().size());
  }

  struct Bytes {
    std::optional<std::uint64_t> largest;  // of the call's operations; `nullopt`: not known
    std::uint64_t all = 0;
  };
  [[nodiscard]] Bytes bytes(const Receipts::Call& call) const {
    Bytes bytes;
    for (const std::uint64_t operation : call.operations) {
      if (records_ == nullptr) break;
      const auto known = records_->facts().find(operation);
      if (known == records_->facts().end()) continue;
      bytes.largest = std::max(bytes.largest.value_or(0), known->second.bytes);
      bytes.all += known->second.bytes;
    }
    return bytes;
  }
  ReportSizeAccount& size(std::optional<std::uint64_t> bytes) {
    return sizes_[bytes ? 1 + static_cast<std::size_t>(std::bit_width(*bytes)) : 0];
  }
  ReportSiteAccount& site(const Receipts::Call& call) { return sites_[{call.function, call.site}].account; }
  ReportPhaseAccount& phase(const Receipts::Call& call) {
    return phases_[call.phase < phases_.size() ? call.phase : 0];
  }

  /// After the calls of each rank.
  void end_rank() {
    for (auto& [place, row] : sites_) {
      if (row.account.calls == row.calls_before) continue;
      row.account.by_rank.add(row.account.parts.sum() - row.time_before);
      row.calls_before = row.account.calls;
      row.time_before = row.account.parts.sum();
    }
  }
  /// Those with any calls.
  void finish() {
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      ReportSizeAccount& row = sizes_[i];
      row.has_size = i > 0;
      if (i > 1) row.min_bytes = std::uint64_t{1} << (i - 2);
      if (i > 1) row.max_bytes = row.min_bytes + (row.min_bytes - 1);
      if (row.calls > 0) all_.sizes.push_back(row);
    }
    std::rotate(phases_.begin(), phases_.begin() + 1, phases_.end());
    for (std::size_t i = 0; i < phases_.size(); ++i) {
      if (i + 1 < phases_.size()) phases_[i].phase = records_->phases()[i].name;
      if (i + 1 < phases_.size()) phases_[i].level = records_->phases()[i].level;
      if (phases_[i].calls > 0) all_.phases.push_back(std::move(phases_[i]));
    }
    if (records_ == nullptr || records_->sites().empty()) return;
    for (auto& [place, row] : sites_) {
      row.account.function = place.first;
      if (place.second > 0) row.account.site = records_->sites()[place.second - 1];
      all_.sites.push_back(std::move(row.account));
    }
    all_.sites = longest_of(std::move(all_.sites), kMostAccountedSites,
                            [](const ReportSiteAccount& row) { return row.parts.sum(); });
  }

 private:
  struct Site {
    ReportSiteAccount account;
    std::uint64_t calls_before = 0;  // of the ranks that have ended
    Time time_before;
  };
  ReportAccounts& all_;
  const ReplayRecords* records_;
  std::vector<ReportSizeAccount> sizes_;    // first those without
  std::vector<ReportPhaseAccount> phases_;  // first those that are in none
  std::map<std::pair<std::string, std::uint32_t>, Site> sites_;
};

}  // namespace

ReportAccounts add_up(const Receipts& receipts, Time in_calls, const ReplayRecords* records,
                      TimelineBuilder* timeline) {
  ReportAccounts all;
  AccountClasses classes(all, records);
  std::map<std::string, ReportAccount> functions;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Time> waits;
  Time accounted;
  for (const Receipts::Rank& rank : receipts.ranks) {
    for (const Receipts::Call& call : rank.calls) accounted += later(call.end - call.begin, {});
  }
  all.not_accounted = later(in_calls - accounted, {});
  const ReceiptBook book(receipts);
  for (std::size_t rank = 0; rank < receipts.ranks.size(); ++rank) {
    for (const Receipts::Call& call : receipts.ranks[rank].calls) {
      ReportAccount& row = functions[call.function];
      const auto [bytes, all_bytes] = classes.bytes(call);
      ReportSizeAccount& size = classes.size(bytes);
      ReportPhaseAccount& phase = classes.phase(call);
      ReportSiteAccount& site = classes.site(call);
      ++row.calls;
      ++size.calls;
      ++phase.calls;
      ++site.calls;
      site.bytes += all_bytes;
      const std::vector<ReceiptLine> lines = book.lines(static_cast<int>(rank), call);
      if (timeline != nullptr) timeline->call(call.function, bytes.value_or(0), lines);
      for (const ReceiptLine& line : lines) {
        for (TimeParts* const parts : {&row.parts, &size.parts, &phase.parts, &site.parts})
          parts->at(line.kind) += line.end - line.begin;
        if (is_waiting(line.kind) && line.rank >= 0 && static_cast<std::size_t>(line.rank) != rank)
          waits[{rank, static_cast<std::uint64_t>(line.rank)}] += line.end - line.begin;
      }
    }
    classes.end_rank();
    if (timeline != nullptr) timeline->end_rank(all.not_accounted <= Time());
  }
  if (timeline != nullptr) all.timeline = timeline->release();
  for (auto& [name, row] : functions) {
    row.function = name;
    all.functions.push_back(std::move(row));
  }
  all.functions = longest_of(std::move(all.functions), kMostAccountedFunctions,
                             [](const ReportAccount& row) { return row.parts.sum(); });
  classes.finish();
  for (const auto& [pair, time] : waits) all.waits.push_back({pair.first, pair.second, time});
  all.waits =
      longest_of(std::move(all.waits), kMostAccountedPairs, [](const ReportWait& row) { return row.waited; });
  return all;
}

std::optional<ReportAccounts> accounts_of(const WorldSetting& setting, const ReplaySource& source,
                                          const ReplayOptions& options, const ReplayResult& result) {
  ReplayRecords records(source.ranks, {.accounts = true});
  ReplayOptions how = options;
  how.details = how.sizes = how.certificate = how.compare_undisturbed = false;
  how.clock_reads = nullptr;
  how.observer = &records;
  const bool with_computing = how.compute.kind == Compute::Mode::kNone && computing_of(result).any();
  if (with_computing) how.compute.kind = Compute::Mode::kMeasured;
  Result<ReplayResult> again = replay(setting, source, how);
  if (!again || again->stopped) return std::nullopt;
  TimelineBuilder timeline(again->clocks());
  const WholeRun run = whole_run_of(*again);
  const Receipts receipts = records.receipts();
  ReportAccounts all = add_up(receipts, run.in_calls + run.without_model, &records, &timeline);
  all.with_computing = how.compute.kind != Compute::Mode::kNone;
  all.delays = delays_of(receipts, &records);
  const Counters counters = again->total();
  for (ReportAccount& row : all.functions) {
    const auto found = std::ranges::find(again->functions, row.function);
    if (found == again->functions.end()) continue;
    const Time native = counters.calls[static_cast<std::size_t>(found - again->functions.begin())].unmodelled;
    row.has_model = native + native <= row.parts.sum();
  }
  all.traffic = traffic_of(source);
  return all;
}

std::vector<ReportTraffic> traffic_of(const ReplaySource& source) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, ReportTraffic> pairs;
  for (int rank = 0; rank < source.ranks; ++rank) {
    const std::unique_ptr<recording::Reader> reader = source.read(rank);
    Communicators communicators(rank, source.ranks);
    for (recording::Event event; reader->next(event);) {
      if (event.kind == recording::EventKind::kCommunicator) communicators.add(reader->list(event.list));
      const auto add = [&](std::int64_t named, std::uint64_t bytes, bool sent = true) {
        const auto peer = communicators.world_rank(event.communicator, static_cast<std::int32_t>(named));
        if (!peer) return;
        const auto own = static_cast<std::uint64_t>(rank);
        ReportTraffic& pair = pairs[{sent ? own : *peer, sent ? *peer : own}];
        ++pair.messages;
        pair.bytes += bytes;
      };
      const bool accesses = event.kind == recording::EventKind::kAccess;
      if (event.kind == recording::EventKind::kSend || (accesses && event.bytes > 0))
        add(event.peer, event.bytes);
      if (accesses && event.extra > 0) add(event.peer, event.extra, false);
      if (event.kind != recording::EventKind::kNeighbours) continue;
      const auto blocks = reader->list(event.list);
      for (std::size_t i = 0; i + 1 < blocks.size(); i += 2)
        add(static_cast<std::int64_t>(blocks[i]), blocks[i + 1]);
    }
  }
  std::vector<ReportTraffic> all;
  for (auto& [ends, pair] : pairs) {
    std::tie(pair.source, pair.destination) = ends;
    all.push_back(pair);
  }
  return longest_of(std::move(all), kMostAccountedPairs, [](const ReportTraffic& row) { return row.bytes; });
}

std::string accounts_text(const ReportAccounts& accounts) {
  TimeParts sum;
  for (const ReportAccount& row : accounts.functions) sum += row.parts;
  const Time all = sum.sum();
  if (all <= Time()) return "MPI calls take no time.";
  struct Share {
    Time time;
    std::string text;
  };
  std::vector<Share> shares = {{sum.waiting(), "waiting for other ranks"},
                               {sum.at(TimeKind::kTransfer), "transfer"},
                               {sum.at(TimeKind::kSoftware), "software"},
                               {sum.at(TimeKind::kLinkWait), "waiting for shared links"},
                               {sum.at(TimeKind::kBusyHardware), "waiting for busy hardware"}};
  std::stable_sort(shares.begin(), shares.end(),
                   [](const Share& a, const Share& b) { return a.time > b.time; });
  std::vector<std::string> parts;
  for (const Share& share : shares) {
    if (share.time > Time()) parts.push_back(fmt::format("{} {}", percent_text(share.time, all), share.text));
  }
  const ReportAccount& most = accounts.functions.front();
  std::string text =
      fmt::format("Time in MPI calls{}: {}. {} has {} of it", accounts.with_computing ? " (in the run)" : "",
                  fmt::join(parts, ", "), printable(most.function), percent_text(most.parts.sum(), all));
  if (!accounts.waits.empty()) {
    const ReportWait& longest = accounts.waits.front();
    text += fmt::format("; rank {} waits the longest, {} for rank {}", longest.rank,
                        time_text(longest.waited), longest.peer);
  }
  text += '.';
  if (accounts.not_accounted > Time())
    text += fmt::format(" {} in calls is unaccounted for: the memory for calls is full.",
                        time_text(accounts.not_accounted));
  return text;
}

}  // namespace offramp
