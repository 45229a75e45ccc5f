// How UCX_TLS is understood.
#include "lib/run/fabric/transports.hpp"

#include <gtest/gtest.h>

namespace offramp {
namespace {

TEST(Transports, ShareMemoryByDefault) {
  EXPECT_TRUE(shares_memory(nullptr));
}

TEST(Transports, ShareMemoryIfOneOfThemOrAGroupWithOneIsNamed) {
  for (const char* list : {"posix", "posix,cma,self", "tcp,self,sm", "shm", "mm,tcp", "all", "tcp,\\posix"})
    EXPECT_TRUE(shares_memory(list)) << list;
  for (const char* list : {"", "tcp", "tcp,self", "self,cma", "posixly,tcp", "rc,ud"})
    EXPECT_FALSE(shares_memory(list)) << list;
}

TEST(Transports, DoNotShareMemoryIfThatIsExcluded) {
  for (const char* list : {"^posix", "^sysv,posix", "^sm", "^tcp,shm"})
    EXPECT_FALSE(shares_memory(list)) << list;
  for (const char* list : {"^tcp", "^sysv", "^cma,tcp"}) EXPECT_TRUE(shares_memory(list)) << list;
}

}  // namespace
}  // namespace offramp
