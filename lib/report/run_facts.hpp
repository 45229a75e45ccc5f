// What a report says of the run besides its times: the program, when and where it ran, and the settings in
// force.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/configuration.hpp"
#include "lib/recording/reader.hpp"

namespace offramp {

struct RunFacts {
  std::vector<std::string> command;  // the program and its arguments
  std::string date;                  // when the report is made: "2026-11-22T04:30:00Z"
  std::string mpi;                   // "Open MPI v4.1.4"
  std::string ucx;                   // "1.13.1"
  std::vector<SettingInForce> settings;
};

/// Of a run that was recorded.
RunFacts facts_of(const recording::Description& description);

/// The machine of a rank.
struct HostFacts {
  std::string name;
  std::string cpu;          // the model's name; empty: the kernel does not say
  std::uint64_t cores = 0;  // of the whole machine
};

HostFacts look_at_host();

/// The words of this process's command line, those for a dynamic loader that was called by name included.
std::vector<std::string> own_command();

/// The text with a ? for each control character and each byte that is not UTF-8.
std::string clean_text(std::string_view text);

/// Now, in UTC.
std::string date_text();

}  // namespace offramp
