// Matching by MPI's rules.
#include "lib/core/context.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/core/support.hpp"

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
    auto message = std::make_unique<UnexpectedMessage>();
    message->header.envelope = envelope(source, tag);
    UnexpectedMessage& there = *message;
    context_.add_unexpected(std::move(message));
    return there;
  }
  ReceiveRecord* take(int source, int tag) {
    return context_.take_posted(context_.peer(source), envelope(source, tag));
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
  const auto claimed = context_.take_unexpected(message);
  EXPECT_EQ(context_.pending, 1);
  EXPECT_EQ(context_.find_unexpected(1, 5), nullptr);
}

/// The rules, word by word.
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

}  // namespace
}  // namespace offramp
