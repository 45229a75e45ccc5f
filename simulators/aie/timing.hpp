// What instructions, locks, DMA and streams cost, in cycles, and as time on a clock.
//
// Provenance of each default: published ([aie-thesis], [am009], [ug1079]), inferred (computed from published
// measurements), fitted, or assumed. docs/backends/aie.md has the derivations.
#pragma once

#include <cstddef>
#include <cstdint>

#include "offramp/kernel/time.hpp"

namespace offramp::aie {

struct Costs {
  double acquire_loop = 48;    // published: one iteration of the acquire loop (compiler report)
  double acquire_single = 21;  // inferred: one acquire outside a loop, from the round trip of two neighbours
  double acquire_tail = 8;     // assumed split: the part of an acquire after the lock was there
  double release = 45;         // published: one iteration of the release loop (compiler report)
  double hand_over = 38;       // published: release call to consumer that goes on (simulator trace)
  double leaf_element = 17;    // fitted by [aie-thesis] on tree times
  double outer_element = 23;   // inferred: slope of the level time, 83 = 23 + 2 x 30
  double input_element = 30;   // published: initiation interval of the inner loop
  double call = 145;           // inferred: level time less locks, set-up and end of one call
  double call_head = 105;      // assumed split: the part before the first acquire
  double step = 2;             // inferred: calls with at least step_elements take two cycles more
  int step_elements = 128;
  // inferred: until a loop of vector code does a step in each cycle, and when it ends: the published product
  // of 512 integers takes 99 cycles in 64 steps
  double vector_fill = 35;
  double dma = 21.5;        // inferred: both DMA engines and their locks, from the distance-10 latency
  double hop = 4;           // published: one stream switch, two ports of two cycles
  double word = 1;          // published: 32 bits per cycle on a stream
  double skew = 40;         // fitted on tree times: the root's Reduce begins this much after the others
  double repeat_root = 60;  // assumed: between two calls of a benchmark, at the root (it reads its counters)
  double repeat = 20;       // assumed: the same elsewhere
};

/// Per element (or vector step) and kind of loop.
enum class Code : std::uint8_t {
  kScalar,  // the kernels of [aie-thesis]
  kVector,  // 256-bit loads and stores, one vector operation per cycle
};

class Timing {
 public:
  Timing(const Costs& costs, double clock_mhz) : costs_(costs), ps_per_cycle_(1e6 / clock_mhz) {}

  [[nodiscard]] const Costs& costs() const { return costs_; }
  /// Rounded to a picosecond, once for the whole run of cycles.
  [[nodiscard]] Time cycles(double n) const {
    return Time::ps(static_cast<std::int64_t>(n * ps_per_cycle_ + 0.5));
  }
  [[nodiscard]] double in_cycles(Time span) const {
    return static_cast<double>(span.count()) / ps_per_cycle_;
  }

  /// A window on its way: DMA at both ends and the switches between, without its serialisation.
  [[nodiscard]] Time passage(int hops) const { return cycles(costs_.dma + costs_.hop * hops); }
  /// The time that a window occupies a stream of 32 bits; at least a word.
  [[nodiscard]] Time stream(std::size_t bytes, int header_words = 0) const;
  /// Combining the elements of `inputs` windows with a local array into a window; no inputs: copying it.
  /// meeting: of vector code's accesses in one step, those that a double bank serves one after the other.
  [[nodiscard]] Time reduce(Code code, int inputs, std::size_t elements, std::size_t bytes,
                            int operations = 1, int meeting = 1) const;
  /// Copying from window to window. own: from a local array.
  [[nodiscard]] Time copy(Code code, std::size_t bytes, bool own) const;
  [[nodiscard]] Time step(std::size_t elements) const {
    return elements >= static_cast<std::size_t>(costs_.step_elements) ? cycles(costs_.step) : Time();
  }

 private:
  Costs costs_;
  double ps_per_cycle_;
};

}  // namespace offramp::aie
