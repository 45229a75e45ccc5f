// Reductions run in steps of at most 1 GiB, because the library's function has a count of type int. A type
// with gaps is unpacked into two temporary buffers of its own layout, since the operation may be the
// program's and expects elements there.
#include "lib/run/mpi/marshal/collective_call.hpp"

#include "lib/run/native/native.h"

namespace offramp {

MpiReducer::~MpiReducer() {
  if (op_ == MPI_OP_NULL) return;
  offramp_native_type_release(type_.type);
  offramp_native_op_release(op_);
}

void MpiReducer::set(MPI_Op op, const TypeInfo& type) {
  op_ = op;
  type_ = type;
  offramp_native_op_retain(op_);
  offramp_native_type_retain(type_.type);
}

void MpiReducer::combine(Bytes in, MutableBytes inout) {
  if (type_.size == 0) return;
  constexpr std::size_t kStep = std::size_t{1} << 30;
  // Whole elements, as close to the limit as they come.
  const std::size_t step = std::max<std::size_t>(1, kStep / type_.size) * type_.size;
  for (std::size_t done = 0; done < in.size(); done += step) {
    const std::size_t part = std::min(step, in.size() - done);
    const auto count = static_cast<int>(part / type_.size);
    if (type_.contiguous(count) && type_.true_lb == 0) {
      offramp_native_reduce_local(in.data() + done, inout.data() + done, count, type_.type, op_);
    } else {
      combine_with_gaps(in.subspan(done, part), inout.subspan(done, part), count);
    }
  }
}

void MpiReducer::combine_with_gaps(Bytes in, MutableBytes inout, int count) const {
  // The operation receives elements in the type's layout. Gaps are zero.
  const std::size_t span =
      static_cast<std::size_t>(std::abs(type_.extent)) * static_cast<std::size_t>(count - 1) +
      static_cast<std::size_t>(type_.true_extent);
  // With a negative extent, the last element has the lowest address.
  const MPI_Aint first = type_.true_lb + (type_.extent < 0 ? type_.extent * (count - 1) : 0);
  const auto lower = std::make_unique<std::byte[]>(span);
  const auto upper = std::make_unique<std::byte[]>(span);
  std::byte* const lower_base = lower.get() - first;
  std::byte* const upper_base = upper.get() - first;
  unpack_elements(in.data(), in.size(), lower_base, type_);
  unpack_elements(inout.data(), inout.size(), upper_base, type_);
  offramp_native_reduce_local(lower_base, upper_base, count, type_.type, op_);
  pack_elements(upper_base, count, type_, inout.data());
}

}  // namespace offramp
