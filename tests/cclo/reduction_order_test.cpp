// The order of combination that the backend describes is that of the firmware: cards add numbers whose sum
// depends on the order of addition.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cclo/rig.hpp"
#include "tests/reduction_orders.hpp"

namespace offramp::cclo {
namespace {

using Floats = std::vector<float>;

float addend(int rank, std::size_t element) {
  const auto mixed = (element * 7 + static_cast<std::size_t>(rank) * 13) % 11;
  const float size = (element + static_cast<std::size_t>(rank)) % 3 == 0 ? 1e8F : 1.0F;
  return size / static_cast<float>(1 + mixed) * (rank % 2 == 0 ? 1.0F : -1.0F);
}

/// The results of the cards' firmware, by rank.
std::vector<Floats> added_by_cards(const Values& values, const Operation& operation) {
  Rig rig(operation.ranks, values);
  const bool has_blocks = operation.kind == OperationKind::kReduceScatter;
  const std::size_t own = operation.elements * (has_blocks ? static_cast<std::size_t>(operation.ranks) : 1);
  CallArguments call;
  call.scenario = operation.kind == OperationKind::kReduce      ? Scenario::kReduce
                  : operation.kind == OperationKind::kAllreduce ? Scenario::kAllreduce
                                                                : Scenario::kReduceScatter;
  call.count = rig.second() ? operation.elements : operation.bytes;
  call.peer = static_cast<std::uint32_t>(operation.root);
  if (!rig.second())
    call.function = static_cast<std::uint32_t>(
        find_lane(Generation::kFirst, operation.element, operation.function)->gen1_function);
  std::vector<std::uint64_t> into;
  for (int rank = 0; rank < operation.ranks; ++rank) {
    Floats contribution;
    for (std::size_t element = 0; element < own; ++element) contribution.push_back(addend(rank, element));
    call.a = rig.put(rank, contribution);
    call.b = call.c = rig.put(rank, Floats(own));
    // The first generation leaves each rank's block in its place.
    const bool in_its_place = has_blocks && !rig.second();
    into.push_back(call.c + (in_its_place ? operation.bytes * static_cast<std::size_t>(rank) : 0));
    rig.start(rank, call);
  }
  EXPECT_EQ(rig.finish(operation.root), 0U);
  EXPECT_EQ(rig.waits, "");
  std::vector<Floats> results;
  for (int rank = 0; rank < operation.ranks; ++rank) {
    const bool has_result = operation.kind != OperationKind::kReduce || rank == operation.root;
    results.push_back(has_result
                          ? rig.get<float>(rank, into[static_cast<std::size_t>(rank)], operation.elements)
                          : Floats());
  }
  return results;
}

TEST(CcloReductionOrder, IsThatOfTheFirmware) {
  const std::vector<std::pair<std::string, Values>> variants = {
      {"first generation", {{"transport", word("udp")}}},
      {"second generation over tcp", {{"profile", word("gen2")}, {"transport", word("tcp")}}},
      {"second generation with trees",
       {{"profile", word("gen2")}, {"reduce_flat_ranks", number(0)}, {"reduce_flat_bytes", number(0)}}}};
  for (const auto& [name, values] : variants) {
    for (const int ranks : {2, 3, 4, 5, 8}) {
      const Settings settings = settings_with(values);
      const std::unique_ptr<Backend> backend = cclo_backend().create({0, ranks, settings, {}, nullptr});
      for (const OperationKind kind :
           {OperationKind::kReduce, OperationKind::kAllreduce, OperationKind::kReduceScatter}) {
        for (const std::size_t elements : {1, 5, 300, 3000}) {
          Operation operation;
          operation.kind = kind;
          operation.element = ElementType::kFloat32;
          operation.function = ReduceFunction::kSum;
          operation.elements = elements;
          operation.bytes = elements * sizeof(float);
          operation.ranks = ranks;
          operation.root = kind == OperationKind::kReduce ? ranks / 2 : 0;
          Expressions expressions(ranks);
          const std::vector<std::int32_t> words = combined_in_order<std::int32_t>(
              *backend, operation, [](int rank, std::size_t) { return Expressions::contribution(rank); },
              [&](std::int32_t in, std::int32_t inout) { return expressions.sum(in, inout); });
          const Floats expected = combined_in_order<float>(*backend, operation, addend,
                                                           [](float in, float inout) { return in + inout; });
          const std::vector<Floats> found = added_by_cards(values, operation);
          for (std::size_t rank = 0; rank < found.size(); ++rank) {
            const std::size_t begin = kind == OperationKind::kReduceScatter ? rank * elements : 0;
            for (std::size_t i = 0; i < found[rank].size(); ++i) {
              ASSERT_EQ(found[rank][i], expected[begin + i])
                  << name << ": " << to_string(kind) << " of " << elements << " on " << ranks
                  << " ranks, rank " << rank << ", element " << i << " is not "
                  << expressions.text(words[begin + i]);
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace offramp::cclo
