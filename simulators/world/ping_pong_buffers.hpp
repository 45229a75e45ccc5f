// The buffers of a reduction, for the algorithms of all backends.
#pragma once

#include <array>
#include <cstddef>

#include "offramp/model/backend.hpp"

namespace offramp {

/// Two buffers in turns: a partial result stays in one while the next contribution comes into the other. The
/// last contribution, and with it the result, is in the first one. A buffer that is not given is made when it
/// is needed.
class PingPongBuffers {
 public:
  PingPongBuffers(Team& team, MutableBytes first, std::size_t bytes)
      : team_(team), buffers_{first, {}}, bytes_(bytes) {}

  /// For a contribution after which `left` more come.
  MutableBytes buffer(std::size_t left) {
    MutableBytes& buffer = buffers_[left % 2];
    if (buffer.empty() && bytes_ > 0) buffer = team_.scratch(bytes_);
    return buffer;
  }

 private:
  Team& team_;
  std::array<MutableBytes, 2> buffers_;
  std::size_t bytes_;
};

/// Where the last contribution may come in so that the result is in its place: nowhere if that holds the own
/// contribution, which is combined before.
inline MutableBytes place_of_result(Bytes own, MutableBytes result) {
  return own.data() == result.data() ? MutableBytes() : result;
}

}  // namespace offramp
