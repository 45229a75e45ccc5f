// How a datatype was made (MPI_Type_get_envelope, MPI_Type_get_contents), with int or with large counts.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <memory_resource>
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
  [[nodiscard]] const std::pmr::vector<MPI_Datatype>& parts() const { return parts_; }
  /// For MPI_Type_create_struct: returns true if the block of a component has no elements.
  [[nodiscard]] bool is_empty(std::size_t part) const {
    return combiner_ == MPI_COMBINER_STRUCT && count(part + 1) == 0;
  }

 private:
#ifdef OFFRAMP_HAS_LARGE_COUNTS
  using LargeCount = MPI_Count;
#else
  using LargeCount = MPI_Aint;  // unused
#endif
  /// The constructor's counts, which are all of one type.
  [[nodiscard]] LargeCount count(std::size_t i) const {
    return large_.empty() ? integers_[i] : large_[i];
  }

  // Programs make types for single messages, so small recipes need no heap.
  std::array<std::byte, 512> inline_;
  std::pmr::monotonic_buffer_resource memory_{inline_.data(), inline_.size()};
  int combiner_ = MPI_COMBINER_NAMED;
  std::pmr::vector<int> integers_{&memory_};
  std::pmr::vector<LargeCount> large_{&memory_};
  std::pmr::vector<MPI_Datatype> parts_{&memory_};
};

/// The combiner of a type, without its components.
int combiner_of(MPI_Datatype type);

}  // namespace offramp
