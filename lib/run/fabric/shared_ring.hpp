// A ring buffer in memory shared by two processes: one writes messages, the other reads them.
//
// A message is a word, then its header and payload. The writer stores the word last, when the rest is
// complete, so a small message arrives in the cache line that the reader polls. No other line moves between
// the cores for every message: the reader publishes its position only once in a while. Of a header, the ring
// carries only the words that differ from the previous one, so a message of a few bytes fits into that line.
#pragma once

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "lib/run/fabric/fabric.hpp"

namespace offramp {

inline constexpr std::size_t kCacheLine = 64;  // bytes that move between cores together

/// memcpy(), with the most frequent size as a constant for the compiler.
inline void copy_small(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes == sizeof(std::uint64_t)) {
    std::memcpy(to, from, sizeof(std::uint64_t));
  } else if (bytes > 0) {
    std::memcpy(to, from, bytes);
  }
}

/// The last header that passed a ring. Both ends keep the same copy.
class LastHeader {
 public:
  /// An upper bound for the size of a packed header.
  static constexpr std::size_t room(std::size_t size) {
    return size + (size / kWord + kWordsPerMask - 1) / kWordsPerMask * kWord;
  }

  /// Writes a mask per 32 words of the header, and the changed words. Returns the end of the output.
  std::byte* pack(std::span<const std::byte> header, std::byte* to) {
    std::size_t at = 0;
    for (std::size_t words = header.size() / kWord; words > 0;) {
      const std::size_t here = words < kWordsPerMask ? words : kWordsPerMask;
      const std::uint32_t mask = update(header.data() + at, bytes_.data() + at, here);
      std::memcpy(to, &mask, kWord);
      to += kWord;
      for (std::uint32_t left = mask; left != 0; left &= left - 1, to += kWord)
        std::memcpy(to, header.data() + at + static_cast<std::size_t>(std::countr_zero(left)) * kWord, kWord);
      at += here * kWord;
      words -= here;
    }
    const std::size_t rest = header.size() - at;
    if (rest > 0) std::memcpy(to, header.data() + at, rest);
    return to + rest;
  }

  /// Reads a header of `size` bytes. Returns the end of its packed form, or null if that lies beyond `end`.
  const std::byte* unpack(const std::byte* from, const std::byte* end, std::size_t size) {
    // The packed form comes from another process, so every size is checked before its use.
    if (size > bytes_.size()) return nullptr;
    for (std::size_t first = 0; first < size / kWord; first += kWordsPerMask) {
      if (end - from < static_cast<std::ptrdiff_t>(kWord)) return nullptr;
      std::uint32_t mask = 0;
      std::memcpy(&mask, from, kWord);
      from += kWord;
      for (; mask != 0; mask &= mask - 1) {
        const std::size_t at = (first + static_cast<std::size_t>(std::countr_zero(mask))) * kWord;
        if (end - from < static_cast<std::ptrdiff_t>(kWord) || at + kWord > size) return nullptr;
        std::memcpy(bytes_.data() + at, from, kWord);
        from += kWord;
      }
    }
    const std::size_t rest = size % kWord;
    if (end - from < static_cast<std::ptrdiff_t>(rest)) return nullptr;
    if (rest > 0) std::memcpy(bytes_.data() + size - rest, from, rest);
    return from + rest;
  }
  /// The header that was unpacked last. Valid until the next unpack().
  [[nodiscard]] std::span<const std::byte> first(std::size_t size) const { return {bytes_.data(), size}; }

 private:
  static constexpr std::size_t kWord = sizeof(std::uint32_t);
  static constexpr std::size_t kWordsPerMask = 32;

  /// Copies up to 32 words; returns a mask of the changed ones.
  static std::uint32_t update(const std::byte* from, std::byte* known, std::size_t words) {
    std::uint32_t mask = 0;
    std::size_t i = 0;
#ifdef __SSE2__
    for (; i + 4 <= words; i += 4) {
      auto* const place = reinterpret_cast<__m128i*>(known + i * kWord);
      const __m128i four = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i * kWord));
      const __m128i same = _mm_cmpeq_epi32(four, _mm_loadu_si128(place));
      _mm_storeu_si128(place, four);
      mask |= (static_cast<std::uint32_t>(_mm_movemask_ps(_mm_castsi128_ps(same))) ^ 0xfU) << i;
    }
#endif
    for (; i < words; ++i) {
      if (std::memcmp(known + i * kWord, from + i * kWord, kWord) == 0) continue;
      std::memcpy(known + i * kWord, from + i * kWord, kWord);
      mask |= 1U << i;
    }
    return mask;
  }

  alignas(16) std::array<std::byte, Fabric::kMaxHeader> bytes_{};
};

/// The memory of a ring, which must be zero before both ends are made.
struct RingMemory {
  std::byte* data = nullptr;
  std::size_t bytes = 0;              // of data; a power of two
  std::uint64_t* consumed = nullptr;  // bytes that the reader has consumed since the start
};

/// The word before a message. Zero: no message yet.
class RingWord {
  static constexpr unsigned kPayloadBits = 16;
  static constexpr unsigned kHeaderBits = 12;
  /// The bits above the sizes: one marks a message, so that its word is never 0, the other one a jump to the
  /// start.
  static constexpr std::uint64_t kMessage = std::uint64_t{1} << 30U;
  static constexpr std::uint64_t kWrap = std::uint64_t{1} << 31U;
  static_assert(Fabric::kMaxHeader < 1U << kHeaderBits && kPayloadBits + kHeaderBits <= 30);

 public:
  /// The word itself is 8 bytes, so that it is written and read at once.
  static constexpr std::size_t kBytes = sizeof(std::uint64_t);
  static constexpr std::size_t kLargestPayload = (std::size_t{1} << kPayloadBits) - 1;

  constexpr explicit RingWord(std::uint64_t bits) : bits_(bits) {}
  /// header and payload are sizes in bytes; after: a value for the caller's use.
  constexpr RingWord(std::size_t header, std::size_t payload, std::uint32_t after)
      : bits_(kMessage | static_cast<std::uint64_t>(after) << 32U | header << kPayloadBits | payload) {}
  /// Redirects the reader to the start of the ring.
  static constexpr RingWord wrap() { return RingWord(kWrap); }

  [[nodiscard]] constexpr std::uint64_t bits() const { return bits_; }
  [[nodiscard]] constexpr bool is_wrap() const { return bits_ == kWrap; }
  [[nodiscard]] constexpr bool is_message() const { return (bits_ & kMessage) != 0; }
  [[nodiscard]] constexpr std::size_t header() const {
    return (bits_ >> kPayloadBits) & ((1U << kHeaderBits) - 1);
  }
  [[nodiscard]] constexpr std::size_t payload() const { return bits_ & kLargestPayload; }
  [[nodiscard]] constexpr std::uint32_t after() const { return static_cast<std::uint32_t>(bits_ >> 32U); }

  /// An upper bound for the size of a message in the ring. Messages occupy whole cache lines: in a shared
  /// line, reading the first message would take the line away from the writer of the second.
  static constexpr std::size_t room(std::size_t header, std::size_t payload) {
    return rounded_up(kBytes + LastHeader::room(header) + payload);
  }
  static constexpr std::size_t rounded_up(std::size_t bytes) {
    return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
  }

 private:
  std::uint64_t bits_;
};

/// The only writer of a ring. Used by one thread. Never blocks, and never makes a system call.
class RingWriter {
 public:
  RingWriter() = default;
  explicit RingWriter(const RingMemory& ring) : ring_(ring) {}

  /// A quarter of the ring: large enough, although the reader publishes its position rarely.
  [[nodiscard]] std::size_t largest() const { return ring_.bytes / 4; }

  /// Writes a message whose room() is at most largest(). Returns false if the ring has no room now. `after`
  /// is a value for the caller's use.
  bool write(std::span<const std::byte> header, std::span<const std::byte> payload, std::uint32_t after) {
    // The word of the next message must be cleared, too.
    const std::size_t most = RingWord::room(header.size(), payload.size()) + RingWord::kBytes;
    const std::size_t left = ring_.bytes - position();
    const bool wraps = most > left;
    if (!has_room(wraps ? left + most : most)) return false;
    if (wraps) {
      // The reader jumps as soon as it sees the wrap, so the word there must be clear before.
      clear(0);
      publish(RingWord::wrap());
      written_ += left;
    }
    std::byte* const begin = ring_.data + position();
    std::byte* const to = last_.pack(header, begin + RingWord::kBytes);
    copy_small(to, payload.data(), payload.size());
    const std::size_t size = RingWord::rounded_up(static_cast<std::size_t>(to - begin) + payload.size());
    // prepare_next() may have cleared this word already.
    if (written_ + size != cleared_) clear(position() + size);
    publish(RingWord(header.size(), payload.size(), after));
    written_ += size;
    prepare_next(size);
    return true;
  }

 private:
  /// Prefetches the lines of the next message of this size from the reader before they are needed. If the
  /// next message takes one line, also clears the word behind it.
  void prepare_next(std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += kCacheLine)
      __builtin_prefetch(ring_.data + ((written_ + kAhead + at) & (ring_.bytes - 1)), 1);
    const std::size_t behind = position() + kCacheLine;
    // The line behind the next message may still hold one that the reader has not consumed.
    if (behind >= ring_.bytes || written_ + 2 * kCacheLine - consumed_ > ring_.bytes) return;
    clear(behind);
    cleared_ = written_ + kCacheLine;
  }

  /// Both counters only grow; the size of the ring is a power of two, so a mask gives the place.
  [[nodiscard]] std::size_t position() const { return written_ & (ring_.bytes - 1); }
  [[nodiscard]] std::atomic_ref<std::uint64_t> word(std::size_t position) const {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(ring_.data + position));
  }
  /// Relaxed is enough: publish() of this message orders the store before the reader's next look.
  void clear(std::size_t position) { word(position).store(0, std::memory_order_relaxed); }
  /// Makes a message visible. Everything in it must have been written before.
  void publish(RingWord value) { word(position()).store(value.bits(), std::memory_order_release); }

  /// Reads the reader's counter only if the last value is too old: the line belongs to the reader.
  bool has_room(std::size_t bytes) {
    if (written_ + bytes - consumed_ <= ring_.bytes) return true;
    consumed_ = std::atomic_ref(*ring_.consumed).load(std::memory_order_acquire);
    return written_ + bytes - consumed_ <= ring_.bytes;
  }

  // Skips the line that the reader polls: fetching it would take it away from the reader.
  static constexpr std::size_t kAhead = 4 * kCacheLine;

  RingMemory ring_;
  LastHeader last_;
  std::uint64_t written_ = 0;
  std::uint64_t cleared_ = 0;   // position of a later word that has been cleared
  std::uint64_t consumed_ = 0;  // as last loaded
};

/// The only reader of a ring. Used by one thread. Trusts nothing that it reads: the writer is another
/// process.
class RingReader {
 public:
  enum class State : std::uint8_t {
    kEmpty,
    kMessage,
    kDamaged  // invalid contents: stop reading
  };
  /// What look() has found. Sizes are checked against the ring.
  struct RingMessage {
    std::span<const std::byte> header;   // valid until the next look()
    std::span<const std::byte> payload;  // in the ring, valid until done()
    std::uint32_t after = 0;
  };

  RingReader() = default;
  explicit RingReader(const RingMemory& ring) : ring_(ring) {}

  [[nodiscard]] bool is_empty() const { return load().bits() == 0; }
  /// Returns the next message; repeats it until done().
  State look(RingMessage& message) {
    RingWord word = load();
    if (word.bits() == 0) return State::kEmpty;
    if (word.is_wrap()) {
      advance(ring_.bytes - position());
      word = load();
      if (word.bits() == 0) return State::kEmpty;
    }
    if (!word.is_message() || word.is_wrap()) return State::kDamaged;
    // The last word of the ring is never part of a message, since it may be a wrap.
    const std::byte* const begin = ring_.data + position();
    const std::byte* const end = ring_.data + ring_.bytes - RingWord::kBytes;
    header_end_ = last_.unpack(begin + RingWord::kBytes, end, word.header());
    if (header_end_ == nullptr || end - header_end_ < static_cast<std::ptrdiff_t>(word.payload()))
      return State::kDamaged;
    message = {last_.first(word.header()), {header_end_, word.payload()}, word.after()};
    return State::kMessage;
  }
  /// Releases the message of the last look(). Its payload is invalid afterwards.
  void done(const RingMessage& message) {
    const std::byte* const begin = ring_.data + position();
    advance(RingWord::rounded_up(static_cast<std::size_t>(header_end_ - begin) + message.payload.size()));
  }

 private:
  [[nodiscard]] std::size_t position() const { return consumed_ & (ring_.bytes - 1); }
  [[nodiscard]] RingWord load() const {
    std::uint64_t& word = *reinterpret_cast<std::uint64_t*>(ring_.data + position());
    return RingWord(std::atomic_ref(word).load(std::memory_order_acquire));
  }
  /// Passes bytes that have been read, and publishes the position now and then.
  void advance(std::size_t bytes) {
    consumed_ += bytes;
    // Published rarely, because each store takes the line away from the writer. A message is at most a
    // quarter of the ring, so the writer never waits for a store that does not come.
    if (consumed_ - acknowledged_ < ring_.bytes / 8) return;
    acknowledged_ = consumed_;
    std::atomic_ref(*ring_.consumed).store(consumed_, std::memory_order_release);
  }

  RingMemory ring_;
  LastHeader last_;
  const std::byte* header_end_ = nullptr;  // of the message that look() returned
  std::uint64_t consumed_ = 0;
  std::uint64_t acknowledged_ = 0;
};

}  // namespace offramp
