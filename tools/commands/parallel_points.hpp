// Distributes the points of a sweep over threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "lib/base/format.hpp"
#include "tools/command_line/tool.hpp"
#include "tools/text/replay_output.hpp"

namespace offramp::tool {

/// The results of independent points, in any order of simulation. Use it from one thread.
template <typename Result>
class ParallelPoints {
 public:
  /// Simulates one point, and throws on errors. ended: the result is no longer wanted.
  using Worker = std::function<Result(std::size_t point, const std::atomic<bool>& ended)>;

  struct Plan {
    std::size_t points = 0;
    std::function<Worker()> worker;  // makes the worker of one thread
  };

  /// Starts the threads. threads: 0 for one on each core.
  ParallelPoints(Plan plan, int threads) : plan_(std::move(plan)), done_(plan_.points) {
    const auto wanted = static_cast<std::size_t>(threads > 0 ? threads : std::max(1, core_count()));
    for (std::size_t i = 0; i < std::min(plan_.points, wanted); ++i)
      threads_.emplace_back([this] { work(); });
  }
  ~ParallelPoints() {
    ended_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  ParallelPoints& operator=(ParallelPoints&&) = delete;

  /// Waits for a point. `nullopt` if the user interrupts. Rethrows exceptions of the worker. waiting: called
  /// every 200 ms with the number of completed points.
  std::optional<Result> wait_for(std::size_t point, const std::function<void(std::size_t done)>& waiting) {
    constexpr std::chrono::milliseconds kPause(200);  // between checks for an interrupt
    std::unique_lock lock(mutex_);
    while (!done_[point] && !is_interrupted() && failure_ == nullptr) {
      waiting(finished_);
      changed_.wait_for(lock, kPause);
    }
    if (failure_ != nullptr && !done_[point]) std::rethrow_exception(failure_);
    if (is_interrupted()) return std::nullopt;
    return done_[point];
  }

 private:
  void work() {
    try {
      const Worker worker = plan_.worker();
      std::unique_lock lock(mutex_);
      while (!ended_ && !is_interrupted() && next_ < plan_.points) {
        const std::size_t point = next_++;
        lock.unlock();
        Result result = worker(point, ended_);
        lock.lock();
        if (ended_ || is_interrupted()) return;
        done_[point] = std::move(result);
        ++finished_;
        changed_.notify_all();
      }
    } catch (...) {
      const std::scoped_lock lock(mutex_);
      if (failure_ == nullptr) failure_ = std::current_exception();
      ended_ = true;
      changed_.notify_all();
    }
  }

  Plan plan_;
  std::atomic<bool> ended_ = false;

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::vector<std::optional<Result>> done_;
  std::size_t finished_ = 0;
  std::size_t next_ = 0;  // the next point to begin
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace offramp::tool
