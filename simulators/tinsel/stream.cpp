// Simulates one stream fragment by fragment (Stream), and long ones by extrapolation (run_stream()).
//
// Stream is software on the machine: it sends, and the machine calls back for deliveries and timers. Credits
// return per block of fragments along a tree: from mailboxes to the first one of their board, and from boards
// to the previous board on the path from the source. The source therefore receives them from a few groups
// instead of from every receiver.
//
// A stream becomes periodic with a period of one window, or of 4 or 16 windows if its rates are not
// multiples. extrapolate() runs three streams whose lengths differ by one period. If all their times grow
// equally, it extrapolates them to the long stream. Otherwise it tries the next longer period, and finally
// simulates every fragment, as for captures and with faults.
#include "simulators/tinsel/stream.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "simulators/tinsel/placement.hpp"

namespace offramp::tinsel {
namespace {

constexpr std::uint32_t kCredit = 0xffffffff;  // tag of a credit; data fragments use their number
constexpr int kMostWorkers = 32;               // four cores with eight instructions in flight
constexpr std::uint64_t kShortest = 6;         // periods before a stream may count as periodic

class Stream final : public Software {
 public:
  Stream(Machine& machine, const SoftwareSpec& software, const StreamRequest& request)
      : machine_(machine), software_(software), request_(request) {
    result_.fragments = fragments_of(request.bytes, request.envelope);
    result_.destinations.resize(request.destinations.size());
    window_ = static_cast<std::uint64_t>(software.window);
    // Half a window, so that credits arrive before the source has used the other half.
    block_ = std::max<std::uint64_t>(1, window_ / 2);
    make_groups();
  }

  StreamResult run() {
    machine_.reset();
    machine_.run_on(this);
    machine_.set_faults(request_.faults, request_.number << 24U, request_.epoch);
    allowed_ = window_;
    advance({});
    const bool whole = machine_.run();
    machine_.run_on(nullptr);
    machine_.set_faults({}, 0, {});
    // A broken link or a deadlock may end the run before all fragments arrive.
    for (const Receiver& receiver : receivers_)
      result_.ok = result_.ok && receiver.received == result_.fragments;
    result_.ok = result_.ok && whole;
    result_.counters = machine_.counters();
    return std::move(result_);
  }

  void delivered(const Delivery& delivery) override {
    const MailboxMessage& m = delivery.message;
    const auto group = groups_.find({m.board, m.mailbox});
    if (m.tag == kCredit) return credited(delivery, group);
    // The stream has no destination in this mailbox.
    if (group == groups_.end()) return;
    for (const std::size_t d : group->second.members) {
      const ThreadLocation& place = request_.destinations[d];
      if ((m.to.mask >> place.thread & 1U) != 0) receive(delivery, d);
    }
  }

  void timer(Time at, std::uint64_t cookie) override {
    if (cookie != kSourceTimer) return read(at, cookie);
    waiting_ = false;
    advance(at);
  }

 private:
  using At = std::pair<int, int>;  // board, mailbox

  static constexpr std::uint64_t kSourceTimer = ~std::uint64_t{0};

  /// A fragment that a receiver's thread is reading.
  struct Reading {
    std::size_t destination = 0;
    std::uint32_t slot = 0;
    std::uint32_t tag = 0;
    int flits = 1;
  };
  struct Receiver {
    Arbiter engine;
    std::uint64_t received = 0;
    std::uint64_t next = 0;
    int crowd = 1;  // receivers on the same core
  };
  /// The receivers of a mailbox report together; one of them sends credits towards the source.
  struct Group {
    std::vector<std::size_t> members;
    At parent{-1, -1};      // (-1, -1): the source
    std::size_t below = 0;  // number of groups that report to this one
    std::map<std::uint64_t, std::pair<std::size_t, Time>>
        blocks;  // reports of a block so far, and their latest
  };

  void make_groups() {
    receivers_.resize(request_.destinations.size());
    std::map<std::pair<At, int>, int> crowds;
    for (std::size_t d = 0; d < request_.destinations.size(); ++d) {
      const ThreadLocation& place = request_.destinations[d];
      groups_[{place.board, place.mailbox}].members.push_back(d);
      ++crowds[{{place.board, place.mailbox}, place.core()}];
    }
    for (std::size_t d = 0; d < receivers_.size(); ++d) {
      const ThreadLocation& place = request_.destinations[d];
      receivers_[d].crowd = crowds[{{place.board, place.mailbox}, place.core()}];
    }
    for (const auto& [where, group] : groups_) {
      std::uint64_t mask = 0;
      for (const std::size_t d : group.members) mask |= std::uint64_t{1} << request_.destinations[d].thread;
      mailboxes_.push_back(Address::threads(static_cast<std::uint16_t>(where.first),
                                            static_cast<std::uint8_t>(where.second), mask));
    }
    if (groups_.size() < 2) return;
    // Mailboxes report to the first one of their board; boards report to the previous board of the tree.
    std::map<int, At> leaders;
    for (const auto& [at, group] : groups_) leaders.emplace(at.first, at);
    for (auto& [at, group] : groups_) {
      At up = leaders.at(at.first);
      if (up == at) {
        up = {-1, -1};
        const Mesh& mesh = machine_.spec().mesh;
        for (int b = parent_board(mesh, request_.source.board, at.first); b >= 0 && up.first < 0;
             b = parent_board(mesh, request_.source.board, b)) {
          if (const auto leader = leaders.find(b); leader != leaders.end()) up = leader->second;
        }
      }
      group.parent = up;
      if (up.first >= 0) ++groups_.at(up).below;
    }
    for (const auto& [at, group] : groups_) reporters_ += group.parent.first < 0 ? 1 : 0;
  }

  [[nodiscard]] std::uint64_t payload(std::uint64_t fragment) const {
    const std::uint64_t total = request_.bytes + (request_.envelope ? kEnvelopeBytes : 0);
    return std::min(kFragmentBytes, total - std::min(total, fragment * kFragmentBytes));
  }
  [[nodiscard]] int flits(std::uint64_t fragment) const {
    return static_cast<int>((4 + payload(fragment) + kFlitBytes - 1) / kFlitBytes);
  }
  [[nodiscard]] std::int64_t instructions(int handling, int words) const {
    return handling + static_cast<std::int64_t>(software_.copy_word) * words;
  }
  /// Time of one thread for a fragment (latency), and until the next fragment can follow (interval).
  [[nodiscard]] Time latency(std::int64_t count, int crowd) const {
    // A thread issues one instruction per pipeline pass. More threads on the core slow each of them.
    return machine_.spec().cycles(count * std::max(software_.pipeline, crowd));
  }
  [[nodiscard]] Time interval(std::int64_t count, int crowd) const {
    const int workers = std::clamp(request_.workers, 1, kMostWorkers);
    // The rank's threads take turns, so their work overlaps.
    return machine_.spec().cycles((count * std::max(software_.pipeline, crowd) + workers - 1) / workers);
  }

  /// Sends one copy at a time, as far as credits permit.
  void advance(Time at) {
    if (waiting_ || next_ == result_.fragments || next_ >= allowed_) return;
    result_.sent = later(result_.sent, send_one(at, next_message()));
    waiting_ = true;
    machine_.set_timer(later(source_.free_at(), at), kSourceTimer);
  }

  /// The next fragment's copy for the next target.
  MailboxMessage next_message() {
    MailboxMessage message;
    message.flits = static_cast<std::uint8_t>(flits(next_));
    message.tag = static_cast<std::uint32_t>(next_);
    message.words[0] = static_cast<std::uint32_t>(next_) << 16U;
    message.words[1] = static_cast<std::uint32_t>(next_);
    std::size_t targets = 1;
    if (request_.multicast == Multicast::kHardware) {
      message.to = Address::with_key(request_.key.encode());
    } else if (request_.multicast == Multicast::kMailbox) {
      message.to = mailboxes_[target_];
      targets = mailboxes_.size();
    } else {
      message.to = Address::thread(request_.destinations[target_]);
      targets = request_.destinations.size();
    }
    // All copies of a fragment leave before the next fragment.
    if (++target_ == targets) target_ = 0, ++next_;
    return message;
  }

  /// One of the rank's threads writes header and words into the send slot and sends.
  Time send_one(Time at, const MailboxMessage& message) {
    ++result_.sends;
    const int words = message.flits * kWordsPerFlit;
    const std::int64_t count = instructions(software_.fragment_send, words);
    const Time begin = source_.acquire(at, interval(count, 1)).begin;
    const Time done = later(begin + latency(count, 1), machine_.touch(begin, request_.source, words));
    machine_.send(done, request_.source, message);
    if (request_.tap != nullptr) request_.tap->sent(done, request_.source, message, message.tag);
    return done;
  }

  void receive(const Delivery& delivery, std::size_t d) {
    Receiver& receiver = receivers_[d];
    const MailboxMessage& m = delivery.message;
    const ThreadLocation& place = request_.destinations[d];
    const Time pointer = delivery.pointer[place.thread];
    if (receiver.received++ == 0) result_.destinations[d].first = pointer;
    // Fragments may overtake each other in the network. Their numbers restore the order.
    if (m.words[1] != receiver.next++) ++result_.out_of_order;
    const std::int64_t count = instructions(software_.fragment_receive, m.flits * kWordsPerFlit);
    const Time begin = receiver.engine.acquire(pointer, interval(count, receiver.crowd)).begin;
    if (unused_.empty()) {
      unused_.push_back(readings_.size());
      readings_.emplace_back();
    }
    readings_[unused_.back()] = {d, delivery.slot, m.tag, m.flits};
    // Reading occupies the mailbox's port when it begins, not now.
    machine_.set_timer(begin, unused_.back());
    unused_.pop_back();
  }

  void read(Time begin, std::uint64_t cookie) {
    const Reading reading = readings_[cookie];
    unused_.push_back(cookie);
    const ThreadLocation& place = request_.destinations[reading.destination];
    const int words = reading.flits * kWordsPerFlit;
    const std::int64_t count = instructions(software_.fragment_receive, words);
    const int crowd = receivers_[reading.destination].crowd;
    const Time done = later(begin + latency(count, crowd), machine_.touch(begin, place, words));
    Time& last = result_.destinations[reading.destination].last;
    last = later(last, done);
    machine_.free(done, reading.slot);
    const std::uint64_t block = reading.tag / block_;
    if ((reading.tag + 1) % block_ != 0 || !needs_credit(block)) return;
    const At at{place.board, place.mailbox};
    report(at, groups_.at(at), block, done);
  }

  /// The last window needs no credits.
  [[nodiscard]] bool needs_credit(std::uint64_t block) const {
    return (block + 1) * block_ + window_ < result_.fragments + block_;
  }

  void report(const At& at, Group& group, std::uint64_t block, Time done) {
    auto& [count, latest] = group.blocks[block];
    latest = later(latest, done);
    // A group reports once its members and all groups below have.
    if (++count < group.members.size() + group.below) return;
    const Time ready = latest + latency(software_.fragment_send, 1);
    group.blocks.erase(block);
    MailboxMessage credit;
    credit.tag = kCredit;
    credit.words[1] = static_cast<std::uint32_t>(block);
    ThreadLocation from;
    from.board = static_cast<std::uint16_t>(at.first);
    from.mailbox = static_cast<std::uint8_t>(at.second);
    from.thread = request_.destinations[group.members.front()].thread;
    credit.to = Address::thread(request_.source);
    if (group.parent.first >= 0) {
      const Group& up = groups_.at(group.parent);
      credit.to = Address::thread(request_.destinations[up.members.front()]);
    }
    machine_.send(ready, from, credit);
  }

  void credited(const Delivery& delivery, std::map<At, Group>::iterator group) {
    const MailboxMessage& m = delivery.message;
    const bool at_source = m.to.board == request_.source.board && m.to.mailbox == request_.source.mailbox &&
                           (m.to.mask >> request_.source.thread & 1U) != 0;
    const auto thread = static_cast<std::size_t>(std::countr_zero(m.to.mask));
    const Time seen = delivery.pointer[thread] + latency(software_.fragment_receive, 1);
    machine_.free(seen, delivery.slot);
    if (!at_source) return report(group->first, group->second, m.words[1], seen);
    auto& [count, latest] = credits_[m.words[1]];
    latest = later(latest, seen);
    if (++count < std::max<std::size_t>(1, reporters_)) return;
    allowed_ += block_;
    const Time at = latest;
    credits_.erase(m.words[1]);
    if (!waiting_ && next_ < result_.fragments) {
      waiting_ = true;
      machine_.set_timer(later(at, source_.free_at()), kSourceTimer);
    }
  }

  Machine& machine_;
  const SoftwareSpec& software_;
  const StreamRequest& request_;
  StreamResult result_;
  std::vector<Receiver> receivers_;
  std::map<At, Group> groups_;
  std::vector<Address> mailboxes_;
  std::vector<Reading> readings_;
  std::vector<std::size_t> unused_;  // indices into readings_
  std::size_t reporters_ = 0;
  std::map<std::uint64_t, std::pair<std::size_t, Time>> credits_;
  Arbiter source_;
  std::uint64_t window_ = 0;
  std::uint64_t block_ = 0;
  std::uint64_t next_ = 0;     // next fragment
  std::size_t target_ = 0;     // next copy of that fragment
  std::uint64_t allowed_ = 0;  // fragments permitted by credits
  bool waiting_ = false;       // a source timer is set
};

StreamRequest shortened(const StreamRequest& request, std::uint64_t fragments) {
  StreamRequest shorter = request;
  shorter.bytes -= fragments * kFragmentBytes;
  return shorter;
}

/// Extrapolates each counter to b + (b - a) * times.
void extend(MachineCounters& b, const MachineCounters& a, std::uint64_t times) {
  const auto grow = [times](std::uint64_t& to, std::uint64_t from) { to += (to - from) * times; };
  grow(b.injected, a.injected);
  grow(b.delivered, a.delivered);
  grow(b.pointers, a.pointers);
  grow(b.records, a.records);
  grow(b.inter_records, a.inter_records);
  grow(b.lookups, a.lookups);
  grow(b.beats, a.beats);
  grow(b.freed, a.freed);
  grow(b.link.packets, a.link.packets);
  grow(b.link.payload_bytes, a.link.payload_bytes);
  grow(b.link.wire_bytes, a.link.wire_bytes);
}

bool same_growth(const StreamResult& a, const StreamResult& b, const StreamResult& c) {
  if (!a.ok || !b.ok || !c.ok || b.sent - a.sent != c.sent - b.sent) return false;
  for (std::size_t d = 0; d < a.destinations.size(); ++d) {
    const auto& [first_a, last_a] = a.destinations[d];
    const auto& [first_b, last_b] = b.destinations[d];
    const auto& [first_c, last_c] = c.destinations[d];
    if (last_b - last_a != last_c - last_b || first_a != first_c || first_b != first_c) return false;
  }
  return true;
}

/// Returns false if the stream is too short or not periodic.
bool extrapolate(Machine& machine, const SoftwareSpec& software, const StreamRequest& request,
                 std::uint64_t period, StreamResult& c) {
  const std::uint64_t fragments = fragments_of(request.bytes, request.envelope);
  const std::uint64_t shortest = kShortest * period;
  if (fragments < shortest + 4 * period) return false;
  const std::uint64_t periods = (fragments - shortest) / period;
  const StreamResult a = run_whole_stream(machine, software, shortened(request, periods * period));
  const StreamResult b = run_whole_stream(machine, software, shortened(request, (periods - 1) * period));
  c = run_whole_stream(machine, software, shortened(request, (periods - 2) * period));
  // Two equal growths in a row: the stream is periodic.
  if (!same_growth(a, b, c)) return false;
  const std::uint64_t times = periods - 2;
  const auto signed_times = static_cast<std::int64_t>(times);
  c.sent += (c.sent - b.sent) * signed_times;
  for (std::size_t d = 0; d < c.destinations.size(); ++d)
    c.destinations[d].last += (c.destinations[d].last - b.destinations[d].last) * signed_times;
  c.sends += (c.sends - b.sends) * times;
  c.out_of_order += (c.out_of_order - b.out_of_order) * times;
  c.fragments = fragments;
  extend(c.counters, b.counters, times);
  return true;
}

}  // namespace

std::uint64_t fragments_of(std::uint64_t bytes, bool envelope) {
  const std::uint64_t total = bytes + (envelope ? kEnvelopeBytes : 0);
  return std::max<std::uint64_t>(1, (total + kFragmentBytes - 1) / kFragmentBytes);
}

StreamResult run_whole_stream(Machine& machine, const SoftwareSpec& software, const StreamRequest& request) {
  return Stream(machine, software, request).run();
}

StreamResult run_stream(Machine& machine, const SoftwareSpec& software, const StreamRequest& request) {
  if (request.tap != nullptr) return run_whole_stream(machine, software, request);
  // The period is mostly one window; if rates are not multiples of each other, it is several.
  for (const std::uint64_t windows : {1U, 4U, 16U}) {
    const std::uint64_t period = windows * static_cast<std::uint64_t>(software.window);
    StreamResult result;
    if (request.faults.any() || !extrapolate(machine, software, request, period, result)) continue;
    return result;
  }
  return run_whole_stream(machine, software, request);
}

}  // namespace offramp::tinsel
