// The properties of MPI datatypes that Offramp needs, queried once per type and kept until the type is freed.
#pragma once

#include <mpi.h>

#include <array>
#include <unordered_map>

#include "lib/run/native/handles.hpp"
#include "offramp/model/backend.hpp"

namespace offramp {

/// Sizes are in bytes. Valid until the type is forgotten.
struct TypeInfo {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::size_t size = 0;      // bytes of data per element
  MPI_Aint extent = 0;       // from one element to the next
  MPI_Aint true_lb = 0;      // offset of an element's data
  MPI_Aint true_extent = 0;  // extent of an element's data
  bool contiguous_one = false;
  bool contiguous_many = false;
  bool predefined = false;
  ElementType element = ElementType::kMixed;  // for reductions
  ElementType parts = ElementType::kMixed;    // of its signature, which is the same in all matching types

  /// Returns true if `count` elements are count * size consecutive bytes from true_lb on.
  [[nodiscard]] bool contiguous(std::int64_t count) const {
    return contiguous_many || (count <= 1 && contiguous_one);
  }
  /// The packed size of `count` elements.
  [[nodiscard]] std::size_t bytes(std::int64_t count) const { return size * static_cast<std::size_t>(count); }
};

/// Used by one thread at a time.
class Datatypes {
 public:
  /// kOfHandles: an entry lives until forget(), which MPI_Type_free calls.
  enum class Lifetime : std::uint8_t { kOfHandles, kOfTable };
  /// kOfTable: retains each type that it has found, so that none of them changes its meaning.
  explicit Datatypes(Lifetime lifetime = Lifetime::kOfHandles) : lifetime_(lifetime) {}
  ~Datatypes();
  Datatypes& operator=(Datatypes&&) = delete;

  /// Returns null for MPI_DATATYPE_NULL and for types that are not committed.
  const TypeInfo* find(MPI_Datatype type) {
    Slot& slot = recent_[slot_of(type)];
    if (slot.type == type) [[likely]]
      return slot.info;
    return look_up(type, slot);
  }
  /// Call it before the type is freed, and when it has changed.
  void forget(MPI_Datatype type);

 private:
  struct Slot {
    MPI_Datatype type{};
    const TypeInfo* info = nullptr;
  };
  static std::size_t slot_of(MPI_Datatype type) { return slot_of_handle<kSlots>(type); }
  /// find() beyond the cache. Describes a type at its first use.
  const TypeInfo* look_up(MPI_Datatype type, Slot& slot);

  static constexpr std::size_t kSlots = 32;
  Lifetime lifetime_;
  std::array<Slot, kSlots> recent_{};
  using Known = std::unordered_map<MPI_Datatype, TypeInfo>;
  Known known_;
  Known::node_type spare_;  // of a forgotten type, since programs make types for single messages
};

/// The reduction function of an MPI_Op; kUser if it is user-defined.
ReduceFunction function_of(MPI_Op op);
/// Returns true if MPI allows the reduction on this type (table in 5.9.2). Others are left to the MPI
/// library.
bool reducible(ReduceFunction function, const TypeInfo& type);

}  // namespace offramp
