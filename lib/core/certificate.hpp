// The determinism certificate of one rank: a hash over what its program did and what it took. Two runs with
// equal certificates made the same calls with the same arguments in the same order, sent and received the
// same bytes, and took the same modelled time at every call.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>

#include "lib/core/envelope.hpp"

namespace offramp {

class Certificate {
 public:
  /// What an operation was, as numbers that are the same on every run.
  void note(std::initializer_list<std::uint64_t> words) {
    for (const std::uint64_t word : words) program_ = mixed(program_, word);
  }
  /// The digest of bytes that the program sent or received.
  void note_data(std::uint64_t digest) {
    note({digest});
    data_ = mixed(data_, digest);
  }
  /// A call has ended at this time of a lane's clock.
  void note_time(std::size_t lane, Time clock) {
    lanes_[lane] = mixed(lanes_[lane] ^ program_, static_cast<std::uint64_t>(clock.count()));
  }

  /// Of bytes; several may be chained.
  static std::uint64_t digest(Bytes bytes, std::uint64_t before = 0);

  /// Everything that a lane saw: equal to that of a run in which it was the only one.
  [[nodiscard]] std::uint64_t of_lane(std::size_t lane) const { return mixed(lanes_[lane], program_); }
  /// The data alone, whatever the hardware.
  [[nodiscard]] std::uint64_t of_data() const { return data_; }

 private:
  /// Depends on the order; a finaliser of MurmurHash3 after a multiplication (64 bits of it).
  static std::uint64_t mixed(std::uint64_t state, std::uint64_t word) {
    std::uint64_t h = state * 0x9e3779b97f4a7c15U + word + 0x632be59bd9b4e019U;
    h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdU;
    h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53U;
    return h ^ (h >> 33);
  }

  std::uint64_t program_ = 0;
  std::uint64_t data_ = 0;
  std::array<std::uint64_t, kMaxLanes> lanes_{};
};

}  // namespace offramp
