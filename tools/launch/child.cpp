// The child has its own process group, and this process adopts its orphans (PR_SET_CHILD_SUBREAPER), so that
// end_all() finds all its processes. After the time limit it sends SIGTERM, waits for mpirun to end its
// ranks, and then kills. Output is limited to kLongestOutput.
#include "tools/launch/child.hpp"

#include <fcntl.h>
#include <fmt/core.h>
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
// For questions to a child, which normally takes milliseconds.
constexpr int kPatienceMilliseconds = 5000;
constexpr double kGrace = 5;  // seconds for mpirun to end its ranks

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Removes the middle of long output: the beginning and the end usually explain a failure.
void append(std::string& output, const char* data, std::size_t bytes) {
  output.append(data, bytes);
  if (output.size() > kLongestOutput) output.erase(kLongestOutput / 4, kLongestOutput / 4);
}

/// The children of this process, adopted orphans included.
std::vector<pid_t> own_children() {
  std::ifstream file(fmt::format("/proc/self/task/{}/children", getpid()));
  std::vector<pid_t> children;
  for (pid_t child = 0; file >> child;) children.push_back(child);
  return children;
}

/// Repeats, because the children of an ended process are adopted and appear in the list.
void end_all() {
  for (std::vector<pid_t> left = own_children(); !left.empty(); left = own_children()) {
    for (const pid_t child : left) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
  }
}

/// Reads available output, and waits for it up to a time limit. False at the end of the output.
bool read_some(int pipe, std::string& output, int milliseconds) {
  pollfd one{pipe, POLLIN, 0};
  const int ready = poll(&one, 1, milliseconds);
  if (ready <= 0) return ready == 0 || errno == EINTR;
  char block[65536];
  const ssize_t got = read(pipe, block, sizeof block);
  if (got > 0) append(output, block, static_cast<std::size_t>(got));
  return got > 0 || (got < 0 && errno == EINTR);
}

/// Reads output until the child ends, even if others keep the pipe open. False at the time limit.
bool follow(pid_t child, int pipe, int& status, std::string& output, Clock::time_point begin, double limit) {
  constexpr int kLook = 20;  // milliseconds between checks of the child
  for (bool open = true;;) {
    if (waitpid(child, &status, WNOHANG) != 0) break;
    if (seconds_since(begin) > limit) return false;
    if (open) {
      open = read_some(pipe, output, kLook);
    } else {
      usleep(kLook * 1000);
    }
  }
  // The pipe can still contain output from before the end.
  for (std::size_t before = output.size() + 1; before != output.size();) {
    before = output.size();
    (void)read_some(pipe, output, 0);
  }
  return true;
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
  // execv() requires writable arguments. They are prepared before fork(), after which little is allowed.
  std::vector<std::string> copies = words;
  std::vector<char*> pointers;
  pointers.reserve(copies.size() + 1);
  for (std::string& word : copies) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const Clock::time_point begin = Clock::now();
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    // A program that reads its input must not wait for the user.
    const int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, STDIN_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    execv(pointers.front(), pointers.data());
    _exit(127);
  }
  close(ends[1]);
  int status = 0;
  result.timed_out = child > 0 && !follow(child, ends[0], status, result.output, begin, time_limit);
  if (result.timed_out) {
    kill(child, SIGTERM);  // mpirun also ends its ranks
    (void)follow(child, ends[0], status, result.output, begin, time_limit + kGrace);
  }
  end_all();
  close(ends[0]);
  result.seconds = seconds_since(begin);
  result.status = child < 0 ? 126 : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return result;
}

std::string output_of_child(const std::function<void(int)>& answer) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    // Libraries print warnings, which are no part of the answer.
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int fd : {0, 1, 2}) dup2(nowhere, fd);
    answer(ends[1]);
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  pollfd ready{ends[0], POLLIN, 0};
  std::array<char, 512> block{};
  while (child > 0 && text.size() < 4096 && poll(&ready, 1, kPatienceMilliseconds) > 0) {
    const ssize_t got = read(ends[0], block.data(), block.size());
    if (got <= 0) break;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
  close(ends[0]);
  if (child > 0) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  return text;
}

std::string version_output_of(const std::string& program) {
  return output_of_child([&](int to) {
    dup2(to, 1);
    execl(program.c_str(), program.c_str(), "--version", nullptr);
  });
}

}  // namespace offramp::tool
