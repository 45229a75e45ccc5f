// Notification headers and the offload service's configuration file.
#include <string>

#include "simulators/dpu_protocol/config_file.hpp"
#include "simulators/dpu_protocol/notification.hpp"
#include "tests/fuzz/support.hpp"

using namespace offramp::dpu;  // NOLINT: one file

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  offramp::fuzz::Input input(data, size);
  if (const auto header = decode(input.rest())) {
    offramp::fuzz::require(header->payload_size <= kMostPayload && header->type < kTypes);
    offramp::fuzz::require(decode(encode(*header)) == header);
  }
  const std::string list(input.text().substr(0, input.text().find('\n')));
  const offramp::Result<ConfigFile> result = parse_config(input.text(), "fuzz");
  if (!result) return 0;
  static_cast<void>(list_processes(*result, list));
  for (const ConfiguredHost& host : result->hosts) offramp::fuzz::require(result->host(host.name) != nullptr);
  const std::string written = write_config(*result);
  const offramp::Result<ConfigFile> again = parse_config(written, "again");
  offramp::fuzz::require(again && write_config(*again) == written);
  return 0;
}
