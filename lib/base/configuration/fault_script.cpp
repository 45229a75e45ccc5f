// Parser, formatter, and log for lines of a fault script; read_line() parses the output of to_string(). The
// log appends with one write() per line and no lock, so that the processes of a run can share the file.
#include "lib/base/configuration/fault_script.hpp"

#include <fmt/core.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <set>

#include "lib/base/output_file.hpp"
#include "lib/base/text_format.hpp"

namespace offramp {
namespace {

using std::string;
using std::string_view;

struct KindName {
  string_view name;
  Fault kind;
};
constexpr std::array kKinds = {KindName{"lose", Fault::kLost}, KindName{"duplicate", Fault::kDuplicated},
                               KindName{"reorder", Fault::kReordered}, KindName{"corrupt", Fault::kCorrupted},
                               KindName{"delay", Fault::kDelayed}};
constexpr string_view kDown = "down";

// Limits of the fields in a link's number.
constexpr std::uint32_t kMostEnds = 1U << 24;
constexpr std::uint32_t kMostChannels = 1U << 16;
constexpr double kLatest = 1e12;  // us; the limit of time stamps

template <typename Integer>
bool read_integer(string_view text, std::optional<Integer>& where) {
  Integer value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size() || text.empty()) return false;
  where = value;
  return true;
}

// "*" leaves the condition open.
bool read_below(string_view text, std::uint32_t end, std::optional<std::uint32_t>& where) {
  return text == "*" || (read_integer(text, where) && *where < end);
}

// Reads SOURCE>DESTINATION[/CHANNEL].
bool read_link(string_view text, FaultEvent& event) {
  const auto arrow = text.find('>');
  const auto slash = text.find('/');
  if (arrow == string_view::npos || slash < arrow) return false;
  if (slash != string_view::npos && !read_below(text.substr(slash + 1), kMostChannels, event.channel))
    return false;
  return read_below(text.substr(0, arrow), kMostEnds, event.source) &&
         read_below(text.substr(arrow + 1, slash == string_view::npos ? slash : slash - arrow - 1), kMostEnds,
                    event.destination);
}

bool read_time(string_view text, Time& where) {
  const auto microseconds = parse_quantity(text, "us");
  if (!microseconds || *microseconds < 0 || *microseconds > kLatest) return false;
  where = Time::ps(static_cast<std::int64_t>(*microseconds * 1e6 + 0.5));
  return true;
}

// The words refer to the line.
std::vector<string_view> words_of(string_view line) {
  std::vector<string_view> words;
  constexpr string_view kBlank = " \t\r";
  for (;;) {
    const auto begin = line.find_first_not_of(kBlank);
    if (begin == string_view::npos) return words;
    line.remove_prefix(begin);
    const string_view word = line.substr(0, line.find_first_of(kBlank));
    words.push_back(word);
    line.remove_prefix(word.size());
  }
}

/// Expands "down" to two events, one per direction.
Result<void> read_line(const std::vector<string_view>& words, std::vector<FaultEvent>& events) {
  FaultEvent event;
  const bool down = words[0] == kDown;
  const auto* const kind =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const KindName& k) { return k.name == words[0]; });
  if (!down && kind == kKinds.end())
    return failure(fmt::format("unknown fault {}; known: lose, duplicate, reorder, corrupt, delay, down",
                               in_quotes(words[0])));
  if (!down) event.kind = kind->kind;
  std::size_t i = 1;
  if (i < words.size() && words[i].find('>') != string_view::npos && !read_link(words[i++], event))
    return failure(fmt::format("{} is not a link such as 0>1, *>2, or 0>1/3", in_quotes(words[i - 1])));
  for (; i < words.size(); i += 2) {
    const string_view value = i + 1 < words.size() ? words[i + 1] : string_view();
    bool ok = false;
    if (std::find(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i), words[i]) !=
        words.begin() + static_cast<std::ptrdiff_t>(i))
      return failure(fmt::format("{} is given twice", in_quotes(words[i])));
    if (words[i] == "packet") ok = read_integer(value, event.packet);
    if (words[i] == "from") ok = read_time(value, event.begin);
    if (words[i] == "to") ok = read_time(value, event.end);
    if (!ok)
      return failure(fmt::format("unknown condition {} {}; known: packet NUMBER, from TIME, to TIME",
                                 in_quotes(words[i]), in_quotes(value)));
  }
  if (event.end <= event.begin) return failure("it ends before it begins");
  events.push_back(event);
  if (down) {
    std::swap(event.source, event.destination);
    events.push_back(event);
  }
  return {};
}

// Used by one thread of each process.
class LogFile final : public FaultLog {
 public:
  LogFile(OpenFile file, string path) : file_(std::move(file)), path_(std::move(path)) {}

  void record(std::uint64_t link, std::uint64_t packet, Fault kind) override {
    // A packet's fault may be simulated several times, but happened once.
    if (known_.size() >= kMost || !known_.emplace(link, packet).second) return;
    FaultEvent event;
    event.kind = kind;
    event.source = Link::source(link);
    event.destination = Link::destination(link);
    event.channel = Link::channel(link);
    event.packet = packet;
    const string line = to_string(event) + "\n";
    // One call, so that lines of several processes do not interleave. A full disk loses lines.
    ssize_t written = 0;
    while ((written = write_or_fail(file_.get(), line.data(), line.size())) < 0 && errno == EINTR) continue;
    // Reported once; later lines are still tried.
    if (written < static_cast<ssize_t>(line.size()) && !std::exchange(lost_, true))
      report_lost("record of faults", path_, written < 0 ? std::strerror(errno) : std::strerror(ENOSPC));
  }

 private:
  static constexpr std::size_t kMost = 1 << 20;  // bounds memory and disk: some 40 MB of each
  OpenFile file_;
  string path_;
  bool lost_ = false;
  std::set<std::pair<std::uint64_t, std::uint64_t>> known_;
};

}  // namespace

Result<std::vector<FaultEvent>> parse_fault_script(string_view text) {
  std::vector<FaultEvent> events;
  for (std::size_t number = 1; !text.empty(); ++number) {
    string_view line = text.substr(0, text.find_first_of("\n;"));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const auto words = words_of(line.substr(0, line.find('#')));
    if (words.empty()) continue;
    if (const Result<void> read = read_line(words, events); !read)
      return failure(fmt::format("event {}: {}", number, read.error()));
  }
  return events;
}

string to_string(const FaultEvent& event) {
  const auto* const kind =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const KindName& k) { return k.kind == event.kind; });
  string text(kind == kKinds.end() ? "none" : kind->name);
  const auto end_of = [](const std::optional<std::uint32_t>& end) {
    return end ? fmt::format("{}", *end) : "*";
  };
  text += fmt::format(" {}>{}", end_of(event.source), end_of(event.destination));
  if (event.channel) text += fmt::format("/{}", *event.channel);
  if (event.packet) text += fmt::format(" packet {}", *event.packet);
  // Picoseconds are exact, so a record reproduces its faults.
  if (event.begin != Time()) text += fmt::format(" from {}ps", event.begin.count());
  if (event.end != Time::never()) text += fmt::format(" to {}ps", event.end.count());
  return text;
}

Result<std::shared_ptr<FaultLog>> open_fault_log(const string& path, bool fresh) {
  Result<OpenFile> file = fresh ? open_named_output(path, Naming::kTyped, true) : join_named_output(path);
  if (file) return std::shared_ptr<FaultLog>(std::make_shared<LogFile>(std::move(*file), path));
  return failure(fmt::format("cannot record faults in {}: {}", path, file.error()));
}

}  // namespace offramp
