// The stages of single messages of one backend, in the order in which a test calls them. Each end has its own
// resources; the other end's are idle, and the two share nothing.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "offramp/model/backend.hpp"

namespace offramp {

/// The resources that one end reaches.
struct Units {
  explicit Units(std::size_t count) : all(count) {}
  [[nodiscard]] Resources view(std::span<const ResourceDescription> descriptions) {
    return {descriptions, all.data()};
  }
  Arbiter& operator[](std::size_t index) { return all[index].timeline; }

  std::vector<Resource> all;
};
/// Enough resources for any hardware.
struct ManyUnits : Units {
  ManyUnits() : Units(1024) {}  // a tinsel machine of 48 boards has 870
};

/// The sender's state once its message has departed; with a handshake, the receiver is ready.
struct Departure {
  Time host_free;
  Time complete;           // without a handshake
  bool handshake = false;  // completion needs the receiver: match()
  Passage passage;
};

/// Calls the stages as a world does, for one message at a time. One thread.
class MessageStages {
 public:
  /// The backend outlives this.
  explicit MessageStages(Backend& backend)
      : backend_(backend),
        resources_(backend.resources()),
        sender_hold_(held(resources_, Occupation::kBySender)),
        receiver_hold_(held(resources_, Occupation::kByReceiver)),
        idle_(resources_.size()) {}

  [[nodiscard]] std::size_t units() const { return resources_.size(); }

  /// Runs the sender's stages until its message crosses the network. issued: when the program sends.
  Departure depart(const Transfer& transfer, Time issued, Units& units) {
    Departure departure;
    Passage& passage = departure.passage;
    passage.issued = issued;
    backend_.issue(transfer, passage);
    departure.host_free = passage.host_free;
    if (is_local(transfer)) {
      departure.complete = passage.host_free + backend_.copy_time(transfer.bytes);
      departure.handshake = transfer.synchronous;
      passage.first = passage.host_free;
      passage.last = departure.complete;
      return departure;
    }
    if (sender_hold_ != kNoResource) passage.begin = later(passage.begin, units[sender_hold_].free_at());
    const Resources own = units.view(resources_);
    to_its_end(passage, [&] { backend_.depart(transfer, passage, own); });
    departure.complete = passage.complete;
    departure.handshake = passage.protocol == Protocol::kConfirmed;
    if (passage.waits_for_answer()) {
      departure.handshake = passage.protocol == Protocol::kRendezvous && passage.complete < Time();
      passage.granted = passage.requested;
      to_its_end(passage, [&] { backend_.answer(transfer, passage, idle()); });
      to_its_end(passage, [&] { backend_.transmit(transfer, passage, own); });
      if (passage.protocol == Protocol::kGranted) departure.complete = passage.complete;
      if (!departure.handshake) backend_.count(transfer, passage);
    }
    cross(passage);
    if (sender_hold_ != kNoResource)
      units[sender_hold_].acquire(passage.begin, passage.free_at() - passage.begin);
    return departure;
  }

  /// The receive is posted at the given time. Only after a departure with a handshake.
  Passage match(const Transfer& transfer, const Passage& departed, Time posted) {
    Passage passage = departed;
    passage.posted = posted;
    if (is_local(transfer)) {
      passage.complete = later(departed.last, posted);
    } else if (departed.protocol == Protocol::kConfirmed) {
      backend_.confirm(transfer, passage);
    } else {
      passage = resumed(transfer, departed, posted);
      backend_.count(transfer, passage);
    }
    return passage;
  }

  /// The receiver's program, at `now`, learns of the message whose receive it posts then.
  Time receive(const Transfer& transfer, const Passage& departed, Time posted, Time now, Units& units) {
    const Time there = later(posted, now);
    if (is_local(transfer))
      return backend_.receive(transfer, departed, later(departed.last, there), Matched::kPosted);
    Passage passage = departed;
    if (departed.protocol == Protocol::kRendezvous) {
      passage = resumed(transfer, departed, posted);
    } else {
      // The receiver's knowledge of the sender.
      passage.left = passage.leaves = passage.begin = {};
      passage.posted = posted;
    }
    to_its_end(passage, [&] { backend_.arrive(transfer, passage, units.view(resources_)); });
    if (receiver_hold_ != kNoResource && passage.waits_for_answer())
      passage.stored = later(
          passage.stored,
          units[receiver_hold_].acquire(passage.granted, later(passage.last - passage.granted, {})).end);
    const Matched matched = passage.arrived_before(posted) ? Matched::kUnexpected : Matched::kPosted;
    return backend_.receive(transfer, passage, later(passage.stored, there), matched);
  }

 private:
  [[nodiscard]] static bool is_local(const Transfer& transfer) {
    return transfer.source == transfer.destination;
  }
  static void cross(Passage& passage) {
    passage.first = passage.leaves + passage.latency;
    passage.last = passage.left + passage.latency;
  }
  // The other end's resources are idle for each message anew.
  Resources idle() {
    std::fill(idle_.all.begin(), idle_.all.end(), Resource());
    return idle_.view(resources_);
  }
  /// A message with a handshake, from the arrival of its request. Earlier work of the sender's port delays
  /// the data.
  Passage resumed(const Transfer& transfer, const Passage& departed, Time posted) {
    Passage passage;
    passage.protocol = Protocol::kRendezvous;
    passage.failed = departed.failed;
    passage.reason = departed.reason;
    passage.posted = posted;
    passage.begin = departed.begin;
    passage.requested = departed.requested;
    passage.granted = later(passage.requested, posted);
    to_its_end(passage, [&] { backend_.answer(transfer, passage, idle()); });
    passage.answered = later(passage.answered, departed.leaves);
    to_its_end(passage, [&] { backend_.transmit(transfer, passage, idle()); });
    cross(passage);
    return passage;
  }

  Backend& backend_;
  std::span<const ResourceDescription> resources_;
  std::size_t sender_hold_;
  std::size_t receiver_hold_;
  Units idle_;
};

/// A backend with the stages of its messages.
class StagedBackend {
 public:
  explicit StagedBackend(std::unique_ptr<Backend> backend)
      : backend_(std::move(backend)), stages_(*backend_) {}

  // Each function works like that of MessageStages.
  Departure depart(const Transfer& transfer, Time issued, Units& units) {
    return stages_.depart(transfer, issued, units);
  }
  Passage match(const Transfer& transfer, const Passage& departed, Time posted) {
    return stages_.match(transfer, departed, posted);
  }
  /// For a program that waits for the message from the moment at which it posts the receive.
  Time receive(const Transfer& transfer, const Passage& departed, Time posted, Units& units) {
    return stages_.receive(transfer, departed, posted, posted, units);
  }

  [[nodiscard]] Verdict supports(const Operation& operation) const { return backend_->supports(operation); }
  [[nodiscard]] Time post_receive_cost() const { return backend_->post_receive_cost(); }
  [[nodiscard]] WireCounters wire() const { return backend_->wire(); }
  [[nodiscard]] std::string_view failure(std::uint8_t reason) const { return backend_->failure(reason); }
  void forget(std::uint64_t context) { backend_->forget(context); }
  Task<Outcome> collective(const Operation& operation, Team& team, CollectiveBuffers buffers) {
    return backend_->collective(operation, team, buffers);
  }
  [[nodiscard]] Backend& backend() { return *backend_; }

 private:
  std::unique_ptr<Backend> backend_;
  MessageStages stages_;
};

/// Owns the backend.
inline std::unique_ptr<StagedBackend> staged(std::unique_ptr<Backend> backend) {
  return std::make_unique<StagedBackend>(std::move(backend));
}

}  // namespace offramp
