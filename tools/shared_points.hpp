// The points of a sweep, shared out over the threads of this process and, where a launcher has started the
// same command several times, over the processes of the job. Each point's result is a record; the leader,
// rank 0, gets those of all, in any order, and what it prints is what one process alone would print.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "lib/configuration/launched_job.hpp"

namespace offramp::tool {

class PointFolder;

class SharedPoints {
 public:
  using Record = nlohmann::ordered_json;
  /// Does one point. Throws what is wrong. ended: nobody wants the result any more.
  using Worker = std::function<Record(std::size_t point, const std::atomic<bool>& ended)>;

  struct Plan {
    std::size_t points = 0;
    int threads = 0;   // 0: as many as there are cores for this process
    std::string what;  // in words that are the same in all processes of the job, and of no other command
    /// Makes the worker of one thread.
    std::function<Worker()> worker;
  };

  /// In a job the leader makes a folder in the working directory, which the others must see. Throws Misuse.
  SharedPoints(Plan plan, const LaunchedJob& job);
  ~SharedPoints();
  SharedPoints(const SharedPoints&) = delete;
  SharedPoints& operator=(const SharedPoints&) = delete;

  /// Waits for a point, of the leader. Nothing: the user has interrupted. Throws what the worker has thrown.
  /// waiting: is called now and then with the number of points that are done.
  std::optional<Record> wait_for(std::size_t point, const std::function<void(std::size_t done)>& waiting);

  /// What the leader has to tell of other processes that could do nothing, once all points are there.
  [[nodiscard]] std::vector<std::string> troubles() const;

  /// What a process of the job does that is not the leader: points, until none is left. Prints nothing; what
  /// is wrong here is told to the leader, which does these points itself. Returns the exit code.
  static int follow(Plan plan, const LaunchedJob& job);

 private:
  void work();
  std::optional<std::size_t> take();
  std::optional<std::size_t> take_over();
  void keep(std::size_t point, Record record);
  void collect();

  Plan plan_;
  LaunchedJob job_;
  std::unique_ptr<PointFolder> folder_;  // null: there never was one
  std::vector<std::size_t> order_;       // in which this process takes points: its share first
  std::atomic<bool> ended_ = false;

  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::vector<std::optional<Record>> done_;
  std::vector<bool> arrived_;  // the record is here, or was
  std::vector<bool> begun_;    // here, or by another process
  std::vector<bool> here_;     // begun by a thread of this process
  bool is_alone_ = false;      // nothing comes from other processes, or nothing more
  std::size_t next_ = 0;       // of order_
  std::size_t finished_ = 0;
  double longest_ = 0;      // seconds that a point has taken, in any process
  double idle_since_ = -1;  // from when on nothing was left that nobody had begun
  std::vector<std::string> troubles_;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace offramp::tool
