// A message in a ring is one of three (Kind): a whole one; the offer of a payload that stays where it is; and
// the end of such an offer, once the peer has copied the payload or does not want it. What a full ring has no
// room for waits, in its order, until the peer has read more (Peer::waiting).
#include "lib/run/fabric/node_fabric.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <deque>

#include "lib/run/fabric/memory_fabric.hpp"

namespace offramp {
namespace {

enum class Kind : std::uint32_t { kMessage, kOffer, kEnd };

/// The payload in the ring of an offer.
struct Place {
  std::uint64_t address = 0;  // at the sender
  std::uint64_t size = 0;
  std::uint64_t offer = 0;  // its number there
};

std::span<const std::byte> bytes_of(const auto& value) {
  return std::as_bytes(std::span(&value, 1));
}

class NodeFabric final : public ProcessFabric {
 public:
  NodeFabric(int rank, int ranks) : rank_(rank), peers_(static_cast<std::size_t>(ranks)), self_(rank) {}

  /// False on all ranks: there is not enough memory.
  bool open(double bytes, const NodeRings::Exchange& exchange) {
    std::vector<int> node(peers_.size());
    for (std::size_t i = 0; i < node.size(); ++i) node[i] = static_cast<int>(i);
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
    if (to.waiting.empty() && to.ring->write(header, payload, static_cast<std::uint32_t>(Kind::kMessage)))
      return State::kDone;
    wait(to, {Kind::kMessage, header, payload, {}, &waiter});
    return State::kPending;
  }

  State offer(int peer, std::span<const std::byte> header, std::span<const std::byte> payload,
              FabricWaiter& waiter) override {
    if (peer == rank_) return self_.offer(header, payload, waiter);
    const Place place = {reinterpret_cast<std::uintptr_t>(payload.data()), payload.size(),
                         begin_offer(peer, waiter)};
    write(peers_[static_cast<std::size_t>(peer)], {Kind::kOffer, header, {}, place, nullptr});
    return State::kPending;
  }

  State pull(void* remote, std::span<std::byte> into, FabricWaiter& /*waiter*/) override {
    if (SelfPath::owns(remote)) {
      SelfPath::pull(remote, into);
      return State::kDone;
    }
    const std::unique_ptr<Remote> from(static_cast<Remote*>(remote));
    const bool copied = copy(*from, into);
    end_offer_of(*from);
    return copied ? State::kDone : State::kFailed;
  }

  void drop(void* remote) override {
    if (SelfPath::owns(remote)) return SelfPath::drop(remote);
    const std::unique_ptr<Remote> from(static_cast<Remote*>(remote));
    if (!closed_) end_offer_of(*from);
  }

  int progress(Sink& sink) override {
    int events = 0;
    rings_.for_each_sender([&](std::size_t index) {
      if (!rings_.is_empty(index)) events += read(index, sink);
    });
    if (waiting_ > 0) events += write_waiting();
    return events + self_.progress(sink);
  }

  void close(Sink& sink) override {
    let_out(sink, [this] { return waiting_ == 0; });
    closed_ = true;
  }

 private:
  /// What a ring had no room for. Header and payload stay where they are until it has.
  struct Waiting {
    Kind kind = Kind::kMessage;
    std::span<const std::byte> header;
    std::span<const std::byte> payload;
    Place place;  // of an offer; of an end its number
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
    Place place;
  };
  /// A payload of this rank that a peer may copy.
  struct Offer {
    int peer = -1;  // none: free
    FabricWaiter* waiter = nullptr;
  };

  // The largest header and payload that go through a ring.
  static constexpr std::size_t kMostInRing = RingWord::room(kMaxHeader, kLargestInRing);

  [[nodiscard]] std::size_t self() const { return static_cast<std::size_t>(rank_); }

  std::uint64_t begin_offer(int peer, FabricWaiter& waiter) {
    if (free_.empty()) {
      free_.push_back(offers_.size());
      offers_.emplace_back();
    }
    const std::uint64_t number = free_.back();
    free_.pop_back();
    offers_[number] = {peer, &waiter};
    return number;
  }

  /// The peer has copied it, or does not want it. False: it knows of no such offer.
  bool end_offer(std::uint64_t number, std::size_t peer) {
    if (number >= offers_.size() || offers_[number].peer != static_cast<int>(peer)) return false;
    FabricWaiter* const waiter = offers_[number].waiter;
    offers_[number] = {};
    free_.push_back(number);
    if (!closed_) waiter->notify(*waiter, true);
    return true;
  }
  void end_offer_of(const Remote& from) {
    write(peers_[from.peer], {Kind::kEnd, {}, {}, from.place, nullptr});
  }

  bool copy(const Remote& from, std::span<std::byte> into) const {
    std::uint64_t address = from.place.address;
    while (!into.empty()) {
      iovec local{into.data(), into.size()};
      iovec remote{reinterpret_cast<void*>(address), into.size()};
      const ssize_t n = process_vm_readv(peers_[from.peer].process, &local, 1, &remote, 1, 0);
      if (n <= 0) return false;
      into = into.subspan(static_cast<std::size_t>(n));
      address += static_cast<std::uint64_t>(n);
    }
    return true;
  }

  static bool write_now(Peer& to, const Waiting& what) {
    const auto payload = what.kind == Kind::kMessage ? what.payload : bytes_of(what.place);
    return to.ring->write(what.header, payload, static_cast<std::uint32_t>(what.kind));
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
        FabricWaiter* const waiter = to.waiting.front().waiter;
        to.waiting.pop_front();
        --waiting_;
        ++events;
        if (waiter != nullptr && !closed_) waiter->notify(*waiter, true);
      }
    }
    return events;
  }

  // Apart from progress(), which mostly finds nothing and is the shorter for it:
  [[gnu::noinline]] int read(std::size_t index, Sink& sink) {
    return rings_.read(index, sink, [&](const auto& message) { return take(index, message, sink); }) ? 1 : 0;
  }

  NodeRings::Taken take(std::size_t index, const RingReader::Message& message, Sink& sink) {
    using Taken = NodeRings::Taken;
    if (message.after == static_cast<std::uint32_t>(Kind::kMessage)) {
      sink.deliver({message.header, message.payload.data(), message.payload.size()});
      return Taken::kYes;
    }
    Place place;
    if (message.payload.size() != sizeof place) return Taken::kDamaged;
    std::memcpy(&place, message.payload.data(), sizeof place);
    if (message.after == static_cast<std::uint32_t>(Kind::kEnd))
      return end_offer(place.offer, index) ? Taken::kYes : Taken::kDamaged;
    if (message.after != static_cast<std::uint32_t>(Kind::kOffer)) return Taken::kDamaged;
    sink.deliver({message.header, nullptr, place.size, new Remote{index, place}});
    return Taken::kYes;
  }

  int rank_;
  NodeRings rings_;
  std::vector<Peer> peers_;
  std::size_t waiting_ = 0;  // over all peers
  std::vector<Offer> offers_;
  std::vector<std::uint64_t> free_;  // numbers in offers_
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
