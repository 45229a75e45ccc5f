// The answer of an advisor: lib/report/answer.hpp has its shape.
#pragma once

#include <string>

#include "lib/answers/advice/advice.hpp"
#include "lib/answers/report/answer.hpp"

namespace offramp {

/// How the answer names the program.
struct ProgramNames {
  std::string name;  // at the beginning
  std::string file;  // in commands; empty: they are those of before with more options
};

/// Call it after weigh(), and again after the searches, which it includes as far as they have come.
ReportAnswer answer_of(const Advisor& advisor, const ProgramNames& program);

}  // namespace offramp
