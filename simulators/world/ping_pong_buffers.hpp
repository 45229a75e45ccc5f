// The buffers of a reduction, shared by the algorithms of all backends.
#pragma once

#include <array>
#include <cstddef>

#include "offramp/model/backend.hpp"

namespace offramp {

/// Two alternating buffers: one contains the partial result while the next contribution arrives in the other.
/// The last contribution, and thus the result, is in `first`. A missing buffer is allocated on demand.
class PingPongBuffers {
 public:
  PingPongBuffers(Team& team, MutableBytes first, std::size_t bytes)
      : team_(team), buffers_{first, {}}, bytes_(bytes) {}

  /// The buffer for a contribution that `left` more will follow.
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

/// The buffer into which the last contribution may be received so that the result ends up in `result`. Empty
/// if `result` contains the rank's own contribution, which is combined first.
inline MutableBytes place_of_result(Bytes own, MutableBytes result) {
  return own.data() == result.data() ? MutableBytes() : result;
}

}  // namespace offramp
