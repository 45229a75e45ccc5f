// Encoding of events, lists, and names in the event column. A block's payload is a sequence of tokens. Each
// begins with a number: the kind of token in the two lowest bits, and a value.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lib/programs/recording/bytes.hpp"
#include "lib/programs/recording/event.hpp"
#include "offramp/model/message.hpp"

namespace offramp::recording {

/// The two lowest bits of a token's number. The values are part of the file format.
enum class Token : std::uint8_t {
  kKnown,  // value: how many symbols are newer than this one
  kCopy,   // value: number of events; then the distance back to the first, 0: as in the last copy
  kNew,    // value: the event's kind; then differences from the last new event of that kind. Adds a symbol
  kDefine  // value: see Definition
};
/// What a kDefine token defines. Its content follows.
enum class Definition : std::uint8_t { kList, kName };

/// value: below 2^62.
constexpr std::uint64_t token(Token kind, std::uint64_t value) {
  return value << 2U | static_cast<std::uint64_t>(kind);
}

/// Events counted by the columns for matches and choices.
constexpr bool is_wildcard(const Event& event) {
  const bool asks =
      event.kind == EventKind::kReceive || event.kind == EventKind::kClaim || event.kind == EventKind::kProbe;
  return asks && (event.peer == kAnySource || event.tag == kAnyTag);
}
/// Waits that record which of their requests completed.
constexpr bool is_choice(const Event& event) {
  return event.kind == EventKind::kWait && (event.flags & (kAny | kSome)) != 0;
}

/// Encodes new events relative to the last one of the same kind. Writer and reader have one object per block.
class EventDeltas {
 public:
  /// Writes only the fields that differ.
  void put(Payload& payload, const Event& event);
  /// kind: below EventKind::kCount.
  Event get(Cursor& cursor, EventKind kind);

 private:
  /// The basis of the next difference. Writer and reader may correct it after put() and get().
  Event& last(EventKind kind) { return last_[static_cast<std::size_t>(kind)]; }
  std::array<Event, static_cast<std::size_t>(EventKind::kCount)> last_{};
};

/// The number of equal differences in a row from `begin` on; the first is the difference to the previous
/// value. begin: below the number of values. most: stops counting there.
std::size_t run_length(std::span<const std::uint64_t> values, std::size_t begin, std::size_t most = SIZE_MAX);
/// Without the token. Runs of equal differences need a few bytes.
void put_list(Payload& payload, std::span<const std::uint64_t> values);
/// Appends to `values`.
void get_list(Cursor& cursor, std::vector<std::uint64_t>& values);

}  // namespace offramp::recording
