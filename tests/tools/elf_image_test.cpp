// The places where `offramp check` searches a program's libraries: in ld.so's order.
#include "tools/launch/elf_image.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace offramp::tool {
namespace {

namespace fs = std::filesystem;

class FindLibrary : public testing::Test {
 protected:
  FindLibrary() {
    for (const char* folder : {"own", "users"}) {
      fs::create_directories(root_ / folder);
      std::ofstream(root_ / folder / kName) << "a library";
    }
    setenv("LD_LIBRARY_PATH", (root_ / "users").c_str(), 1);
  }
  ~FindLibrary() override {
    unsetenv("LD_LIBRARY_PATH");
    fs::remove_all(root_);
  }

  [[nodiscard]] std::string in(const char* folder) const { return (root_ / folder / kName).string(); }

  static constexpr const char* kName = "libofframp-test-of-the-search.so";
  const fs::path root_ = fs::path(testing::TempDir()) / "offramp-find-library";
  ElfImage image_;
};

TEST_F(FindLibrary, WhereTheUserPointsComesBeforeRunpath) {
  image_.runpath = {(root_ / "own").string()};
  EXPECT_EQ(find_library(kName, image_), in("users"));
  unsetenv("LD_LIBRARY_PATH");
  EXPECT_EQ(find_library(kName, image_), in("own"));
}

TEST_F(FindLibrary, RpathComesBeforeWhereTheUserPoints) {
  image_.rpath = {(root_ / "own").string()};
  EXPECT_EQ(find_library(kName, image_), in("own"));
}

TEST_F(FindLibrary, RunpathPutsRpathOutOfForce) {
  image_.rpath = {(root_ / "own").string()};
  image_.runpath = {(root_ / "missing").string()};
  EXPECT_EQ(find_library(kName, image_), in("users"));
}

TEST_F(FindLibrary, ThatIsNowhereIsEmpty) {
  EXPECT_EQ(find_library("libofframp-that-is-nowhere.so", image_), "");
}

}  // namespace
}  // namespace offramp::tool
