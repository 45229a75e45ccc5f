// Finds the window size with the shortest time for an operation: small windows fill the pipeline of kernels
// sooner, large ones need fewer locks and turnarounds. Uses a closed form of the array's costs, in which
// chunks follow each other at the pace of the slowest stage. Results depend only on kernels, sizes, and
// parameters.
#pragma once

#include <cstddef>

#include "backends/aie/parameters.hpp"

namespace offramp::aie {

inline constexpr int kHeaderWords = 1;  // of a message's window, on a packet-switched stream

/// The best windows for a number of kernels (ranks), or between two; at most `largest`, and at most the size
/// that all bytes fill. Assumes elements of four bytes.
struct BestWindow {
  std::size_t bytes = 0;
  Time time;  // estimate, for reductions including the host's data in both directions
};
/// streamed: own data comes from the host window by window, instead of completely before.
BestWindow reduce_window(const Setup& setup, int kernels, std::size_t bytes, bool streamed,
                         std::size_t largest);
/// The window of a multicast from one kernel to all others. All sizes are in bytes; `bytes` is the message.
std::size_t bcast_window(const Setup& setup, int kernels, std::size_t bytes, std::size_t largest);
/// Packed designs.
std::size_t gather_window(const Setup& setup, int kernels, std::size_t block, std::size_t largest);
/// block: bytes of one rank.
std::size_t scatter_window(const Setup& setup, int kernels, std::size_t block, std::size_t largest);
/// The window of a message between two ranks, in bytes.
std::size_t message_window(const Setup& setup, std::size_t bytes);

}  // namespace offramp::aie
