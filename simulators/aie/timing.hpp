// Costs of instructions, locks, DMA, and streams in cycles, and their conversion to time. Each default is
// published ([aie-thesis], [am009], [ug1079]), inferred (computed from published measurements), fitted, or
// assumed. docs/backends/aie.md has the derivations.
#pragma once

#include <cstddef>
#include <cstdint>

#include "offramp/kernel/time.hpp"

namespace offramp::aie {

/// Costs in cycles.
struct Costs {
  double acquire_loop = 48;    // published: one iteration of the acquire loop (compiler report)
  double acquire_single = 21;  // inferred: one acquire outside a loop, from the round trip of two neighbours
  double acquire_tail = 8;     // assumed split: the part of an acquire after the lock is available
  double release = 45;         // published: one iteration of the release loop (compiler report)
  double hand_over = 38;  // published: from the release call until the consumer continues (simulator trace)
  double leaf_element = 17;   // fitted by [aie-thesis] on tree times
  double outer_element = 23;  // inferred: slope of the level time, 83 = 23 + 2 x 30
  double input_element = 30;  // published: initiation interval of the inner loop
  double call = 145;          // inferred: level time less locks, set-up and end of one call
  double call_head = 105;     // assumed split: the part before the first acquire
  double step = 2;            // inferred: calls with at least step_elements need two cycles more
  int step_elements = 128;
  // inferred: start-up and end of a loop of vector code with one step per cycle; the published product of 512
  // integers takes 99 cycles for 64 steps
  double vector_fill = 35;
  double dma = 21.5;        // inferred: both DMA engines and their locks, from the distance-10 latency
  double hop = 4;           // published: one stream switch, two ports of two cycles
  double word = 1;          // published: 32 bits per cycle on a stream
  double skew = 40;         // fitted on tree times: delay of the root's Reduce behind the others
  double repeat_root = 60;  // assumed: between two benchmark calls at the root, which reads its counters
  double repeat = 20;       // assumed: between two benchmark calls elsewhere
};

/// The kind of loop, per element or vector step.
enum class Code : std::uint8_t {
  kScalar,  // the kernels of [aie-thesis]
  kVector,  // 256-bit loads and stores, one vector operation per cycle
};

/// Times of operations at a given clock. Immutable, for any thread.
class Timing {
 public:
  /// clock_mhz: of the array.
  Timing(const Costs& costs, double clock_mhz) : costs_(costs), ps_per_cycle_(1e6 / clock_mhz) {}

  /// In cycles.
  [[nodiscard]] const Costs& costs() const { return costs_; }
  /// Rounds to a picosecond, once per call.
  [[nodiscard]] Time cycles(double n) const {
    return Time::ps(static_cast<std::int64_t>(n * ps_per_cycle_ + 0.5));
  }
  /// The inverse of cycles(), up to rounding.
  [[nodiscard]] double in_cycles(Time span) const {
    return static_cast<double>(span.count()) / ps_per_cycle_;
  }

  /// Transit of a window: DMA at both ends and the switches between, without serialisation.
  [[nodiscard]] Time passage(int hops) const { return cycles(costs_.dma + costs_.hop * hops); }
  /// Time that a window occupies a stream of 32 bits; at least one word.
  [[nodiscard]] Time stream(std::size_t bytes, int header_words = 0) const;
  /// Combines the elements of `inputs` windows with a local array into a window; copies it if there are no
  /// inputs. meeting: accesses of one step of vector code that meet in one double bank.
  [[nodiscard]] Time reduce(Code code, int inputs, std::size_t elements, std::size_t bytes,
                            int operations = 1, int meeting = 1) const;
  /// Copies from window to window. own: from a local array.
  [[nodiscard]] Time copy(Code code, std::size_t bytes, bool own) const;
  /// Additional cycles of long calls.
  [[nodiscard]] Time step(std::size_t elements) const {
    return elements >= static_cast<std::size_t>(costs_.step_elements) ? cycles(costs_.step) : Time();
  }

 private:
  Costs costs_;
  double ps_per_cycle_;
};

}  // namespace offramp::aie
