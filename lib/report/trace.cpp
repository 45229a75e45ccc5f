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

constexpr std::string_view kCallsTrack = "MPI";  // the track of the program's calls comes first

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
  explicit Writer(int rank) : rank_(rank) {
    add("{{\"ph\": \"M\", \"pid\": {}, \"name\": \"process_name\", \"args\": {{\"name\": \"rank {}\"}}}}",
        rank, rank);
    add("{{\"ph\": \"M\", \"pid\": {}, \"name\": \"process_sort_index\", \"args\": {{\"sort_index\": {}}}}}",
        rank, rank);
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
    add("{{\"ph\": \"{}\", \"cat\": \"message\", \"name\": \"message\", \"id\": {}, \"pid\": {}, \"tid\": "
        "{}, \"ts\": {}{}}}",
        phase, span.operation, rank_, track, trace_microseconds(at), *phase == 'f' ? ", \"bp\": \"e\"" : "");
  }

  struct End {
    const Span* span = nullptr;
    int track = 0;
  };
  /// Where each operation begins and ends on this rank.
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
    add("{{\"ph\": \"M\", \"pid\": {}, \"tid\": {}, \"name\": \"thread_name\", \"args\": {{\"name\": {}}}}}",
        rank_, id, trace_quoted(name));
    add("{{\"ph\": \"M\", \"pid\": {}, \"tid\": {}, \"name\": \"thread_sort_index\", \"args\": "
        "{{\"sort_index\": {}}}}}",
        rank_, id, id);
    return id;
  }

  void slice(const Span& span, int track) {
    const Time length = later(span.end - span.begin, {});
    add("{{\"ph\": \"X\", \"pid\": {}, \"tid\": {}, \"ts\": {}, \"dur\": {}, \"name\": {}, \"args\": "
        "{{\"operation\": "
        "\"{}.{}\"}}}}",
        rank_, track, trace_microseconds(span.begin), trace_microseconds(length), trace_quoted(span.what),
        span.operation >> 32, span.operation & 0xffffffff & ~kCollectiveOperation);
    if (span.operation == 0) return;
    auto& [first, last] = ends[span.operation];
    if (first.span == nullptr || span.begin < first.span->begin) first = {&span, track};
    if (last.span == nullptr || span.end >= last.span->end) last = {&span, track};
  }

  int rank_;
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

std::string trace_events(const TraceRecorder& recorder) {
  std::map<std::string_view, std::vector<const Span*>> units;
  for (const Span& span : recorder.spans()) units[span.unit].push_back(&span);
  Writer writer(recorder.rank());
  if (const auto calls = units.find(kCallsTrack); calls != units.end()) {
    writer.unit(kCallsTrack, calls->second);
    units.erase(calls);
  }
  for (auto& [name, spans] : units) writer.unit(name, spans);
  for (const auto& [operation, ends] : writer.ends) {
    if ((operation & kCollectiveOperation) != 0) continue;  // its messages have arrows
    const auto& [first, last] = ends;
    const bool sent_here = static_cast<int>(operation >> 32) == recorder.rank();
    const bool received_here =
        !sent_here || std::binary_search(recorder.to_self().begin(), recorder.to_self().end(), operation);
    // A message to oneself may be one copy in memory: no way from here to there.
    if (sent_here && received_here && first.span == last.span) continue;
    if (sent_here) writer.arrow("s", *first.span, first.track);
    if (received_here) writer.arrow("f", *last.span, last.track);
  }
  return writer.take();
}

}  // namespace offramp
