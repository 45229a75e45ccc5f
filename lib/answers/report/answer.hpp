// The answer to a question about a program: one sentence, a line each on the reason, the certainty, what
// speaks against it, and the next step, and a bar for each candidate. The terminal, the page, the JSON, and
// the Python module show this one object.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "offramp/kernel/time.hpp"

namespace offramp {

/// A candidate.
struct ReportAnswerBar {
  std::string name;
  Time end;          // of the run, or of communication if no computing is known; 0: there is none to compare
  std::string note;  // "not tried (time)"
};

/// A change of the baseline that needs no hardware.
struct ReportFreeChange {
  std::string name;
  std::string how;  // the option that makes it; empty: all together
  Time end;         // of the run with it
};

/// Texts are one line each, and empty if there is nothing to say.
struct ReportAnswer {
  std::string answer;  // twelve words at most
  std::string why;
  std::string sure;
  std::string but;
  std::string machine;  // what the baseline's times assume
  std::string where;    // the call site with the most time in MPI, and what bounds it
  std::string test;     // the measurement that would decide
  std::string native;   // the program's own run, and the baseline's model of it
  std::string next;
  std::vector<ReportAnswerBar> bars;           // the fastest first; of a change before and after
  std::vector<std::string> details;            // texts of several lines
  std::vector<ReportFreeChange> free_changes;  // the best first
  std::string routes;  // the best mix as lines of offramp.toml; empty if none was found
  // The same for programs that read it.
  std::string kind;       // "hardware", "algorithm", "link", "baseline", "nothing", "unknown"; of a change
                          // "change", "none"; of a program at more ranks "scaled"; of one backend "single",
                          // of a sweep "sweep", of several programs at once "jobs"
  std::string candidate;  // the best hardware, or the algorithm that is better; empty: none was compared
  Time baseline;          // takes so long as it is
  Time native_run;        // of the recorded program; 0: not known
  Time native_modelled;   // the same run over the baseline's model; 0: not compared
  Time end;               // the candidate does, at the baseline's link
  Time earliest;          // end, if the models' errors favour the candidate, and if they favour the baseline;
  Time latest;            // 0: the errors are not known
  bool of_run = false;    // times are those of the run, not of communication alone
  bool holds = false;     // earliest and latest give the same answer
  bool complete = true;   // all candidates were tried
};

/// Sorts the fastest first, and those without a time last.
void sort_bars(std::vector<ReportAnswerBar>& bars);

/// The time of the longest bar that is drawn in full: that of the baseline, or three times that of the
/// fastest candidate if that is longer, so that small differences stay visible. Bars of longer times are cut.
/// Times of 0 are unknown.
Time longest_bar(const std::vector<Time>& ends, Time baseline);

/// The lines between the first one and the bars, each with its label, without empty ones.
std::vector<std::pair<std::string_view, std::string>> answer_lines(const ReportAnswer& answer);

/// At most sixteen lines, which go on in the next one behind `columns`. The command behind "next" stays
/// on one of at most 80. Other characters than printable ones are escaped.
std::string answer_text(const ReportAnswer& answer, std::size_t columns = 80);

/// The first line: "NAME: TEXT", with `more` if it fits. Cuts the name so that the text stays whole.
std::string headline(std::string_view name, const std::string& text, const std::string& more = {});

/// As many clauses as fit into one line of an answer, with "; " between them. The first one may have
/// two, and is cut there, at a comma if there is one late in the line; empty clauses are skipped.
std::string clauses_text(const std::vector<std::string>& clauses);

/// A part of 1 in percent: "19 %", below 10 % with a decimal.
std::string share_text(double part);

using CallTime = std::pair<Time, std::string_view>;
/// "MPI_Wait 55 %, MPI_Send 30 % of the time in MPI calls". Empty if no call takes time.
std::string busiest_calls_text(std::vector<CallTime> calls);

/// "free communication would save 19 % of the run"
std::string free_gain_text(Time free, Time end);

/// "7.5 % slower", "2.2 times slower"; "19 % shorter"; "as fast" if less than 0.05 % apart.
std::string slower_text(double ratio);

/// "37.7 instead of 46.5 ms"
std::string ends_text(Time end, Time instead_of);
/// "46.5 -> 37.7 ms"
std::string arrow_text(Time before, Time after);

/// A text that is cut to so many columns, with "..." at its end.
std::string cut_text(std::string_view text, std::size_t columns);

}  // namespace offramp
