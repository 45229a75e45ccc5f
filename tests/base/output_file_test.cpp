#include "lib/base/output_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "lib/base/output_folder.hpp"

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

TEST_F(OutputFileTest, ProbeNamesTheReasonAndLeavesNoFile) {
  EXPECT_EQ(check_output(path("a")).error(), "");
  EXPECT_EQ(files(), 0U);
  EXPECT_EQ(check_output(path("none/a")).error(), "there is no folder \"" + path("none") + "\"");
  EXPECT_EQ(check_output(path("")).error(), "it is a folder");
  EXPECT_EQ(check_output("/dev/null").error(), "");
}

TEST_F(OutputFileTest, TheNameIsThereOnlyWhenTheFileIsComplete) {
  Result<OutputFile> file = OutputFile::create(path("a"));
  ASSERT_TRUE(file);
  file->write("one ");
  EXPECT_FALSE(fs::exists(path("a")));
  file->write("two");
  EXPECT_EQ(file->finish().error(), "");
  EXPECT_EQ(contents(path("a")), "one two");
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFileTest, AnUnfinishedFileLeavesTheOldOne) {
  ASSERT_EQ(write_output(path("a"), "old").error(), "");
  { OutputFile::create(path("a"))->write("new"); }
  EXPECT_EQ(contents(path("a")), "old");
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFileTest, ASignalHandlerRemovesOnlyUnfinishedFiles) {
  ASSERT_EQ(write_output(path("a"), "whole").error(), "");
  unlink_unfinished();
  EXPECT_EQ(contents(path("a")), "whole");
  const Result<OutputFile> file = OutputFile::create(path("b"));
  EXPECT_EQ(files(), 2U);
  unlink_unfinished();
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFileTest, AFullDeviceIsAnError) {
  EXPECT_EQ(write_output("/dev/full", "text").error(), "No space left on device");
}

TEST_F(OutputFileTest, LinksAndPermissionsStay) {
  ASSERT_EQ(write_output(path("target"), "old").error(), "");
  struct stat status {};
  ASSERT_EQ(stat(path("target").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  ASSERT_EQ(chmod(path("target").c_str(), 0640), 0);
  fs::create_symlink("target", path("link"));
  ASSERT_EQ(write_output(path("link"), "new").error(), "");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(contents(path("target")), "new");
  ASSERT_EQ(stat(path("target").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
}

TEST_F(OutputFileTest, ADanglingLinkStaysAndItsTargetIsCreated) {
  fs::create_symlink("target", path("first"));
  fs::create_symlink("first", path("link"));
  ASSERT_EQ(write_output(path("link"), "new").error(), "");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_TRUE(fs::is_symlink(path("first")));
  EXPECT_EQ(contents(path("target")), "new");
}

TEST_F(OutputFileTest, ADerivedNameReplacesALinkAndLeavesItsTarget) {
  ASSERT_EQ(write_output(path("precious"), "precious").error(), "");
  for (const char* const name : {"whole", "named", "folder"}) fs::create_symlink("precious", path(name));
  EXPECT_EQ(check_output(path("whole"), Destination::kRegular, Naming::kDerived).error(), "");
  EXPECT_EQ(output_target(path("whole"), Naming::kDerived), path("whole"));
  EXPECT_EQ(write_output(path("whole"), "mine", Naming::kDerived).error(), "");
  EXPECT_TRUE(open_named_output(path("named"), Naming::kDerived));
  EXPECT_EQ(make_output_folder(path("folder")).error(), "File exists");
  EXPECT_EQ(contents(path("whole")), "mine");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(path("named"))));
  EXPECT_EQ(contents(path("precious")), "precious");
}

TEST_F(OutputFileTest, OnlyTheCreatedFileIsRemoved) {
  Result<OpenFile> file = open_named_output(path("a"), Naming::kDerived);
  ASSERT_TRUE(file);
  const CreatedFile created = created_file(path("a"), *file);
  fs::rename(path("a"), path("b"));
  fs::create_symlink("b", path("a"));
  remove_output(created);
  EXPECT_TRUE(fs::is_symlink(path("a")));
  fs::rename(path("b"), path("a"));
  remove_output(created);
  EXPECT_EQ(files(), 0U);
}

TEST_F(OutputFileTest, TheUmaskDecidesWhereTheOwnerIsNotTheOnlyReader) {
  const mode_t before = umask(027);
  ASSERT_EQ(write_output(path("a"), "text", Naming::kTyped, Readers::kAsUmask).error(), "");
  umask(before);
  struct stat status {};
  ASSERT_EQ(stat(path("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
}

// --- files of other users ---

constexpr uid_t kStranger = 54321;

/// A folder that all users may write to, with files of another user.
class SharedFolderTest : public OutputFileTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can make files of other users";
    ASSERT_EQ(chmod(path("").c_str(), 0777), 0);
    ASSERT_EQ(write_output(path("precious"), "precious").error(), "");
  }
  void give_to_stranger(const std::string& name) const {
    ASSERT_EQ(lchown(path(name).c_str(), kStranger, kStranger), 0);
  }
  void link_of_stranger(const std::string& name, const std::string& target) const {
    fs::create_symlink(target, path(name));
    give_to_stranger(name);
  }
  void file_of_stranger(const std::string& name) const {
    std::ofstream(path(name)) << "of a stranger";
    ASSERT_EQ(chmod(path(name).c_str(), 0666), 0);
    give_to_stranger(name);
  }
  [[nodiscard]] struct stat status_of(const std::string& name) const {
    struct stat status {};
    EXPECT_EQ(lstat(path(name).c_str(), &status), 0);
    return status;
  }
};

TEST_F(SharedFolderTest, AStrangersLinkIsNotFollowed) {
  link_of_stranger("run.json", path("precious"));
  link_of_stranger("folder", path(""));
  for (const std::string& name : {path("run.json"), path("folder/precious"), path("folder/new")}) {
    const std::string why = "is a symbolic link of another user, which is not followed";
    EXPECT_NE(check_output(name).error().find(why), std::string::npos) << check_output(name).error();
    EXPECT_NE(write_output(name, "text").error().find(why), std::string::npos);
    EXPECT_FALSE(open_named_output(name, Naming::kTyped));
    EXPECT_FALSE(join_named_output(name));
  }
  EXPECT_EQ(contents(path("precious")), "precious");
}

TEST_F(SharedFolderTest, RootFollowsNoLinkOfAFoldersOwner) {
  link_of_stranger("run.json", path("precious"));
  give_to_stranger("");
  EXPECT_FALSE(write_output(path("run.json"), "text"));
  EXPECT_EQ(write_output(path("run.json"), "text", Naming::kDerived).error(), "");
  EXPECT_EQ(contents(path("precious")), "precious");
}

TEST_F(SharedFolderTest, AStrangersFileIsReplacedAndItsModeIsNotAdopted) {
  for (const char* const name : {"whole", "named"}) file_of_stranger(name);
  ASSERT_EQ(write_output(path("whole"), "mine").error(), "");
  ASSERT_TRUE(open_named_output(path("named"), Naming::kTyped));
  for (const char* const name : {"whole", "named"}) {
    EXPECT_EQ(status_of(name).st_uid, geteuid());
    EXPECT_EQ(status_of(name).st_mode & 0777, 0600U);
  }
  EXPECT_EQ(contents(path("whole")), "mine");
  EXPECT_EQ(contents(path("named")), "");
}

TEST_F(SharedFolderTest, AStrangersFileIsNotJoined) {
  file_of_stranger("a");
  const Result<OpenFile> joined = join_named_output(path("a"));
  ASSERT_FALSE(joined);
  EXPECT_EQ(joined.error(), "the file belongs to another user");
}

// --- what is not a regular file ---

TEST_F(OutputFileTest, AFifoIsRefusedAtOnce) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  const std::string why = "it is a FIFO; name a regular file or /dev/stdout";
  EXPECT_EQ(check_output(path("fifo")).error(), why);
  EXPECT_EQ(write_output(path("fifo"), "text").error(), why);
  EXPECT_EQ(open_named_output(path("fifo"), Naming::kTyped).error(), why);
  EXPECT_EQ(join_named_output(path("fifo")).error(), why);
}

TEST_F(OutputFileTest, ADeviceIsWrittenInPlaceOrRefused) {
  EXPECT_EQ(write_output("/dev/null", "text").error(), "");
  EXPECT_TRUE(open_named_output("/dev/null", Naming::kTyped));
  EXPECT_TRUE(is_stream("/dev/null"));
  EXPECT_EQ(check_output("/dev/null", Destination::kRegular).error(), "it is not a regular file");
  struct stat status {};
  ASSERT_EQ(stat("/dev/null", &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
}

TEST_F(OutputFileTest, ADescriptorOfThisProcessIsWrittenTo) {
  const int file = open(path("a").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(write(file, "one ", 4), 4);
  const std::string name = "/dev/fd/" + std::to_string(file);
  EXPECT_EQ(output_target(name), "");
  EXPECT_EQ(check_output(name).error(), "");
  EXPECT_EQ(write_output(name, "two ").error(), "");
  ASSERT_EQ(write(file, "three", 5), 5);
  close(file);
  EXPECT_EQ(contents(path("a")), "one two three");
  // For another user's process even that is unknown.
  EXPECT_THAT(
      check_output("/proc/1/fd/1").error(),
      testing::AnyOf("it is in /proc, but is not a file descriptor of this process", "Permission denied"));
}

// --- files that have their name from the beginning ---

TEST_F(OutputFileTest, ANamedOutputReplacesTheOldFileAtOnce) {
  ASSERT_EQ(write_output(path("a"), "old").error(), "");
  Result<OpenFile> first = open_named_output(path("a"), Naming::kTyped, true);
  ASSERT_TRUE(first);
  EXPECT_EQ(contents(path("a")), "");
  Result<OpenFile> second = join_named_output(path("a"));
  ASSERT_TRUE(second);
  ASSERT_EQ(write_or_fail(second->get(), "2", 1), 1);
  ASSERT_EQ(write_or_fail(first->get(), "1", 1), 1);
  EXPECT_EQ(contents(path("a")), "21");
  EXPECT_TRUE(join_named_output(path("b")));
  EXPECT_EQ(files(), 2U);
}

TEST_F(OutputFileTest, TheLimitOfAFilesSizeIsAnError) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit low{1024, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
  const std::string problem = write_output(path("a"), std::string(4096, 'x')).error();
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(problem, "File too large");
  EXPECT_EQ(files(), 0U);
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGXFSZ), 0);
}

// --- folders ---

TEST_F(OutputFileTest, AFolderGetsItsNameWhenItIsComplete) {
  {
    Result<OutputFolder> folder = OutputFolder::create(path("a"));
    ASSERT_TRUE(folder);
    std::ofstream(folder->path() + "/file") << "text";
  }
  EXPECT_EQ(files(), 0U);
  for (const bool there : {false, true}) {
    Result<OutputFolder> folder = OutputFolder::create(path("a"));
    ASSERT_TRUE(folder);
    std::ofstream(folder->path() + (there ? "/second" : "/first")) << "text";
    EXPECT_EQ(folder->finish().error(), "");
  }
  EXPECT_EQ(contents(path("a/first")), "text");
  EXPECT_EQ(contents(path("a/second")), "text");
  Result<OutputFolder> again = OutputFolder::create(path("a"));
  std::ofstream(again->path() + "/first") << "other";
  std::ofstream(again->path() + "/third") << "other";
  EXPECT_EQ(again->finish().error(), "\"" + path("a/first") + "\" already exists");
  EXPECT_EQ(contents(path("a/first")), "text");
  EXPECT_FALSE(fs::exists(path("a/third")));
}

}  // namespace
}  // namespace offramp
