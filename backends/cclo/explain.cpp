// The tables are those of the model: codes, header fields, lanes, and layout, for the generation of the
// profile. What a topic prints is therefore what the model does.
#include <fmt/core.h>

#include <array>

#include "backends/cclo/cclo.hpp"
#include "backends/cclo/parameters.hpp"
#include "simulators/cclo/codes.hpp"
#include "simulators/cclo/header.hpp"

namespace offramp::cclo {
namespace {

Explanation registers(const ExplainRequest& request) {
  const Configuration c = configuration_of(request.settings);
  return {print_layout(c.layout, c.rx_buffers), {}};
}

Explanation return_codes_of(const ExplainRequest& request) {
  const Generation generation = configuration_of(request.settings).spec.generation;
  std::string text = "| code | name | arises when |\n|---|---|---|\n";
  for (const ReturnCode& code : return_codes()) {
    const Occurrence& occurrence = code.in(generation);
    if (code.defined(generation) || code.error == Error::kNone)
      text += fmt::format("| {:#x} | {} | {}{} |\n", encode(generation, code.error), code.name,
                          occurrence.arises ? "" : "never: ", occurrence.reason);
  }
  return {text, {}};
}

Explanation codes(const ExplainRequest& request) {
  const Generation generation = configuration_of(request.settings).spec.generation;
  std::string text = "Calls\n";
  for (std::size_t i = 0; i < static_cast<std::size_t>(Scenario::kNumber); ++i) {
    const auto scenario = static_cast<Scenario>(i);
    if (const auto code = code_of(generation, scenario))
      text += fmt::format("{:>10}  {}\n", *code, to_string(scenario));
  }
  text += "\nReturn codes (all but the first become MPI_ERR_OTHER at their call)\n";
  return {text + return_codes_of(request).text, {}};
}

Explanation header(const ExplainRequest& request) {
  const Generation generation = configuration_of(request.settings).spec.generation;
  std::string text = "Message header: 64 bytes in front of every segment, little endian\n";
  for (const HeaderFieldSpec& f : header_fields(generation))
    text += fmt::format("{:>4} .. {:<4} {}\n", f.offset, f.offset + f.width - 1, f.name);
  return {text, {}};
}

Explanation arithmetic(const ExplainRequest& request) {
  const Generation generation = configuration_of(request.settings).spec.generation;
  std::string text = "The arithmetic unit, 64 bytes per cycle\n";
  for (const ArithmeticLane& lane : arithmetic_lanes()) {
    // NOLINTNEXTLINE(bugprone-signed-char-misuse): numbers, and -1 for none
    const int code = generation == Generation::kFirst ? lane.gen1_function : lane.gen2_lane;
    if (code >= 0)
      text += fmt::format("{:>4}  {} of {}\n", code, to_string(lane.function), to_string(lane.element));
  }
  text += "Everything else is declined.\n";
  if (generation == Generation::kSecond) {
    text +=
        "\nArithmetic configurations: types of an operand and of a compressed one, lane of SUM and of MAX\n";
    for (const ArithmeticConfig& config : arithmetic_configs())
      text += fmt::format("{:>10}  {} and {} bytes{}, lanes {} and {}\n", config.name, config.words[0],
                          config.words[1], config.words[6] != 0 ? ", computes on the compressed type" : "",
                          config.words[7], config.words[8]);
  }
  return {text, {}};
}

Explanation limits(const ExplainRequest& request) {
  const Configuration c = configuration_of(request.settings);
  std::uint64_t ranks = 0;
  const std::uint64_t words = c.layout.free_words(c.rx_buffers);
  while (c.layout.communicator_words(ranks + 1) <= words) ++ranks;
  return {fmt::format("Exchange memory: {} RX descriptors of {} words leave {} words for communicators.\n"
                      "A communicator of P ranks has {} + {} P words: up to {} ranks.\n"
                      "At most {} RX descriptors fit beside a communicator of two ranks.\n"
                      "byte_count has 32 bits; a segment is an RX buffer of {} bytes.\n",
                      c.rx_buffers, c.layout.descriptor_words(), words, kCommunicatorHeadWords,
                      c.layout.rank_words(), ranks, c.layout.most_buffers(2), c.spec.rx_buffer_bytes),
          {}};
}

constexpr std::array<ExplainTopic, 6> kTopics = {{
    {"registers", "the IO space: call block, RX buffers, communicators, miscellaneous", registers},
    {"codes", "calls and return codes", codes},
    {"return-codes", "return codes, with the cause of each", return_codes_of},
    {"header", "the message header", header},
    {"arithmetic", "functions of the arithmetic unit", arithmetic},
    {"limits", "layout and capacity of the exchange memory", limits},
}};

}  // namespace

std::span<const ExplainTopic> topics() {
  return kTopics;
}

}  // namespace offramp::cclo
