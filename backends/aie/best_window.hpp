// The window in which an operation takes least time: small ones fill the pipeline of kernels soon, large ones
// have fewer locks and turnarounds. Found by a closed form of the array's own costs, in which chunks follow
// each other at the pace of the slowest part. Results depend on the kernels, sizes and parameters only.
#pragma once

#include <cstddef>

#include "backends/aie/setup.hpp"

namespace offramp::aie {

inline constexpr int kHeaderWords = 1;  // of a message's window, on a packet-switched stream

/// Each for so many kernels (ranks), or between two; never above `largest`, nor above what all bytes fill.
/// Elements are taken to have four bytes.
struct BestWindow {
  std::size_t bytes = 0;
  Time time;  // that the form gives, of reductions with the data of the host there and back
};
/// streamed: own data comes from the host window by window, not all of it before.
BestWindow reduce_window(const Setup& setup, int kernels, std::size_t bytes, bool streamed,
                         std::size_t largest);
std::size_t bcast_window(const Setup& setup, int kernels, std::size_t bytes, std::size_t largest);
/// Packed.
std::size_t gather_window(const Setup& setup, int kernels, std::size_t block, std::size_t largest);
std::size_t scatter_window(const Setup& setup, int kernels, std::size_t block, std::size_t largest);
std::size_t message_window(const Setup& setup, std::size_t bytes);

}  // namespace offramp::aie
