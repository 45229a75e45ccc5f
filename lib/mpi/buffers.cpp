#include "lib/mpi/buffers.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "lib/native/native.h"

namespace offramp {
namespace {

// It counts in int.
constexpr std::size_t kPackLimit = std::size_t{1} << 30;

int elements_per_step(const TypeInfo& type) {
  return static_cast<int>(std::max<std::size_t>(1, kPackLimit / std::max<std::size_t>(1, type.size)));
}

std::byte* element(void* buffer, std::int64_t index, const TypeInfo& type) {
  return static_cast<std::byte*>(buffer) + static_cast<MPI_Aint>(index) * type.extent;
}
const std::byte* element(const void* buffer, std::int64_t index, const TypeInfo& type) {
  return static_cast<const std::byte*>(buffer) + static_cast<MPI_Aint>(index) * type.extent;
}

}  // namespace

void pack_elements(const void* from, std::int64_t count, const TypeInfo& type, std::byte* to) {
  if (type.size == 0) return;
  const int step = elements_per_step(type);
  for (std::int64_t done = 0; done < count; done += step) {
    const auto part = static_cast<int>(std::min<std::int64_t>(step, count - done));
    offramp_native_pack(element(from, done, type), part, type.type, to, static_cast<int>(type.bytes(part)));
    to += type.bytes(part);
  }
}

void unpack_elements(const std::byte* from, std::size_t bytes, void* to, const TypeInfo& type) {
  if (type.size == 0) return;
  const auto count = static_cast<std::int64_t>(bytes / type.size);
  const int step = elements_per_step(type);
  for (std::int64_t done = 0; done < count; done += step) {
    const auto part = static_cast<int>(std::min<std::int64_t>(step, count - done));
    offramp_native_unpack(from, static_cast<int>(type.bytes(part)), element(to, done, type), part, type.type);
    from += type.bytes(part);
  }
  const std::size_t rest = bytes % type.size;
  if (rest == 0) return;
  // An element that is only partly there: what is missing comes from the user buffer itself.
  const auto whole = std::make_unique_for_overwrite<std::byte[]>(type.size);
  pack_elements(element(to, count, type), 1, type, whole.get());
  std::memcpy(whole.get(), from, rest);
  offramp_native_unpack(whole.get(), static_cast<int>(type.size), element(to, count, type), 1, type.type);
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
