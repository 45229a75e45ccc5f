// What a report says of the run besides its times: the program, when and where it ran, and the settings in
// force.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/answers/report/call_sites.hpp"
#include "lib/base/configuration/configuration.hpp"
#include "lib/programs/recording/reader.hpp"

namespace offramp {

/// What a replay has read.
struct RecordingFacts {
  std::string file;      // its name, or the pattern
  std::string checksum;  // of the file: "xxh3:1f00a3..."; empty: it is no single file
  std::string date;      // of the recorded run; empty: not known
  std::string host;      // of its rank 0; the same
};

struct RunFacts {
  std::vector<std::string> command;  // the program and its arguments
  std::string date;                  // when the report is made: "2026-11-22T04:30:00Z"
  std::string mpi;                   // "Open MPI v4.1.4"
  std::string ucx;                   // "1.13.1"
  std::vector<SettingInForce> settings;
  bool is_replay = false;
  std::vector<RecordingFacts> recordings;  // of a replay
  std::vector<LoadedObject> objects;       // of rank 0: where its calls come from
  std::string replayed_part;               // of a replay that is not whole: how much of it there is, in words
};

/// A recording has them as facts "object NAME" with build id and path.
inline constexpr std::string_view kObjectFact = "object ";
std::vector<LoadedObject> objects_of(const recording::Description& description);

/// The facts of a replay made now from an earlier recording.
RunFacts facts_of(const recording::Description& description);
/// What is known of the recording itself. file: its name.
RecordingFacts recording_facts(const recording::Description& description, const std::string& file);

/// The machine of a rank.
struct HostFacts {
  std::string name;
  std::string cpu;          // the model's name; empty: the kernel does not say
  std::uint64_t cores = 0;  // of the whole machine
};

HostFacts look_at_host();

/// The text with a ? for each control character and each byte that is not UTF-8.
std::string clean_text(std::string_view text);

/// Now, in UTC.
std::string date_text();

}  // namespace offramp
