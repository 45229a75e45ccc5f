// A ring message either carries its payload, or concerns a payload that stays at the sender
// (RingMessageKind): the sender offers it, and the receiver ends the offer after copying the payload, or
// because it does not want it.
//
// Some payloads are packed in pieces. The receiver requests a piece, and the sender answers with its address.
// The receiver requests the next piece before it copies this one, so that one side packs while the other
// unpacks.
//
// If the kernel refuses a copy, the receiver requests the bytes, and they come through the ring: the program
// may have changed its user since the start, or may have protected the memory to detect writes.
//
// Messages for a full ring wait in order until the peer has read more (Peer::waiting).
#include "lib/run/fabric/node_fabric.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <utility>

#include "lib/run/fabric/memory_fabric.hpp"

namespace offramp {
namespace {

enum class RingMessageKind : std::uint32_t { kMessage, kOffer, kEnd, kAsk, kPiece, kAskBytes, kBytes };

/// Describes a payload that stays at the sender, in a ring message.
struct RemotePayload {
  std::uint64_t address = 0;  // at the sender; 0: the payload is packed in pieces
  std::uint64_t size = 0;     // of the payload, the piece, or the bytes
  std::uint64_t offer = 0;    // number of the offer at the sender
  std::uint64_t pull = 0;     // number of the pull at the receiver, for pieces and bytes through the ring
};

// Larger pieces are no faster: the caches can contain two of this size.
constexpr std::size_t kPiece = std::size_t{256} << 10;

/// Offers or pulls by number. Numbers are reused.
template <typename T>
class Numbered {
 public:
  // Returns the object's number. Freed numbers are used first, so the table stays small.
  std::uint64_t add(T object) {
    if (free_.empty()) {
      free_.push_back(all_.size());
      all_.emplace_back();
    }
    const std::uint64_t number = free_.back();
    free_.pop_back();
    all_[number] = std::move(object);
    return number;
  }
  /// Null if this peer has no object with that number.
  T* find(std::uint64_t number, std::size_t peer) {
    return number < all_.size() && all_[number].peer == static_cast<int>(peer) ? &all_[number] : nullptr;
  }
  // Returns the object. Its number may be used again at once.
  T remove(std::uint64_t number) {
    free_.push_back(number);
    return std::exchange(all_[number], T());
  }

 private:
  std::deque<T> all_;
  std::vector<std::uint64_t> free_;
};

std::span<const std::byte> bytes_of(const auto& value) {
  return std::as_bytes(std::span(&value, 1));
}

class NodeFabric final : public ProcessFabric {
 public:
  NodeFabric(int rank, int ranks) : rank_(rank), peers_(static_cast<std::size_t>(ranks)), self_(rank) {}

  /// Returns false on all ranks if memory is insufficient.
  bool open(double bytes, const NodeRings::Exchange& exchange) {
    std::vector<int> node(peers_.size());
    for (std::size_t i = 0; i < node.size(); ++i) node[i] = static_cast<int>(i);
    // A run of one rank needs no rings: all its messages are its own.
    bool good = peers_.size() == 1;
    if (!good) {
      rings_.open(node, rank_, bytes, exchange);
      good = rings_.join_all();
    }
    for (std::size_t i = 0; i < peers_.size() && good; ++i) {
      if (i == self()) continue;
      peers_[i].ring = rings_.towards(i);
      good = peers_[i].ring != nullptr && peers_[i].ring->largest() >= kMostInRing;
    }
    // Every rank takes part in the exchange, also after a failure: the others wait for it.
    const std::vector<std::string> all = exchange(good ? std::to_string(getpid()) : std::string());
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      const char* const end = all[i].data() + all[i].size();
      good = std::from_chars(all[i].data(), end, peers_[i].process).ec == std::errc() && good;
    }
    return good;
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int ranks() const override { return static_cast<int>(peers_.size()); }

  State send(int peer, std::span<const std::byte> header, std::span<const std::byte> payload,
             FabricWaiter& waiter) override {
    if (peer == rank_) return self_.send(header, payload, waiter);
    if (payload.size() > kLargestInRing) return offer(peer, header, payload, waiter);
    Peer& to = peers_[static_cast<std::size_t>(peer)];
    // A message must not overtake those that wait for room.
    if (to.waiting.empty() &&
        to.ring->write(header, payload, static_cast<std::uint32_t>(RingMessageKind::kMessage)))
      return State::kDone;
    wait(to, {RingMessageKind::kMessage, header, payload, {}, &waiter});
    return State::kPending;
  }

  State offer(int peer, std::span<const std::byte> header, std::span<const std::byte> payload,
              FabricWaiter& waiter) override {
    if (peer == rank_) return self_.offer(header, payload, waiter);
    const RemotePayload place = {.address = reinterpret_cast<std::uintptr_t>(payload.data()),
                                 .size = payload.size(),
                                 // The peer names the offer by its number, never by an address.
                                 .offer = offers_.add({peer, &waiter, nullptr, payload, {}})};
    write(peers_[static_cast<std::size_t>(peer)], {RingMessageKind::kOffer, header, {}, place, nullptr});
    return State::kPending;
  }

  [[nodiscard]] bool has_pieces(int peer) const override { return peer != rank_; }

  State offer_pieces(int peer, std::span<const std::byte> header, PieceSource& source, std::size_t bytes,
                     FabricWaiter& waiter) override {
    const RemotePayload place = {.size = bytes, .offer = offers_.add({peer, &waiter, &source, {}, {}})};
    write(peers_[static_cast<std::size_t>(peer)], {RingMessageKind::kOffer, header, {}, place, nullptr});
    return State::kPending;
  }

  State pull(void* remote, std::span<std::byte> into, FabricWaiter& waiter) override {
    if (SelfPath::owns(remote)) {
      SelfPath::pull(remote, into);
      return State::kDone;
    }
    const std::unique_ptr<Remote> from(static_cast<Remote*>(remote));
    if (from->place.address == 0) return begin_pull(*from, nullptr, into, waiter);
    const std::optional<std::size_t> copied = copy(from->peer, from->place.address, into);
    // The kernel refused some of it. The rest comes through the ring.
    if (copied && *copied < into.size()) {
      Pull& pull = add_pull(*from, nullptr, 0, waiter);
      request_bytes(pull, from->place.address + *copied, into.subspan(*copied));
      return State::kPending;
    }
    end_offer_of(*from);
    return copied ? State::kDone : State::kFailed;
  }

  State pull_pieces(void* remote, PieceSink& sink, FabricWaiter& waiter) override {
    const std::unique_ptr<Remote> from(static_cast<Remote*>(remote));
    if (from->place.address == 0) return begin_pull(*from, &sink, {}, waiter);
    const RemotePayload& place = from->place;
    // The kernel copies piece by piece, so that the sink unpacks what is in the caches.
    for (std::uint64_t at = 0; at < place.size; at += kPiece) {
      const std::span<std::byte> piece = room_for(std::min<std::uint64_t>(kPiece, place.size - at));
      const std::optional<std::size_t> copied = copy(from->peer, place.address + at, piece);
      const std::uint64_t end = at + piece.size();
      if (copied == piece.size()) {
        sink.use(piece, end == place.size);
      } else if (copied) {
        Pull& pull = add_pull(*from, &sink, place.size - end, waiter);
        pull.rest = place.address + end;
        request_bytes(pull, place.address + at, own_room(pull, piece.size()));
        return State::kPending;
      } else {
        end_offer_of(*from);
        return State::kFailed;
      }
    }
    end_offer_of(*from);
    return State::kDone;
  }

  void drop(void* remote) override {
    if (SelfPath::owns(remote)) return SelfPath::drop(remote);
    const std::unique_ptr<Remote> from(static_cast<Remote*>(remote));
    // After close(), the sender may have freed its ring.
    if (!closed_) end_offer_of(*from);
  }

  std::span<std::byte> shared_memory(int peer) override {
    return rings_.shared_memory(static_cast<std::size_t>(peer));
  }
  bool reserve(std::span<std::byte> part) override { return NodeRings::reserve(part); }

  int progress(Sink& sink) override {
    int events = 0;
    rings_.for_each_sender([&](std::size_t index) {
      // This test reads one cache line per ring, which stays in this core's cache while nothing arrives.
      if (!rings_.is_empty(index)) events += read(index, sink);
    });
    if (waiting_ > 0) events += write_waiting();
    return events + self_.progress(sink);
  }

  void close(Sink& sink) override {
    drain_until(sink, [this] { return waiting_ == 0; });
    closed_ = true;
  }

 private:
  /// A message for a full ring. Header and payload must stay valid until it is written.
  struct Waiting {
    RingMessageKind kind = RingMessageKind::kMessage;
    std::span<const std::byte> header;
    std::span<const std::byte> payload;
    RemotePayload place;  // of an offer; for an end, its number
    FabricWaiter* waiter = nullptr;
  };
  struct Peer {
    RingWriter* ring = nullptr;
    pid_t process = 0;
    std::deque<Waiting> waiting;
  };
  /// A payload at another rank.
  struct Remote {
    std::size_t peer = 0;
    RemotePayload place;
  };
  /// A payload of this rank that a peer may copy.
  struct Offer {
    int peer = -1;  // -1: unused
    FabricWaiter* waiter = nullptr;
    PieceSource* source = nullptr;  // packs the pieces; null: the payload is in memory
    std::span<const std::byte> payload;
    // Two pieces: the peer copies one while the other is packed.
    std::unique_ptr<std::byte[]> room;
    bool is_second = false;  // the next piece goes to the second half of the room
  };
  /// A payload that arrives in pieces, or whose bytes come through the ring.
  struct Pull {
    int peer = -1;              // -1: unused
    PieceSink* sink = nullptr;  // null: the payload goes to `into`
    std::span<std::byte> into;
    std::uint64_t left = 0;          // bytes after the current piece
    FabricWaiter* waiter = nullptr;  // null: the pull has failed
    RemotePayload place = {};        // with the numbers of the offer and of this pull
    std::uint64_t rest = 0;          // address of the bytes counted in `left`, if the payload is in memory
    // Bytes of the current piece that come through the ring; empty: none.
    std::span<std::byte> missing = {};
    std::uint64_t missing_from = 0;
    std::unique_ptr<std::byte[]> room = {};  // for a sink's piece through the ring
    std::size_t piece = 0;                   // its size
    RemotePayload next = {};                 // a piece that arrived meanwhile; size 0: none
  };

  // Room for the largest header and payload.
  static constexpr std::size_t kMostInRing = RingWord::room(kMaxHeader, kLargestInRing);

  [[nodiscard]] std::size_t self() const { return static_cast<std::size_t>(rank_); }

  /// The peer has copied the payload, or does not want it. False if the offer does not exist.
  bool end_offer(std::uint64_t number, std::size_t peer) {
    if (offers_.find(number, peer) == nullptr) return false;
    // The offer is removed first: the callback may begin another one.
    FabricWaiter* const waiter = offers_.remove(number).waiter;
    if (!closed_) waiter->notify(*waiter, true);
    return true;
  }
  void end_offer_of(const Remote& from) {
    write(peers_[from.peer], {RingMessageKind::kEnd, {}, {}, from.place, nullptr});
  }

  State begin_pull(const Remote& from, PieceSink* sink, std::span<std::byte> into, FabricWaiter& waiter) {
    Pull& pull = add_pull(from, sink, from.place.size, waiter);
    pull.into = into;
    write(peers_[from.peer], {RingMessageKind::kAsk, {}, {}, pull.place, nullptr});
    return State::kPending;
  }

  Pull& add_pull(const Remote& from, PieceSink* sink, std::uint64_t left, FabricWaiter& waiter) {
    const std::uint64_t number =
        pulls_.add({static_cast<int>(from.peer), sink, {}, left, &waiter, from.place});
    Pull& pull = *pulls_.find(number, from.peer);
    pull.place.pull = number;
    return pull;
  }
  void end_pull(Pull& pull, std::size_t peer) {
    write(peers_[peer], {RingMessageKind::kEnd, {}, {}, pull.place, nullptr});
    // Removed first: the callback may begin another pull.
    FabricWaiter* const waiter = pulls_.remove(pull.place.pull).waiter;
    if (waiter != nullptr && !closed_) waiter->notify(*waiter, true);
  }

  /// Requests bytes that the kernel does not copy.
  void request_bytes(Pull& pull, std::uint64_t from, std::span<std::byte> into) {
    pull.missing = into;
    pull.missing_from = from;
    RemotePayload place = pull.place;
    place.address = from;
    place.size = into.size();
    write(peers_[static_cast<std::size_t>(pull.peer)], {RingMessageKind::kAskBytes, {}, {}, place, nullptr});
  }

  /// Returns false if the request is invalid.
  bool send_bytes(RemotePayload place, std::size_t peer) {
    const Offer* const offer = offers_.find(place.offer, peer);
    if (offer == nullptr) return false;
    // Only bytes that were offered may be requested: the payload, or the room of the pieces.
    const std::span<const std::byte> all =
        offer->source == nullptr
            ? offer->payload
            : std::span<const std::byte>(offer->room.get(), offer->room ? 2 * kPiece : 0);
    const std::uint64_t at = place.address - reinterpret_cast<std::uintptr_t>(all.data());
    // The request comes from another process: a range outside of the offer is refused.
    if (place.size == 0 || at >= all.size() || place.size > all.size() - at) return false;
    place.size = std::min<std::uint64_t>(place.size, kLargestInRing);
    write(peers_[peer], {RingMessageKind::kBytes, {}, all.subspan(at, place.size), place, nullptr});
    return true;
  }

  /// Returns false if the message is invalid.
  bool receive_bytes(const RingReader::RingMessage& message, std::size_t peer) {
    RemotePayload place;
    if (message.header.size() != sizeof place) return false;
    std::memcpy(&place, message.header.data(), sizeof place);
    Pull* const pull = pulls_.find(place.pull, peer);
    const std::span<const std::byte> bytes = message.payload;
    // Only the bytes that were requested are accepted, in order.
    if (pull == nullptr || bytes.empty() || bytes.size() > pull->missing.size() ||
        place.address != pull->missing_from)
      return false;
    if (closed_) {
      end_pull(*pull, peer);
      return true;
    }
    std::memcpy(pull->missing.data(), bytes.data(), bytes.size());
    const std::span<std::byte> more = pull->missing.subspan(bytes.size());
    if (!more.empty()) {
      request_bytes(*pull, place.address + bytes.size(), more);
      return true;
    }
    pull->missing = {};
    return resume_pull(*pull, peer);
  }

  /// Continues after a piece has arrived through the ring.
  bool resume_pull(Pull& pull, std::size_t peer) {
    const bool is_last = pull.left == 0;
    if (pull.sink != nullptr) pull.sink->use({pull.room.get(), pull.piece}, is_last);
    if (is_last) {
      end_pull(pull, peer);
    } else if (pull.rest != 0) {
      const std::uint64_t size = std::min<std::uint64_t>(kPiece, pull.left);
      pull.left -= size;
      request_bytes(pull, std::exchange(pull.rest, pull.rest + size), own_room(pull, size));
    } else if (pull.next.size != 0) {
      return receive_piece(std::exchange(pull.next, {}), peer);
    }
    return true;
  }

  static std::span<std::byte> own_room(Pull& pull, std::size_t size) {
    if (pull.room == nullptr) pull.room = std::make_unique_for_overwrite<std::byte[]>(kPiece);
    pull.piece = size;
    return {pull.room.get(), size};
  }
  std::span<std::byte> room_for(std::size_t size) {
    piece_.resize(kPiece);
    return {piece_.data(), size};
  }

  /// Returns false if the request is invalid.
  bool make_piece(RemotePayload place, std::size_t peer) {
    Offer* const offer = offers_.find(place.offer, peer);
    if (offer == nullptr || offer->source == nullptr) return false;
    if (offer->room == nullptr) offer->room = std::make_unique_for_overwrite<std::byte[]>(2 * kPiece);
    std::byte* const piece =
        offer->room.get() + (std::exchange(offer->is_second, !offer->is_second) ? kPiece : 0);
    place.address = reinterpret_cast<std::uintptr_t>(piece);
    place.size = offer->source->make({piece, kPiece});
    write(peers_[peer], {RingMessageKind::kPiece, {}, {}, place, nullptr});
    return true;
  }

  /// Returns false if the message is invalid.
  bool receive_piece(const RemotePayload& place, std::size_t peer) {
    Pull* const pull = pulls_.find(place.pull, peer);
    // The size comes from the peer. It must fit into the room and the rest of the payload.
    if (pull == nullptr || place.size == 0 || place.size > std::min<std::uint64_t>(kPiece, pull->left))
      return false;
    if (!pull->missing.empty()) {  // the previous piece is still coming through the ring
      if (pull->next.size != 0) return false;
      pull->next = place;
      return true;
    }
    pull->left -= place.size;
    const bool is_last = pull->left == 0;
    // The next piece is requested before this one is copied, so that the sender packs it meanwhile.
    if (!is_last) write(peers_[peer], {RingMessageKind::kAsk, {}, {}, place, nullptr});
    if (pull->waiter != nullptr && !closed_) {
      const std::span<std::byte> into =
          pull->sink != nullptr ? room_for(place.size) : pull->into.first(place.size);
      if (pull->sink == nullptr) pull->into = pull->into.subspan(place.size);
      const std::optional<std::size_t> copied = copy(peer, place.address, into);
      if (!copied) {
        // The pull stays in the table without a waiter, since pieces may still arrive.
        FabricWaiter* const failed = std::exchange(pull->waiter, nullptr);
        failed->notify(*failed, false);
      } else if (*copied < into.size()) {
        request_bytes(*pull, place.address, pull->sink != nullptr ? own_room(*pull, place.size) : into);
        return true;
      } else if (pull->sink != nullptr) {
        pull->sink->use(into, is_last);
      }
    }
    if (is_last) end_pull(*pull, peer);
    return true;
  }

  /// Returns the number of bytes that the kernel copied; `nullopt` if the peer is gone.
  std::optional<std::size_t> copy(std::size_t peer, std::uint64_t address, std::span<std::byte> into) const {
    std::size_t copied = 0;
    while (copied < into.size()) {
      iovec local{into.data() + copied, into.size() - copied};
      iovec remote{reinterpret_cast<void*>(address + copied), into.size() - copied};
      const ssize_t n = process_vm_readv(peers_[peer].process, &local, 1, &remote, 1, 0);
      // The process has ended. Every other error means that the kernel refuses, for which the ring is the
      // remedy.
      if (n < 0 && errno == ESRCH) return std::nullopt;
      if (n <= 0) break;
      copied += static_cast<std::size_t>(n);
    }
    return copied;
  }

  static bool write_now(Peer& to, const Waiting& what) {
    const auto kind = static_cast<std::uint32_t>(what.kind);
    if (what.kind == RingMessageKind::kBytes) return to.ring->write(bytes_of(what.place), what.payload, kind);
    return to.ring->write(what.header,
                          what.kind == RingMessageKind::kMessage ? what.payload : bytes_of(what.place), kind);
  }
  void write(Peer& to, const Waiting& what) {
    if (!to.waiting.empty() || !write_now(to, what)) wait(to, what);
  }
  void wait(Peer& to, const Waiting& what) {
    to.waiting.push_back(what);
    ++waiting_;
  }
  [[gnu::noinline]] int write_waiting() {
    int events = 0;
    for (Peer& to : peers_) {
      while (!to.waiting.empty() && write_now(to, to.waiting.front())) {
        // Removed before the callback, which may send.
        FabricWaiter* const waiter = to.waiting.front().waiter;
        to.waiting.pop_front();
        --waiting_;
        ++events;
        if (waiter != nullptr && !closed_) waiter->notify(*waiter, true);
      }
    }
    return events;
  }

  // Not inlined, to keep progress() short, which usually finds no message.
  [[gnu::noinline]] int read(std::size_t index, Sink& sink) {
    return rings_.read(index, sink, [&](const auto& message) { return handle_message(index, message, sink); })
               ? 1
               : 0;
  }

  NodeRings::Taken handle_message(std::size_t index, const RingReader::RingMessage& message, Sink& sink) {
    using Taken = NodeRings::Taken;
    if (message.after == static_cast<std::uint32_t>(RingMessageKind::kMessage)) {
      sink.deliver({message.header, message.payload.data(), message.payload.size()});
      return Taken::kYes;
    }
    if (message.after == static_cast<std::uint32_t>(RingMessageKind::kBytes))
      return receive_bytes(message, index) ? Taken::kYes : Taken::kDamaged;
    RemotePayload place;
    if (message.payload.size() != sizeof place) return Taken::kDamaged;
    std::memcpy(&place, message.payload.data(), sizeof place);
    bool good = true;
    switch (static_cast<RingMessageKind>(message.after)) {
      case RingMessageKind::kMessage:
      case RingMessageKind::kBytes:
        break;
      case RingMessageKind::kOffer:
        // The sink owns the handle until pull() or drop().
        sink.deliver({message.header, nullptr, place.size, new Remote{index, place}});
        break;
      case RingMessageKind::kEnd:
        good = end_offer(place.offer, index);
        break;
      case RingMessageKind::kAsk:
        good = make_piece(place, index);
        break;
      case RingMessageKind::kPiece:
        good = receive_piece(place, index);
        break;
      case RingMessageKind::kAskBytes:
        good = send_bytes(place, index);
        break;
      default:
        good = false;
    }
    return good ? Taken::kYes : Taken::kDamaged;
  }

  int rank_;
  NodeRings rings_;
  std::vector<Peer> peers_;
  std::size_t waiting_ = 0;  // over all peers
  Numbered<Offer> offers_;
  Numbered<Pull> pulls_;
  std::vector<std::byte> piece_;  // copied but not yet unpacked
  SelfPath self_;
  bool closed_ = false;
};

}  // namespace

std::unique_ptr<ProcessFabric> open_node_fabric(int rank, int ranks, double bytes,
                                                const NodeRings::Exchange& exchange) {
  auto fabric = std::make_unique<NodeFabric>(rank, ranks);
  if (!fabric->open(bytes, exchange)) return nullptr;
  return fabric;
}

}  // namespace offramp
