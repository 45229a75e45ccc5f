// Describes what a rank waits for: the hang report.
#include <fmt/core.h>

#include "lib/run/engine/engine.hpp"

namespace offramp {
namespace {

std::string rank_text(int rank) {
  return rank == kAnySource ? "any" : fmt::format("{}", rank);
}
std::string tag_text(int tag) {
  return tag == kAnyTag ? "any" : fmt::format("{}", tag);
}

std::string outcome_of(const SendRecord& send) {
  if (!send.transport_done) return "not yet accepted by the peer";
  return "waits for a matching receive";
}

/// Adds a line for each of the first items of a list, and the number of the others: there may be a million.
void describe_each(const auto* item, auto next, auto line, std::string_view more, std::string& text) {
  constexpr std::size_t kShown = 5;
  std::size_t count = 0;
  for (; item != nullptr; item = next(*item)) {
    if (count++ < kShown) text += line(*item);
  }
  if (count > kShown) text += fmt::format("    ... and {} more {}\n", count - kShown, more);
}

void describe_posted(const PostedQueue& queue, std::string_view more, std::string& text) {
  describe_each(
      queue.front(), [](const ReceiveRecord& r) { return PostedQueue::next(r); },
      [](const ReceiveRecord& r) {
        return fmt::format("    posted receive: source {} tag {} room for {} bytes\n", rank_text(r.source),
                           tag_text(r.tag), r.buffer.size());
      },
      more, text);
}

void describe_unexpected(const ContextPeer& peer, std::string& text) {
  describe_each(
      peer.unexpected.front(), [](const UnexpectedMessage& m) { return m.by_source.next; },
      [](const UnexpectedMessage& m) {
        const Envelope& e = m.envelope;
        return fmt::format("    unexpected message: source {} tag {} {} bytes\n", e.source, e.tag, e.bytes);
      },
      "from this source", text);
  if (!peer.early.empty())
    text += fmt::format("    {} messages wait for sequence number {}\n", peer.early.size(),
                        peer.receive_sequence);
}

}  // namespace

std::string Engine::describe() const {
  std::string text = one_hop_.describe();
  describe_each(
      static_cast<const SendRecord*>(in_flight_.front()),
      [](const SendRecord& send) { return send.link.next; },
      [](const SendRecord& send) {
        const Envelope& e = send.envelope;
        return fmt::format("    send in flight: to rank {} (world {}) tag {} {} bytes: {}\n",
                           send.destination, send.destination_world, e.tag, e.bytes, outcome_of(send));
      },
      "sends in flight", text);
  if (deferred_count_ > 0)
    text += fmt::format("    {} completed sends with {} bytes buffered here until they are received\n",
                        deferred_count_, deferred_bytes_);
  for (const auto& [id, context] : contexts_) {
    std::string inside;
    describe_posted(context->any_source(), "from any source", inside);
    context->peers().for_each([&](const ContextPeer& peer) {
      describe_posted(peer.posted, "from this source", inside);
      describe_unexpected(peer, inside);
    });
    if (!inside.empty())
      text += fmt::format("  communicator {:#x}{} (rank {} of {}):\n{}", id & ~kCollectiveContext,
                          (id & kCollectiveContext) != 0 ? " (collective)" : "", context->rank(),
                          context->size(), inside);
  }
  return text.empty() ? "    no operation of Offramp is pending\n" : text;
}

}  // namespace offramp
