// The audit knows only requests and grants, not how times were computed. For "never idle while a request
// waits" it keeps idle gaps that end later than the current event: only those can contradict a later request.
// Resources that messages reserve ahead (reserved_ahead) are exempt from that rule. At most kMostNoted
// violations are kept.
#include "simulators/world/audit.hpp"

#include <fmt/core.h>

#include <utility>

#include "offramp/kernel/immortal.hpp"

namespace offramp::world {

std::function<void(const std::string&)>& Audit::of_all() {
  static auto& report = immortal(std::function<void(const std::string&)>());
  return report;
}

void Audit::note(std::string violation) {
  if (violations_.size() < kMostNoted) violations_.push_back(std::move(violation));
}

void Audit::occupied(const Resource& resource, const ResourceDescription& description, Time asked,
                     const Arbiter::Grant& grant, std::uint64_t bytes) {
  const auto [entry, first_use] = uses_.try_emplace(&resource);
  Use& use = entry->second;
  if (first_use) use.first = grant.begin;
  if (grant.begin < asked)
    note(fmt::format("{} begins at {} ps with work that arrives at {} ps", description.name,
                     grant.begin.count(), asked.count()));
  if (grant.begin < use.end)
    note(fmt::format("{} is used twice at a time: from {} ps, and until {} ps", description.name,
                     grant.begin.count(), use.end.count()));
  std::erase_if(use.gaps, [this](const Gap& gap) { return gap.end <= now_; });
  if (grant.begin > asked && !description.reserved_ahead) waited(description, use, asked, grant.begin);
  if (grant.begin > later(use.end, now_)) use.gaps.push_back({use.end, grant.begin});
  use.end = later(use.end, grant.end);
  use.bytes += bytes;
  if (bytes == 0 || description.bits_per_second == 0) return;
  const Bandwidth rate = Bandwidth::bits_per_second(description.bits_per_second);
  if (rate.bytes(static_cast<std::int64_t>(use.bytes)) > use.end - use.first)
    note(fmt::format("{} moves {} bytes in {} ps, above its rate", description.name, use.bytes,
                     (use.end - use.first).count()));
}

/// Reports a request that was available from `asked` on but had to queue behind an earlier reservation
/// although the resource was idle.
void Audit::waited(const ResourceDescription& description, const Use& use, Time asked, Time served) {
  for (const Gap& gap : use.gaps) {
    const Time from = later(gap.begin, asked);
    const Time idle = earlier(gap.end, served) - from;
    if (idle <= Time()) continue;
    note(fmt::format("{} is idle from {} ps on for {} ps, while something waits from {} to {} ps",
                     description.name, from.count(), idle.count(), asked.count(), served.count()));
    return;
  }
}

void Audit::event(Time at) {
  if (at < now_) note(fmt::format("an event at {} ps comes after one at {} ps", at.count(), now_.count()));
  now_ = at;
}

void Audit::message(const Transfer& transfer, const Passage& p, Time posted) {
  const auto in_order = [&](const char* what, Time before, Time after) {
    if (after < before)
      note(fmt::format("message {} of {} bytes from {} to {}: {} at {} ps, not before {} ps", transfer.number,
                       transfer.bytes, transfer.source, transfer.destination, what, after.count(),
                       before.count()));
  };
  in_order("the call returns", p.issued, p.host_free);
  in_order("the device begins", p.issued, p.begin);
  if (p.waits_for_answer()) {
    in_order("the request arrives", p.begin, p.requested);
    in_order("the request is granted", p.requested, p.granted);
    if (p.protocol == Protocol::kRendezvous) in_order("the request is granted", posted, p.granted);
    in_order("the answer arrives", p.granted, p.answered);
    in_order("the data leaves", p.answered, p.leaves);
  }
  in_order("the data leaves", p.begin, p.leaves);
  in_order("the last byte leaves", p.leaves, p.left);
  in_order("the data arrives", p.leaves + p.latency, p.first);
  in_order("the last byte arrives", p.left + p.latency, p.last);
  in_order("the data is stored", p.last, p.stored);
}

}  // namespace offramp::world
