// How a datatype was made (MPI_Type_get_envelope, MPI_Type_get_contents), with int or with large counts.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>

namespace offramp {

/// For any valid type. Owns the handles of its components and frees them.
class TypeRecipe {
 public:
  explicit TypeRecipe(MPI_Datatype type);
  ~TypeRecipe();
  TypeRecipe& operator=(TypeRecipe&&) = delete;

  /// MPI_COMBINER_NAMED for predefined types, which have no components.
  [[nodiscard]] int combiner() const { return combiner_; }
  /// The types that it consists of.
  [[nodiscard]] std::span<const MPI_Datatype> parts() const { return parts_.all(); }
  /// For MPI_Type_create_struct: returns true if the block of a component has no elements.
  [[nodiscard]] bool is_empty(std::size_t part) const {
    return combiner_ == MPI_COMBINER_STRUCT && count(part + 1) == 0;
  }

 private:
  /// Programs make types for single messages, so a few elements need no heap. Never at a null address.
  template <typename T>
  class Numbers {
   public:
    void resize(std::size_t count) {
      count_ = count;
      if (count > few_.size()) many_ = std::make_unique<T[]>(count);
    }
    [[nodiscard]] T* data() { return many_ != nullptr ? many_.get() : few_.data(); }
    [[nodiscard]] std::span<T> all() { return {data(), count_}; }
    [[nodiscard]] std::span<const T> all() const {
      return {many_ != nullptr ? many_.get() : few_.data(), count_};
    }

   private:
    std::size_t count_ = 0;
    std::array<T, 8> few_;
    std::unique_ptr<T[]> many_;
  };

#ifdef OFFRAMP_HAS_LARGE_COUNTS
  using LargeCount = MPI_Count;
#else
  using LargeCount = MPI_Aint;  // unused
#endif
  /// The constructor's counts, which are all of one type.
  [[nodiscard]] LargeCount count(std::size_t i) const {
    return large_.all().empty() ? integers_.all()[i] : large_.all()[i];
  }

  int combiner_ = MPI_COMBINER_NAMED;
  Numbers<int> integers_;
  Numbers<LargeCount> large_;
  Numbers<MPI_Datatype> parts_;
};

}  // namespace offramp
