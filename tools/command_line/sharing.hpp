// How a sweep is shared out over threads and processes, as a command line says it.
#pragma once

#include <string>
#include <vector>

namespace offramp::tool {

struct Sharing {
  int threads = 0;                 // 0: as many as there are cores for this process
  std::string shard;               // "2/8"; empty: that of the process in its job, if it is not alone
  std::vector<std::string> files;  // with lines of shards
};

}  // namespace offramp::tool
