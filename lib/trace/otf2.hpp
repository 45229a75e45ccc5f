// Archives of the Open Trace Format 2, which Score-P and others write and Vampir, Scalasca and otf2-print
// read. OTF2's own library reads and writes the bytes; a build without it names the format and refuses.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/replay/timeline.hpp"
#include "lib/trace/program.hpp"

namespace offramp::trace {

/// The version of OTF2's library that this build uses; empty: none.
std::string_view otf2_version();

/// Why no archive can be written into that folder; empty: none is known.
std::string otf2_problem(const std::string& folder);

/// Writes FOLDER/traces.otf2 and what belongs to it. Clocks count picoseconds of modelled time. program: its
/// name. Empty, or what went wrong.
std::string write_otf2(const Timeline& timeline, const std::string& program, const std::string& folder);

/// The same of a program by itself: it takes what it computed, and communication takes no time. unsaid: gets
/// a line for each kind of thing that the format cannot say.
std::string write_otf2(const Program& program, const std::string& folder, std::vector<std::string>& unsaid);

}  // namespace offramp::trace
