// MPI_Type_get_contents returns new handles of derived components, which the destructor frees, but predefined
// types must not be freed. Types of MPI_Type_create_f90_* count as predefined, although their combiner is not
// MPI_COMBINER_NAMED. If the library has functions with large counts, only those are used: the others fail
// for types made with such counts.
#include "lib/run/native/type_recipe.hpp"

#include "lib/run/native/pmpi.hpp"

namespace offramp {
namespace {

/// The numbers of the constructor's arguments. The functions with int fail for types made with large counts.
struct Envelope {
#ifdef OFFRAMP_HAS_LARGE_COUNTS
  using Number = MPI_Count;
#else
  using Number = int;
#endif
  Number integers = 0;
  Number addresses = 0;
  Number large_counts = 0;
  Number types = 0;
  int combiner = MPI_COMBINER_NAMED;

  explicit Envelope(MPI_Datatype type) {
#ifdef OFFRAMP_HAS_LARGE_COUNTS
    pmpi::Type_get_envelope_c(type, &integers, &addresses, &large_counts, &types, &combiner);
#else
    pmpi::Type_get_envelope(type, &integers, &addresses, &types, &combiner);
#endif
  }
};

/// Types that are never freed. Those of MPI_Type_create_f90_* are unnamed.
bool is_predefined(int combiner) {
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
         combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

}  // namespace

TypeRecipe::TypeRecipe(MPI_Datatype type) {
  const Envelope all(type);
  combiner_ = all.combiner;
  if (combiner_ == MPI_COMBINER_NAMED) return;
  integers_.resize(static_cast<std::size_t>(all.integers));
  Numbers<MPI_Aint> addresses;
  addresses.resize(static_cast<std::size_t>(all.addresses));
  parts_.resize(static_cast<std::size_t>(all.types));
#ifdef OFFRAMP_HAS_LARGE_COUNTS
  large_.resize(static_cast<std::size_t>(all.large_counts));
  pmpi::Type_get_contents_c(type, all.integers, all.addresses, all.large_counts, all.types, integers_.data(),
                            addresses.data(), large_.data(), parts_.data());
#else
  pmpi::Type_get_contents(type, all.integers, all.addresses, all.types, integers_.data(), addresses.data(),
                          parts_.data());
#endif
}

TypeRecipe::~TypeRecipe() {
  for (MPI_Datatype& part : parts_.all()) {
    if (!is_predefined(Envelope(part).combiner)) pmpi::Type_free(&part);
  }
}

}  // namespace offramp
