// A free list per thread and size class, for coroutine frames, channel slots, and other memory that lives for
// one operation. After the first few operations, starting one or building a small network allocates nothing.
//
// Thread rule: any thread may release a block of another one; the block then serves the releasing thread.
// Each class keeps at most kKeptBytes, so a thread that only releases does not hoard. A class of small blocks
// keeps as many as the thread has made, if that is more. A world of many ranks, which cycles through all its
// frames, thus bypasses the system's allocator with its cache misses; the next one calls trim(). Under
// AddressSanitizer nothing is pooled, so that uses of a dead frame are detected.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <list>
#include <new>
#include <vector>

#include "offramp/kernel/prefetch.hpp"

namespace offramp::detail {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kFramesPooled = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kFramesPooled = false;
#else
inline constexpr bool kFramesPooled = true;
#endif
#else
inline constexpr bool kFramesPooled = true;
#endif

/// Static functions only: the lists belong to the calling thread.
class FramePool {
 public:
  /// size in bytes, greater than zero. Returns memory aligned as by operator new. Throws std::bad_alloc.
  static void* allocate(std::size_t size) {
    const std::size_t index = class_of(size);
    if (!kFramesPooled || index >= kClasses || lists_ == nullptr)
      // Even without lists, the memory has the full size of its class, because release() may put it into a
      // list.
      return ::operator new(pooled_bytes(size, index));
    List& list = (*lists_)[index];
    if (list.head == nullptr) return make(list, index);
    Block* block = list.head;
    list.head = block->next;
    fetch_line(list.head);  // likely to be cold, and read by the next call
    --list.kept;
    return block;
  }

  /// size as given to allocate().
  static void release(void* memory, std::size_t size) noexcept {
    const std::size_t index = class_of(size);
    if (!kFramesPooled || index >= kClasses || !is_open()) {
      ::operator delete(memory);
      return;
    }
    List& list = (*lists_)[index];
    if (list.kept >= list.most) {
      ::operator delete(memory);
      return;
    }
    list.head = ::new (memory) Block{list.head};
    ++list.kept;
  }

  /// Frees the blocks that the thread keeps beyond kKeptBytes per class.
  static void trim() noexcept {
    if (lists_ == nullptr) return;
    for (std::size_t index = 0; index < kClasses; ++index) {
      List& list = (*lists_)[index];
      list.made = 0;
      list.most = few(index);
      while (list.kept > list.most) {
        Block* const block = list.head;
        list.head = block->next;
        --list.kept;
        ::operator delete(block);
      }
    }
  }

 private:
  static constexpr std::size_t kStep = 16;
  static constexpr std::size_t kSmall = 4096;
  static constexpr std::size_t kFine = kSmall / kStep + 1;  // classes of kStep bytes each, up to kSmall
  static constexpr std::size_t kClasses = kFine + 8;        // then 8, 16, ... 1024 KiB
  static constexpr std::size_t kKeptBytes = 1U << 20U;      // per class

  /// A block that is kept: its first word links to the next one.
  struct Block {
    Block* next;
  };
  struct List {
    Block* head;
    std::size_t kept;
    std::size_t most;  // limit of `kept`
    std::size_t made;  // since the beginning, or the last trim()
  };
  using Lists = std::array<List, kClasses>;
  /// Frees a thread's lists at its end, but not with the process. Later releases on the thread go to the
  /// system.
  struct Closer {
    Closer() {}  // not constexpr: has to run on each thread
    ~Closer() {
      closed_ = true;
      // Null if it was constructed by another thread-local variable of the source.
      if (lists_ == nullptr || ::gettid() == ::getpid()) return;
      for (List& list : *lists_) {
        while (list.head != nullptr) {
          Block* next = list.head->next;
          ::operator delete(list.head);
          list.head = next;
        }
      }
      delete lists_;
      lists_ = nullptr;
    }
  };

  /// Makes the thread's lists. Returns false while the thread ends, or when out of memory.
  static bool is_open() noexcept {
    if (lists_ != nullptr) return true;
    if (closed_) return false;
    lists_ = new (std::nothrow) Lists{};
    if (lists_ == nullptr) return false;
    for (std::size_t index = 0; index < kClasses; ++index) (*lists_)[index].most = few(index);
    static_cast<void>(&closer_);  // constructs it, so that the thread's end frees the lists
    return true;
  }

  /// The number of blocks that make kKeptBytes.
  static std::size_t few(std::size_t index) { return kKeptBytes / block_bytes(index); }
  /// Allocates a new block. Kept out of line so that allocate() stays small where it is inlined.
  [[gnu::noinline]] static void* make(List& list, std::size_t index) {
    void* const block = ::operator new(block_bytes(index));
    ++list.made;
    // Small blocks are all kept, see the head; large ones would hoard memory.
    if (index < kFine) list.most = std::max(list.most, list.made);
    return block;
  }
  /// The class of a size. kClasses and above: too large for the pool.
  static std::size_t class_of(std::size_t size) {
    if (size <= kSmall) return (size + kStep / 2 - 1) / kStep;
    return kFine + static_cast<std::size_t>(std::bit_width((size - 1) / kSmall)) - 1;
  }
  static std::size_t pooled_bytes(std::size_t size, std::size_t index) {
    return kFramesPooled && index < kClasses ? block_bytes(index) : size;
  }
  /// The bytes of each block of a class. Small ones fill the chunks of glibc, which have a header of 8 bytes.
  static std::size_t block_bytes(std::size_t index) {
    return index < kFine ? index * kStep + kStep / 2 : kSmall << (index - kFine + 1);
  }

  // Only pointers are thread-local: the space is scarce if the library is loaded late. A frame may outlive
  // the lists.
  static constinit inline thread_local Lists* lists_ = nullptr;
  static constinit inline thread_local bool closed_ = false;
  static inline thread_local Closer closer_{};
};

/// Base of objects that are created and destroyed with each operation.
struct Pooled {
  static void* operator new(std::size_t size) { return FramePool::allocate(size); }
  static void operator delete(void* memory, std::size_t size) noexcept { FramePool::release(memory, size); }
};

/// Pooled memory for the containers of one operation.
template <typename T>
struct PoolAllocator {
  using value_type = T;
  PoolAllocator() = default;
  template <typename Other>
  PoolAllocator(const PoolAllocator<Other>&) {}
  static constexpr std::size_t kBytes = sizeof(T);  // NOLINT(bugprone-sizeof-expression): T may be a pointer
  T* allocate(std::size_t count) { return static_cast<T*>(FramePool::allocate(count * kBytes)); }
  void deallocate(T* memory, std::size_t count) noexcept { FramePool::release(memory, count * kBytes); }
  friend bool operator==(const PoolAllocator&, const PoolAllocator&) { return true; }
};

/// Working memory of one operation, in pieces that are released together; uninitialised, aligned as by
/// operator new.
class PooledMemory {
 public:
  PooledMemory& operator=(PooledMemory&&) = delete;
  ~PooledMemory() {
    while (pieces_ != nullptr) {
      Piece* const piece = pieces_;
      pieces_ = piece->next;
      FramePool::release(piece, piece->size);
    }
  }

  /// Returns a new piece, valid until this object is destroyed. Throws std::bad_alloc.
  std::byte* allocate(std::size_t bytes) {
    const std::size_t size = sizeof(Piece) + bytes;
    pieces_ = ::new (FramePool::allocate(size)) Piece{pieces_, size};
    return reinterpret_cast<std::byte*>(pieces_ + 1);
  }

 private:
  struct alignas(__STDCPP_DEFAULT_NEW_ALIGNMENT__) Piece {
    Piece* next;
    std::size_t size;  // including this header
  };
  Piece* pieces_ = nullptr;
};

}  // namespace offramp::detail

namespace offramp {

template <typename T>
using PooledVector = std::vector<T, detail::PoolAllocator<T>>;
/// A list: its elements keep their addresses.
template <typename T>
using PooledList = std::list<T, detail::PoolAllocator<T>>;

}  // namespace offramp
