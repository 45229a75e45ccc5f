#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "tests/model/programs.hpp"

namespace offramp::test {
namespace {

constexpr int kUnusedTag = 99999;

/// The expected result of a request or a call.
struct Expected {
  std::size_t step = 0;
  bool receives = false;
  bool any_source = false;
  int source = 0;
  int tag = 0;
  std::size_t bytes = 0;
  Outcome outcome = Outcome::kOk;
};

class Player {
 public:
  Player(RankHandle& rank, const Schedule& schedule, Log& log)
      : rank_(rank), schedule_(schedule), log_(log), communicators_(schedule.communicators.size()) {
    communicators_[0] = rank.world_communicator();
  }

  Task<void> play(std::size_t steps) {
    for (number_ = 0; number_ < steps; ++number_) {
      const Step& step = schedule_.steps[number_];
      const auto& communicator = communicators_[static_cast<std::size_t>(step.communicator)];
      if (!communicator) continue;
      co_await do_step(step, *communicator);
      look_at_clock();
    }
    co_await wait(Step::Wait::kEach);
  }

 private:
  Task<void> do_step(const Step& step, const Communicator& communicator) {
    const int own = communicator.rank();
    switch (step.kind) {
      case Step::Kind::kMessage:
        if (own == step.from) co_await send(step, communicator);
        if (own == step.to) co_await receive(step, communicator);
        break;
      case Step::Kind::kBatch:
        batch(step, communicator);
        break;
      case Step::Kind::kGathering:
        co_await gathering(step, communicator);
        break;
      case Step::Kind::kShift:
        co_await shift(step);
        break;
      case Step::Kind::kCollective:
        co_await collective(step, communicator);
        break;
      case Step::Kind::kCancel:
        if (own == step.to) co_await cancel(step, communicator);
        break;
      case Step::Kind::kCompute:
        if (own == step.to) rank_.compute(step.duration);
        break;
      case Step::Kind::kSplit:
        co_await split(step, communicator);
        break;
      case Step::Kind::kDuplicate: {
        const Communicator made = co_await rank_.duplicate(communicator);
        keep(made, step.made);
        break;
      }
      case Step::Kind::kSynchronize:
        co_await rank_.synchronize(communicator);
        break;
      case Step::Kind::kWait:
        if (own == step.to) co_await wait(step.wait);
        break;
      case Step::Kind::kNeighbours:
        co_await begun(
            rank_.neighbours(communicator, blocks_of(step, communicator.size(), own, true),
                             blocks_of(step, communicator.size(), own, false), step.operation.nonblocking),
            step);
        break;
      case Step::Kind::kAccess:
        if (own == step.from) co_await begun(access(step, communicator, step.sizes[0]), step);
        break;
      case Step::Kind::kEpoch:
        co_await epoch(step, communicator);
        break;
      case Step::Kind::kCount:
        break;
    }
  }

  // --- messages ---

  PersistentMessage message(const Step& step, const Communicator& communicator, bool sends) const {
    PersistentMessage message;
    message.sends = sends;
    const bool is_matched =
        step.send == Step::Send::kSynchronous || step.send == Step::Send::kNonblockingSynchronous;
    message.synchronous = is_matched ? Synchronous::kYes : Synchronous::kNo;
    message.communicator = communicator;
    message.peer = sends ? step.to : step.from;
    message.tag = !sends && step.any_tag ? kAnyTag : step.tag;
    message.bytes = sends ? step.sizes[0] : step.room;
    return message;
  }

  Task<void> send(const Step& step, const Communicator& communicator) {
    const bool blocks = step.send < Step::Send::kNonblocking;
    Expected expected;
    expected.step = number_;
    if (blocks && step.communicator == 0) {
      Outcome outcome = Outcome::kOk;
      if (step.send == Step::Send::kSynchronous) {
        outcome = co_await rank_.ssend(step.to, step.sizes[0], step.tag);
      } else {
        outcome = co_await rank_.send(step.to, step.sizes[0], step.tag);
      }
      Received done;
      done.outcome = outcome;
      check(expected, done);
      co_return;
    }
    RankRequest request = rank_.start(message(step, communicator, true));
    if (!blocks) {
      keep(std::move(request), expected);
      co_return;
    }
    const Received done = co_await rank_.wait(request);
    check(expected, done);
  }

  Expected expected_of(const Step& step) const {
    Expected expected;
    expected.step = number_;
    expected.receives = true;
    expected.source = step.from;
    expected.tag = step.tag;
    expected.bytes = std::min(step.sizes[0], step.room);
    if (step.sizes[0] > step.room) expected.outcome = Outcome::kTruncated;
    return expected;
  }

  Task<void> receive(const Step& step, const Communicator& communicator) {
    const Expected expected = expected_of(step);
    if (step.receive == Step::Receive::kProbed || step.receive == Step::Receive::kPolled)
      co_await look(step, communicator);
    RankRequest request = rank_.start(message(step, communicator, false));
    if (step.receive >= Step::Receive::kNonblocking) {
      keep(std::move(request), expected);
      co_return;
    }
    const Received received = co_await rank_.wait(request);
    check(expected, received);
  }

  Task<void> look(const Step& step, const Communicator& communicator) {
    Expected expected = expected_of(step);
    expected.bytes = step.sizes[0];
    expected.outcome = Outcome::kOk;
    const int tag = step.any_tag ? kAnyTag : step.tag;
    if (step.receive == Step::Receive::kProbed) {
      const Received found = co_await rank_.probe(communicator, step.from, tag);
      check(expected, found);
      co_return;
    }
    Time pause = Time::ns(50);
    std::optional<Received> found = co_await rank_.iprobe(communicator, step.from, tag);
    while (!found) {
      rank_.compute(pause);
      pause += pause;
      found = co_await rank_.iprobe(communicator, step.from, tag);
    }
    check(expected, *found);
  }

  /// Tags distinguish the messages, so the opposite order of the receives does not matter.
  void batch(const Step& step, const Communicator& communicator) {
    const int count = static_cast<int>(step.sizes.size());
    const auto part = [&](int i) {
      Step one = step;
      one.tag = 10 + i;
      one.any_tag = false;
      one.sizes = {step.sizes[static_cast<std::size_t>(i)]};
      one.room = one.sizes[0];
      return one;
    };
    if (communicator.rank() == step.from) {
      Expected expected;
      expected.step = number_;
      for (int i = 0; i < count; ++i) keep(rank_.start(message(part(i), communicator, true)), expected);
    }
    if (communicator.rank() != step.to) return;
    for (int i = count - 1; i >= 0; --i)
      keep(rank_.start(message(part(i), communicator, false)), expected_of(part(i)));
  }

  Task<void> gathering(const Step& step, const Communicator& of_step) {
    Communicator communicator = of_step;
    if (step.any_tag) communicator = co_await rank_.duplicate(of_step);
    Expected expected;
    expected.step = number_;
    for (std::size_t i = 0; i < step.senders.size(); ++i) {
      if (step.senders[i] == communicator.rank())
        keep(rank_.isend(communicator, step.to, step.sizes[i], step.tag), expected);
    }
    if (communicator.rank() != step.to) co_return;
    expected.receives = true;
    expected.any_source = true;
    expected.tag = step.tag;
    for (std::size_t i = 0; i < step.senders.size(); ++i) {
      RankRequest request =
          rank_.irecv(communicator, kAnySource, step.room, step.any_tag ? kAnyTag : step.tag);
      if (step.receive >= Step::Receive::kNonblocking) {
        keep(std::move(request), expected);
        continue;
      }
      const Received received = co_await rank_.wait(request);
      check(expected, received);
    }
  }

  Task<void> shift(const Step& step) {
    const int ranks = rank_.size();
    Expected expected = expected_of(step);
    expected.source = (rank_.rank() + ranks - step.from) % ranks;
    expected.bytes = step.sizes[0];
    expected.outcome = Outcome::kOk;
    const Received received = co_await rank_.sendrecv((rank_.rank() + step.from) % ranks, step.sizes[0],
                                                      expected.source, step.sizes[0], step.tag);
    check(expected, received);
  }

  Task<void> cancel(const Step& step, const Communicator& communicator) {
    RankRequest request = rank_.irecv(communicator, kAnySource, step.room, kUnusedTag);
    const bool cancelled = co_await rank_.cancel(request);
    const Received received = co_await rank_.wait(request);
    if (!cancelled || received.outcome != Outcome::kCancelled) fail("a receive could not be cancelled");
  }

  // --- collectives ---

  static std::size_t sum(const std::vector<std::size_t>& blocks) {
    return std::accumulate(blocks.begin(), blocks.end(), std::size_t{0});
  }

  static CollectiveSizes sizes_of(const Step& step, int rank) {
    const Operation& operation = step.operation;
    if (!has_blocks_of_different_sizes(operation.kind)) {
      CollectiveSizes sizes = offramp::sizes_of(operation, rank);
      sizes.in_place = sizes.in_place || step.in_place;
      return sizes;
    }
    const auto ranks = static_cast<std::size_t>(operation.ranks);
    const auto own = static_cast<std::size_t>(rank);
    const std::vector<std::size_t> blocks(step.sizes.begin(), step.sizes.begin() + operation.ranks);
    const bool root = rank == operation.root;
    CollectiveSizes sizes;
    switch (operation.kind) {
      case OperationKind::kGatherv:
        sizes.send = blocks[own];
        if (root) sizes.receive_blocks = blocks;
        break;
      case OperationKind::kAllgatherv:
        sizes.send = blocks[own];
        sizes.receive_blocks = blocks;
        break;
      case OperationKind::kScatterv:
        if (root) sizes.send_blocks = blocks;
        sizes.receive = blocks[own];
        break;
      case OperationKind::kReduceScatterv:
        sizes.send = sum(blocks);
        sizes.send_blocks = blocks;
        sizes.receive = blocks[own];
        break;
      default:
        for (std::size_t other = 0; other < ranks; ++other) {
          sizes.send_blocks.push_back(step.sizes[own * ranks + other]);
          sizes.receive_blocks.push_back(step.sizes[other * ranks + own]);
        }
    }
    return sizes;
  }

  Task<void> collective(const Step& step, const Communicator& communicator) {
    RankRequest request = rank_.start(communicator, step.operation, sizes_of(step, communicator.rank()),
                                      !step.operation.nonblocking);
    Expected expected;
    expected.step = number_;
    if (step.operation.nonblocking) {
      keep(std::move(request), expected);
      co_return;
    }
    const Received done = co_await rank_.wait(request);
    check(expected, done);
  }

  // --- beside messages and collectives ---

  Task<void> begun(RankRequest request, const Step& step) {
    Expected expected;
    expected.step = number_;
    if (step.operation.nonblocking) {
      keep(std::move(request), expected);
      co_return;
    }
    const Received done = co_await rank_.wait(request);
    check(expected, done);
  }

  RankRequest access(const Step& step, const Communicator& communicator, std::size_t size) {
    return rank_.access(communicator, step.to, step.operation.access, access_bytes(step, size, false),
                        access_bytes(step, size, true));
  }

  Task<void> epoch(const Step& step, const Communicator& communicator) {
    const int own = communicator.rank();
    const auto notify = [&](int peer, int tag) {
      RankRequest request = rank_.isend(communicator, peer, 0, tag);
      rank_.abandon(request);
    };
    if (own == step.to) notify(step.from, kPostTag);
    if (own == step.from) {
      (void)co_await rank_.receive(communicator, step.to, 0, kPostTag);
      std::vector<RankRequest> requests;
      for (const std::size_t size : step.sizes) requests.push_back(access(step, communicator, size));
      if (requests.size() == 1) {
        (void)co_await rank_.wait(requests[0]);
      } else {
        (void)co_await rank_.wait_all(requests);
      }
      notify(step.to, kCompleteTag);
    }
    if (own == step.to) (void)co_await rank_.receive(communicator, step.from, 0, kCompleteTag);
  }

  // --- communicators ---

  void keep(const Communicator& made, int number) {
    const std::vector<int>& members = schedule_.communicators[static_cast<std::size_t>(number)];
    if (made.size() != static_cast<int>(members.size())) return fail("a communicator has another size");
    for (int i = 0; i < made.size(); ++i) {
      if (made.world_rank(i) != members[static_cast<std::size_t>(i)])
        return fail("a communicator has another order");
    }
    if (made.world_rank(made.rank()) != rank_.rank()) return fail("a communicator gives another rank");
    communicators_[static_cast<std::size_t>(number)] = made;
  }

  Task<void> split(const Step& step, const Communicator& communicator) {
    const auto own = static_cast<std::size_t>(communicator.rank());
    const int color = step.colors[own];
    const std::optional<Communicator> made = co_await rank_.split(communicator, color, step.keys[own]);
    if (made.has_value() != (color >= 0)) {
      fail("a color decides who is in a new communicator");
    } else if (made) {
      keep(*made, step.made + color);
    }
  }

  // --- completion ---

  void keep(RankRequest&& request, const Expected& expected) {
    requests_.push_back(std::move(request));
    expected_.push_back(expected);
  }

  Task<void> wait(Step::Wait how) {
    std::vector<RankRequest> requests = std::move(requests_);
    const std::vector<Expected> expected = std::move(expected_);
    requests_.clear();
    expected_.clear();
    // wait_all() does not return the sources of wildcards.
    const bool any =
        std::any_of(expected.begin(), expected.end(), [](const auto& e) { return e.any_source; });
    if (how == Step::Wait::kAll && !any) {
      const auto bad = std::find_if(expected.begin(), expected.end(),
                                    [](const Expected& e) { return e.outcome != Outcome::kOk; });
      const Outcome outcome = co_await rank_.wait_all(requests);
      if (outcome != (bad != expected.end() ? bad->outcome : Outcome::kOk))
        fail("wait_all has another outcome");
      if (!requests.empty()) fail("wait_all leaves requests");
      co_return;
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (how == Step::Wait::kAny) {
        const auto [index, received] = co_await rank_.wait_any(requests);
        check(expected[index], received);
      } else if (how == Step::Wait::kTest) {
        co_await test(requests[i], expected[i]);
      } else {
        const Received received = co_await rank_.wait(requests[i]);
        check(expected[i], received);
      }
    }
  }

  Task<void> test(RankRequest& request, const Expected& expected) {
    Time pause = Time::ns(50);
    std::optional<Received> received = co_await rank_.test(request);
    while (!received) {
      rank_.compute(pause);
      pause += pause;
      received = co_await rank_.test(request);
    }
    check(expected, *received);
  }

  // --- what is checked ---

  void fail(const std::string& what) {
    if (log_.error.empty()) log_.error = fmt::format("rank {}, step {}: {}", rank_.rank(), number_, what);
  }

  void look_at_clock() {
    if (rank_.clock() < clock_) fail("the clock goes back");
    clock_ = rank_.clock();
  }

  void check(const Expected& expected, const Received& received) {
    look_at_clock();
    log_.entries.push_back({expected.step, received, clock_});
    if (received.outcome != expected.outcome)
      fail(fmt::format("the outcome of step {} is {}", expected.step, static_cast<int>(received.outcome)));
    if (!expected.receives) return;
    if (received.tag != expected.tag) fail(fmt::format("tag {}, not {}", received.tag, expected.tag));
    if (expected.any_source) return;  // see missing_messages()
    if (received.source != expected.source || received.bytes != expected.bytes)
      fail(fmt::format("step {}: {} bytes from {}, not {} from {}", expected.step, received.bytes,
                       received.source, expected.bytes, expected.source));
  }

  RankHandle& rank_;
  const Schedule& schedule_;
  Log& log_;
  std::vector<std::optional<Communicator>> communicators_;
  std::vector<RankRequest> requests_;
  std::vector<Expected> expected_;
  std::size_t number_ = 0;
  Time clock_;
};

}  // namespace

Task<void> play(RankHandle& rank, const Schedule& schedule, std::size_t steps, Log& log) {
  Player player(rank, schedule, log);
  co_await player.play(steps);
}

}  // namespace offramp::test
