// The points of a sweep, shared out over threads and, with --shard, over processes that need not know of each
// other. Each point's result is a record. A shard prints the records of its points, a line each; the command
// without --shard reads such lines (--merge), simulates the points that are missing, and prints what one
// process alone would print.
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
  /// Simulates one point. Throws what is wrong. ended: the result is no longer wanted.
  using Worker = std::function<Record(std::size_t point, const std::atomic<bool>& ended)>;

  struct Plan {
    std::size_t points = 0;
    std::string what;                // what the records depend on, as text
    std::function<Worker()> worker;  // makes that of one thread
    /// Looks at a record of a file. Throws Misuse, or what nlohmann::json throws, if it is not one of this
    /// sweep.
    std::function<void(const Record&)> check;
  };

  /// Reads files and starts threads. Throws Misuse.
  SharedPoints(Plan plan, const Sharing& sharing);
  ~SharedPoints();
  SharedPoints(const SharedPoints&) = delete;
  SharedPoints& operator=(const SharedPoints&) = delete;

  /// Whether this process does part of the points: it prints lines, and nothing else.
  [[nodiscard]] bool is_shard() const { return shards_ > 1; }
  /// Returns the exit code. Throws what the worker has thrown.
  int print_lines();

  /// Waits for a point. Nothing: the user has interrupted. Throws what the worker has thrown.
  /// waiting: is called now and then with the number of points that are done.
  std::optional<Record> wait_for(std::size_t point, const std::function<void(std::size_t done)>& waiting);

 private:
  void read(const std::string& file);
  void work();

  Plan plan_;
  std::string name_;  // of this sweep
  std::size_t shard_ = 0;
  std::size_t shards_ = 1;
  std::atomic<bool> ended_ = false;

  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::vector<std::optional<Record>> done_;
  std::size_t finished_ = 0;
  std::size_t next_ = 0;  // not begun
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace offramp::tool
