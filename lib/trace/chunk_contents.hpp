// What an algorithm leaves in the buffers of its GPUs, followed without data: for each chunk, what of which
// rank's input is combined in it. So it is known before anything runs whether it computes its collective.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace offramp::trace {

/// What is combined in a part of a chunk, whatever the order: a sum of numbers that stand for the parts of
/// all inputs. Two that differ have the same sum once in 2^64 times.
struct ChunkContent {
  std::uint64_t sum = 0;
  std::uint32_t count = 0;

  /// What a rank's input has at a position.
  static ChunkContent input(std::uint64_t rank, std::uint64_t position);
  ChunkContent& operator+=(const ChunkContent& other) {
    sum += other.sum;
    count += other.count;
    return *this;
  }
  friend bool operator==(const ChunkContent&, const ChunkContent&) = default;
};

/// How a collective is cut: chunks of each rank's input and output, and parts of each chunk.
struct ChunkShape {
  std::string collective;  // in lower case, without underscores
  std::uint64_t ranks = 1;
  std::uint64_t input = 0;   // parts
  std::uint64_t output = 0;  // parts
  std::uint64_t parts = 1;   // of a chunk
};

/// What the collectives are whose results are known.
bool knows_results(std::string_view collective);

/// What a part of a rank's output has to hold. Nothing is expected of it where the collective leaves it as it
/// is: count is 0.
ChunkContent expected_content(const ChunkShape& shape, std::uint64_t rank, std::uint64_t position);

/// Empty, or why chunks are no shape of that collective.
std::string wrong_shape(const ChunkShape& shape);

/// "chunk 3 of the output of rank 1 holds 2 parts of inputs, and not the 4 that it should".
std::string wrong_content(const ChunkShape& shape, std::uint64_t rank, std::uint64_t position,
                          const ChunkContent& found);

}  // namespace offramp::trace
