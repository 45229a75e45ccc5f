// offramp explain: parts of the modelled hardware, as its backends draw and list them.
#pragma once

#include <string>
#include <vector>

#include "tools/commands/question.hpp"

namespace offramp::tool {

struct ExplainOptions {
  std::string topic;  // empty: list
  Asked asked;
  std::vector<std::string> arguments;
  std::string svg;  // of the topic validation: a plot into this file
};
int explain(const ExplainOptions& options);

}  // namespace offramp::tool
