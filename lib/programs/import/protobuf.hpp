// The wire format of protocol buffers, as much of it as Chakra's traces need: fields of a message, one after
// the other, and how they are written.
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

struct Field {
  std::uint32_t number = 0;
  Wire wire = Wire::kVarint;
  std::uint64_t value = 0;  // unless it is bytes
  recording::ByteSpan bytes = {};
};

/// A varint at the front, which is taken off. Nothing: there is none of up to 64 bits.
std::optional<std::uint64_t> take_varint(recording::ByteSpan& bytes);

/// The fields of a message.
class Fields {
 public:
  explicit Fields(recording::ByteSpan bytes) : left_(bytes) {}
  /// False: there are no more, or the bytes are none of a message.
  bool next(Field& field);
  [[nodiscard]] bool good() const { return good_; }

 private:
  recording::ByteSpan left_;
  bool good_ = true;
};

/// The values of a repeated number, packed or not; false: they make no sense.
bool add_numbers(const Field& field, std::vector<std::uint64_t>& values);

void put_varint(std::string& bytes, std::uint64_t value);
void put_number(std::string& message, std::uint32_t field, std::uint64_t value);
void put_bytes(std::string& message, std::uint32_t field, std::string_view value);

}  // namespace offramp::trace
