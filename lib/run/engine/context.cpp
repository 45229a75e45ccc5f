// The two queues of MPI's matching. Posted receives are in the queue of their peer, or in the queue for any
// source; `order` decides between two candidates. Unexpected messages are listed by arrival in the context,
// by arrival from their source, and, if there are many (UnexpectedIndex::kWorthIt), in a table by source and
// tag. All three contain the same messages; only add_unexpected() and remove_unexpected() change them.
#include "lib/run/engine/context.hpp"

#include <utility>

namespace offramp {
namespace {

bool matches(const ReceiveRecord& receive, const Envelope& envelope) {
  return receive.tag == envelope.tag || receive.tag == kAnyTag;
}

ReceiveRecord* first_match(const PostedQueue& queue, const Envelope& envelope) {
  for (ReceiveRecord* r = queue.front(); r != nullptr; r = PostedQueue::next(*r)) {
    if (matches(*r, envelope)) return r;
  }
  return nullptr;
}

}  // namespace

Context::~Context() {
  while (UnexpectedMessage* message = arrivals_.front()) (void)remove_unexpected(*message);
}

void Context::attach(int rank, Members world) {
  rank_ = rank;
  world_ = std::move(world);
}

ReceiveRecord* Context::pop_posted(ContextPeer& source, const Envelope& envelope) {
  PostedQueue& named = source.posted;
  ReceiveRecord* by_name = first_match(named, envelope);
  ReceiveRecord* by_any = any_source_.empty() ? nullptr : first_match(any_source_, envelope);
  if (by_any != nullptr && (by_name == nullptr || by_any->order < by_name->order)) {
    any_source_.remove(*by_any);
    return by_any;
  }
  if (by_name != nullptr) named.remove(*by_name);
  return by_name;
}

void Context::post(ReceiveRecord& receive) {
  receive.order = order_++;
  (receive.source == kAnySource ? any_source_ : peer(receive.source).posted).push_back(receive);
}

void Context::withdraw(ReceiveRecord& receive) {
  (receive.source == kAnySource ? any_source_ : peer(receive.source).posted).remove(receive);
}

ReceiveRecord* Context::find_posted(int tag) {
  ReceiveRecord* found = nullptr;
  peers_.for_each([&](ContextPeer& peer) {
    for (ReceiveRecord* r = peer.posted.front(); r != nullptr && found == nullptr; r = PostedQueue::next(*r))
      if (r->tag == tag) found = r;
  });
  return found;
}

UnexpectedMessage* Context::find_unexpected(int source, int tag) {
  const auto wanted = [tag](const UnexpectedMessage& m) { return tag == kAnyTag || m.envelope.tag == tag; };
  // The index knows exact tags only.
  if (index_.in_use() && tag != kAnyTag) return find_indexed(source, tag);
  if (source == kAnySource) {
    for (UnexpectedMessage* m = arrivals_.front(); m != nullptr; m = m->by_arrival.next) {
      if (wanted(*m)) return m;
    }
    return nullptr;
  }
  for (UnexpectedMessage* m = peer(source).unexpected.front(); m != nullptr; m = m->by_source.next) {
    if (wanted(*m)) return m;
  }
  return nullptr;
}

// From any source, the message that arrived first wins: each source's first match is a candidate.
UnexpectedMessage* Context::find_indexed(int source, int tag) {
  if (source != kAnySource) return index_.find(source, tag);
  UnexpectedMessage* first = nullptr;
  peers_.for_each([&](ContextPeer& peer) {
    const UnexpectedMessage* some = peer.unexpected.front();
    if (some == nullptr) return;
    UnexpectedMessage* found = index_.find(some->envelope.source, tag);
    if (found != nullptr && (first == nullptr || found->arrival < first->arrival)) first = found;
  });
  return first;
}

void Context::add_unexpected(std::unique_ptr<UnexpectedMessage> message) {
  UnexpectedMessage& owned = arrivals_.add(std::move(message));
  peer(owned.envelope.source).unexpected.push_back(owned);
  owned.arrival = arrived_++;
  ++unexpected_count_;
  if (index_.in_use()) {
    index_.add(owned, arrivals_.front());
  } else if (unexpected_count_ > UnexpectedIndex::kWorthIt) {
    index_.build(arrivals_.front(), unexpected_count_);
  }
}

std::unique_ptr<UnexpectedMessage> Context::remove_unexpected(UnexpectedMessage& message) {
  if (index_.in_use()) index_.remove(message);
  peer(message.envelope.source).unexpected.remove(message);
  if (--unexpected_count_ == 0 && index_.in_use()) index_.clear();
  return arrivals_.remove(message);
}

std::vector<std::unique_ptr<UnexpectedMessage>> Context::remove_all() {
  std::vector<std::unique_ptr<UnexpectedMessage>> removed;
  while (UnexpectedMessage* message = arrivals_.front()) removed.push_back(remove_unexpected(*message));
  peers_.for_each([&](ContextPeer& peer) {
    for (auto& [sequence, message] : peer.early) removed.push_back(std::move(message));
    peer.early.clear();
  });
  return removed;
}

std::vector<std::unique_ptr<UnexpectedMessage>> Context::remove_strangers() {
  std::vector<std::unique_ptr<UnexpectedMessage>> removed;
  index_.clear();  // removes heads only; rebuilt by a later arrival
  for (UnexpectedMessage* m = arrivals_.front(); m != nullptr;) {
    UnexpectedMessage& message = *std::exchange(m, m->by_arrival.next);
    if (!is_member(message.envelope)) removed.push_back(remove_unexpected(message));
  }
  peers_.for_each([&](ContextPeer& peer) {
    for (auto next = peer.early.begin(); next != peer.early.end();) {
      const auto early = next++;
      if (is_member(early->second->envelope)) continue;
      removed.push_back(std::move(early->second));
      peer.early.erase(early);
    }
  });
  return removed;
}

}  // namespace offramp
