// Slices that are shorter than a limit are joined with their neighbours until the joined one reaches the
// limit. The limit doubles until the slices of a rank are few enough, so it stays as small as it can.
#include "lib/answers/report/report_timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "lib/base/registry/registry.hpp"

namespace offramp {
namespace {

std::string base36(std::uint64_t number) {
  std::string text;
  do {
    text += "0123456789abcdefghijklmnopqrstuvwxyz"[number % 36];
    number /= 36;
  } while (number > 0);
  return {text.rbegin(), text.rend()};
}

}  // namespace

TimelineBuilder::TimelineBuilder(std::vector<Time> ends) : ends_(std::move(ends)) {
  for (const Time end : ends_) timeline_.end = later(timeline_.end, end);
  timeline_.drawn_ranks = std::min(ends_.size(), kMostRanks);
}

void TimelineBuilder::add(const Slice& slice) {
  if (slice.length <= Time()) return;
  at_ += slice.length;
  slices_.push_back(slice);
}

void TimelineBuilder::call(const std::string& function, std::uint64_t bytes,
                           const std::vector<ReceiptLine>& stages) {
  if (!is_drawn() || stages.empty()) return;
  const auto [known, is_new] = functions_.try_emplace(function, timeline_.functions.size());
  if (is_new) timeline_.functions.push_back(function);
  add({stages.front().begin - at_, kComputing});
  for (const ReceiptLine& stage : stages) {
    if (stage.end <= at_) continue;
    const bool goes_on = !slices_.empty() && &stage != &stages.front() &&
                         slices_.back().kind == static_cast<std::size_t>(stage.kind);
    const Time length = stage.end - at_;
    if (goes_on) {
      slices_.back().length += length;
      at_ += length;
    } else {
      add({length, static_cast<std::size_t>(stage.kind), known->second, bytes});
    }
  }
}

std::vector<TimelineBuilder::Slice> TimelineBuilder::joined(const std::vector<Slice>& slices, Time shortest) {
  std::vector<Slice> all;
  std::array<Time, kComputing + 1> kinds{};
  Time longest;  // the part that gives the joined slice its function and bytes
  for (const Slice& slice : slices) {
    const bool joins = !all.empty() && all.back().length < shortest && slice.length < shortest;
    if (!joins) {
      all.push_back(slice);
      kinds = {};
      longest = slice.kind == kComputing ? Time() : slice.length;
      kinds.at(slice.kind) = slice.length;
      continue;
    }
    Slice& last = all.back();
    last.length += slice.length;
    last.joined += slice.joined;
    kinds.at(slice.kind) += slice.length;
    last.kind = static_cast<std::size_t>(std::max_element(kinds.begin(), kinds.end()) - kinds.begin());
    if (slice.kind == kComputing || slice.length <= longest) continue;
    longest = slice.length;
    last.function = slice.function;
    last.bytes = slice.bytes;
  }
  return all;
}

void TimelineBuilder::end_rank(bool is_whole) {
  if (!is_drawn()) return;
  if (is_whole) {
    add({ends_[rank_] - at_, kComputing});
  } else {
    timeline_.is_whole = false;
  }
  const std::size_t most = std::min(kMostSlicesOfRank, kMostSlices / timeline_.drawn_ranks);
  timeline_.slices += slices_.size();
  std::vector<Slice> drawn = slices_;
  for (Time limit = Time::ps(std::max<std::int64_t>(1000, timeline_.end.count() >> 24)); drawn.size() > most;
       limit += limit) {
    drawn = joined(slices_, limit);
    timeline_.shortest = later(timeline_.shortest, limit);
  }
  timeline_.drawn += drawn.size();
  std::string text;
  Time at;
  std::uint64_t ns = 0;  // the end of the text so far; rounding errors do not add up
  for (const Slice& slice : drawn) {
    at += slice.length;
    const auto end = static_cast<std::uint64_t>(at.count() / 1000);
    text += fmt::format("{}{}{}", text.empty() ? "" : " ", slice.kind, base36(end - ns));
    ns = end;
    if (slice.kind != kComputing || slice.joined > 1) {
      text += fmt::format(",{}", slice.function);
      if (slice.bytes > 0 || slice.joined > 1)
        text += fmt::format(",{}", slice.bytes > 0 ? base36(slice.bytes) : "");
      if (slice.joined > 1) text += fmt::format(",{}", base36(slice.joined));
    }
  }
  timeline_.ranks.push_back(std::move(text));
  slices_.clear();
  at_ = {};
  ++rank_;
}

ReportTimeline TimelineBuilder::release() {
  return std::move(timeline_);
}

void keep_drawn_timelines(RunReport& report) {
  ReportLane* base = nullptr;
  ReportLane* best = nullptr;
  for (ReportLane& lane : report.lanes) {
    if (base == nullptr || (is_baseline(lane.backend) && !is_baseline(base->backend))) base = &lane;
  }
  for (ReportLane& lane : report.lanes) {
    if (&lane == base || !lane.accounts || !lane.accounts->timeline || !lane.counts()) continue;
    if (best == nullptr || lane.end() < best->end()) best = &lane;
  }
  for (ReportLane& lane : report.lanes) {
    if (&lane != base && &lane != best && lane.accounts) lane.accounts->timeline.reset();
  }
}

}  // namespace offramp
