// The builder (Tables::place()) and the lookup (expand()) of routing tables.
//
// The builder divides a list of records into beats, and beats into blocks of at most 31, which one key can
// address. A longer list is a chain: in each block but the last, the last beat begins with an IND, whose key
// addresses the next block. All blocks of a list are contiguous, so the keys are known in advance. read()
// decodes the bytes and traps on violations.
#include "simulators/tinsel/table.hpp"

#include <algorithm>

namespace offramp::tinsel {
namespace {

constexpr std::size_t kTailBeats = kMaximumKeyBeats - 1;

using BeatList = std::vector<std::vector<Record>>;

int chunks_of(std::span<const Record> records) {
  int chunks = 0;
  for (const Record& record : records) chunks += spec_of(record.type()).chunks;
  return chunks;
}

bool fits(const std::vector<Record>& beat, const Record& record) {
  return chunks_of(beat) + spec_of(record.type()).chunks <= kChunksPerBeat;
}

/// Removes records from the front and packs them into at most `beats` beats, in order.
BeatList fill(std::span<const Record>& records, std::size_t beats) {
  BeatList list;
  while (!records.empty()) {
    if (list.empty() || !fits(list.back(), records.front())) {
      if (list.size() == beats) break;
      list.emplace_back();
    }
    list.back().push_back(records.front());
    records = records.subspan(1);
  }
  return list;
}

/// Fills a 31-beat block: 30 beats, and a last one that begins with an IND (whose key is set later). At least
/// one record remains for the next block, since an IND to no beats would never complete.
BeatList fill_chained(std::span<const Record>& records) {
  BeatList list = fill(records, kTailBeats);
  std::vector<Record> last = {Record::ind(0)};
  while (records.size() > 1 && fits(last, records.front())) {
    last.push_back(records.front());
    records = records.subspan(1);
  }
  list.push_back(std::move(last));
  return list;
}

std::vector<BeatList> blocks_of(std::span<const Record> records) {
  std::vector<BeatList> blocks;
  while (!records.empty()) {
    std::span<const Record> rest = records;
    BeatList tail = fill(rest, kTailBeats);
    blocks.push_back(rest.empty() ? std::move(tail) : fill_chained(records));
    if (rest.empty()) break;
  }
  return blocks;
}

Trap check(const Record& record, std::optional<Direction> arrived_from) {
  switch (record.type()) {
    case RecordType::kInd:
      return Trap::kShortIndirect;  // only the builder creates IND records
    case RecordType::kMrm:
      return record.get(Field::kDestMask) == 0 ? Trap::kEmptyMask : Trap::kNone;
    case RecordType::kRr:
      return arrived_from == record.direction() ? Trap::kUTurn : Trap::kNone;
    case RecordType::kUrm1:
    case RecordType::kUrm2:
    case RecordType::kCount:
      break;
  }
  return Trap::kNone;
}

/// Checks the rules for the records of one lookup.
Trap check(const Block& block, const Key& key) {
  int indirect = 0;
  for (const BeatRecords& beat : block.beats) {
    for (int i = 0; i < beat.count; ++i) {
      const Record& record = beat.records[static_cast<std::size_t>(i)];
      if (record.type() == RecordType::kMrm && record.get(Field::kDestMask) == 0) return Trap::kEmptyMask;
      if (record.type() == RecordType::kInd) ++indirect;
    }
  }
  if (indirect > 1) return Trap::kTwoIndirect;
  if (indirect == 1 && !key.maximal()) return Trap::kShortIndirect;
  if (indirect == 0 && key.maximal()) return Trap::kNoIndirect;
  if (!block.chained) return Trap::kNone;
  if (block.chained->beats == 0) return Trap::kEmptyIndirect;
  return block.chained->ram == key.ram ? Trap::kNone : Trap::kOtherRam;
}

}  // namespace

std::optional<std::uint32_t> Tables::allocate(Ram& ram, std::uint32_t beats) {
  for (auto it = ram.free.begin(); it != ram.free.end(); ++it) {
    const auto [begin, length] = *it;
    if (length < beats) continue;
    ram.free.erase(it);
    if (length > beats) ram.free[begin + beats] = length - beats;
    ram.used += beats;
    return begin;
  }
  const auto end = static_cast<std::uint32_t>(ram.bytes.size() / kBeatBytes);
  if (kTableBeats - end < beats) return std::nullopt;
  ram.bytes.resize((std::size_t{end} + beats) * kBeatBytes);
  ram.used += beats;
  return kFirstBeat + end;
}

Placed Tables::place(std::span<const Record> records, std::optional<Direction> arrived_from) {
  Placed placed;
  for (const Record& record : records) {
    placed.trap = check(record, arrived_from);
    if (placed.trap != Trap::kNone) return placed;
  }
  std::vector<BeatList> blocks = blocks_of(records);
  std::uint32_t total = 0;
  for (const BeatList& block : blocks) total += static_cast<std::uint32_t>(block.size());
  if (total == 0) return placed;
  const std::uint8_t ram = rams_[1].used < rams_[0].used ? 1 : 0;
  const auto first = total <= kTableBeats ? allocate(rams_[ram], total) : std::nullopt;
  if (!first) {
    placed.trap = Trap::kAddress;
    return placed;
  }
  std::uint32_t at = *first;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    BeatList& block = blocks[b];
    const auto length = static_cast<std::uint32_t>(block.size());
    if (b + 1 < blocks.size()) {
      const Key next{ram, at + length, static_cast<std::uint8_t>(blocks[b + 1].size())};
      block.back().front().set(Field::kNewKey, next.encode());
    }
    for (std::uint32_t i = 0; i < length; ++i) poke(ram, at + i, encode_beat(block[i]));
    at += length;
  }
  placed.key = {ram, *first, static_cast<std::uint8_t>(blocks.front().size())};
  placed.beats = total;
  return placed;
}

void Tables::release(const Placed& placed) {
  if (placed.beats == 0) return;
  Ram& ram = rams_[index(placed.key.ram)];
  ram.used -= placed.beats;
  auto [it, inserted] = ram.free.emplace(placed.key.beat, placed.beats);
  if (const auto next = std::next(it); next != ram.free.end() && it->first + it->second == next->first) {
    it->second += next->second;
    ram.free.erase(next);
  }
  if (it == ram.free.begin()) return;
  if (const auto before = std::prev(it); before->first + before->second == it->first) {
    before->second += it->second;
    ram.free.erase(it);
  }
}

void Tables::poke(int ram, std::uint32_t beat, std::span<const std::byte> bytes) {
  const std::size_t offset = (std::size_t{beat} - kFirstBeat) * kBeatBytes;
  std::vector<std::byte>& memory = rams_[index(ram)].bytes;
  if (memory.size() < offset + bytes.size()) memory.resize(offset + bytes.size());
  std::copy(bytes.begin(), bytes.end(), memory.begin() + static_cast<std::ptrdiff_t>(offset));
}

Block Tables::read(const Key& key) const {
  Block block;
  if (key.beats == 0) return block;
  const std::vector<std::byte>& memory = rams_[index(key.ram)].bytes;
  const std::size_t end = kFirstBeat + memory.size() / kBeatBytes;
  if (key.beat < kFirstBeat || std::size_t{key.beat} + key.beats > end) {
    block.trap = Trap::kAddress;
    return block;
  }
  const std::size_t offset = (std::size_t{key.beat} - kFirstBeat) * kBeatBytes;
  for (std::size_t i = 0; i < key.beats; ++i) {
    block.beats.push_back(decode_beat(std::span(memory).subspan(offset + i * kBeatBytes, kBeatBytes)));
    const BeatRecords& beat = block.beats.back();
    if (beat.trap != Trap::kNone) {
      block.trap = beat.trap;
      return block;
    }
    for (int r = 0; r < beat.count; ++r) {
      const Record& record = beat.records[static_cast<std::size_t>(r)];
      if (record.type() == RecordType::kInd) block.chained = Key::decode(record.new_key());
    }
  }
  block.trap = check(block, key);
  return block;
}

Expansion expand(const Tables& tables, const Key& key) {
  Expansion all;
  std::optional<Key> next = key;
  while (next) {
    if (all.beats > tables.extent(key.ram)) {
      all.trap = Trap::kLoop;
      return all;
    }
    const Block block = tables.read(*next);
    all.trap = block.trap;
    if (block.trap != Trap::kNone) return all;
    all.beats += next->beats;
    ++all.blocks;
    for (const BeatRecords& beat : block.beats) {
      for (int i = 0; i < beat.count; ++i) {
        const Record& record = beat.records[static_cast<std::size_t>(i)];
        if (record.type() != RecordType::kInd) all.records.push_back(record);
      }
    }
    next = block.chained;
  }
  return all;
}

}  // namespace offramp::tinsel
