// Each line identifies its point and its sweep. So lines of several processes may be mixed in one file, and
// the point of a truncated line is simulated again.
#include "tools/commands/shared_points.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <exception>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "lib/base/configuration/configuration_file.hpp"
#include "lib/base/format.hpp"
#include "lib/base/launched_job.hpp"
#include "lib/base/text_format.hpp"
#include "offramp/kernel/hash.hpp"
#include "offramp/version.hpp"
#include "tools/command_line/setup.hpp"
#include "tools/command_line/tool.hpp"
#include "tools/text/replay_output.hpp"

namespace offramp::tool {
namespace {

constexpr std::chrono::milliseconds kPause(200);  // between checks for an interrupt
constexpr std::size_t kLargestFile = std::size_t{1} << 28;

/// A name that all processes agree on if their records can be merged.
std::string sweep_name(const std::string& what) {
  std::string text = fmt::format("{}\n{}\n", OFFRAMP_VERSION, what);
  std::set<std::string> settings;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (std::string_view(*variable).starts_with("OFFRAMP_")) settings.insert(*variable);
  }
  for (const std::string& setting : settings) text += setting + "\n";
  return fmt::format("{:016x}", fnv1a_64(bytes_of(text)));
}

/// "2/8": the second of eight parts.
std::pair<std::size_t, std::size_t> shard_of(const std::string& text) {
  std::size_t number = 0;
  std::size_t all = 0;
  const char* const end = text.data() + text.size();
  const auto [slash, first] = std::from_chars(text.data(), end, number);
  if (first == std::errc() && slash != end && *slash == '/') {
    const auto [stop, second] = std::from_chars(slash + 1, end, all);
    if (second == std::errc() && stop == end && number >= 1 && number <= all) return {number - 1, all};
  }
  throw Misuse{fmt::format("--shard: {} is not I/N, such as 2/8", in_quotes(text))};
}

}  // namespace

SharedPoints::SharedPoints(Plan plan, const Sharing& sharing)
    : plan_(std::move(plan)), name_(sweep_name(plan_.what)), done_(plan_.points) {
  const LaunchedJob job = launched_job();
  if (!sharing.shard.empty()) {
    if (!sharing.files.empty()) throw Misuse{"--shard and --merge cannot be combined"};
    std::tie(shard_, shards_) = shard_of(sharing.shard);
  } else if (sharing.files.empty() && job.has_others()) {
    shard_ = static_cast<std::size_t>(job.rank);
    shards_ = static_cast<std::size_t>(job.size);
  }
  for (const std::string& file : sharing.files) read(file);
  next_ = shard_;
  const int cores = std::max(1, core_count() / std::max(1, is_shard() ? job.local : 1));
  const std::size_t own = (plan_.points + shards_ - 1 - shard_) / shards_;
  const std::size_t threads =
      std::min<std::size_t>(own - std::min(own, finished_),
                            static_cast<std::size_t>(sharing.threads > 0 ? sharing.threads : cores));
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

SharedPoints::~SharedPoints() {
  ended_ = true;
  for (std::thread& thread : threads_) thread.join();
}

/// Called before the threads start.
void SharedPoints::read(const std::string& file) {
  const FileText read = read_file(file, true, kLargestFile);
  if (!read.problem.empty()) throw Misuse{fmt::format("--merge {}: {}", in_quotes(file), read.problem)};
  std::size_t number = 0;
  std::size_t unreadable = 0;
  for (std::string_view rest = read.text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number;
    if (line.empty()) continue;
    Record one = Record::parse(line, nullptr, false);
    if (!one.is_object() || !one["sweep"].is_string() || !one["point"].is_number_unsigned() ||
        !one["record"].is_structured()) {
      ++unreadable;
      continue;
    }
    const auto point = one["point"].get<std::size_t>();
    if (one["sweep"] != name_ || point >= plan_.points) {
      throw Misuse{fmt::format(
          "{}:{}: a point of another sweep: the options, the settings, or Offramp's version differ",
          printable(file), number)};
    }
    try {
      plan_.check(one["record"]);
    } catch (const std::exception&) {
      throw Misuse{fmt::format("{}:{}: the record of the point cannot be read", printable(file), number)};
    }
    if (!done_[point]) ++finished_;
    done_[point] = std::move(one["record"]);
  }
  if (unreadable > 0) {
    warn(fmt::format("{}: {} of {} are not points of a sweep; missing points are simulated here",
                     printable(file), unreadable, counted(number, "line")));
  }
}

void SharedPoints::work() {
  try {
    const Worker worker = plan_.worker();
    std::unique_lock lock(mutex_);
    while (!ended_ && !is_interrupted()) {
      while (next_ < plan_.points && done_[next_]) next_ += shards_;
      if (next_ >= plan_.points) return;
      const std::size_t point = std::exchange(next_, next_ + shards_);
      lock.unlock();
      Record record = worker(point, ended_);
      lock.lock();
      if (ended_ || is_interrupted()) return;
      done_[point] = std::move(record);
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

std::optional<SharedPoints::Record> SharedPoints::wait_for(
    std::size_t point, const std::function<void(std::size_t done)>& waiting) {
  std::unique_lock lock(mutex_);
  while (!done_[point] && !is_interrupted() && failure_ == nullptr) {
    waiting(finished_);
    changed_.wait_for(lock, kPause);
  }
  if (failure_ != nullptr && !done_[point]) std::rethrow_exception(failure_);
  if (is_interrupted()) return std::nullopt;
  return done_[point];
}

int SharedPoints::print_lines() {
  for (std::size_t point = shard_; point < plan_.points; point += shards_) {
    const auto record = wait_for(point, [](std::size_t) {});
    if (!record) return kInterrupted;
    const Record line = {{"sweep", name_}, {"point", point}, {"record", *record}};
    fmt::print("{}\n", line.dump(-1, ' ', false, Record::error_handler_t::replace));
    flush_output();  // whole lines, since other processes may write to the same pipe
  }
  return kDone;
}

}  // namespace offramp::tool
