// Reductions of plain elements without MPI, for the ranks of a Cluster.
#pragma once

#include <cassert>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "lib/run/engine/collective.hpp"

namespace offramp {

/// A reduction, with the properties that a backend may use.
class ElementReducer : public Reducer {
 public:
  struct Kind {
    ElementType element = ElementType::kByte;
    std::size_t element_bytes = 1;
    ReduceFunction function = ReduceFunction::kSum;
    bool commutative = true;
  };
  explicit ElementReducer(const Kind& kind) : kind_(kind) {}
  [[nodiscard]] const Kind& kind() const { return kind_; }

 private:
  Kind kind_;
};

/// Element by element: inout = function(in, inout). Function is a default-constructible function object.
template <typename T, typename Function>
class PlainReducer : public ElementReducer {
 public:
  using ElementReducer::ElementReducer;
  void combine(Bytes in, MutableBytes inout) override {
    assert(in.size() == inout.size() && in.size() % sizeof(T) == 0);
    for (std::size_t at = 0; at + sizeof(T) <= in.size(); at += sizeof(T)) {
      T lower;
      T upper;
      std::memcpy(&lower, in.data() + at, sizeof lower);
      std::memcpy(&upper, inout.data() + at, sizeof upper);
      const T result = Function()(lower, upper);
      std::memcpy(inout.data() + at, &result, sizeof result);
    }
  }
};

namespace detail {
struct Add {
  double operator()(double a, double b) const { return a + b; }
  std::int32_t operator()(std::int32_t a, std::int32_t b) const {  // modulo 2^32, as MPI libraries add
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
  }
};
struct Compose;
}  // namespace detail

// Sums of MPI_INT and MPI_DOUBLE.
struct Int32Sum final : PlainReducer<std::int32_t, detail::Add> {
  Int32Sum() : PlainReducer({ElementType::kInt32, sizeof(std::int32_t), ReduceFunction::kSum, true}) {}
};
struct DoubleSum final : PlainReducer<double, detail::Add> {
  DoubleSum() : PlainReducer({ElementType::kFloat64, sizeof(double), ReduceFunction::kSum, true}) {}
};

/// The map x -> scale * x + offset modulo 2^32. Composing maps is associative and depends on their order.
struct AffineMap {
  std::uint32_t scale = 1;
  std::uint32_t offset = 0;
  friend bool operator==(const AffineMap&, const AffineMap&) = default;
};
/// The map that applies `first`, then `second`.
constexpr AffineMap compose(AffineMap first, AffineMap second) {
  return {first.scale * second.scale, first.offset * second.scale + second.offset};
}
struct detail::Compose {
  AffineMap operator()(AffineMap a, AffineMap b) const { return compose(a, b); }
};
/// Not commutative, so a wrong order of operands changes the result.
struct AffineComposition final : PlainReducer<AffineMap, detail::Compose> {
  AffineComposition()
      : PlainReducer({ElementType::kMixed, sizeof(AffineMap), ReduceFunction::kUser, false}) {}
};

}  // namespace offramp
