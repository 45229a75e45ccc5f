// offramp explain --call: where the modelled time of one call went.
#pragma once

#include <cstdint>
#include <string>

namespace offramp::tool {

struct ReceiptOptions {
  std::string report;  // a path
  int rank = 0;
  std::uint64_t call = 0;  // 0: list the calls instead
  bool timeline = false;   // every piece in the order of time, not the sums of the stages
  bool json = false;
};
int receipt(const ReceiptOptions& options);

}  // namespace offramp::tool
