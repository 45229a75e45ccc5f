#include "lib/base/side_by_side.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace offramp {

std::size_t usable_cores() {
  cpu_set_t cores;
  // Fails on machines with more cores than the set can name.
  if (sched_getaffinity(0, sizeof cores, &cores) != 0)
    return std::max(1U, std::thread::hardware_concurrency());
  return static_cast<std::size_t>(std::max(1, CPU_COUNT(&cores)));
}

void side_by_side(std::size_t count, std::size_t most, const std::function<void(std::size_t)>& work) {
  if (most == 0) most = usable_cores();
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;  // guards failure
  std::exception_ptr failure;
  const auto work_on = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      next = count;
      const std::scoped_lock lock(mutex);
      if (failure == nullptr) failure = std::current_exception();
    }
  };
  std::vector<std::jthread> others;
  try {
    while (others.size() + 1 < std::min(count, most)) others.emplace_back(work_on);
  } catch (const std::system_error&) {
    // The threads that exist do all of it.
  }
  work_on();
  others.clear();
  if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace offramp
