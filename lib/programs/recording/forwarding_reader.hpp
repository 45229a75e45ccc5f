// Base of readers that change a few things of another reader's events.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "lib/programs/recording/reader.hpp"

namespace offramp::recording {

/// Passes everything on to the reader that it owns.
class ForwardingReader : public Reader {
 public:
  explicit ForwardingReader(std::unique_ptr<Reader> inner) : inner_(std::move(inner)) {}

  bool next(Event& event) override { return inner_->next(event); }
  [[nodiscard]] Times times() const override { return inner_->times(); }
  [[nodiscard]] std::span<const std::uint64_t> list(std::uint32_t number) const final {
    return inner_->list(number);
  }
  [[nodiscard]] std::optional<Match> match() final { return inner_->match(); }
  [[nodiscard]] std::span<const std::uint32_t> choice() const final { return inner_->choice(); }
  void on_completed(std::uint64_t number) override { inner_->on_completed(number); }
  [[nodiscard]] std::uint64_t polls() const override { return inner_->polls(); }
  [[nodiscard]] Gaps gaps() const override { return inner_->gaps(); }
  [[nodiscard]] bool has_threads() const final { return inner_->has_threads(); }
  [[nodiscard]] std::uint32_t thread() const final { return inner_->thread(); }
  [[nodiscard]] std::string_view call(std::uint16_t number) const final { return inner_->call(number); }
  [[nodiscard]] std::string_view site(std::uint32_t number) const final { return inner_->site(number); }
  [[nodiscard]] std::string_view cut() const final { return inner_->cut(); }
  [[nodiscard]] std::optional<std::uint64_t> events() const override { return inner_->events(); }
  [[nodiscard]] const std::string& error() const final { return inner_->error(); }
  [[nodiscard]] bool waits_for_open() const override { return inner_->waits_for_open(); }

 protected:
  [[nodiscard]] Reader& inner() { return *inner_; }
  [[nodiscard]] const Reader& inner() const { return *inner_; }

 private:
  std::unique_ptr<Reader> inner_;
};

}  // namespace offramp::recording
