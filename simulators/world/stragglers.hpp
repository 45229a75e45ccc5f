// Stragglers: processors with operating-system noise, and slow nodes.
//
// Noise is a train of detours, as in F. Petrini, D. Kerbyson, S. Pakin: The Case of the Missing Supercomputer
// Performance, SC 2003, and T. Hoefler, T. Schneider, A. Lumsdaine: Characterizing the Influence of System
// Noise on Large-Scale Applications by Simulation, SC 2010. Once per period, something else runs on a rank's
// processor, and the rank's work waits until the detour is over. Only processors are disturbed; hardware that
// carries an operation continues.
//
// All results are functions of seed, rank, and time in whole picoseconds, independent of the order of calls.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "offramp/kernel/result.hpp"
#include "offramp/kernel/time.hpp"
#include "offramp/model/machine.hpp"

namespace offramp {

/// One detour per period and rank. It begins up to jitter * (period - length) after the start of its period.
struct Noise {
  static constexpr double kMostDuty = 0.99;  // length / period

  Time period = Time::ms(1);
  Time length;              // zero: no noise
  double jitter = 0;        // 0 .. 1
  bool is_aligned = false;  // all ranks have their detours at the same time

  [[nodiscard]] bool any() const { return length > Time(); }
};

/// Nodes that compute more slowly than the others.
struct SlowNodes {
  static constexpr double kMostFactor = 1000;

  std::vector<int> nodes = {};  // node numbers of the machine
  int drawn = 0;                // alternatively: how many of the used nodes to draw
  double factor = 1;            // 1 .. kMostFactor

  [[nodiscard]] bool any() const { return factor > 1 && (drawn > 0 || !nodes.empty()); }
};

struct StragglerOptions {
  Noise noise;
  SlowNodes slow;
  std::uint64_t seed = 0;

  [[nodiscard]] bool any() const { return noise.any() || slow.any(); }
};

/// The stragglers of one run. Immutable, for any thread.
class Stragglers {
 public:
  /// places: the machine node of each node in use. machine: the number of nodes in the machine. Returns an
  /// error that names the invalid node.
  static Result<std::shared_ptr<const Stragglers>> make(const StragglerOptions& options,
                                                        const std::vector<int>& places, int machine,
                                                        const MachineLayout& layout);

  /// Returns the time when a processor that begins `work` at `begin` has finished it. Without work: when the
  /// processor is next available.
  [[nodiscard]] Time end_of(int rank, Time begin, Time work) const;
  /// The computing time on this rank's node of what takes `duration` on a normal node.
  [[nodiscard]] Time computed(int rank, Time duration) const;

 private:
  [[nodiscard]] std::uint64_t key(int rank) const;

  Noise noise_;
  Time spread_;  // range of a detour's begin
  std::uint64_t seed_ = 0;
  std::int64_t factor_ = 0;  // in millionths
  std::vector<bool> slow_;   // by node in use; empty: none is slow
  MachineLayout layout_;
};

}  // namespace offramp
