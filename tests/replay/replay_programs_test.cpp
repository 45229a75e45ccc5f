// Random programs, written as events and replayed, end with the clocks of the programs themselves.
//
// tests/seeds.hpp sets their number.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "lib/answers/report/receipt.hpp"
#include "lib/answers/report/replay_records.hpp"
#include "tests/built_in_names.hpp"
#include "tests/model/programs.hpp"
#include "tests/replay/tape.hpp"
#include "tests/seeds.hpp"

namespace offramp {
namespace {

using recording::EventKind;
using test::Schedule;
using test::Step;
using test::Tape;

constexpr int kUnusedTag = 99999;  // for receives that are cancelled

std::uint64_t sum(const std::vector<std::size_t>& blocks) {
  return std::accumulate(blocks.begin(), blocks.end(), std::uint64_t{0});
}

/// Records one rank's part of a schedule (tests/model/play_programs.cpp).
class Scribe {
 public:
  Scribe(const Schedule& schedule, int rank) : schedule_(schedule), rank_(rank) {
    indices_.resize(schedule.communicators.size());
    indices_[0] = recording::kWorld;
  }

  Tape write() {
    for (const Step& step : schedule_.steps) {
      const auto& index = indices_[static_cast<std::size_t>(step.communicator)];
      if (!index) continue;
      communicator_ = *index;
      const std::vector<int>& members = members_of(step.communicator);
      own_ = static_cast<int>(std::find(members.begin(), members.end(), rank_) - members.begin());
      do_step(step, members);
    }
    wait(Step::Wait::kEach);
    tape_.native();  // after the time that it computes last
    return std::move(tape_);
  }

 private:
  void do_step(const Step& step, const std::vector<int>& members) {
    switch (step.kind) {
      case Step::Kind::kMessage:
        if (own_ == step.from) send(step);
        if (own_ == step.to) receive(step);
        break;
      case Step::Kind::kBatch:
        batch(step);
        break;
      case Step::Kind::kGathering:
        gathering(step, members);
        break;
      case Step::Kind::kShift:
        shift(step);
        break;
      case Step::Kind::kCollective:
        collective(step);
        break;
      case Step::Kind::kCancel:
        if (own_ == step.to) cancel(step);
        break;
      case Step::Kind::kCompute:
        if (own_ == step.to) tape_.compute(static_cast<std::uint64_t>(step.duration.count() / 1000));
        break;
      case Step::Kind::kSplit:
        tape_.meet(communicator_);
        if (const int color = step.colors[static_cast<std::size_t>(own_)]; color >= 0)
          make(step.made + color);
        break;
      case Step::Kind::kDuplicate:
        tape_.meet(communicator_);
        make(step.made);
        break;
      case Step::Kind::kSynchronize:
        tape_.meet(communicator_);
        break;
      case Step::Kind::kWait:
        if (own_ == step.to) wait(step.wait);
        break;
      case Step::Kind::kNeighbours:
        neighbours(step, static_cast<int>(members.size()));
        break;
      case Step::Kind::kAccess:
        if (own_ != step.from) break;
        if (const std::uint64_t request = access(step, step.sizes[0], !step.operation.nonblocking);
            step.operation.nonblocking)
          keep(request);
        break;
      case Step::Kind::kEpoch:
        epoch(step);
        break;
      case Step::Kind::kCount:
        break;
    }
  }

  std::uint64_t message(EventKind kind, int peer, std::uint64_t bytes, int tag, bool blocking,
                        bool synchronous = false) {
    const int flags = (blocking ? recording::kBlocking : 0) | (synchronous ? recording::kSynchronous : 0);
    return tape_.message(kind, peer, bytes, tag, flags, communicator_);
  }
  void keep(std::uint64_t request, bool any_source = false) {
    requests_.push_back(request);
    any_source_ = any_source_ || any_source;
  }

  void send(const Step& step) {
    const bool blocking = step.send < Step::Send::kNonblocking;
    const bool synchronous =
        step.send == Step::Send::kSynchronous || step.send == Step::Send::kNonblockingSynchronous;
    const std::uint64_t request =
        message(EventKind::kSend, step.to, step.sizes[0], step.tag, blocking, synchronous);
    if (!blocking) keep(request);
  }

  void receive(const Step& step) {
    const int tag = step.any_tag ? kAnyTag : step.tag;
    if (step.receive == Step::Receive::kProbed) message(EventKind::kProbe, step.from, 0, tag, false);
    const bool blocking = step.receive < Step::Receive::kNonblocking;
    const std::uint64_t request = message(EventKind::kReceive, step.from, step.room, tag, blocking);
    if (!blocking) keep(request);
  }

  void batch(const Step& step) {
    const int count = static_cast<int>(step.sizes.size());
    const bool synchronous =
        step.send == Step::Send::kSynchronous || step.send == Step::Send::kNonblockingSynchronous;
    for (int i = 0; own_ == step.from && i < count; ++i)
      keep(message(EventKind::kSend, step.to, step.sizes[static_cast<std::size_t>(i)], 10 + i, false,
                   synchronous));
    for (int i = count - 1; own_ == step.to && i >= 0; --i)
      keep(message(EventKind::kReceive, step.from, step.sizes[static_cast<std::size_t>(i)], 10 + i, false));
  }

  void gathering(const Step& step, const std::vector<int>& members) {
    if (step.any_tag) {
      tape_.meet(communicator_);
      tape_.communicator(members);
      communicator_ = made_++;
    }
    for (std::size_t i = 0; i < step.senders.size(); ++i) {
      if (step.senders[i] == own_) keep(message(EventKind::kSend, step.to, step.sizes[i], step.tag, false));
    }
    if (own_ != step.to) return;
    const bool blocking = step.receive < Step::Receive::kNonblocking;
    for (std::size_t i = 0; i < step.senders.size(); ++i) {
      const std::uint64_t request =
          message(EventKind::kReceive, kAnySource, step.room, step.any_tag ? kAnyTag : step.tag, blocking);
      if (!blocking) keep(request, true);
    }
  }

  void shift(const Step& step) {
    const int ranks = schedule_.ranks;
    const std::uint64_t in =
        message(EventKind::kReceive, (rank_ + ranks - step.from) % ranks, step.sizes[0], step.tag, false);
    const std::uint64_t out =
        message(EventKind::kSend, (rank_ + step.from) % ranks, step.sizes[0], step.tag, false);
    tape_.wait({out, in});
  }

  void cancel(const Step& step) {
    const std::uint64_t request = message(EventKind::kReceive, kAnySource, step.room, kUnusedTag, false);
    tape_.of_requests(EventKind::kCancel, {request});
    tape_.wait({request});
  }

  void collective(const Step& step) {
    const Operation& operation = step.operation;
    Tape::Event event = tape_.collective(operation, communicator_);
    if (step.in_place) event.flags |= recording::kInPlace;
    if (has_blocks_of_different_sizes(operation.kind)) set_blocks(step, event);
    const std::uint64_t request = tape_.add(event);
    if (operation.nonblocking) keep(request);
  }

  void set_blocks(const Step& step, Tape::Event& event) {
    const auto ranks = static_cast<std::size_t>(step.operation.ranks);
    const auto own = static_cast<std::size_t>(own_);
    const std::vector<std::size_t> blocks(step.sizes.begin(), step.sizes.begin() + step.operation.ranks);
    std::vector<std::size_t> sent;
    std::vector<std::size_t> received;
    const bool root = own_ == step.operation.root;
    event.bytes = blocks[own];
    switch (step.operation.kind) {
      case OperationKind::kGatherv:
        if (root) received = blocks;
        break;
      case OperationKind::kAllgatherv:
        received = blocks;
        break;
      case OperationKind::kScatterv:
        if (root) sent = blocks;
        event.extra = blocks[own];
        break;
      case OperationKind::kReduceScatterv:
        sent = blocks;
        break;
      default:
        for (std::size_t other = 0; other < ranks; ++other) {
          sent.push_back(step.sizes[own * ranks + other]);
          received.push_back(step.sizes[other * ranks + own]);
        }
    }
    if (!sent.empty()) event.bytes = sum(sent);
    if (!received.empty()) event.extra = sum(received);
    event.list = tape_.list({sent.begin(), sent.end()});
    event.second_list = tape_.list({received.begin(), received.end()});
  }

  void neighbours(const Step& step, int members) {
    const auto list = [&](bool sent) {
      std::vector<std::uint64_t> values;
      for (const RankHandle::Block& block : test::blocks_of(step, members, own_, sent))
        values.insert(values.end(), {static_cast<std::uint64_t>(block.rank), block.bytes});
      return values;
    };
    const std::uint64_t request = tape_.neighbours(
        list(true), list(false), step.operation.nonblocking ? 0 : recording::kBlocking, communicator_);
    if (!step.operation.nonblocking) return;
    tape_.as("MPI_Ineighbor_alltoallw");
    keep(request);
  }

  std::uint64_t access(const Step& step, std::size_t size, bool blocking) {
    return tape_.access(step.operation.access, step.to, test::access_bytes(step, size, false),
                        test::access_bytes(step, size, true), blocking ? recording::kBlocking : 0,
                        communicator_);
  }

  /// As MPI_Win_post, start, complete, and wait are recorded.
  void epoch(const Step& step) {
    const auto notify = [&](int peer, int tag) {
      tape_.message(EventKind::kSend, peer, 0, tag, recording::kBuffered, communicator_);
    };
    if (own_ == step.to) notify(step.from, test::kPostTag);
    if (own_ == step.from) {
      message(EventKind::kReceive, step.to, 0, test::kPostTag, true);
      std::vector<std::uint64_t> requests;
      for (const std::size_t size : step.sizes) requests.push_back(access(step, size, false));
      tape_.wait(requests);
      notify(step.to, test::kCompleteTag);
    }
    if (own_ == step.to) message(EventKind::kReceive, step.from, 0, test::kCompleteTag, true);
  }

  void make(int number) {
    tape_.communicator(members_of(number));
    indices_[static_cast<std::size_t>(number)] = made_++;
  }

  void wait(Step::Wait how) {
    const std::vector<std::uint64_t> requests = std::exchange(requests_, {});
    const bool any_source = std::exchange(any_source_, false);
    if (how == Step::Wait::kAll && !any_source) {
      tape_.wait(requests);
      return;
    }
    for (const std::uint64_t request : requests) {
      if (how == Step::Wait::kAny) {
        tape_.wait_for(recording::kAny, requests, {});
      } else {
        tape_.wait({request});
      }
    }
  }

  [[nodiscard]] const std::vector<int>& members_of(int communicator) const {
    return schedule_.communicators[static_cast<std::size_t>(communicator)];
  }

  const Schedule& schedule_;
  int rank_;
  int own_ = 0;  // in the communicator of the step
  std::uint32_t communicator_ = 0;
  std::uint32_t made_ = recording::kFirstMade;
  std::vector<std::optional<std::uint32_t>> indices_;
  std::vector<std::uint64_t> requests_;
  bool any_source_ = false;
  Tape tape_;
};

/// A schedule without what a replay does not repeat: the times of polls.
Schedule draw(std::uint64_t seed) {
  std::vector<OperationKind> kinds;
  for (int kind = 1; kind < static_cast<int>(OperationKind::kCount); ++kind)
    kinds.push_back(static_cast<OperationKind>(kind));
  Schedule schedule = test::draw_schedule(seed, kinds, true);
  for (Step& step : schedule.steps) {
    if (step.receive == Step::Receive::kPolled) step.receive = Step::Receive::kProbed;
    if (step.wait == Step::Wait::kTest) step.wait = Step::Wait::kEach;
  }
  return schedule;
}

std::vector<Time> played(const WorldSetting& setting, const Schedule& schedule) {
  const std::unique_ptr<World> world = std::move(*make_world(setting, schedule.ranks));
  std::vector<test::Log> logs(static_cast<std::size_t>(schedule.ranks));
  EXPECT_EQ(world->run([&](RankHandle& rank) {
    return play(rank, schedule, schedule.steps.size(), logs[static_cast<std::size_t>(rank.rank())]);
  }),
            "");
  std::vector<Time> clocks;
  for (int rank = 0; rank < schedule.ranks; ++rank) clocks.push_back(world->clock(rank));
  return clocks;
}

std::vector<Tape> tapes_of(const Schedule& schedule) {
  std::vector<Tape> tapes;
  for (int rank = 0; rank < schedule.ranks; ++rank) tapes.push_back(Scribe(schedule, rank).write());
  return tapes;
}

class ReplayedPrograms : public testing::TestWithParam<const char*> {};

TEST_P(ReplayedPrograms, HaveTheClocksOfTheProgramsThemselves) {
  const Registry registry{built_in_backends()};
  const std::uint64_t first = test::first_seed();
  const std::uint64_t seeds = test::seeds(200);
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    const Schedule schedule = draw(seed);
    WorldSetting setting = test::setting_of(registry, GetParam());
    setting.machine.ranks_per_node = schedule.ranks_per_node;
    setting.check = true;
    const std::vector<Tape> tapes = tapes_of(schedule);
    ReplayOptions options;
    options.compute.kind = Compute::Mode::kMeasured;
    options.arrival = Arrival::kModelled;
    const Result<ReplayResult> result = replay(setting, test::source_of(tapes), options);
    ASSERT_TRUE(result) << "seed " << seed << ": " << result.error();
    ASSERT_EQ(result->clocks(), played(setting, schedule)) << "seed " << seed;
  }
}

std::string name_of(const testing::TestParamInfo<const char*>& test) {
  return test.param;
}
INSTANTIATE_TEST_SUITE_P(Over, ReplayedPrograms, testing::Values("host", "zrlmpi"), name_of);

/// The pieces of all receipts are contiguous from a call's begin to its end.
void check_receipts(const Receipts& receipts) {
  for (std::size_t rank = 0; rank < receipts.ranks.size(); ++rank) {
    for (const Receipts::Call& call : receipts.ranks[rank].calls) {
      Time at = call.begin;
      for (const ReceiptLine& line : receipt_of(receipts, static_cast<int>(rank), call)) {
        ASSERT_EQ(line.begin, at);
        ASSERT_GT(line.end, line.begin);
        at = line.end;
      }
      ASSERT_EQ(at, call.end);
    }
  }
}

class ObservedReplays : public testing::TestWithParam<const char*> {};

TEST_P(ObservedReplays, HaveTheTimesOfOthersAndAccountForThem) {
  const Registry registry{built_in_backends()};
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    const Schedule schedule = draw(seed);
    const WorldSetting setting = test::setting_of(registry, GetParam());
    const std::vector<Tape> tapes = tapes_of(schedule);
    ReplayOptions options;
    options.compute.kind = Compute::Mode::kMeasured;
    options.arrival = Arrival::kModelled;
    options.certificate = true;
    const Result<ReplayResult> plain = replay(setting, test::source_of(tapes), options);
    ASSERT_TRUE(plain) << "seed " << seed << ": " << plain.error();
    ReplayRecords records(schedule.ranks, {true, {1, UINT64_MAX}, true});
    options.observer = &records;
    options.details = true;
    const Result<ReplayResult> observed = replay(setting, test::source_of(tapes), options);
    ASSERT_TRUE(observed) << "seed " << seed << ": " << observed.error();
    ASSERT_EQ(observed->clocks(), plain->clocks()) << "seed " << seed;
    for (std::size_t i = 0; i < plain->ranks.size(); ++i)
      ASSERT_EQ(observed->ranks[i].certificate, plain->ranks[i].certificate) << "seed " << seed;
    ASSERT_TRUE(observed->path);
    EXPECT_EQ(observed->path->on_ranks + observed->path->in_messages, observed->modelled_time);
    const Result<Receipts> receipts =
        read_receipts("{\"offramp\": \"1\", \"receipts\": " + records.receipts_json() + "}", "r.json");
    ASSERT_TRUE(receipts) << receipts.error();
    ASSERT_NO_FATAL_FAILURE(check_receipts(*receipts)) << "seed " << seed;
    EXPECT_THAT(records.dropped(), testing::IsEmpty());
  }
}

INSTANTIATE_TEST_SUITE_P(Over, ObservedReplays, testing::ValuesIn(test::built_in_names()), name_of);

}  // namespace
}  // namespace offramp
