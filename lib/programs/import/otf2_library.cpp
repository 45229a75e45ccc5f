// The library prints its errors and returns codes without details. The callback keeps the first message of
// the thread, which names the cause; text_of() returns it with the code's meaning.
#include "lib/programs/import/otf2_library.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <array>
#include <cstdarg>
#include <cstdio>

namespace offramp::otf2 {
namespace {

thread_local std::string last_error;

OTF2_ErrorCode on_error(void*, const char*, std::uint64_t, const char*, OTF2_ErrorCode code,
                        const char* format, va_list arguments) {
  // The first message names the cause; later ones are consequences.
  if (!last_error.empty()) return code;
  std::array<char, 512> text{};
  if (format != nullptr) std::vsnprintf(text.data(), text.size(), format, arguments);
  const char* const means = OTF2_Error_GetDescription(code);
  last_error = means != nullptr ? means : "";
  if (text[0] != '\0') last_error += fmt::format("{}{}", last_error.empty() ? "" : ": ", text.data());
  return code;
}

}  // namespace

void install_error_handler() {
  last_error.clear();
  // The callback is the library's only one, for all threads: it is set once.
  static const bool is_set = (OTF2_Error_RegisterCallback(on_error, nullptr), true);
  (void)is_set;
}

Result<void> read_back(const std::string& anchor,
                       const std::vector<std::pair<OTF2_LocationRef, std::uint64_t>>& events) {
  install_error_handler();
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
      return failure(fmt::format("{} events of location {} are announced, but {} are in the archive", written,
                                 location, count));
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
  if (!last_error.empty()) return last_error;
  const char* const means = OTF2_Error_GetDescription(code);
  return means != nullptr ? means : fmt::format("OTF2 error {}", static_cast<int>(code));
}

}  // namespace offramp::otf2
