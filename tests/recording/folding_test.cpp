// A loop takes bytes for its contents, not for its number of turns.
#include <gtest/gtest.h>

#include <chrono>

#include "lib/programs/recording/format.hpp"
#include "tests/recording/recorded.hpp"

namespace offramp::recording {
namespace {

/// The part of a rank without the constant parts.
std::uint64_t bytes_of_blocks(Recorder& recorder) {
  const Result<Recording> recording = one_rank(recorder.finish());
  EXPECT_TRUE(recording) << recording.error();
  return recording->bytes(0);
}

void add_body(Recorder& recorder, int events) {
  for (int i = 0; i < events; ++i) recorder.add(message(EventKind::kSend, i, 1000));
}

std::uint64_t stencil(Recorder& recorder, int steps, bool times) {
  Random random(static_cast<std::uint64_t>(steps));
  for (int step = 0; step < steps; ++step) {
    for (int side = 0; side < 4; ++side) recorder.add(message(EventKind::kReceive, side, 8192));
    if (times) recorder.passed(20'000 + random.below(2000), 0);
    for (int side = 0; side < 4; ++side) recorder.add(message(EventKind::kSend, side, 8192));
    if (times) recorder.passed(300'000 + random.below(30'000), 0);
    Event wait = wait_all();
    wait.list = recorder.list(std::vector<std::uint64_t>{8, 7, 6, 5, 4, 3, 2, 1});
    recorder.add(wait);
    recorder.add(allreduce(8));
  }
  return bytes_of_blocks(recorder);
}

TEST(Folding, StoresALoopInAConstantSize) {
  Recorder shorter(options_of());
  Recorder longer(options_of());
  const std::uint64_t bytes = stencil(shorter, 100, false);
  EXPECT_LE(stencil(longer, 100'000, false), bytes + 3);
  EXPECT_LT(bytes, 300U);
}

TEST(Folding, AStencilOf64RanksFitsIntoAFewMegabytes) {
  Recorder recorder(options_of());
  const std::uint64_t bytes = stencil(recorder, 10'000, true);
  EXPECT_LT(64 * bytes, std::uint64_t{5} << 20U);
}

TEST(Folding, LoopsInLoopsAreSmall) {
  Recorder recorder(options_of());
  for (int outer = 0; outer < 100; ++outer) {
    for (int middle = 0; middle < 30; ++middle) {
      for (int inner = 0; inner < 20; ++inner) add_body(recorder, 5);
      recorder.add(allreduce(8));
    }
    recorder.add(allreduce(16));
  }
  EXPECT_LT(bytes_of_blocks(recorder), 400U);
}

TEST(Folding, AnOuterLoopLongerThanTheWindowTakesAFewBytesPerRound) {
  Recorder recorder(options_of());
  constexpr int kRounds = 50;
  for (int outer = 0; outer < kRounds; ++outer) {
    for (std::size_t inner = 0; inner < 2 * kWindow / 10; ++inner) add_body(recorder, 10);
    recorder.add(allreduce(8));
    for (std::size_t inner = 0; inner < 2 * kWindow / 7; ++inner) add_body(recorder, 7);
    recorder.add(allreduce(16));
  }
  EXPECT_LT(bytes_of_blocks(recorder), kRounds * 60U);
}

TEST(Folding, OneEventThatDiffersDoesNotEndALoop) {
  Recorder recorder(options_of());
  constexpr std::uint64_t kRounds = 5000;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    add_body(recorder, 8);
    recorder.add(message(EventKind::kReceive, 1, 100 + round));
  }
  EXPECT_LT(bytes_of_blocks(recorder), kRounds * 7);
}

TEST(Folding, IrregularMessagesTakeTwelveBytesEach) {
  Random random(5);
  Recorder recorder(options_of());
  constexpr std::uint64_t kMessages = 100'000;
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    const EventKind kind = random.below(2) == 0 ? EventKind::kSend : EventKind::kReceive;
    recorder.add(message(kind, static_cast<int>(random.below(1000)), random.below(1U << 20U),
                         static_cast<int>(random.below(100))));
    recorder.add(wait_all(1));
  }
  EXPECT_LT(bytes_of_blocks(recorder), kMessages * 12);
}

/// The payloads of the event column with their headers, concatenated.
std::string event_column(const std::string& part) {
  std::string column;
  for (std::size_t at = kPartHeaderBytes; at < part.size();) {
    const auto header = decode_block_header(byte_span(part).subspan(at));
    EXPECT_TRUE(header);
    const std::size_t size = kBlockHeaderBytes + header->length;
    if (header->column == Column::kEvents) column += part.substr(at, size);
    at += size;
  }
  return column;
}

TEST(Folding, TheEventColumnDoesNotDependOnOtherColumns) {
  std::vector<Step> plain;
  std::vector<Step> beside;
  Random random(9);
  for (int i = 0; i < 90'000; ++i) {
    Step step{message(EventKind::kReceive, -1, random.below(1000))};
    if (i % 3 == 0) step = {wait_all(random.below(30))};
    if (i % 7 == 0) step.event.flags = kAny;
    plain.push_back(step);
    step.computed = random.below(5000);
    step.polls = random.below(3);
    if (is_choice(step.event)) step.choice = {0};
    if (is_wildcard(step.event)) step.match = Match{static_cast<int>(random.below(1000)), 5};
    beside.push_back(step);
  }
  const std::string one = record(plain);
  const std::string other = record(beside);
  EXPECT_LT(one.size(), other.size());
  EXPECT_GT(event_column(one).size(), 2 * kPayloadTarget) << "several blocks";
  EXPECT_EQ(event_column(one), event_column(other));
}

TEST(Folding, TwoMillionEventsAreRecordedAndReadQuickly) {
  const auto begin = std::chrono::steady_clock::now();
  Recorder recorder(options_of());
  Random random(21);
  constexpr std::uint64_t kEvents = 2'000'000;
  for (std::uint64_t i = 0; i < kEvents; ++i)
    recorder.add(
        message(EventKind::kSend, static_cast<int>(i % 10), i % 1000 < 900 ? 8 : random.below(1U << 20U)));
  const Result<Recording> recording = one_rank(recorder.finish());
  const auto reader = recording->read(0);
  std::uint64_t events = 0;
  for (Event event; reader->next(event);) ++events;
  EXPECT_EQ(events, kEvents);
  EXPECT_EQ(reader->error(), "");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20))
      << "a fifth of a second is usual";
}

}  // namespace
}  // namespace offramp::recording
