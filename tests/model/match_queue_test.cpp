// The queues of a rank against a list with linear search.
#include "simulators/world/match_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

namespace offramp::world {
namespace {

constexpr int kOperations = 10000;

class Queues : public testing::TestWithParam<int> {
 protected:
  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
  MatchKey key(bool wildcards) {
    MatchKey key{static_cast<std::uint64_t>(below(3)), below(6), below(4)};
    if (wildcards && below(4) == 0) key.source = -1;
    if (wildcards && below(4) == 0) key.tag = -1;
    return key;
  }
  void push(const MatchKey& key) {
    list_.push_back(std::make_unique<Matchable>());
    list_.back()->key = key;
    queue_.push(*list_.back());
  }
  void remove(const Matchable* entry) {
    const auto found =
        std::find_if(list_.begin(), list_.end(), [&](const auto& one) { return one.get() == entry; });
    ASSERT_NE(found, list_.end());
    queue_.remove(**found);
    EXPECT_FALSE((*found)->queued);
    list_.erase(found);
  }
  template <typename Accepts>
  [[nodiscard]] const Matchable* first(const Accepts& accepts) const {
    for (const auto& entry : list_) {
      if (accepts(entry->key)) return entry.get();
    }
    return nullptr;
  }
  /// receives: the queue contains receives, otherwise messages. Entries come and go until there are about
  /// GetParam() of them.
  void run(bool receives) {
    for (int i = 0; i < kOperations; ++i) {
      const bool grow = static_cast<int>(list_.size()) < GetParam() ? below(8) > 0 : below(8) == 0;
      if (grow) {
        push(key(receives));
        continue;
      }
      const MatchKey wanted = key(!receives);
      const Matchable* const expected = first(
          [&](const MatchKey& other) { return receives ? other.accepts(wanted) : wanted.accepts(other); });
      const Matchable* const found = receives ? queue_.find_receive(wanted) : queue_.find_message(wanted);
      ASSERT_EQ(found, expected) << "operation " << i;
      if (found != nullptr) remove(found);
      if (!list_.empty() && below(10) == 0) {  // a receive is cancelled
        remove(list_[static_cast<std::size_t>(below(static_cast<int>(list_.size())))].get());
      }
      ASSERT_EQ(queue_.empty(), list_.empty());
      ASSERT_EQ(queue_.first(), list_.empty() ? nullptr : list_.front().get());
    }
  }

 private:
  std::mt19937 random_{7};
  MatchQueue queue_;
  std::vector<std::unique_ptr<Matchable>> list_;
};

TEST_P(Queues, FindTheFirstMessage) {
  run(false);
}

TEST_P(Queues, FindTheFirstReceive) {
  run(true);
}

// Below, around and far above the size at which an index is made.
INSTANTIATE_TEST_SUITE_P(Sizes, Queues, testing::Values(3, 16, 400));

}  // namespace
}  // namespace offramp::world
