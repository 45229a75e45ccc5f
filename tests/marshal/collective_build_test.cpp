// From the arguments of MPI's collectives to those of the algorithms: the bytes that are sent and received,
// and the cases left to the MPI library.
#include "lib/run/mpi/marshal/collective_build.hpp"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "lib/run/mpi/marshal/marshal_context.hpp"
#include "tests/engine/support.hpp"
#include "tests/marshal/stand_in.hpp"

namespace offramp {
namespace {

constexpr int kRanks = 3;
constexpr std::size_t kInt = sizeof(int);

/// One process of three.
class Process {
 public:
  explicit Process(int rank) : ranks_(kRanks), context(ranks_[rank]) {
    stand_in::start_anew();
    stand_in::be_rank(rank, kRanks);
    context.communicators.add(MPI_COMM_WORLD, 0);
  }

 private:
  test::Ranks ranks_;

 public:
  MarshalContext context;
};

class ACollective : public testing::Test {
 protected:
  void SetUp() override { std::iota(numbers_.begin(), numbers_.end(), 0); }
  static bool lies_at(Bytes bytes, const int* place, std::size_t count) {
    return static_cast<const void*>(bytes.data()) == place && bytes.size() == count * kInt;
  }
  int* at(std::size_t i) { return &numbers_[i]; }

  std::array<int, 30> numbers_{};
  std::array<int, 30> others_{};
  Process root_{0};
  Process second_{1};  // the latest one, whose rank the stand-in has
  MarshalContext& context_ = second_.context;
};

TEST_F(ACollective, IsDescribedByValuesThatAllRanksKnow) {
  const BuiltCall call = build_bcast(context_, at(0), 5, MPI_INT, 2, MPI_COMM_WORLD);
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(call->operation.kind, OperationKind::kBcast);
  EXPECT_EQ(call->operation.ranks, kRanks);
  EXPECT_EQ(call->operation.root, 2);
  EXPECT_EQ(call->operation.bytes, 5 * kInt);
  EXPECT_EQ(call->operation.element, ElementType::kInt32);
  EXPECT_TRUE(lies_at(call->buffers.receive, at(0), 5));
  EXPECT_EQ(build_bcast(context_, nullptr, 0, MPI_INT, 2, MPI_COMM_WORLD)->operation.element,
            ElementType::kByte);
}

TEST_F(ACollective, WithAMistakeIsLeftToTheMpiLibrary) {
  EXPECT_EQ(build_barrier(context_, MPI_COMM_NULL), nullptr);
  EXPECT_EQ(build_bcast(context_, at(0), 5, MPI_INT, kRanks, MPI_COMM_WORLD), nullptr);
  EXPECT_EQ(build_bcast(context_, at(0), 5, MPI_INT, -1, MPI_COMM_WORLD), nullptr);
  EXPECT_EQ(build_bcast(context_, at(0), -5, MPI_INT, 0, MPI_COMM_WORLD), nullptr);
  EXPECT_EQ(build_bcast(context_, nullptr, 5, MPI_INT, 0, MPI_COMM_WORLD), nullptr);
  EXPECT_EQ(build_bcast(context_, MPI_IN_PLACE, 5, MPI_INT, 0, MPI_COMM_WORLD), nullptr);
  EXPECT_EQ(build_bcast(context_, at(0), 5, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD), nullptr);
  const MPI_Datatype type = stand_in::contiguous(2, MPI_INT);
  stand_in::uncommit(type);
  EXPECT_EQ(build_bcast(context_, at(0), 5, type, 0, MPI_COMM_WORLD), nullptr);
  EXPECT_NE(build_barrier(context_, MPI_COMM_WORLD), nullptr);
}

TEST_F(ACollective, KeepsItsTypesUntilItsPersistentRequestIsFreed) {
  const MPI_Datatype type = stand_in::contiguous(2, MPI_INT);
  {
    PersistentArguments persistent;
    const BuildOn building(context_, persistent);
    EXPECT_EQ(build_bcast(context_, at(0), 1, type, 0, MPI_COMM_WORLD)->operation.bytes, 2 * kInt);
    EXPECT_EQ(stand_in::references(type), 2);
  }
  EXPECT_EQ(stand_in::references(type), 1);
  stand_in::start_anew();
  ASSERT_EQ(stand_in::contiguous(1, MPI_INT), type);
  EXPECT_EQ(build_bcast(context_, at(0), 1, type, 0, MPI_COMM_WORLD)->operation.bytes, kInt);
}

TEST_F(ACollective, ReducesByTheOperationsThatTheTypeHas) {
  const auto reduce = [this](MPI_Datatype type, MPI_Op op) {
    return build_allreduce(context_, at(0), others_.data(), 2, type, op, MPI_COMM_WORLD);
  };
  const BuiltCall sum = reduce(MPI_INT, MPI_SUM);
  ASSERT_NE(sum, nullptr);
  EXPECT_EQ(sum->operation.function, ReduceFunction::kSum);
  EXPECT_EQ(sum->operation.elements, 2U);
  EXPECT_TRUE(sum->operation.commutative);
  EXPECT_EQ(reduce(MPI_C_DOUBLE_COMPLEX, MPI_MAX), nullptr);
  EXPECT_EQ(reduce(MPI_INT, MPI_OP_NULL), nullptr);
  const MPI_Datatype derived = stand_in::contiguous(2, MPI_INT);
  EXPECT_EQ(reduce(derived, MPI_SUM), nullptr);
  ASSERT_NE(reduce(derived, stand_in::user_operation(true)), nullptr);
  EXPECT_FALSE(reduce(derived, stand_in::user_operation(false))->operation.commutative);
}

TEST_F(ACollective, ReducesElementsWithGapsAsTheyLie) {
  const MPI_Datatype columns = stand_in::vector(2, 1, 2, MPI_INT);  // two numbers and one between them
  const BuiltCall call = build_allreduce(context_, at(0), others_.data(), 2, columns,
                                         stand_in::user_operation(true), MPI_COMM_WORLD);
  ASSERT_NE(call, nullptr);
  const std::array<int, 4> in{10, 20, 30, 40};
  std::array<int, 4> inout{1, 2, 3, 4};
  call->reducer.combine(std::as_bytes(std::span(in)), std::as_writable_bytes(std::span(inout)));
  EXPECT_EQ(inout, (std::array<int, 4>{11, 22, 33, 44}));
}

TEST_F(ACollective, TakesNoOperandsFromTheBufferOfTheResult) {
  EXPECT_EQ(build_reduce(context_, MPI_IN_PLACE, others_.data(), 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD),
            nullptr);
  EXPECT_NE(build_reduce(context_, at(0), MPI_IN_PLACE, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD), nullptr);
  EXPECT_EQ(build_reduce(context_, at(0), at(0), 2, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD), nullptr);
  EXPECT_EQ(build_allreduce(context_, at(0), at(0), 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD), nullptr);
  const BuiltCall call =
      build_reduce(context_, MPI_IN_PLACE, others_.data(), 2, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD);
  ASSERT_NE(call, nullptr);
  EXPECT_TRUE(lies_at(call->buffers.send, others_.data(), 2) &&
              lies_at(call->buffers.receive, others_.data(), 2));
}

TEST_F(ACollective, HasNoResultAtTheFirstRankOfAnExclusiveScan) {
  const BuiltCall second = build_exscan(context_, at(0), others_.data(), 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_EQ(second->buffers.receive.size(), 2 * kInt);
  const BuiltCall first =
      build_exscan(root_.context, at(0), others_.data(), 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_TRUE(first->buffers.receive.empty());
  EXPECT_EQ(first->buffers.send.size(), 2 * kInt);
}

TEST_F(ACollective, GathersItsOwnBlockFromItsPlace) {
  const BuiltCall call =
      build_gather(context_, MPI_IN_PLACE, 0, MPI_INT, at(0), 4, MPI_INT, 1, MPI_COMM_WORLD);
  ASSERT_NE(call, nullptr);
  EXPECT_TRUE(lies_at(call->buffers.receive, at(0), 12) && lies_at(call->buffers.send, at(4), 4));
  EXPECT_EQ(call->buffers.block, 4 * kInt);
  EXPECT_EQ(build_gather(context_, MPI_IN_PLACE, 0, MPI_INT, at(0), 4, MPI_INT, 0, MPI_COMM_WORLD), nullptr);
}

TEST_F(ACollective, CutsAContributionThatIsTooLong) {
  const BuiltCall call =
      build_gather(context_, others_.data(), 5, MPI_INT, at(0), 4, MPI_INT, 1, MPI_COMM_WORLD);
  EXPECT_TRUE(call->truncated && lies_at(call->buffers.send, others_.data(), 4));
  EXPECT_FALSE(
      build_gather(context_, others_.data(), 4, MPI_INT, at(0), 4, MPI_INT, 1, MPI_COMM_WORLD)->truncated);
}

TEST_F(ACollective, ScattersMoreThanTheRootHasRoomFor) {
  const BuiltCall call =
      build_scatter(context_, at(0), 4, MPI_INT, others_.data(), 3, MPI_INT, 1, MPI_COMM_WORLD);
  ASSERT_NE(call, nullptr);
  EXPECT_TRUE(call->truncated);
  ASSERT_EQ(call->buffers.receive.size(), 4 * kInt);  // the algorithm delivers all of it to another place
  std::memcpy(call->buffers.receive.data(), at(4), 4 * kInt);
  call->deliver();
  EXPECT_EQ(others_[2], 6);
  EXPECT_EQ(others_[3], 0);
}

TEST_F(ACollective, ScattersItsOwnBlockToItsPlace) {
  const BuiltCall call =
      build_scatter(context_, at(0), 4, MPI_INT, MPI_IN_PLACE, 0, MPI_INT, 1, MPI_COMM_WORLD);
  EXPECT_TRUE(lies_at(call->buffers.send, at(0), 12) && lies_at(call->buffers.receive, at(4), 4));
  EXPECT_EQ(build_scatter(context_, nullptr, 0, MPI_INT, MPI_IN_PLACE, 4, MPI_INT, 0, MPI_COMM_WORLD),
            nullptr);
}

TEST_F(ACollective, FindsBlocksByCountsAndDisplacementsOfEitherWidth) {
  const std::array<int, kRanks> counts{1, 2, 3};
  const std::array<int, kRanks> displacements{20, 10, 0};
  const std::array<std::int64_t, kRanks> wide_counts{1, 2, 3};
  const std::array<std::int64_t, kRanks> wide_displacements{20, 10, 0};
  const auto check = [this](const BuiltCall& call) {
    ASSERT_NE(call, nullptr);
    ASSERT_EQ(call->receive_blocks.size(), static_cast<std::size_t>(kRanks));
    EXPECT_TRUE(lies_at(call->receive_blocks[0], at(20), 1) && lies_at(call->receive_blocks[1], at(10), 2) &&
                lies_at(call->receive_blocks[2], at(0), 3));
    EXPECT_EQ(call->buffers.block, 2 * kInt);
  };
  check(build_allgatherv(context_, others_.data(), 2, MPI_INT, at(0), counts.data(), displacements.data(),
                         MPI_INT, MPI_COMM_WORLD));
  check(build_allgatherv(context_, others_.data(), 2, MPI_INT, at(0), wide_counts.data(),
                         wide_displacements.data(), MPI_INT, MPI_COMM_WORLD));
  EXPECT_EQ(build_allgatherv(context_, others_.data(), 2, MPI_INT, at(0), static_cast<const int*>(nullptr),
                             displacements.data(), MPI_INT, MPI_COMM_WORLD),
            nullptr);
}

TEST_F(ACollective, ReducesAndScattersBlocksThatAreAlikeAsOne) {
  const std::array<int, kRanks> alike{2, 2, 2};
  const std::array<int, kRanks> unlike{1, 2, 3};
  const std::array<int, kRanks> wrong{1, 2, -3};
  const auto build = [this](const std::array<int, kRanks>& counts) {
    return build_reduce_scatter(context_, at(0), others_.data(), counts.data(), MPI_INT, MPI_SUM,
                                MPI_COMM_WORLD);
  };
  EXPECT_EQ(build(alike)->operation.kind, OperationKind::kReduceScatter);
  const BuiltCall call = build(unlike);
  EXPECT_EQ(call->operation.kind, OperationKind::kReduceScatterv);
  EXPECT_TRUE(lies_at(call->send_blocks[0], at(0), 1) && lies_at(call->send_blocks[1], at(1), 2) &&
              lies_at(call->send_blocks[2], at(3), 3));
  EXPECT_TRUE(lies_at(call->buffers.receive, others_.data(), 2));
  EXPECT_EQ(build(wrong), nullptr);
}

TEST_F(ACollective, ExchangesBlocksOfOneSizeOrIsTheMpiLibrarys) {
  EXPECT_EQ(build_alltoall(context_, at(0), 2, MPI_INT, others_.data(), 3, MPI_INT, MPI_COMM_WORLD), nullptr);
  const BuiltCall call =
      build_alltoall(context_, MPI_IN_PLACE, 0, MPI_INT, at(0), 2, MPI_INT, MPI_COMM_WORLD);
  ASSERT_NE(call, nullptr);
  EXPECT_TRUE(lies_at(call->buffers.receive, at(0), 6));
  EXPECT_NE(static_cast<const void*>(call->buffers.send.data()),
            at(0));  // a copy, because the buffer is written meanwhile
  EXPECT_EQ(call->buffers.send.size(), 6 * kInt);
}

TEST_F(ACollective, CutsTheBlockThatARankSendsToItself) {
  const std::array<int, kRanks> sent{2, 3, 2};
  const std::array<int, kRanks> received{2, 1, 2};
  const std::array<int, kRanks> places{0, 5, 10};
  const BuiltCall call = build_alltoallv(context_, at(0), sent.data(), places.data(), MPI_INT, others_.data(),
                                         received.data(), places.data(), MPI_INT, MPI_COMM_WORLD);
  ASSERT_NE(call, nullptr);
  EXPECT_TRUE(call->truncated && lies_at(call->send_blocks[1], at(5), 1));
  EXPECT_TRUE(lies_at(call->send_blocks[2], at(10), 2) && lies_at(call->receive_blocks[2], &others_[10], 2));
}

TEST_F(ACollective, CountsDisplacementsInBytesWhereTypesDiffer) {
  const std::array<int, kRanks> counts{1, 1, 1};
  const std::array<int, kRanks> places{0, 8, 32};
  const std::array<MPI_Datatype, kRanks> types{MPI_INT, MPI_2INT, MPI_INT};
  const BuiltCall call =
      build_alltoallw(context_, at(0), counts.data(), places.data(), types.data(), others_.data(),
                      counts.data(), places.data(), types.data(), MPI_COMM_WORLD);
  ASSERT_NE(call, nullptr);
  EXPECT_TRUE(lies_at(call->send_blocks[1], at(2), 2) && lies_at(call->receive_blocks[2], &others_[8], 1));
}

TEST_F(ACollective, PassesOnlySizesIfNoPayloadMoves) {
  const MPI_Datatype columns = stand_in::vector(2, 1, 2, MPI_INT);
  context_.moves_payload = false;
  const BuiltCall call = build_gather(context_, at(0), 2, columns, nullptr, 0, MPI_INT, 0, MPI_COMM_WORLD);
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(call->buffers.send.size(), 4 * kInt);
  EXPECT_EQ(static_cast<const void*>(call->buffers.send.data()),
            &call->outgoing);  // the data was not copied
}

}  // namespace
}  // namespace offramp
