// A status line for long commands, cleared at the end. Silent if standard error is no terminal.
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
  ProgressLine& operator=(ProgressLine&&) = delete;

  /// Clears the line, so that other text can be printed.
  void clear() const {
    if (shown_) fmt::print(stderr, "\r\033[K");
  }

  /// Replaces the line.
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
