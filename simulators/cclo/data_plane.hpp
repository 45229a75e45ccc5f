// The data plane: DMA channels, stream switch, arithmetic unit, packetizer.
//
// A transfer is a Flow of 64-byte words. Every unit takes at most one word per cycle and cuts through; a
// unit serves one flow after the other in the order in which the control processor gives its commands. The
// closed forms below give the times of handling every word by itself (a test holds that) as long as a flow
// does not speed up on its way, which no unit here makes it do. Thread rule: the owner's.
#pragma once

#include "offramp/kernel/arbiter.hpp"
#include "simulators/cclo/spec.hpp"

namespace offramp::cclo {

/// When the first and the last word are there.
struct Flow {
  Time first;
  Time last;
};

/// A unit of the data plane: one word per cycle, `latency` from a word's entry to its exit.
class StreamUnit {
 public:
  Flow pass(const Flow& in, std::int64_t words, Time cycle, Time latency) {
    const Time begin = later(in.first, free_);
    const Time last = later(begin + cycle * (words - 1), in.last);
    free_ = last + cycle;
    return {begin + latency, last + latency};
  }
  [[nodiscard]] Time free_at() const { return free_; }

 private:
  Time free_;
};

class DataPlane {
 public:
  explicit DataPlane(const Spec& spec) : spec_(spec), cycle_(spec.cycles(1)) {}

  /// DMA read channel `channel` (0 or 1), from a command on.
  Flow read(int channel, Time command, std::uint64_t bytes) {
    const std::int64_t words = Spec::words(bytes);
    const Flow requests{command, command};
    return reads_[channel].pass(requests, words, cycle_, spec_.cycles(spec_.memory_cycles));
  }
  /// Two operands, one result: a word of each per cycle.
  Flow reduce(const Flow& a, const Flow& b, std::uint64_t bytes) {
    const Flow in{later(a.first, b.first), later(a.last, b.last)};
    return arithmetic_.pass(through_switch(in), Spec::words(bytes), cycle_,
                            spec_.cycles(spec_.arithmetic_cycles));
  }
  /// DMA write channel; returns when its status word is there.
  Time write(const Flow& in, Time command, std::uint64_t bytes) {
    Flow words = through_switch(in);
    words.first = later(words.first, command);
    words.last = later(words.last, command);
    return write_.pass(words, Spec::words(bytes), cycle_, spec_.cycles(1 + spec_.memory_cycles)).last;
  }
  /// Header and payload through the packetizer; the header waits for its command.
  Flow packetize(const Flow& in, Time command, std::uint64_t bytes) {
    Flow words = through_switch(in);
    words.first = later(words.first - cycle_, command);  // the header's word goes in front
    words.last = later(words.last, words.first + cycle_);
    const std::int64_t count = bytes == 0 ? 1 : 1 + Spec::words(bytes);
    return packetizer_.pass(words, count, cycle_, spec_.cycles(2));
  }

 private:
  [[nodiscard]] Flow through_switch(const Flow& in) const {
    const Time t = spec_.cycles(spec_.switch_cycles);
    return {in.first + t, in.last + t};
  }

  const Spec& spec_;
  Time cycle_;
  StreamUnit reads_[2];
  StreamUnit write_;
  StreamUnit arithmetic_;
  StreamUnit packetizer_;
};

}  // namespace offramp::cclo
