// A call's number is given when it is entered, and the calls of several threads end in another order, so
// entry() sorts. In the JSON, function names are literals and need no escaping; names of units and stages are
// escaped by the JSON library. Stages are listed once, and spans refer to them by index.
#include "lib/answers/report/receipts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

namespace offramp {

void ReceiptRecorder::select_thread(std::uint32_t thread) {
  if (thread == thread_) return;
  others_.resize(std::max<std::size_t>(others_.size(), std::max(thread, thread_) + std::size_t{1}));
  others_[thread_] = std::exchange(current_, others_[thread]);
  thread_ = thread;
}

void ReceiptRecorder::leave(const char* function, std::uint32_t site, Time begin, Time end) {
  if (is_wanted()) store(ended_, {current_, function, begin, end, phase_, site}, kMostCalls);
  current_ = 0;
}

void ReceiptRecorder::used(std::uint64_t operation) {
  if (!is_wanted()) return;
  // A blocking call begins an operation and learns of its end.
  const Use use{current_, operation};
  if (!uses_.empty() && uses_.back().call == use.call && uses_.back().operation == use.operation) return;
  store(uses_, use, kMostSpans);
}

Receipts::Rank ReceiptRecorder::entry() const {
  Receipts::Rank rank;
  rank.dropped = dropped_;
  std::vector<Use> uses = uses_;
  std::stable_sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) { return a.call < b.call; });
  std::vector<Ended> ended = ended_;
  std::sort(ended.begin(), ended.end(), [](const Ended& a, const Ended& b) { return a.number < b.number; });
  auto use = uses.begin();
  for (const Ended& one : ended) {
    Receipts::Call& call = rank.calls.emplace_back();
    call = {one.number, one.function, one.begin, one.end, {}, one.phase, one.site};
    while (use != uses.end() && use->call < call.number) ++use;
    for (; use != uses.end() && use->call == call.number; ++use) call.operations.push_back(use->operation);
  }
  for (const auto& [message, collective] : parts_) rank.parts.push_back({message, collective});
  // A stage's name is said once; spans refer to it by its place.
  std::map<std::pair<std::string_view, std::string_view>, std::uint32_t> stages;
  for (const Span& span : spans_) {
    const auto [stage, is_new] =
        stages.try_emplace({span.unit, span.what}, static_cast<std::uint32_t>(stages.size()));
    if (is_new) rank.stages.push_back({std::string(span.unit), std::string(span.what)});
    rank.spans.push_back({stage->second, span.begin, span.end, span.operation});
  }
  return rank;
}

std::string ReceiptRecorder::json(int rank) const {
  fmt::memory_buffer out;
  const auto add = [&out]<typename... A>(fmt::format_string<A...> format, A&&... arguments) {
    fmt::format_to(std::back_inserter(out), format, std::forward<A>(arguments)...);
  };
  const Receipts::Rank own = entry();
  add("{{\"rank\": {}, \"dropped\": {},\n\"calls\": [", rank, own.dropped);
  for (std::size_t i = 0; i < own.calls.size(); ++i) {
    const Receipts::Call& call = own.calls[i];
    add("{}\n[{}, \"{}\", {}, {}, [{}]]", i == 0 ? "" : ",", call.number, call.function, call.begin.count(),
        call.end.count(), fmt::join(call.operations, ", "));
  }
  add("],\n\"parts\": [");
  for (std::size_t i = 0; i < own.parts.size(); ++i)
    add("{}[{}, {}]", i == 0 ? "" : ",\n", own.parts[i].message, own.parts[i].collective);
  nlohmann::json stages = nlohmann::json::array();
  for (const Receipts::Stage& stage : own.stages) stages.push_back({stage.unit, stage.what});
  add("],\n\"stages\": {},\n\"spans\": [",
      stages.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
  for (std::size_t i = 0; i < own.spans.size(); ++i) {
    const Receipts::KnownSpan& span = own.spans[i];
    add("{}[{}, {}, {}, {}]", i == 0 ? "" : ",\n", span.stage, span.begin.count(), span.end.count(),
        span.operation);
  }
  add("]}}");
  return fmt::to_string(out);
}

}  // namespace offramp
