// A ring of bytes between two processes that share memory: one writes messages, the other reads them.
//
// Each message is one word, then its header and payload. The word is written last and tells that the rest is
// there, so that the reader finds a small message in the line of memory that it waits for; beside it, no line
// goes to and fro for every message. The reader tells now and then how far it has come.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "lib/fabric/fabric.hpp"

namespace offramp {

/// What a ring consists of, in memory that was zero when both ends were made.
struct RingMemory {
  std::byte* data = nullptr;
  std::size_t bytes = 0;              // of data; a power of two
  std::uint64_t* consumed = nullptr;  // bytes that the reader has done with since the start
};

/// The word before a message. Zero: nothing is here yet.
class RingWord {
 public:
  static constexpr std::size_t kBytes = sizeof(std::uint64_t);

  constexpr explicit RingWord(std::uint64_t bits) : bits_(bits) {}
  constexpr RingWord(std::size_t header, std::size_t payload, std::uint32_t after)
      : bits_(kMessage | static_cast<std::uint64_t>(after) << 32U | header << kPayloadBits | payload) {}
  /// The next message is at the start of the ring.
  static constexpr RingWord wrap() { return RingWord(kWrap); }

  [[nodiscard]] constexpr std::uint64_t bits() const { return bits_; }
  [[nodiscard]] constexpr bool is_wrap() const { return bits_ == kWrap; }
  [[nodiscard]] constexpr bool is_message() const { return (bits_ & kMessage) != 0; }
  [[nodiscard]] constexpr std::size_t header() const {
    return (bits_ >> kPayloadBits) & ((1U << kHeaderBits) - 1);
  }
  [[nodiscard]] constexpr std::size_t payload() const { return bits_ & kLargestPayload; }
  [[nodiscard]] constexpr std::uint32_t after() const { return static_cast<std::uint32_t>(bits_ >> 32U); }

  /// What a message takes in the ring.
  static constexpr std::size_t room(std::size_t header, std::size_t payload) {
    return (kBytes + header + payload + kBytes - 1) / kBytes * kBytes;
  }

 private:
  static constexpr unsigned kPayloadBits = 16;
  static constexpr unsigned kHeaderBits = 12;
  static constexpr std::uint64_t kMessage = std::uint64_t{1} << 30U;
  static constexpr std::uint64_t kWrap = std::uint64_t{1} << 31U;
  static_assert(Fabric::kMaxHeader < 1U << kHeaderBits && kPayloadBits + kHeaderBits <= 30);

 public:
  static constexpr std::size_t kLargestPayload = (std::size_t{1} << kPayloadBits) - 1;

 private:
  std::uint64_t bits_;
};

class RingWriter {
 public:
  RingWriter() = default;
  explicit RingWriter(const RingMemory& ring) : ring_(ring) {}

  /// A quarter, so that a ring has room for some even if the reader has not told lately where it is.
  [[nodiscard]] std::size_t largest() const { return ring_.bytes / 4; }

  /// Writes a message whose room() is at most largest(); false when there is no room now. `after` is the
  /// caller's own.
  bool write(std::span<const std::byte> header, std::span<const std::byte> payload, std::uint32_t after) {
    const std::size_t size = RingWord::room(header.size(), payload.size());
    const std::size_t next = size + RingWord::kBytes;  // the word after it is cleared, too
    const std::size_t left = ring_.bytes - position();
    const bool wraps = next > left;
    if (!has_room(wraps ? left + next : next)) return false;
    if (wraps) {
      clear(0);
      publish(RingWord::wrap());
      written_ += left;
    }
    std::byte* const to = ring_.data + position() + RingWord::kBytes;
    std::memcpy(to, header.data(), header.size());
    if (!payload.empty()) std::memcpy(to + header.size(), payload.data(), payload.size());
    clear(position() + size);
    publish(RingWord(header.size(), payload.size(), after));
    written_ += size;
    fetch_ahead(size);
    return true;
  }

 private:
  /// The reader has had these lines last. Fetched now, while nobody waits, they cost the next message of this
  /// size nothing.
  void fetch_ahead(std::size_t bytes) const {
    for (std::size_t at = 0; at < bytes; at += kLine)
      __builtin_prefetch(ring_.data + ((written_ + kAhead + at) & (ring_.bytes - 1)), 1);
  }

  [[nodiscard]] std::size_t position() const { return written_ & (ring_.bytes - 1); }
  [[nodiscard]] std::atomic_ref<std::uint64_t> word(std::size_t position) const {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(ring_.data + position));
  }
  void clear(std::size_t position) { word(position).store(0, std::memory_order_relaxed); }
  void publish(RingWord value) { word(position()).store(value.bits(), std::memory_order_release); }

  bool has_room(std::size_t bytes) {
    if (written_ + bytes - consumed_ <= ring_.bytes) return true;
    consumed_ = std::atomic_ref(*ring_.consumed).load(std::memory_order_acquire);
    return written_ + bytes - consumed_ <= ring_.bytes;
  }

  static constexpr std::size_t kLine = 64;
  // Behind the line that the reader waits for: fetching that one would only take it away from there.
  static constexpr std::size_t kAhead = 4 * kLine;

  RingMemory ring_;
  std::uint64_t written_ = 0;
  std::uint64_t consumed_ = 0;  // as last read
};

class RingReader {
 public:
  enum class State : std::uint8_t {
    kEmpty,
    kMessage,
    kDamaged  // what is there was not written by a RingWriter; nothing can be read any more
  };
  struct Message {
    std::span<const std::byte> header;  // in the ring until done()
    std::span<const std::byte> payload;
    std::uint32_t after = 0;
  };

  RingReader() = default;
  explicit RingReader(const RingMemory& ring) : ring_(ring) {}

  /// The next message, which stays the next one until done().
  State look(Message& message) {
    RingWord word = load();
    if (word.bits() == 0) return State::kEmpty;
    if (word.is_wrap()) {
      advance(ring_.bytes - position());
      word = load();
      if (word.bits() == 0) return State::kEmpty;
    }
    const std::size_t size = RingWord::room(word.header(), word.payload());
    if (!word.is_message() || word.is_wrap() || size + RingWord::kBytes > ring_.bytes - position())
      return State::kDamaged;
    const std::byte* const from = ring_.data + position() + RingWord::kBytes;
    message = {{from, word.header()}, {from + word.header(), word.payload()}, word.after()};
    return State::kMessage;
  }
  void done(const Message& message) {
    advance(RingWord::room(message.header.size(), message.payload.size()));
  }

 private:
  [[nodiscard]] std::size_t position() const { return consumed_ & (ring_.bytes - 1); }
  [[nodiscard]] RingWord load() const {
    std::uint64_t& word = *reinterpret_cast<std::uint64_t*>(ring_.data + position());
    return RingWord(std::atomic_ref(word).load(std::memory_order_acquire));
  }
  void advance(std::size_t bytes) {
    consumed_ += bytes;
    if (consumed_ - told_ < ring_.bytes / 8) return;
    told_ = consumed_;
    std::atomic_ref(*ring_.consumed).store(consumed_, std::memory_order_release);
  }

  RingMemory ring_;
  std::uint64_t consumed_ = 0;
  std::uint64_t told_ = 0;
};

}  // namespace offramp
