// OTF2's handles, which close themselves, and its library's error messages.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "offramp/kernel/result.hpp"

namespace offramp::otf2 {

/// From here on the library's messages are kept for this thread instead of printed. Discards earlier ones.
void install_error_handler();

/// The library's message since install_error_handler(), or else the meaning of the code.
std::string text_of(OTF2_ErrorCode code);

/// Reads all definitions and events of an archive. Fails if a location has fewer events than were written:
/// the library does not report a truncated write, as on a full disk.
Result<void> read_back(const std::string& anchor,
                       const std::vector<std::pair<OTF2_LocationRef, std::uint64_t>>& events);

/// Readers of all ranks may each have a file open: raises the limit as far as the system allows.
void allow_many_files();

/// Deleters of the handles. Closing an archive writes its remaining data.
struct CloseReader {
  void operator()(OTF2_Reader* reader) const { OTF2_Reader_Close(reader); }
};
/// Closing writes what is still in memory, and may fail without a report: see read_back().
struct CloseArchive {
  void operator()(OTF2_Archive* archive) const { OTF2_Archive_Close(archive); }
};
using ReaderHandle = std::unique_ptr<OTF2_Reader, CloseReader>;
using ArchiveHandle = std::unique_ptr<OTF2_Archive, CloseArchive>;

}  // namespace offramp::otf2
