#include "lib/otf2/library.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <array>
#include <cstdarg>
#include <cstdio>

namespace offramp::otf2 {
namespace {

thread_local std::string said;

OTF2_ErrorCode hear(void*, const char*, std::uint64_t, const char*, OTF2_ErrorCode code, const char* format,
                    va_list arguments) {
  // The first message says what is wrong, those behind it what follows from that.
  if (!said.empty()) return code;
  std::array<char, 512> text{};
  if (format != nullptr) std::vsnprintf(text.data(), text.size(), format, arguments);
  const char* const means = OTF2_Error_GetDescription(code);
  said = means != nullptr ? means : "";
  if (text[0] != '\0') said += fmt::format("{}{}", said.empty() ? "" : ": ", text.data());
  return code;
}

}  // namespace

void listen() {
  said.clear();
  static const bool is_set = (OTF2_Error_RegisterCallback(hear, nullptr), true);
  (void)is_set;
}

void allow_many_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

std::string text_of(OTF2_ErrorCode code) {
  if (!said.empty()) return said;
  const char* const means = OTF2_Error_GetDescription(code);
  return means != nullptr ? means : fmt::format("error {} of OTF2", static_cast<int>(code));
}

}  // namespace offramp::otf2
