// offramp info FILE: what a recording holds.
#pragma once

#include <string>

namespace offramp::tool {

enum class RecordingView { kText, kJson, kEvents };
int recording_info(const std::string& path, RecordingView view);

}  // namespace offramp::tool
