// How a datatype was made (MPI_Type_get_envelope, MPI_Type_get_contents), with int or with large counts.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace offramp {

/// For any valid type. Owns the handles of its components and frees them.
class TypeRecipe {
 public:
  explicit TypeRecipe(MPI_Datatype type);
  ~TypeRecipe();
  TypeRecipe(const TypeRecipe&) = delete;
  TypeRecipe& operator=(const TypeRecipe&) = delete;

  /// MPI_COMBINER_NAMED for predefined types, which have no components.
  [[nodiscard]] int combiner() const { return combiner_; }
  /// The types that it consists of.
  [[nodiscard]] const std::vector<MPI_Datatype>& parts() const { return parts_; }
  /// For MPI_Type_create_struct: returns true if the block of a component has no elements.
  [[nodiscard]] bool is_empty(std::size_t part) const {
    return combiner_ == MPI_COMBINER_STRUCT && counts_[part + 1] == 0;
  }

 private:
  int combiner_ = MPI_COMBINER_NAMED;
  std::vector<std::int64_t> counts_;  // the constructor's counts
  std::vector<MPI_Datatype> parts_;
};

/// The combiner of a type, without its components.
int combiner_of(MPI_Datatype type);

}  // namespace offramp
