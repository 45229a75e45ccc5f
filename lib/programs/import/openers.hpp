// All kinds of programs. The first opener that accepts a name opens it. Kinds with a magic number come before
// those recognised by their text.
#pragma once

#include "lib/programs/import/program.hpp"

namespace offramp::trace {

extern const Opener kPatterns;      // pattern.cpp
extern const Opener kRecordings;    // recording_opener.cpp
extern const Opener kGoalBinaries;  // goal_binary.cpp
extern const Opener kChakraTraces;  // chakra.cpp
extern const Opener kGoalTexts;     // goal_text.cpp
extern const Opener kDumpiTraces;   // dumpi.cpp
extern const Opener kSmpiTraces;    // smpi.cpp
extern const Opener kOtf2Archives;  // otf2.cpp

/// The order of trials.
inline constexpr const Opener* kOpeners[] = {&kPatterns,     &kRecordings, &kOtf2Archives, &kGoalBinaries,
                                             &kChakraTraces, &kGoalTexts,  &kDumpiTraces,  &kSmpiTraces};

}  // namespace offramp::trace
