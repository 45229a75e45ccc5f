// What readers share whose events no run recorded: those of patterns, of traces of other tools, of programs
// at more ranks than were run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "lib/programs/recording/reader.hpp"

namespace offramp::recording {

/// Nothing is known of what wildcards took, which of several requests was done first, and which questions
/// found nothing.
class UnrecordedReader : public Reader {
 public:
  [[nodiscard]] std::optional<Match> match() final { return std::nullopt; }
  [[nodiscard]] std::span<const std::uint32_t> choice() const final { return {}; }
  [[nodiscard]] std::uint64_t polls() const final { return 0; }
  [[nodiscard]] bool cut() const override { return false; }
};

}  // namespace offramp::recording
