#include "lib/report/receipts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

namespace offramp {

std::uint64_t ReceiptRecorder::enter() {
  return current_ = ++calls_;
}

void ReceiptRecorder::leave(std::uint64_t number, const char* function, Time begin, Time end) {
  if (range_.contains(number)) keep(ended_, {number, function, begin, end}, kMostCalls);
}

void ReceiptRecorder::record(const Span& span) {
  if (next_ != nullptr) next_->record(span);
  if (wanted() && span.operation != 0 && span.end > span.begin) keep(spans_, span, kMostSpans);
}

void ReceiptRecorder::used(std::uint64_t operation) {
  if (!wanted()) return;
  // A blocking call begins an operation and learns of its end.
  const Use use{current_, operation};
  if (!uses_.empty() && uses_.back().call == use.call && uses_.back().operation == use.operation) return;
  keep(uses_, use, kMostSpans);
}

void ReceiptRecorder::part(std::uint64_t message, std::uint64_t collective) {
  if (wanted()) keep(parts_, {message, collective}, kMostSpans);
}

void ReceiptRecorder::host(std::uint64_t operation, std::string_view what, Time begin, Time end) {
  if (wanted() && end > begin) keep(spans_, {kHostUnit, what, begin, end, operation}, kMostSpans);
}

std::string ReceiptRecorder::json(int rank) const {
  fmt::memory_buffer out;
  const auto add = [&out]<typename... A>(fmt::format_string<A...> format, A&&... arguments) {
    fmt::format_to(std::back_inserter(out), format, std::forward<A>(arguments)...);
  };
  std::vector<Use> uses = uses_;
  std::stable_sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) { return a.call < b.call; });
  std::vector<Ended> ended = ended_;
  std::sort(ended.begin(), ended.end(), [](const Ended& a, const Ended& b) { return a.number < b.number; });
  add("{{\"rank\": {}, \"dropped\": {},\n\"calls\": [", rank, dropped_);
  auto use = uses.begin();
  for (std::size_t i = 0; i < ended.size(); ++i) {
    const Ended& call = ended[i];
    add("{}\n[{}, \"{}\", {}, {}, [", i == 0 ? "" : ",", call.number, call.function, call.begin.count(),
        call.end.count());
    while (use != uses.end() && use->call < call.number) ++use;
    const char* comma = "";
    for (; use != uses.end() && use->call == call.number; ++use) {
      add("{}{}", comma, use->operation);
      comma = ", ";
    }
    add("]]");
  }
  add("],\n\"parts\": [");
  for (std::size_t i = 0; i < parts_.size(); ++i)
    add("{}[{}, {}]", i == 0 ? "" : ",\n", parts_[i].first, parts_[i].second);
  // A stage's name is said once; spans refer to it by its place.
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> stages;
  for (const Span& span : spans_) stages.try_emplace({span.unit, span.what}, stages.size());
  std::vector<std::pair<std::string_view, std::string_view>> names(stages.size());
  for (const auto& [name, place] : stages) names[place] = name;
  add("],\n\"stages\": {},\n\"spans\": [",
      nlohmann::json(names).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
  for (std::size_t i = 0; i < spans_.size(); ++i) {
    const Span& span = spans_[i];
    add("{}[{}, {}, {}, {}]", i == 0 ? "" : ",\n", stages.at({span.unit, span.what}), span.begin.count(),
        span.end.count(), span.operation);
  }
  add("]}}");
  return fmt::to_string(out);
}

}  // namespace offramp
