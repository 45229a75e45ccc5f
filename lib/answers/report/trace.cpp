// Writer makes one rank's events. Spans that overlap on a unit go to further tracks of the same name. Arrows
// need both ends of a message, which are in two ranks' recorders: each end's slice has the message's number,
// and the viewer joins them.
//
// Compressed traces of long programs are still large, and deflate finds repetitions within 32 KiB only. So
// slices of all units are in the order of time: members of one operation are near each other, and times have
// common prefixes. The fields that differ from slice to slice are at the end of a line.
#include "lib/answers/report/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "offramp/kernel/operation_id.hpp"

namespace offramp {
namespace {

/// Tracks of one unit: a span goes to the first one that is free at its begin.
class Tracks {
 public:
  std::size_t place(const Span& span) {
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      if (ends_[i] <= span.begin) {
        ends_[i] = span.end;
        return i;
      }
    }
    ends_.push_back(span.end);
    return ends_.size() - 1;
  }

 private:
  std::vector<Time> ends_;
};

class Writer {
 public:
  Writer(int rank, const TraceFacts& facts, const TracePlace& place)
      : facts_(facts), place_(place), process_(place.processes + rank) {
    add("{}", trace_process(process_, fmt::format("{}rank {}", place.label, rank)));
  }

  void unit(std::string_view name, std::vector<const Span*>& spans) {
    std::stable_sort(spans.begin(), spans.end(),
                     [](const Span* a, const Span* b) { return a->begin < b->begin; });
    Tracks tracks;
    std::map<std::size_t, int> ids;
    for (const Span* span : spans) {
      const std::size_t track = tracks.place(*span);
      if (!ids.contains(track)) ids[track] = new_track(name, track);
      slices_.push_back({span, ids[track]});
    }
  }

  /// After the last unit. rank: of the recorder.
  void slices(int rank) {
    std::stable_sort(slices_.begin(), slices_.end(), [](const Slice& a, const Slice& b) {
      return std::pair(a.span->begin, a.span->operation) < std::pair(b.span->begin, b.span->operation);
    });
    add_arrows(rank);
    for (const Slice& one : slices_) slice(one);
  }

  std::string release_text() { return std::string(text_.data(), text_.size()); }

 private:
  template <typename... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    if (text_.size() > 0) text_.append(std::string_view(kTraceSeparator));
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
  }

  int new_track(std::string_view unit, std::size_t number) {
    const int id = ++tracks_;
    const std::string name = number == 0 ? std::string(unit) : fmt::format("{} ({})", unit, number + 1);
    add(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":{}}}}})", process_, id,
        trace_quoted(name));
    add(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_sort_index","args":{{"sort_index":{}}}}})", process_,
        id, id);
    return id;
  }

  enum class Arrow : std::uint8_t { kNone, kOut, kIn };
  struct Slice {
    const Span* span = nullptr;
    int track = 0;
    Arrow arrow = Arrow::kNone;
  };

  /// From the first slice of a message on its sender's hardware to the last that begins on its receiver's.
  /// Messages of collectives have arrows, and collectives themselves have none.
  void add_arrows(int rank) {
    std::map<std::uint64_t, std::pair<Slice*, Slice*>> ends;
    for (Slice& one : slices_) {
      const std::uint64_t operation = one.span->operation;
      if (operation == 0 || (operation & kCollectiveOperation) != 0 || one.span->unit == kTraceCalls)
        continue;
      auto& [first, last] = ends[operation];
      if (first == nullptr) first = &one;
      last = &one;
    }
    for (const auto& [operation, slices] : ends) {
      const auto& [first, last] = slices;
      const bool sent_here = rank_of_operation(operation) == rank;
      const auto known = facts_.find(operation);
      const bool received_here = !sent_here || (known != facts_.end() && known->second.peer == rank);
      // A message to oneself may be one copy in memory: no way from here to there.
      if (sent_here && received_here && first == last) continue;
      if (sent_here) first->arrow = Arrow::kOut;
      if (received_here) last->arrow = Arrow::kIn;
    }
  }

  /// The number of a message in the file. The number of its sender is inserted before the last four digits of
  /// its number at the sender, so that files of short programs have short numbers. 2^31 messages of 4 000 000
  /// processes stay below 2^53, up to which every viewer reads integers exactly.
  [[nodiscard]] std::uint64_t arrow_number(std::uint64_t operation) const {
    constexpr std::uint64_t kTogether = 10'000;
    constexpr std::uint64_t kProcesses = 4'000'000;
    const std::uint64_t number = number_of(operation);
    const auto process = static_cast<std::uint64_t>(place_.processes + rank_of_operation(operation));
    return (number / kTogether * kProcesses + process) * kTogether + number % kTogether;
  }
  static std::uint64_t number_of(std::uint64_t operation) {
    return operation & 0xffffffff & ~kCollectiveOperation;
  }

  /// What the operation is about, as members of "args" behind its name.
  [[nodiscard]] std::string about(std::uint64_t operation) const {
    const auto found = facts_.find(operation);
    if (found == facts_.end()) return {};
    const OperationFacts& facts = found->second;
    if (facts.access != Access::kNone)
      return fmt::format(R"(,"access":{},"bytes":{},"from":{},"target":{})",
                         trace_quoted(to_string(facts.access)), facts.bytes, rank_of_operation(operation),
                         facts.peer);
    if (facts.kind == OperationKind::kSend)
      return fmt::format(R"(,"bytes":{},"from":{},"to":{},"tag":{},"communicator":{})", facts.bytes,
                         rank_of_operation(operation), facts.peer, facts.tag, facts.context);
    const std::string root = facts.peer >= 0 ? fmt::format(R"(,"root":{})", facts.peer) : std::string();
    return fmt::format(R"(,"collective":{},"bytes":{}{},"communicator":{})",
                       trace_quoted(to_string(facts.kind)), facts.bytes, root, facts.context);
  }

  void slice(const Slice& one) {
    const Span& span = *one.span;
    const Time length = later(span.end - span.begin, {});
    add(R"({{"ts":{})", trace_microseconds(span.begin));
    const auto out = std::back_inserter(text_);
    if (span.operation != 0)
      fmt::format_to(out, R"(,"args":{{"operation":"{}.{}"{}}})", rank_of_operation(span.operation),
                     number_of(span.operation), about(span.operation));
    fmt::format_to(out, R"(,"ph":"X","pid":{},"tid":{},"name":{},"dur":{})", process_, one.track,
                   trace_quoted(span.what), trace_microseconds(length));
    if (one.arrow != Arrow::kNone)
      fmt::format_to(out, R"(,"flow_{}":true,"bind_id":{})", one.arrow == Arrow::kOut ? "out" : "in",
                     arrow_number(span.operation));
    text_.push_back('}');
  }

  std::vector<Slice> slices_;
  const TraceFacts& facts_;
  const TracePlace& place_;
  int process_;
  int tracks_ = 0;
  fmt::memory_buffer text_;
};

}  // namespace

std::string trace_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else {
      out += static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e ? '?' : c;
    }
  }
  return out + '"';
}

std::string trace_microseconds(Time time) {
  const std::int64_t ps = std::max<std::int64_t>(time.count(), 0);
  std::string text = fmt::format("{}.{:06}", ps / 1'000'000, ps % 1'000'000);
  text.resize(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string trace_process(int process, std::string_view name) {
  return fmt::format(R"({{"ph":"M","pid":{0},"name":"process_name","args":{{"name":{1}}}}}{2})"
                     R"({{"ph":"M","pid":{0},"name":"process_sort_index","args":{{"sort_index":{0}}}}})",
                     process, trace_quoted(name), kTraceSeparator);
}

std::string trace_events(const TraceRecorder& recorder, const TraceFacts& facts, const TracePlace& place) {
  std::map<std::string_view, std::vector<const Span*>> units;
  for (const Span& span : recorder.spans()) units[span.unit].push_back(&span);
  Writer writer(recorder.rank(), facts, place);
  if (const auto calls = units.find(kTraceCalls); calls != units.end()) {
    writer.unit(kTraceCalls, calls->second);
    units.erase(calls);
  }
  for (auto& [name, spans] : units) writer.unit(name, spans);
  writer.slices(recorder.rank());
  return writer.release_text();
}

}  // namespace offramp
