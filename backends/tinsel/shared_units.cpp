// Stages of one message overlap. A unit therefore delays a message by its grant less `span`, the time that
// the message needs on this part of the path anyway. Units in parallel delay it by their maximum
// (Delay::add()). On an idle machine all delays are 0, and the planned times apply.
#include "backends/tinsel/shared_units.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string>

#include "offramp/kernel/immortal.hpp"

namespace offramp::tinsel {
namespace {

constexpr int kFullWords = kMaximumFlits * kWordsPerFlit;

std::string name_of(int x, int y, std::size_t unit) {
  constexpr std::array kDirections = {"N", "S", "E", "W"};
  const std::string where = fmt::format("tinsel.board ({}, {}) ", x, y);
  if (unit < SharedUnits::kFetcher)
    return fmt::format("{}link {}{}", where, kDirections[unit / 2], unit % 2 == 0 ? "" : ", quick");
  if (unit < SharedUnits::kDram) return fmt::format("{}fetcher {}", where, unit - SharedUnits::kFetcher);
  if (unit < SharedUnits::kCaches) return fmt::format("{}dram {}", where, unit - SharedUnits::kDram);
  return where + "caches";
}

/// Names of all units of all possible boards; resources need names that are never destroyed.
const std::vector<std::string>& names() {
  static const auto& all = immortal([] {
    std::vector<std::string> list;
    for (int y = 0; y < kMaximumRows; ++y) {
      for (int x = 0; x < kMaximumColumns; ++x) {
        for (std::size_t unit = 0; unit < SharedUnits::kOfBoard; ++unit) list.push_back(name_of(x, y, unit));
      }
    }
    return list;
  }());
  return all;
}

/// Instructions per full fragment.
std::int64_t instructions_for(const SoftwareSpec& software, int handling) {
  return handling + std::int64_t{software.copy_word} * kFullWords;
}

}  // namespace

SharedUnits::SharedUnits(const Configuration& configuration)
    : configuration_(configuration),
      flit_(configuration.machine.link_flit()),
      hop_(configuration.machine.hop_latency() +
           configuration.machine.cycles(configuration.machine.bypass_cycles)) {
  const SoftwareSpec& software = configuration.software;
  const std::int64_t write = instructions_for(software, software.fragment_send);
  const std::int64_t read = instructions_for(software, software.fragment_receive);
  writing_ = configuration.machine.cycles(write * software.pipeline);
  reading_ = configuration.machine.cycles(read * software.pipeline);
  sending_ = configuration.work(static_cast<std::uint64_t>(write));
  taking_up_ = configuration.work(static_cast<std::uint64_t>(read));
  const int in_mailbox = configuration.layout.per_mailbox;
  descriptions_ = {{"tinsel.sender", Scope::kRank},
                   {"tinsel.sender, quick", Scope::kRank},
                   {"tinsel.threads", Scope::kRank},
                   {"tinsel.receiver", Scope::kRank},
                   {"tinsel.receiver, quick", Scope::kRank},
                   // Reserved on the arrival of a message, for the time at which its envelope has been read.
                   {.name = "tinsel.matching", .scope = Scope::kRank, .reserved_ahead = true},
                   {"tinsel.mailbox port", Scope::kGroup, Occupation::kForAWhile, 0, in_mailbox},
                   {"tinsel.mailbox port, quick", Scope::kGroup, Occupation::kForAWhile, 0, in_mailbox},
                   {"tinsel.mailbox port, sending", Scope::kGroup, Occupation::kForAWhile, 0, in_mailbox}};
  const Mesh& mesh = configuration.machine.mesh;
  for (int board = 0; board < mesh.boards(); ++board) {
    const auto first = static_cast<std::size_t>(mesh.y(board) * kMaximumColumns + mesh.x(board)) * kOfBoard;
    for (std::size_t unit = 0; unit < kOfBoard; ++unit)
      // A message reserves all links of its path when it leaves, each for its arrival there.
      descriptions_.push_back(
          {.name = names()[first + unit], .scope = Scope::kMachine, .reserved_ahead = true});
  }
}

Load SharedUnits::load_of(std::uint64_t bytes, bool envelope) const {
  Load load;
  load.fragments = fragments_of(bytes, envelope);
  const std::uint64_t total = bytes + (envelope ? kEnvelopeBytes : 0);
  const std::uint64_t rest = total - std::min(total, (load.fragments - 1) * kFragmentBytes);
  load.flits = (load.fragments - 1) * kMaximumFlits + (4 + rest + kFlitBytes - 1) / kFlitBytes;
  const SoftwareSpec& software = configuration_.software;
  const auto last_flits =
      static_cast<std::int64_t>(load.flits - (load.fragments - 1) * std::uint64_t{kMaximumFlits});
  const Time writing_last = configuration_.machine.cycles(
      (software.fragment_send + software.copy_word * kWordsPerFlit * last_flits) * software.pipeline);
  load.overtaken =
      later(writing_ - writing_last - sending_ * static_cast<std::int64_t>(load.fragments - 1), {});
  if (load.fragments == 1) load.overtaken = {};
  const std::uint64_t cache = kThreadCache * static_cast<std::uint64_t>(configuration_.workers());
  load.uncached = bytes - std::min(bytes, cache);
  load.fits_window = load.fragments <= static_cast<std::uint64_t>(configuration_.software.window);
  return load;
}

Arbiter::Grant SharedUnits::pass(const Resources& resources, std::size_t lane, Time at, const Load& load,
                                 Time work, Time per_fragment) const {
  const Arbiter::Grant all = resources.occupy(lane, at, work);
  if (!load.fits_window) return all;
  const Arbiter::Grant quick = resources.occupy(lane + 1, at, work);
  const Time in_front = earlier(all.begin - at, per_fragment * configuration_.software.window);
  const Time begin = earlier(all.begin, quick.begin + in_front);
  return {begin, begin + work};
}

Arbiter::Grant SharedUnits::leave(const Resources& sender, Time at, const Load& load, Time work) const {
  const Arbiter::Grant all = pass(sender, kPort, at, load, work, configuration_.machine.cycles(kFullWords));
  // Received data takes at most as much of the port as sent data.
  const Time others = earlier(all.begin - at, work);
  const Arbiter::Grant out = sender.occupy(kPortOut, at, work + others);
  return out.end < all.end ? Arbiter::Grant{earlier(all.begin, out.begin), out.end} : all;
}

Time SharedUnits::span_of(const Load& load, Time first, Time last) const {
  return later(on_link(load), last - first - reading_);
}

Time SharedUnits::wait_for_memory(const Resources& resources, const ThreadLocation& place, const Load& load,
                                  int beats_per_line, Time from, Time span) const {
  if (load.uncached == 0) return {};
  const MachineSpec& machine = configuration_.machine;
  const auto beats =
      static_cast<std::int64_t>((load.uncached + kBeatBytes - 1) / kBeatBytes) * beats_per_line;
  constexpr std::int64_t kInFlight = std::int64_t{kRams} * kCacheBeats;
  const Time work = machine.cycles((beats * machine.dram_cycles + kInFlight - 1) / kInFlight);
  // Lines of different messages alternate, so only the last one is delayed.
  return resources.occupy(of_board(place.board, kCaches), from, work).end - from - later(work, span);
}

SharedUnits::Delay SharedUnits::send(const Resources& sender, const ThreadLocation& from, const Load& load,
                                     Time begin, Time sent) const {
  const SoftwareSpec& software = configuration_.software;
  const Time work =
      configuration_.work(load.fragments * static_cast<std::uint64_t>(software.fragment_send) +
                          load.flits * static_cast<std::uint64_t>(kWordsPerFlit * software.copy_word));
  Delay delay;
  // Other threads may start the next message while one works on the last fragment.
  const Time span = sent - begin - writing_;
  delay.add(pass(sender, kSender, begin, load, work, sending_), begin, later(work, span));
  delay.last = later(delay.last, wait_for_memory(sender, from, load, 1, begin, span));
  return delay;
}

SharedUnits::Delay SharedUnits::unicast(const Resources& sender, const ThreadLocation& from,
                                        const ThreadLocation& to, const Load& load, Time begin, Time first,
                                        Time last) const {
  Delay delay;
  const MachineSpec& machine = configuration_.machine;
  const Time words = machine.cycles(static_cast<std::int64_t>(load.flits) * kWordsPerFlit);
  const Time span = later(span_of(load, first, last), words);
  delay.add(leave(sender, begin, load, words), begin, span);
  const Mesh& mesh = machine.mesh;
  Time at = later(begin, first - hop_ * mesh.distance(from.board, to.board));
  // Reserves each link for the time at which the message arrives there.
  for (int board = from.board; board != to.board; at += hop_) {
    const Direction step = first_step(mesh, board, to.board, DimensionOrder::kYFirst);
    delay.add(pass(sender, link(board, step), at, load, on_link(load), fragment_on_link()), at, span);
    board = mesh.neighbour(board, step);
  }
  return delay;
}

SharedUnits::Delay SharedUnits::receive(const Resources& receiver, const ThreadLocation& at, const Load& load,
                                        Time first, Time last) const {
  Delay delay;
  const MachineSpec& machine = configuration_.machine;
  const Time words = machine.cycles(static_cast<std::int64_t>(load.flits) * kWordsPerFlit);
  const SoftwareSpec& software = configuration_.software;
  const Time taking =
      configuration_.work(load.fragments * static_cast<std::uint64_t>(software.fragment_receive) +
                          load.flits * static_cast<std::uint64_t>(kWordsPerFlit * software.copy_word));
  // A thread processes a fragment while the port reads it, and after the last one.
  delay.add(pass(receiver, kPort, first, load, words, machine.cycles(kFullWords)), first,
            later(words, last - first));
  delay.add(pass(receiver, kReading, first, load, taking, taking_up_), first,
            later(span_of(load, first, last), taking));
  // A line is fetched before it is written, and written back on eviction.
  const Time span = span_of(load, first, last);
  delay.last = later(delay.last, wait_for_memory(receiver, at, load, 2, first, span));
  return delay;
}

Time SharedUnits::taken_up(const Resources& receiver, const ThreadLocation& at, const Load& load, Time first,
                           Time last) const {
  const Time read = last + receive(receiver, at, load, first, last).last;
  // The first fragment has the envelope. One thread matches messages one after the other, whether or not the
  // program waits. Afterwards the program is woken, or has been notified long before.
  const Time call = configuration_.receive_call;
  const Time envelope = first + load.overtaken + reading_;
  const Time matched = receiver.occupy(kMatching, earlier(read, envelope), call).end;
  return later(matched, read + call) + configuration_.wake;
}

}  // namespace offramp::tinsel
