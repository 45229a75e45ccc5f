// offramp explain --call: the parts of one call's modelled time.
#pragma once

#include <cstdint>
#include <string>

namespace offramp::tool {

struct ReceiptOptions {
  std::string report;  // a path
  int rank = 0;
  std::uint64_t call = 0;  // 0: list the calls
  bool timeline = false;   // all pieces by time instead of sums by stage
  bool json = false;
};
int receipt(const ReceiptOptions& options);

}  // namespace offramp::tool
