// Matching by MPI's rules.
#include "lib/run/engine/context.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/engine/support.hpp"

namespace offramp {
namespace {

class AContext : public testing::Test {
 protected:
  AContext() { context_.attach(0, std::make_shared<const std::vector<int>>(test::world_of(4))); }

  ReceiveRecord& post(int source, int tag) {
    receives_.push_back(std::make_unique<ReceiveRecord>());
    ReceiveRecord& record = *receives_.back();
    record.source = source;
    record.tag = tag;
    context_.post(record);
    return record;
  }
  static Envelope envelope(int source, int tag) {
    Envelope e;
    e.source = source;
    e.source_world = static_cast<std::uint32_t>(source);
    e.tag = tag;
    return e;
  }
  UnexpectedMessage& arrive(int source, int tag) {
    auto message = make_with_payload<UnexpectedMessage>(0);
    message->envelope = envelope(source, tag);
    UnexpectedMessage& there = *message;
    context_.add_unexpected(std::move(message));
    return there;
  }
  ReceiveRecord* take(int source, int tag) {
    return context_.pop_posted(context_.peer(source), envelope(source, tag));
  }

  Context context_{9};
  std::vector<std::unique_ptr<ReceiveRecord>> receives_;
};

TEST_F(AContext, MatchesSourceAndTag) {
  ReceiveRecord& receive = post(1, 5);
  EXPECT_EQ(take(1, 6), nullptr);
  EXPECT_EQ(take(2, 5), nullptr);
  EXPECT_EQ(take(1, 5), &receive);
  EXPECT_EQ(take(1, 5), nullptr);
}

TEST_F(AContext, MatchesReceivesInTheOrderOfPostingAcrossWildcards) {
  ReceiveRecord& named = post(1, 5);
  ReceiveRecord& any_source = post(kAnySource, 5);
  ReceiveRecord& any_tag = post(1, kAnyTag);
  ReceiveRecord& any = post(kAnySource, kAnyTag);
  EXPECT_EQ(take(1, 5), &named);
  EXPECT_EQ(take(1, 5), &any_source);
  EXPECT_EQ(take(1, 5), &any_tag);
  EXPECT_EQ(take(1, 5), &any);
}

TEST_F(AContext, PrefersAnEarlierWildcardToALaterName) {
  ReceiveRecord& any = post(kAnySource, kAnyTag);
  ReceiveRecord& named = post(2, 1);
  EXPECT_EQ(take(2, 1), &any);
  EXPECT_EQ(take(2, 1), &named);
}

TEST_F(AContext, FindsUnexpectedMessagesInTheOrderOfArrival) {
  UnexpectedMessage& first = arrive(2, 5);
  UnexpectedMessage& second = arrive(1, 5);
  UnexpectedMessage& third = arrive(1, 6);
  EXPECT_EQ(context_.find_unexpected(kAnySource, kAnyTag), &first);
  EXPECT_EQ(context_.find_unexpected(1, kAnyTag), &second);
  EXPECT_EQ(context_.find_unexpected(kAnySource, 6), &third);
  EXPECT_EQ(context_.find_unexpected(3, kAnyTag), nullptr);
  EXPECT_EQ(context_.unexpected_count(), 3U);
  (void)context_.remove_unexpected(first);
  EXPECT_EQ(context_.find_unexpected(kAnySource, 5), &second);
}

TEST_F(AContext, ForgetsAReceiveThatWasWithdrawn) {
  ReceiveRecord& first = post(kAnySource, 5);
  ReceiveRecord& second = post(1, 5);
  context_.withdraw(first);
  EXPECT_FALSE(PostedQueue::contains(first));
  EXPECT_EQ(take(1, 5), &second);
  EXPECT_EQ(take(1, 5), nullptr);
}

TEST_F(AContext, StaysForAMessageThatAProbeClaimed) {
  UnexpectedMessage& message = arrive(1, 5);
  const auto claimed = context_.pop_unexpected(message);
  EXPECT_EQ(context_.pending, 1);
  EXPECT_EQ(context_.find_unexpected(1, 5), nullptr);
}

/// The rules, taken literally.
ReceiveRecord* by_the_book(std::vector<ReceiveRecord*>& posted, int source, int tag) {
  const auto found = std::find_if(posted.begin(), posted.end(), [&](const ReceiveRecord* r) {
    return (r->source == source || r->source == kAnySource) && (r->tag == tag || r->tag == kAnyTag);
  });
  if (found == posted.end()) return nullptr;
  ReceiveRecord* record = *found;
  posted.erase(found);
  return record;
}

TEST_F(AContext, AgreesWithTheRulesOnRandomTraffic) {
  std::mt19937 random(3);
  std::vector<ReceiveRecord*> posted;
  for (int step = 0; step < 20000; ++step) {
    const int source = static_cast<int>(random() % 5) - 1;
    const int tag = static_cast<int>(random() % 4) - 1;
    if (random() % 2 == 0) {
      posted.push_back(&post(source, tag));
    } else if (random() % 8 == 0 && !posted.empty()) {
      const auto victim = posted.begin() + static_cast<std::ptrdiff_t>(random() % posted.size());
      context_.withdraw(**victim);
      posted.erase(victim);
    } else if (source >= 0 && tag >= 0) {
      ASSERT_EQ(take(source, tag), by_the_book(posted, source, tag)) << step;
    }
  }
}

/// The first message that matches (source, tag), by linear search.
std::vector<UnexpectedMessage*>::iterator by_looking(std::vector<UnexpectedMessage*>& waiting, int source,
                                                     int tag) {
  return std::find_if(waiting.begin(), waiting.end(), [&](const UnexpectedMessage* m) {
    const Envelope& e = m->envelope;
    return (e.source == source || source == kAnySource) && (e.tag == tag || tag == kAnyTag);
  });
}

TEST_F(AContext, FindsTheSameMessageAmongFewAndAmongMany) {
  std::mt19937 random(4);
  std::vector<UnexpectedMessage*> waiting;
  bool filling = true;
  std::size_t most = 0;
  int found = 0;
  for (int step = 0; step < 60000; ++step) {
    if (waiting.size() > 700) filling = false;
    if (waiting.empty()) filling = true;
    const int tags = step / 10000 % 2 == 0 ? 5 : 400;  // long rows of equal messages, and many heads
    if (random() % 3 == (filling ? 0 : 1) || random() % 8 == 0) {
      const int source = static_cast<int>(random() % 5) - 1;
      const int tag = static_cast<int>(random() % static_cast<unsigned>(tags + 1)) - 1;
      const auto expected = by_looking(waiting, source, tag);
      UnexpectedMessage* message = context_.find_unexpected(source, tag);
      ASSERT_EQ(message, expected == waiting.end() ? nullptr : *expected) << step;
      if (message == nullptr) continue;
      waiting.erase(expected);
      (void)context_.remove_unexpected(*message);
      ++found;
    } else if (filling) {
      waiting.push_back(
          &arrive(static_cast<int>(random() % 4), static_cast<int>(random() % static_cast<unsigned>(tags))));
    }
    most = std::max(most, waiting.size());
  }
  EXPECT_GT(most, 4 * UnexpectedIndex::kWorthIt);
  EXPECT_GT(found, 5000);
}

TEST_F(AContext, FindsTheMessagesOfMembersAfterOthersAreRemoved) {
  Context context{10};  // not attached yet: only peers have used it
  const auto arrive = [&](int source, std::uint32_t world, int tag) {
    auto message = make_with_payload<UnexpectedMessage>(0);
    message->envelope = envelope(source, tag);
    message->envelope.source_world = world;
    context.add_unexpected(std::move(message));
  };
  constexpr int kMessages = 3 * static_cast<int>(UnexpectedIndex::kWorthIt);
  for (int i = 0; i < kMessages; ++i) arrive(1, i % 3 == 0 ? 1 : 3, 7);  // two in three claim a wrong rank
  context.attach(0, std::make_shared<const std::vector<int>>(test::world_of(4)));
  EXPECT_EQ(context.remove_strangers().size(), 2U * kMessages / 3);
  for (int i = 0; i < kMessages; ++i) arrive(2, 2, i);
  EXPECT_EQ(context.find_unexpected(2, kMessages - 1)->envelope.tag, kMessages - 1);
  int left = 0;
  while (UnexpectedMessage* message = context.find_unexpected(1, 7)) {
    (void)context.remove_unexpected(*message);
    ++left;
  }
  EXPECT_EQ(left, kMessages / 3);
}

}  // namespace
}  // namespace offramp
