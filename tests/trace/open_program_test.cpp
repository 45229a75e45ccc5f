// open_program(): the kind of program that each name opens, and the errors for those that open none.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "lib/programs/import/openers.hpp"
#include "tests/recording/recorded.hpp"

namespace offramp::trace {
namespace {

using recording::EventKind;
using testing::HasSubstr;
using namespace std::string_literals;

class Door : public testing::Test {
 protected:
  std::string put(const std::string& name, const std::string& bytes) {
    const std::string path = folder_.file(name);
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  /// Two ranks; rank 0 sends to rank 1.
  std::string recorded(const std::string& name) {
    std::vector<std::string> parts;
    for (int rank = 0; rank < 2; ++rank) {
      const EventKind kind = rank == 0 ? EventKind::kSend : EventKind::kReceive;
      parts.push_back(recording::record({{recording::message(kind, 1 - rank, 64)}, {recording::wait_all()}},
                                        recording::options_of(rank, 2)));
    }
    const std::string path = folder_.file(name);
    auto recording = recording::Recording::from_parts({}, std::move(parts));
    EXPECT_EQ(recording->write(path).error(), "");
    return path;
  }
  static std::string error_of(const std::string& name) {
    const Result<Program> program = open_program(name);
    EXPECT_FALSE(program) << name;
    return program.error();
  }

  recording::Folder folder_;
};

TEST_F(Door, OpensARecordingWhateverItsName) {
  for (const char* name : {"run.offramp", "run.json", "pattern", "run:0-7"}) {
    const Result<Program> program = open_program(recorded(name));
    ASSERT_TRUE(program) << program.error();
    EXPECT_EQ(program->kind, "recording");
    EXPECT_EQ(program->description.ranks, 2);
    EXPECT_EQ(program->missing, "");
    EXPECT_NE(program->recording, nullptr);
    EXPECT_EQ(events_of(*program), 4U);
  }
}

TEST_F(Door, ReadersOutliveTheProgram) {
  std::unique_ptr<recording::Reader> reader;
  {
    const Result<Program> program = open_program(recorded("run"));
    reader = program->read(1);
  }
  recording::Event event;
  ASSERT_TRUE(reader->next(event));
  EXPECT_EQ(event.kind, EventKind::kReceive);
}

TEST_F(Door, OpensAPatternAndCountsItsEvents) {
  const Result<Program> program = open_program("pattern:ring:4:8:3");
  ASSERT_TRUE(program) << program.error();
  EXPECT_EQ(program->kind, "pattern");
  EXPECT_EQ(program->description.ranks, 4);
  EXPECT_EQ(program->recording, nullptr);
  std::uint64_t events = 0;
  for (int rank = 0; rank < 4; ++rank) {
    const auto reader = program->read(rank);
    for (recording::Event event; reader->next(event);) ++events;
  }
  EXPECT_EQ(events_of(*program), events);
  EXPECT_EQ(events % 12, 0U);  // 4 ranks, 3 rounds
}

TEST_F(Door, ReportsMissingAndExtraBytes) {
  const std::string path = recorded("run");
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  const Result<Program> cut = open_program(put("cut", bytes.substr(0, bytes.size() - 1)));
  ASSERT_TRUE(cut) << cut.error();
  EXPECT_THAT(cut->missing, HasSubstr("cut off or damaged at byte"));
  const Result<Program> more = open_program(put("more", bytes + "ten bytes."));
  ASSERT_TRUE(more) << more.error();
  EXPECT_EQ(more->missing, "");
  EXPECT_THAT(more->notes, testing::ElementsAre(HasSubstr("10 bytes after the end of")));
}

TEST_F(Door, NamesTheContentAndTheKnownFormats) {
  const struct {
    std::string bytes;
    const char* says;
  } cases[] = {{"", "it is empty"},
               {"#!/bin/sh\nexit 0\n", "unknown format (text that begins \"#!/bin/sh\")"},
               {"\x1f\x8b\x08"s, "it is compressed by gzip: unpack it first"},
               {"\x7f"
                "ELF\x02"s,
                "it is a compiled program"},
               {"\xff\xaa\xdd"
                "DUMPI!"s,
                "it is a binary DUMPI trace: convert it to text with dumpi2ascii"},
               {"hostname=a\nnumprocs=4\nfileprefix=dumpi-2011\n", "it lists binary DUMPI traces"},
               {"OFFRAMPP"s + std::string(24, '\0'), "it is one rank's part of a recording"},
               {"\x00\x01\x02\x03\x04\x05\x06\xff\x08"s,
                "unknown format (begins with the bytes 00 01 02 03 04 05 06 ff)"}};
  for (const auto& one : cases) {
    const std::string error = error_of(put("file", one.bytes));
    EXPECT_THAT(error, HasSubstr(one.says));
    const bool is_unknown = error.find("unknown format") != std::string::npos;
    EXPECT_EQ(error.find("supported formats") != std::string::npos, is_unknown) << error;
    for (const Opener* opener : openers()) {
      if (!is_unknown) break;
      EXPECT_THAT(error, HasSubstr(fmt::format("\n  {} (", opener->kind)));
    }
  }
  EXPECT_EQ(error_of(folder_.file("none")),
            fmt::format("cannot read {}: No such file or directory", folder_.file("none")));
  EXPECT_THAT(error_of(folder_.file(".")), HasSubstr("it is a folder"));
}

/// Formats that are near to those that can be read, or versions of them from before.
TEST_F(Door, NamesTheToolThatMakesAReadableFile) {
  for (const auto& [text, hint] : std::initializer_list<std::pair<const char*, const char*>>{
           {"%EventDef PajeDefineContainerType 0\n", "smpirun with -trace-ti"},
           {"# made by a run\n%EventDef PajeDefineContainerType 0\n", "smpirun with -trace-ti"},
           {"MICRO\n1\nlayer -1 5 NONE 0 5 NONE 0 5 ALLREDUCE 1048576 5\n", "chakra_converter Text"},
           {"HYBRID_TRANSFORMER model_parallel_NPU_group: 4\n2\n", "chakra_converter Text"},
           {"#Paraver (01/01/2020 at 10:00):1000:1(2)\n", "convert it to OTF2"},
           {"#DIMEMAS:\"program\":1\n", "offramp record"}})
    EXPECT_THAT(error_of(put("t", text)), HasSubstr(hint)) << text;
  EXPECT_THAT(error_of(put("t", "DATA\nof my own\n")), HasSubstr("supported formats"));
}

TEST_F(Door, ReportsTheErrorOfTheMatchingOpener) {
  EXPECT_THAT(error_of("pattern:incst:4:8"), HasSubstr("did you mean \"incast\""));
  EXPECT_THAT(error_of(put("short", "OFFRAMPR")), HasSubstr("it ends within its header"));
}

TEST(Openers, AreNamedForMessages) {
  for (const Opener* opener : openers()) {
    EXPECT_FALSE(opener->kind.empty());
    EXPECT_FALSE(opener->origin.empty());
    ASSERT_NE(opener->open, nullptr);
    // A name without a file has no kind.
    const auto opened = opener->open({"none", "", "cannot read none: No such file or directory"});
    ASSERT_TRUE(opened);
    EXPECT_FALSE(opened->has_value()) << opener->kind;
  }
}

}  // namespace
}  // namespace offramp::trace
