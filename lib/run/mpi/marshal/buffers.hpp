// The program's buffers as packed bytes: in place where the datatype is contiguous, through a packed copy
// where not.
#pragma once

#include <mpi.h>

#include <memory>

#include "lib/run/mpi/marshal/datatype.hpp"

namespace offramp {

/// Packs `count` elements at `from` (a user buffer) to `to`, which has room for type.bytes(count).
void pack_elements(const void* from, std::int64_t count, const TypeInfo& type, std::byte* to);
/// Unpacks `bytes` bytes, which may end inside an element. Memory that they do not reach is neither read nor
/// written: it may belong to another thread, or not be there at all.
void unpack_elements(const std::byte* from, std::size_t bytes, void* to, const TypeInfo& type);

class SendBuffer {
 public:
  /// The bytes of a user buffer; valid while the buffer and this object are.
  Bytes set(const void* buffer, std::int64_t count, const TypeInfo& type) {
    if (type.contiguous(count))
      return {static_cast<const std::byte*>(buffer) + type.true_lb, type.bytes(count)};
    return copy(buffer, count, type);
  }
  /// The same, always copied.
  Bytes copy(const void* buffer, std::int64_t count, const TypeInfo& type);
  void reset() { packed_.reset(); }

 private:
  std::unique_ptr<std::byte[]> packed_;
};

class ReceiveBuffer {
 public:
  ReceiveBuffer() = default;
  ~ReceiveBuffer() { reset(); }
  ReceiveBuffer(const ReceiveBuffer&) = delete;
  ReceiveBuffer& operator=(const ReceiveBuffer&) = delete;

  /// Where to put the bytes for a user buffer. Keeps a reference to a type that has to be unpacked.
  MutableBytes set(void* buffer, std::int64_t count, const TypeInfo& type) {
    if (type.contiguous(count)) return {static_cast<std::byte*>(buffer) + type.true_lb, type.bytes(count)};
    return set_aside(buffer, count, type);
  }
  /// The first `bytes` are in place: unpacks them into the user buffer if need be.
  void finish(std::size_t bytes) {
    if (aside_ != nullptr) unpack(bytes);
  }
  void reset() {
    if (aside_ != nullptr) release();
  }

 private:
  struct Aside {
    std::unique_ptr<std::byte[]> packed;
    void* buffer;
    TypeInfo type;
  };
  MutableBytes set_aside(void* buffer, std::int64_t count, const TypeInfo& type);
  void unpack(std::size_t bytes);
  void release();

  std::unique_ptr<Aside> aside_;  // apart: most data is contiguous, and requests are many
};

}  // namespace offramp
