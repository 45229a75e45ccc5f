#include "lib/configuration/output_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace offramp {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public testing::Test {
 protected:
  OutputFileTest() {
    std::string name = (fs::temp_directory_path() / "offramp-output-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~OutputFileTest() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  static std::string contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

 private:
  fs::path folder_;
};

TEST_F(OutputFileTest, ProbeNamesTheReasonAndLeavesNothing) {
  EXPECT_EQ(output_problem(path("a")), "");
  EXPECT_EQ(files(), 0U);
  EXPECT_EQ(output_problem(path("none/a")), "there is no folder \"" + path("none") + "\"");
  EXPECT_EQ(output_problem(path("")), "it is a folder");
  EXPECT_EQ(output_problem("/dev/null"), "");
}

TEST_F(OutputFileTest, TheNameIsThereOnlyWhenTheFileIsComplete) {
  Result<OutputFile> file = OutputFile::create(path("a"));
  ASSERT_TRUE(file);
  file->write("one ");
  EXPECT_FALSE(fs::exists(path("a")));
  file->write("two");
  EXPECT_EQ(file->finish(), "");
  EXPECT_EQ(contents(path("a")), "one two");
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFileTest, AnUnfinishedFileLeavesTheOldOne) {
  ASSERT_EQ(write_output(path("a"), "old"), "");
  { OutputFile::create(path("a"))->write("new"); }
  EXPECT_EQ(contents(path("a")), "old");
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFileTest, OneProcessGoesOnWithWhatAnotherLeft) {
  std::string aside;
  Result<OutputFile> first = OutputFile::create(path("a"));
  first->write("first, ");
  ASSERT_EQ(first->leave(aside), "");
  Result<OutputFile> second = OutputFile::resume(path("a"), aside);
  ASSERT_TRUE(second);
  second->write("second");
  EXPECT_EQ(second->finish(), "");
  EXPECT_EQ(contents(path("a")), "first, second");
}

TEST_F(OutputFileTest, ASignalHandlerRemovesOnlyWhatHasNoName) {
  ASSERT_EQ(write_output(path("a"), "whole"), "");
  unlink_unfinished();
  EXPECT_EQ(contents(path("a")), "whole");
  const Result<OutputFile> file = OutputFile::create(path("b"));
  EXPECT_EQ(files(), 2U);
  unlink_unfinished();
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFileTest, WhatAnotherHostHasCannotBeResumed) {
  const Result<OutputFile> file = OutputFile::resume(path("a"), path(".offramp-none"));
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error(), "rank 0's file is not here; the folder has to be shared by all hosts");
}

TEST_F(OutputFileTest, AFullDeviceIsAnError) {
  EXPECT_EQ(write_output("/dev/full", "text"), "No space left on device");
}

TEST_F(OutputFileTest, LinksAndPermissionsStay) {
  ASSERT_EQ(write_output(path("target"), "old"), "");
  struct stat status {};
  ASSERT_EQ(stat(path("target").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  ASSERT_EQ(chmod(path("target").c_str(), 0640), 0);
  fs::create_symlink("target", path("link"));
  ASSERT_EQ(write_output(path("link"), "new"), "");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(contents(path("target")), "new");
  ASSERT_EQ(stat(path("target").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
}

TEST_F(OutputFileTest, ALinkToNothingStaysAndItsTargetIsMade) {
  fs::create_symlink("target", path("first"));
  fs::create_symlink("first", path("link"));
  ASSERT_EQ(write_output(path("link"), "new"), "");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_TRUE(fs::is_symlink(path("first")));
  EXPECT_EQ(contents(path("target")), "new");
}

TEST_F(OutputFileTest, TheUmaskDecidesWhereTheOwnerIsNotTheOnlyReader) {
  const mode_t before = umask(027);
  ASSERT_EQ(write_output(path("a"), "text", Readers::kAsUmask), "");
  umask(before);
  struct stat status {};
  ASSERT_EQ(stat(path("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
}

TEST_F(OutputFileTest, RewritingSeesWhatWasThere) {
  const auto with_letter = [](const std::string& old) { return old + "x"; };
  EXPECT_EQ(rewrite_output(path("a"), "x", with_letter), "");
  EXPECT_EQ(rewrite_output(path("a"), "x", with_letter), "");
  EXPECT_EQ(contents(path("a")), "xx");
  EXPECT_EQ(rewrite_output(path("a"), "y", with_letter), "");
  EXPECT_EQ(contents(path("a")), "x");
  ASSERT_EQ(write_output(path("a"), "x" + std::string(10000, ' ')), "");
  EXPECT_EQ(rewrite_output(path("a"), "x", with_letter), "");
  EXPECT_EQ(contents(path("a")), "x" + std::string(10000, ' ') + "x");
  ASSERT_EQ(write_output(path("a"), std::string(5000, ' ') + "x"), "");
  EXPECT_EQ(rewrite_output(path("a"), "x", with_letter), "");
  EXPECT_EQ(contents(path("a")), "x");
}

}  // namespace
}  // namespace offramp
