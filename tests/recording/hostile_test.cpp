// Payloads that no recorder writes, in blocks with valid checksums.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/printable.hpp"
#include "lib/programs/recording/format.hpp"
#include "tests/recording/recorded.hpp"

namespace offramp::recording {
namespace {

using testing::HasSubstr;
using Bytes = std::vector<std::uint8_t>;

struct Block {
  Column column;
  Bytes payload;
  std::uint64_t first_event = 0;
  std::uint32_t sequence = 0;
};

std::string part_of(const std::vector<Block>& blocks) {
  std::string part(text_of(encode(PartHeader{})));
  for (const Block& block : blocks)
    part.append(text_of(seal({block.column, 0, block.sequence, block.first_event, 0, 0}, block.payload)))
        .append(text_of(block.payload));
  return part;
}

struct Outcome {
  std::size_t events = 0;
  std::string error;
  std::string cut;
};
Outcome read(const std::vector<Block>& blocks) {
  const Result<Recording> recording = one_rank(part_of(blocks));
  const auto reader = recording->read(0);
  Outcome outcome;
  for (Event event; outcome.events < 1000 && reader->next(event);) {
    ++outcome.events;
    static_cast<void>(reader->match());
  }
  outcome.error = reader->error();
  outcome.cut = reader->cut();
  return outcome;
}

// Tokens: 4 n + 0: known, + 1: copy, + 2: new, + 3: definition. Kinds: 1 receive, 3 wait.
const Bytes kName = {3 + 4, 1, 'f'};
const Bytes kWait = {2 + 4 * 3, 0};

Bytes joined(const std::vector<Bytes>& parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Bytes varint(std::uint64_t number) {
  Bytes bytes(kMostVarintBytes);
  bytes.resize(static_cast<std::size_t>(put_varint(bytes.data(), number) - bytes.data()));
  return bytes;
}

TEST(Hostile, EventPayloads) {
  const std::vector<std::pair<Bytes, std::string>> cases = {
      {{0}, "it repeats an event that it does not have"},
      {joined({kName, kWait, {4}}), "it repeats an event that it does not have"},
      {{1, 1}, "a copy has no events"},
      {{5, 0}, "a copy begins before the block or its window"},
      {{5, 1}, "a copy begins before the block or its window"},
      {joined({kName, kWait, {5, 2}}), "a copy begins before the block or its window"},
      {joined({kName, kWait, {5}}), "it ends within a number"},
      {joined({kName, {2 + 4 * static_cast<int>(EventKind::kCount), 0}}),
       "an event has a kind that does not exist"},
      {kWait, "an event has a name that was not defined"},
      {joined({kName, {14, 16, 2}}), "an event has a list that was not defined"},
      {joined({kName, {14, 0x80, 0x04, 2}}), "an event has a list that was not defined"},
      {joined({kName, {14, 0x80, 0x40, 0}}), "an event has fields that do not exist"},
      {joined({kName, {14, 0x80, 0x20, 4}}), "an event has a name that was not defined"},
      {joined({kName, {14, 0x80, 0x02, 32}}), "a field of an event is out of range"},
      {joined({kName, {14, 1}, varint(zigzag(std::uint64_t{1} << 31U))}),
       "a field of an event is out of range"},
      {{11, 0}, "it has a definition of an unknown kind"},
      {joined({{3}, varint((1U << 20U) + 1)}), "a list is too long"},
      {{3, 3, 0}, "a group of a list has a wrong length"},
      {{3, 3, 2 * 4 + 1, 0}, "a group of a list has a wrong length"},
      {joined({{3}, varint(1000), varint(2000), {1, 1, 1}}), "a list is longer than its block"},
      {{7, 9, 'f'}, "it ends within a text"},
      {joined({Bytes(9, 0xff), {2}}), "a number has more than 64 bits"},
  };
  for (const auto& [payload, error] : cases) {
    const Outcome outcome = read({{Column::kEvents, payload}});
    EXPECT_THAT(outcome.error, testing::StartsWith("the part of rank 0: rank 0, events, block 0, byte "));
    EXPECT_THAT(outcome.error, HasSubstr(error));
  }
}

TEST(Hostile, TooManyDifferentEventsAndTooLongLists) {
  std::vector<Bytes> events = {kName};
  for (std::size_t i = 0; i <= kMostSymbols; ++i) events.push_back({14, 8, 2});
  const Result<Recording> recording = one_rank(part_of({{Column::kEvents, joined(events)}}));
  const auto reader = recording->read(0);
  EXPECT_EQ(read_all(*reader).size(), kMostSymbols);
  EXPECT_THAT(reader->error(), HasSubstr("it has too many different events"));

  std::vector<Bytes> lists = {kName, kWait};
  for (int i = 0; i < 4; ++i)
    lists.push_back(joined({{3}, varint(kMostValues), varint(2 * kMostValues + 1), {2}}));
  EXPECT_THAT(read({{Column::kEvents, joined(lists)}}).error, HasSubstr("its lists are too long"));
}

TEST(Hostile, AFewBytesForManyEventsAreExpandedOnlyOnReading) {
  const Bytes bomb = joined({kName, kWait, varint(token(Token::kCopy, std::uint64_t{1} << 61U)), {1}});
  EXPECT_EQ(read({{Column::kEvents, bomb}}).events, 1000U);
}

TEST(Hostile, ColumnsBesideTheEvents) {
  const Bytes receives = joined({kName, {2 + 4, 1, 1}, varint(token(Token::kCopy, 5)), {1}});
  const Bytes choices = joined({kName, {3, 2, 4, 4, 2}, {14, 0x50, 2, 0x80, 0x01}, {0, 0}});
  const std::vector<std::pair<std::vector<Block>, std::string>> cases = {
      {{{Column::kTimes, joined({{0}, varint(7424)})}}, "times, block 0, byte 72: a value is out of range"},
      {{{Column::kTimes, {0, 9, 0, 9}}}, "times, block 0, byte 74: its entries are not in order"},
      {{{Column::kTimes, {0, 9}, 1}, {Column::kTimes, {0, 9}, 0, 1}}, "times, block 1"},
      {{{Column::kTimes, joined({varint(UINT64_MAX), {9}}), 5}}, "its entries are not in order"},
      {{{Column::kThreads, joined({{0}, varint(kMostThreads + 1)})}},
       "threads, block 0, byte 72: a value is out of range"},
      {{{Column::kPolls, {0}}}, "polls, block 0, byte 72: it ends within a number"},
      {{{Column::kPolls, {0, 1}, 0, 1}}, "polls, block 0, byte 32: found block 1 instead"},
      {{{Column::kMatches, {0, 1, 0, 0x80}}}, "matches, block 0, byte 75: it ends within a number"},
      {{{Column::kMatches, joined({{0}, varint(UINT64_MAX), {0}})}}, "a rank or a tag is out of range"},
      {{{Column::kEnd, {6}}}, "end, block 0, byte 72: it ends within a number"},
      {{{Column::kEnd, {6, 3}}}, "end, block 0, byte 72: the reason of its end is not known"},
      {{{Column::kEnd, {6, 2}}}, "end, block 0, byte 72: it ends within a number"},
      {{{Column::kEnd, {6, 2, 5, 'w', 'h'}}}, "end, block 0, byte 72: it ends within a text"},
      {{{Column::kEnd, joined({{6, 2}, varint(kLongestReason + 1)})}},
       "end, block 0, byte 72: its reason is too long"},
      {{{Column::kEnd, joined({varint(UINT64_MAX), {2, 1, 'a'}})}}, "which exceeds the maximum"},
      {{{Column::kEnd, {5, 1}}},
       "the part of rank 0: rank 0 has more events than its end states, which is 5"},
  };
  for (auto [blocks, error] : cases) {
    blocks.push_back({Column::kEvents, receives});
    EXPECT_THAT(read(blocks).error, HasSubstr(error));
  }
  for (const auto& [payload, error] : std::vector<std::pair<Bytes, std::string>>{
           {{2, 2}, "a choice is not one of the requests that were waited for"},
           {{40, 0}, "a choice is longer than its block"}})
    EXPECT_THAT(read({{Column::kEvents, choices}, {Column::kChoices, payload}}).error, HasSubstr(error));
  EXPECT_EQ(read({{Column::kEvents, choices}, {Column::kChoices, {2, 1, 2, 0}}}).error, "");
  EXPECT_THAT(read({{Column::kEvents, receives, 3}}).error, HasSubstr("it begins with event 3 instead of 0"));
}

TEST(Hostile, AnUntimelyEndBoundsTheEvents) {
  const Bytes events = joined({kName, kWait, varint(token(Token::kCopy, 99)), {1}});
  for (const std::uint8_t count : Bytes{0, 1, 40, 127}) {
    const Outcome outcome = read({{Column::kEnd, {count, 2, 3, 'a', 27, '\n'}}, {Column::kEvents, events}});
    EXPECT_EQ(outcome.events, std::min<std::size_t>(count, 100));
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.cut, printable("a\x1b\n")) << "nothing in it controls a terminal";
  }
}

TEST(Hostile, WildcardsWithInvalidMatchesAreRead) {
  const Bytes receives = joined({kName, {2 + 4, 1, 1}, varint(token(Token::kCopy, 5)), {1}});
  const Bytes absurd =
      joined({varint(zigzag(1000)), {0, 0}, varint(zigzag(0 - std::uint64_t{5000})), {0, 0}});
  EXPECT_EQ(read({{Column::kMatches, absurd}, {Column::kEvents, receives}}).events, 6U);
}

}  // namespace
}  // namespace offramp::recording
