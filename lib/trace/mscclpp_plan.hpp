// Algorithms of collectives as MSCCL++ has them in JSON: what each thread block of each GPU writes into the
// memory of others, reads out of it, signals and waits for. Both forms of the file become the same
// operations: that of the language in MSCCL++ (from August 2025 on: "input_chunks", "src_buff"), and that of
// msccl-tools before it ("inputChunks", "i_cids").
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "offramp/kernel/result.hpp"

namespace offramp::trace {

struct OneSidedPlan {
  enum class Buffer : std::uint8_t { kInput, kOutput, kScratch };
  /// Chunks of a buffer that stand one behind the other.
  struct Chunks {
    int gpu = 0;
    Buffer buffer = Buffer::kInput;
    std::uint32_t index = 0;
    std::uint32_t size = 0;
    /// As packets, which carry flags beside the data: who reads them waits until they are there.
    bool packets = false;
  };
  enum class ChannelType : std::uint8_t { kMemory, kPort };
  /// One end of a channel. That of the peer has the same type and number: a GPU's channels of one type to one
  /// other GPU are paired in their order.
  struct Channel {
    ChannelType type = ChannelType::kMemory;
    int peer = 0;
    int number = 0;
  };
  enum class Kind : std::uint8_t {
    kNothing,
    kMove,     // data
    kBarrier,  // of thread blocks of one GPU
    kSignal,
    kWait,
    kFlush,
    kAcquire,
    kRelease,
    kPipeline,
  };
  struct Operation {
    Kind kind = Kind::kNothing;
    std::string name;  // as the file has it
    /// Of data: each source goes to the target of its place, or, with combines, all targets get the sources
    /// combined.
    std::vector<Chunks> sources;
    std::vector<Chunks> targets;
    bool combines = false;
    bool signals = false;  // data that is sent, and then the channels
    bool flushes = false;  // and then waits until what was sent over the channels is there
    bool relaxed = false;  // a signal that says nothing of data
    /// Its part of the bytes, where several thread blocks share them.
    std::uint32_t part = 0;
    std::uint32_t parts = 1;
    std::vector<Channel> channels;
    std::vector<std::uint32_t> semaphores;
    std::uint32_t barrier = 0;
    std::uint32_t blocks = 0;  // that meet in the barrier
    /// Of a pipeline: bytes that one pass moves, of so many chunks.
    std::uint64_t unit = 0;
    std::uint32_t chunks = 0;
    std::vector<Operation> inner;
  };
  struct Gpu {
    std::array<std::uint32_t, 3> chunks{};  // by buffer
    std::vector<std::vector<Operation>> blocks;
    std::vector<std::int64_t> semaphores;  // their initial values
    std::uint32_t groups = 1;              // of chunks, each with an equal part of the buffer
  };

  std::string file;
  std::string name;
  std::string collective;
  bool in_place = false;
  std::uint64_t alignment = 16;  // bytes
  std::uint64_t least = 0;       // bytes that it is for
  std::uint64_t most = UINT64_MAX;
  bool is_of_tools = false;  // the earlier form
  std::vector<Gpu> gpus;

  /// Of the larger one of the input and the output.
  [[nodiscard]] std::uint32_t chunks() const {
    return std::max({gpus[0].chunks[0], gpus[0].chunks[1], std::uint32_t{1}});
  }
  /// Where a chunk begins, in a buffer as large as the larger one of input and output is.
  [[nodiscard]] std::uint64_t offset(std::uint64_t chunk, std::uint64_t whole) const;
  /// "multiples of 256 bytes from 0 to 1048576".
  [[nodiscard]] std::string sizes() const;
  /// Empty, or why MSCCL++ does not run it for a buffer of so many bytes.
  [[nodiscard]] std::string refusal(std::uint64_t whole) const;
};

/// "gpu 1, thread block 0, operation 3".
std::string place_in_plan(std::size_t gpu, std::size_t block, std::size_t operation);

/// text: all of the file. An error names the file and the operation.
Result<OneSidedPlan> parse_one_sided_plan(std::string_view text, const std::string& file);

}  // namespace offramp::trace
