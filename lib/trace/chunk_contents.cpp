#include "lib/trace/chunk_contents.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace offramp::trace {
namespace {

constexpr std::string_view kKnownResults[] = {"allreduce", "allgather", "reducescatter", "alltoall",
                                              "broadcast", "bcast",     "reduce"};

/// Two steps of splitmix64, so that sums of a few of them are as good as never alike.
std::uint64_t mixed(std::uint64_t value) {
  for (int i = 0; i < 2; ++i) {
    value += 0x9e3779b97f4a7c15U;
    value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
    value ^= value >> 31U;
  }
  return value;
}

}  // namespace

ChunkContent ChunkContent::input(std::uint64_t rank, std::uint64_t position) {
  return {mixed(mixed(rank) ^ position), 1};
}

bool knows_results(std::string_view collective) {
  return std::find(std::begin(kKnownResults), std::end(kKnownResults), collective) != std::end(kKnownResults);
}

std::string wrong_shape(const ChunkShape& shape) {
  const std::string& name = shape.collective;
  std::uint64_t in = shape.input;
  std::uint64_t out = shape.output;
  if (name == "allgather") in *= shape.ranks;
  if (name == "reducescatter") out *= shape.ranks;
  if (in != out || (name == "alltoall" && in % (shape.ranks * shape.parts) != 0))
    return fmt::format("{} chunks of input and {} of output are no {} of {} ranks", shape.input / shape.parts,
                       shape.output / shape.parts, name, shape.ranks);
  return {};
}

ChunkContent expected_content(const ChunkShape& shape, std::uint64_t rank, std::uint64_t position) {
  const std::string& name = shape.collective;
  if (name == "allgather") return ChunkContent::input(position / shape.input, position % shape.input);
  if (name == "broadcast" || name == "bcast") return ChunkContent::input(0, position);
  if (name == "alltoall") {
    const std::uint64_t block = shape.input / shape.ranks;
    return ChunkContent::input(position / block, rank * block + position % block);
  }
  if (name == "reduce" && rank != 0) return {};
  ChunkContent all;
  const std::uint64_t at = name == "reducescatter" ? rank * shape.output + position : position;
  for (std::uint64_t one = 0; one < shape.ranks; ++one) all += ChunkContent::input(one, at);
  return all;
}

std::string wrong_content(const ChunkShape& shape, std::uint64_t rank, std::uint64_t position,
                          const ChunkContent& found) {
  const std::string where = fmt::format("chunk {} of the output of rank {}", position / shape.parts, rank);
  const std::uint32_t count = expected_content(shape, rank, position).count;
  if (found.count == count) return fmt::format("{} holds parts of other inputs than it should", where);
  if (found.count == 0) return fmt::format("nothing comes to {}", where);
  return fmt::format("{} holds {} of the inputs' parts, and not {}", where, found.count, count);
}

}  // namespace offramp::trace
