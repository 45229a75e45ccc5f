#include "lib/base/trial_process.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

namespace offramp {
namespace {

TEST(TrialProcess, GivesTheAnswer) {
  const std::string long_text(300000, 'x');
  EXPECT_EQ(in_trial_process(10, [] { return std::string(); }), "");
  EXPECT_EQ(in_trial_process(10, [&] { return long_text; }), long_text);
}

TEST(TrialProcess, ACrashIsNoAnswer) {
  EXPECT_EQ(in_trial_process(10,
                             []() -> std::string {
                               (void)std::raise(SIGSEGV);
                               return "text";
                             }),
            std::nullopt);
  EXPECT_EQ(in_trial_process(10, []() -> std::string { throw 1; }), std::nullopt);
  EXPECT_EQ(in_trial_process(10, []() -> std::string { _exit(0); }), std::nullopt);
}

TEST(TrialProcess, WorkWithoutAnEndIsStopped) {
  EXPECT_EQ(in_trial_process(1,
                             []() -> std::string {
                               while (getppid() != 0) continue;
                               return {};
                             }),
            std::nullopt);
}

}  // namespace
}  // namespace offramp
