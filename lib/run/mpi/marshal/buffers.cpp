// Datatypes are interpreted by the MPI library (offramp_native_*), so every type has its exact meaning; this
// file decides when a copy is needed. Types are retained while a message is under way, because a program may
// free them after the call. Large messages are packed in pieces where the engine asks for it.
#include "lib/run/mpi/marshal/buffers.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace offramp {
void pack_elements(const void* from, std::int64_t count, const TypeInfo& type, std::byte* to) {
  if (type.size == 0 || count == 0) return;
  offramp_native_pack(from, static_cast<std::size_t>(count), type.type, to, type.bytes(count));
}

void unpack_elements(const std::byte* from, std::size_t bytes, void* to, const TypeInfo& type) {
  if (type.size == 0 || bytes == 0) return;
  const std::size_t count = (bytes + type.size - 1) / type.size;
  offramp_native_unpack(from, bytes, to, count, type.type);
}

Packing::Packing(const void* buffer, std::int64_t count, const TypeInfo& type)
    : type_(type.type),
      state_(offramp_native_packing_begin(buffer, static_cast<std::size_t>(count), type.type)) {
  if (state_ == nullptr) throw std::bad_alloc();
  offramp_native_type_retain(type_);
}
Packing::~Packing() {
  offramp_native_packing_end(state_);
  offramp_native_type_release(type_);
}

std::size_t Packing::make(std::span<std::byte> room) {
  return offramp_native_packing_next(state_, room.data(), room.size());
}

Unpacking::Unpacking(void* buffer, std::int64_t count, const TypeInfo& type)
    : buffer_(buffer), count_(count), type_(type) {
  offramp_native_type_retain(type_.type);
}
Unpacking::~Unpacking() {
  if (state_ != nullptr) offramp_native_unpacking_end(state_);
  offramp_native_type_release(type_.type);
}

void Unpacking::use(std::span<const std::byte> piece, bool is_last) {
  // The usual message comes as one piece and needs no state.
  if (state_ == nullptr && is_last) return unpack_elements(piece.data(), piece.size(), buffer_, type_);
  if (state_ == nullptr) {
    state_ = offramp_native_unpacking_begin(buffer_, static_cast<std::size_t>(count_), type_.type);
    if (state_ == nullptr) throw std::bad_alloc();
  }
  offramp_native_unpacking_next(state_, piece.data(), piece.size());
  if (is_last) offramp_native_unpacking_end(std::exchange(state_, nullptr));
}

Bytes SendBuffer::copy_or_pack(const void* buffer, std::int64_t count, const TypeInfo& type,
                               const Engine& engine, const SendTarget& to) {
  if (!engine.packs_in_pieces(type.bytes(count), to.context.world_rank(to.destination)))
    return copy(buffer, count, type);
  aside_ = std::make_unique<Aside>();
  aside_->packing = std::make_unique<Packing>(buffer, count, type);
  to.record.pieces = aside_->packing.get();
  return {static_cast<const std::byte*>(nullptr), type.bytes(count)};
}

Bytes SendBuffer::copy(const void* buffer, std::int64_t count, const TypeInfo& type) {
  const std::size_t bytes = type.bytes(count);
  aside_ = std::make_unique<Aside>();
  // An empty message still has an address: a null one would mean that the payload comes in pieces.
  aside_->packed = std::make_unique_for_overwrite<std::byte[]>(std::max<std::size_t>(1, bytes));
  pack_elements(buffer, count, type, aside_->packed.get());
  return {aside_->packed.get(), bytes};
}

MutableBytes ReceiveBuffer::set_aside(void* buffer, std::int64_t count, const TypeInfo& type) {
  const std::size_t bytes = type.bytes(count);
  auto packed = std::make_unique_for_overwrite<std::byte[]>(std::max<std::size_t>(1, bytes));
  aside_ = std::make_unique<Aside>(Aside{std::move(packed), buffer, type});
  offramp_native_type_retain(type.type);
  return {aside_->packed.get(), bytes};
}

void ReceiveBuffer::unpack(std::size_t bytes) {
  unpack_elements(aside_->packed.get(), bytes, aside_->buffer, aside_->type);
}

void ReceiveBuffer::release() {
  offramp_native_type_release(aside_->type.type);
  aside_.reset();
}

}  // namespace offramp
