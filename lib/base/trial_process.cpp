// The child restores the signals' default actions and ends with _exit(), so neither handlers nor exit
// functions of the parent's libraries run in it. The answer ends with a marker: a child that crashes while it
// writes has no valid answer. The parent kills the child in any case before it waits for it.
#include "lib/base/trial_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>

namespace offramp {
namespace {

constexpr char kDone = '\0';  // end marker of an answer

// Runs in the child. Nothing here may return to the parent's code.
[[noreturn]] void answer(int to, unsigned seconds, const std::function<std::string()>& read) {
  // The soft limit signals, and the hard one kills a second later.
  const rlimit limit{seconds, seconds + 1};
  (void)setrlimit(RLIMIT_CPU, &limit);
  // A crash is expected, and worth no core file.
  const rlimit no_core{0, 0};
  (void)setrlimit(RLIMIT_CORE, &no_core);
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGXCPU})
    (void)std::signal(signal, SIG_DFL);
  (void)std::set_new_handler(nullptr);  // the parent's handler may release the parent's resources
  // The library may print; the parent reports what matters.
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) (void)dup2(nowhere, file);
  try {
    const std::string text = read() + kDone;
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t n = write(to, text.data() + done, text.size() - done);
      if (n < 0 && errno != EINTR) break;
      if (n > 0) done += static_cast<std::size_t>(n);
    }
  } catch (...) {
    _exit(1);
  }
  _exit(0);
}

}  // namespace

std::optional<std::string> in_trial_process(unsigned seconds, const std::function<std::string()>& read) {
  using Clock = std::chrono::steady_clock;
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  const pid_t child = fork();
  if (child == 0) answer(ends[1], seconds, read);
  // Otherwise the pipe would never end.
  close(ends[1]);
  std::string text;
  const auto end = Clock::now() + std::chrono::seconds(10 * seconds);
  std::array<char, 4096> block{};
  while (child > 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd ready{ends[0], POLLIN, 0};
    const int found = left <= 0 ? 0 : poll(&ready, 1, static_cast<int>(left));
    if (found < 0 && errno == EINTR) continue;
    const ssize_t got = found > 0 ? ::read(ends[0], block.data(), block.size()) : 0;
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
  close(ends[0]);
  if (child <= 0) return std::nullopt;
  // The child may have closed the pipe and go on.
  kill(child, SIGKILL);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (text.empty() || text.back() != kDone) return std::nullopt;
  text.pop_back();
  return text;
}

}  // namespace offramp
