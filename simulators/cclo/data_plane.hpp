// The data plane: DMA channels, stream switch, arithmetic unit, packetizer.
//
// A transfer is a Flow of 64-byte words. Every unit processes at most one word per cycle, cuts through, and
// serves flows in the order of the control processor's commands. The closed forms below give the same times
// as processing every word individually (a test checks this), provided that no flow accelerates on its way;
// none of these units accelerates flows. Only for the thread of the owner.
#pragma once

#include "simulators/cclo/engine_units.hpp"
#include "simulators/cclo/spec.hpp"

namespace offramp::cclo {

/// The memory that contains a buffer.
enum class BufferLocation : std::uint8_t { kDevice, kHost };

/// Arrival times of the first and the last word.
struct Flow {
  Time first;
  Time last;
};

/// Occupies a unit until `to`, from `from` or from when it is next free.
inline void occupy(Arbiter& unit, Time from, Time to) {
  unit.acquire(from, later(to - later(from, unit.free_at()), {}));
}

/// Passes words through a unit: one word per cycle, `latency` from entry to exit.
inline Flow pass(Arbiter& unit, const Flow& in, std::int64_t words, Time cycle, Time latency) {
  const Time begin = later(in.first, unit.free_at());
  const Time last = later(begin + cycle * (words - 1), in.last);
  occupy(unit, in.first, last + cycle);
  return {begin + latency, last + latency};
}

/// The data plane of one engine. Every function occupies units and returns the times of a flow.
class DataPlane {
 public:
  /// Both arguments must outlive this object.
  DataPlane(const Spec& spec, EngineUnits& units)
      : spec_(spec),
        units_(units),
        cycle_(spec.cycles(1)),
        memory_word_(later(cycle_, spec.memory_channel.bytes(kWordBytes))) {}

  /// Reads memory with DMA channel 0 or 1, from a command on.
  Flow read(int channel, Time command, std::uint64_t bytes, BufferLocation place = BufferLocation::kDevice) {
    const Flow requests{command, command};
    Flow words = pass(units_[channel == 0 ? Unit::kRead0 : Unit::kRead1], requests, Spec::words(bytes),
                      word_time(place), latency(place));
    words.last = later(words.last, others(place, Unit::kPcieDown, command, bytes) + latency(place));
    return words;
  }
  /// Combines two operands: one word of each per cycle.
  /// Both have `bytes` bytes. The slower one sets the pace.
  Flow reduce(const Flow& a, const Flow& b, std::uint64_t bytes) {
    const Flow in{later(a.first, b.first), later(a.last, b.last)};
    return pass(units_[Unit::kArithmetic], through_switch(in), Spec::words(bytes), cycle_,
                spec_.cycles(spec_.arithmetic_cycles));
  }
  /// Writes memory with the DMA write channel. Returns the time when its status word is available.
  /// command: when the DMA has its write command. Words that arrive earlier wait.
  Time write(const Flow& in, Time command, std::uint64_t bytes,
             BufferLocation place = BufferLocation::kDevice) {
    Flow words = through_switch(in);
    words.first = later(words.first, command);
    words.last = later(words.last, command);
    const Time end = pass(units_[Unit::kWrite], words, Spec::words(bytes), word_time(place),
                          spec_.cycles(1) + latency(place))
                         .last;
    return later(end, others(place, Unit::kPcieUp, words.first, bytes) + latency(place));
  }
  /// Passes header and payload through the packetizer; the header waits for its command.
  Flow packetize(const Flow& in, Time command, std::uint64_t bytes) {
    Flow words = through_switch(in);
    words.first = later(words.first - cycle_, command);  // the header's word comes first
    words.last = later(words.last, words.first + cycle_);
    const std::int64_t count = bytes == 0 ? 1 : 1 + Spec::words(bytes);
    return pass(units_[Unit::kPacketizer], words, count, cycle_, spec_.cycles(2));
  }
  /// Passes words through the stream switch.
  [[nodiscard]] Flow through_switch(const Flow& in) const {
    const Time t = spec_.cycles(spec_.switch_cycles);
    return {in.first + t, in.last + t};
  }

 private:
  /// Time per word of one memory channel or of PCIe.
  /// One DMA uses one memory channel, so a single flow is limited by one channel's rate.
  [[nodiscard]] Time word_time(BufferLocation place) const {
    return place == BufferLocation::kHost ? later(cycle_, spec_.pcie.bytes(kWordBytes)) : memory_word_;
  }
  [[nodiscard]] Time latency(BufferLocation place) const {
    return place == BufferLocation::kHost ? spec_.pcie_latency : spec_.cycles(spec_.memory_cycles);
  }
  /// Returns the time when the memory or bus has completed this transfer alongside its other users.
  /// Here the total rate counts, not that of one channel: all users of the card share it.
  Time others(BufferLocation place, Unit bus, Time at, std::uint64_t bytes) {
    return place == BufferLocation::kHost ? units_.share_until(bus, at, spec_.pcie_time(bytes))
                                          : units_.share_until(Unit::kMemory, at, spec_.memory_time(bytes));
  }

  const Spec& spec_;
  EngineUnits& units_;
  Time cycle_;
  Time memory_word_;
};

}  // namespace offramp::cclo
