#include "lib/run/mpi/marshal/buffers.hpp"

#include <algorithm>
#include <utility>

#include "lib/run/native/native.h"

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

Bytes SendBuffer::copy(const void* buffer, std::int64_t count, const TypeInfo& type) {
  const std::size_t bytes = type.bytes(count);
  packed_ = std::make_unique_for_overwrite<std::byte[]>(std::max<std::size_t>(1, bytes));
  pack_elements(buffer, count, type, packed_.get());
  return {packed_.get(), bytes};
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
