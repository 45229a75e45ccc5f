// Untrusted recordings: whole files, and the blocks of a rank with valid checksums around any payloads.
// Everything that can be read is recorded again, and must be the same then.
#include <string>
#include <utility>
#include <vector>

#include "lib/programs/recording/format.hpp"
#include "lib/programs/recording/reader.hpp"
#include "lib/programs/recording/recorder.hpp"
#include "tests/fuzz/support.hpp"

using namespace offramp::recording;  // NOLINT: one file

namespace {

/// A limit, because a few bytes can encode any number of events.
constexpr std::size_t kMostEvents = 3000;

struct Step {
  Event event;
  std::vector<std::uint64_t> list;
  std::vector<std::uint64_t> second;
  std::uint32_t thread = 0;
};

std::vector<std::uint64_t> copy_of(std::span<const std::uint64_t> values) {
  return {values.begin(), values.end()};
}

std::vector<Step> read(const Recording& recording, int rank) {
  const auto reader = recording.read(rank);
  std::vector<Step> steps;
  std::size_t values = 0;
  for (Event event; steps.size() < kMostEvents && values < 100 * kMostEvents && reader->next(event);) {
    offramp::fuzz::require(event.kind < EventKind::kCount);
    offramp::fuzz::require(event.operation < offramp::OperationKind::kCount);
    steps.push_back({event, copy_of(reader->list(event.list)), copy_of(reader->list(event.second_list)),
                     reader->thread()});
    offramp::fuzz::require(reader->thread() < kMostThreads);
    values += steps.back().list.size() + steps.back().second.size();
    for (const std::uint32_t position : reader->choice())
      offramp::fuzz::require(position < std::max<std::size_t>(1, steps.back().list.size()));
    static_cast<void>(reader->match());
    static_cast<void>(reader->call(event.call));
  }
  return steps;
}

void record_again(const std::vector<Step>& steps) {
  Recorder recorder({});
  for (Step step : steps) {
    recorder.switch_to(step.thread);
    step.event.list = recorder.list(step.list);
    step.event.second_list = recorder.list(step.second);
    recorder.add(step.event);
  }
  const auto recording = Recording::from_parts({}, std::vector<std::string>{recorder.finish()});
  offramp::fuzz::require(static_cast<bool>(recording));
  const std::vector<Step> again = read(*recording, 0);
  offramp::fuzz::require(again.size() == steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Event expected = steps[i].event;
    expected.call = again[i].event.call;
    expected.list = again[i].event.list;
    expected.second_list = again[i].event.second_list;
    offramp::fuzz::require(expected == again[i].event && steps[i].list == again[i].list &&
                           steps[i].second == again[i].second && steps[i].thread == again[i].thread);
  }
}

void append_block(std::string& bytes, const BlockHeader& header, ByteSpan payload) {
  bytes.append(text_of(seal(header, payload))).append(text_of(payload));
}

/// The input is blocks: column, first event, length, payload.
void read_blocks(offramp::fuzz::Input& input) {
  std::string part(text_of(encode(PartHeader{})));
  std::array<std::uint32_t, kColumns> sequences{};
  while (!input.empty()) {
    BlockHeader header;
    header.column = static_cast<Column>(input.take<std::uint8_t>() % kColumns);
    header.sequence = sequences[static_cast<std::size_t>(header.column)]++;
    header.first_event = input.take<std::uint8_t>();
    const auto payload = input.bytes(input.take<std::uint16_t>());
    append_block(part, header, {reinterpret_cast<const std::uint8_t*>(payload.data()), payload.size()});
  }
  const auto recording = Recording::from_parts({}, std::vector<std::string>{std::move(part)});
  offramp::fuzz::require(static_cast<bool>(recording));
  record_again(read(*recording, 0));
}

/// The input follows the header of a file of two ranks. The checksums are corrected.
void read_file(std::string_view blocks) {
  Description description;
  description.ranks = 2;
  description.version = kVersion;
  std::string bytes = encode(description);
  while (const auto header = decode_block_header(byte_span(blocks))) {
    blocks.remove_prefix(kBlockHeaderBytes);
    const std::string_view payload = blocks.substr(0, header->length);
    blocks.remove_prefix(payload.size());
    const std::size_t offset = bytes.size();
    append_block(bytes, *header, byte_span(payload));
    if (header->column != Column::kIndex) continue;
    bytes.append(text_of(encode_end_mark(offset)));
    break;
  }
  bytes.append(blocks);
  const auto recording = Recording::from_bytes(std::move(bytes), "a file");
  offramp::fuzz::require(static_cast<bool>(recording));
  for (int rank = 0; rank < 2; ++rank) static_cast<void>(read(*recording, rank));
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  offramp::fuzz::Input input(data, size);
  static_cast<void>(Recording::from_bytes(std::string(input.text()), "any bytes"));
  static_cast<void>(Recording::from_parts({}, std::vector<std::string>{std::string(input.text())}));
  const auto what = input.take<std::uint8_t>();
  if (what % 2 == 0) {
    read_blocks(input);
  } else {
    read_file(input.text());
  }
  return 0;
}
