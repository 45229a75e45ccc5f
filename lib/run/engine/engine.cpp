// Contexts, receives, and arrivals. Other members are in engine_sending.cpp (sends and replies),
// engine_window.cpp (payload windows), engine_accounts.cpp (certificate and faults), and hang_report.cpp.
//
// deliver() handles an arrival:
// 1. It checks the header, which comes from another process.
// 2. A message whose sequence number is ahead waits in ContextPeer::early for those before it.
// 3. The message matches a posted receive, or becomes unexpected.
//
// The payload is at the sender (inbound.remote), in the fabric's memory during the call (inbound.data), or in
// an UnexpectedMessage. A message that is matched during its fetch completes message->receiver at the end of
// the fetch. Its unique_ptr is released, since the fabric still writes into it; notify() deletes it.
//
// A pending operation retains its context until it has completed.
#include "lib/run/engine/engine.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace offramp {
namespace {

// Bounds on the memory that headers from other processes can occupy. Real programs stay below.
constexpr std::int32_t kFarthestAhead = 1 << 16;
constexpr std::size_t kMostUnattached = 1 << 16;

}  // namespace

Engine::Engine(Fabric& fabric, std::unique_ptr<Lane> lane)
    : fabric_(fabric),
      rank_(fabric.rank()),
      ranks_(fabric.ranks()),
      lane_(std::move(lane)),
      numbers_(lane_->faulty ? lane_->members().size() : 0),
      window_(fabric.ranks()) {
  static_assert(sizeof(Envelope) <= Fabric::kMaxHeader);
}

Engine::~Engine() {
  drop_unreceived();
}

// --- contexts ---

Context* Engine::find_context(std::uint64_t id) {
  if (recent_ != nullptr && recent_->id() == id) return recent_;
  const auto found = contexts_.find(id);
  if (found == contexts_.end()) return nullptr;
  return recent_ = found->second.get();
}

Context& Engine::context_of(std::uint64_t id) {
  if (Context* known = find_context(id)) return *known;
  return *(recent_ = contexts_.emplace(id, std::make_unique<Context>(id)).first->second.get());
}

Context& Engine::open_context(std::uint64_t id, int rank, Members world) {
  const bool known = find_context(id) != nullptr;
  Context& context = context_of(id);
  if (known && !context.attached()) {
    --unattached_;
    context.attach(rank, std::move(world));
    for (auto& message : context.remove_strangers()) {
      ++malformed_;
      abandon(std::move(message));
    }
  } else {
    context.attach(rank, std::move(world));
  }
  return context;
}

void Engine::close_context(Context& context) {
  context.closed = true;
  if (context.pending == 0) retire_context(context);
}

void Engine::retire_context(Context& context) {
  for (auto& message : context.remove_all()) abandon(std::move(message));
  // It may be this context.
  recent_ = nullptr;
  retired_.add(context.id());
  lane_->forget(context.id());
  contexts_.erase(context.id());
}

void Engine::drop_unreceived() {
  for (auto& [id, context] : contexts_) {
    for (auto& message : context->remove_all()) abandon(std::move(message));
  }
}

/// Releases a message that will not be received.
void Engine::abandon(std::unique_ptr<UnexpectedMessage> message) {
  if (message->remote != nullptr) fabric_.drop(message->remote);
  // The fabric still writes into the message, which is deleted at the end of the fetch.
  if (message->fetching) fetched_.add(std::move(message)).is_detached = true;
}

// --- receiving ---

[[gnu::always_inline]] inline void Engine::prepare(ReceiveRecord& record, Context& context, int source,
                                                   int tag, MutableBytes buffer) {
  record.done = false;
  record.observed = false;
  record.claimed = false;
  record.outcome = Outcome::kOk;
  record.engine = this;
  record.context = &context;
  record.source = source;
  record.tag = tag;
  record.buffer = buffer;
  record.function = function_;
  record.site = site_;
  record.received = 0;
  record.envelope.source = source;
  ++context.pending;
}

void Engine::post(ReceiveRecord& record) {
  if (UnexpectedMessage* message = record.context->find_unexpected(record.source, record.tag))
    return consume_unexpected(record, record.context->remove_unexpected(*message));
  record.context->post(record);
}

void Engine::receive(ReceiveRecord& record, Context& context, int source, int tag, MutableBytes buffer) {
  prepare(record, context, source, tag, buffer);
  post(record);
}

void Engine::receive_claimed(ReceiveRecord& record, std::unique_ptr<UnexpectedMessage> message,
                             MutableBytes buffer) {
  const Envelope& e = message->envelope;
  prepare(record, *message->context, e.source, e.tag, buffer);
  record.claimed = true;
  --message->context->pending;  // see Context::pop_unexpected()
  --message->context->dormant;
  consume_unexpected(record, std::move(message));
}

bool Engine::cancel(ReceiveRecord& record) {
  // A receive that has been matched is in no queue.
  if (record.done || !PostedQueue::contains(record)) return false;
  record.context->withdraw(record);
  record.outcome = Outcome::kCancelled;
  complete(record);
  return true;
}

void Engine::cancel_receives(Context& context, int tag) {
  retain(context);
  // A callback may post another receive with this tag, so each search begins anew.
  while (ReceiveRecord* const record = context.find_posted(tag)) (void)cancel(*record);
  release(context);
}

namespace {
/// The operation as the sender routed it.
Operation operation_in(const ReceiveRecord& record) {
  const Envelope& e = record.envelope;
  Operation operation{.element = e.element, .bytes = e.bytes, .tag = e.tag};
  return operation;
}
}  // namespace

void Engine::observe(ReceiveRecord& record) {
  if (std::exchange(record.observed, true) || record.outcome == Outcome::kCancelled) return;
  Lane& lane = *lane_;
  const std::uint8_t backend = record.envelope.backend;
  // The sender chose the host although the route names another backend.
  const bool declined = backend == Lane::kHost && lane.route_of(operation_in(record)) != Lane::kHost;
  CallCounter& counter = lane.counters.calls[record.function];
  lane.count(counter, backend, declined);
  counter.bytes += record.received;
  if (certificate_ != nullptr) certificate_->note_data(record.digest);
}

[[gnu::always_inline]] inline void Engine::match(ReceiveRecord& record, const Envelope& e) {
  record.envelope = e;
  record.received = std::min<std::size_t>(e.bytes, record.buffer.size());
  if (e.bytes > record.buffer.size()) record.outcome = Outcome::kTruncated;
  if (e.failed()) record.outcome = Outcome::kFault;
  if (record.source == kAnySource && record.context->size() > 2)
    count_arrival_order_dependence(Dependence::kUnnamedSource,
                                   {record.site, record.context->id(), record.function});
  if ((e.flags & kWantsReply) != 0) send_reply(record);
}

void Engine::send_reply(ReceiveRecord& record) {
  dispatch(notice_for(record.envelope, EnvelopeKind::kReply), static_cast<int>(record.envelope.source_world));
}

Notice& Engine::notice_for(const Envelope& e, EnvelopeKind kind) {
  if (free_notices_.empty()) {
    notices_.push_back(std::make_unique<Notice>());
    free_notices_.push_back(notices_.back().get());
  }
  Notice& notice = *free_notices_.back();
  free_notices_.pop_back();
  notice.engine = this;
  notice.envelope = e;
  notice.envelope.kind = kind;
  notice.envelope.source_world = static_cast<std::uint32_t>(rank());
  return notice;
}

void Engine::dispatch(Notice& notice, int to) {
  notice.notify = [](FabricWaiter& waiter, bool) {
    auto& self = static_cast<Notice&>(waiter);
    self.engine->free_notices_.push_back(&self);
  };
  // Without kPending, the fabric does not call notify().
  if (fabric_.send(to, notice.envelope.encoded(), {}, notice) != Fabric::State::kPending)
    free_notices_.push_back(&notice);
}

[[gnu::always_inline]] inline void Engine::store_data(ReceiveRecord& record, const std::byte* data) {
  if (data != nullptr && record.buffer.data() != nullptr) [[likely]]
    std::memcpy(record.buffer.data(), data, record.received);
  else if (data != nullptr && record.received > 0)
    record.pieces->use({data, record.received}, true);
  if (certificate_ != nullptr)
    compute_digest(record, {data != nullptr ? data : record.buffer.data(), record.received});
  complete(record);
}

/// The payload is lost. If it came in pieces, the buffer may hold some of it.
void Engine::fail(ReceiveRecord& record) {
  record.outcome = Outcome::kFault;
  record.received = 0;
  if (certificate_ != nullptr) compute_digest(record, {});
  complete(record);
}

void Engine::pull_remote(ReceiveRecord& record, void* remote) {
  const Envelope& e = record.envelope;
  const std::size_t bytes = e.bytes;
  const bool fits = bytes <= record.buffer.size();
  std::byte* into = record.buffer.data();
  const bool in_pieces = fits && into == nullptr && has_pieces(static_cast<int>(e.source_world));
  // A message that is longer than the buffer lands in memory of its own, and is cut afterwards.
  if (!in_pieces && (!fits || into == nullptr)) {
    record.landing = std::make_unique_for_overwrite<std::byte[]>(bytes);
    into = record.landing.get();
  }
  record.notify = [](FabricWaiter& waiter, bool ok) {
    auto& self = static_cast<ReceiveRecord&>(waiter);
    // Moved out first: the owner of a completed record may start it again or delete it.
    const std::unique_ptr<std::byte[]> landing = std::move(self.landing);
    ok ? self.engine->store_data(self, landing.get()) : self.engine->fail(self);
  };
  const Fabric::State state = in_pieces ? fabric_.pull_pieces(remote, *record.pieces, record)
                                        : fabric_.pull(remote, {into, bytes}, record);
  if (state != Fabric::State::kPending) record.notify(record, state == Fabric::State::kDone);
}

void Engine::consume_unexpected(ReceiveRecord& record, std::unique_ptr<UnexpectedMessage> message) {
  match(record, message->envelope);
  if (message->fetching) {
    message->receiver = &record;
    fetched_.add(std::move(message)).is_detached = true;
    return;
  }
  if (message->failed) return fail(record);
  if (message->remote != nullptr) return pull_remote(record, std::exchange(message->remote, nullptr));
  store_data(record, message->data);
}

[[gnu::always_inline]] inline void Engine::complete(ReceiveRecord& record) {
  record.done = true;
  ++completions_;
  if (record.outcome == Outcome::kFault) note_fault(record);
  // on_complete() of an invitation to slots (OneHop::join) still uses the context: deliver() retains it.
  release(*record.context);
  if (record.on_complete != nullptr) record.on_complete(record);
}

// --- arrivals ---

void Engine::deliver(const Fabric::Inbound& inbound) {
  const std::optional<Envelope> envelope =
      decode(inbound.header, inbound.size, {static_cast<std::uint32_t>(ranks()), lane_->members().size()});
  if (!envelope) return reject(inbound);
  const Envelope& e = *envelope;
  if (e.kind != EnvelopeKind::kMessage) {
    if (inbound.remote != nullptr) fabric_.drop(inbound.remote);  // such messages have no payload
    return e.kind == EnvelopeKind::kReply ? on_reply(e) : on_window(e);
  }

  // A payload at its sender is never empty. From here on its size is envelope.bytes.
  if (inbound.remote != nullptr && inbound.size == 0) return reject(inbound);

  Context* known = find_context(e.context);
  if (known == nullptr && retired_.contains(e.context))
    return discard(e, inbound);  // sent, never received, freed
  // Each id that is still unknown costs memory, and any peer can name ids: their number is bounded.
  if (known != nullptr ? known->attached() && !known->is_member(e) : unattached_ == kMostUnattached)
    return reject(inbound);
  if (known == nullptr) ++unattached_;
  Context& context = known != nullptr ? *known : context_of(e.context);

  ++context.pending;  // retained by this function
  ContextPeer& peer = context.peer(e.source);
  // The difference is signed, so it is right also when the numbers wrap around.
  const auto ahead = static_cast<std::int32_t>(e.sequence - peer.receive_sequence);
  // Old, far ahead, or twice: a peer that follows the protocol never sends these.
  if (ahead < 0 || ahead > kFarthestAhead || (ahead > 0 && peer.early.contains(e.sequence))) {
    reject(inbound);
  } else if (ahead > 0) {
    peer.early.emplace(e.sequence, store_unexpected(context, e, inbound));
  } else {
    ++peer.receive_sequence;
    accept(context, peer, e, inbound);
    if (!peer.early.empty()) accept_early(context, peer);
  }
  release(context);
}

void Engine::discard(const Envelope& e, const Fabric::Inbound& inbound) {
  leave_window(e);
  if (inbound.remote != nullptr) fabric_.drop(inbound.remote);
}

void Engine::reject(const Fabric::Inbound& inbound) {
  ++malformed_;
  if (inbound.remote != nullptr) fabric_.drop(inbound.remote);
}

[[gnu::always_inline]] inline void Engine::accept(Context& context, ContextPeer& peer, const Envelope& e,
                                                  const Fabric::Inbound& inbound) {
  ReceiveRecord* record = context.pop_posted(peer, e);
  if (record == nullptr) return context.add_unexpected(store_unexpected(context, e, inbound));
  leave_window(e);
  match(*record, e);
  if (inbound.remote != nullptr) return pull_remote(*record, inbound.remote);
  store_data(*record, inbound.size > 0 ? inbound.data : nullptr);
}

void Engine::accept_early(Context& context, ContextPeer& peer) {
  for (;;) {
    const auto next = peer.early.find(peer.receive_sequence);
    if (next == peer.early.end()) return;
    std::unique_ptr<UnexpectedMessage> message = std::move(next->second);
    peer.early.erase(next);
    ++peer.receive_sequence;
    if (ReceiveRecord* record = context.pop_posted(peer, message->envelope)) {
      consume_unexpected(*record, std::move(message));
    } else {
      context.add_unexpected(std::move(message));
    }
  }
}

std::unique_ptr<UnexpectedMessage> Engine::store_unexpected(Context& context, const Envelope& e,
                                                            const Fabric::Inbound& inbound) {
  // A payload of this size may not keep its sender waiting, see kBounceLimit: it is fetched without a
  // receive.
  const bool fetched = inbound.remote != nullptr && inbound.size <= kBounceLimit && (e.flags & kStays) == 0;
  const std::size_t room = inbound.remote == nullptr || fetched ? inbound.size : 0;
  std::unique_ptr<UnexpectedMessage> message = make_with_payload<UnexpectedMessage>(room);
  message->engine = this;
  message->context = &context;
  message->envelope = e;
  message->remote = inbound.remote;
  if (fetched) {
    fetch(*message);
  } else if (room > 0) {
    payload_arrived(*message, room);
    std::memcpy(message->data, inbound.data, room);
  }
  return message;
}

void Engine::fetch(UnexpectedMessage& message) {
  payload_arrived(message, message.envelope.bytes);
  message.fetching = true;
  // The fetch retains the context until notify().
  ++message.context->pending;
  message.notify = [](FabricWaiter& waiter, bool ok) {
    auto& self = static_cast<UnexpectedMessage&>(waiter);
    Engine& engine = *self.engine;
    self.fetching = false;
    self.failed = !ok;
    Context& context = *self.context;
    ReceiveRecord* record = std::exchange(self.receiver, nullptr);
    // The message lives until the end of this function, which still uses its data.
    const auto owned = self.is_detached ? engine.fetched_.remove(self) : nullptr;
    if (record != nullptr) ok ? engine.store_data(*record, self.data) : engine.fail(*record);
    engine.release(context);
  };
  void* remote = std::exchange(message.remote, nullptr);
  const Fabric::State state = fabric_.pull(remote, {message.data, message.envelope.bytes}, message);
  if (state != Fabric::State::kPending) message.notify(message, state == Fabric::State::kDone);
}

}  // namespace offramp
