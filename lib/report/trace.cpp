// Writer makes one rank's events, unit by unit, the program's calls first; spans that overlap on a unit go
// to further tracks of the same name. Arrows need both ends of a message, which are in two ranks'
// recorders: each end writes its half under the message's number, and the viewer joins them.
#include "lib/report/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>

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
      slice(*span, ids[track]);
    }
  }

  /// phase: s begins with the span; f ends with it, since a receive may begin long before its message.
  void arrow(const char* phase, const Span& span, int track) {
    const Time at = *phase == 's' ? span.begin : later(span.begin, span.end - Time::ps(1));
    const auto replays = static_cast<std::uint64_t>(place_.replays);
    add(R"({{"ph":"{}","cat":"message","name":"message","id":{},"pid":{},"tid":{},"ts":{}{}}})", phase,
        span.operation * replays + static_cast<std::uint64_t>(place_.replay), process_, track,
        trace_microseconds(at), *phase == 'f' ? R"(,"bp":"e")" : "");
  }

  struct End {
    const Span* span = nullptr;
    int track = 0;
  };
  /// Where each operation begins and ends on this rank's hardware.
  std::map<std::uint64_t, std::pair<End, End>> ends;

  std::string take() { return std::string(text_.data(), text_.size()); }

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

  /// What the operation is about, as members of "args" behind its name.
  [[nodiscard]] std::string about(std::uint64_t operation) const {
    const auto found = facts_.find(operation);
    if (found == facts_.end()) return {};
    const OperationFacts& facts = found->second;
    if (facts.kind == OperationKind::kSend)
      return fmt::format(R"(,"bytes":{},"from":{},"to":{},"tag":{},"communicator":{})", facts.bytes,
                         rank_of_operation(operation), facts.peer, facts.tag, facts.context);
    const std::string root = facts.peer >= 0 ? fmt::format(R"(,"root":{})", facts.peer) : std::string();
    return fmt::format(R"(,"collective":{},"bytes":{}{},"communicator":{})",
                       trace_quoted(to_string(facts.kind)), facts.bytes, root, facts.context);
  }

  void slice(const Span& span, int track) {
    const Time length = later(span.end - span.begin, {});
    add(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":{})", process_, track,
        trace_microseconds(span.begin), trace_microseconds(length), trace_quoted(span.what));
    if (span.operation != 0)
      fmt::format_to(std::back_inserter(text_), R"(,"args":{{"operation":"{}.{}"{}}})",
                     rank_of_operation(span.operation), span.operation & 0xffffffff & ~kCollectiveOperation,
                     about(span.operation));
    text_.push_back('}');
    if (span.operation == 0 || span.unit == kTraceCalls) return;
    auto& [first, last] = ends[span.operation];
    if (first.span == nullptr || span.begin < first.span->begin) first = {&span, track};
    if (last.span == nullptr || span.end >= last.span->end) last = {&span, track};
  }

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
  return fmt::format("{}.{:06}", ps / 1'000'000, ps % 1'000'000);
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
  for (const auto& [operation, ends] : writer.ends) {
    if ((operation & kCollectiveOperation) != 0) continue;  // its messages have arrows
    const auto& [first, last] = ends;
    const bool sent_here = rank_of_operation(operation) == recorder.rank();
    const auto known = facts.find(operation);
    const bool received_here = !sent_here || (known != facts.end() && known->second.peer == recorder.rank());
    // A message to oneself may be one copy in memory: no way from here to there.
    if (sent_here && received_here && first.span == last.span) continue;
    if (sent_here) writer.arrow("s", *first.span, first.track);
    if (received_here) writer.arrow("f", *last.span, last.track);
  }
  return writer.take();
}

}  // namespace offramp
