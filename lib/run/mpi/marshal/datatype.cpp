// The composition of a datatype, from its predefined types up (common_parts() walks its recipe). Handles may
// be freed and reused, so MPI_Type_free calls forget(). reducible(): MPI's table of types for reductions.
#include "lib/run/mpi/marshal/datatype.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "lib/run/native/native.h"
#include "lib/run/native/pmpi.hpp"
#include "lib/run/native/type_recipe.hpp"
#include "offramp/kernel/immortal.hpp"

namespace offramp {
namespace {

using ElementClasses = std::unordered_map<MPI_Datatype, ElementType>;

/// Predefined handles are addresses that the executable may have relocated, so they are read at run time.
ElementClasses element_classes() {
  using E = ElementType;
  const std::pair<E, std::vector<MPI_Datatype>> classes[] = {
      {E::kByte, {MPI_BYTE, MPI_PACKED}},
      {E::kInt8, {MPI_CHAR, MPI_SIGNED_CHAR, MPI_INT8_T, MPI_CHARACTER, MPI_INTEGER1}},
      {E::kInt16, {MPI_SHORT, MPI_INT16_T, MPI_INTEGER2}},
      {E::kInt32, {MPI_INT, MPI_INT32_T, MPI_WCHAR, MPI_INTEGER, MPI_INTEGER4}},
      {E::kInt64, {MPI_LONG, MPI_LONG_LONG, MPI_INT64_T, MPI_AINT, MPI_OFFSET, MPI_COUNT, MPI_INTEGER8}},
      {E::kUint8, {MPI_UNSIGNED_CHAR, MPI_UINT8_T}},
      {E::kUint16, {MPI_UNSIGNED_SHORT, MPI_UINT16_T}},
      {E::kUint32, {MPI_UNSIGNED, MPI_UINT32_T}},
      {E::kUint64, {MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG, MPI_UINT64_T}},
      {E::kFloat32, {MPI_FLOAT, MPI_REAL, MPI_REAL4}},
      {E::kFloat64, {MPI_DOUBLE, MPI_REAL8, MPI_DOUBLE_PRECISION}},
      {E::kFloatExtended, {MPI_LONG_DOUBLE}},
      {E::kComplex,
       {MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_C_LONG_DOUBLE_COMPLEX, MPI_CXX_FLOAT_COMPLEX,
        MPI_CXX_DOUBLE_COMPLEX, MPI_CXX_LONG_DOUBLE_COMPLEX, MPI_COMPLEX, MPI_DOUBLE_COMPLEX}},
      {E::kLogical, {MPI_C_BOOL, MPI_CXX_BOOL, MPI_LOGICAL}},
      {E::kPair,
       {MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_2INT, MPI_SHORT_INT, MPI_LONG_DOUBLE_INT, MPI_2REAL,
        MPI_2DOUBLE_PRECISION, MPI_2INTEGER}},
  };
  ElementClasses by_type;
  for (const auto& [element, types] : classes) {
    for (MPI_Datatype type : types) by_type.emplace(type, element);
  }
  return by_type;
}

/// Returns nullopt for types without a class, and for all derived ones.
std::optional<ElementType> class_of(MPI_Datatype type) {
  static const ElementClasses& classes = immortal(element_classes());
  const auto found = classes.find(type);
  return found != classes.end() ? std::optional(found->second) : std::nullopt;
}

/// The class of a predefined type's components. Pairs have one if both halves are alike.
ElementType parts_of(MPI_Datatype type, ElementType whole) {
  if (type == MPI_2INT || type == MPI_2INTEGER) return ElementType::kInt32;
  if (type == MPI_2REAL) return ElementType::kFloat32;
  if (type == MPI_2DOUBLE_PRECISION) return ElementType::kFloat64;
  return whole == ElementType::kPair ? ElementType::kMixed : whole;
}

/// The class that all components share. kMixed if there are none (MPI_Type_create_f90_*).
ElementType common_parts(const TypeRecipe& recipe, int depth = 0) {
  // Deeper recipes are possible, and count as mixed: the recursion must end.
  constexpr int kDeepest = 32;
  if (recipe.parts().empty() || depth > kDeepest) return ElementType::kMixed;
  std::optional<ElementType> common;
  for (std::size_t k = 0; k < recipe.parts().size(); ++k) {
    // A component without elements has no part in the signature.
    if (recipe.is_empty(k)) continue;
    MPI_Datatype part = recipe.parts()[k];
    const std::optional<ElementType> whole = class_of(part);
    const ElementType own = whole ? parts_of(part, *whole) : common_parts(TypeRecipe(part), depth + 1);
    common = common.value_or(own) == own ? own : ElementType::kMixed;
  }
  return common.value_or(ElementType::kByte);
}

TypeInfo describe(MPI_Datatype type) {
  TypeInfo info;
  info.type = type;
  MPI_Count size = 0;
  MPI_Aint lb = 0;
  pmpi::Type_size_x(type, &size);
  info.size = static_cast<std::size_t>(size);
  pmpi::Type_get_extent(type, &lb, &info.extent);
  pmpi::Type_get_true_extent(type, &info.true_lb, &info.true_extent);
  // Two elements show whether the extent leaves gaps between elements.
  info.contiguous_one = offramp_native_type_contiguous(type, 1) != 0;
  info.contiguous_many = offramp_native_type_contiguous(type, 2) != 0;
  if (const std::optional<ElementType> whole = class_of(type)) {
    info.predefined = true;
    info.element = *whole;
    info.parts = parts_of(type, *whole);
  } else {
    const TypeRecipe recipe(type);
    info.predefined = recipe.combiner() == MPI_COMBINER_NAMED;
    info.element = info.parts = common_parts(recipe);
  }
  return info;
}
}  // namespace

Datatypes::~Datatypes() {
  if (lifetime_ == Lifetime::kOfHandles) return;
  for (const auto& [type, info] : known_) offramp_native_type_release(type);
}

const TypeInfo* Datatypes::look_up(MPI_Datatype type, Slot& slot) {
  if (type == MPI_DATATYPE_NULL || type == MPI_Datatype{}) return nullptr;
  auto known = known_.find(type);
  if (known == known_.end()) {
    // Checked first: an MPI library may reject other queries of an invalid type. A type may be committed
    // later, so the failure is not stored.
    if (offramp_native_type_committed(type) == 0) return nullptr;
    if (lifetime_ == Lifetime::kOfTable) offramp_native_type_retain(type);
    if (spare_.empty()) {
      known = known_.emplace(type, describe(type)).first;
    } else {
      spare_.key() = type;
      spare_.mapped() = describe(type);
      known = known_.insert(std::move(spare_)).position;
    }
  }
  slot = {type, &known->second};
  return slot.info;
}

void Datatypes::forget(MPI_Datatype type) {
  Slot& slot = recent_[slot_of(type)];
  if (slot.type == type) slot = {};
  if (Known::node_type forgotten = known_.extract(type); !forgotten.empty()) spare_ = std::move(forgotten);
}

ReduceFunction function_of(MPI_Op op) {
  using F = ReduceFunction;
  static const auto& table = immortal(std::vector<std::pair<MPI_Op, F>>{{MPI_SUM, F::kSum},
                                                                        {MPI_PROD, F::kProduct},
                                                                        {MPI_MAX, F::kMaximum},
                                                                        {MPI_MIN, F::kMinimum},
                                                                        {MPI_LAND, F::kLogicalAnd},
                                                                        {MPI_LOR, F::kLogicalOr},
                                                                        {MPI_LXOR, F::kLogicalXor},
                                                                        {MPI_BAND, F::kBitAnd},
                                                                        {MPI_BOR, F::kBitOr},
                                                                        {MPI_BXOR, F::kBitXor},
                                                                        {MPI_MAXLOC, F::kMaximumLocation},
                                                                        {MPI_MINLOC, F::kMinimumLocation},
                                                                        {MPI_REPLACE, F::kReplace},
                                                                        {MPI_NO_OP, F::kNone}});
  for (const auto& [handle, function] : table) {
    if (handle == op) return function;
  }
  return F::kUser;
}

namespace {
bool is_fortran_integer(MPI_Datatype type) {
  return type == MPI_INTEGER || type == MPI_INTEGER1 || type == MPI_INTEGER2 || type == MPI_INTEGER4 ||
         type == MPI_INTEGER8;
}
}  // namespace

bool reducible(ReduceFunction function, const TypeInfo& type) {
  using E = ElementType;
  if (function == ReduceFunction::kUser) return true;
  // MPI defines its own operations on predefined types only.
  if (!type.predefined || type.element == E::kMixed) return false;
  if (type.type == MPI_WCHAR || type.type == MPI_PACKED) return false;  // neither numbers nor bytes to MPI
  const E e = type.element;
  const bool integer = is_integer(e);
  const bool real = is_floating_point(e);
  switch (function) {
    case ReduceFunction::kSum:
    case ReduceFunction::kProduct:
      return integer || real || e == E::kComplex;
    case ReduceFunction::kMaximum:
    case ReduceFunction::kMinimum:
      return integer || real;
    case ReduceFunction::kLogicalAnd:
    case ReduceFunction::kLogicalOr:
    case ReduceFunction::kLogicalXor:
      return (integer && !is_fortran_integer(type.type)) || e == E::kLogical;
    case ReduceFunction::kBitAnd:
    case ReduceFunction::kBitOr:
    case ReduceFunction::kBitXor:
      return integer || e == E::kByte;
    case ReduceFunction::kMaximumLocation:
    case ReduceFunction::kMinimumLocation:
      return e == E::kPair;
    default:
      return false;
  }
}

}  // namespace offramp
