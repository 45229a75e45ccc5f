// Routing keys and beats of records as a router reads them from its memory.
#include "simulators/tinsel/record.hpp"
#include "simulators/tinsel/table.hpp"
#include "tests/fuzz/support.hpp"

using namespace offramp::tinsel;  // NOLINT: one file

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  offramp::fuzz::Input input(data, size);
  const auto bits = input.take<std::uint32_t>();
  const Key key = Key::decode(bits);
  offramp::fuzz::require(key.encode() == bits);
  static_cast<void>(print(key));
  Tables tables;
  for (const int ram : {0, 1}) {
    const auto part = ram == 0 ? input.bytes(input.rest().size() / 2) : input.rest();
    for (std::size_t at = 0; at < part.size(); at += kBeatBytes) {
      const auto bytes = part.subspan(at, std::min<std::size_t>(kBeatBytes, part.size() - at));
      const BeatRecords beat = decode_beat(bytes);
      const std::span<const Record> records(beat.records.data(), static_cast<std::size_t>(beat.count));
      for (const Record& record : records) static_cast<void>(print(record));
      if (beat.trap == Trap::kNone) {
        const Beat image = encode_beat(records);
        const Beat defined = defined_bits(records);
        for (std::size_t i = 0; i < kBeatBytes; ++i)
          offramp::fuzz::require(image[i] == (bytes[i] & defined[i]));
      }
    }
    tables.poke(ram, kFirstBeat, part.first(part.size() / kBeatBytes * kBeatBytes));
  }
  for (const std::uint32_t beat : {key.beat, kFirstBeat, kFirstBeat + 1}) {
    const Expansion expansion = expand(tables, {key.ram, beat, key.beats});
    offramp::fuzz::require(expansion.records.size() <= std::size_t{expansion.beats} * kChunksPerBeat);
  }
  return 0;
}
