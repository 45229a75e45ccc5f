// The outcome of what can fail for a reason that a user should read: a value, or a text.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace offramp {

/// A value, or one text that says what failed, where, and what to do.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}  // NOLINT: a value is a result
  static Result failure(std::string text) { return Result(std::nullopt, std::move(text)); }

  explicit operator bool() const { return value_.has_value(); }
  /// Only when there is one.
  T& operator*() { return *value_; }
  T* operator->() { return &*value_; }
  const T& operator*() const { return *value_; }
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  Result(std::nullopt_t, std::string text) : error_(std::move(text)) {}
  std::optional<T> value_;
  std::string error_;
};

}  // namespace offramp
