// The outcome of an operation that can fail with a message for the user: a value, or a text.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace offramp {

/// One text that says what failed, where, and what to do. Converts to a Result of any type.
struct Failure {
  std::string text;
};

/// `return failure("the file is empty")`, in a function that returns a Result.
inline Failure failure(std::string text) {
  return {std::move(text)};
}

/// A value, or the text of a failure. Accessing the value of a failure ends the process.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}                 // NOLINT: implicit conversion is intended
  Result(Failure failure) : error_(std::move(failure.text)) {}  // NOLINT: likewise

  /// True for a value. Test it before the value is read.
  explicit operator bool() const { return value_.has_value(); }
  T& operator*() { return *checked().value_; }
  T* operator->() { return &*checked().value_; }
  const T& operator*() const { return *checked().value_; }
  const T* operator->() const { return &*checked().value_; }
  /// The text of a failure; empty for a value. Valid as long as the object.
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  /// Ends the process if there is no value: to go on would read memory that was never written.
  Result& checked() {
    static_cast<void>(std::as_const(*this).checked());
    return *this;
  }
  const Result& checked() const {
    if (value_) return *this;
    std::fprintf(stderr, "offramp: the value of a failure was used: %s\n", error_.c_str());
    std::abort();
  }

  std::optional<T> value_;
  std::string error_;
};

/// Success, `return {}`, or the text of a failure.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Failure failure) : failed_(true), error_(std::move(failure.text)) {}  // NOLINT: see above

  explicit operator bool() const { return !failed_; }
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  bool failed_ = false;
  std::string error_;
};

/// Success if the text is empty, else a failure with that text. For code that collects its first problem.
inline Result<void> success_or(std::string problem) {
  return problem.empty() ? Result<void>() : failure(std::move(problem));
}

}  // namespace offramp
