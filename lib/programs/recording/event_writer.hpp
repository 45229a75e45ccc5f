// Compresses the events of a rank as they come. Different events become symbols, and a repeated sequence of
// symbols becomes a copy (LZ77). A copy predicts the next event, so adding it takes one comparison.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/programs/recording/event_code.hpp"
#include "lib/programs/recording/format.hpp"

namespace offramp::recording {

/// Writes the event column block by block.
class EventWriter {
 public:
  /// An event of the block's dictionary, with its contribution to counters.
  struct alignas(64) Entry {
    Event event;
    std::uint32_t hash = 0;
    std::uint8_t begins = 0;  // begins a request
    std::uint8_t wildcard = 0;
    std::uint8_t choice = 0;
  };

  /// calls: the names of the functions to which Event::call refers.
  explicit EventWriter(std::span<const char* const> calls);
  /// Reuses the names and the memory of a finished writer, without its events. `done` must not be used again.
  EventWriter(EventWriter&& done) noexcept;

  /// Adds the predicted event. Returns null if `event` is a different one.
  [[gnu::always_inline]] const Entry* match_prediction(const Event& event) {
    const Entry* entry = predicted_;
    if (!same(event, entry->event)) return nullptr;
    history_[position_++ & kMask] = symbol_;
    ++copied_;
    predict();
    return entry;
  }
  /// Adds any other event.
  const Entry* add(const Event& event);
  /// The number of a list in this block, for Event::list. 0: it is empty.
  std::uint32_t list(std::span<const std::uint64_t> values);
  /// For Event::site: the number of a call site without one so far. 0 if there are too many.
  std::uint32_t site(std::string_view name);

  /// The block must end here.
  [[nodiscard]] bool full() const;
  /// Closes the open copy, so that payload() is complete.
  void close();
  /// Begins the next block.
  void clear();
  /// From now on every event needs add().
  void predict_nothing();
  /// Complete after close().
  [[nodiscard]] const Payload& payload() const { return payload_; }

  /// The open copy as a token that completes payload(). Async-signal-safe. If it interrupts a function above,
  /// the last events may be in both.
  struct OpenCopy {
    std::array<std::uint8_t, 2 * kMostVarintBytes> token{};
    std::size_t size = 0;
  };
  /// Empty without an open copy.
  [[nodiscard]] OpenCopy open_copy() const;

 private:
  /// The window is a power of two.
  static constexpr std::size_t kMask = kWindow - 1;
  /// A list of the block, kept to recognise equal ones.
  struct List {
    std::size_t begin = 0;  // in values_; of a run, its first value
    std::size_t count = 0;
    std::uint64_t hash = 0;
    std::uint64_t step = 0;
    bool is_run = false;  // a long run with equal steps, whose values are not stored
  };

  /// An event as words, for comparison.
  using Words = std::array<std::uint64_t, sizeof(Event) / 8>;
  /// The event as in memory, assembled from its fields. The caller has just stored them one by one, and a
  /// wide load would stall until the stores have completed.
  [[gnu::always_inline]] static Words words_of(const Event& event) {
    const auto word = [](auto low, auto high, int bits) {
      return static_cast<std::uint64_t>(low) | static_cast<std::uint64_t>(high) << bits;
    };
    const std::uint64_t bytes =
        word(word(event.kind, event.flags, 8), word(event.element, event.function, 8), 16);
    return {word(bytes, word(event.operation, event.call, 16), 32),
            word(event.communicator, static_cast<std::uint32_t>(event.peer), 32),
            word(static_cast<std::uint32_t>(event.tag), event.list, 32),
            word(event.second_list, event.site, 32),
            event.bytes,
            event.extra};
  }
  /// Compares two events as words, without branches between them.
  [[gnu::always_inline]] static bool same(const Event& event, const Event& known) {
    const Words a = words_of(event);
    Words b;
    if constexpr (std::endian::native == std::endian::little) {
      b = std::bit_cast<Words>(known);
    } else {
      b = words_of(known);
    }
    return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3]) | (a[4] ^ b[4]) | (a[5] ^ b[5])) ==
           0;
  }
  /// Sets the prediction from distance_. The history must not be empty.
  void predict() {
    symbol_ = history_[(position_ - distance_) & kMask];
    predicted_ = &entries_[symbol_];
  }

  /// The event's symbol, old or new.
  std::uint16_t intern(const Event& event);
  /// Moves the symbols, so predictions become invalid.
  void grow_entries();
  /// These write a token.
  void put_new(const Event& event);
  /// As put_new(), for a symbol that the block has.
  void put_known(std::uint16_t symbol);
  /// Defines a name in the block, and returns its number there.
  std::uint16_t put_name(std::string_view name);
  /// Bytes for that many events as single symbols, to compare with a copy.
  [[nodiscard]] std::size_t cost_of_known(std::uint64_t count) const;
  /// Looks for an earlier place with the same context; distance_ stays if there is none.
  void find_distance();
  /// The table's entry for the symbols before a position.
  [[nodiscard]] std::uint32_t* place_of_context(std::uint64_t position);
  /// Compares the symbols themselves, since hashes may collide.
  [[nodiscard]] bool same_context(std::uint64_t position) const;
  /// Keeps the table at most half full.
  void grow_list_table();

  const Entry* predicted_ = nullptr;
  std::uint64_t position_ = 0;  // events of the block
  std::uint64_t distance_ = 0;  // of the prediction
  std::uint64_t copied_ = 0;    // last events that repeat those distance_ back
  std::uint16_t symbol_ = 0;    // predicted
  std::unique_ptr<std::uint16_t[]> history_;
  std::unique_ptr<Entry[]> entries_;
  /// Symbols of the block, and room for them.
  std::uint32_t symbols_ = 0;
  std::uint32_t capacity_ = 0;
  std::uint64_t last_distance_ = 0;      // of the last copy in the payload
  std::vector<std::uint16_t> table_;     // hash of an event: its symbol + 1
  std::vector<std::uint32_t> contexts_;  // hash of the last symbols: the position after them
  Payload payload_;
  EventDeltas deltas_;
  std::span<const char* const> calls_;
  std::vector<std::uint16_t> written_calls_;  // number in the block, + 1
  std::vector<std::string> sites_;            // index: number - 1
  std::vector<std::uint16_t> written_sites_;  // as written_calls_
  /// Names defined in the block.
  std::uint16_t names_ = 0;
  std::vector<List> lists_;  // index: number - 1
  /// The values of lists that are no runs.
  std::vector<std::uint64_t> values_;
  std::size_t listed_ = 0;                 // values in all lists
  std::vector<std::uint32_t> list_table_;  // hash of a list: its number
};
static_assert(sizeof(EventWriter::Entry) == 64);  // a cache line

}  // namespace offramp::recording
