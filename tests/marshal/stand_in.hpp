// A stand-in for the MPI library's datatypes, as far as Offramp uses them: handles made without MPI_Init, the
// results of PMPI_Type_*, and reference counts. Handles of predefined types are the library's own.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace offramp::stand_in {

/// An invalid handle: its address is not readable.
template <typename Handle>
Handle handle_of(std::uintptr_t number) {
  constexpr std::uintptr_t kFirst = 1U << 20;
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<Handle>((kFirst + number) * 64);
  } else {
    return static_cast<Handle>(kFirst + number);
  }
}

/// Bytes of an element without a gap between them.
struct Run {
  MPI_Aint at;
  std::size_t bytes;
};

/// A block of MPI_Type_create_struct.
struct Block {
  int count;
  MPI_Aint at;
  MPI_Datatype type;
};

/// Forgets all derived types; the next ones have the same handles again.
void start_anew();
MPI_Datatype contiguous(int count, MPI_Datatype part);
MPI_Datatype vector(int count, int block, int stride, MPI_Datatype part);
MPI_Datatype create_struct(const std::vector<Block>& blocks);
/// Types are committed when they are made; this reverses it.
void uncommit(MPI_Datatype type);
void commit(MPI_Datatype type);
/// The number of references: one when the type is made.
int references(MPI_Datatype type);

/// Sets the process's rank in MPI_COMM_WORLD, which is the only communicator, and the number of ranks.
void be_rank(int rank, int ranks);
/// A user-defined operation.
MPI_Op user_operation(bool commutative);

}  // namespace offramp::stand_in
