// The data of the programmable router: routing keys, beats, and the five record types, as tables of fields.
// Encoding, decoding, printing, and documentation use these tables.
//
// [pip-0024] Functional overview; the key's parts have symbolic widths there; [tinsel-src] uses 1 + 26 + 5
// bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace offramp::tinsel {

inline constexpr std::size_t kBeatBytes = 32;
inline constexpr int kChunksPerBeat = 5;
inline constexpr std::size_t kChunkBytes = 6;
inline constexpr std::size_t kSizeOffset = 30;  // the beat's record count (16 bits)
inline constexpr unsigned kMaximumKeyBeats = 31;

/// URM1, URM2: to one thread, with a local key of 32 or 64 bits. RR: to a neighbouring board. MRM: to any of
/// the 64 threads of one mailbox. IND: to a further list of records.
enum class RecordType : std::uint8_t { kUrm1, kUrm2, kRr, kMrm, kInd, kCount };
std::string_view to_string(RecordType type);

/// The fields of all record types. RecordSpec::fields has those of one type.
enum class Field : std::uint8_t {
  kTag,
  kMailbox,
  kThread,
  kDirection,
  kLocalKey,
  kNewKey,
  kDestMask,
  kCount
};

/// One field's bits.
struct FieldSpec {
  Field field;
  std::uint8_t low;    // lowest bit within the record
  std::uint8_t width;  // in bits
  std::string_view name;
};

/// One record type, with its size and fields.
struct RecordSpec {
  RecordType type;
  std::uint8_t tag;
  std::uint8_t chunks;  // 48 bits each
  std::string_view name;
  std::span<const FieldSpec> fields;
};
/// The record types, indexed by tag.
std::span<const RecordSpec> record_specs();
/// type: below kCount.
const RecordSpec& spec_of(RecordType type);

/// Opposite directions differ in the lowest bit, see opposite().
enum class Direction : std::uint8_t { kNorth, kSouth, kEast, kWest };
std::string_view to_string(Direction direction);
constexpr Direction opposite(Direction d) {
  return static_cast<Direction>(static_cast<std::uint8_t>(d) ^ 1U);
}

/// A record as values. encode_beat() gives them their bits.
class Record {
 public:
  Record() = default;
  explicit Record(RecordType type) : type_(type) { set(Field::kTag, static_cast<std::uint64_t>(type)); }
  // Each function makes one record type. Mailbox and thread are those of the board that has the list.
  static Record urm1(unsigned mailbox, unsigned thread, std::uint32_t local_key);
  static Record urm2(unsigned mailbox, unsigned thread, std::uint64_t local_key);
  static Record rr(Direction direction, std::uint32_t new_key);
  static Record mrm(unsigned mailbox, std::uint16_t local_key, std::uint64_t mask);
  static Record ind(std::uint32_t new_key);

  [[nodiscard]] RecordType type() const { return type_; }
  [[nodiscard]] std::uint64_t get(Field field) const { return values_[static_cast<std::size_t>(field)]; }
  void set(Field field, std::uint64_t value) { values_[static_cast<std::size_t>(field)] = value; }
  [[nodiscard]] unsigned mailbox() const { return static_cast<unsigned>(get(Field::kMailbox)); }
  [[nodiscard]] unsigned thread() const { return static_cast<unsigned>(get(Field::kThread)); }
  [[nodiscard]] Direction direction() const { return static_cast<Direction>(get(Field::kDirection)); }
  [[nodiscard]] std::uint32_t new_key() const { return static_cast<std::uint32_t>(get(Field::kNewKey)); }
  friend bool operator==(const Record&, const Record&) = default;

 private:
  RecordType type_ = RecordType::kUrm1;
  std::array<std::uint64_t, static_cast<std::size_t>(Field::kCount)> values_{};
};
/// The type and the fields by name, for reports.
std::string print(const Record& record);

/// Routing key, 32 bits: [31] RAM, [30:5] index of the first beat in that DRAM, [4:0] number of beats. Valid
/// on one board only. Without beats it has no destinations.
struct Key {
  std::uint8_t ram = 0;
  std::uint32_t beat = 0;
  std::uint8_t beats = 0;

  [[nodiscard]] std::uint32_t encode() const;
  /// Every value is a key, though its beats may be outside of the tables.
  static Key decode(std::uint32_t bits);
  /// Only such a lookup may contain an IND.
  [[nodiscard]] bool maximal() const { return beats == kMaximumKeyBeats; }
  friend bool operator==(const Key&, const Key&) = default;
};
/// One field's bits in a routing key.
struct KeyField {
  std::uint8_t low;
  std::uint8_t width;
  std::string_view name;
};
std::span<const KeyField> key_fields();
std::string print(const Key& key);

/// Errors in a list of records. The builder refuses them; at lookup the router stops ("traps").
enum class Trap : std::uint8_t {
  kNone,
  kSize,           // a beat has no record or more than five
  kTag,            // tags 5 to 7
  kStraddle,       // a two-chunk record in a beat's last chunk, or more chunks than the beat has
  kTwoIndirect,    // more than one IND in a lookup
  kShortIndirect,  // IND in a lookup of fewer than 31 beats
  kNoIndirect,     // 31 beats without IND
  kEmptyIndirect,  // IND to no beats
  kOtherRam,       // IND into the other DRAM
  kEmptyMask,      // MRM without destinations
  kAddress,        // beats outside of the tables
  kUTurn,          // RR back over the link of arrival
  kEdge,           // RR over the edge of the mesh
  kLoop,           // an endless chain or path
  kCount
};
std::string_view to_string(Trap trap);

/// The unit of the DRAM: up to five chunks of records, and their count.
using Beat = std::array<std::byte, kBeatBytes>;

/// The records of a beat, or the trap that it causes.
struct BeatRecords {
  Trap trap = Trap::kNone;
  int count = 0;
  std::array<Record, kChunksPerBeat> records;
};
/// Accepts arbitrary bytes; fewer than 32 are a trap.
BeatRecords decode_beat(std::span<const std::byte> bytes);
/// The records must fit: one to five chunks. Unused bits are zero.
Beat encode_beat(std::span<const Record> records);
/// A mask of the bits that these records define; the hardware leaves garbage in the others.
Beat defined_bits(std::span<const Record> records);

}  // namespace offramp::tinsel
