// Decodes the event column, the reverse of EventWriter. Payloads are untrusted.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/programs/recording/event_code.hpp"
#include "lib/programs/recording/format.hpp"

namespace offramp::recording {

/// Owns the symbols and names of a rank. Names stay until the end; the rest belongs to a block.
class EventReader {
 public:
  /// Begins a block. The bytes must stay valid until the next begin().
  void begin(ByteSpan payload);
  /// The next event of the block. Null at its end, or if there is a problem().
  const Event* next();
  /// The problem of the block. Null if there is none so far.
  [[nodiscard]] const char* problem() const { return cursor_.problem(); }
  /// The offset in the payload of the last token.
  [[nodiscard]] std::size_t position() const { return token_; }

  /// A list of the current block.
  [[nodiscard]] std::span<const std::uint64_t> list(std::uint32_t number) const;
  /// A name. Event::call and Event::site number names in the order of their first use, the latter from 1.
  [[nodiscard]] std::string_view name(std::uint32_t number) const;

 private:
  /// A list as a part of values_.
  struct List {
    static constexpr std::size_t kAllRanks = SIZE_MAX;
    std::size_t begin = 0;  // in values_; kAllRanks: it is all_ranks()
    std::size_t count = 0;
  };
  /// Adds a symbol to the history.
  void remember(std::uint16_t symbol);
  /// distance: at most position_ and kWindow.
  [[nodiscard]] std::uint16_t symbol_before(std::uint64_t distance) const {
    return history_[(position_ - distance) & (history_.size() - 1)];
  }
  /// These read the rest of a token. A problem is the cursor's.
  void begin_copy(std::uint64_t count);
  /// Adds a symbol and repeats it once.
  void add_event(std::uint64_t kind);
  /// These add a list or a name to the block.
  void define(std::uint64_t what);
  void add_list();
  void add_name();

  Cursor cursor_;
  std::size_t token_ = 0;  // offset of the last token
  EventDeltas deltas_;
  std::vector<Event> symbols_;
  std::vector<std::uint16_t> history_;  // grows to kWindow
  /// Events of the block so far.
  std::uint64_t position_ = 0;
  /// Events that the current copy has still to repeat.
  std::uint64_t copy_left_ = 0;
  /// The distance of the last copy, which the next one may use again.
  std::uint64_t distance_ = 0;
  std::vector<std::uint64_t> values_;
  std::vector<List> lists_;                 // index: number - 1
  std::vector<std::uint16_t> block_names_;  // of the block: number in names_
  std::deque<std::string> names_;
  /// Numbers of names. The keys refer to names_, whose elements do not move.
  std::unordered_map<std::string_view, std::uint16_t> numbers_;
};

}  // namespace offramp::recording
