// A stand-in for the MPI library's datatypes, as far as Offramp asks for them: handles that are made without
// MPI_Init, what PMPI_Type_* tell of them, and references that are counted. Handles of predefined types are
// the library's own.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace offramp::stand_in {

/// A handle that the MPI library does not have: nothing is at its address.
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
/// A type is committed when it is made; it is not any more.
void uncommit(MPI_Datatype type);
void commit(MPI_Datatype type);
/// The handles that somebody holds of it: one when it is made.
int references(MPI_Datatype type);

/// Which rank of how many the process is: those of MPI_COMM_WORLD, which is the only communicator.
void be_rank(int rank, int ranks);
/// An operation of the program's.
MPI_Op user_operation(bool commutative);

}  // namespace offramp::stand_in
