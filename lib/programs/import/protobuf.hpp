// The wire format of protocol buffers, as far as Chakra's traces need it: reads and writes fields.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/programs/recording/bytes.hpp"

namespace offramp::trace {

/// The values are those of the format.
enum class Wire : std::uint8_t { kVarint = 0, kWord64 = 1, kBytes = 2, kWord32 = 5 };

/// One field of a message. bytes refers to the message.
struct Field {
  std::uint32_t number = 0;
  Wire wire = Wire::kVarint;
  std::uint64_t value = 0;  // unless it is bytes
  recording::ByteSpan bytes = {};
};

/// Removes a varint from the front. `nullopt` if there is none of up to 64 bits.
std::optional<std::uint64_t> read_varint(recording::ByteSpan& bytes);

/// Iterates over the fields of a message.
class Fields {
 public:
  /// bytes: must outlive this object.
  explicit Fields(recording::ByteSpan bytes) : left_(bytes) {}
  /// Returns false at the end, or if the bytes are no message.
  bool next(Field& field);
  /// False if a field was damaged. True at a regular end.
  [[nodiscard]] bool is_valid() const { return good_; }

 private:
  recording::ByteSpan left_;
  bool good_ = true;
};

/// Adds the values of a repeated number, packed or not. Returns false if they are invalid.
bool add_numbers(const Field& field, std::vector<std::uint64_t>& values);

/// Appends the number alone, without a field.
void put_varint(std::string& bytes, std::uint64_t value);
/// Appends a field of the type varint.
void put_number(std::string& message, std::uint32_t field, std::uint64_t value);
/// Appends a field of bytes: a text, or an encoded message.
void put_bytes(std::string& message, std::uint32_t field, std::string_view value);

}  // namespace offramp::trace
