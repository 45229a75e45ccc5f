// Recordings as files: whole, truncated anywhere, damaged anywhere, in parts, beyond limits.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>

#include "lib/programs/recording/format.hpp"
#include "tests/recording/recorded.hpp"

namespace offramp::recording {
namespace {

using testing::HasSubstr;

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void put(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Entries for every column.
std::vector<Step> small_program(int rank) {
  std::vector<Step> steps;
  for (int round = 0; round < 6; ++round) {
    Step receive{message(EventKind::kReceive, -1, 64)};
    receive.match = Match{round, 7};
    receive.polls = 2;
    Step wait{wait_all(), {2, 1}};
    wait.event.flags = kAny;
    wait.choice = {static_cast<std::uint32_t>(round % 2)};
    wait.computed = static_cast<std::uint64_t>(5000 * (rank + 1));
    steps.insert(steps.end(), {receive, {message(EventKind::kSend, rank + round, 64)}, wait, {allreduce(8)}});
  }
  return steps;
}

std::vector<std::string> small_parts() {
  std::vector<std::string> parts;
  for (int rank = 0; rank < 3; ++rank) parts.push_back(record(small_program(rank), options_of(rank, 3)));
  return parts;
}

Result<Recording> small_recording() {
  Description description;
  description.facts = {{"program", "./app"}, {"arguments", "-n 3"}};
  return Recording::from_parts(description, small_parts());
}

/// The text of all ranks' events, for comparing two readings.
struct Reading {
  std::string text;
  std::string error;
  std::string cut;
};
Reading reading(const Recording& recording, int rank) {
  const auto reader = recording.read(rank);
  Reading reading;
  for (const ReadStep& read : read_all(*reader)) {
    std::string& text = reading.text;
    const Step& step = read.step;
    const auto* const bytes = reinterpret_cast<const char*>(&step.event);
    text.append(bytes, bytes + sizeof step.event).append(read.call);
    for (const std::uint64_t value : step.list) text += std::to_string(value) + ",";
    for (const std::uint32_t position : step.choice) text += ":" + std::to_string(position);
    text += " " + std::to_string(step.computed) + " " + std::to_string(step.polls);
    if (step.match) text += " " + std::to_string(step.match->source) + "/" + std::to_string(step.match->tag);
    text += "\n";
  }
  reading.error = reader->error();
  reading.cut = reader->cut();
  return reading;
}

class SmallFile : public testing::Test {
 protected:
  SmallFile() {
    const Result<Recording> recording = small_recording();
    EXPECT_EQ(recording->write(path_).error(), "");
    bytes_ = contents(path_);
    for (int rank = 0; rank < 3; ++rank) whole_.push_back(reading(*recording, rank));
  }
  Folder folder_;
  std::string path_ = folder_.file("run.offramp");
  std::string bytes_;
  std::vector<Reading> whole_;
};

TEST_F(SmallFile, ReportsTruncationAndTrailingBytes) {
  const auto opened = [](const std::string& bytes) { return Recording::from_bytes(bytes, "run"); };
  const Result<Recording> whole = opened(bytes_);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->breaks_off(), "");
  EXPECT_EQ(whole->beyond(), 0U);
  EXPECT_TRUE(whole->checksum());
  for (const std::string& junk : {std::string("x"), std::string(100, '\0'), bytes_}) {
    const Result<Recording> longer = opened(bytes_ + junk);
    ASSERT_TRUE(longer);
    EXPECT_EQ(longer->breaks_off(), "");
    EXPECT_EQ(longer->beyond(), junk.size());
    EXPECT_NE(longer->checksum(), whole->checksum());
    for (int rank = 0; rank < 3; ++rank)
      EXPECT_EQ(reading(*longer, rank).text, whole_[static_cast<std::size_t>(rank)].text);
  }
  int opens = 0;
  for (std::size_t size = 0; size < bytes_.size(); ++size) {
    const Result<Recording> shorter = opened(bytes_.substr(0, size));
    if (!shorter) continue;
    ++opens;
    EXPECT_NE(shorter->breaks_off(), "") << size;
    EXPECT_EQ(shorter->beyond(), 0U) << size;
  }
  EXPECT_GT(opens, 100);
}

TEST_F(SmallFile, HasTheWrittenDescriptionAndEvents) {
  const Result<Recording> recording = Recording::open(path_);
  ASSERT_TRUE(recording) << recording.error();
  EXPECT_EQ(recording->description().ranks, 3);
  EXPECT_EQ(recording->description().version, static_cast<int>(kVersion));
  EXPECT_THAT(recording->description().facts,
              testing::ElementsAre(testing::Pair("program", "./app"), testing::Pair("arguments", "-n 3")));
  for (int rank = 0; rank < 3; ++rank) {
    const Reading read = reading(*recording, rank);
    EXPECT_EQ(read.text, whole_[static_cast<std::size_t>(rank)].text);
    EXPECT_EQ(read.error, "");
    EXPECT_EQ(read.cut, "");
    EXPECT_GT(recording->bytes(rank), 200U);
  }
  EXPECT_EQ(std::count(whole_[0].text.begin(), whole_[0].text.end(), '/'), 6);
}

TEST_F(SmallFile, HasEqualBytesFromEverySource) {
  const Result<Recording> again = Recording::open(path_);
  EXPECT_EQ(again->write(folder_.file("again")).error(), "");
  EXPECT_EQ(contents(folder_.file("again")), bytes_);

  Description description = again->description();
  std::vector<RecordingPart> parts(3);
  const std::vector<std::string> in_memory = small_parts();
  for (int rank = 0; rank < 3; ++rank) {
    RecorderOptions options = options_of(rank, 3);
    if (rank != 1) options.file = folder_.file("part" + std::to_string(rank));
    RecordingPart& part = parts[static_cast<std::size_t>(rank)];
    part = {record(small_program(rank), options), options.file};
    EXPECT_EQ(part.bytes.empty(), rank != 1);
    EXPECT_EQ(rank != 1 ? contents(part.path) : part.bytes, in_memory[static_cast<std::size_t>(rank)]);
  }
  const Result<Recording> mixed = Recording::from_parts(description, std::move(parts));
  ASSERT_TRUE(mixed) << mixed.error();
  EXPECT_EQ(mixed->write(folder_.file("mixed")).error(), "");
  EXPECT_EQ(contents(folder_.file("mixed")), bytes_);
}

class IndexOfParts : public SmallFile {
 protected:
  void SetUp() override {
    SmallFile::SetUp();
    path_ = folder_.file("apart");
    std::vector<RecordingPart> parts(3);
    for (int rank = 0; rank < 3; ++rank) {
      RecorderOptions options = options_of(rank, 3);
      options.file = part_path(path_, rank);
      parts[static_cast<std::size_t>(rank)] = {record(small_program(rank), options), options.file};
    }
    const Result<Recording> recording =
        Recording::from_parts((*small_recording()).description(), std::move(parts));
    ASSERT_TRUE(recording) << recording.error();
    EXPECT_TRUE(recording->is_in_parts(path_));
    EXPECT_FALSE(recording->is_in_parts(folder_.file("elsewhere")));
    EXPECT_THAT(recording->write_index(folder_.file("elsewhere")).error(),
                HasSubstr("not all parts are beside it"));
    ASSERT_EQ(recording->write_index(path_).error(), "");
  }
  /// The missing ranks of a recording whose other ranks read normally.
  std::string missing_of(const Recording& recording) {
    for (int rank = 0; rank < 3; ++rank) {
      if (recording.bytes(rank) == 0) continue;
      const Reading read = reading(recording, rank);
      EXPECT_EQ(read.text, whole_[static_cast<std::size_t>(rank)].text);
      EXPECT_EQ(read.cut, "");
    }
    return recording.breaks_off();
  }
};

TEST_F(IndexOfParts, IsReadAsTheOneFileIs) {
  const Result<Recording> recording = Recording::open(path_);
  ASSERT_TRUE(recording) << recording.error();
  EXPECT_EQ(missing_of(*recording), "");
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(recording->bytes(rank), (*small_recording()).bytes(rank));
  EXPECT_TRUE(recording->is_in_parts(path_));
  EXPECT_EQ(recording->checksum(), std::nullopt);
  EXPECT_LT(contents(path_).size(), bytes_.size() / 2);
  EXPECT_EQ(recording->write(folder_.file("joined")).error(), "");
  EXPECT_EQ(contents(folder_.file("joined")), bytes_);
}

TEST_F(IndexOfParts, NamesAPartThatIsNotThere) {
  ASSERT_EQ(std::rename(part_path(path_, 1).c_str(), folder_.file("away").c_str()), 0);
  const Result<Recording> recording = Recording::open(path_);
  EXPECT_EQ(missing_of(*recording), "cannot read " + part_path(path_, 1) + ": No such file or directory");
  EXPECT_EQ(recording->bytes(1), 0U);
  EXPECT_GT(recording->bytes(2), 0U);
}

TEST_F(IndexOfParts, KnowsAPartOfAnotherRun) {
  const std::string other = ": it is not the part that " + path_ + " refers to";
  const std::string part = part_path(path_, 1), before = contents(part);
  RecorderOptions options = options_of(1, 3);
  options.file = part;
  EXPECT_EQ(record({{wait_all(1)}}, options), "");
  EXPECT_THAT(missing_of(*Recording::open(path_)), testing::EndsWith(other));
  const auto write = [&](const std::string& bytes) { std::ofstream(part, std::ios::binary) << bytes; };
  write(before.substr(0, before.size() - 1));
  EXPECT_THAT(missing_of(*Recording::open(path_)), testing::EndsWith(other));
  write(contents(part_path(path_, 2)));
  EXPECT_THAT(missing_of(*Recording::open(path_)), testing::EndsWith(other));
  write(before + "more");
  EXPECT_EQ(missing_of(*Recording::open(path_)), "");
}

TEST_F(IndexOfParts, DamagedAnywhereIsNeverMisread) {
  const std::string whole = contents(path_);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    std::ofstream(path_, std::ios::binary) << damaged;
    const Result<Recording> recording = Recording::open(path_);
    EXPECT_TRUE(!recording || !missing_of(*recording).empty()) << at;
    std::ofstream(path_, std::ios::binary) << whole.substr(0, at);
    const Result<Recording> cut = Recording::open(path_);
    EXPECT_TRUE(!cut || !missing_of(*cut).empty()) << at;
  }
}

TEST_F(SmallFile, CutAnywhereIsReadUpToThere) {
  for (std::size_t size = 0; size < bytes_.size(); ++size) {
    const Result<Recording> recording = Recording::from_bytes(bytes_.substr(0, size), "cut");
    if (!recording) {
      EXPECT_THAT(recording.error(), testing::StartsWith("cannot read cut: it "));
      EXPECT_LT(size, 100U) << "only within the header";
      continue;
    }
    bool before = false;
    for (int rank = 0; rank < 3; ++rank) {
      const Reading read = reading(*recording, rank);
      const Reading& whole = whole_[static_cast<std::size_t>(rank)];
      ASSERT_EQ(read.error, "") << size;
      ASSERT_TRUE(!before || read.text.empty()) << size << ": ranks come one after the other";
      before = before || !read.cut.empty();
      ASSERT_EQ(!read.cut.empty(), recording->bytes(rank) < (*small_recording()).bytes(rank)) << size;
      ASSERT_TRUE(read.cut.empty() ? whole.text == read.text : whole.text.starts_with(read.text)) << size;
    }
  }
}

TEST_F(SmallFile, NoFlippedBitIsTakenForData) {
  for (std::size_t at = 0; at < bytes_.size(); ++at) {
    std::string damaged = bytes_;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    const Result<Recording> recording = Recording::from_bytes(damaged, "damaged");
    if (!recording) continue;
    ASSERT_EQ(recording->description().facts.size(), 2U);
    for (int rank = 0; rank < 3; ++rank) {
      const Reading read = reading(*recording, rank);
      const bool told = !read.error.empty() || !read.cut.empty();
      ASSERT_TRUE(told || read.text == whole_[static_cast<std::size_t>(rank)].text) << at;
    }
  }
}

TEST_F(SmallFile, AnErrorSaysWhere) {
  std::string damaged = bytes_;
  const std::size_t second = damaged.find("OBLK", damaged.find("OBLK") + 4);
  damaged[second + kBlockHeaderBytes] ^= 1;
  const Result<Recording> recording = Recording::from_bytes(damaged, "damaged.offramp");
  const auto reader = recording->read(0);
  EXPECT_LT(read_all(*reader).size(), 24U);
  EXPECT_EQ(reader->error(), "damaged.offramp: rank 0, polls, block 0, byte " + std::to_string(second) +
                                 ": its checksum is wrong");
  Event event;
  EXPECT_FALSE(reader->next(event)) << "an error stays";
  EXPECT_THAT(recording->write(folder_.file("copy")).error(), HasSubstr("its checksum is wrong"));
  EXPECT_EQ(folder_.files(), 1U) << "no half file";
}

TEST_F(SmallFile, OtherVersionsAndOtherFilesAreRefused) {
  std::string other = bytes_;
  other[8] = static_cast<char>(kVersion + 1);
  EXPECT_EQ(Recording::from_bytes(other, "newer").error(),
            "cannot read newer: it has version 7 of the format, but this Offramp reads version 6: a newer "
            "Offramp wrote it");
  other[8] = static_cast<char>(kVersion - 1);
  EXPECT_EQ(Recording::from_bytes(other, "older").error(),
            "cannot read older: it has version 5 of the format, but this Offramp reads version 6: record the "
            "program again");
  EXPECT_EQ(Recording::from_bytes("#!/bin/sh\n", "script").error(),
            "cannot read script: it is not a recording");
  EXPECT_EQ(Recording::open(folder_.file("none")).error(),
            "cannot read " + folder_.file("none") + ": No such file or directory");
  EXPECT_THAT(Recording::open(folder_.file(".")).error(), HasSubstr("it is a folder"));
  EXPECT_THAT(Recording::from_parts({}, std::vector<std::string>{"xyz"}).error(),
              HasSubstr("the part of rank 0: it is not a part of a recording"));
  std::vector<std::string> parts = small_parts();
  std::swap(parts[0], parts[1]);
  EXPECT_THAT(Recording::from_parts({}, parts).error(),
              HasSubstr("it is the part of rank 1 of 3, not of rank 0"));
}

TEST_F(SmallFile, LeavesNoFileAfterAFailedWrite) {
  const Result<Recording> recording = small_recording();
  const std::string nowhere = folder_.file("no/such/folder");
  EXPECT_EQ(recording->write(nowhere).error(),
            "cannot write " + nowhere + ": there is no folder \"" + folder_.file("no/such") + "\"");
  const std::string folder = folder_.file("folder");
  ASSERT_EQ(mkdir(folder.c_str(), 0700), 0);
  EXPECT_EQ(recording->write(folder).error(), "cannot write " + folder + ": it is a folder");
  EXPECT_EQ(folder_.files(), 2U);
}

/// Events that do not fold.
void add_random(Recorder& recorder, Random& random, int count) {
  for (int i = 0; i < count; ++i)
    recorder.add(message(EventKind::kSend, static_cast<int>(random.below(1000)), random.any() >> 30U));
}

TEST(Limits, WithoutAFileTheRecordingEnds) {
  RecorderOptions options = options_of();
  options.limit = 200'000;
  Recorder recorder(options);
  Random random(1);
  add_random(recorder, random, 100'000);
  EXPECT_FALSE(recorder.complete());
  EXPECT_EQ(recorder.requests(), 100'000U) << "still counted";
  EXPECT_LT(recorder.events(), 50'000U);
  EXPECT_LT(recorder.bytes(), options.limit + 2 * kPayloadTarget);
  const std::uint64_t events = recorder.events();
  const Result<Recording> recording = one_rank(recorder.finish());
  const auto reader = recording->read(0);
  EXPECT_EQ(read_all(*reader).size(), events);
  EXPECT_EQ(reader->error(), "");
  EXPECT_EQ(reader->cut(), kCut);
}

TEST(Limits, WithAFileLoseNoEvents) {
  const Folder folder;
  RecorderOptions options = options_of();
  options.limit = 200'000;
  options.file = folder.file("run.rank-0");
  Recorder recorder(options);
  Random random(1);
  add_random(recorder, random, 100'000);
  EXPECT_EQ(folder.files(), 1U);
  EXPECT_EQ(recorder.finish(), "");
  EXPECT_TRUE(recorder.complete());
  EXPECT_EQ(recorder.events(), 100'000U);

  RecorderOptions unlimited = options_of();
  Recorder other(unlimited);
  Random again(1);
  add_random(other, again, 100'000);
  EXPECT_EQ(other.finish(), contents(options.file));
  EXPECT_EQ(recorder.bytes(), contents(options.file).size());
}

TEST(Limits, AFullDiskEndsTheRecording) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "there is no /dev/full";
  RecorderOptions options = options_of();
  options.limit = 100'000;
  options.file = "/dev/full";
  Recorder recorder(options);
  Random random(1);
  add_random(recorder, random, 50'000);
  EXPECT_FALSE(recorder.complete());
  EXPECT_EQ(recorder.problem(), "cannot write /dev/full: No space left on device");
  const std::uint64_t events = recorder.events();
  const Result<Recording> recording = one_rank(recorder.finish());
  const auto reader = recording->read(0);
  EXPECT_EQ(read_all(*reader).size(), events);
  EXPECT_EQ(reader->cut(), kCut);
}

/// Limits the size of files of this process. Exceeding it is an error, as on a full disk, instead of a
/// signal.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    (void)std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_ = {};
};

TEST(Limits, KeepEventsInMemoryIfTheDiskIsFull) {
  const Folder folder;
  RecorderOptions options = options_of();
  options.limit = 10'000'000;
  options.file = folder.file("run.rank-0");
  std::string rest;
  {
    const FileSizeLimit limit(300'000);
    Recorder recorder(options);
    Random random(1);
    add_random(recorder, random, 100'000);
    rest = recorder.finish();
    EXPECT_TRUE(recorder.complete());
    EXPECT_TRUE(recorder.has_written());
    EXPECT_EQ(recorder.problem(), "cannot write " + options.file + ": File too large");
  }
  EXPECT_GT(contents(options.file).size(), 200'000U);
  Recorder other(options_of());
  Random again(1);
  add_random(other, again, 100'000);
  const Result<Recording> whole = one_rank(contents(options.file) + rest),
                          expected = one_rank(other.finish());
  const auto reader = whole->read(0), expected_reader = expected->read(0);
  EXPECT_EQ(read_all(*reader).size(), read_all(*expected_reader).size());
  EXPECT_EQ(reader->cut(), "");
}

TEST(Limits, CutTheRecordingIfDiskAndMemoryAreFull) {
  const Folder folder;
  RecorderOptions options = options_of();
  options.limit = 200'000;
  options.file = folder.file("run.rank-0");
  const FileSizeLimit limit(300'000);
  Recorder recorder(options);
  Random random(1);
  add_random(recorder, random, 100'000);
  const std::string rest = recorder.finish();
  EXPECT_FALSE(recorder.complete());
  const Result<Recording> recording = one_rank(contents(options.file) + rest);
  const auto reader = recording->read(0);
  EXPECT_EQ(read_all(*reader).size(), recorder.events());
  EXPECT_GT(recorder.events(), 10'000U);
  EXPECT_EQ(reader->cut(), kCut);
}

TEST(Limits, APartIsKnownByItsSizeAndItsLastBytes) {
  const Folder folder;
  const auto write = [&](const char* name, const std::string& text) {
    std::ofstream(folder.file(name), std::ios::binary) << text;
    return mark_of_part(folder.file(name));
  };
  const std::string text(200'000, 'a');
  const auto mark = write("a", text);
  ASSERT_TRUE(mark);
  EXPECT_EQ(mark->bytes, text.size());
  EXPECT_EQ(write("b", text), mark);
  EXPECT_NE(write("c", text + "a"), mark);
  EXPECT_NE(write("d", text.substr(1) + "b"), mark);
  EXPECT_TRUE(write("e", ""));
  EXPECT_FALSE(mark_of_part(folder.file("none")));
}

TEST(Limits, ReportAFileThatCannotBeOpened) {
  RecorderOptions options = options_of();
  options.file = "/no/such/folder/part";
  Recorder recorder(options);
  recorder.add(wait_all());
  EXPECT_EQ(recorder.problem(), "cannot write /no/such/folder/part: there is no folder \"/no/such/folder\"");
  EXPECT_NE(recorder.finish(), "") << "the memory suffices";
  EXPECT_TRUE(recorder.complete());
}

class Unfinished : public testing::Test {
 protected:
  /// Recorders for these of four ranks, each with a file of its own.
  RecorderOptions options(int rank) {
    RecorderOptions options = options_of(rank, 4);
    options.file = part_path(path_, rank);
    return options;
  }
  /// The number of the rank's events that can be read.
  std::size_t events(int rank, bool cut = true) {
    const Result<Recording> recording = Recording::open(path_);
    EXPECT_TRUE(recording) << recording.error();
    if (!recording) return 0;
    const auto reader = recording->read(rank);
    const std::size_t events = read_all(*reader).size();
    EXPECT_EQ(reader->error(), "");
    EXPECT_EQ(reader->cut(), cut ? kCut : "");
    return events;
  }
  Folder folder_;
  std::string path_ = folder_.file("run");
};

TEST_F(Unfinished, PartsBesideTheFileAreRead) {
  std::vector<Step> steps = small_program(0);
  record(steps, options(1));
  Recorder crashed(options(3));
  for (const Step& step : steps) record(crashed, step);
  crashed.flush();
  const Result<Recording> recording = Recording::open(path_);
  ASSERT_TRUE(recording) << recording.error();
  EXPECT_EQ(recording->description().ranks, 4);
  EXPECT_THAT(recording->description().facts,
              testing::ElementsAre(
                  testing::Pair("unfinished", "the run did not finish; parts of 2 of 4 ranks exist")));
  EXPECT_EQ(events(0), 0U);
  EXPECT_EQ(events(1, false), steps.size());
  EXPECT_EQ(events(2), 0U);
  EXPECT_EQ(events(3), steps.size());
  EXPECT_EQ(reading(*recording, 3).text, reading(*recording, 1).text);
  EXPECT_EQ(recording->write(path_).error(), "");
  EXPECT_EQ(events(1, false), steps.size());
  EXPECT_EQ(events(3), steps.size()) << "cut in the one file as well";
}

TEST_F(Unfinished, FinishedBlocksAreThereWithoutAFlush) {
  Recorder recorder(options(0));
  Random random(1);
  add_random(recorder, random, 50'000);
  const std::size_t kept = events(0);
  EXPECT_GT(kept, 30'000U);
  EXPECT_LT(kept, 50'000U);
}

TEST_F(Unfinished, ARecordingGoesOnAfterAFlush) {
  Recorder recorder(options(0));
  Random random(1);
  std::uint64_t expected = 0;
  for (int i = 1; i <= 200; ++i) {
    const int count = static_cast<int>(random.below(1500));
    add_random(recorder, random, count / 2);
    for (int j = 0; j < count - count / 2; ++j) recorder.add(wait_all());
    expected += static_cast<std::uint64_t>(count);
    recorder.passed(2000, 0);
    recorder.flush();
    if (random.below(3) == 0) recorder.flush();
    ASSERT_TRUE(i % 10 > 0 || events(0) == expected);
  }
  recorder.finish();
  EXPECT_EQ(events(0, false), expected);
}

TEST_F(Unfinished, AnUntimelyEndHasItsReason) {
  const std::string reason = "signal 11 (Segmentation fault)";
  Recorder recorder(options(0));
  for (const Step& step : small_program(0)) record(recorder, step);
  recorder.flush(reason);
  const Result<Recording> recording = Recording::open(path_);
  ASSERT_TRUE(recording) << recording.error();
  EXPECT_EQ(reading(*recording, 0).cut, reason);
  EXPECT_EQ((*recording).read(0)->events(), 24U);
  EXPECT_EQ((*recording).write(path_).error(), "");
  EXPECT_EQ(reading(*Recording::open(path_), 0).cut, reason) << "in the one file as well";
  ASSERT_EQ(unlink(path_.c_str()), 0);
  recorder.finish();
  EXPECT_EQ(events(0, false), 24U) << "the program went on";
}

Recorder* signalled = nullptr;

/// A signal may interrupt any call. Events added before are there exactly once.
TEST_F(Unfinished, AFlushFromASignalHandlerFindsWholeBlocks) {
  for (int delay = 1; delay <= 40; ++delay) {
    const pid_t child = fork();
    if (child == 0) {
      Recorder recorder(options(0));
      signalled = &recorder;
      std::signal(SIGALRM, [](int) {
        signalled->flush("signal 14 (Alarm clock)");
        _exit(0);
      });
      for (std::uint64_t i = 0;; ++i) {
        if (i == 1) ualarm(static_cast<useconds_t>(500 * delay), 0);
        const std::vector<std::uint64_t> list = {i / 7};
        Event event = message(EventKind::kSend, static_cast<int>(i % 5), i);
        event.list = recorder.list(list);
        recorder.add(event);
        for (int j = 0; j < 5; ++j) recorder.add(wait_all(i % 3));
      }
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    const Result<Recording> recording = Recording::open(path_);
    const auto reader = recording->read(0);
    std::uint64_t i = 0;
    for (Event event; reader->next(event); ++i) {
      const bool sends = i % 6 == 0;
      ASSERT_EQ(event.bytes, sends ? i / 6 : 0);
      ASSERT_EQ(event.extra, sends ? 0 : i / 6 % 3);
      ASSERT_TRUE(!sends || reader->list(event.list)[0] == i / 42);
    }
    EXPECT_EQ(reader->error(), "");
    EXPECT_EQ(reader->cut(), "signal 14 (Alarm clock)");
    EXPECT_GT(i, 0U);
    EXPECT_EQ(i, reader->events());
  }
}

TEST_F(Unfinished, PartsOfAnotherRunAreRefused) {
  record({}, options(0));
  record({}, options_of(1, 2));
  RecorderOptions other = options_of(1, 2);
  other.file = part_path(path_, 1);
  record({}, other);
  EXPECT_THAT(Recording::open(path_).error(), HasSubstr("it is the part of rank 1 of 2, not of rank 1 of 4"));
}

TEST_F(Unfinished, APartCutAnywhereIsReadUpToThere) {
  record(small_program(0), options(0));
  const std::string whole = contents(part_path(path_, 0));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    put(part_path(path_, 0), whole.substr(0, size));
    const Result<Recording> recording = Recording::open(path_);
    ASSERT_EQ(static_cast<bool>(recording), size >= kPartHeaderBytes) << size;
    if (!recording) continue;
    const Reading read = reading(*recording, 0);
    ASSERT_EQ(read.error, "");
    ASSERT_EQ(read.cut, kCut);
    ASSERT_TRUE(reading(*small_recording(), 0).text.starts_with(read.text)) << size;
  }
}

}  // namespace
}  // namespace offramp::recording
