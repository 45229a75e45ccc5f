// OTF2's handles, which close themselves, and what its library says when something is wrong.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace offramp::otf2 {

/// From here on the library's messages are kept for this thread and not printed. What was kept before is
/// forgotten.
void listen();

/// In words: what the library has said since listen(), or else what the code means.
std::string text_of(OTF2_ErrorCode code);

/// The library does not say that a write was cut short, as by a full disk. Reads all definitions, and the
/// events of all locations. Fails if a location has not so many events as were written to it.
Result<void> read_back(const std::string& anchor,
                       const std::vector<std::pair<OTF2_LocationRef, std::uint64_t>>& events);

/// Readers of all ranks may each have a file open: as many as the system lets this process have.
void allow_many_files();

struct CloseReader {
  void operator()(OTF2_Reader* reader) const { OTF2_Reader_Close(reader); }
};
struct CloseArchive {
  void operator()(OTF2_Archive* archive) const { OTF2_Archive_Close(archive); }
};
using ReaderHandle = std::unique_ptr<OTF2_Reader, CloseReader>;
using ArchiveHandle = std::unique_ptr<OTF2_Archive, CloseArchive>;

}  // namespace offramp::otf2
