// Move instructions of the second generation: the opcode word as a table of bit fields (read in [accl-2025]).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace offramp::cclo {

/// The source of an operand, or the destination of a result.
enum class Access : std::uint8_t { kNone, kStream, kImmediate, kOnReceive, kIncrement, kRepeat, kStride };

/// The fields of an opcode. kMoveFieldTable has their bits.
enum class MoveField : std::uint8_t {
  kOperand0,
  kOperand1,
  kResult,
  kRemote,
  kCompression,
  kFunction,
  kHost,
  kRendezvous,
  kNumber
};
inline constexpr std::size_t kMoveFields = static_cast<std::size_t>(MoveField::kNumber);

/// One field's bits in the opcode.
struct MoveFieldSpec {
  MoveField field;
  std::uint8_t low;  // bit
  std::uint8_t bits;
  std::string_view name;
};
inline constexpr std::array<MoveFieldSpec, kMoveFields> kMoveFieldTable = {{
    {MoveField::kOperand0, 0, 3, "op0"},
    {MoveField::kOperand1, 3, 3, "op1"},
    {MoveField::kResult, 6, 3, "res"},
    {MoveField::kRemote, 9, 1, "remote"},
    {MoveField::kCompression, 10, 3, "compression"},
    {MoveField::kFunction, 13, 4, "function"},
    {MoveField::kHost, 17, 3, "host"},
    {MoveField::kRendezvous, 20, 1, "rendezvous"},
}};

/// An opcode word. An immutable value; with() returns a changed copy and truncates values to their field.
class MoveOpcode {
 public:
  constexpr MoveOpcode() = default;
  constexpr explicit MoveOpcode(std::uint32_t word) : word_(word) {}
  [[nodiscard]] constexpr std::uint32_t get(MoveField field) const {
    const MoveFieldSpec& f = spec(field);
    return word_ >> f.low & mask(f);
  }
  /// A copy with this value. Higher bits than the field has are dropped.
  constexpr MoveOpcode with(MoveField field, std::uint32_t value) const {
    const MoveFieldSpec& f = spec(field);
    return MoveOpcode((word_ & ~(mask(f) << f.low)) | (value & mask(f)) << f.low);
  }
  constexpr MoveOpcode with(MoveField field, Access access) const {
    return with(field, static_cast<std::uint32_t>(access));
  }
  [[nodiscard]] constexpr std::uint32_t word() const { return word_; }

 private:
  static constexpr const MoveFieldSpec& spec(MoveField field) {
    return kMoveFieldTable[static_cast<std::size_t>(field)];
  }
  static constexpr std::uint32_t mask(const MoveFieldSpec& f) { return (1U << f.bits) - 1; }
  std::uint32_t word_ = 0;
};

/// Words of an instruction: opcode, count, and arithmetic configuration; two per immediate address, or source
/// and tag of a message; one per stride; tag, communicator, and destination of a remote result.
constexpr std::int64_t move_words(MoveOpcode opcode) {
  const auto operand = [opcode](MoveField field) -> std::int64_t {
    switch (static_cast<Access>(opcode.get(field))) {
      case Access::kImmediate:
      case Access::kOnReceive:
        return 2;
      case Access::kStride:
        return 1;
      default:
        return 0;
    }
  };
  const bool remote = opcode.get(MoveField::kRemote) != 0;
  const bool receives = static_cast<Access>(opcode.get(MoveField::kOperand1)) == Access::kOnReceive;
  const bool streams = static_cast<Access>(opcode.get(MoveField::kResult)) == Access::kStream;
  return 3 + operand(MoveField::kOperand0) + operand(MoveField::kOperand1) + operand(MoveField::kResult) +
         (remote || streams ? 1 : 0) + (remote || receives ? 1 : 0) + (remote ? 1 : 0);
}

}  // namespace offramp::cclo
