// The engine of one rank: sends, receives, and matches messages. A message goes through the Lane, which
// chooses the backend, the Context, which matches, and the Fabric, which moves the bytes.
//
// One thread may call it at a time: lib/run/mpi/runtime has a lock. No function blocks. To wait, call
// progress() until the record is done.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/base/certificate.hpp"
#include "lib/run/engine/arrival_places.hpp"
#include "lib/run/engine/context.hpp"
#include "lib/run/engine/in_flight.hpp"
#include "lib/run/engine/lane.hpp"
#include "lib/run/engine/one_hop.hpp"
#include "lib/run/engine/payload_window.hpp"
#include "lib/run/engine/recent_ids.hpp"
#include "lib/run/engine/team_message.hpp"
#include "lib/run/fabric/fabric.hpp"
#include "simulators/world/rank_table.hpp"

namespace offramp {

/// One message of the program or of an algorithm. The data must stay valid until the send completes.
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
  std::uint8_t backend = 0;  // the carrier of the collective
  bool failed = false;       // the data depends on a message that failed; the envelope gets kFailed
};

/// Owns contexts, unexpected messages, and deferred payloads. Records belong to their creators.
class Engine final : public Fabric::Sink {
 public:
  /// The fabric must outlive the engine.
  Engine(Fabric& fabric, std::unique_ptr<Lane> lane);
  ~Engine() override;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] Lane& lane() { return *lane_; }

  /// Sets the function that the next operations are counted for. site: its return address in the program.
  void enter(std::uint16_t function, const void* site) {
    function_ = function;
    site_ = site;
  }
  /// The function and the call site of the present call, see enter().
  [[nodiscard]] std::uint16_t function() const { return function_; }
  [[nodiscard]] const void* site() const { return site_; }
  /// The pool of the messages of collectives.
  [[nodiscard]] MessagePool& team_messages() { return team_messages_; }
  [[nodiscard]] OneHop& one_hop() { return one_hop_; }
  /// Starts a certificate of the data.
  void certify() { certificate_ = std::make_unique<Certificate>(); }
  /// `nullptr` unless certify() was called.
  [[nodiscard]] Certificate* certificate() { return certificate_.get(); }

  /// Attaches the context of a communicator. The engine owns it until it is closed and unused. Messages that
  /// came earlier from ranks outside the communicator are dropped.
  Context& open_context(std::uint64_t id, int rank, Members world);
  Context& open_context(std::uint64_t id, int rank, std::vector<int> world) {
    return open_context(id, rank, std::make_shared<const std::vector<int>>(std::move(world)));
  }
  /// Called when the communicator is freed. Operations in progress on it still complete.
  void close_context(Context& context);
  /// Keeps a context until release(), for operations of several records, such as collectives.
  static void retain(Context& context) { ++context.pending; }
  /// Undoes retain(). A freed communicator's context ends with its last user.
  void release(Context& context) {
    if (--context.pending == 0 && context.closed) retire_context(context);
  }

  // Operations of the program. A record is started once and completes once (on_complete), possibly before the
  // call returns. A receive is observed when the program learns of its completion.
  void send(SendRecord& record, const SendArguments& arguments);
  /// Posts a receive, or completes it at once with an unexpected message.
  void receive(ReceiveRecord& record, Context& context, int source, int tag, MutableBytes buffer);
  /// Receives the message of a matched probe.
  void receive_claimed(ReceiveRecord& record, std::unique_ptr<UnexpectedMessage> message,
                       MutableBytes buffer);
  /// Cancels a receive, which completes with kCancelled. Returns false if it has already matched.
  bool cancel(ReceiveRecord& record);
  /// Cancels all receives with a tag, including those that are posted meanwhile.
  void cancel_receives(Context& context, int tag);
  /// Counts a completed receive for the program. Further calls have no effect.
  void observe(ReceiveRecord& record);
  /// Returns true if the send has succeeded.
  [[nodiscard]] static bool is_over(const SendRecord& record) {
    return record.done && record.outcome == Outcome::kOk;
  }
  /// Returns true if a payload of this size is sent in pieces (SendRecord::pieces). Smaller payloads are
  /// packed at once, so that the receiver reads them without the sender's help.
  [[nodiscard]] bool packs_in_pieces(std::size_t bytes, int peer) const {
    constexpr std::size_t kLeast = std::size_t{16} << 20;
    return bytes >= kLeast && has_pieces(peer);
  }
  /// Sends a message of a collective's algorithm. Completes when the fabric no longer needs the data. Sends
  /// and receives of algorithms are not observed.
  void send(SendRecord& record, const SendArguments& arguments, const TeamSend& team);

  /// Counts a call whose result depends on the order of arrival, or on its own time.
  void count_arrival_order_dependence(Dependence kind, const ArrivalPlace& place) {
    ++lane_->counters.dependences[static_cast<std::size_t>(kind)];
    places_.count(place);
  }
  /// Counts the current call. context: the communicator's id, if it has one.
  void count_arrival_order_dependence(Dependence kind, std::uint64_t context = ArrivalPlace::kNoContext) {
    count_arrival_order_dependence(kind, {site_, context, function_});
  }
  /// The places of calls whose result depends on the order of arrival.
  [[nodiscard]] const ArrivalPlaces& places() const { return places_; }

  /// Handles arrivals, windows, and slots, and calls the callbacks of what completes. Returns 0 if nothing
  /// happened.
  int progress() {
    return fabric_.progress(*this) + (due_.empty() ? 0 : return_windows()) + one_hop_.progress();
  }
  /// Counts a collective that completed without a message.
  void count_completion() { ++completions_; }
  /// Sends whose data is still at this rank, including those of completed calls.
  [[nodiscard]] std::size_t sends_in_flight() const { return sends_ + deferred_count_; }
  /// Bytes of deferred payloads: their sends are complete, but the receivers' windows were full.
  [[nodiscard]] std::size_t deferred_bytes() const { return deferred_bytes_; }
  /// Bytes of payloads at this rank without a receive: now, and at most so far.
  [[nodiscard]] std::size_t unexpected_bytes() const { return unexpected_bytes_; }
  [[nodiscard]] std::size_t unexpected_bytes_peak() const { return unexpected_bytes_peak_; }
  /// Sets the window of each peer, in bytes. Call it before the first send.
  void resize_window(std::size_t bytes) { window_.resize(bytes); }
  /// Sends and receives that have completed since the start.
  [[nodiscard]] std::uint64_t completions() const { return completions_; }
  /// Messages that were dropped because their header was invalid.
  [[nodiscard]] std::uint64_t malformed() const { return malformed_; }

  /// Describes the last operation that ended with kFault: ranks, backend, and reason. Empty before the first.
  [[nodiscard]] const std::string& last_fault() const { return last_fault_; }
  [[nodiscard]] std::uint64_t faults() const { return faults_; }
  /// Counts and describes a collective that failed although all its messages arrived.
  void note_fault(std::uint8_t backend, OperationKind kind);

  /// Describes what this rank waits for: sends in flight, posted receives, and unexpected messages, per peer.
  [[nodiscard]] std::string describe() const;

  /// Drops all messages without a receive, including those whose payload is at their sender.
  void drop_unreceived();

  /// Called by the fabric within progress(), for each arrival.
  void deliver(const Fabric::Inbound& inbound) override;

 private:
  using SendList = IntrusiveList<SendRecord, &SendRecord::link>;
  friend struct UnexpectedMessage;  // calls payload_left()

  // Payloads up to this size move to the receiver without a posted receive: programs rely on small sends that
  // complete before it. Larger payloads stay at the sender until they are matched.
  static constexpr std::size_t kBounceLimit = 64 * 1024;

  /// The context of an id, created without members if it is unknown.
  Context& context_of(std::uint64_t id);
  /// Null if the id is unknown. The most recent one is found without a search.
  Context* find_context(std::uint64_t id);
  /// Ends a context, and remembers its id so that late messages are recognised.
  void retire_context(Context& context);
  void abandon(std::unique_ptr<UnexpectedMessage> message);

  /// Fills a record and its envelope, and counts it as in progress.
  ContextPeer& prepare(SendRecord& record, const SendArguments& arguments);
  void choose(SendRecord& record, SendAnswer& answer);
  void apply_delivery_fault(SendRecord& record);
  // A certificate needs the whole payload at once.
  [[nodiscard]] bool has_pieces(int peer) const {
    return certificate_ == nullptr && fabric_.has_pieces(peer);
  }
  /// Hands a prepared message to the fabric. The send may complete within the call.
  void launch(SendRecord& record);
  /// As the fabric's send(), for payloads that may need window or come in pieces.
  [[nodiscard]] Fabric::State launch_large(SendRecord& record);
  /// Reserves window for the payload, if it needs any. Returns true if too little is left.
  [[nodiscard]] bool must_defer(const SendRecord& record) {
    const Envelope& e = record.envelope;
    return needs_window(e, record.destination_world) && !window_.reserve(record.destination_world, e.bytes);
  }
  Fabric::State defer(SendRecord& record);
  void abandon_send(SendRecord& record);
  /// Fills a record for a new receive, and counts it as in progress.
  void prepare(ReceiveRecord& record, Context& context, int source, int tag, MutableBytes buffer);
  /// Matches an unexpected message, or posts the receive.
  void post(ReceiveRecord& record);

  /// A message in sequence: completes a posted receive, or becomes unexpected.
  void accept(Context& context, ContextPeer& peer, const Envelope& e, const Fabric::Inbound& inbound);
  /// Accepts the messages that waited for the one before them.
  void accept_early(Context& context, ContextPeer& peer);
  /// Drops a message of a freed communicator, which is no error of the peer.
  void discard(const Envelope& e, const Fabric::Inbound& inbound);
  /// Drops a message that no correct peer sends, and counts it.
  void reject(const Fabric::Inbound& inbound);
  /// Keeps a message without a receive, with its payload if that is small or has come along.
  std::unique_ptr<UnexpectedMessage> store_unexpected(Context& context, const Envelope& e,
                                                      const Fabric::Inbound& inbound);
  /// Pulls a small payload that is still at its sender.
  void fetch(UnexpectedMessage& message);
  /// Count the payloads without a receive that are in this rank's memory.
  void payload_arrived(UnexpectedMessage& message, std::size_t bytes);
  void payload_left(UnexpectedMessage& message);
  /// Returns true if the payload of a message to or from the peer counts in a window, equally at both ends.
  [[nodiscard]] bool needs_window(const Envelope& e, int peer) const {
    return e.bytes > PayloadWindow::kUncounted && e.bytes <= kBounceLimit && peer != rank() &&
           (e.flags & kStays) == 0;
  }
  /// The payload has a receive: its window will be returned to the source.
  void leave_window(const Envelope& e) {
    const auto source = static_cast<int>(e.source_world);
    if (needs_window(e, source) && window_.release(source, e.bytes)) due_.push_back(source);
  }
  /// Sends each source the window that is due to it. Returns the number of notices.
  int return_windows();
  void on_window(const Envelope& e);
  /// Copies the envelope to the receive, sets its outcome, and replies if the sender waits.
  void match(ReceiveRecord& record, const Envelope& e);
  /// Completes a receive with its payload. data null: it is in the buffer already.
  void store_data(ReceiveRecord& record, const std::byte* data);
  void fail(ReceiveRecord& record);
  /// Pulls the payload of a matched message from its sender. Consumes the handle.
  void pull_remote(ReceiveRecord& record, void* remote);
  /// Completes a receive with a message that was unexpected, now or at the end of its fetch.
  void consume_unexpected(ReceiveRecord& record, std::unique_ptr<UnexpectedMessage> message);
  /// A notice from the pool, addressed as an answer to the envelope.
  Notice& notice_for(const Envelope& e, EnvelopeKind kind);
  /// Sends a notice, which returns to the pool when it has left.
  void dispatch(Notice& notice, int to);
  /// Notifies the sender that its message has been matched.
  void send_reply(ReceiveRecord& record);
  void on_reply(const Envelope& e);
  void complete(SendRecord& record);
  void complete(ReceiveRecord& record);
  void compute_digest(ReceiveRecord& record, Bytes data) const;
  void note_fault(const SendRecord& record);
  void note_fault(const ReceiveRecord& record);

  /// The message as backends see it.
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
  /// The token that identifies a record in replies. It becomes invalid at release_token().
  std::uint64_t make_token(SendRecord& record);
  /// Null for a token that is not in use: it comes from another process.
  [[nodiscard]] SendRecord* record_of_token(std::uint64_t token) const;
  void release_token(std::uint64_t token);

  Fabric& fabric_;
  int rank_;
  int ranks_;
  std::unique_ptr<Lane> lane_;
  // If wires have faults: messages sent to each rank, by backend. Index 0: the program's, 1: of collectives.
  std::vector<std::array<RankTable<std::uint32_t>, 2>> numbers_;
  std::uint16_t function_ = 0;
  const void* site_ = nullptr;
  MessagePool team_messages_;
  OneHop one_hop_{*this, fabric_};
  std::unique_ptr<Certificate> certificate_;
  PayloadWindow window_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Context>> contexts_;
  // The ids of freed communicators, to discard late messages. Programs free any number of communicators. A
  // message arrives before so many more are freed, since creating them takes messages, too.
  static constexpr std::size_t kRetiredKnown = 4096;
  RecentIds retired_{kRetiredKnown};
  std::size_t unattached_ = 0;  // contexts with messages from peers that this rank has not opened yet
  /// The context that was found last: most messages belong to it.
  Context* recent_ = nullptr;
  SendList in_flight_;
  std::size_t sends_ = 0;
  /// The generation grows with each use of a slot, so that a late reply does not find another record.
  struct TokenSlot {
    SendRecord* record = nullptr;
    std::uint32_t generation = 0;
  };
  std::vector<TokenSlot> tokens_;
  std::vector<std::uint32_t> free_tokens_;
  /// All notices, and those that are not being sent.
  std::vector<std::unique_ptr<Notice>> notices_;
  std::vector<Notice*> free_notices_;
  InFlight<DeferredSend, &DeferredSend::link> deferred_;
  std::size_t deferred_count_ = 0;
  std::size_t deferred_bytes_ = 0;
  std::size_t unexpected_bytes_ = 0;
  std::size_t unexpected_bytes_peak_ = 0;
  std::vector<int> due_;  // ranks whose window is to be restored
  ArrivalPlaces places_;
  std::uint64_t completions_ = 0;
  std::uint64_t malformed_ = 0;
  std::string last_fault_;
  std::uint64_t faults_ = 0;  // operations that ended with kFault
  // Messages that are fetched for a receive, or that no one receives. Ends first: messages refer to the rest.
  InFlight<UnexpectedMessage, &UnexpectedMessage::by_arrival> fetched_;
};

}  // namespace offramp
