#include "tools/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>

namespace offramp::tool {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongestOutput = 1 << 20;
constexpr double kGrace = 5;  // seconds that mpirun gets to end its ranks

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void append(std::string& output, const char* data, std::size_t bytes) {
  output.append(data, bytes);
  if (output.size() > kLongestOutput) output.erase(kLongestOutput / 4, kLongestOutput / 4);
}

/// What orphans of the program are adopted by: this process.
std::vector<pid_t> own_children() {
  std::ifstream file(fmt::format("/proc/self/task/{}/children", getpid()));
  std::vector<pid_t> children;
  for (pid_t child = 0; file >> child;) children.push_back(child);
  return children;
}

void end_all() {
  for (std::vector<pid_t> left = own_children(); !left.empty(); left = own_children()) {
    for (const pid_t child : left) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
  }
}

/// Reads until the writers are gone or the time is over; false: it was over.
bool read_until(int pipe, std::string& output, Clock::time_point begin, double limit) {
  for (;;) {
    const double left = limit - seconds_since(begin);
    if (left <= 0) return false;
    pollfd one{pipe, POLLIN, 0};
    const int ready = poll(&one, 1, static_cast<int>(left * 1000) + 1);
    if (ready < 0 && errno != EINTR) return true;
    if (ready <= 0) continue;
    char block[65536];
    const ssize_t got = read(pipe, block, sizeof block);
    if (got == 0 || (got < 0 && errno != EINTR)) return true;
    if (got > 0) append(output, block, static_cast<std::size_t>(got));
  }
}

/// Waits for one child; false: the time is over.
bool wait_until(pid_t child, int& status, Clock::time_point begin, double limit) {
  for (;;) {
    if (waitpid(child, &status, WNOHANG) != 0) return true;
    if (seconds_since(begin) > limit) return false;
    usleep(2000);
  }
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& words, double time_limit) {
  ChildResult result;
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    result.status = 126;
    result.output = fmt::format("cannot make a pipe: {}", std::strerror(errno));
    return result;
  }
  std::vector<std::string> copies = words;
  std::vector<char*> pointers;
  for (std::string& word : copies) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const Clock::time_point begin = Clock::now();
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    const int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, STDIN_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    execv(pointers.front(), pointers.data());
    _exit(127);
  }
  close(ends[1]);
  int status = 0;
  result.timed_out = child > 0 && (!read_until(ends[0], result.output, begin, time_limit) ||
                                   !wait_until(child, status, begin, time_limit));
  if (result.timed_out) {
    kill(child, SIGTERM);  // mpirun takes its ranks with it
    (void)wait_until(child, status, begin, time_limit + kGrace);
  }
  end_all();
  close(ends[0]);
  result.seconds = seconds_since(begin);
  result.status = child < 0 ? 126 : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return result;
}

}  // namespace offramp::tool
