// Operation sets, the predicates over kinds, and the verdicts made of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "lib/base/registry/registry.hpp"

namespace offramp {
namespace {

std::vector<std::string_view> names_where(bool (*holds)(OperationKind kind)) {
  std::vector<std::string_view> names;
  for (int i = 0; i < static_cast<int>(OperationKind::kCount); ++i) {
    const auto kind = static_cast<OperationKind>(i);
    if (holds(kind)) names.push_back(to_string(kind));
  }
  std::sort(names.begin(), names.end());
  return names;
}
using Names = std::vector<std::string_view>;

Operation of(OperationKind kind) {
  Operation operation;
  operation.kind = kind;
  return operation;
}

/// Kinds that a newer library may pass to a backend that was compiled before.
constexpr OperationKind kLaterKinds[] = {OperationKind::kCount, static_cast<OperationKind>(63),
                                         static_cast<OperationKind>(64), static_cast<OperationKind>(255)};

TEST(OperationKinds, AreClassifiedByTheirSemantics) {
  EXPECT_EQ(names_where(reduces),
            (Names{"allreduce", "exscan", "reduce", "reduce_scatter", "reduce_scatterv", "scan"}));
  EXPECT_EQ(names_where(has_root),
            (Names{"bcast", "gather", "gatherv", "reduce", "scatter", "scatterv", "send"}));
  EXPECT_EQ(names_where(has_blocks_of_different_sizes),
            (Names{"allgatherv", "alltoallv", "gatherv", "reduce_scatterv", "scatterv"}));
  EXPECT_EQ(names_where(has_block_per_rank),
            (Names{"allgather", "alltoall", "gather", "reduce_scatter", "scatter"}));
}

TEST(ReduceFunctions, AreClassifiedByTheirSemantics) {
  Names logical;
  Names bitwise;
  for (int i = 0; i <= static_cast<int>(ReduceFunction::kUser); ++i) {
    const auto function = static_cast<ReduceFunction>(i);
    if (is_logical(function)) logical.push_back(to_string(function));
    if (is_bitwise(function)) bitwise.push_back(to_string(function));
  }
  EXPECT_EQ(logical, (Names{"land", "lor", "lxor"}));
  EXPECT_EQ(bitwise, (Names{"band", "bor", "bxor"}));
}

TEST(ElementTypes, AreClassifiedByTheirValues) {
  Names integers;
  Names reals;
  for (int i = 0; i <= static_cast<int>(ElementType::kMixed); ++i) {
    const auto type = static_cast<ElementType>(i);
    if (is_integer(type)) integers.push_back(to_string(type));
    if (is_floating_point(type)) reals.push_back(to_string(type));
  }
  EXPECT_EQ(integers, (Names{"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}));
  EXPECT_EQ(reals, (Names{"float32", "float64", "float_extended"}));
}

TEST(AVerdict, IsYesOnlyToTheKindsOfItsList) {
  constexpr OperationSet kCarried = {OperationKind::kSend, OperationKind::kAlltoallv};
  EXPECT_TRUE(Verdict::accept(of(OperationKind::kSend), kCarried).yes());
  EXPECT_TRUE(Verdict::accept(of(OperationKind::kAlltoallv), kCarried).yes());
  EXPECT_EQ(Verdict::accept(of(OperationKind::kBcast), kCarried).reason,
            "the hardware has no such collective");
  EXPECT_EQ(Verdict::accept(of(OperationKind::kBcast), kCarried, "no").reason, "no");
  for (const OperationKind kind : kLaterKinds)
    EXPECT_FALSE(Verdict::accept(of(kind), kCarried | kVectorCollectives).yes());
}

TEST(AVerdict, KeepsItsFirstReason) {
  const Verdict yes = Verdict::accept(of(OperationKind::kSend), {OperationKind::kSend});
  EXPECT_TRUE(yes.unless("").yes());
  EXPECT_EQ(yes.unless("first").unless("second").reason, "first");
  EXPECT_EQ(yes.unless("first").unless("").reason, "first");
}

TEST(EveryBackend, DeclinesKindsThatCameAfterIt) {
  for (const BackendDescription* description : built_in_backends()) {
    const Settings settings = Settings::defaults(description->parameters);
    const auto backend = description->create({0, 2, settings, {}, nullptr});
    EXPECT_TRUE(backend->supports(of(OperationKind::kBcast)).yes()) << description->name;
    EXPECT_EQ(backend->supports(of(OperationKind::kCount)).reason, "the hardware has no such collective")
        << description->name;
  }
}

}  // namespace
}  // namespace offramp
