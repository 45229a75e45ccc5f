// A context matches the messages of one communicator at one rank, by the rules of MPI: receives in posting
// order, messages of one sender in sending order. Sequence numbers restore the order if the fabric changes
// it. Called under the engine's lock.
//
// The members agree on a context's id, which is unique in a run. So a message may arrive before this rank has
// created the communicator, or after it has freed it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "lib/run/engine/in_flight.hpp"
#include "lib/run/engine/one_hop.hpp"
#include "lib/run/engine/records.hpp"
#include "lib/run/engine/unexpected_index.hpp"
#include "simulators/world/rank_table.hpp"

namespace offramp {

using PostedQueue = IntrusiveList<ReceiveRecord, &ReceiveRecord::link>;

/// The verdict on the program's last message to a peer, reused for equal messages. A decline is not stored,
/// so that each one is counted.
struct SendAnswer {
  std::size_t bytes = 0;
  int tag = -1;  // -1: no verdict yet
  ElementType element = ElementType::kByte;
  std::uint8_t backend = 0;
  bool waits = false;       // completes only after the receive was matched
  std::string_view reason;  // why the routed backend declined it; empty: it did not
};

/// What this rank knows of one peer on one communicator.
struct ContextPeer {
  SendAnswer answer;
  std::uint32_t send_sequence = 0;
  std::uint32_t receive_sequence = 0;
  PostedQueue posted;  // receives that name this source
  IntrusiveList<UnexpectedMessage, &UnexpectedMessage::by_source> unexpected;
  // Messages that arrived before an earlier one. Empty if the fabric preserves the order.
  std::map<std::uint32_t, std::unique_ptr<UnexpectedMessage>> early;
};

/// The world ranks of a communicator's members, in its order. Equal lists may be shared.
using Members = std::shared_ptr<const std::vector<int>>;

/// Owned by the engine. Records refer to it, so it stays until the last of them has completed.
class Context {
 public:
  /// Made before the members are known if a message arrives early: see attached().
  explicit Context(std::uint64_t id) : setup_id(id), id_(id) {}
  Context& operator=(Context&&) = delete;
  /// Drops all messages without a receive.
  ~Context();

  /// Sets this rank in the communicator, and the world rank of every member.
  void attach(int rank, Members world);
  /// False while only messages from peers have named this context.
  [[nodiscard]] bool attached() const { return world_ != nullptr; }

  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return world_ != nullptr ? static_cast<int>(world_->size()) : 0; }
  /// Null before attach().
  [[nodiscard]] const Members& members() const { return world_; }
  [[nodiscard]] int world_rank(int rank) const { return (*world_)[static_cast<std::size_t>(rank)]; }
  /// The peer's state, created at its first use. The rank must be in range.
  ContextPeer& peer(int rank) { return peers_[rank]; }
  [[nodiscard]] const RankTable<ContextPeer>& peers() const { return peers_; }

  /// Removes and returns the posted receive that matches a message. `nullptr` if none matches.
  ReceiveRecord* pop_posted(ContextPeer& source, const Envelope& envelope);
  /// Appends a receive to its queue, and numbers it. The record stays where it is until it is matched or
  /// withdrawn.
  void post(ReceiveRecord& receive);
  /// Removes a posted receive. No effect if it has been matched.
  void withdraw(ReceiveRecord& receive);
  /// Returns a posted receive with a named source and this tag. `nullptr` if no such receive is posted.
  [[nodiscard]] ReceiveRecord* find_posted(int tag);

  /// Returns the first unexpected message that (source, tag) matches, and leaves it in its queue. `nullptr`
  /// if none matches.
  UnexpectedMessage* find_unexpected(int source, int tag);
  /// Appends a message in the order of arrival, and owns it.
  void add_unexpected(std::unique_ptr<UnexpectedMessage> message);
  /// Removes a message from its queue. The caller receives or drops it at once.
  std::unique_ptr<UnexpectedMessage> remove_unexpected(UnexpectedMessage& message);
  /// Removes a message for a matched probe. The context is retained until Engine::receive_claimed().
  std::unique_ptr<UnexpectedMessage> pop_unexpected(UnexpectedMessage& message) {
    ++pending;
    ++dormant;
    return remove_unexpected(message);
  }
  /// Removes all messages, including those that wait for an earlier one.
  std::vector<std::unique_ptr<UnexpectedMessage>> remove_all();
  /// Removes messages that arrived before attach() and whose sender is not a member.
  std::vector<std::unique_ptr<UnexpectedMessage>> remove_strangers();
  /// True if the envelope names a rank of the communicator, and the world rank that it really has.
  [[nodiscard]] bool is_member(const Envelope& e) const {
    return e.source < size() && world_rank(e.source) == static_cast<int>(e.source_world);
  }

  /// True if an operation is in progress. Persistent requests between two starts do not count.
  [[nodiscard]] bool is_active() const { return pending > dormant; }
  /// The posted receives for any source, in the order of posting.
  [[nodiscard]] const PostedQueue& any_source() const { return any_source_; }
  /// Messages without a receive, without those that wait for an earlier one.
  [[nodiscard]] std::size_t unexpected_count() const { return unexpected_count_; }

  int pending = 0;                      // records in progress on this context, and the dormant uses
  int dormant = 0;                      // persistent requests, and matched messages without a receive
  bool closed = false;                  // the communicator was freed
  std::uint32_t collective_number = 0;  // of the next collective operation; equal on all members
  std::uint32_t recorded = 0;           // the communicator's number in this rank's recording
  std::uint64_t setup_id;               // see Team::setup_context()
  std::unique_ptr<HopRing> hop;         // slots for small collectives; null before the first

 private:
  std::uint64_t id_;
  int rank_ = 0;
  Members world_;
  RankTable<ContextPeer> peers_;
  PostedQueue any_source_;
  /// As find_unexpected(), through the index. The tag must be an exact one.
  UnexpectedMessage* find_indexed(int source, int tag);

  InFlight<UnexpectedMessage, &UnexpectedMessage::by_arrival> arrivals_;
  UnexpectedIndex index_;
  std::uint64_t order_ = 0;
  std::uint64_t arrived_ = 0;
  std::size_t unexpected_count_ = 0;
};

}  // namespace offramp
