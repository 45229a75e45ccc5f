// Base of readers that change some of what another reader gives.
#pragma once

#include <memory>
#include <utility>

#include "lib/programs/recording/reader.hpp"

namespace offramp::recording {

/// Gives everything as the inner reader does. Has no number of events, which may differ.
class ForwardingReader : public Reader {
 public:
  explicit ForwardingReader(std::unique_ptr<Reader> inner) : inner_(std::move(inner)) {}

  bool next(Event& event) override { return inner_->next(event); }
  [[nodiscard]] Times times() const override { return inner_->times(); }
  [[nodiscard]] std::span<const std::uint64_t> list(std::uint32_t number) const override {
    return inner_->list(number);
  }
  [[nodiscard]] std::optional<Match> match() override { return inner_->match(); }
  [[nodiscard]] std::span<const std::uint32_t> choice() const override { return inner_->choice(); }
  void on_completed(std::uint64_t number) override { inner_->on_completed(number); }
  [[nodiscard]] std::uint64_t polls() const override { return inner_->polls(); }
  [[nodiscard]] Gaps gaps() const override { return inner_->gaps(); }
  [[nodiscard]] bool has_threads() const override { return inner_->has_threads(); }
  [[nodiscard]] std::uint32_t thread() const override { return inner_->thread(); }
  [[nodiscard]] std::string_view call(std::uint16_t number) const override { return inner_->call(number); }
  [[nodiscard]] std::string_view site(std::uint32_t number) const override { return inner_->site(number); }
  [[nodiscard]] std::string_view cut() const override { return inner_->cut(); }
  [[nodiscard]] const std::string& error() const override { return inner_->error(); }
  [[nodiscard]] bool waits_for_open() const override { return inner_->waits_for_open(); }

 protected:
  std::unique_ptr<Reader> inner_;
};

}  // namespace offramp::recording
