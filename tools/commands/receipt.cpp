// Times are exact, in picoseconds, and the parts add up to the call. The default sums pieces by stage,
// because a long call has thousands; --timeline lists them. The listing shows the longest calls, JSON all of
// them.
#include "tools/commands/receipt.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "lib/answers/report/read_report.hpp"
#include "lib/answers/report/receipt.hpp"
#include "lib/base/configuration/configuration_file.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text_format.hpp"
#include "tools/command_line/tool.hpp"

namespace offramp::tool {
namespace {

using Json = nlohmann::ordered_json;
using ReceiptCall = Receipts::Call;

constexpr std::size_t kListed = 20;

/// The total time of a stage in the call.
struct Sum {
  ReceiptLine line;
  Time time;
  std::size_t pieces = 0;
};

std::vector<Sum> sums_of(const std::vector<ReceiptLine>& lines) {
  std::map<std::tuple<int, std::string, std::string>, Sum> by_stage;
  for (const ReceiptLine& line : lines) {
    Sum& sum = by_stage[{line.rank, line.unit, line.what}];
    if (sum.pieces++ == 0) sum.line = line;
    sum.time += line.end - line.begin;
  }
  std::vector<Sum> sums;
  sums.reserve(by_stage.size());
  for (auto& [key, sum] : by_stage) sums.push_back(std::move(sum));
  std::stable_sort(sums.begin(), sums.end(), [](const Sum& a, const Sum& b) { return a.time > b.time; });
  return sums;
}

std::string printable_rank(int rank) {
  return rank < 0 ? "-" : fmt::format("{}", rank);
}

void print(const ReceiptCall& call, const ReceiptOptions& options, const std::vector<ReceiptLine>& lines) {
  const Time total = call.end - call.begin;
  fmt::print("call {} of rank {}: {}, takes {} ps, begins at {} ps\n", call.number, options.rank,
             printable(call.function), total.count(), call.begin.count());
  if (lines.empty()) return;
  const auto share = [total](Time t) {  // the column's head has the % sign
    const std::string text =
        percent_text(static_cast<double>(t.count()), static_cast<double>(total.count()), 2);
    return text.substr(0, text.find(' '));
  };
  if (options.timeline) {
    fmt::print("{:>18} {:>18} {:>5}  {:<20} {}\n", "from (ps)", "ps", "rank", "unit", "stage");
    for (const ReceiptLine& line : lines)
      fmt::print("{:>18} {:>18} {:>5}  {:<20} {}\n", (line.begin - call.begin).count(),
                 (line.end - line.begin).count(), printable_rank(line.rank), printable(line.unit),
                 printable(line.what));
  } else {
    fmt::print("{:>18} {:>7} {:>7} {:>5}  {:<20} {}\n", "ps", "%", "pieces", "rank", "unit", "stage");
    for (const Sum& sum : sums_of(lines))
      fmt::print("{:>18} {:>7} {:>7} {:>5}  {:<20} {}\n", sum.time.count(), share(sum.time), sum.pieces,
                 printable_rank(sum.line.rank), printable(sum.line.unit), printable(sum.line.what));
  }
  fmt::print("{:>18} {:>7}\n", total.count(), share(total));
}

void print_json(const ReceiptCall& call, const ReceiptOptions& options,
                const std::vector<ReceiptLine>& lines) {
  Json json = {{"rank", options.rank},
               {"call", call.number},
               {"function", call.function},
               {"begin_ps", call.begin.count()},
               {"modelled_ps", (call.end - call.begin).count()}};
  Json& stages = json["stages"] = Json::array();
  for (const ReceiptLine& line : lines)
    stages.push_back({{"rank", line.rank < 0 ? Json(nullptr) : Json(line.rank)},
                      {"unit", line.unit},
                      {"stage", line.what},
                      {"kind", kTimeKinds[static_cast<std::size_t>(line.kind)].field},
                      {"begin_ps", line.begin.count()},
                      {"time_ps", (line.end - line.begin).count()}});
  fmt::print("{}\n", json.dump(2));
}

/// Lists the longest calls.
void list(const Receipts::Rank& rank, const ReceiptOptions& options) {
  std::vector<const ReceiptCall*> calls;
  for (const ReceiptCall& call : rank.calls) calls.push_back(&call);
  std::stable_sort(calls.begin(), calls.end(), [](const ReceiptCall* a, const ReceiptCall* b) {
    return a->end - a->begin > b->end - b->begin;
  });
  if (options.json) {
    Json all = Json::array();
    for (const ReceiptCall* call : calls)
      all.push_back({{"call", call->number},
                     {"function", call->function},
                     {"modelled_ps", (call->end - call->begin).count()}});
    fmt::print("{}\n", all.dump(2));
    return;
  }
  fmt::print("{} calls of rank {}; the longest:\n{:>12} {:>18}  {}\n", calls.size(), options.rank, "call",
             "ps", "function");
  for (std::size_t i = 0; i < std::min(kListed, calls.size()); ++i)
    fmt::print("{:>12} {:>18}  {}\n", calls[i]->number, (calls[i]->end - calls[i]->begin).count(),
               printable(calls[i]->function));
}

int refuse(const std::string& what) {
  warn(what);
  return kUsage;
}

}  // namespace

int receipt(const ReceiptOptions& options) {
  const FileText file = read_file(options.report, true, kLargestReport);
  if (!file.problem.empty())
    return refuse(fmt::format("cannot read {}: {}", printable(options.report), file.problem));
  Result<Receipts> receipts = read_receipts(file.text, options.report);
  if (!receipts) return refuse(receipts.error());
  const auto& ranks = receipts->ranks;
  if (static_cast<std::size_t>(options.rank) >= ranks.size())
    return refuse(fmt::format("rank {} does not exist: the run had {}", options.rank, ranks.size()));
  const Receipts::Rank& rank = ranks[static_cast<std::size_t>(options.rank)];
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].dropped > 0)
      warn(
          fmt::format("the receipts of rank {} were full: {} entries are missing, and their time in later "
                      "calls is shown as the host's",
                      i, ranks[i].dropped));
  }
  if (options.call == 0) {
    list(rank, options);
    return kDone;
  }
  const auto call = std::find_if(rank.calls.begin(), rank.calls.end(),
                                 [&](const ReceiptCall& c) { return c.number == options.call; });
  if (call == rank.calls.end()) {
    const std::string known =
        rank.calls.empty() ? "none"
                           : fmt::format("{} to {}", rank.calls.front().number, rank.calls.back().number);
    return refuse(fmt::format("the report has no receipt of call {} of rank {}; it has {}", options.call,
                              options.rank, known));
  }
  const std::vector<ReceiptLine> lines = receipt_of(*receipts, options.rank, *call);
  options.json ? print_json(*call, options, lines) : print(*call, options, lines);
  return kDone;
}

}  // namespace offramp::tool
