// A log costs time per operation, so options() requests only the callbacks that are needed. Beyond kMostWaits
// the critical path is omitted: a path of the first waits only would be wrong.
#include "lib/answers/replay/replay_log.hpp"

#include <utility>

namespace offramp {

ReplayLog::ReplayLog(const ReplayOptions& options, std::vector<ReplayedRank>& ranks)
    : details_(options.details), observer_(options.observer), ranks_(ranks) {
  if (observer_ != nullptr) spans_ = observer_->spans();
  for (ReplayedRank& rank : ranks) {
    if (options.sizes) rank.sizes = std::make_unique<SizeTable>();
    if (details_) rank.units = std::make_unique<UnitTimes>();
  }
  if (details_) waits_.resize(ranks.size());
}

WorldOptions ReplayLog::options() {
  WorldOptions options;
  if (details_ || spans_ != nullptr) options.spans = this;
  if (details_ || observer_ != nullptr) options.log = this;
  if (observer_ != nullptr) options.packets = observer_->packets();
  return options;
}

std::optional<CriticalPath> ReplayLog::release_path() {
  if (!details_ || waits_in_all_ > kMostWaits) return std::nullopt;
  std::vector<RankWaits> all;
  for (std::size_t i = 0; i < ranks_.size(); ++i) all.push_back({std::move(waits_[i]), ranks_[i].clock});
  return critical_path(std::move(all));
}

void ReplayLog::record(const Span& span) {
  if (details_) ranks_[static_cast<std::size_t>(span.rank)].units->record(span);
  if (spans_ != nullptr) spans_->record(span);
}

void ReplayLog::select_thread(int rank, std::uint32_t thread) {
  if (observer_ != nullptr) observer_->select_thread(rank, thread);
}

void ReplayLog::used(int rank, std::uint64_t operation) {
  if (observer_ != nullptr) observer_->used(rank, operation);
}

void ReplayLog::began(std::uint64_t operation, const OperationFacts& facts) {
  if (observer_ != nullptr) observer_->began(operation, facts);
}

void ReplayLog::add_part(int rank, std::uint64_t message, std::uint64_t collective) {
  if (observer_ != nullptr) observer_->add_part(rank, message, collective);
}

void ReplayLog::host(int rank, std::uint64_t operation, std::string_view what, Time begin, Time end) {
  if (observer_ != nullptr) observer_->host(rank, operation, what, begin, end);
}

void ReplayLog::waited(int rank, const MessageWait& wait) {
  if (!details_ || ++waits_in_all_ > kMostWaits) return;
  waits_[static_cast<std::size_t>(rank)].push_back(wait);
}

void ReplayLog::carried(const Network& network, std::size_t link, Time begin, Time end, Bandwidth rate) {
  if (observer_ != nullptr) observer_->carried(network, link, begin, end, rate);
}

}  // namespace offramp
