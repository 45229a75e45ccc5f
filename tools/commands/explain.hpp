// offramp explain: drawings and tables of modelled hardware, by topic of its backend.
#pragma once

#include <string>
#include <vector>

#include "tools/commands/question.hpp"

namespace offramp::tool {

struct ExplainOptions {
  std::string topic;  // empty: list the topics
  Asked asked;
  std::vector<std::string> arguments;
  std::string svg;  // for the topic validation: file for a plot
};
int explain(const ExplainOptions& options);

}  // namespace offramp::tool
