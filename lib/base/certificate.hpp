// The determinism certificate of one rank: a hash over the calls of its program and their modelled times. Two
// runs with equal certificates made the same calls with the same arguments in the same order, at the same
// modelled times. A second hash covers the bytes that the program sent and received, in order.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "offramp/kernel/time.hpp"
#include "offramp/model/message.hpp"

namespace offramp {

/// One per rank, used by its thread only. The hashes depend on the order of the notes.
class Certificate {
 public:
  /// Adds an operation, as numbers that are equal on every run.
  void note(std::initializer_list<std::uint64_t> words) {
    for (const std::uint64_t word : words) program_ = mixed(program_, word);
  }
  /// Adds the digest of bytes that the program sent or received.
  void note_data(std::uint64_t digest) { data_ = mixed(data_, digest); }
  /// Adds the rank's clock at the end of a call.
  void note_time(Time clock) { times_ = mixed(times_ ^ program_, static_cast<std::uint64_t>(clock.count())); }

  /// Hash of bytes. Pass the previous digest as `before` to chain several.
  static std::uint64_t digest(Bytes bytes, std::uint64_t before = 0);

  /// Certificate of calls, arguments, and times.
  [[nodiscard]] std::uint64_t of_run() const { return mixed(times_, program_); }
  /// Certificate of the data, independent of the hardware.
  [[nodiscard]] std::uint64_t of_data() const { return data_; }

 private:
  /// Order-dependent mixing: a multiplication, then the 64-bit finaliser of MurmurHash3.
  static std::uint64_t mixed(std::uint64_t state, std::uint64_t word) {
    std::uint64_t h = state * 0x9e3779b97f4a7c15U + word + 0x632be59bd9b4e019U;
    h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdU;
    h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53U;
    return h ^ (h >> 33);
  }

  /// Calls and arguments, without times.
  std::uint64_t program_ = 0;
  std::uint64_t data_ = 0;
  std::uint64_t times_ = 0;
};

}  // namespace offramp
