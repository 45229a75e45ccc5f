// A recording reads as it was recorded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <string>

#include "lib/programs/recording/all_ranks.hpp"
#include "lib/programs/recording/native_times.hpp"
#include "tests/recording/recorded.hpp"

namespace offramp::recording {
namespace {

void expect_read(const std::vector<Step>& steps, const std::string& part) {
  const Result<Recording> recording = one_rank(part);
  ASSERT_TRUE(recording) << recording.error();
  const auto reader = recording->read(0);
  const std::vector<ReadStep> read = read_all(*reader);
  EXPECT_EQ(reader->error(), "");
  EXPECT_EQ(reader->cut(), "");
  ASSERT_EQ(read.size(), steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    ASSERT_TRUE(same_event(steps[i], read[i])) << "event " << i;
    ASSERT_EQ(read[i].step.polls, steps[i].polls) << "event " << i;
    ASSERT_EQ(read[i].step.choice, steps[i].choice) << "event " << i;
    ASSERT_EQ(read[i].step.thread, steps[i].thread) << "event " << i;
    ASSERT_EQ(read[i].step.match.has_value(), steps[i].match.has_value()) << "event " << i;
    if (!steps[i].match) continue;
    ASSERT_EQ(read[i].step.match->source, steps[i].match->source) << "event " << i;
    ASSERT_EQ(read[i].step.match->tag, steps[i].match->tag) << "event " << i;
  }
}

std::vector<std::uint64_t> random_list(Random& random) {
  std::vector<std::uint64_t> list(random.below(12));
  const std::uint64_t step = random.below(3);
  std::uint64_t value = random.below(4) == 0 ? random.any() : random.below(100);
  for (std::uint64_t& each : list) each = step == 0 ? random.any() : value += step - 1;
  return list;
}

/// range: the number of different values of a field. Few values make loops, many make new events.
Step random_step(Random& random, std::uint64_t range) {
  Step step;
  Event& event = step.event;
  event.kind = static_cast<EventKind>(random.below(static_cast<std::uint64_t>(EventKind::kCount)));
  event.flags = static_cast<std::uint8_t>(random.below(std::min<std::uint64_t>(range, 256)));
  event.element = static_cast<ElementType>(random.below(std::min<std::uint64_t>(range, 16)));
  event.function = static_cast<ReduceFunction>(random.below(std::min<std::uint64_t>(range, 15)));
  event.operation = static_cast<OperationKind>(random.below(std::min<std::uint64_t>(range, 17)));
  event.call = static_cast<std::uint16_t>(random.below(kCalls.size()));
  event.communicator = static_cast<std::uint32_t>(random.below(range));
  event.peer = static_cast<std::int32_t>(random.below(range)) - 1;
  event.tag = static_cast<std::int32_t>(random.below(range)) - 1;
  event.bytes = random.below(range);
  event.extra = random.below(range);
  if (random.below(4) == 0) step.list = random_list(random);
  if (random.below(8) == 0) step.second = random_list(random);
  if (random.below(5) == 0) step.polls = random.below(300);
  const bool chooses = is_choice(event) && random.below(3) > 0;
  for (std::size_t i = 0; chooses && i < std::max<std::size_t>(1, step.list.size()); i += 2)
    step.choice.push_back(static_cast<std::uint32_t>(i));
  if (is_wildcard(event) && random.below(4) > 0)
    step.match = Match{static_cast<int>(random.below(1000)) - 1, static_cast<int>(random.any() >> 33U)};
  return step;
}

TEST(RoundTrip, RandomEvents) {
  for (const std::uint64_t range : {2ULL, 3ULL, 50ULL, 1ULL << 31U}) {
    Random random(range);
    std::vector<Step> steps;
    for (int i = 0; i < 20'000; ++i) steps.push_back(random_step(random, range));
    expect_read(steps, record(steps));
  }
}

TEST(RoundTrip, RandomLoopsOfRandomEvents) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    std::vector<Step> steps;
    while (steps.size() < 5000) {
      std::vector<Step> body;
      for (std::uint64_t i = random.below(30); i > 0; --i) body.push_back(random_step(random, 5));
      for (std::uint64_t i = random.below(40); i > 0; --i) {
        steps.insert(steps.end(), body.begin(), body.end());
        if (random.below(4) == 0) steps.push_back(random_step(random, 1000));
      }
    }
    expect_read(steps, record(steps));
  }
}

TEST(RoundTrip, ExtremeFields) {
  std::vector<Step> steps;
  for (const std::uint64_t bytes :
       {UINT64_MAX, std::uint64_t{0}, std::uint64_t{1} << 63U, std::uint64_t{1}}) {
    for (const std::int32_t peer : {INT32_MIN, INT32_MAX, 0, -1}) {
      Event event = message(EventKind::kSend, peer, bytes, peer);
      event.extra = bytes;
      event.communicator = static_cast<std::uint32_t>(bytes);
      steps.push_back({event});
    }
  }
  expect_read(steps, record(steps));
}

TEST(RoundTrip, EmptyRecording) {
  expect_read({}, record({}));
}

TEST(RoundTrip, ListsOfNoneOneAndManyValues) {
  std::vector<std::uint64_t> counting(1U << 20U);
  std::iota(counting.begin(), counting.end(), 5);
  Random random(3);
  std::vector<std::uint64_t> any(100'000);
  for (std::uint64_t& each : any) each = random.any();
  std::vector<Step> steps;
  for (const auto& list :
       {std::vector<std::uint64_t>{}, {UINT64_MAX}, {0}, {3, 3}, {9, 8, 7, 6, 1}, counting, any})
    steps.push_back({wait_all(), list, counting});
  expect_read(steps, record(steps));
  const std::vector<Step> one = {{wait_all(), counting}};
  EXPECT_LT(record(one).size(), 200U);
}

TEST(RoundTrip, ListsOfAllRanksShareTheirMemory) {
  std::vector<std::uint64_t> all(5000);
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::uint64_t> other = all;
  std::swap(other[4000], other[4001]);
  const std::string part = record({{wait_all(), all, other}, {wait_all(), {1, 2}, all}});
  const Result<Recording> recording = one_rank(part);
  ASSERT_TRUE(recording) << recording.error();
  const auto one = recording->read(0);
  const auto another = recording->read(0);
  Event event;
  ASSERT_TRUE(one->next(event));
  EXPECT_TRUE(is_all_ranks(one->list(event.list)));
  EXPECT_FALSE(is_all_ranks(one->list(event.second_list)));
  ASSERT_TRUE(another->next(event));
  EXPECT_EQ(one->list(event.list).data(), another->list(event.list).data());
  EXPECT_NE(one->list(event.second_list).data(), another->list(event.second_list).data());
  ASSERT_TRUE(one->next(event));
  EXPECT_TRUE(is_all_ranks(one->list(event.second_list)));
  EXPECT_FALSE(is_all_ranks({}));
  EXPECT_FALSE(is_all_ranks(all));
}

TEST(RoundTrip, AListThatIsTooLongEndsTheRecording) {
  Recorder recorder(options_of());
  recorder.add(wait_all());
  recorder.list(std::vector<std::uint64_t>((1U << 20U) + 1));
  recorder.add(wait_all());
  EXPECT_FALSE(recorder.complete());
  EXPECT_EQ(recorder.events(), 1U);
  const Result<Recording> recording = one_rank(recorder.finish());
  const auto reader = recording->read(0);
  EXPECT_EQ(read_all(*reader).size(), 1U);
  EXPECT_EQ(reader->cut(), kCut);
}

TEST(RoundTrip, EqualListsHaveOneNumber) {
  Recorder recorder(options_of());
  const std::vector<std::uint64_t> list = {4, 3, 2};
  EXPECT_EQ(recorder.list({}), 0U);
  const std::uint32_t number = recorder.list(list);
  EXPECT_EQ(recorder.list(std::vector<std::uint64_t>{4, 3}), number + 1);
  EXPECT_EQ(recorder.list(list), number);
}

TEST(RoundTrip, DistinguishesLongListsInEqualStepsFromOthers) {
  std::vector<Step> steps;
  for (const std::size_t length : {2, 3, 33, 63, 64, 65, 97, 200}) {
    for (const std::uint64_t first : {0, 7}) {
      for (const std::uint64_t step : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{3}, UINT64_MAX}) {
        std::vector<std::uint64_t> list(length);
        for (std::size_t i = 0; i < length; ++i) list[i] = first + i * step;
        steps.push_back({wait_all(), list});
        list.back() += 1;
        steps.push_back({wait_all(), list, list});
        list.back() -= 1;
        list[length / 2] += 1;
        steps.push_back({wait_all(), list});
      }
    }
  }
  const std::vector<Step> once = steps;
  steps.insert(steps.end(), once.begin(), once.end());
  expect_read(steps, record(steps));
  Recorder recorder(options_of());
  std::vector<std::uint64_t> all(1000);
  std::iota(all.begin(), all.end(), 0);
  const std::uint32_t number = recorder.list(all);
  EXPECT_EQ(recorder.list(all), number);
  for (std::uint64_t& each : all) each += 1;
  EXPECT_EQ(recorder.list(all), number + 1);
}

TEST(RoundTrip, DoesNotDependOnMemoryReusedFromAnotherRecorder) {
  Random random(5);
  std::unique_ptr<Recorder> recorder;
  for (const int rank : {0, 1, 2}) {
    std::vector<Step> steps;
    for (int i = 0; i < 3000 * rank; ++i) steps.push_back(random_step(random, 40));
    const RecorderOptions options = options_of(rank, 3);
    recorder = recorder == nullptr ? std::make_unique<Recorder>(options)
                                   : std::make_unique<Recorder>(options, std::move(*recorder));
    for (const Step& step : steps) record(*recorder, step);
    EXPECT_EQ(recorder->finish(), record(steps, options));
  }
}

TEST(RoundTrip, RequestsAndWildcardsAreCounted) {
  Recorder recorder(options_of());
  for (int round = 0; round < 100; ++round) {
    const auto before = recorder.requests();
    EXPECT_EQ(recorder.add(message(EventKind::kReceive, kAnySource, 8)), before + 1);
    EXPECT_EQ(recorder.add(message(EventKind::kSend, 1, 8)), before + 2);
    EXPECT_EQ(recorder.distance(before + 1), 2U);
    EXPECT_EQ(recorder.distance(before + 2), 1U);
    Event blocking = message(EventKind::kSend, 1, 8);
    blocking.flags = kBlocking;
    EXPECT_EQ(recorder.add(blocking), before + 2);
    EXPECT_EQ(recorder.add(wait_all(1)), before + 2);
    EXPECT_EQ(recorder.wildcards(), static_cast<std::uint32_t>(round) + 1);
  }
  EXPECT_EQ(recorder.events(), 400U);
}

TEST(RoundTrip, KeepsNamesInEveryBlock) {
  std::vector<Step> steps;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    steps.push_back({message(EventKind::kSend, 1, i)});
    steps.push_back({message(EventKind::kReceive, 2, i)});
    if (i % 1000 == 999) steps.push_back({allreduce(i)});
  }
  const Result<Recording> recording = one_rank(record(steps));
  const auto reader = recording->read(0);
  std::vector<std::pair<std::string, int>> names;
  for (Event event; reader->next(event);) {
    const std::pair<std::string, int> name(reader->call(event.call), event.call);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  EXPECT_EQ(reader->error(), "");
  EXPECT_THAT(names,
              testing::UnorderedElementsAre(testing::Pair("MPI_Isend", 0), testing::Pair("MPI_Irecv", 1),
                                            testing::Pair("MPI_Allreduce", 2)));
}

TEST(RoundTrip, KeepsPlacesInEveryBlock) {
  Recorder recorder(options_of());
  EXPECT_EQ(recorder.site("app+0x10"), 1U);
  EXPECT_EQ(recorder.site("app+0x20"), 2U);
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    Event event = message(EventKind::kSend, 1, i);
    event.site = static_cast<std::uint32_t>(i % 3);
    recorder.add(event);
  }
  const Result<Recording> recording = one_rank(recorder.finish());
  const auto reader = recording->read(0);
  std::uint64_t events = 0;
  for (Event event; reader->next(event); ++events) {
    constexpr std::array<std::string_view, 3> kPlaces = {"", "app+0x10", "app+0x20"};
    ASSERT_EQ(reader->site(event.site), kPlaces[events % 3]);
    ASSERT_EQ(reader->call(event.call), "MPI_Isend");
  }
  EXPECT_EQ(reader->error(), "");
  EXPECT_EQ(events, 20'000U);
}

TEST(RoundTrip, MorePlacesThanThereMayBeAreNotKnown) {
  Recorder recorder(options_of());
  for (std::size_t i = 0; i < kMostSites; ++i) ASSERT_EQ(recorder.site("a"), i + 1);
  EXPECT_EQ(recorder.site("b"), 0U);
}

TEST(RoundTrip, WildcardsTakeInAnyOrder) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Random random(seed);
    Recorder recorder(options_of());
    std::vector<std::uint32_t> open;
    std::vector<std::optional<Match>> expected(1);
    for (int i = 0; i < 30'000; ++i) {
      recorder.add(message(EventKind::kReceive, i % 2 == 0 ? kAnySource : 3, 8, i % 4 == 1 ? kAnyTag : 5));
      if (recorder.wildcards() == expected.size()) {
        open.push_back(recorder.wildcards());
        expected.emplace_back();
      }
      while (open.size() > 50) {
        const std::size_t which = random.below(open.size());
        const Match match = {static_cast<int>(random.below(64)), static_cast<int>(random.below(9)) - 1};
        if (random.below(50) > 0) {
          recorder.matched(open[which], match);
          expected[open[which]] = match;
        }
        open.erase(open.begin() + static_cast<std::ptrdiff_t>(which));
      }
    }
    const Result<Recording> recording = one_rank(recorder.finish());
    const auto reader = recording->read(0);
    std::size_t wildcards = 0;
    for (Event event; reader->next(event);) {
      const std::optional<Match> match = reader->match();
      if (!is_wildcard(event)) {
        EXPECT_FALSE(match);
        continue;
      }
      ++wildcards;
      ASSERT_EQ(match.has_value(), expected[wildcards].has_value()) << wildcards;
      if (!match) continue;
      ASSERT_EQ(match->source, expected[wildcards]->source);
      ASSERT_EQ(match->tag, expected[wildcards]->tag);
    }
    EXPECT_EQ(reader->error(), "");
    EXPECT_EQ(wildcards + 1, expected.size());
  }
}

TEST(RoundTrip, ATimeIsKeptToEightBitsAndTheSumToTheRemainder) {
  Random random(11);
  Recorder recorder(options_of());
  std::uint64_t sum = 0;
  std::vector<std::uint64_t> times;
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t time = random.any() >> (24 + random.below(40));
    times.push_back(time);
    sum += time;
    recorder.passed(time, 0);
    recorder.add(wait_all(static_cast<std::uint64_t>(i % 10)));
  }
  const Result<Recording> recording = one_rank(recorder.finish());
  const auto reader = recording->read(0);
  std::uint64_t read = 0, carried = 0, remainder = 0;
  std::size_t i = 0;
  for (Event event; reader->next(event); ++i) {
    carried += times[i];
    const std::uint64_t computed = reader->times().computing;
    ASSERT_LE(computed, carried);
    carried -= computed;
    read += computed;
    if (computed > 0) remainder = carried;
    ASSERT_LE(remainder, computed > 0 ? computed / 128 : remainder);
    ASSERT_LT(carried, remainder + 1000);
  }
  EXPECT_EQ(i, times.size());
  EXPECT_EQ(read + carried, sum);
}

TEST(RoundTrip, SmallTimesAreAddedUp) {
  Recorder recorder(options_of());
  for (int i = 0; i < 100; ++i) {
    recorder.passed(100, 0);
    recorder.add(wait_all());
  }
  const Result<Recording> recording = one_rank(recorder.finish());
  const auto reader = recording->read(0);
  std::uint64_t sum = 0, entries = 0;
  for (Event event; reader->next(event);) {
    sum += reader->times().computing;
    entries += static_cast<std::uint64_t>(reader->times().computing > 0);
  }
  EXPECT_EQ(entries, 10U);
  EXPECT_LE(10'000 - sum, 10U);
}

TEST(RoundTrip, BlockedTimesAndDurationsBelongToTheirEvents) {
  Recorder recorder(options_of());
  recorder.passed(2000, 3000);
  recorder.add(wait_all());
  const std::uint64_t first = recorder.time_event();
  recorder.add(wait_all());
  const std::uint64_t second = recorder.time_event();
  recorder.add(wait_all());
  recorder.lasted(second, 200);  // threads end their calls in any order
  recorder.lasted(first, 100);
  const Result<Recording> recording = one_rank(recorder.finish());
  const auto reader = recording->read(0);
  std::vector<std::uint64_t> natives;
  for (Event event; reader->next(event);) {
    EXPECT_EQ(reader->times().blocked > reader->times().computing, natives.empty());
    natives.push_back(reader->times().native);
  }
  EXPECT_EQ(reader->error(), "");
  EXPECT_THAT(natives, testing::ElementsAre(100, 200, 0));
}

TEST(RoundTrip, NativeTimesAreThoseOfTheRun) {
  NativeRun run{.host = "node1", .cores = 4, .run = 1'000'000, .init = 5, .ready = 20'000, .calls = {}};
  run.calls = {{"MPI_Send", "a+0x1", 3, 90'000, 10'000, 50'000}, {"MPI_Recv", "", 1, 10'000, 10'000, 10'000}};
  const auto times_of = [&] {
    Recorder recorder(options_of());
    recorder.add(wait_all());
    const Result<Recording> recording = one_rank(recorder.finish(&run));
    auto times = native_times_of(*recording);
    EXPECT_TRUE(times) << times.error();
    return **times;
  };
  EXPECT_EQ(times_of().run, 1'000'000U);
  EXPECT_DOUBLE_EQ(times_of().in_mpi, 0.1);
  EXPECT_EQ(times_of().calls.front().function, "MPI_Send");
  EXPECT_EQ(times_of().calls.front().greatest, 50'000U);
  EXPECT_FALSE(times_of().cores_are_short);
  run.ready = 60'000;
  EXPECT_TRUE(times_of().cores_are_short);
  run.ready.reset();
  EXPECT_FALSE(times_of().has_ready_time);
  Recorder other(options_of());
  EXPECT_FALSE(*native_times_of(*one_rank(other.finish()))) << "it did not run";
}

TEST(RoundTrip, TimeBetweenQuestionsStandsBesideTheRest) {
  Recorder recorder(options_of());
  for (std::uint64_t i = 0; i < 1000; ++i) {
    recorder.passed(5000, 0);
    for (std::uint64_t question = i % 3; question > 0; --question) recorder.polled(0);
    if (i % 3 == 1) recorder.add_poll_gaps({400, 0});
    if (i % 3 == 2) recorder.add_poll_gaps({0, 70'000});
    recorder.add(wait_all());
  }
  const Result<Recording> recording = one_rank(recorder.finish());
  const auto reader = recording->read(0);
  Gaps sum;
  std::uint64_t computed = 0;
  for (Event event; reader->next(event);) {
    sum.brief += reader->gaps().brief;
    sum.longer += reader->gaps().longer;
    computed += reader->times().computing;
  }
  EXPECT_EQ(reader->error(), "");
  EXPECT_LE(5'000'000 - computed, 5000 / 128 + 1);
  EXPECT_LE(333 * 400 - sum.brief, 400U);
  EXPECT_LE(333 * 70'000 - sum.longer, 70'000U / 128 + 1);
}

TEST(RoundTrip, EventsOfThreads) {
  Random random(17);
  std::vector<Step> steps;
  std::uint32_t thread = 0;
  for (int i = 0; i < 200'000; ++i) {
    if (random.below(3) == 0) thread = static_cast<std::uint32_t>(random.below(5)) * 1000;
    steps.push_back({wait_all(random.below(4))});
    steps.back().thread = thread;
    if (random.below(9) == 0) steps.back().polls = 1 + random.below(9);
  }
  expect_read(steps, record(steps));
  const Result<Recording> recording = one_rank(record(steps));
  EXPECT_TRUE(recording->read(0)->has_threads());
  EXPECT_FALSE((*one_rank(record({{wait_all()}}))).read(0)->has_threads());
}

TEST(RoundTrip, ThreadsHaveQuestionsAndTimesOfTheirOwn) {
  Recorder recorder(options_of());
  for (int i = 0; i < 100; ++i) {
    for (const std::uint32_t thread : {1U, 2U}) {
      recorder.switch_to(thread);
      recorder.passed(thread * 300, 0);
      if (thread == 1 || i % 10 == 9) recorder.polled(0);
      recorder.switch_to(3 - thread);  // a call that records nothing
    }
    recorder.switch_to(1 + static_cast<std::uint32_t>(i % 2));
    recorder.add(wait_all());
  }
  const Result<Recording> recording = one_rank(recorder.finish());
  const auto reader = recording->read(0);
  std::array<std::uint64_t, 3> computed{}, polls{};
  for (Event event; reader->next(event);) {
    computed.at(reader->thread()) += reader->times().computing;
    polls.at(reader->thread()) += reader->polls();
  }
  EXPECT_EQ(reader->error(), "");
  EXPECT_LE(100 * 300 - computed[1], 1000U);
  EXPECT_LE(100 * 600 - computed[2], 1000U);
  EXPECT_THAT(polls, testing::ElementsAre(0, 99, 10));
}

}  // namespace
}  // namespace offramp::recording
