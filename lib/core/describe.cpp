// What a rank waits for, as text: the hang report.
#include <fmt/format.h>

#include "lib/core/engine.hpp"

namespace offramp {
namespace {

std::string rank_text(int rank) {
  return rank == kAnySource ? "any" : fmt::format("{}", rank);
}
std::string tag_text(int tag) {
  return tag == kAnyTag ? "any" : fmt::format("{}", tag);
}

std::string outcome_of(const SendRecord& send) {
  if (!send.transport_done) return "not yet taken by the peer";
  return "waits for a matching receive";
}

void describe_posted(const PostedQueue& queue, std::string& text) {
  for (const ReceiveRecord* r = queue.front(); r != nullptr; r = PostedQueue::next(*r)) {
    text += fmt::format("    posted receive: source {} tag {} room for {} bytes\n", rank_text(r->source),
                        tag_text(r->tag), r->buffer.size());
  }
}

void describe_unexpected(const ContextPeer& peer, std::string& text) {
  constexpr int kShown = 5;
  int count = 0;
  for (const UnexpectedMessage* m = peer.unexpected.front(); m != nullptr; m = m->by_source.next) {
    const Envelope& e = m->header.envelope;
    if (count++ < kShown)
      text += fmt::format("    unexpected message: source {} tag {} {} bytes\n", e.source, e.tag, e.bytes);
  }
  if (count > kShown) text += fmt::format("    ... and {} more from this source\n", count - kShown);
  if (!peer.early.empty())
    text += fmt::format("    {} messages wait for sequence number {}\n", peer.early.size(),
                        peer.receive_sequence);
}

}  // namespace

std::string Engine::describe() const {
  std::string text;
  for (const SendRecord* send = in_flight_.front(); send != nullptr; send = send->link.next) {
    text += fmt::format("    send in flight: to rank {} (world {}) tag {} {} bytes: {}\n", send->destination,
                        send->destination_world, send->header.envelope.tag, send->header.envelope.bytes,
                        outcome_of(*send));
  }
  if (kept_count_ > 0)
    text += fmt::format("    {} completed sends whose {} bytes wait here for their receives\n", kept_count_,
                        kept_bytes_);
  for (const auto& [id, context] : contexts_) {
    std::string inside;
    describe_posted(context->any_source(), inside);
    context->peers().for_each([&](const ContextPeer& peer) {
      describe_posted(peer.posted, inside);
      describe_unexpected(peer, inside);
    });
    if (!inside.empty())
      text += fmt::format("  communicator {:#x}{} (rank {} of {}):\n{}", id & ~kCollectiveContext,
                          (id & kCollectiveContext) != 0 ? " (collective)" : "", context->rank(),
                          context->size(), inside);
  }
  return text.empty() ? "    nothing of Offramp's is pending\n" : text;
}

}  // namespace offramp
