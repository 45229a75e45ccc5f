// Windows between ranks: lock tokens travel as tokens of the team, those of full windows with data. The DMA
// engines of an edge are modelled at its source, by the rule of simulators/aie/network.cpp.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <span>
#include <utility>

#include "offramp/model/backend.hpp"
#include "simulators/aie/kernels.hpp"
#include "simulators/aie/plan.hpp"
#include "simulators/aie/window.hpp"

namespace offramp::aie {

/// The first failure, shared by the windows of one collective.
struct Traffic {
  Outcome outcome = Outcome::kOk;
  WireCounters wire;
};

/// The data of window k; empty for a window without data.
class Slices {
 public:
  Slices(MutableBytes data, Chunks chunks) : data_(data), chunks_(chunks) {}
  /// For data that is not sent chunk by chunk.
  explicit Slices(std::function<MutableBytes(std::size_t window)> other) : other_(std::move(other)) {}
  MutableBytes operator()(std::size_t window) const {
    if (other_ != nullptr) return other_(window);
    return data_.empty() ? MutableBytes() : data_.subspan(chunks_.begin(window), chunks_.size(window));
  }

 private:
  MutableBytes data_;
  Chunks chunks_;
  std::function<MutableBytes(std::size_t window)> other_;
};

/// Credits between two ranks that exchange windows in both directions: a rank's credits arrive between its
/// windows. The input receives them in that order and stores them for the output.
using Credits = std::deque<Time>;

/// windows: number in this operation, known at both ends, so that every token sent is also received.
class TeamInput final : public Input {
 public:
  TeamInput(Team& team, Traffic& traffic, int peer, std::size_t windows, Slices slices,
            Credits* credits = nullptr)
      : team_(team),
        traffic_(traffic),
        peer_(peer),
        windows_(windows),
        slices_(std::move(slices)),
        credits_(credits) {}
  Task<void> wait_full() override;
  Task<void> set_empty() override;

 private:
  Task<void> send_empty();

  Team& team_;
  Traffic& traffic_;
  int peer_;
  std::size_t windows_;
  Slices slices_;
  Credits* credits_;
  std::size_t taken_ = 0;
  std::size_t emptied_ = 0;
};

/// One target with a shared buffer, or one or more targets through DMA.
class TeamOutput final : public Output {
 public:
  struct Target {
    int peer = 0;
    Time passage;  // of the stream, without serialisation
  };
  using Targets = PooledVector<Target>;
  TeamOutput(Team& team, Traffic& traffic, Targets targets, bool shared, Time occupied,
             std::size_t window_bytes, Slices slices)
      : team_(team),
        traffic_(traffic),
        targets_(std::move(targets)),
        shared_(shared),
        occupied_(occupied),
        window_bytes_(window_bytes),
        slices_(std::move(slices)) {}
  Task<void> wait_empty() override;
  Task<void> set_full() override;
  /// Credits arrive through this rank's input from the same peer.
  void use_credits_of(Credits* credits) { credits_ = credits; }
  /// Waits until the library has released the buffers. Needs no modelled time.
  Task<void> drain() { return drain(sent_); }

 private:
  using Sent = PooledVector<Team::PendingToken>;
  Task<void> wait_for_buffer();
  Task<void> set_full_later(std::size_t window);
  /// begin: of the stream, if any.
  void send(std::size_t window, Time begin);
  Task<void> wait_for_credits(Time& until);
  Task<void> drain(std::span<Sent> buffers);

  Team& team_;
  Traffic& traffic_;
  Targets targets_;
  bool shared_;
  Time occupied_;  // occupation of the stream by one window
  std::size_t window_bytes_;
  Slices slices_;
  Credits* credits_ = nullptr;
  std::size_t filled_ = 0;
  Time engine_free_;
  std::array<Time, 2> freed_;  // buffers at the source
  std::array<Sent, 2> sent_;
};

}  // namespace offramp::aie
