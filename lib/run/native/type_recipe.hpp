// How a datatype was made: what MPI_Type_get_envelope and MPI_Type_get_contents tell, the same for types that
// were made with int and with large counts.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace offramp {

/// Of any type that there is. Holds its parts, and frees them again.
class TypeRecipe {
 public:
  explicit TypeRecipe(MPI_Datatype type);
  ~TypeRecipe();
  TypeRecipe(const TypeRecipe&) = delete;
  TypeRecipe& operator=(const TypeRecipe&) = delete;

  /// MPI_COMBINER_NAMED for predefined types, which have no parts.
  [[nodiscard]] int combiner() const { return combiner_; }
  /// The types that it was made of.
  [[nodiscard]] const std::vector<MPI_Datatype>& parts() const { return parts_; }
  /// Of MPI_Type_create_struct: whether the block of a part has no elements.
  [[nodiscard]] bool is_empty(std::size_t part) const {
    return combiner_ == MPI_COMBINER_STRUCT && counts_[part + 1] == 0;
  }

 private:
  int combiner_ = MPI_COMBINER_NAMED;
  std::vector<std::int64_t> counts_;  // as the constructor had them
  std::vector<MPI_Datatype> parts_;
};

/// The combiner of a type alone.
int combiner_of(MPI_Datatype type);

}  // namespace offramp
