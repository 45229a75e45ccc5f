#include "lib/report/receipts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

namespace offramp {

void ReceiptRecorder::turn(std::uint32_t thread) {
  if (thread == thread_) return;
  others_.resize(std::max<std::size_t>(others_.size(), std::max(thread, thread_) + std::size_t{1}));
  others_[thread_] = std::exchange(current_, others_[thread]);
  thread_ = thread;
}

void ReceiptRecorder::leave(const char* function, Time begin, Time end) {
  if (is_wanted()) keep(ended_, {current_, function, begin, end}, kMostCalls);
  current_ = 0;
}

void ReceiptRecorder::used(std::uint64_t operation) {
  if (!is_wanted()) return;
  // A blocking call begins an operation and learns of its end.
  const Use use{current_, operation};
  if (!uses_.empty() && uses_.back().call == use.call && uses_.back().operation == use.operation) return;
  keep(uses_, use, kMostSpans);
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
