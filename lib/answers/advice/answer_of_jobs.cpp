// The slowest program over any of the backends makes the first line. A ratio below 1.0005 counts as no
// slowdown, as in slower_text().
#include <fmt/format.h>

#include <filesystem>

#include "lib/answers/advice/answer_parts.hpp"
#include "lib/answers/report/link_loads.hpp"
#include "lib/base/format.hpp"

namespace offramp {

ReportAnswer answer_of_jobs(std::span<const Settled> replays, std::size_t background_nodes) {
  ReportAnswer answer;
  answer.kind = "jobs";
  answer.next = "repeat with --details";
  const Settled* slowest_over = nullptr;
  const SettledJob* slowest = nullptr;
  const auto name_of = [](const SettledJob& job) {
    return std::filesystem::path(job.program).filename().string();
  };
  const auto slowdown = [](const Settled& replay, const SettledJob& job) {
    return job.slowdown(*replay.result);
  };
  for (const Settled& replay : replays) {
    for (const SettledJob& job : replay.jobs) {
      const std::size_t number = static_cast<std::size_t>(&job - replay.jobs.data()) + 1;
      const Time end = replay.result->end(job.ranks);
      answer.bars.push_back({fmt::format("{}{} {}", replays.size() > 1 ? replay.backend + " " : std::string(),
                                         number, cut_text(name_of(job), 14)),
                             end, fmt::format("{} of alone", ratio_text(end, job.alone))});
      if (slowest == nullptr || slowdown(replay, job) > slowdown(*slowest_over, *slowest)) {
        slowest = &job;
        slowest_over = &replay;
      }
    }
  }
  if (slowest == nullptr) return answer;
  answer.end = slowest_over->result->end(slowest->ranks);
  answer.candidate = slowest_over->backend;
  const double ratio = slowdown(*slowest_over, *slowest);
  const std::string count =
      slowest_over->jobs.size() == 1 ? "1 program" : fmt::format("{} programs", slowest_over->jobs.size());
  answer.answer = ratio < 1.0005 ? fmt::format("{} at once: none takes longer than alone", count)
                                 : fmt::format("{} at once: {} {} than alone, over {}", count,
                                               cut_text(name_of(*slowest), 28), slower_text(ratio),
                                               slowest_over->backend);
  const ReplayResult& result = *slowest_over->result;
  const std::vector<const LinkUse*> links = busiest(result.links, 1);
  const double waited = waited_for(result.links);
  if (!links.empty())
    answer.why =
        clauses_text({waited > 0 ? fmt::format("messages wait {} for shared links", time_text(waited))
                                 : "no message waits for a shared link",
                      fmt::format("the busiest is in use {}",
                                  share_text(ratio_of(links.front()->busy, result.modelled_time)))});
  else
    answer.why = "the programs share no link";
  if (background_nodes > 0) answer.but = fmt::format("with traffic between {} other nodes", background_nodes);
  return answer;
}

}  // namespace offramp
