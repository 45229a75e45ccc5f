// The engine of one rank: point-to-point over the fabric, routed by the lane, matched by the contexts.
//
// It knows nothing of MPI's handles. Calls come from one thread at a time (the MPI face holds a lock when the
// program has several). Nothing blocks: whoever waits calls progress() until its record is done.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/base/certificate.hpp"
#include "lib/run/engine/arrival_places.hpp"
#include "lib/run/engine/context.hpp"
#include "lib/run/engine/lane.hpp"
#include "lib/run/engine/one_hop.hpp"
#include "lib/run/engine/payload_window.hpp"
#include "lib/run/engine/recent_ids.hpp"
#include "lib/run/engine/team_message.hpp"
#include "lib/run/fabric/fabric.hpp"
#include "simulators/world/rank_table.hpp"

namespace offramp {

struct SendArguments {
  Context& context;
  int destination = 0;  // rank in the communicator
  int tag = 0;          // not negative
  Bytes data;
  ElementType element = ElementType::kByte;
  bool synchronous = false;
};

/// How the algorithm of a collective sends.
struct TeamSend {
  std::uint8_t backend = 0;  // that carries the collective
  bool failed = false;       // what it sends descends from a message that failed, and says so
};

class Engine final : public Fabric::Sink {
 public:
  Engine(Fabric& fabric, std::unique_ptr<Lane> lane);
  ~Engine() override;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] Lane& lane() { return *lane_; }

  /// Operations start on behalf of this function from now on, for the counters. site: the address in the
  /// program to which it returns.
  void enter(std::uint16_t function, const void* site) {
    function_ = function;
    site_ = site;
  }
  [[nodiscard]] std::uint16_t function() const { return function_; }
  [[nodiscard]] const void* site() const { return site_; }
  /// For the messages of collectives.
  [[nodiscard]] MessagePool& team_messages() { return team_messages_; }
  [[nodiscard]] OneHop& one_hop() { return one_hop_; }
  /// Starts a certificate of the data.
  void certify() { certificate_ = std::make_unique<Certificate>(); }
  /// Null: none was asked for.
  [[nodiscard]] Certificate* certificate() { return certificate_.get(); }

  Context& open_context(std::uint64_t id, int rank, Members world);
  Context& open_context(std::uint64_t id, int rank, std::vector<int> world) {
    return open_context(id, rank, std::make_shared<const std::vector<int>>(std::move(world)));
  }
  /// The communicator was freed; what is in progress on it still completes.
  void close_context(Context& context);
  /// Keeps a context from ending while something that is not one record works on it: a collective, between
  /// messages.
  static void retain(Context& context) { ++context.pending; }
  void release(Context& context) {
    if (--context.pending == 0 && context.closed) retire_context(context);
  }

  // Operations of the program. A record is started once and completes once (on_complete), maybe before the
  // call returns. A receive is observed when the program learns of it.
  void send(SendRecord& record, const SendArguments& arguments);
  void receive(ReceiveRecord& record, Context& context, int source, int tag, MutableBytes buffer);
  void receive_claimed(ReceiveRecord& record, std::unique_ptr<UnexpectedMessage> message,
                       MutableBytes buffer);
  /// Takes a receive back; false when it is matched already. A cancelled receive completes with kCancelled.
  bool cancel(ReceiveRecord& record);
  /// Cancels all receives with a tag, including those that are posted meanwhile.
  void cancel_receives(Context& context, int tag);
  void observe(ReceiveRecord& record);
  /// The send has succeeded.
  [[nodiscard]] static bool is_over(const SendRecord& record) {
    return record.done && record.outcome == Outcome::kOk;
  }
  /// Whether a payload of this size for this peer is packed in pieces (SendRecord::pieces). Smaller payloads
  /// are copied, so that the receiver reads them without the sender's help.
  [[nodiscard]] bool packs_in_pieces(std::size_t bytes, int peer) const {
    constexpr std::size_t kLeast = std::size_t{16} << 20;
    return bytes >= kLeast && has_pieces(peer);
  }
  /// A message of a collective's algorithm. It completes once its data is taken, and is not observed; neither
  /// is one that the algorithm receives.
  void send(SendRecord& record, const SendArguments& arguments, const TeamSend& team);

  /// A choice that depended on which message came first, or on when the program asked.
  void count_arrival_order_dependence(Dependence kind, const ArrivalPlace& place) {
    ++lane_->counters.dependences[static_cast<std::size_t>(kind)];
    places_.count(place);
  }
  /// The same in the current call, about a communicator or none.
  void count_arrival_order_dependence(Dependence kind, std::uint64_t context = ArrivalPlace::kNoContext) {
    count_arrival_order_dependence(kind, {site_, context, function_});
  }
  [[nodiscard]] const ArrivalPlaces& places() const { return places_; }

  int progress() {
    return fabric_.progress(*this) + (due_.empty() ? 0 : return_windows()) + one_hop_.progress();
  }
  /// Counts a collective that completed without a message.
  void count_completion() { ++completions_; }
  /// Sends whose data is still here, those of completed calls too.
  [[nodiscard]] std::size_t sends_in_flight() const { return sends_ + deferred_count_; }
  /// Payload that completed sends have left in this rank's memory: the receivers' windows were full.
  [[nodiscard]] std::size_t deferred_bytes() const { return deferred_bytes_; }
  /// Payload of messages that are not received yet: now, and the most that there was at once.
  [[nodiscard]] std::size_t unexpected_bytes() const { return unexpected_bytes_; }
  [[nodiscard]] std::size_t unexpected_bytes_peak() const { return unexpected_bytes_peak_; }
  /// Payload that peers may leave here without a receive, for each: before anything is sent.
  void resize_window(std::size_t bytes) { window_.resize(bytes); }
  /// Sends and receives that have completed since the start.
  [[nodiscard]] std::uint64_t completions() const { return completions_; }
  [[nodiscard]] std::uint64_t malformed() const { return malformed_; }

  /// Who failed to reach whom over what, for the last operation that ended with kFault; empty: none did.
  [[nodiscard]] const std::string& last_fault() const { return last_fault_; }
  [[nodiscard]] std::uint64_t faults() const { return faults_; }
  /// A collective that failed although all its messages arrived.
  void note_fault(std::uint8_t backend, OperationKind kind);

  /// What this rank waits for: sends in flight, posted receives and unexpected messages, per peer.
  [[nodiscard]] std::string describe() const;

  /// Lets go of all messages, those too that wait at their senders: no receive will come any more.
  void drop_unreceived();

  void deliver(const Fabric::Inbound& inbound) override;

 private:
  using SendList = IntrusiveList<SendRecord, &SendRecord::link>;
  using DeferredList = IntrusiveList<DeferredSend, &DeferredSend::link>;
  friend struct UnexpectedMessage;  // which says when its payload has left

  // Messages up to this size leave the sender even when nobody has asked for them: programs rely on small
  // sends that do not wait for the receive. Larger ones stay at the sender until they are matched.
  static constexpr std::size_t kBounceLimit = 64 * 1024;

  Context& context_of(std::uint64_t id);
  Context* find_context(std::uint64_t id);
  void retire_context(Context& context);
  void abandon(std::unique_ptr<UnexpectedMessage> message);

  ContextPeer& prepare(SendRecord& record, const SendArguments& arguments);
  void choose(SendRecord& record, SendAnswer& answer);
  void apply_delivery_fault(SendRecord& record);
  /// A certificate needs the whole payload at once.
  [[nodiscard]] bool has_pieces(int peer) const {
    return certificate_ == nullptr && fabric_.has_pieces(peer);
  }
  void launch(SendRecord& record);
  [[nodiscard]] Fabric::State launch_large(SendRecord& record);
  /// The destination has no window left for the payload.
  [[nodiscard]] bool must_defer(const SendRecord& record) {
    const Envelope& e = record.envelope;
    return needs_window(e, record.destination_world) && !window_.reserve(record.destination_world, e.bytes);
  }
  Fabric::State defer(SendRecord& record);
  void abandon_send(SendRecord& record);
  void prepare(ReceiveRecord& record, Context& context, int source, int tag, MutableBytes buffer);
  void post(ReceiveRecord& record);

  void accept(Context& context, ContextPeer& peer, const Envelope& e, const Fabric::Inbound& inbound);
  void accept_early(Context& context, ContextPeer& peer);
  void discard(const Envelope& e, const Fabric::Inbound& inbound);
  void reject(const Fabric::Inbound& inbound);
  std::unique_ptr<UnexpectedMessage> store_unexpected(Context& context, const Envelope& e,
                                                      const Fabric::Inbound& inbound);
  void fetch(UnexpectedMessage& message);
  void payload_arrived(UnexpectedMessage& message, std::size_t bytes);
  void payload_left(UnexpectedMessage& message);
  /// Whether a message to or from the peer counts in a window_. Both ends come to the same answer.
  [[nodiscard]] bool needs_window(const Envelope& e, int peer) const {
    return e.bytes > PayloadWindow::kUncounted && e.bytes <= kBounceLimit && peer != rank() &&
           (e.flags & kStays) == 0;
  }
  void leave_window(const Envelope& e) {
    const auto source = static_cast<int>(e.source_world);
    if (needs_window(e, source) && window_.release(source, e.bytes)) due_.push_back(source);
  }
  int return_windows();
  void on_window(const Envelope& e);
  void match(ReceiveRecord& record, const Envelope& e);
  void store_data(ReceiveRecord& record, const std::byte* data);
  void fail(ReceiveRecord& record);
  void pull_remote(ReceiveRecord& record, void* remote);
  void consume_unexpected(ReceiveRecord& record, std::unique_ptr<UnexpectedMessage> message);
  Notice& notice_for(const Envelope& e, EnvelopeKind kind);
  void dispatch(Notice& notice, int to);
  void send_reply(ReceiveRecord& record);
  void on_reply(const Envelope& e);
  void complete(SendRecord& record);
  void complete(ReceiveRecord& record);
  void compute_digest(ReceiveRecord& record, Bytes data) const;
  void note_fault(const SendRecord& record);
  void note_fault(const ReceiveRecord& record);

  [[nodiscard]] static Transfer transfer_of(const Envelope& e, int destination_world) {
    Transfer transfer;
    transfer.source = static_cast<int>(e.source_world);
    transfer.destination = destination_world;
    transfer.bytes = e.bytes;
    transfer.element = e.element;
    transfer.tag = e.tag;
    transfer.context = e.context;
    transfer.synchronous = (e.flags & kSynchronous) != 0;
    return transfer;
  }
  std::uint64_t make_token(SendRecord& record);
  [[nodiscard]] SendRecord* record_of_token(std::uint64_t token) const;
  void release_token(std::uint64_t token);

  Fabric& fabric_;
  int rank_;
  int ranks_;
  std::unique_ptr<Lane> lane_;
  // Where wires have faults: how many messages went to each rank, by backend; of the program, of collectives.
  std::vector<std::array<RankTable<std::uint32_t>, 2>> numbers_;
  std::uint16_t function_ = 0;
  const void* site_ = nullptr;
  MessagePool team_messages_;
  OneHop one_hop_{*this, fabric_};
  std::unique_ptr<Certificate> certificate_;
  PayloadWindow window_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Context>> contexts_;
  // Programs make and free communicators as long as they run. What was sent on one, never received, and comes
  // after so many others were freed would have been overtaken by the messages that made those.
  static constexpr std::size_t kRetiredKnown = 4096;
  RecentIds retired_{kRetiredKnown};
  std::size_t unattached_ = 0;  // contexts that only peers know of so far
  Context* recent_ = nullptr;
  SendList in_flight_;
  std::size_t sends_ = 0;
  struct TokenSlot {
    SendRecord* record = nullptr;
    std::uint32_t generation = 0;
  };
  std::vector<TokenSlot> tokens_;
  std::vector<std::uint32_t> free_tokens_;
  std::vector<std::unique_ptr<Notice>> notices_;
  std::vector<Notice*> free_notices_;
  DeferredList deferred_;
  std::size_t deferred_count_ = 0;
  std::size_t deferred_bytes_ = 0;
  std::size_t unexpected_bytes_ = 0;
  std::size_t unexpected_bytes_peak_ = 0;
  std::vector<int> due_;  // ranks to give window back to
  ArrivalPlaces places_;
  std::uint64_t completions_ = 0;
  std::uint64_t malformed_ = 0;
  std::string last_fault_;
  std::uint64_t faults_ = 0;  // that last_fault_ has told
};

}  // namespace offramp
