// Base of readers without a recorded run: patterns, traces of other tools, extrapolated programs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "lib/programs/recording/reader.hpp"

namespace offramp::recording {

/// Has no matches of wildcards, no choices among several requests, and no failed polls.
class UnrecordedReader : public Reader {
 public:
  [[nodiscard]] std::optional<Match> match() final { return std::nullopt; }
  [[nodiscard]] std::span<const std::uint32_t> choice() const final { return {}; }
  [[nodiscard]] std::uint64_t polls() const final { return 0; }
  /// Readers of cut traces override this.
  [[nodiscard]] std::string_view cut() const override { return {}; }
};

}  // namespace offramp::recording
