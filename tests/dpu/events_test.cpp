// Notifications and events: the header's bytes, pools, order, explicit return, sub-events, hostile input.
#include "simulators/dpu_protocol/events.hpp"

#include <gtest/gtest.h>

#include <random>

namespace offramp::dpu {
namespace {

TEST(DpuNotification, TheTableCoversTheHeaderWithoutGaps) {
  std::size_t offset = 0;
  for (const NotificationField& field : notification_fields()) {
    EXPECT_EQ(field.offset, offset) << field.name;
    offset += field.bytes;
  }
  EXPECT_EQ(offset, kHeaderBytes);
}

TEST(DpuNotification, IsEqualAfterDecoding) {
  const NotificationHeader header{7, 601, 1024, 99, 3, 64, Scope::kInterProcess, Role::kServer};
  const HeaderBytes bytes = encode(header);
  EXPECT_EQ(bytes[8], std::byte{0x59});  // 601 = 0x259
  EXPECT_EQ(bytes[9], std::byte{0x02});
  EXPECT_EQ(bytes[40], std::byte{64});
  EXPECT_EQ(decode(bytes), header);
}

TEST(DpuNotification, WithAFieldOutOfRangeIsRefused) {
  const HeaderBytes good = encode({1, 2, 3, 4, 5, 6, Scope::kSelf, Role::kSelf});
  EXPECT_FALSE(decode(std::span(good).first(55)));
  for (const std::size_t place : {15, 22, 48, 52}) {
    HeaderBytes bad = good;
    bad[place] = std::byte{0xff};
    EXPECT_FALSE(decode(bad)) << place;
  }
}

/// Two ends; messages wait here until the test delivers them.
struct Line : Carrier {
  bool send(const NotificationHeader& header, std::span<const std::byte> payload,
            std::uint64_t event) override {
    const HeaderBytes head = encode(header);
    std::vector<std::byte> message(head.begin(), head.end());
    message.insert(message.end(), payload.begin(), payload.end());
    messages.push_back(std::move(message));
    if (immediate) return true;
    events.push_back(event);
    return false;
  }
  void deliver(EventSystem& from, EventSystem& to) {
    do {
      for (const std::uint64_t event : std::exchange(events, {})) from.sent(event);
      for (const auto& message : std::exchange(messages, {})) EXPECT_TRUE(to.receive(message));
      from.progress();
    } while (!messages.empty());
  }
  bool immediate = false;
  std::vector<std::vector<std::byte>> messages;
  std::vector<std::uint64_t> events;
};

struct Ends {
  Line line;
  EventSystem client{{1, 0, 0, 0, 1, 0, Scope::kHostDpu, Role::kClient}, &line};
  EventSystem server{{2, 0, 0, 0, 1, 0, Scope::kHostDpu, Role::kServer}, nullptr};
};

TEST(DpuEvents, AFloodArrivesInOrderWithEveryPayload) {
  for (const bool explicit_return : {false, true}) {
    Ends ends;
    std::vector<std::uint64_t> seen;
    ends.server.register_handler(kTypes - 1, [&](EventSystem&, const NotificationHeader& header, auto data) {
      EXPECT_EQ(header.payload_size, data.size());
      seen.push_back(header.event_id);
    });
    std::vector<Event*> kept;
    for (int i = 0; i < 1001; ++i) {
      EventInfo info;
      info.payload_bytes = std::size_t{8} << (i % 8);
      info.explicit_return = explicit_return;
      Event* event = ends.client.get(info);
      ASSERT_NE(event, nullptr);
      EXPECT_EQ(ends.client.emit(event, kTypes - 1), EventResult::kInProgress);
      if (explicit_return) kept.push_back(event);
    }
    EXPECT_EQ(ends.client.ongoing(), explicit_return ? 0U : 1001U);
    if (explicit_return) {
      EXPECT_FALSE(ends.client.return_event(kept[0]));
    }
    ends.line.deliver(ends.client, ends.server);
    ends.client.progress();
    for (Event*& event : kept) {
      EXPECT_TRUE(ends.client.completed(*event));
      EXPECT_TRUE(ends.client.return_event(event));
      EXPECT_EQ(event, nullptr);
    }
    EXPECT_EQ(ends.client.ongoing(), 0U);
    EXPECT_EQ(ends.client.available(), ends.client.capacity());
    ASSERT_EQ(seen.size(), 1001U);
    for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], i + 1);
  }
}

TEST(DpuEvents, OnlySoManySendsToAPeerArePosted) {
  Ends ends;
  constexpr std::size_t kSends = 20;
  constexpr std::size_t kPosted = EventSystem::kPostedSends;
  for (std::size_t i = 0; i < kSends; ++i) {
    Event* event = ends.client.get();
    EXPECT_EQ(ends.client.emit(event, 1000), EventResult::kInProgress);
    EXPECT_EQ(event->number(), i + 1);
  }
  EXPECT_EQ(ends.line.messages.size(), kPosted);
  EXPECT_EQ(ends.client.waiting(), kSends - kPosted);
  // The queue of another peer is independent.
  Line other;
  Event* event = ends.client.get();
  EXPECT_EQ(ends.client.emit(event, 1000, PeerConnection{&other, 2, 0}), EventResult::kInProgress);
  EXPECT_EQ(other.messages.size(), 1U);
  // progress() posts one for each that has left.
  ends.client.sent(ends.line.events[1]);
  ends.client.sent(ends.line.events[1]);  // has already left
  ends.client.failed(ends.line.events[0]);
  EXPECT_EQ(ends.line.messages.size(), kPosted);
  ends.client.progress();
  EXPECT_EQ(ends.line.messages.size(), kPosted + 2);
  ends.client.flush();
  EXPECT_EQ(ends.line.messages.size(), kSends);
  EXPECT_EQ(ends.client.waiting(), 0U);
  std::vector<std::uint64_t> seen;
  ends.server.register_handler(
      1000, [&](EventSystem&, const NotificationHeader& header, auto) { seen.push_back(header.event_id); });
  ends.line.deliver(ends.client, ends.server);
  ASSERT_EQ(seen.size(), kSends);
  for (std::size_t i = 0; i < kSends; ++i) EXPECT_EQ(seen[i], i + 1);
  EXPECT_EQ(ends.client.ongoing(), 1U);  // the other peer's
}

TEST(DpuEvents, ASendThatWaitedMayLeaveOrFailAtOnce) {
  Ends ends;
  std::vector<Event*> kept;
  for (std::size_t i = 0; i <= EventSystem::kPostedSends; ++i) {
    EventInfo info;
    info.explicit_return = true;
    kept.push_back(ends.client.get(info));
    ends.client.emit(kept.back(), 1000);
  }
  EXPECT_FALSE(ends.client.completed(*kept.back()));
  ends.client.sent(ends.line.events.front());
  ends.line.immediate = true;
  ends.client.progress();
  EXPECT_TRUE(ends.client.completed(*kept.back()));
  for (const std::uint64_t event : ends.line.events) ends.client.sent(event);
  for (Event*& event : kept) EXPECT_TRUE(ends.client.return_event(event));
  EXPECT_EQ(ends.client.available(), ends.client.capacity());
}

TEST(DpuEvents, AreReturnedAtOnceIfTheyAreSentAtOnce) {
  Ends ends;
  ends.line.immediate = true;
  Event* event = ends.client.get();
  EXPECT_EQ(ends.client.capacity(), EventSystem::kGrowth);
  EXPECT_EQ(ends.client.emit(event, 1000), EventResult::kDone);
  EXPECT_EQ(event, nullptr);
  EXPECT_EQ(ends.client.emit(event, 1000), EventResult::kError);
  EXPECT_EQ(ends.client.available(), ends.client.capacity());
}

TEST(DpuEvents, ToOneselfIsACallOfTheHandler) {
  EventSystem self({0, 0, 0, 0, 0, 0, Scope::kSelf, Role::kSelf}, nullptr);
  std::size_t bytes = 0;
  self.register_handler(1001,
                        [&](EventSystem&, const NotificationHeader&, auto data) { bytes = data.size(); });
  EventInfo info;
  info.payload_bytes = 1024;
  Event* event = self.get(info);
  EXPECT_EQ(self.emit(event, 1001), EventResult::kDone);
  EXPECT_EQ(bytes, 1024U);
  const std::vector<std::byte> own(77);
  event = self.get();
  EXPECT_EQ(self.emit(event, 1001, own), EventResult::kDone);
  EXPECT_EQ(bytes, 77U);
  event = self.get();
  EXPECT_EQ(self.emit(event, 1001), EventResult::kDone);
  EXPECT_EQ(bytes, 0U);
}

TEST(DpuEvents, ABufferOfTheCallerAndOneOfTheEventExcludeEachOther) {
  EventSystem self({}, nullptr);
  EventInfo info;
  info.payload_bytes = 8;
  Event* event = self.get(info);
  const std::vector<std::byte> own(8);
  EXPECT_EQ(self.emit(event, 1001, own), EventResult::kError);
  EXPECT_EQ(self.emit(event, kTypes), EventResult::kError);
  EXPECT_TRUE(self.return_event(event));
}

TEST(DpuEvents, MessagesWithoutAHandlerAreReplayedInOrder) {
  Ends ends;
  ends.line.immediate = true;
  for (int i = 0; i < 5; ++i) {
    Event* event = ends.client.get();
    ends.client.emit(event, 1002);
  }
  ends.line.deliver(ends.client, ends.server);
  std::vector<std::uint64_t> seen;
  const auto handler = [&seen](EventSystem&, const NotificationHeader& header, auto) {
    seen.push_back(header.event_id);
  };
  EXPECT_TRUE(ends.server.register_handler(1002, handler));
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
}

TEST(DpuEvents, TheFirstRegistrationStays) {
  EventSystem self({}, nullptr);
  int first = 0;
  int second = 0;
  EXPECT_TRUE(self.register_handler(1003, [&](EventSystem&, const NotificationHeader&, auto) { ++first; }));
  EXPECT_TRUE(self.register_handler(1003, [&](EventSystem&, const NotificationHeader&, auto) { ++second; }));
  Event* event = self.get();
  self.emit(event, 1003);
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 0);
  EXPECT_TRUE(self.deregister(1003));
  EXPECT_FALSE(self.deregister(1003));
  EXPECT_FALSE(self.deregister(kTypes + 1));
  EXPECT_FALSE(self.update_pool(1003, nullptr));
}

TEST(DpuEvents, AHandlerMayEmit) {
  EventSystem self({}, nullptr);
  int left = 5;
  self.register_handler(1004, [&left](EventSystem& system, const NotificationHeader&, auto) {
    if (--left == 0) return;
    Event* next = system.get();
    EXPECT_EQ(system.emit(next, 1004), EventResult::kDone);
  });
  Event* event = self.get();
  EXPECT_EQ(self.emit(event, 1004), EventResult::kDone);
  EXPECT_EQ(left, 0);
}

TEST(DpuEvents, BuffersOfAPoolComeBack) {
  std::vector<std::array<std::byte, 64>> memory(32);
  std::vector<std::byte*> available;
  for (auto& element : memory) available.push_back(element.data());
  BufferPool pool;
  pool.element_size = 64;
  pool.get = [&available](std::size_t) -> std::byte* {
    if (available.empty()) return nullptr;
    std::byte* const buffer = available.back();
    available.pop_back();
    return buffer;
  };
  pool.give_back = [&available](std::byte* buffer) { available.push_back(buffer); };
  EventSystem self({}, nullptr);
  int handled = 0;
  self.register_handler(
      1005,
      [&](EventSystem&, const NotificationHeader&, auto) {
        EXPECT_EQ(available.size(), 30U);  // one buffer to send, one to receive
        ++handled;
      },
      &pool);
  EventInfo info;
  info.payload_bytes = 64;
  info.pool = &pool;
  for (int i = 0; i < 10; ++i) {
    Event* event = self.get(info);
    EXPECT_EQ(self.emit(event, 1005), EventResult::kDone);
  }
  EXPECT_EQ(handled, 10);
  EXPECT_EQ(available.size(), 32U);
  info.payload_bytes = 65;
  EXPECT_EQ(self.get(info), nullptr);
}

TEST(DpuEvents, AMetaEventCompletesWithItsLastSubEvent) {
  Ends ends;
  int told = 0;
  Event* meta = ends.client.get();
  ASSERT_TRUE(ends.client.make_meta(*meta));
  meta->on_complete = [&told] { ++told; };
  std::vector<Event*> subs;
  for (int i = 0; i < 3; ++i) {
    subs.push_back(ends.client.get());
    EXPECT_TRUE(ends.client.queue_sub(*meta, *subs.back()));
    EXPECT_FALSE(ends.client.queue_sub(*meta, *subs.back()));  // once only
    EXPECT_EQ(ends.client.emit(subs.back(), 1006), EventResult::kInProgress);
  }
  EXPECT_EQ(ends.client.emit_meta(meta), EventResult::kInProgress);
  const std::vector<std::uint64_t> numbers = std::exchange(ends.line.events, {});
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    ends.client.progress();
    EXPECT_EQ(told, 0);
    EXPECT_EQ(ends.client.ongoing(), 1U);
    ends.client.sent(numbers[i]);
  }
  ends.client.progress();
  EXPECT_EQ(told, 1);
  EXPECT_EQ(ends.client.ongoing(), 0U);
  EXPECT_EQ(ends.client.available(), ends.client.capacity());
}

TEST(DpuEvents, AnEmptyMetaEventIsCompleteAtOnce) {
  EventSystem self({}, nullptr);
  Event* meta = self.get();
  ASSERT_TRUE(self.make_meta(*meta));
  EXPECT_EQ(self.emit(meta, 1007), EventResult::kError);  // never on the wire
  EXPECT_EQ(self.emit_meta(meta), EventResult::kDone);
  EXPECT_EQ(meta, nullptr);
}

TEST(DpuEvents, HostileBytesAreRefused) {
  EventSystem server({}, nullptr);
  std::mt19937 random(3);
  std::vector<std::byte> message(100);
  for (int i = 0; i < 10000; ++i) {
    for (std::byte& byte : message) byte = static_cast<std::byte>(random() & 0xffU);
    EXPECT_FALSE(server.receive(std::span(message).first(random() % 100)));
  }
  const HeaderBytes lies = encode({0, 1000, 8, 0, 0, 0, Scope::kSelf, Role::kSelf});
  EXPECT_FALSE(server.receive(lies));  // the payload is missing
}

}  // namespace
}  // namespace offramp::dpu
