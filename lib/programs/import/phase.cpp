// Survey reads all ranks once and refuses phases that cannot be separated: requests, messages, or collectives
// of some members would cross a border. Messages are counted per communicator, pair, and tag; they are not
// checked if the matches of wildcards are unknown. PhaseReader then filters each rank as it is read.
#include "lib/programs/import/phase.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "lib/base/text_format.hpp"
#include "lib/programs/recording/forwarding_reader.hpp"
#include "offramp/model/message.hpp"

namespace offramp::trace {
namespace {

using recording::Event;
using recording::EventKind;
using recording::Reader;

/// Tracks, event by event, whether a rank is in a phase with the given name.
class PhaseTracker {
 public:
  explicit PhaseTracker(std::string name) : name_(std::move(name)) {}

  // A level ends all phases of this level; level 0 ends all. A level above 0 begins one.
  void follow(const Reader& reader, const Event& event) {
    const std::int64_t level = event.tag;
    std::erase_if(open_, [&](const std::pair<std::int64_t, bool>& one) {
      return level == 0 || one.first == (level > 0 ? level : -level);
    });
    if (level > 0) open_.emplace_back(level, phase_name(reader, event) == name_);
  }
  explicit operator bool() const {
    return std::any_of(open_.begin(), open_.end(), [](const auto& one) { return one.second; });
  }

 private:
  std::string name_;
  std::vector<std::pair<std::int64_t, bool>> open_;  // level, and whether it has the name
};

/// Identifies a communicator: its members' ranks, Event::extra, and how many with both came before.
using Identity = std::tuple<std::vector<std::uint64_t>, std::uint64_t, std::uint32_t>;

/// The communicators of all ranks.
struct PartCommunicators {
  std::vector<std::vector<std::uint32_t>> of_ranks;  // a number for each communicator that the rank makes
  std::vector<bool> is_used;                         // by number: used in the phase by any rank

  [[nodiscard]] bool is_kept(int rank, std::size_t made) const {
    return is_used[of_ranks[static_cast<std::size_t>(rank)][made]];
  }
};

// --- what belongs together ---

/// Reads all ranks to find what the phase needs, and reasons why it cannot be separated.
class Survey {
 public:
  Survey(const Program& program, std::string phase)
      : program_(program), phase_(std::move(phase)), words_(fmt::format("phase \"{}\"", printable(phase_))) {}

  /// Fails if the phase cannot be separated.
  Result<void> run() {
    for (int rank = 0; rank < program_.description.ranks; ++rank) {
      if (Result<void> done = look_at(rank); !done) return done;
    }
    if (!found_) {
      if (names_.empty())
        return failure(
            fmt::format("no {}: the recording has no phases (a program begins one with MPI_Pcontrol(1, "
                        "\"NAME\"))",
                        words_));
      return failure(
          fmt::format("no {}; known: {}", words_, printable(fmt::format("{}", fmt::join(names_, ", ")))));
    }
    if (Result<void> done = check_collectives(); !done) return done;
    return check_messages();
  }
  // Moves the result out. Call it once, after run().
  std::shared_ptr<const PartCommunicators> release() {
    return std::make_shared<const PartCommunicators>(std::move(communicators_));
  }

 private:
  /// A communicator of the current rank.
  struct Own {
    std::uint32_t number = kWorld;
    std::int64_t rank = 0;  // its own rank in it
  };
  // Numbers of predefined communicators; those that ranks make follow.
  static constexpr std::uint32_t kWorld = 0;
  static constexpr std::uint32_t kSelf = 1;

  // Reads one rank. The program's readers are not kept, which bounds the memory.
  Result<void> look_at(int rank) {
    const std::unique_ptr<Reader> reader = program_.read(rank);
    PhaseTracker within(phase_);
    std::vector<Own> own = {{kWorld, rank}, {kSelf, 0}};
    std::vector<std::uint64_t> borders = {0};  // requests begun at each border of a phase
    // How many communicators of this rank had the same members and id before.
    std::map<std::pair<std::vector<std::uint64_t>, std::uint64_t>, std::uint32_t> alike;
    std::vector<std::uint32_t>& made = communicators_.of_ranks.emplace_back();
    std::uint64_t begun = 0;
    std::optional<std::uint32_t> thread;
    for (Event event; reader->next(event);) {
      // Phases of several threads would overlap.
      if (thread.value_or(reader->thread()) != reader->thread())
        return failure(
            fmt::format("rank {}: several of its threads call MPI, but a phase needs a single thread", rank));
      thread = reader->thread();
      if (event.kind == EventKind::kPhase) {
        const bool was = static_cast<bool>(within);
        within.follow(*reader, event);
        if (static_cast<bool>(within) != was) borders.push_back(begun);
        if (event.tag > 0) names_.insert(phase_name(*reader, event));
        found_ = found_ || within;
        continue;
      }
      if (event.communicator >= own.size())
        return failure(fmt::format("rank {}: communicator {} does not exist", rank, event.communicator));
      if (event.kind == EventKind::kCommunicator) {
        const auto list = reader->list(event.list);
        std::vector<std::uint64_t> members(list.begin(), list.end());
        // Members are ranks of the program, in order of their ranks in the communicator.
        const auto place = std::find(list.begin(), list.end(), static_cast<std::uint64_t>(rank));
        const std::uint32_t before = alike[{members, event.extra}]++;
        made.push_back(number_of({std::move(members), event.extra, before}));
        own.push_back({made.back(), place - list.begin()});
      } else if (within) {
        communicators_.is_used[own[event.communicator].number] = true;
        count(*reader, event, rank, own[event.communicator]);
      }
      if (refers(event)) {
        // A single request is stored in the event itself.
        const auto list = event.extra != 0 ? std::span(&event.extra, 1) : reader->list(event.list);
        for (const std::uint64_t distance : list) {
          if (is_across(borders, begun, distance))
            return failure(
                fmt::format("rank {}: its {} {} {} belongs to a request that was started {}; a phase has to "
                            "start and complete its own requests",
                            rank, reader->call(event.call), within ? "in" : "outside of", words_,
                            within ? "before" : "in it"));
        }
      }
      begun += recording::begins_request(event) ? 1 : 0;
    }
    return success_or(reader->error());
  }
  static bool refers(const Event& event) {
    return event.kind == EventKind::kWait || event.kind == EventKind::kCancel ||
           event.kind == EventKind::kFree;
  }
  /// Returns true if a request this far back was begun in an earlier phase, or before the current one.
  static bool is_across(const std::vector<std::uint64_t>& borders, std::uint64_t begun,
                        std::uint64_t distance) {
    if (distance == 0 || distance > begun) return false;  // invalid in any case
    // Odd numbers are within the phase, since each border switches.
    const auto now = static_cast<std::size_t>(borders.size() - 1);
    const auto then = static_cast<std::size_t>(
        std::upper_bound(borders.begin(), borders.end(), begun - distance) - borders.begin() - 1);
    // Requests that never touch the phase are none of its concern.
    const bool both_outside = now % 2 == 0 && then % 2 == 0;
    return now != then && !both_outside;
  }
  // The program's number of a communicator, equal on all of its ranks.
  std::uint32_t number_of(Identity identity) {
    const auto [place, is_new] =
        numbers_.try_emplace(std::move(identity), static_cast<std::uint32_t>(communicators_.is_used.size()));
    if (is_new) {
      communicators_.is_used.push_back(false);
      // Keys of a map stay where they are.
      identities_.push_back(&place->first);
    }
    return place->second;
  }

  // Counts what must balance within the phase.
  void count(Reader& reader, const Event& event, int rank, const Own& own) {
    switch (event.kind) {
      case EventKind::kCollective:
      case EventKind::kNeighbours:
      case EventKind::kMeet:
        if (own.number != kSelf) ++collectives_[own.number][rank];
        break;
      case EventKind::kSend:
        // MPI_PROC_NULL is no message.
        if (event.peer >= 0) ++messages_[{own.number, own.rank, event.peer, event.tag}];
        break;
      case EventKind::kReceive:
      case EventKind::kClaim: {
        std::int64_t source = event.peer;
        std::int64_t tag = event.tag;
        if (source == kAnySource || tag == kAnyTag) {
          const auto match = reader.match();
          // Without recorded matches, the world decides later which message matches.
          are_known_ = are_known_ && (match.has_value() || program_.has_arrival);
          source = match ? match->source : -1;  // it matched no message
          tag = match ? match->tag : 0;
        }
        if (source >= 0) --messages_[{own.number, source, own.rank, tag}];
        break;
      }
      case EventKind::kCancel:
        // A cancelled message may or may not have been sent.
        are_known_ = false;
        break;
      default:
        break;
    }
  }
  // Only for messages to the user: an invalid rank is returned as it is.
  [[nodiscard]] std::uint64_t world_rank(std::uint32_t communicator, std::int64_t rank) const {
    if (communicator <= kSelf) return static_cast<std::uint64_t>(rank);
    const std::vector<std::uint64_t>& members = std::get<0>(*identities_[communicator - kSelf - 1]);
    const auto place = static_cast<std::size_t>(rank);
    return place < members.size() ? members[place] : place;
  }
  // Each member must make as many calls in the phase as every other.
  [[nodiscard]] Result<void> check_collectives() const {
    for (const auto& [communicator, calls] : collectives_) {
      const std::size_t members = communicator == kWorld
                                      ? static_cast<std::size_t>(program_.description.ranks)
                                      : std::get<0>(*identities_[communicator - kSelf - 1]).size();
      const auto [least, most] = std::minmax_element(
          calls.begin(), calls.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
      if (calls.size() == members && least->second == most->second) continue;
      // A member without any call is the better example.
      int rank = least->first;
      for (std::size_t place = 0; calls.size() < members && place < members; ++place) {
        const auto member = static_cast<int>(world_rank(communicator, static_cast<std::int64_t>(place)));
        if (!calls.contains(member)) rank = member;
      }
      return failure(
          fmt::format("rank {} makes {} collective calls in {} that rank {} makes outside of it; a phase has "
                      "to begin and end after the same calls on all ranks",
                      most->first, most->second - (calls.contains(rank) ? calls.at(rank) : 0), words_, rank));
    }
    return {};
  }
  // Each message sent in the phase must be received in it.
  [[nodiscard]] Result<void> check_messages() const {
    if (!are_known_) return {};
    for (const auto& [message, more] : messages_) {
      if (more == 0) continue;
      const auto& [communicator, source, receiver, tag] = message;
      return failure(fmt::format(
          "rank {} {} a message (tag {}) in {} that rank {} {} outside of it; messages sent in a phase have "
          "to be received in it",
          world_rank(communicator, more > 0 ? source : receiver), more > 0 ? "sends" : "receives", tag,
          words_, world_rank(communicator, more > 0 ? receiver : source), more > 0 ? "receives" : "sends"));
    }
    return {};
  }

  const Program& program_;
  std::string phase_;
  std::string words_;
  bool found_ = false;
  // Names of all phases, for the message if none matches.
  std::set<std::string> names_;
  // World and self are always kept.
  PartCommunicators communicators_{{}, {true, true}};
  std::map<Identity, std::uint32_t> numbers_;
  std::vector<const Identity*> identities_;                            // by number, after world and self
  std::map<std::uint32_t, std::map<int, std::uint64_t>> collectives_;  // by communicator and rank
  // Messages sent minus received, by communicator, sending and receiving rank, and tag.
  std::map<std::tuple<std::uint32_t, std::int64_t, std::int64_t, std::int64_t>, std::int64_t> messages_;
  bool are_known_ = true;  // whether the matches of receives from any source are known
};

// --- the part ---

// Filters one rank, and translates the numbers of requests and communicators.
class PhaseReader final : public recording::ForwardingReader {
 public:
  PhaseReader(std::unique_ptr<Reader> inner, int rank, const std::string& phase,
              std::shared_ptr<const PartCommunicators> communicators)
      : ForwardingReader(std::move(inner)),
        rank_(rank),
        within_(phase),
        communicators_(std::move(communicators)) {}

  bool next(Event& event) override {
    // Events outside are read and dropped, since requests and communicators are numbered by position.
    while (inner().next(event)) {
      is_before_ = false;
      begun_ += recording::begins_request(event) ? 1 : 0;
      if (event.kind == EventKind::kPhase) {
        if (is_kept_phase(event)) return true;
      } else if (event.kind == EventKind::kCommunicator) {
        if (is_kept_communicator(event)) return true;
      } else if (within_) {
        event.communicator = numbers_[event.communicator];
        return true;
      }
    }
    return false;
  }
  // Time before the phase is no part of it.
  [[nodiscard]] recording::Times times() const override {
    return is_before_ ? recording::Times() : inner().times();
  }
  // The program's reader counts the requests that are left out too.
  void on_completed(std::uint64_t number) override { inner().on_completed(number + skipped_); }
  [[nodiscard]] std::uint64_t polls() const override { return is_before_ ? 0 : inner().polls(); }
  [[nodiscard]] recording::Gaps gaps() const override {
    return is_before_ ? recording::Gaps() : inner().gaps();
  }
  // The number is that of the whole program.
  [[nodiscard]] std::optional<std::uint64_t> events() const override { return std::nullopt; }
  [[nodiscard]] bool waits_for_open() const override { return false; }

 private:
  // The events at both ends of a phase are kept.
  bool is_kept_phase(Event& event) {
    const bool was = static_cast<bool>(within_);
    within_.follow(inner(), event);
    if (!was && within_) {
      is_before_ = true;
      skipped_ += begun_ - left_;
    } else if (was && !within_) {
      left_ = begun_;
      if (event.tag > 0) {  // another phase begins and ends this one
        event.tag = -event.tag;
        event.list = 0;
      }
    }
    return was || within_;
  }
  // A communicator used in any rank's phase is kept on all of its ranks, or they could not agree on it.
  bool is_kept_communicator(Event& event) {
    const bool is_kept = within_ || communicators_->is_kept(rank_, made_);
    ++made_;
    // Such a communicator names its parent, which may have been dropped.
    if ((event.flags & recording::kPersistent) != 0) {
      const std::uint32_t parent =
          event.communicator < numbers_.size() ? numbers_[event.communicator] : recording::kWorld;
      const bool has_parent = parent != recording::kWorld || event.communicator == recording::kWorld;
      if (!has_parent) event.flags &= static_cast<std::uint8_t>(~recording::kPersistent);
      event.communicator = parent;
    }
    numbers_.push_back(is_kept ? kept_++ : 0);
    if (within_) return true;
    is_before_ = true;
    // The call to which it belonged is not part of the phase.
    event.flags &= static_cast<std::uint8_t>(~recording::kContinues);
    return is_kept;
  }

  int rank_;
  PhaseTracker within_;
  std::shared_ptr<const PartCommunicators> communicators_;
  bool is_before_ = false;  // the event is kept, but not the time before it
  std::uint64_t begun_ = 0;
  std::uint64_t left_ = 0;     // requests begun at the end of the last phase
  std::uint64_t skipped_ = 0;  // requests begun outside of phases, up to the current phase
  std::size_t made_ = 0;
  std::uint32_t kept_ = recording::kFirstMade;
  std::vector<std::uint32_t> numbers_ = {recording::kWorld,
                                         recording::kSelf};  // numbers here, by those of the program
};

}  // namespace

std::string phase_name(const Reader& reader, const Event& event) {
  std::string name;
  // Names are stored as lists of letters.
  for (const std::uint64_t letter : reader.list(event.list)) name += static_cast<char>(letter);
  return name.empty() ? fmt::format("level {}", event.tag) : name;
}

Result<Program> part_of(const Program& program, const std::string& phase) {
  if (program.graph) return failure("it is a graph of operations, without phases");
  Survey survey(program, phase);
  if (const Result<void> done = survey.run(); !done) return failure(done.error());
  Program part = program;
  // Its checksum and sizes belong to the whole program.
  part.recording = nullptr;
  // The number of events is that of the whole program.
  std::erase_if(part.description.facts, [](const auto& fact) { return fact.first == "events"; });
  part.description.facts.emplace_back("phase", phase);
  part.read = [read = program.read, phase, communicators = survey.release()](int rank) {
    return std::make_unique<PhaseReader>(read(rank), rank, phase, communicators);
  };
  return part;
}

}  // namespace offramp::trace
