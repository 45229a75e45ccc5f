// Windows between ranks: lock tokens travel as tokens of the team, those of full windows with the size of
// their data. The DMA engines of an edge are modelled at its source, by the rule of
// simulators/aie/network.cpp.
#pragma once

#include <array>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "offramp/model/backend.hpp"
#include "simulators/aie/kernels.hpp"
#include "simulators/aie/plan.hpp"
#include "simulators/aie/window.hpp"

namespace offramp::aie {

/// The first failure, shared by the windows of one collective.
/// And its counters.
struct Traffic {
  Outcome outcome = Outcome::kOk;
  WireCounters wire;
};

/// The bytes of data in each window of an edge.
class WindowBytes {
 public:
  /// No data: a barrier's windows.
  WindowBytes() = default;
  WindowBytes(Chunks chunks) : chunks_(chunks) {}  // NOLINT(google-explicit-constructor)
  /// For data that is not sent chunk by chunk.
  explicit WindowBytes(std::vector<std::size_t> windows) : windows_(std::move(windows)) {}
  /// window: counted from 0.
  std::size_t operator()(std::size_t window) const {
    if (!windows_.empty()) return windows_[window];
    return chunks_.bytes == 0 ? 0 : chunks_.size(window);
  }

 private:
  Chunks chunks_;
  std::vector<std::size_t> windows_;
};

/// Credits between two ranks that exchange windows in both directions: a rank's credits arrive between its
/// windows. The input receives them in that order and stores them for the output.
using Credits = std::deque<Time>;

/// windows: number in this operation, known at both ends, so that every token sent is also received.
class TeamInput final : public Input {
 public:
  /// credits: null if this rank sends nothing back to the peer.
  TeamInput(Team& team, Traffic& traffic, int peer, std::size_t windows, WindowBytes bytes,
            Credits* credits = nullptr)
      : team_(team),
        traffic_(traffic),
        peer_(peer),
        windows_(windows),
        bytes_(std::move(bytes)),
        credits_(credits) {}
  Task<void> wait_full() override;
  Task<void> set_empty() override;

 private:
  Task<void> send_empty();

  Team& team_;
  Traffic& traffic_;
  int peer_;
  std::size_t windows_;
  WindowBytes bytes_;
  Credits* credits_;
  std::size_t taken_ = 0;
  std::size_t emptied_ = 0;
};

/// One target with a shared buffer, or one or more targets through DMA.
class TeamOutput final : public Output {
 public:
  /// A consumer, and how long a window is on its way.
  struct Target {
    int peer = 0;
    Time passage;  // of the stream, without serialisation
  };
  using Targets = PooledVector<Target>;
  /// shared: the buffer is in memory that both kernels reach.
  TeamOutput(Team& team, Traffic& traffic, Targets targets, bool shared, Time occupied,
             std::size_t window_bytes, WindowBytes bytes)
      : team_(team),
        traffic_(traffic),
        targets_(std::move(targets)),
        shared_(shared),
        occupied_(occupied),
        window_bytes_(window_bytes),
        bytes_(std::move(bytes)) {}
  Task<void> wait_empty() override;
  Task<void> set_full() override;
  /// Credits arrive through this rank's input from the same peer.
  void use_credits_of(Credits* credits) { credits_ = credits; }
  /// Waits until the library has released the buffers. Needs no modelled time.
  Task<void> drain() { return drain(sent_); }

 private:
  using Sent = PooledVector<Team::PendingToken>;
  /// From the third window on, both buffers have been used.
  Task<void> wait_for_buffer();
  Task<void> set_full_later(std::size_t window);
  /// begin: of the stream, if any.
  /// Never waits: the buffer must be free.
  void send(std::size_t window, Time begin);
  /// until: at least the arrival of all credits.
  Task<void> wait_for_credits(Time& until);
  Task<void> drain(std::span<Sent> buffers);

  Team& team_;
  Traffic& traffic_;
  Targets targets_;
  bool shared_;
  Time occupied_;  // occupation of the stream by one window
  std::size_t window_bytes_;
  WindowBytes bytes_;
  Credits* credits_ = nullptr;
  std::size_t filled_ = 0;
  /// When the DMA engine can begin the next window.
  Time engine_free_;
  /// When each buffer at the source is free.
  std::array<Time, 2> freed_;  // buffers at the source
  /// Tokens of the window in each buffer, until the library has released them.
  std::array<Sent, 2> sent_;
};

}  // namespace offramp::aie
