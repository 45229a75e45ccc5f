// The ZRLMPI header ("envelope"): 32 bytes before every message, described by one table of fields. Encoder,
// decoder, and printer use that table.
//
// Bytes 0-17 and 28-31 follow [zrlmpi-protocol] ZRLMPI-Header definition, and byte 18 is its optional tag.
// Bytes 19-27 are reserved there, and zero in the strict format. Our extended format uses them for full tags,
// communicators, and byte counts. It always sets the version in byte 19, so that strict nodes drop such
// packets without caching them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "simulators/zrlmpi/protocol.hpp"

namespace offramp::zrlmpi {

/// Strict: as in [zrlmpi-src]. Extended: also accepts strict headers and the tag of [zrlmpi-protocol].
enum class Format : std::uint8_t { kStrict, kExtended };

/// [zrlmpi-protocol] mpi_call definition.
enum class MpiCall : std::uint8_t { kSendInt, kReceiveInt, kSendFloat, kReceiveFloat, kBarrier, kCount };
/// [zrlmpi-protocol] packet_type definition.
enum class PacketType : std::uint8_t { kNone, kSendRequest, kClearToSend, kData, kAck, kError, kCount };
std::string_view to_string(MpiCall call);
std::string_view to_string(PacketType type);

/// The matching call at the other end: SEND_INT with RECV_INT, SEND_FLOAT with RECV_FLOAT.
MpiCall partner(MpiCall call);

/// The fields of the header, including those of the extended format.
enum class Field : std::uint8_t {
  kStart,
  kDestination,
  kSource,
  kSize,
  kCall,
  kType,
  kTagLow,
  kFlags,
  kTagHigh,
  kContext,
  kSequence,
  kEnd,
  kCount
};

/// The position of a field within the 32 bytes.
struct FieldSpec {
  Field field;
  std::uint8_t offset;  // in bytes
  std::uint8_t width;   // in bytes; little endian on the wire
  bool extension;       // zero in the strict format
  std::string_view name;
};

/// By Field. The extension uses bytes that are reserved in the strict format.
inline constexpr std::array<FieldSpec, static_cast<std::size_t>(Field::kCount)> kFields = {{
    {Field::kStart, 0, 4, false, "start"},
    {Field::kDestination, 4, 4, false, "destination"},
    {Field::kSource, 8, 4, false, "source"},
    {Field::kSize, 12, 4, false, "size"},  // 32-bit words after the header
    {Field::kCall, 16, 1, false, "call"},
    {Field::kType, 17, 1, false, "type"},
    {Field::kTagLow, 18, 1, true, "tag[7:0]"},
    {Field::kFlags, 19, 1, true, "flags"},
    {Field::kTagHigh, 20, 3, true, "tag[31:8]"},
    {Field::kContext, 23, 2, true, "context"},
    {Field::kSequence, 25, 3, true, "sequence"},
    {Field::kEnd, 28, 4, false, "end"},
}};

/// The values of all fields. encode() gives them their positions and byte order.
class Header {
 public:
  /// Sets both magic words. All other fields are 0.
  Header() {
    set(Field::kStart, kMagic);
    set(Field::kEnd, kMagic);
  }
  /// A strict header. words: 32-bit words after the header.
  Header(int destination, int source, MpiCall call, PacketType type, std::uint32_t words = 0) : Header() {
    set(Field::kDestination, static_cast<std::uint32_t>(destination));
    set(Field::kSource, static_cast<std::uint32_t>(source));
    set(Field::kSize, words);
    set(Field::kCall, static_cast<std::uint32_t>(call));
    set(Field::kType, static_cast<std::uint32_t>(type));
  }

  [[nodiscard]] std::uint32_t get(Field field) const { return values_[static_cast<std::size_t>(field)]; }
  /// Values wider than the field are truncated by encode().
  void set(Field field, std::uint32_t value) { values_[static_cast<std::size_t>(field)] = value; }

  [[nodiscard]] std::uint32_t destination() const { return get(Field::kDestination); }
  [[nodiscard]] std::uint32_t source() const { return get(Field::kSource); }
  [[nodiscard]] std::uint32_t words() const { return get(Field::kSize); }
  [[nodiscard]] MpiCall call() const { return static_cast<MpiCall>(get(Field::kCall)); }
  [[nodiscard]] PacketType type() const { return static_cast<PacketType>(get(Field::kType)); }
  /// The 32-bit tag, which the header stores in two parts.
  [[nodiscard]] std::uint32_t tag() const { return get(Field::kTagLow) | get(Field::kTagHigh) << 8; }
  [[nodiscard]] std::uint32_t context() const { return get(Field::kContext); }
  [[nodiscard]] std::uint32_t sequence() const { return get(Field::kSequence); }
  [[nodiscard]] bool extended() const { return (get(Field::kFlags) & kVersionMask) != 0; }
  /// Whether the payload begins with a FragmentBlock.
  [[nodiscard]] bool has_block() const { return (get(Field::kFlags) & kBlock) != 0; }
  /// Padding bytes in the last word, 0-3.
  [[nodiscard]] std::uint32_t padding() const { return get(Field::kFlags) & kPaddingMask; }
  /// Bytes after the header, without padding. 0 if a received header contradicts itself.
  [[nodiscard]] std::uint64_t payload_bytes() const {
    const std::uint64_t bytes = std::uint64_t{words()} * 4;
    return bytes < padding() ? 0 : bytes - padding();
  }

  /// Makes it an extended header. Values are truncated to the width of their fields.
  void extend(std::uint32_t tag, std::uint32_t context, std::uint32_t sequence);
  void set_flag(std::uint32_t flag) { set(Field::kFlags, get(Field::kFlags) | flag); }
  /// Sets words and padding for a byte count up to kMaximumMessageBytes.
  void set_payload_bytes(std::uint64_t bytes);

  friend bool operator==(const Header&, const Header&) = default;

  // Byte 19: version in the upper nibble, flags and padding in the lower.
  static constexpr std::uint32_t kVersion = 0x10;
  static constexpr std::uint32_t kVersionMask = 0xf0;
  static constexpr std::uint32_t kPerDatagram = 0x08;  // every datagram has its own header
  static constexpr std::uint32_t kBlock = 0x04;        // the payload begins with an extension block
  static constexpr std::uint32_t kPaddingMask = 0x03;

 private:
  std::array<std::uint32_t, static_cast<std::size_t>(Field::kCount)> values_{};
};

/// Why decode() refuses a header.
enum class HeaderError : std::uint8_t {
  kNone,
  kShort,     // fewer than 32 bytes
  kStart,     // magic at the beginning
  kEnd,       // magic at the end
  kSource,    // source rank >= 64
  kCall,      // unassigned call code
  kType,      // unassigned packet type
  kReserved,  // a reserved byte is not zero
  kVersion,   // an extended header of another version
};
std::string_view to_string(HeaderError error);

using HeaderImage = std::array<std::byte, kHeaderBytes>;

HeaderImage encode(const Header& header);
/// Reads only the first 32 bytes, which may be arbitrary. Sets `header` only if there is no error.
HeaderError decode(std::span<const std::byte> bytes, Format format, Header& header);
/// One readable line with all fields by name.

/// The extension block before a fragment: its position in the message. 16 bytes, little-endian.
struct FragmentBlock {
  static constexpr std::size_t kBytes = kBlockBytes;
  std::uint64_t total = 0;   // bytes of the message
  std::uint64_t offset = 0;  // this fragment's first byte
};
std::array<std::byte, FragmentBlock::kBytes> encode(const FragmentBlock& block);
/// Empty if there are fewer than 16 bytes. The values are not checked.
std::optional<FragmentBlock> decode_fragment_block(std::span<const std::byte> bytes);

/// The first word of an ERROR body: local status codes of [zrlmpi-src], which its engine never sends.
enum class ErrorCode : std::uint8_t {
  kUnnamed,
  kShort,   // fewer than 32 bytes
  kHeader,  // invalid header
  kSource,  // sent by another node than the header's source
  kWrongDestination,
  kWrongType,  // packet type, or a call code that does not match the receiver's
  kTimeout,
  kBadDestination = 0xd,
};
struct NamedErrorCode {
  ErrorCode code;
  std::string_view name;
};
/// All codes, with their names in messages.
inline constexpr NamedErrorCode kErrorCodes[] = {
    {ErrorCode::kUnnamed, "not named"},
    {ErrorCode::kShort, "short header"},
    {ErrorCode::kHeader, "bad header"},
    {ErrorCode::kSource, "source does not match"},
    {ErrorCode::kWrongDestination, "wrong destination"},
    {ErrorCode::kWrongType, "wrong type"},
    {ErrorCode::kTimeout, "timeout"},
    {ErrorCode::kBadDestination, "bad destination"},
};
std::array<std::byte, kErrorBytes> encode(ErrorCode code);
/// kUnnamed if there is no body or the code is unassigned.
ErrorCode decode_error_body(std::span<const std::byte> body);

/// Little-endian integer of up to 8 bytes.
std::uint64_t read_little_endian(std::span<const std::byte> bytes);
void write_little_endian(std::uint64_t value, std::span<std::byte> bytes);

}  // namespace offramp::zrlmpi
