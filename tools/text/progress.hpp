// One line on a terminal that says how far a long command has come, and is gone at its end. Shows nothing
// where standard error is no terminal.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace offramp::tool {

class ProgressLine {
 public:
  ProgressLine() : shown_(isatty(STDERR_FILENO) == 1) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Takes away what it said, so that something else can be printed.
  void clear() const {
    if (shown_) fmt::print(stderr, "\r\033[K");
  }

  /// In place of what it said before.
  template <typename... Values>
  void show(fmt::format_string<Values...> format, Values&&... values) const {
    if (!shown_) return;
    fmt::print(stderr, "\r{}\033[K", fmt::format(format, std::forward<Values>(values)...));
    (void)std::fflush(stderr);
  }

 private:
  bool shown_;
};

}  // namespace offramp::tool
