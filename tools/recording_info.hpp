// What a recording holds, and what it lacks: offramp info FILE, and what a replay says before it begins.
#pragma once

#include <cstdint>
#include <string>

#include "lib/recording/reader.hpp"

namespace offramp::tool {

/// What a recording lacks, in words: "it breaks off at its byte 20000; nothing is there of ranks 2 and 3".
/// Empty: it is whole, as far as its file and the ends of its ranks tell.
std::string gaps_of(const recording::Recording& recording);
/// Says what stands behind a recording's end, if anything does. path: its name.
void tell_of_what_is_beyond(const recording::Recording& recording, const std::string& path);
/// "xxh3:1f00a3...", as `xxhsum -H3` has it; empty: it is not one file.
std::string checksum_text(const recording::Recording& recording);
/// Events of all ranks: as many as each says that it has, or as there are.
std::uint64_t events_of(const recording::Recording& recording);

enum class RecordingView : std::uint8_t { kText, kJson, kEvents };
int recording_info(const std::string& path, RecordingView view);

}  // namespace offramp::tool
