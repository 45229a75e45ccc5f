#include "lib/programs/import/otf2_library.hpp"

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

Result<void> read_back(const std::string& anchor,
                       const std::vector<std::pair<OTF2_LocationRef, std::uint64_t>>& events) {
  listen();
  const ReaderHandle reader(OTF2_Reader_Open(anchor.c_str()));
  if (reader == nullptr) return failure(text_of(OTF2_ERROR_INVALID));
  OTF2_ErrorCode code = OTF2_Reader_SetSerialCollectiveCallbacks(reader.get());
  OTF2_GlobalDefReader* const definitions = OTF2_Reader_GetGlobalDefReader(reader.get());
  if (code != OTF2_SUCCESS || definitions == nullptr) return failure(text_of(code));
  std::uint64_t count = 0;
  code = OTF2_Reader_ReadAllGlobalDefinitions(reader.get(), definitions, &count);
  for (std::size_t i = 0; i < events.size() && code == OTF2_SUCCESS; ++i)
    code = OTF2_Reader_SelectLocation(reader.get(), events[i].first);
  if (code == OTF2_SUCCESS) code = OTF2_Reader_OpenEvtFiles(reader.get());
  for (const auto& [location, written] : events) {
    if (code != OTF2_SUCCESS) return failure(text_of(code));
    OTF2_EvtReader* const track = OTF2_Reader_GetEvtReader(reader.get(), location);
    if (track == nullptr) return failure(text_of(OTF2_ERROR_INVALID));
    count = 0;
    code = OTF2_Reader_ReadAllLocalEvents(reader.get(), track, &count);
    if (code != OTF2_SUCCESS || count != written)
      return failure(
          fmt::format("of {} events of location {}, {} are in the archive", written, location, count));
    code = OTF2_Reader_CloseEvtReader(reader.get(), track);
  }
  return code == OTF2_SUCCESS ? Result<void>() : failure(text_of(code));
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
