// Stragglers: processors that the operating system interrupts, and nodes that compute slowly.
//
// Noise is a train of detours, as the literature on it has them (F. Petrini, D. Kerbyson, S. Pakin: The Case
// of the Missing Supercomputer Performance, SC 2003; T. Hoefler, T. Schneider, A. Lumsdaine: Characterizing
// the Influence of System Noise on Large-Scale Applications by Simulation, SC 2010): once in each period
// something else runs on a rank's processor for a while. What the rank does there begins or goes on behind
// the detour. Only processors are disturbed: hardware that carries an operation goes on with it.
//
// Everything is a function of the seed, the rank and the time, in whole picoseconds: no order of calls
// changes it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "offramp/kernel/result.hpp"
#include "offramp/kernel/time.hpp"
#include "offramp/model/machine.hpp"

namespace offramp {

/// One detour in each period of each rank. It begins up to jitter * (period - length) behind the earliest
/// moment at which it can.
struct Noise {
  static constexpr double kMostDuty = 0.99;  // length / period

  Time period = Time::ms(1);
  Time length;              // zero: there is no noise
  double jitter = 0;        // 0 .. 1
  bool is_aligned = false;  // the detours of all ranks come at the same time; otherwise each rank has its own

  [[nodiscard]] bool any() const { return length > Time(); }
};

/// Nodes that compute slower than the others.
struct SlowNodes {
  static constexpr double kMostFactor = 1000;

  std::vector<int> nodes = {};  // of the machine
  int drawn = 0;                // instead: so many of those that ranks are on
  double factor = 1;            // 1 .. kMostFactor

  [[nodiscard]] bool any() const { return factor > 1 && (drawn > 0 || !nodes.empty()); }
};

struct StragglerOptions {
  Noise noise;
  SlowNodes slow;
  std::uint64_t seed = 0;

  [[nodiscard]] bool any() const { return noise.any() || slow.any(); }
};

class Stragglers {
 public:
  /// places: the node of the machine on which each node of the ranks is. machine: how many it has. An error
  /// names what is wrong with the nodes that are named.
  static Result<std::shared_ptr<const Stragglers>> make(const StragglerOptions& options,
                                                        const std::vector<int>& places, int machine,
                                                        const MachineLayout& layout);

  /// When a rank's processor, which begins at `begin`, has done so much work. Without work: when the rank has
  /// its processor.
  [[nodiscard]] Time end_of(int rank, Time begin, Time work) const;
  /// What a rank's processor takes for what the program computes in `duration` on a node that is not slow.
  [[nodiscard]] Time computed(int rank, Time duration) const;

 private:
  [[nodiscard]] std::uint64_t key(int rank) const;

  Noise noise_;
  Time spread_;  // within which a detour begins
  std::uint64_t seed_ = 0;
  std::int64_t factor_ = 0;  // in millionths
  std::vector<bool> slow_;   // by node of the ranks; empty: none is
  MachineLayout layout_;
};

}  // namespace offramp
