// Distribution of a sweep over threads and processes.
#pragma once

#include <string>
#include <vector>

namespace offramp::tool {

struct Sharing {
  int threads = 0;                 // 0: the cores of this process
  std::string shard;               // "2/8"; empty: by the process's rank in its job
  std::vector<std::string> files;  // with results of shards
};

}  // namespace offramp::tool
