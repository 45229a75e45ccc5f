// Packed bytes of user buffers: in place for contiguous types, copied for types with gaps.
#include "lib/run/mpi/marshal/buffers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <span>
#include <vector>

#include "tests/marshal/stand_in.hpp"

namespace offramp {
namespace {

class ABuffer : public testing::Test {
 protected:
  void SetUp() override {
    stand_in::start_anew();
    std::iota(numbers_.begin(), numbers_.end(), 0);
  }
  const TypeInfo& of(MPI_Datatype type) { return *known_.find(type); }
  static std::vector<int> ints(Bytes bytes) {
    std::vector<int> values(bytes.size() / sizeof(int));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(int));
    return values;
  }
  static void put(MutableBytes to, const std::vector<int>& values) {
    std::memcpy(to.data(), values.data(), values.size() * sizeof(int));
  }

  Datatypes known_;
  std::array<int, 12> numbers_{};
};

TEST_F(ABuffer, WithoutGapsIsSentFromWhereItLies) {
  SendBuffer sent;
  const Bytes bytes = sent.set(numbers_.data(), 12, of(MPI_INT));
  EXPECT_EQ(static_cast<const void*>(bytes.data()), numbers_.data());
  EXPECT_EQ(bytes.size(), sizeof numbers_);
}

TEST_F(ABuffer, BeginsAtTheTrueLowerBound) {
  SendBuffer sent;
  ReceiveBuffer received;
  const TypeInfo& late = of(stand_in::create_struct({{2, 8, MPI_INT}}));
  EXPECT_EQ(ints(sent.set(numbers_.data(), 1, late)), (std::vector<int>{2, 3}));
  EXPECT_EQ(static_cast<const void*>(received.set(numbers_.data(), 1, late).data()), &numbers_[2]);
}

TEST_F(ABuffer, WithGapsIsSentAsACopyOfItsData) {
  SendBuffer sent;
  const TypeInfo& columns = of(stand_in::vector(2, 1, 3, MPI_INT));  // 0 and 3, then 4 and 7
  const Bytes bytes = sent.set(numbers_.data(), 2, columns);
  numbers_.fill(-1);
  EXPECT_EQ(ints(bytes), (std::vector<int>{0, 3, 4, 7}));
}

TEST_F(ABuffer, IsCopiedWhereThatIsAskedFor) {
  SendBuffer sent;
  const Bytes bytes = sent.copy(numbers_.data(), 3, of(MPI_INT));
  numbers_.fill(-1);
  EXPECT_EQ(ints(bytes), (std::vector<int>{0, 1, 2}));
}

TEST_F(ABuffer, WithGapsIsFilledWhenAllHasArrived) {
  ReceiveBuffer received;
  const TypeInfo& columns = of(stand_in::vector(2, 1, 3, MPI_INT));
  put(received.set(numbers_.data(), 2, columns), {100, 103, 104, 107});
  EXPECT_EQ(numbers_[0], 0);
  received.finish(16);
  EXPECT_EQ(numbers_, (std::array<int, 12>{100, 1, 2, 103, 104, 5, 6, 107, 8, 9, 10, 11}));
}

TEST_F(ABuffer, KeepsElementsBeyondAShortMessage) {
  ReceiveBuffer received;
  const TypeInfo& columns = of(stand_in::vector(2, 1, 3, MPI_INT));
  put(received.set(numbers_.data(), 2, columns), {100, 103, 104, 107});
  received.finish(12);  // ends within the second element
  EXPECT_EQ(numbers_, (std::array<int, 12>{100, 1, 2, 103, 104, 5, 6, 7, 8, 9, 10, 11}));
}

TEST_F(ABuffer, KeepsTheRestOfANumberThatAMessageEndsIn) {
  const TypeInfo& columns = of(stand_in::vector(2, 1, 3, MPI_INT));
  numbers_[3] = 0x01010101;
  const std::array<std::byte, 6> packet{std::byte{1}, {}, {}, {}, std::byte{2}, std::byte{2}};
  unpack_elements(packet.data(), packet.size(), numbers_.data(), columns);
  EXPECT_EQ(numbers_[0], 1);
  EXPECT_EQ(numbers_[3], 0x01010202);  // the lower two bytes of a number are first
}

TEST_F(ABuffer, HoldsItsTypeUntilItsEnd) {
  const MPI_Datatype type = stand_in::vector(2, 1, 3, MPI_INT);
  {
    ReceiveBuffer received;
    received.set(numbers_.data(), 2, of(type));
    EXPECT_EQ(stand_in::references(type), 2);
    received.reset();
    EXPECT_EQ(stand_in::references(type), 1);
    received.set(numbers_.data(), 2, of(type));
  }
  EXPECT_EQ(stand_in::references(type), 1);
}

TEST_F(ABuffer, IsPackedInPieces) {
  Packing packing(numbers_.data(), 2, of(stand_in::vector(2, 1, 3, MPI_INT)));
  std::vector<int> packed(4);
  const auto bytes = std::as_writable_bytes(std::span(packed));
  EXPECT_EQ(packing.make(bytes.first(5)), 5U);
  EXPECT_EQ(packing.make(bytes.subspan(5)), 11U);
  EXPECT_EQ(packed, (std::vector<int>{0, 3, 4, 7}));
}

TEST_F(ABuffer, IsFilledFromAMessageOfAnyNumberOfPieces) {
  const TypeInfo& columns = of(stand_in::vector(2, 1, 3, MPI_INT));
  const std::vector<int> packed{100, 103, 104};
  const auto bytes = std::as_bytes(std::span(packed));
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    std::iota(numbers_.begin(), numbers_.end(), 0);
    MessageBuffer received;
    ReceiveRecord record;
    EXPECT_EQ(received.set(numbers_.data(), 2, columns, record).size(), 16U);
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      const auto part = bytes.subspan(at, std::min(piece, bytes.size() - at));
      record.pieces->use(part, at + part.size() == bytes.size());
    }
    EXPECT_EQ(numbers_, (std::array<int, 12>{100, 1, 2, 103, 104, 5, 6, 7, 8, 9, 10, 11})) << piece;
  }
}

TEST_F(ABuffer, HoldsItsTypeWhileItIsPackedOrFilled) {
  const MPI_Datatype type = stand_in::vector(2, 1, 3, MPI_INT);
  {
    const Packing packing(numbers_.data(), 2, of(type));
    MessageBuffer received;
    ReceiveRecord record;
    received.set(numbers_.data(), 2, of(type), record);
    EXPECT_EQ(stand_in::references(type), 3);
    received.reset();
    EXPECT_EQ(stand_in::references(type), 2);
  }
  EXPECT_EQ(stand_in::references(type), 1);
}

TEST_F(ABuffer, IsNotAccessedIfItIsEmpty) {
  SendBuffer sent;
  const TypeInfo& columns = of(stand_in::vector(2, 1, 3, MPI_INT));
  EXPECT_EQ(sent.set(nullptr, 0, columns).size(), 0U);
  pack_elements(nullptr, 5, of(stand_in::create_struct({{0, 0, MPI_INT}})), nullptr);
  unpack_elements(nullptr, 0, nullptr, columns);
}

}  // namespace
}  // namespace offramp
