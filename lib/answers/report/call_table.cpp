// A site is bound by the kind of time that it has most of. Transfer is bound by the link's rate if its bytes
// take at least half of it at that rate, and by latency otherwise: the rest is what each message costs.
#include "lib/answers/report/call_table.hpp"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>

#include "lib/answers/report/answer.hpp"
#include "lib/base/text_format.hpp"

namespace offramp {
namespace {

std::string bound_of(const ReportSiteAccount& site, const ReportLane& lane) {
  const auto function = std::ranges::find(lane.accounts->functions, site.function, &ReportAccount::function);
  if (function != lane.accounts->functions.end() && !function->has_model)
    return "no model: lasts as natively";
  const auto* const most = std::ranges::max_element(
      kTimeKinds, {}, [&](const TimeKindName& kind) { return site.parts.at(kind.kind); });
  if (is_waiting(most->kind)) return "waiting for other ranks";
  switch (most->kind) {
    case TimeKind::kSoftware:
      return "host software";
    case TimeKind::kLinkWait:
      return "shared links";
    case TimeKind::kBusyHardware:
      return "busy hardware";
    default: {
      const double transfer = site.parts.at(TimeKind::kTransfer).seconds();
      const auto rate = static_cast<double>(lane.deployment.node_bits_per_second);
      return rate > 0 && static_cast<double>(site.bytes) * 8 / rate > transfer / 2 ? "link rate" : "latency";
    }
  }
}

/// True for "allreduce" and MPI_Allreduce or MPI_Iallreduce.
bool is_of(std::string_view operation, const std::string& function) {
  const auto same = [&](const std::string& name) { return strcasecmp(name.c_str(), function.c_str()) == 0; };
  return same(fmt::format("MPI_{}", operation)) || same(fmt::format("MPI_I{}", operation));
}

std::string offloaded_text(const ReportLane& hardware, const std::string& function) {
  const auto call = std::ranges::find(hardware.calls, function, &ReportCall::name);
  if (call == hardware.calls.end() || call->offloaded + call->declined == 0) return {};
  if (call->declined == 0) return "yes";
  const auto why = std::ranges::find_if(
      hardware.declines, [&](const ReportDecline& one) { return is_of(one.operation, function); });
  const auto all = static_cast<double>(call->offloaded + call->declined);
  const std::string part =
      call->offloaded == 0 ? std::string("no") : share_text(static_cast<double>(call->offloaded) / all);
  return why == hardware.declines.end() ? part : fmt::format("{}: {}", part, printable(why->reason));
}

const ReportSiteAccount* same_site(const ReportLane& lane, const ReportSiteAccount& site) {
  const auto found = std::ranges::find_if(lane.accounts->sites, [&](const ReportSiteAccount& one) {
    return one.function == site.function && one.site == site.site;
  });
  return found == lane.accounts->sites.end() ? nullptr : &*found;
}

/// By function, where no call has a place.
std::vector<ReportSiteAccount> sites_of(const ReportAccounts& accounts) {
  std::vector<ReportSiteAccount> sites = accounts.sites;
  if (!sites.empty()) return sites;
  for (const ReportAccount& one : accounts.functions) {
    ReportSiteAccount& site = sites.emplace_back();
    site.function = one.function;
    site.calls = one.calls;
    site.parts = one.parts;
  }
  return sites;
}

}  // namespace

std::vector<ReportCallRow> call_rows(const ReportLane& baseline, const ReportLane* hardware) {
  std::vector<ReportCallRow> rows;
  if (!baseline.accounts) return rows;
  Time all;
  for (const ReportAccount& one : baseline.accounts->functions) all += one.parts.sum();
  for (const ReportSiteAccount& site : sites_of(*baseline.accounts)) {
    const Time time = site.parts.sum();
    if (time <= Time()) continue;
    const std::string& place = site.place.empty() ? site.site : site.place;
    const double share = time.seconds() / all.seconds();
    ReportCallRow row{site.function, place, site.calls, time, share, {}, bound_of(site, baseline), {}};
    const ReportSiteAccount* const other =
        hardware != nullptr && hardware->accounts ? same_site(*hardware, site) : nullptr;
    if (other != nullptr) row.hardware = other->parts.sum();
    if (hardware != nullptr) row.offloaded = offloaded_text(*hardware, site.function);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<ReportCallRow> call_rows(const RunReport& report) {
  const auto base =
      std::ranges::find_if(report.lanes, [](const ReportLane& lane) { return lane.accounts.has_value(); });
  if (base == report.lanes.end()) return {};
  const ReportLane* best = nullptr;
  for (const ReportLane& lane : report.lanes) {
    const bool is_better = best == nullptr || lane.end() < best->end();
    if (&lane != &*base && lane.counts() && is_better) best = &lane;
  }
  return call_rows(*base, best);
}

std::string longest_call_text(const std::vector<ReportCallRow>& rows) {
  if (rows.empty()) return {};
  const ReportCallRow& most = rows.front();
  return fmt::format("{}{} has {} of MPI time: {}", most.function,
                     most.place.empty() ? std::string() : fmt::format(" ({})", most.place),
                     share_text(most.share), most.bound_by);
}

}  // namespace offramp
