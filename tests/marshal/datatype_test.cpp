// Offramp's view of datatypes and operations, without a running MPI library.
#include "lib/run/mpi/marshal/datatype.hpp"

#include <gtest/gtest.h>

#include "tests/marshal/stand_in.hpp"

namespace offramp {
namespace {

using E = ElementType;
using F = ReduceFunction;

class ADatatype : public testing::Test {
 protected:
  void SetUp() override { stand_in::start_anew(); }
  const TypeInfo& of(MPI_Datatype type) { return *known_.find(type); }

  Datatypes known_;
};

TEST_F(ADatatype, FromTheLibraryIsKnownByItsHandle) {
  const TypeInfo& integer = of(MPI_INT);
  EXPECT_TRUE(integer.predefined && integer.contiguous(1) && integer.contiguous(1000));
  EXPECT_EQ(integer.bytes(1000), 4000U);
  EXPECT_EQ(integer.element, E::kInt32);
  EXPECT_EQ(integer.parts, E::kInt32);
  EXPECT_EQ(of(MPI_INTEGER).element, E::kInt32);
  EXPECT_EQ(of(MPI_WCHAR).element, E::kInt32);
  EXPECT_EQ(of(MPI_C_DOUBLE_COMPLEX).element, E::kComplex);
}

TEST_F(ADatatype, HasTheClassOfEqualHalvesInAPair) {
  EXPECT_EQ(of(MPI_2INT).element, E::kPair);
  EXPECT_EQ(of(MPI_2INT).parts, E::kInt32);
  EXPECT_EQ(of(MPI_SHORT_INT).element, E::kPair);
  EXPECT_EQ(of(MPI_SHORT_INT).parts, E::kMixed);
  EXPECT_EQ(of(MPI_SHORT_INT).size, 6U);
  EXPECT_EQ(of(MPI_SHORT_INT).extent, 8);
  EXPECT_FALSE(of(MPI_SHORT_INT).contiguous(1));
}

TEST_F(ADatatype, ThatIsDerivedHasTheClassThatAllItsPartsShare) {
  const MPI_Datatype columns = stand_in::vector(3, 1, 4, MPI_INT);
  EXPECT_EQ(of(columns).parts, E::kInt32);
  EXPECT_EQ(of(columns).element, E::kInt32);
  EXPECT_FALSE(of(columns).predefined);
  EXPECT_EQ(of(stand_in::contiguous(2, columns)).parts, E::kInt32);
  EXPECT_EQ(of(stand_in::create_struct({{1, 0, MPI_INT}, {1, 8, MPI_DOUBLE}})).parts, E::kMixed);
  EXPECT_EQ(of(stand_in::create_struct({{1, 0, MPI_INT}, {2, 8, MPI_INTEGER}})).parts, E::kInt32);
}

TEST_F(ADatatype, TakesNoClassFromABlockWithoutElements) {
  EXPECT_EQ(of(stand_in::create_struct({{0, 0, MPI_DOUBLE}, {1, 8, MPI_INT}})).parts, E::kInt32);
  EXPECT_EQ(of(stand_in::create_struct({{0, 0, MPI_DOUBLE}, {0, 8, MPI_INT}})).parts, E::kByte);
}

TEST_F(ADatatype, ThatIsNestedTooDeepHasNoClass) {
  MPI_Datatype shallow = MPI_INT;
  for (int i = 0; i < 30; ++i) shallow = stand_in::contiguous(1, shallow);
  EXPECT_EQ(of(shallow).parts, E::kInt32);
  MPI_Datatype deep = shallow;
  for (int i = 0; i < 5; ++i) deep = stand_in::contiguous(1, deep);
  EXPECT_EQ(of(deep).parts, E::kMixed);
}

TEST_F(ADatatype, IsOneRunWhereItHasNoGaps) {
  const TypeInfo& gaps = of(stand_in::vector(3, 2, 4, MPI_INT));
  EXPECT_FALSE(gaps.contiguous(1));
  EXPECT_EQ(gaps.size, 24U);
  EXPECT_EQ(gaps.extent, 40);
  const TypeInfo& late =
      of(stand_in::create_struct({{2, 8, MPI_INT}}));  // ends with its data, and begins before them
  EXPECT_TRUE(late.contiguous(1));
  EXPECT_FALSE(late.contiguous(2));
  EXPECT_EQ(late.true_lb, 8);
  EXPECT_EQ(late.true_extent, 8);
  EXPECT_TRUE(of(stand_in::contiguous(3, MPI_INT)).contiguous(7));
}

TEST_F(ADatatype, GivesBackThePartsThatItAskedFor) {
  const MPI_Datatype inner = stand_in::vector(2, 1, 2, MPI_INT);
  const MPI_Datatype middle = stand_in::contiguous(2, inner);
  const MPI_Datatype outer = stand_in::create_struct({{1, 0, middle}, {1, 100, inner}});
  EXPECT_EQ(of(outer).parts, E::kInt32);
  for (const MPI_Datatype type : {inner, middle, outer}) EXPECT_EQ(stand_in::references(type), 1);
}

TEST_F(ADatatype, IsNoneUntilItIsCommitted) {
  EXPECT_EQ(known_.find(MPI_DATATYPE_NULL), nullptr);
  const MPI_Datatype type = stand_in::contiguous(2, MPI_INT);
  stand_in::uncommit(type);
  EXPECT_EQ(known_.find(type), nullptr);
  stand_in::commit(type);
  ASSERT_NE(known_.find(type), nullptr);
  EXPECT_EQ(known_.find(type)->size, 8U);
}

TEST_F(ADatatype, IsLookedAtAnewWhenItsHandleIsAnotherOnes) {
  const MPI_Datatype first = stand_in::contiguous(2, MPI_INT);
  EXPECT_EQ(of(first).size, 8U);
  stand_in::start_anew();
  const MPI_Datatype second = stand_in::contiguous(2, MPI_DOUBLE);
  ASSERT_EQ(first, second);
  known_.forget(first);
  EXPECT_EQ(of(second).size, 16U);
  EXPECT_EQ(of(second).parts, E::kFloat64);
}

TEST_F(ADatatype, KeepsItsPlaceAmongMany) {
  std::vector<MPI_Datatype> types;
  for (int count = 1; count <= 100; ++count) types.push_back(stand_in::contiguous(count, MPI_INT));
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < types.size(); ++i) EXPECT_EQ(of(types[i]).size, 4 * (i + 1));
  }
}

TEST_F(ADatatype, IsReducedByTheOperationsThatTheStandardHasForIt) {
  const auto allowed = [this](F function, MPI_Datatype type) { return reducible(function, of(type)); };
  EXPECT_TRUE(allowed(F::kSum, MPI_INT) && allowed(F::kSum, MPI_DOUBLE) &&
              allowed(F::kSum, MPI_C_DOUBLE_COMPLEX));
  EXPECT_TRUE(allowed(F::kMaximum, MPI_DOUBLE) && allowed(F::kBitAnd, MPI_INT) &&
              allowed(F::kBitXor, MPI_BYTE));
  EXPECT_TRUE(allowed(F::kLogicalAnd, MPI_INT) && allowed(F::kLogicalOr, MPI_LOGICAL));
  EXPECT_TRUE(allowed(F::kMaximumLocation, MPI_2INT) && allowed(F::kMinimumLocation, MPI_SHORT_INT));
  EXPECT_FALSE(allowed(F::kMaximum, MPI_C_DOUBLE_COMPLEX) || allowed(F::kBitAnd, MPI_DOUBLE) ||
               allowed(F::kSum, MPI_BYTE));
  EXPECT_FALSE(allowed(F::kLogicalAnd, MPI_INTEGER) || allowed(F::kLogicalAnd, MPI_DOUBLE));
  EXPECT_FALSE(allowed(F::kMaximumLocation, MPI_INT) || allowed(F::kSum, MPI_2INT) ||
               allowed(F::kSum, MPI_WCHAR));
  EXPECT_FALSE(allowed(F::kReplace, MPI_INT));
}

TEST_F(ADatatype, ThatIsDerivedIsReducedByOperationsOfTheProgramAlone) {
  const TypeInfo& derived = of(stand_in::contiguous(2, MPI_INT));
  EXPECT_FALSE(reducible(F::kSum, derived));
  EXPECT_TRUE(reducible(F::kUser, derived));
}

TEST(AnOperation, IsTheProgramsUnlessItIsOneOfTheLibrarys) {
  EXPECT_EQ(function_of(MPI_SUM), F::kSum);
  EXPECT_EQ(function_of(MPI_MINLOC), F::kMinimumLocation);
  EXPECT_EQ(function_of(MPI_NO_OP), F::kNone);
  EXPECT_EQ(function_of(stand_in::handle_of<MPI_Op>(0)), F::kUser);
}

}  // namespace
}  // namespace offramp
