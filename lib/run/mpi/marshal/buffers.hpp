// The program's buffers as packed bytes: in place if the datatype is contiguous, else as a copy or in pieces.
#pragma once

#include <mpi.h>

#include <memory>

#include "lib/run/engine/engine.hpp"
#include "lib/run/mpi/marshal/datatype.hpp"
#include "lib/run/native/native.h"

namespace offramp {

/// Packs `count` elements of the user buffer `from` to `to`, which must have room for type.bytes(count).
void pack_elements(const void* from, std::int64_t count, const TypeInfo& type, std::byte* to);
/// Unpacks `bytes` bytes, which may end inside an element. Memory beyond them is neither read nor written: it
/// may belong to another thread or may not be mapped.
void unpack_elements(const std::byte* from, std::size_t bytes, void* to, const TypeInfo& type);

/// Packs a large buffer piece by piece. Retains the type.
class Packing final : public PieceSource {
 public:
  /// The buffer must stay valid until the end. Throws if memory is exhausted.
  Packing(const void* buffer, std::int64_t count, const TypeInfo& type);
  ~Packing() override;
  Packing& operator=(Packing&&) = delete;
  std::size_t make(std::span<std::byte> room) override;

 private:
  MPI_Datatype type_;
  offramp_packing* state_;
};

/// Unpacks a message while it arrives. Retains the type.
class Unpacking final : public PieceSink {
 public:
  /// The buffer must stay valid until the last piece has been used.
  Unpacking(void* buffer, std::int64_t count, const TypeInfo& type);
  ~Unpacking() override;
  Unpacking& operator=(Unpacking&&) = delete;
  void use(std::span<const std::byte> piece, bool is_last) override;

 private:
  void* buffer_;
  std::int64_t count_;
  TypeInfo type_;
  offramp_packing* state_ = nullptr;  // set after the first of several pieces
};

/// The message that a buffer is sent in.
struct SendTarget {
  const Context& context;
  int destination;
  SendRecord& record;
};

/// One message's data. reset() releases a copy once the message has left.
class SendBuffer {
 public:
  /// The bytes of a user buffer. Valid as long as the buffer and this object.
  Bytes set(const void* buffer, std::int64_t count, const TypeInfo& type) {
    if (type.contiguous(count))
      return {static_cast<const std::byte*>(buffer) + type.true_lb, type.bytes(count)};
    return copy(buffer, count, type);
  }
  /// The bytes of a message. Their address is null if the record reads them in pieces.
  Bytes set(const void* buffer, std::int64_t count, const TypeInfo& type, const Engine& engine,
            const SendTarget& to) {
    if (type.contiguous(count)) [[likely]]
      return {static_cast<const std::byte*>(buffer) + type.true_lb, type.bytes(count)};
    return copy_or_pack(buffer, count, type, engine, to);
  }
  /// Like the first set(), but always copies.
  Bytes copy(const void* buffer, std::int64_t count, const TypeInfo& type);
  void reset() { aside_.reset(); }
  /// True if the bytes are those of the user buffer.
  [[nodiscard]] bool is_in_place() const { return aside_ == nullptr; }

 private:
  /// Copies small data, and packs large data in pieces where the peer can take them.
  Bytes copy_or_pack(const void* buffer, std::int64_t count, const TypeInfo& type, const Engine& engine,
                     const SendTarget& to);

  /// Memory of its own: the packed copy, or what makes the pieces.
  struct Aside {
    std::unique_ptr<std::byte[]> packed;
    std::unique_ptr<Packing> packing;
  };

  std::unique_ptr<Aside> aside_;  // null: the data is contiguous, as in most cases
};

/// Receives a message into a user buffer.
class MessageBuffer {
 public:
  /// Returns the memory for the bytes. The address is null if the record unpacks them in pieces.
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

/// Receives a block of a collective whose algorithm needs packed bytes.
class ReceiveBuffer {
 public:
  ReceiveBuffer() = default;
  ~ReceiveBuffer() { reset(); }
  ReceiveBuffer& operator=(ReceiveBuffer&&) = delete;

  /// Returns memory for the packed bytes of a user buffer. Retains a type that has to be unpacked.
  MutableBytes set(void* buffer, std::int64_t count, const TypeInfo& type) {
    if (type.contiguous(count)) return {static_cast<std::byte*>(buffer) + type.true_lb, type.bytes(count)};
    return set_aside(buffer, count, type);
  }
  /// Unpacks the first `bytes` bytes into the user buffer, unless they are there already.
  void finish(std::size_t bytes) {
    if (aside_ != nullptr) unpack(bytes);
  }
  void reset() {
    if (aside_ != nullptr) release();
  }
  /// True if the memory is that of the user buffer.
  [[nodiscard]] bool is_in_place() const { return aside_ == nullptr; }

 private:
  struct Aside {
    std::unique_ptr<std::byte[]> packed;
    void* buffer;
    TypeInfo type;
  };
  MutableBytes set_aside(void* buffer, std::int64_t count, const TypeInfo& type);
  void unpack(std::size_t bytes);
  void release();

  std::unique_ptr<Aside> aside_;  // separate, because most data is contiguous and requests are many
};

}  // namespace offramp
