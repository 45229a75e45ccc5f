// A wait is an interval on the clock of all ranks. charge() walks through what the awaited rank does in it,
// and calls itself for the intervals in which that rank waits for another one.
//
// Chains end after kLongestChain ranks: what waits there is charged to the call itself. Rows are made once
// for each place and rank and cut to the limit of a report at the end.
#include "lib/answers/report/delays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "lib/answers/replay/free_communication.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text_format.hpp"
#include "lib/programs/recording/forwarding_reader.hpp"

namespace offramp {
namespace {

constexpr std::size_t kReplayedDelays = 2;
constexpr int kLongestChain = 64;
constexpr std::uint64_t kMostSteps = 20'000'000;  // along chains, of all waits

class DelayAnalysis {
 public:
  explicit DelayAnalysis(const Receipts& receipts) : ranks_(receipts.ranks), pieces_(receipts.ranks.size()) {
    const ReceiptBook book(receipts);
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      for (const Receipts::Call& call : ranks_[rank].calls) {
        for (const ReceiptLine& line : book.lines(static_cast<int>(rank), call))
          add_piece(static_cast<int>(rank), line, call);
      }
    }
  }

  void charge_waits_of(std::size_t rank) {
    for (const Piece& piece : pieces_[rank]) {
      if (piece.awaited >= 0) charge(piece, piece.begin, piece.end, 1);
    }
  }

  struct Cause {
    std::map<int, Time> by_rank;
    Time sum;
  };
  /// By what is charged: computing or not, function, number of the call site.
  [[nodiscard]] const auto& causes() const { return causes_; }

 private:
  /// A part of a call, in the order of time.
  struct Piece {
    Time begin;
    Time end;
    const Receipts::Call* call;
    int awaited;  // the rank that it waits for; -1: none
  };

  void add_piece(int rank, const ReceiptLine& line, const Receipts::Call& call) {
    const bool waits = is_waiting(line.kind) && line.rank >= 0 && line.rank != rank &&
                       static_cast<std::size_t>(line.rank) < ranks_.size();
    const int awaited = waits ? line.rank : -1;
    std::vector<Piece>& all = pieces_[static_cast<std::size_t>(rank)];
    if (!all.empty() && all.back().call == &call && all.back().awaited == awaited) {
      all.back().end = line.end;
    } else if (line.end > line.begin) {
      all.push_back({line.begin, line.end, &call, awaited});
    }
  }

  void add(bool computing, const Receipts::Call* call, int rank, Time time) {
    Cause& cause =
        causes_[{computing, call != nullptr ? std::string_view(call->function) : std::string_view(),
                 call != nullptr ? call->site : 0}];
    cause.by_rank[rank] += time;
    cause.sum += time;
  }

  /// Charges a part of a wait to what the awaited rank does in it.
  void charge(const Piece& wait, Time begin, Time end, int chain) {
    const int rank = wait.awaited;
    const std::vector<Piece>& all = pieces_[static_cast<std::size_t>(rank)];
    auto next =
        std::partition_point(all.begin(), all.end(), [&](const Piece& one) { return one.end <= begin; });
    for (; begin < end; ++next) {
      if (next == all.end()) return add(true, nullptr, rank, end - begin);
      if (next->begin > begin) add(true, next->call, rank, earlier(end, next->begin) - begin);
      begin = later(begin, next->begin);
      const Time until = earlier(end, next->end);
      if (begin >= until) continue;
      if (next->awaited >= 0 && chain < kLongestChain && ++steps_ < kMostSteps) {
        charge(*next, begin, until, chain + 1);
      } else {
        add(false, next->call, rank, until - begin);
      }
      begin = until;
    }
  }

  const std::vector<Receipts::Rank>& ranks_;
  std::vector<std::vector<Piece>> pieces_;  // by rank
  std::uint64_t steps_ = 0;
  std::map<std::tuple<bool, std::string_view, std::uint32_t>, Cause> causes_;
};

/// Computes for a shorter time before the calls of one place.
class ShorterReader final : public recording::ForwardingReader {
 public:
  ShorterReader(std::unique_ptr<Reader> inner, const ReportDelay& delay)
      : ForwardingReader(std::move(inner)), delay_(delay) {}

  bool next(recording::Event& event) override {
    const bool is_there = inner().next(event);
    is_shorter_ =
        is_there && inner().call(event.call) == delay_.function && inner().site(event.site) == delay_.site;
    return is_there;
  }
  [[nodiscard]] recording::Times times() const override {
    recording::Times times = inner().times();
    if (!is_shorter_) return times;
    for (std::uint64_t* const time : {&times.computing, &times.blocked})
      *time -= static_cast<std::uint64_t>(static_cast<double>(*time) * kShorterDelay);
    return times;
  }

 private:
  const ReportDelay& delay_;
  bool is_shorter_ = false;
};

}  // namespace

std::vector<ReportDelay> delays_of(const Receipts& receipts, const ReplayRecords* records) {
  DelayAnalysis analysis(receipts);
  for (std::size_t rank = 0; rank < receipts.ranks.size(); ++rank) analysis.charge_waits_of(rank);
  std::vector<ReportDelay> all;
  for (const auto& [what, cause] : analysis.causes()) {
    const auto& [computing, function, site] = what;
    const auto most = std::ranges::max_element(cause.by_rank, {}, [](const auto& one) { return one.second; });
    all.push_back({computing,
                   std::string(function),
                   site > 0 && records != nullptr ? records->sites()[site - 1] : std::string(),
                   {},
                   cause.sum,
                   static_cast<std::uint64_t>(most->first),
                   most->second,
                   {}});
  }
  std::ranges::stable_sort(all, std::ranges::greater(), &ReportDelay::caused);
  all.resize(std::min(all.size(), kMostDelays));
  return all;
}

void find_savings(ReportAccounts& accounts, const WorldSetting& setting, const ReplaySource& source,
                  const ReplayOptions& options) {
  if (!accounts.with_computing || !accounts.timeline || options.compute.kind == Compute::Mode::kFactor)
    return;
  for (std::size_t i = 0; i < std::min(accounts.delays.size(), kReplayedDelays); ++i) {
    ReportDelay& delay = accounts.delays[i];
    if (!delay.computing || delay.function.empty()) continue;
    ReplaySource shorter = source;
    shorter.read = [&](int rank) { return std::make_unique<ShorterReader>(source.read(rank), delay); };
    const auto run = replay_with_computing(setting, shorter, options);
    if (run) delay.saves = later(accounts.timeline->end - run->modelled_time, {});
  }
}

std::string delays_text(const ReportAccounts& accounts) {
  if (accounts.delays.empty()) return {};
  const ReportDelay& most = accounts.delays.front();
  Time all;
  for (const ReportDelay& one : accounts.delays) all += one.caused;
  const std::string& place = most.place.empty() ? most.site : most.place;
  std::string text = fmt::format("{} of the waiting is for {}{}{}", percent_text(most.caused, all),
                                 most.computing ? most.function.empty() ? "the time outside MPI at the end"
                                                                        : "the time outside MPI before "
                                                : "time in ",
                                 printable(most.function),
                                 place.empty() ? std::string() : fmt::format(" ({})", printable(place)));
  text += fmt::format(", {} of it on rank {}", percent_text(most.of_rank, most.caused), most.rank);
  if (most.saves && accounts.timeline)
    text += fmt::format("; {:g} % less of it makes the run {} shorter", 100 * kShorterDelay,
                        percent_text(*most.saves, accounts.timeline->end));
  return text;
}

}  // namespace offramp
