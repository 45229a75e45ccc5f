// A context: the matching world of one communicator at one rank, by the rules of MPI.
//
// Receives match in posting order, messages of one sender in sending order; the fabric's order is checked by
// sequence numbers and restored. Known by an id that is agreed between its members and never used again in a
// run, so a message may arrive before this rank has made the communicator, or after it has freed it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "lib/run/engine/one_hop.hpp"
#include "lib/run/engine/records.hpp"
#include "lib/run/engine/unexpected_index.hpp"
#include "simulators/world/rank_table.hpp"

namespace offramp {

using PostedQueue = IntrusiveList<ReceiveRecord, &ReceiveRecord::link>;

/// What routes and backends said to the program's last message to a peer, because programs repeat their
/// messages, and the same question has the same answer. A decline is asked for again, and counted.
struct SendAnswer {
  std::size_t bytes = 0;
  int tag = -1;  // of none yet
  ElementType element = ElementType::kByte;
  std::uint8_t backend = 0;
  bool waits = false;  // for its receiver
};

struct ContextPeer {
  SendAnswer answer;
  std::uint32_t send_sequence = 0;
  std::uint32_t receive_sequence = 0;
  PostedQueue posted;  // receives that name this source
  IntrusiveList<UnexpectedMessage, &UnexpectedMessage::by_source> unexpected;
  // Messages that came ahead of an earlier one; empty with a fabric that keeps order.
  std::map<std::uint32_t, std::unique_ptr<UnexpectedMessage>> early;
};

/// World ranks of a communicator's members, in its order; shared by all who need the same list.
using Members = std::shared_ptr<const std::vector<int>>;

class Context {
 public:
  explicit Context(std::uint64_t id) : setup_id(id), id_(id) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();

  /// Makes the communicator known: own rank in it, and the world rank of every member.
  void attach(int rank, Members world);
  [[nodiscard]] bool attached() const { return world_ != nullptr; }

  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return world_ != nullptr ? static_cast<int>(world_->size()) : 0; }
  [[nodiscard]] const Members& members() const { return world_; }
  [[nodiscard]] int world_rank(int rank) const { return (*world_)[static_cast<std::size_t>(rank)]; }
  /// The peer's state, made at first use (the caller has checked the bound).
  ContextPeer& peer(int rank) { return peers_[rank]; }
  [[nodiscard]] const RankTable<ContextPeer>& peers() const { return peers_; }

  /// The receive that a message with this envelope matches, taken off its queue; null if there is none.
  ReceiveRecord* pop_posted(ContextPeer& source, const Envelope& envelope);
  void post(ReceiveRecord& receive);
  void withdraw(ReceiveRecord& receive);
  /// A posted receive that names a source and this tag; null if there is none.
  [[nodiscard]] ReceiveRecord* find_posted(int tag);

  /// The first unexpected message that (source, tag) matches; stays in its queue. Null if there is none.
  UnexpectedMessage* find_unexpected(int source, int tag);
  void add_unexpected(std::unique_ptr<UnexpectedMessage> message);
  /// Takes a message out of its queue, to be received at once or to be dropped.
  std::unique_ptr<UnexpectedMessage> remove_unexpected(UnexpectedMessage& message);
  /// The same for a matched probe: the context stays until the message is received (Engine::receive_claimed).
  std::unique_ptr<UnexpectedMessage> pop_unexpected(UnexpectedMessage& message) {
    ++pending;
    return remove_unexpected(message);
  }
  /// Takes all messages out, those too that wait for an earlier one.
  std::vector<std::unique_ptr<UnexpectedMessage>> remove_all();
  /// Takes out what cannot come from a member: messages that arrived before the members were known.
  std::vector<std::unique_ptr<UnexpectedMessage>> remove_strangers();
  [[nodiscard]] bool is_member(const Envelope& e) const {
    return e.source < size() && world_rank(e.source) == static_cast<int>(e.source_world);
  }

  [[nodiscard]] const PostedQueue& any_source() const { return any_source_; }
  [[nodiscard]] std::size_t unexpected_count() const { return unexpected_count_; }

  int pending = 0;                      // records in progress on this context
  bool closed = false;                  // the communicator was freed
  std::uint32_t collective_number = 0;  // of the next collective operation; equal on all members
  std::uint32_t recorded = 0;           // which communicator it is in the recording of this rank
  std::uint64_t setup_id;               // see Team::setup_context()
  std::unique_ptr<HopRing> hop;         // slots of its small collectives; null before the first

 private:
  std::uint64_t id_;
  int rank_ = 0;
  Members world_;
  RankTable<ContextPeer> peers_;
  PostedQueue any_source_;
  UnexpectedMessage* find_indexed(int source, int tag);

  IntrusiveList<UnexpectedMessage, &UnexpectedMessage::by_arrival> arrivals_;
  UnexpectedIndex index_;
  std::uint64_t order_ = 0;
  std::uint64_t arrived_ = 0;
  std::size_t unexpected_count_ = 0;
};

}  // namespace offramp
