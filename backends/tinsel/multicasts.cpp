// The root opens a multicast around the sends of its copies, so that issued() recognises them. The stream is
// simulated once on an idle machine. Delays by other traffic are added per board and accumulate along the
// tree, so a copy has all delays of its path. `held` is the delay of the root itself.
#include "backends/tinsel/multicasts.hpp"

#include <algorithm>
#include <utility>

namespace offramp::tinsel {

void Multicasts::open(std::shared_ptr<RootPlan> plan, std::uint64_t bytes, bool both_ends) {
  open_ = std::make_shared<Stream>();
  open_->plan = std::move(plan);
  open_->bytes = bytes;
  open_->both_ends = both_ends;
}

bool Multicasts::issued(const Transfer& transfer) {
  if (open_ == nullptr) return false;
  copies_[name_of(transfer)] = {open_, open_->issued++};
  return true;
}

bool Multicasts::depart(const Transfer& transfer, Passage& passage, const Resources& sender) {
  if (copies_.empty()) return false;
  const auto found = copies_.find(name_of(transfer));
  if (found == copies_.end()) return false;
  // Copied, since the entry may be erased.
  const Copy copy = found->second;
  if (!copy.stream->both_ends) copies_.erase(found);
  Stream& stream = *copy.stream;
  const Time at = passage.begin;
  if (stream.alone == nullptr) begin(stream, transfer, at, sender);
  const StreamResult::Destination& times = stream.alone->destinations[copy.index];
  const SharedUnits::Delay delay =
      stream.delays.empty() ? stream.worst : stream.delays[stream.plan->ways[copy.index]];
  passage.leaves = at;
  passage.latency = times.first + delay.first;
  // The last fragment does not arrive before the first.
  passage.left = at + later(later(times.last + delay.last, times.first + delay.first) - passage.latency, {});
  passage.complete = at + stream.alone->sent + stream.held;
  passage.failed = passage.failed || !stream.alone->ok || stream.plan->trap != Trap::kNone;
  device_.span(transfer.source, "tinsel.network", "fragments", at + passage.latency,
               passage.left + passage.latency, transfer.operation);
  if (copy.index + 1 == stream.plan->ranks.size())
    device_.span(transfer.source, "tinsel.threads", "multicast", at, passage.complete, transfer.operation);
  return true;
}

void Multicasts::begin(Stream& stream, const Transfer& transfer, Time at, const Resources& sender) {
  stream.alone = device_.multicast(*stream.plan, stream.bytes, at);
  WireCounters wire = stream.alone->counters.link;
  wire.payload_bytes = stream.bytes;
  wire.packets += stream.alone->sends;
  wire.wire_bytes += stream.alone->sends * kMaximumFlits * kFlitBytes;
  device_.count(wire);
  device_.capture_multicast(transfer.source, *stream.plan, stream.bytes, transfer.data, at);
  const Load load = shared_.load_of(stream.bytes, false);
  charge_sender(stream, load, at, sender);
  const Time own = stream.worst.last;
  stream.plan->hops.empty() ? charge_copies(stream, load, at, sender) : charge_tree(stream, load, at, sender);
  stream.held = load.fits_window ? own : stream.worst.last;
}

/// The root's threads send one fragment after the other, while credits return up the tree.
void Multicasts::charge_sender(Stream& stream, const Load& load, Time at, const Resources& sender) {
  const Time sent = stream.alone->sent;
  const std::uint64_t copies = stream.alone->sends / stream.alone->fragments;
  Load sends = load;
  sends.fragments *= copies;
  sends.flits *= copies;
  stream.worst = shared_.send(sender, stream.plan->root, sends, at, at + sent);
  stream.worst.add(stream.plan->credits.acquire(at, sent), at, sent);
}

/// One copy crosses each link of the tree. On each board the fetcher of the incoming link reads the key's
/// beats and makes one copy per record.
void Multicasts::charge_tree(Stream& stream, const Load& load, Time at, const Resources& sender) {
  const MachineSpec& machine = device_.configuration().machine;
  const RootPlan& plan = *stream.plan;
  const auto fragments = static_cast<std::int64_t>(load.fragments);
  const auto flits = static_cast<std::int64_t>(load.flits);
  Time last;
  for (const StreamResult::Destination& times : stream.alone->destinations) last = later(last, times.last);
  const Time span = shared_.span_of(load, {}, last);
  const Time words = machine.cycles(flits * kWordsPerFlit);
  SharedUnits::Delay port = stream.worst;
  port.add(shared_.leave(sender, at, load, words), at, later(span, words));
  stream.worst = port;
  for (const TreeHop& hop : plan.hops) {
    SharedUnits::Delay delay = port;
    Time there = at;
    std::size_t fetcher = static_cast<std::size_t>(kLinks) + plan.root.mailbox % kMailboxColumns;
    if (hop.before >= 0) {
      const TreeHop& before = plan.hops[static_cast<std::size_t>(hop.before)];
      const auto distance = machine.mesh.distance(plan.root.board, before.board);  // trees use shortest paths
      there += shared_.hop() * distance;
      delay = stream.delays[static_cast<std::size_t>(hop.before)];
      delay.add(shared_.pass(sender, SharedUnits::link(before.board, hop.over), there, load,
                             shared_.on_link(load), shared_.fragment_on_link()),
                there, span);
      there += shared_.hop();
      fetcher = static_cast<std::size_t>(opposite(hop.over));
    }
    const Time emission =
        machine.cycles(fragments * hop.beats + flits * machine.emit_flit_cycles * hop.records);
    delay.add(
        sender.occupy(SharedUnits::of_board(hop.board, SharedUnits::kFetcher + fetcher), there, emission),
        there, later(span, emission));
    const Time reading = machine.cycles(
        (fragments * hop.beats * machine.dram_cycles + kOutstandingBeats - 1) / kOutstandingBeats);
    delay.add(sender.occupy(SharedUnits::of_board(hop.board, SharedUnits::kDram + hop.ram), there, reading),
              there, later(span, reading));
    stream.delays.push_back(delay);
    stream.worst.first = later(stream.worst.first, delay.first);
    stream.worst.last = later(stream.worst.last, delay.last);
  }
}

/// One send per mailbox or per destination: the copies follow each other.
void Multicasts::charge_copies(Stream& stream, const Load& load, Time at, const Resources& sender) {
  const bool per_mailbox = device_.configuration().multicast == Multicast::kMailbox;
  const RootPlan& plan = *stream.plan;
  std::vector<ThreadLocation> targets = plan.places;
  if (per_mailbox) {
    for (ThreadLocation& place : targets) place.thread = 0;
    std::sort(targets.begin(), targets.end());
    targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
  }
  Time first = stream.alone->destinations.front().first;
  Time last;
  for (const StreamResult::Destination& times : stream.alone->destinations) {
    first = earlier(first, times.first);
    last = later(last, times.last);
  }
  for (const ThreadLocation& target : targets) {
    const SharedUnits::Delay delay =
        shared_.unicast(sender, plan.root, target, load, at, at + first, at + last);
    stream.worst.first = later(stream.worst.first, delay.first);
    stream.worst.last = later(stream.worst.last, delay.last);
  }
}

}  // namespace offramp::tinsel
