// A wait is an interval on the clock of all ranks. charge() walks through what the awaited rank does in it,
// and calls itself for the intervals in which that rank waits for another one.
//
// Chains end after kLongestChain ranks: what waits there is charged to the call itself. Rows are made once
// for each place and rank and cut to the limit of a report at the end.
#include "lib/answers/report/delays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "lib/base/format.hpp"
#include "lib/base/text_format.hpp"
#include "lib/programs/recording/forwarding_reader.hpp"

namespace offramp {
namespace {

constexpr int kLongestChain = 64;

class DelayAnalysis {
 public:
  explicit DelayAnalysis(const Receipts& receipts) : ranks_(receipts.ranks), book_(receipts) {
    lines_.resize(ranks_.size());
  }

  void charge_waits_of(int rank) {
    for (std::size_t i = 0; i < calls_of(rank).size(); ++i) {
      // A copy: charge() replaces the lines that are kept.
      for (const ReceiptLine& line : std::vector<ReceiptLine>(lines(rank, i))) {
        if (is_wait_for_other(line, rank)) charge(line.rank, line.begin, line.end, 1);
      }
    }
  }

  struct Cause {
    std::map<int, Time> by_rank;
    Time sum;
  };
  /// By what is charged: computing or not, function, number of the call site.
  [[nodiscard]] const auto& causes() const { return causes_; }

 private:
  [[nodiscard]] const std::vector<Receipts::Call>& calls_of(int rank) const {
    return ranks_[static_cast<std::size_t>(rank)].calls;
  }
  [[nodiscard]] bool is_wait_for_other(const ReceiptLine& line, int rank) const {
    return is_waiting(line.kind) && line.rank >= 0 && line.rank != rank &&
           static_cast<std::size_t>(line.rank) < ranks_.size();
  }
  /// The lines of a call. Those of each rank's last call are kept.
  const std::vector<ReceiptLine>& lines(int rank, std::size_t call) {
    auto& [number, kept] = lines_[static_cast<std::size_t>(rank)];
    if (number != call + 1) {
      kept = book_.lines(rank, calls_of(rank)[call]);
      number = call + 1;
    }
    return kept;
  }
  void add(bool computing, const Receipts::Call* call, int rank, Time time) {
    Cause& cause = causes_[{computing, call != nullptr ? call->function : std::string(),
                            call != nullptr ? call->site : 0}];
    cause.by_rank[rank] += time;
    cause.sum += time;
  }

  void charge(int rank, Time begin, Time end, int chain) {
    const std::vector<Receipts::Call>& calls = calls_of(rank);
    auto next = std::partition_point(calls.begin(), calls.end(),
                                     [&](const Receipts::Call& call) { return call.end <= begin; });
    for (; begin < end; ++next) {
      if (next == calls.end()) return add(true, nullptr, rank, end - begin);
      if (next->begin > begin) {
        const Time until = earlier(end, next->begin);
        add(true, &*next, rank, until - begin);
        begin = until;
      }
      if (begin >= end) return;
      const std::size_t number = static_cast<std::size_t>(next - calls.begin());
      for (const ReceiptLine& line : std::vector<ReceiptLine>(lines(rank, number))) {
        const Time from = later(begin, line.begin);
        const Time until = earlier(end, line.end);
        if (from >= until) continue;
        if (is_wait_for_other(line, rank) && chain < kLongestChain) {
          charge(line.rank, from, until, chain + 1);
        } else {
          add(false, &*next, rank, until - from);
        }
      }
      begin = later(begin, next->end);
    }
  }

  const std::vector<Receipts::Rank>& ranks_;
  ReceiptBook book_;
  std::vector<std::pair<std::size_t, std::vector<ReceiptLine>>> lines_;  // by rank: call + 1, and its lines
  std::map<std::tuple<bool, std::string, std::uint32_t>, Cause> causes_;
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
  const ReportDelay delay_;
  bool is_shorter_ = false;
};

}  // namespace

std::vector<ReportDelay> delays_of(const Receipts& receipts, const ReplayRecords* records) {
  DelayAnalysis analysis(receipts);
  for (std::size_t rank = 0; rank < receipts.ranks.size(); ++rank)
    analysis.charge_waits_of(static_cast<int>(rank));
  std::vector<ReportDelay> all;
  for (const auto& [what, cause] : analysis.causes()) {
    const auto& [computing, function, site] = what;
    const auto most = std::ranges::max_element(cause.by_rank, {}, [](const auto& one) { return one.second; });
    all.push_back({computing,
                   function,
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

ReplaySource without_delay(const ReplaySource& source, const ReportDelay& delay) {
  ReplaySource shorter = source;
  shorter.read = [&source, delay](int rank) {
    return std::make_unique<ShorterReader>(source.read(rank), delay);
  };
  return shorter;
}

std::string delays_text(const ReportAccounts& accounts) {
  if (accounts.delays.empty()) return {};
  const ReportDelay& most = accounts.delays.front();
  Time all;
  for (const ReportDelay& one : accounts.delays) all += one.caused;
  const std::string& place = most.place.empty() ? most.site : most.place;
  std::string text = fmt::format(
      "{} of the waiting is for {}{}{}", percent_text(most.caused, all),
      most.computing ? most.function.empty() ? "the computing at the end" : "the computing before "
                     : "time in ",
      printable(most.function), place.empty() ? std::string() : fmt::format(" ({})", printable(place)));
  text += fmt::format(", {} of it on rank {}", percent_text(most.of_rank, most.caused), most.rank);
  if (most.saves && accounts.run > Time())
    text += fmt::format("; {:g} % less of it makes the run {} shorter", 100 * kShorterDelay,
                        percent_text(*most.saves, accounts.run));
  return text;
}

}  // namespace offramp
