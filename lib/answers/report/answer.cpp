// The layout is fixed for a terminal of 80 columns: sixteen lines, 74 characters behind a label, bars of at
// most 28. Text is cut at clauses and names before it is folded. Two times are printed in the unit of the
// longer one, so that they can be compared at a glance.
#include "lib/answers/report/answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "lib/base/format.hpp"
#include "lib/base/printable.hpp"

namespace offramp {
namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kLines = 16;                   // nine of text, and a bar for each backend
constexpr std::size_t kLabel = 6;                    // "sure  "
constexpr std::size_t kLongest = kColumns - kLabel;  // text behind a label
constexpr std::size_t kTwoLines = 2 * kLongest;
constexpr std::size_t kBar = 28;

/// Breaks a line at blanks. The lines that follow begin with `indent` blanks. Longer words stay whole.
std::string folded(std::string text, std::size_t indent, std::size_t columns) {
  std::string lines;
  while (text.size() > columns) {
    std::size_t end = text.rfind(' ', columns);
    if (end == std::string::npos || end <= indent) end = text.find(' ', columns);
    if (end == std::string::npos) break;
    lines += text.substr(0, end) + "\n";
    text.replace(0, end + 1, indent, ' ');
  }
  return lines + text;
}

std::string bar_text(const ReportAnswerBar& bar, Time baseline, Time longest, std::size_t names,
                     std::size_t columns) {
  constexpr std::size_t kShortestBar = 4;
  std::string text = fmt::format("  {:<{}}  ", printable(bar.name), names);
  const std::size_t indent = text.size();
  if (bar.end <= Time()) return folded(text + printable(bar.note, 400), indent, columns);
  const std::size_t beside = indent + std::string_view(" 247.2 us  x1.00").size() + 2;
  const std::size_t room = std::clamp(columns - std::min(columns, beside), kShortestBar, kBar);
  const double share = std::min(1.0, bar.end.seconds() / longest.seconds());
  const auto width =
      std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(share * static_cast<double>(room))));
  const bool is_cut = bar.end > longest;
  text += fmt::format("{:<{}} {:>9}", std::string(width - (is_cut ? 1 : 0), '#') + (is_cut ? ">" : ""), room,
                      time_text(bar.end));
  if (baseline > Time()) text += fmt::format("  {:>6}", ratio_text(bar.end, baseline));
  if (!bar.note.empty()) text += "  " + printable(bar.note, 400);
  return folded(text, indent, columns);
}

/// Two times in the unit of the longer one, with three digits.
std::tuple<std::string, std::string, std::string> figures(Time one, Time other) {
  const std::string longer = time_text(later(one, other));
  const std::string unit = longer.substr(longer.find(' ') + 1);
  const double scale = unit == "s" ? 1 : unit == "ms" ? 1e3 : unit == "us" ? 1e6 : 1e9;
  const auto figure = [scale](Time time) {
    const double value = scale * time.seconds();
    return value < 999.5 ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value);
  };
  return {figure(one), figure(other), unit};
}

}  // namespace

std::string share_text(double part) {
  return percent_text(part, 1, part < 0.0995 ? 1 : 0);
}

std::string free_gain_text(Time free, Time end) {
  const double ratio = end > Time() ? free.seconds() / end.seconds() : 1;
  return fmt::format("free communication would save {} of the run", share_text(std::max(0.0, 1 - ratio)));
}

std::string busiest_calls_text(std::vector<CallTime> calls) {
  constexpr std::size_t kNamed = 2;
  double all = 0;
  for (const auto& [time, name] : calls) all += time.seconds();
  std::ranges::stable_sort(calls, std::ranges::greater(), &CallTime::first);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(kNamed, calls.size()) && calls[i].first > Time(); ++i)
    texts.push_back(fmt::format("{} {}", calls[i].second, share_text(calls[i].first.seconds() / all)));
  return texts.empty() ? std::string() : fmt::format("{} of the time in MPI calls", fmt::join(texts, ", "));
}

std::string slower_text(double ratio) {
  if (std::abs(ratio - 1) < 0.0005) return "as fast";
  if (ratio < 1) return share_text(1 - ratio) + " shorter";
  return ratio < 2 ? share_text(ratio - 1) + " slower"
                   : fmt::format("{:.{}f} times slower", ratio, ratio < 9.95 ? 1 : 0);
}

std::string ends_text(Time end, Time instead_of) {
  const auto [first, second, unit] = figures(end, instead_of);
  return fmt::format("{} instead of {} {}", first, second, unit);
}

std::string arrow_text(Time before, Time after) {
  const auto [first, second, unit] = figures(before, after);
  return fmt::format("{} -> {} {}", first, second, unit);
}

std::string cut_text(std::string_view text, std::size_t columns) {
  constexpr std::string_view kCut = "...";
  return text.size() <= columns ? std::string(text)
                                : std::string(text.substr(0, columns - kCut.size())).append(kCut);
}

std::string headline(std::string_view name, const std::string& text, const std::string& more) {
  constexpr std::size_t kShortestName = 12;
  constexpr std::size_t kLongestName = 28;
  const std::size_t room = kColumns - std::min(kColumns, text.size() + 2);
  const std::string line =
      fmt::format("{}: {}", cut_text(name, std::clamp(room, kShortestName, kLongestName)), text);
  return line.size() + more.size() <= kColumns ? line + more : line;
}

std::string clauses_text(const std::vector<std::string>& clauses) {
  std::string text;
  for (const std::string& clause : clauses) {
    if (clause.empty()) continue;
    if (text.empty()) {
      const std::size_t comma = clause.size() > kTwoLines ? clause.rfind(", ", kTwoLines) : std::string::npos;
      text = comma != std::string::npos && comma > kLongest ? clause.substr(0, comma) : clause;
    } else if (text.size() + clause.size() + 2 <= kLongest) {
      text += "; " + clause;
    }
  }
  return text;
}

void sort_bars(std::vector<ReportAnswerBar>& bars) {
  const auto place = [](const ReportAnswerBar& bar) { return std::pair(bar.end <= Time(), bar.end); };
  std::ranges::stable_sort(bars, {}, place);
}

Time longest_bar(const std::vector<Time>& ends, Time baseline) {
  constexpr std::int64_t kMostOfFastest = 3;
  Time fastest;
  Time longest;
  for (const Time end : ends) {
    if (end > Time() && (fastest <= Time() || end < fastest)) fastest = end;
    longest = later(longest, end);
  }
  return earlier(longest, later(baseline, kMostOfFastest * fastest));
}

std::vector<std::pair<std::string_view, std::string>> answer_lines(const ReportAnswer& answer) {
  std::vector<std::pair<std::string_view, std::string>> lines{
      {"on", answer.machine}, {"why", answer.why},   {"at", answer.where},   {"sure", answer.sure},
      {"but", answer.but},    {"test", answer.test}, {"run", answer.native}, {"next", answer.next}};
  std::erase_if(lines, [](const auto& line) { return line.second.empty(); });
  return lines;
}

std::string answer_text(const ReportAnswer& answer, std::size_t columns) {
  std::vector<std::string> lines = {folded(printable(answer.answer, 400), kLabel, columns)};
  for (const auto& [label, line] : answer_lines(answer)) {
    const std::string text = fmt::format("{:<{}}{}", label, kLabel, printable(line, 400));
    lines.push_back(label == "next" ? cut_text(text, kColumns) : folded(text, kLabel, columns));
  }
  std::vector<Time> ends;
  std::size_t names = 0;
  for (const ReportAnswerBar& bar : answer.bars) {
    ends.push_back(bar.end);
    names = std::max(names, std::min<std::size_t>(printable(bar.name).size(), 24));
  }
  const Time longest = longest_bar(ends, answer.baseline);
  const std::size_t room = kLines - lines.size();
  const bool all = answer.bars.size() <= room;
  for (std::size_t i = 0; i < (all ? answer.bars.size() : room - 1); ++i)
    lines.push_back(bar_text(answer.bars[i], answer.baseline, longest, names, columns));
  if (!all) lines.push_back(fmt::format("  {}", and_more_text(answer.bars.size() - (room - 1))));
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

}  // namespace offramp
