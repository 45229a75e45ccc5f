// Prints the tables of the protocol's codec and the constants that the model uses, with their sources.
#include <fmt/core.h>

#include <string>

#include "backends/zrlmpi/zrlmpi.hpp"
#include "simulators/zrlmpi/header.hpp"
#include "simulators/zrlmpi/protocol.hpp"

namespace offramp::zrlmpi {
namespace {

Explanation explain_header(const ExplainRequest&) {
  std::string text = "byte  size  field\n";
  for (const FieldSpec& field : kFields)
    text += fmt::format("{:>4}  {:>4}  {}\n", field.offset, field.width, field.name);
  return {text, {}};
}

Explanation explain_constants(const ExplainRequest&) {
  std::string text = fmt::format("{:<22}  {:>10}  {:<10}  {}\n", "constant", "value", "unit", "source");
  for (const Constant& constant : kConstants) {
    const bool hexadecimal = constant.unit == "hex";
    text += fmt::format("{:<22}  {:>10}  {:<10}  {}\n", constant.name,
                        hexadecimal ? fmt::format("{:#x}", constant.value) : std::to_string(constant.value),
                        constant.unit, constant.source);
  }
  return {text, {}};
}

Explanation explain_codes(const ExplainRequest&) {
  std::string text = "byte  code  name\n";
  const auto add = [&text](unsigned byte, int code, std::string_view name) {
    text += fmt::format("{:>4}  {:>4}  {}\n", byte, code, name);
  };
  for (int call = 0; call < static_cast<int>(MpiCall::kCount); ++call)
    add(16, call, to_string(static_cast<MpiCall>(call)));
  for (int type = 1; type < static_cast<int>(PacketType::kCount); ++type)
    add(17, type, to_string(static_cast<PacketType>(type)));
  for (const auto& [code, name] : kErrorCodes) add(kHeaderBytes, static_cast<int>(code), name);
  return {text, {}};
}

constexpr ExplainTopic kTopics[] = {
    {"header", "the fields of the 32 bytes in front of every message", explain_header},
    {"codes", "calls, packet types, and error codes of an ERROR", explain_codes},
    {"constants", "every constant of the protocol and the engine, with its source", explain_constants}};

}  // namespace

std::span<const ExplainTopic> topics() {
  return kTopics;
}

}  // namespace offramp::zrlmpi
