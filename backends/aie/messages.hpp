// Messages between two ranks: their path on the array and its duration, computed once per size and path.
#pragma once

#include <cstdint>

#include "backends/aie/best_window.hpp"
#include "backends/aie/parameters.hpp"
#include "simulators/world/direct_mapped_cache.hpp"

namespace offramp::aie {

/// World rank r is on the r-th tile of the snake. Neighbours on the snake share windows. All others
/// communicate through one packet-switched stream out of each tile and one into it.
class Messages {
 public:
  /// Packet identifiers have five bits per channel, so a kernel reaches this number of others per channel.
  static constexpr int kIdentifiers = 32;

  /// setup: must outlive this object.
  explicit Messages(const Setup& setup) : setup_(setup) {}

  /// The most ranks of a world in which every rank may send to every other one.
  [[nodiscard]] int most_ranks() const { return kIdentifiers * setup_.array.mm2s + 1; }
  /// Times are relative to the start of the sender's kernel, with a ready receiver. The network is simulated
  /// once per size and distance.
  const MessageTiming& between(int source, int destination, std::size_t bytes);
  /// Simulates the network for one message.
  [[nodiscard]] MessageTiming simulate(int source, int destination, std::size_t bytes) const;
  /// The resources that a message occupies, in addition to its own time.
  struct Load {
    std::size_t windows = 0;
    std::size_t window = 0;
    Time core;    // at each end: copies and locks
    Time stream;  // on one channel
  };
  /// Valid until the next call.
  [[nodiscard]] const Load& load(std::size_t bytes) {
    return loads_.get(bytes, [&] { return compute_load(bytes); });
  }
  /// The tiles and the route of a message. Only the route's length is meaningful.
  [[nodiscard]] Connection connection(int source, int destination) const;
  /// The windows of a message of this size, in bytes.
  [[nodiscard]] std::size_t window(std::size_t bytes) const { return message_window(setup_, bytes); }

 private:
  /// What determines the time of a message on an idle array.
  struct WindowPath {
    std::size_t bytes = 0;
    int hops = 0;  // 0: a shared window
    friend bool operator==(const WindowPath&, const WindowPath&) = default;
  };
  struct WindowPathHash {
    std::size_t operator()(const WindowPath& way) const {
      return way.bytes * 67 + static_cast<std::size_t>(way.hops);
    }
  };
  [[nodiscard]] Chunks chunks(std::size_t bytes) const {  // an empty message is an empty window
    return {bytes == 0 ? 1 : bytes, window(bytes)};
  }

  [[nodiscard]] Load compute_load(std::size_t bytes) const;

  const Setup& setup_;
  DirectMappedCache<std::size_t, Load> loads_;
  DirectMappedCache<WindowPath, MessageTiming, 257, WindowPathHash> messages_;
};

}  // namespace offramp::aie
