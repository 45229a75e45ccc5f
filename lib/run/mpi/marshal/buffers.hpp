// The program's buffers as packed bytes: in place where the datatype is contiguous, otherwise as a packed
// copy, or in pieces.
#pragma once

#include <mpi.h>

#include <memory>

#include "lib/run/engine/engine.hpp"
#include "lib/run/mpi/marshal/datatype.hpp"
#include "lib/run/native/native.h"

namespace offramp {

/// Packs `count` elements at `from` (a user buffer) to `to`, which has room for type.bytes(count).
void pack_elements(const void* from, std::int64_t count, const TypeInfo& type, std::byte* to);
/// Unpacks `bytes` bytes, which may end inside an element. Memory that they do not reach is neither read nor
/// written: it may belong to another thread, or not be there at all.
void unpack_elements(const std::byte* from, std::size_t bytes, void* to, const TypeInfo& type);

/// Packs a large buffer piece by piece. Keeps a reference to the type.
class Packing final : public PieceSource {
 public:
  Packing(const void* buffer, std::int64_t count, const TypeInfo& type);
  ~Packing() override;
  Packing(const Packing&) = delete;
  Packing& operator=(const Packing&) = delete;
  std::size_t make(std::span<std::byte> room) override;

 private:
  MPI_Datatype type_;
  offramp_packing* state_;
};

/// Unpacks a message while it arrives. Keeps a reference to the type.
class Unpacking final : public PieceSink {
 public:
  Unpacking(void* buffer, std::int64_t count, const TypeInfo& type);
  ~Unpacking() override;
  Unpacking(const Unpacking&) = delete;
  Unpacking& operator=(const Unpacking&) = delete;
  void use(std::span<const std::byte> piece, bool is_last) override;

 private:
  void* buffer_;
  std::int64_t count_;
  TypeInfo type_;
  offramp_packing* state_ = nullptr;  // since the first of several pieces
};

/// The message whose data a buffer holds.
struct SendTarget {
  const Context& context;
  int destination;
  SendRecord& record;
};

class SendBuffer {
 public:
  /// The bytes of a user buffer; valid while the buffer and this object are.
  Bytes set(const void* buffer, std::int64_t count, const TypeInfo& type) {
    if (type.contiguous(count))
      return {static_cast<const std::byte*>(buffer) + type.true_lb, type.bytes(count)};
    return copy(buffer, count, type);
  }
  /// The bytes of a message. Their address is null if the record has them in pieces.
  Bytes set(const void* buffer, std::int64_t count, const TypeInfo& type, const Engine& engine,
            const SendTarget& to) {
    if (type.contiguous(count)) [[likely]]
      return {static_cast<const std::byte*>(buffer) + type.true_lb, type.bytes(count)};
    return copy_or_pack(buffer, count, type, engine, to);
  }
  /// The same, always copied.
  Bytes copy(const void* buffer, std::int64_t count, const TypeInfo& type);
  void reset() { aside_.reset(); }

 private:
  Bytes copy_or_pack(const void* buffer, std::int64_t count, const TypeInfo& type, const Engine& engine,
                     const SendTarget& to);

  struct Aside {
    std::unique_ptr<std::byte[]> packed;
    std::unique_ptr<Packing> packing;
  };

  std::unique_ptr<Aside> aside_;  // null: the data is contiguous, as most is
};

/// Receives a message into a user buffer.
class MessageBuffer {
 public:
  /// Returns where the bytes go. Their address is null if the record unpacks them in pieces.
  MutableBytes set(void* buffer, std::int64_t count, const TypeInfo& type, ReceiveRecord& record) {
    if (type.contiguous(count)) [[likely]]
      return {static_cast<std::byte*>(buffer) + type.true_lb, type.bytes(count)};
    unpacking_ = std::make_unique<Unpacking>(buffer, count, type);
    record.pieces = unpacking_.get();
    return {static_cast<std::byte*>(nullptr), type.bytes(count)};
  }
  void reset() { unpacking_.reset(); }

 private:
  std::unique_ptr<Unpacking> unpacking_;
};

/// Receives a block of a collective, which its algorithm needs as packed bytes.
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
