// Processes of a job share a folder in the working directory, which has to be on a file system that all hosts
// see, as the program that is replayed has to be anyway. There is no other way between them: the command is
// not linked with MPI, and addresses of hosts tell nothing about which of them lets connections in.
//
//   job            by the leader, who holds a lock on it as long as it lives
//   here-RANK      a process has come
//   claim-POINT    whoever creates it does the point
//   done-POINT     the record, which gets this name when it is whole
//   trouble-RANK   why a process has given up
//
// A process that dies leaves a claim without a record. Nobody has to find out that it is dead: points give
// the same wherever they are done, so the leader, when nothing else is left, does over what takes much longer
// than any point has taken so far, and the first record counts.
#include "tools/shared_points.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "lib/base/output_file.hpp"
#include "lib/configuration/names.hpp"
#include "offramp/kernel/hash.hpp"
#include "offramp/version.hpp"
#include "tools/replay_output.hpp"
#include "tools/setup.hpp"
#include "tools/tool.hpp"

namespace offramp::tool {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr milliseconds kPause(50);             // between two looks into the folder
constexpr std::chrono::seconds kPatience(60);  // with a leader that has not begun
constexpr std::chrono::seconds kLeave(10);     // with processes that have not come when all is done
constexpr double kSlow = 2;                    // times the longest point, and a second

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The name of a folder that only this command has in this job.
std::string folder_name(const LaunchedJob& job, const std::string& what) {
  std::string text = fmt::format("{}\n{}\n{}\n{}\n", OFFRAMP_VERSION, job.id, job.size, what);
  std::set<std::string> settings;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (std::string_view(*variable).starts_with("OFFRAMP_")) settings.insert(*variable);
  }
  for (const std::string& setting : settings) text += setting + "\n";
  return fmt::format(".offramp-sweep-{:016x}", fnv1a_64(bytes_of(text)));
}

/// NFS keeps what it knows of a folder for up to a minute, but asks again after a change of its own.
void refresh(const fs::path& folder) {
  std::string name = (folder / ".offramp-XXXXXX").string();
  const int file = mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) return;
  close(file);
  unlink(name.c_str());
}

/// "claim-12" with the stem "claim-": 12. Nothing: another name.
std::optional<std::size_t> number_behind(const std::string& name, std::string_view stem) {
  if (!name.starts_with(stem)) return std::nullopt;
  std::size_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [last, error] = std::from_chars(name.data() + stem.size(), end, number);
  return error == std::errc() && last == end ? std::optional(number) : std::nullopt;
}

std::string contents_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "?";
}

}  // namespace

class PointFolder {
 public:
  enum class Claim : std::uint8_t { kMine, kTaken, kLost };

  PointFolder(const LaunchedJob& job, const std::string& what)
      : job_(job), path_(fs::absolute(folder_name(job, what))) {}
  ~PointFolder() {
    if (lock_ < 0) return;
    std::error_code error;
    fs::remove_all(path_, error);
    close(lock_);
  }
  PointFolder(const PointFolder&) = delete;
  PointFolder& operator=(const PointFolder&) = delete;

  [[nodiscard]] const fs::path& path() const { return path_; }

  /// By the leader. False: the same command is at work here under the same name. Throws Misuse.
  bool lead() {
    const fs::path file = path_ / "job";
    if (const int old = open(file.c_str(), O_RDWR | O_CLOEXEC); old >= 0) {
      const bool busy = flock(old, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
      close(old);
      if (busy) return false;
    }
    std::error_code error;
    fs::remove_all(path_, error);  // of a job that was killed
    if (mkdir(path_.c_str(), S_IRWXU) != 0) throw Misuse{refusal(errno)};
    const std::string aside = path_ / "job.new";  // a lock comes before the name
    lock_ = open(aside.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (lock_ < 0) throw Misuse{refusal(errno)};
    (void)flock(lock_, LOCK_EX | LOCK_NB);  // where the file system has none, names still differ between jobs
    if (rename(aside.c_str(), file.c_str()) != 0) throw Misuse{refusal(errno)};
    return true;
  }

  /// By the others. False: there is no leader in this folder.
  bool join() {
    const auto begin = std::chrono::steady_clock::now();
    for (milliseconds pause = kPause / 5; !is_interrupted(); pause = std::min(2 * pause, 10 * kPause)) {
      if (is_own_folder() && create(path_ / "job") == EEXIST)
        return create(path_ / fmt::format("here-{}", job_.rank)) == 0;
      if (std::chrono::steady_clock::now() - begin > kPatience) return false;
      std::this_thread::sleep_for(pause);
      refresh(path_.parent_path());
    }
    return false;
  }

  Claim claim(std::size_t point) {
    const int error = create(path_ / fmt::format("claim-{}", point));
    return error == 0 ? Claim::kMine : error == EEXIST ? Claim::kTaken : Claim::kLost;
  }
  void give_back(std::size_t point) { unlink((path_ / fmt::format("claim-{}", point)).c_str()); }

  void put(std::size_t point, const std::string& record) { write(fmt::format("done-{}", point), record); }
  void tell(const std::string& trouble) {
    write(fmt::format("trouble-{}", job_.rank),
          fmt::format("process {} of {}, on {}: {}", job_.rank, job_.size, host_name(), trouble));
  }

  struct Found {
    std::map<std::size_t, std::string> records;  // that were not there when this was asked last
    std::set<std::size_t> claims;
    std::size_t here = 0;
    std::vector<std::string> troubles;
  };
  Found look() {
    refresh(path_);
    Found found;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(path_, error)) {
      const std::string name = entry.path().filename().string();
      if (const auto done = number_behind(name, "done-"); done && read_.insert(*done).second)
        found.records[*done] = contents_of(entry.path());
      if (const auto claim = number_behind(name, "claim-")) found.claims.insert(*claim);
      if (number_behind(name, "here-")) ++found.here;
      if (number_behind(name, "trouble-")) found.troubles.push_back(contents_of(entry.path()));
    }
    std::sort(found.troubles.begin(), found.troubles.end());
    return found;
  }

  /// Whoever comes too late would look for this folder in vain.
  void wait_for_all() {
    const auto begin = std::chrono::steady_clock::now();
    while (look().here + 1 < static_cast<std::size_t>(job_.size) && !is_interrupted() &&
           std::chrono::steady_clock::now() - begin < kLeave)
      std::this_thread::sleep_for(kPause);
  }

 private:
  /// Other users may be able to guess the name.
  [[nodiscard]] bool is_own_folder() const {
    struct stat status {};
    return lstat(path_.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid();
  }
  /// 0, or why there is no new file of this name.
  static int create(const fs::path& path) {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (file < 0) return errno;
    close(file);
    return 0;
  }
  void write(const std::string& name, const std::string& text) const {
    (void)write_output(path_ / name, text);  // the leader does what is not there itself
  }
  [[nodiscard]] std::string refusal(int error) const {
    return fmt::format(
        "{} processes share a sweep through a folder in the working directory, and {} cannot be made: {}",
        job_.size, in_quotes(path_.string()), std::strerror(error));
  }

  LaunchedJob job_;
  fs::path path_;
  int lock_ = -1;  // of the leader
  std::set<std::size_t> read_;
};

SharedPoints::SharedPoints(Plan plan, const LaunchedJob& job)
    : plan_(std::move(plan)),
      job_(job),
      done_(plan_.points),
      arrived_(plan_.points),
      begun_(plan_.points),
      here_(plan_.points) {
  if (job.has_others()) {
    folder_ = std::make_unique<PointFolder>(job, plan_.what);
    if (job.rank == 0 ? !folder_->lead() : !folder_->join()) folder_.reset();
  }
  is_alone_ = folder_ == nullptr;
  if (is_alone_ && job.rank != 0) return;
  const auto step = static_cast<std::size_t>(is_alone_ ? 1 : job.size);
  for (std::size_t first = 0; first < step; ++first) {
    for (std::size_t i = (first + static_cast<std::size_t>(job.rank)) % step; i < plan_.points; i += step)
      order_.push_back(i);
  }
  const int cores = std::max(1, core_count() / std::max(1, is_alone_ ? 1 : job.local));
  const std::size_t threads = std::min<std::size_t>(
      plan_.points, static_cast<std::size_t>(plan_.threads > 0 ? plan_.threads : cores));
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

SharedPoints::~SharedPoints() {
  ended_ = true;
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  if (folder_ != nullptr && job_.rank == 0 && finished_ == plan_.points) folder_->wait_for_all();
}

/// With the mutex. The next point that nobody has begun.
std::optional<std::size_t> SharedPoints::take() {
  while (next_ < order_.size()) {
    const std::size_t point = order_[next_++];
    if (begun_[point] || arrived_[point]) continue;
    if (!is_alone_) {
      const PointFolder::Claim claim = folder_->claim(point);
      if (claim == PointFolder::Claim::kTaken) begun_[point] = true;
      if (claim == PointFolder::Claim::kLost) is_alone_ = true;  // somebody has removed the folder
      if (claim == PointFolder::Claim::kTaken || (is_alone_ && job_.rank != 0)) continue;
    }
    begun_[point] = here_[point] = true;
    return point;
  }
  return std::nullopt;
}

/// With the mutex. A point that another process has begun, and that it no longer seems to do.
std::optional<std::size_t> SharedPoints::take_over() {
  if (job_.rank != 0) return std::nullopt;
  if (idle_since_ < 0) idle_since_ = seconds_now();
  if (!is_alone_ && seconds_now() - idle_since_ < kSlow * longest_ + 1) return std::nullopt;
  for (std::size_t point = 0; point < plan_.points; ++point) {
    if (arrived_[point] || here_[point]) continue;
    here_[point] = true;
    return point;
  }
  return std::nullopt;
}

/// With the mutex.
void SharedPoints::keep(std::size_t point, Record record) {
  if (point >= plan_.points || arrived_[point]) return;
  arrived_[point] = true;
  done_[point] = std::move(record);
  ++finished_;
}

/// With the mutex, by the leader. What the others have done, and what they have given back.
void SharedPoints::collect() {
  if (folder_ == nullptr) return;
  PointFolder::Found found = folder_->look();
  for (auto& [point, text] : found.records) {
    Record record = Record::parse(text, nullptr, false);
    if (!record.is_object() || !record.contains("seconds")) continue;
    longest_ = std::max(longest_, record["seconds"].get<double>());
    keep(point, std::move(record["record"]));
  }
  troubles_ = std::move(found.troubles);
  for (std::size_t point = 0; point < plan_.points && !is_alone_; ++point) {
    if (!begun_[point] || here_[point] || arrived_[point] || found.claims.contains(point)) continue;
    begun_[point] = false;
    next_ = 0;
  }
}

void SharedPoints::work() {
  try {
    const Worker worker = plan_.worker();
    std::unique_lock lock(mutex_);
    while (!ended_ && !is_interrupted() && finished_ < plan_.points) {
      std::optional<std::size_t> point = take();
      if (!point) point = take_over();
      if (!point && job_.rank != 0) return;
      if (!point) {
        changed_.wait_for(lock, kPause);
        continue;
      }
      lock.unlock();
      const double begin = seconds_now();
      std::exception_ptr failure;
      Record record;
      try {
        record = worker(*point, ended_);
      } catch (...) {
        failure = std::current_exception();
      }
      const double seconds = seconds_now() - begin;
      lock.lock();
      if (failure != nullptr || ended_ || is_interrupted()) {
        if (job_.rank != 0) folder_->give_back(*point);
        if (failure != nullptr) std::rethrow_exception(failure);
        return;
      }
      longest_ = std::max(longest_, seconds);
      if (job_.rank != 0)
        folder_->put(*point, Record{{"seconds", seconds}, {"record", record}}.dump(
                                 -1, ' ', false, Record::error_handler_t::replace));
      keep(*point, std::move(record));
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
  while (!arrived_[point] && !is_interrupted() && failure_ == nullptr) {
    collect();
    if (arrived_[point]) break;
    waiting(finished_);
    changed_.wait_for(lock, 4 * kPause);
  }
  if (failure_ != nullptr && !arrived_[point]) std::rethrow_exception(failure_);
  if (is_interrupted()) return std::nullopt;
  return std::exchange(done_[point], std::nullopt);
}

std::vector<std::string> SharedPoints::troubles() const {
  return troubles_;
}

int SharedPoints::follow(Plan plan, const LaunchedJob& job) {
  SharedPoints points(std::move(plan), job);
  if (points.folder_ == nullptr) {
    complain(fmt::format(
        "process {} of {}, on {}: found nothing to do; the working directory has to be shared by all "
        "hosts of the job",
        job.rank, job.size, host_name()));
    return kDone;
  }
  for (std::thread& thread : points.threads_) thread.join();
  points.threads_.clear();
  try {
    if (points.failure_ != nullptr) std::rethrow_exception(points.failure_);
  } catch (const Misuse& misuse) {
    points.folder_->tell(misuse.text);
  } catch (const std::exception& e) {
    points.folder_->tell(e.what());
  }
  return kDone;
}

}  // namespace offramp::tool
