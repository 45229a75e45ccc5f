#include "lib/answers/advice/answer_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/base/text_format.hpp"

namespace offramp {

std::string_view name_of(AnswerKind kind) {
  constexpr std::array<std::string_view, 7> kNames = {"unknown",   "nothing",  "baseline", "link",
                                                      "algorithm", "hardware", "mix"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::string slower_text(double ratio) {
  if (ratio < 1) return share_text(1 - ratio) + " shorter";
  return ratio < 2 ? share_text(ratio - 1) + " slower" : fmt::format("{:.2g} times slower", ratio);
}

std::string rate_text(const Candidate& candidate) {
  return fmt::format("{:g} Gb/s",
                     static_cast<double>(candidate.result.deployment.node_bits_per_second) / 1e9);
}

std::string headline(std::string_view name, const std::string& text, const std::string& more) {
  constexpr std::size_t kColumns = 80;
  const std::string line = fmt::format("{}: {}", cut_text(name, kLongestName), text);
  return line.size() + more.size() <= kColumns ? line + more : line;
}

}  // namespace offramp
