// Distributes the points of a sweep over threads and, with --shard, over independent processes. Each point's
// result is a record. A shard prints the records of its points, one per line. The command without --shard
// reads such lines (--merge), simulates the missing points, and prints the output of a single process.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tools/command_line/sharing.hpp"

namespace offramp::tool {

class SharedPoints {
 public:
  using Record = nlohmann::ordered_json;
  /// Simulates one point, and throws on errors. ended: the result is no longer wanted.
  using Worker = std::function<Record(std::size_t point, const std::atomic<bool>& ended)>;

  struct Plan {
    std::size_t points = 0;
    std::string what;                // everything that the records depend on, as text
    std::function<Worker()> worker;  // makes the worker of one thread
    /// Throws Misuse or a standard exception if a record from a file is not from this sweep.
    std::function<void(const Record&)> check;
  };

  /// Reads the files and starts the threads. Throws Misuse.
  SharedPoints(Plan plan, const Sharing& sharing);
  ~SharedPoints();
  SharedPoints(const SharedPoints&) = delete;
  SharedPoints& operator=(const SharedPoints&) = delete;

  /// True if this process simulates part of the points, and prints only records.
  [[nodiscard]] bool is_shard() const { return shards_ > 1; }
  /// Prints the records of a shard. Returns the exit code. Rethrows exceptions of the worker.
  int print_lines();

  /// Waits for a point. `nullopt` if the user interrupts. Rethrows exceptions of the worker. waiting: called
  /// every 200 ms with the number of completed points.
  std::optional<Record> wait_for(std::size_t point, const std::function<void(std::size_t done)>& waiting);

 private:
  void read(const std::string& file);
  void work();

  Plan plan_;
  std::string name_;  // name of the sweep
  std::size_t shard_ = 0;
  std::size_t shards_ = 1;
  std::atomic<bool> ended_ = false;

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::vector<std::optional<Record>> done_;
  std::size_t finished_ = 0;
  std::size_t next_ = 0;  // the next point to begin
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace offramp::tool
