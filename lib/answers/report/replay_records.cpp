// Three recorders per rank (trace, receipts, packets), and the timeline of all, behind the one
// ReplayObserver. A full recorder counts what it drops, for dropped() and notes().
#include "lib/answers/report/replay_records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "lib/base/output_file.hpp"
#include "offramp/kernel/operation_id.hpp"

namespace offramp {
namespace {

template <typename T>
T& at_rank(std::vector<T>& by_rank, int rank) {
  return by_rank[static_cast<std::size_t>(rank)];
}

}  // namespace

ReplayRecords::ReplayRecords(int ranks, const Wanted& wanted) : wanted_(wanted) {
  constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
  if (wanted.accounts) wanted_.receipts = {1, kLast};
  wants_all_ = wanted_.receipts.first == 1 && wanted_.receipts.last == kLast;
  const auto count = static_cast<std::size_t>(ranks);
  for (int rank = 0; wanted.trace && rank < ranks; ++rank) traces_.emplace_back(rank);
  if (wanted.trace) about_.resize(count);
  if (wanted_.receipts.any()) receipts_.assign(count, ReceiptRecorder(wanted_.receipts));
  if (wanted.capture) captures_.resize(count);
  if (wanted.timeline) timeline_.emplace(ranks);
}

// --- calls ---

void ReplayRecords::enter(int rank) {
  if (!about_.empty()) at_rank(about_, rank) = 0;
  if (!receipts_.empty()) at_rank(receipts_, rank).enter();
}

/// The numbers of functions are small and without holes.
const char* ReplayRecords::name_of(std::uint16_t function, std::string_view name) {
  if (function >= names_.size()) names_.resize(std::size_t{function} + 1);
  if (names_[function].empty()) names_[function] = name;
  return names_[function].c_str();
}

std::uint32_t ReplayRecords::number_of_site(std::string_view site) {
  if (site.empty() || !wanted_.accounts) return 0;
  const auto [known, is_new] = site_numbers_.try_emplace(std::string(site), 0);
  if (is_new) {
    sites_.emplace_back(site);
    known->second = static_cast<std::uint32_t>(sites_.size());
  }
  return known->second;
}

void ReplayRecords::leave(int rank, std::uint16_t function, std::string_view name, std::string_view site,
                          Time begin, Time end) {
  const char* const known = name_of(function, name);
  if (!traces_.empty() && end > begin)
    store(rank, {kTraceCalls, known, begin, end, at_rank(about_, rank), rank});
  if (receipts_.empty()) return;
  ReceiptRecorder& own = at_rank(receipts_, rank);
  // A call whose stages may be incomplete has no account.
  const bool is_whole = !wanted_.accounts || (accounted_ < kMostAccounted && own.dropped() == 0);
  is_whole ? own.leave(known, number_of_site(site), begin, end) : own.leave();
}

void ReplayRecords::phase(int rank, const ReplayPhase* phase) {
  if (receipts_.empty()) return;
  if (phase == nullptr) return at_rank(receipts_, rank).phase(0);
  const Phase named{phase->name, phase->level};
  auto found = std::find(phases_.begin(), phases_.end(), named);
  if (found == phases_.end()) found = phases_.insert(found, named);
  at_rank(receipts_, rank).phase(static_cast<std::uint32_t>(found - phases_.begin()) + 1);
}

// --- operations ---

void ReplayRecords::select_thread(int rank, std::uint32_t thread) {
  if (!about_.empty()) at_rank(about_, rank) = 0;
  if (!receipts_.empty()) at_rank(receipts_, rank).select_thread(thread);
}

void ReplayRecords::used(int rank, std::uint64_t operation) {
  if (!about_.empty() && at_rank(about_, rank) == 0) at_rank(about_, rank) = operation;
  if (receipts_.empty()) return;
  at_rank(receipts_, rank).used(operation);
  if (!wants_all_ && at_rank(receipts_, rank).is_wanted()) operations_.insert(operation);
}

void ReplayRecords::began(std::uint64_t operation, const OperationFacts& facts) {
  if ((!traces_.empty() || wanted_.accounts) && facts_.size() < kMostSpans) facts_.emplace(operation, facts);
}

void ReplayRecords::add_part(int rank, std::uint64_t message, std::uint64_t collective) {
  if (receipts_.empty() || (!is_wanted(message) && !is_wanted(collective))) return;
  at_rank(receipts_, rank).store_part(message, collective);
  if (!wants_all_) operations_.insert({message, collective});
}

void ReplayRecords::host(int rank, std::uint64_t operation, std::string_view what, Time begin, Time end) {
  if (!receipts_.empty() && is_wanted(operation))
    store_receipt(rank, {kHostUnit, what, begin, end, operation, rank});
}

void ReplayRecords::carried(const Network& network, std::size_t link, Time begin, Time end, Bandwidth rate) {
  if (wanted_.trace) links_.carried(network, link, begin, end, rate);
}

void ReplayRecords::record(const Span& span) {
  if (!traces_.empty()) store(span.rank, span);
  if (!receipts_.empty() && is_wanted(span.operation)) store_receipt(span.rank, span);
}

void ReplayRecords::store_receipt(int rank, const Span& span) {
  if (!wanted_.accounts || ++accounted_ < kMostAccounted) at_rank(receipts_, rank).store(span);
}

void ReplayRecords::store(int rank, const Span& span) {
  if (++spans_ > kMostSpans) {
    ++too_many_;
  } else {
    at_rank(traces_, rank).record(span);
  }
}

void ReplayRecords::record(const Packet& packet) {
  at_rank(captures_, packet.source).record(packet);
}

// --- files ---

std::string ReplayRecords::write_trace(const std::string& path) const {
  Result<TraceFile> file = TraceFile::create(path);
  if (!file) return file.error();
  TracePlace place;
  write_trace(*file, place);
  return file->finish();
}

void ReplayRecords::write_trace(TraceFile& file, TracePlace& place) const {
  for (const TraceRecorder& trace : traces_) file.add(trace_events(trace, facts_, place));
  place.processes += static_cast<int>(traces_.size());
  const std::string counters = links_.trace_events(place.processes, place.label + "network");
  if (!counters.empty()) file.add(counters);
  ++place.processes;
}

std::string ReplayRecords::write_captures(const std::string& path) const {
  const Naming naming = naming_of_part(path);
  for (std::size_t rank = 0; rank < captures_.size(); ++rank) {
    const std::string own = capture_path(path, static_cast<int>(rank));
    const std::string problem = write_output(own, captures_[rank].pcap(), naming).error();
    if (!problem.empty()) return fmt::format("{}: {}", own, problem);
  }
  return {};
}

const Timeline* ReplayRecords::timeline() {
  if (!timeline_) return nullptr;
  timeline_->close();
  return &*timeline_;
}

Receipts ReplayRecords::receipts() const {
  Receipts all;
  for (const ReceiptRecorder& rank : receipts_) all.ranks.push_back(rank.entry());
  return all;
}

std::string ReplayRecords::receipts_json() const {
  std::string text = "[\n";
  for (std::size_t rank = 0; rank < receipts_.size(); ++rank) {
    if (rank > 0) text += ",\n";
    text += receipts_[rank].json(static_cast<int>(rank));
  }
  return text + "]";
}

std::vector<std::string> ReplayRecords::dropped() const {
  std::vector<std::string> lines;
  const auto tell = [&lines](const auto& by_rank, const char* what) {
    for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
      const std::uint64_t count = by_rank[rank].dropped();
      if (count > 0) lines.push_back(fmt::format("rank {}: {}; {} entries were dropped", rank, what, count));
    }
  };
  tell(traces_, "the trace is full");
  tell(receipts_, "the receipts are full");
  tell(captures_, "the capture is full");
  if (links_.dropped() > 0)
    lines.push_back(fmt::format("the loads of links are full; {} entries were dropped", links_.dropped()));
  if (timeline_ && timeline_->dropped() > 0)
    lines.push_back(fmt::format("the timeline is full; {} calls were dropped", timeline_->dropped()));
  if (too_many_ > 0) lines.push_back(fmt::format("the trace is full; {} entries were dropped", too_many_));
  return lines;
}

std::vector<std::string> ReplayRecords::notes() const {
  std::vector<std::string> lines = dropped();
  const bool silent = std::all_of(captures_.begin(), captures_.end(),
                                  [](const CaptureRecorder& capture) { return capture.empty(); });
  if (wanted_.capture && silent)
    lines.emplace_back(
        "the capture is empty: this hardware's packets are not modelled one by one, or it sent none");
  return lines;
}

}  // namespace offramp
