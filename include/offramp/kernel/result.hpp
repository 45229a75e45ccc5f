// The outcome of an operation that can fail for a reason that a user should read: a value, or a text.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace offramp {

/// A value, or one text that says what failed, where, and what to do. Ends the process if the value of a
/// failure is used.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}  // NOLINT: a value is a result
  static Result failure(std::string text) { return Result(std::nullopt, std::move(text)); }

  explicit operator bool() const { return value_.has_value(); }
  T& operator*() { return *checked().value_; }
  T* operator->() { return &*checked().value_; }
  const T& operator*() const { return *checked().value_; }
  const T* operator->() const { return &*checked().value_; }
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  Result(std::nullopt_t, std::string text) : error_(std::move(text)) {}
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

}  // namespace offramp
