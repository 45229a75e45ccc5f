// Tables of the record types and the key: the lowest bit of each field, counted from the record's low end,
// and its width. All functions below use these tables. defined_bits() returns the bits that records define;
// the other bits of a beat are arbitrary.
#include "simulators/tinsel/record.hpp"

#include <cassert>

namespace offramp::tinsel {
namespace {

// Records of two chunks have 96 bits.
__extension__ typedef unsigned __int128 Wide;  // NOLINT(modernize-use-using): needs a typedef

constexpr std::array<FieldSpec, 4> kUrm1Fields = {{{Field::kTag, 45, 3, "tag"},
                                                   {Field::kMailbox, 41, 4, "mbox"},
                                                   {Field::kThread, 35, 6, "thread"},
                                                   {Field::kLocalKey, 0, 32, "localKey"}}};
constexpr std::array<FieldSpec, 4> kUrm2Fields = {{{Field::kTag, 93, 3, "tag"},
                                                   {Field::kMailbox, 89, 4, "mbox"},
                                                   {Field::kThread, 83, 6, "thread"},
                                                   {Field::kLocalKey, 0, 64, "localKey"}}};
constexpr std::array<FieldSpec, 3> kRrFields = {
    {{Field::kTag, 45, 3, "tag"}, {Field::kDirection, 43, 2, "dir"}, {Field::kNewKey, 0, 32, "newKey"}}};
constexpr std::array<FieldSpec, 4> kMrmFields = {{{Field::kTag, 93, 3, "tag"},
                                                  {Field::kMailbox, 89, 4, "mbox"},
                                                  {Field::kLocalKey, 64, 16, "localKey"},
                                                  {Field::kDestMask, 0, 64, "destMask"}}};
constexpr std::array<FieldSpec, 2> kIndFields = {
    {{Field::kTag, 45, 3, "tag"}, {Field::kNewKey, 0, 32, "newKey"}}};

constexpr std::array<RecordSpec, static_cast<std::size_t>(RecordType::kCount)> kRecords = {
    {{RecordType::kUrm1, 0, 1, "URM1", kUrm1Fields},
     {RecordType::kUrm2, 1, 2, "URM2", kUrm2Fields},
     {RecordType::kRr, 2, 1, "RR", kRrFields},
     {RecordType::kMrm, 3, 2, "MRM", kMrmFields},
     {RecordType::kInd, 4, 1, "IND", kIndFields}}};

constexpr std::array<KeyField, 3> kKeyFields = {{{31, 1, "ram"}, {5, 26, "ptr"}, {0, 5, "numBeats"}}};

constexpr std::uint64_t ones(unsigned width) {
  return width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
}

constexpr std::uint32_t cut(std::uint32_t bits, const KeyField& field) {
  return (bits >> field.low) & static_cast<std::uint32_t>(ones(field.width));
}

/// Byte offset of a record with this many chunks that begins with number `chunk` (0 is the highest).
constexpr std::size_t offset_of(int chunk, int chunks) {
  return kSizeOffset - kChunkBytes * static_cast<std::size_t>(chunk + chunks);
}

Wide read_wide(std::span<const std::byte> bytes) {
  Wide value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) value = value << 8 | std::to_integer<unsigned>(bytes[i - 1]);
  return value;
}

void write_wide(Wide value, std::span<std::byte> bytes) {
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(value & 0xff);
    value >>= 8;
  }
}

/// Assembles a beat from the field values that value_of returns.
Beat laid_out(std::span<const Record> records, auto value_of) {
  Beat beat{};
  int chunk = 0;
  for (const Record& record : records) {
    const RecordSpec& spec = spec_of(record.type());
    assert(chunk + spec.chunks <= kChunksPerBeat);
    Wide bits = 0;
    for (const FieldSpec& field : spec.fields)
      bits |= static_cast<Wide>(value_of(record, field) & ones(field.width)) << field.low;
    write_wide(bits, std::span(beat).subspan(offset_of(chunk, spec.chunks), kChunkBytes * spec.chunks));
    chunk += spec.chunks;
  }
  return beat;
}

}  // namespace

std::span<const RecordSpec> record_specs() {
  return kRecords;
}
const RecordSpec& spec_of(RecordType type) {
  return kRecords[static_cast<std::size_t>(type)];
}
std::span<const KeyField> key_fields() {
  return kKeyFields;
}

std::string_view to_string(RecordType type) {
  return type < RecordType::kCount ? spec_of(type).name : std::string_view("?");
}
std::string_view to_string(Direction direction) {
  static constexpr std::array<std::string_view, 4> kNames = {"N", "S", "E", "W"};
  return kNames[static_cast<std::size_t>(direction) & 3U];
}
std::string_view to_string(Trap trap) {
  static constexpr std::array<std::string_view, static_cast<std::size_t>(Trap::kCount)> kNames = {
      "none",
      "a beat holds 1 to 5 records",
      "unknown record tag",
      "a record does not fit its beat",
      "two IND in one lookup",
      "IND in a lookup of fewer than 31 beats",
      "31 beats without IND",
      "IND to no beats",
      "IND into the other DRAM",
      "MRM to no thread",
      "beats outside of the tables",
      "RR back to where the message came from",
      "RR over the edge of the mesh",
      "a way that does not end"};
  return trap < Trap::kCount ? kNames[static_cast<std::size_t>(trap)] : std::string_view("?");
}

Record Record::urm1(unsigned mailbox, unsigned thread, std::uint32_t local_key) {
  Record record(RecordType::kUrm1);
  record.set(Field::kMailbox, mailbox);
  record.set(Field::kThread, thread);
  record.set(Field::kLocalKey, local_key);
  return record;
}
Record Record::urm2(unsigned mailbox, unsigned thread, std::uint64_t local_key) {
  Record record(RecordType::kUrm2);
  record.set(Field::kMailbox, mailbox);
  record.set(Field::kThread, thread);
  record.set(Field::kLocalKey, local_key);
  return record;
}
Record Record::rr(Direction direction, std::uint32_t new_key) {
  Record record(RecordType::kRr);
  record.set(Field::kDirection, static_cast<std::uint64_t>(direction));
  record.set(Field::kNewKey, new_key);
  return record;
}
Record Record::mrm(unsigned mailbox, std::uint16_t local_key, std::uint64_t mask) {
  Record record(RecordType::kMrm);
  record.set(Field::kMailbox, mailbox);
  record.set(Field::kLocalKey, local_key);
  record.set(Field::kDestMask, mask);
  return record;
}
Record Record::ind(std::uint32_t new_key) {
  Record record(RecordType::kInd);
  record.set(Field::kNewKey, new_key);
  return record;
}

std::string print(const Record& record) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(to_string(record.type()));
  for (const FieldSpec& field : spec_of(record.type()).fields) {
    if (field.field == Field::kTag) continue;
    text.append(" ").append(field.name).append("=");
    if (field.width <= 8) {
      text += std::to_string(record.get(field.field));
      continue;
    }
    for (unsigned shift = field.width; shift > 0; shift -= 4)
      text += kDigits[(record.get(field.field) >> (shift - 4)) & 15U];
  }
  return text;
}

std::uint32_t Key::encode() const {
  return std::uint32_t{ram} << kKeyFields[0].low | beat << kKeyFields[1].low | std::uint32_t{beats};
}
Key Key::decode(std::uint32_t bits) {
  return {static_cast<std::uint8_t>(cut(bits, kKeyFields[0])), cut(bits, kKeyFields[1]),
          static_cast<std::uint8_t>(cut(bits, kKeyFields[2]))};
}
std::string print(const Key& key) {
  std::string text;
  for (const KeyField& field : kKeyFields) {
    if (!text.empty()) text += ' ';
    text.append(field.name).append("=").append(std::to_string(cut(key.encode(), field)));
  }
  return text;
}

BeatRecords decode_beat(std::span<const std::byte> bytes) {
  BeatRecords beat;
  if (bytes.size() < kBeatBytes) {
    beat.trap = Trap::kAddress;
    return beat;
  }
  const auto size = static_cast<unsigned>(read_wide(bytes.subspan(kSizeOffset, 2)));
  if (size == 0 || size > kChunksPerBeat) {
    beat.trap = Trap::kSize;
    return beat;
  }
  int chunk = 0;
  for (unsigned i = 0; i < size; ++i) {
    if (chunk >= kChunksPerBeat) {
      beat.trap = Trap::kStraddle;
      return beat;
    }
    // The tag lies in the top bits of a record's first chunk, for both lengths.
    const Wide top = read_wide(bytes.subspan(offset_of(chunk, 1), kChunkBytes));
    const auto tag = static_cast<std::size_t>(top >> 45);
    if (tag >= kRecords.size()) {
      beat.trap = Trap::kTag;
      return beat;
    }
    const RecordSpec& spec = kRecords[tag];
    if (chunk + spec.chunks > kChunksPerBeat) {
      beat.trap = Trap::kStraddle;
      return beat;
    }
    const Wide bits = spec.chunks == 1 ? top : read_wide(bytes.subspan(offset_of(chunk, 2), 2 * kChunkBytes));
    Record record(spec.type);
    for (const FieldSpec& field : spec.fields)
      record.set(field.field, static_cast<std::uint64_t>(bits >> field.low) & ones(field.width));
    beat.records[static_cast<std::size_t>(beat.count++)] = record;
    chunk += spec.chunks;
  }
  return beat;
}

Beat encode_beat(std::span<const Record> records) {
  Beat beat = laid_out(records, [](const Record& r, const FieldSpec& f) { return r.get(f.field); });
  write_wide(records.size(), std::span(beat).subspan(kSizeOffset, 2));
  return beat;
}

Beat defined_bits(std::span<const Record> records) {
  Beat beat = laid_out(records, [](const Record&, const FieldSpec&) { return ~std::uint64_t{0}; });
  write_wide(0xffff, std::span(beat).subspan(kSizeOffset, 2));
  return beat;
}

}  // namespace offramp::tinsel
