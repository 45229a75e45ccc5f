// offramp convert: a program that replay takes, in the format of another tool.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace offramp::tool {

struct ConvertOptions {
  std::string file;  // whatever replay takes
  std::string output;
  std::string format;  // one of convert_formats()
};
std::span<const std::string_view> convert_formats();

/// Names on standard error what the format cannot say, each kind once. kDone, kUsage or kNotWritten.
int convert(const ConvertOptions& options);

}  // namespace offramp::tool
