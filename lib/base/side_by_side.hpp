// Independent work on several processor cores.
#pragma once

#include <cstddef>
#include <functional>

namespace offramp {

/// The processor cores on which this process may run, at least 1.
std::size_t usable_cores();

/// Calls work(i) once for each i below `count`, in order of their begin, on the calling thread and up to
/// `most` - 1 others; 0: one on each core. Returns after the last call. Rethrows the first exception, after
/// which no call begins. Fewer threads are used if the system grants no more.
void side_by_side(std::size_t count, std::size_t most, const std::function<void(std::size_t)>& work);

}  // namespace offramp
