// Plans of MSCCL++ as programs and as algorithms.
#include <fmt/format.h>

#include <map>
#include <mutex>

#include "lib/recording/source.hpp"
#include "lib/trace/algorithm.hpp"
#include "lib/trace/mscclpp_plan.hpp"
#include "lib/trace/mscclpp_run.hpp"
#include "lib/trace/openers.hpp"

namespace offramp::trace {
namespace {

constexpr std::size_t kLongestFile = std::size_t{64} << 20U;

/// An object of JSON whose first names are those of a plan, in any order.
bool begins_as_plan(std::string_view begin) {
  const std::size_t first = begin.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || begin[first] != '{') return false;
  return begin.find("\"collective\"") != std::string_view::npos &&
         begin.find("\"protocol\"") != std::string_view::npos;
}

/// A plan whose graphs are made when a rank asks for them: all ranks' at once, since each one's messages are
/// the others' too. Those of the last sizes are kept.
class SharedPlan {
 public:
  explicit SharedPlan(OneSidedPlan plan) : plan_(std::move(plan)) {}

  [[nodiscard]] const OneSidedPlan& plan() const { return plan_; }
  /// Any thread may ask.
  Result<Graph> graph(int rank, std::uint64_t whole) const {
    constexpr std::size_t kMostKept = 4;
    const std::scoped_lock lock(mutex_);
    auto found = graphs_.find(whole);
    if (found == graphs_.end()) {
      Result<std::vector<Graph>> made = graphs_of_plan(plan_, whole);
      if (!made) return Result<Graph>::failure(made.error());
      if (graphs_.size() == kMostKept) graphs_.erase(graphs_.begin());
      found = graphs_.emplace(whole, std::move(*made)).first;
    }
    return found->second[static_cast<std::size_t>(rank)];
  }

 private:
  OneSidedPlan plan_;
  mutable std::mutex mutex_;
  mutable std::map<std::uint64_t, std::vector<Graph>> graphs_;
};

Result<std::shared_ptr<const SharedPlan>> read_shared_plan(const std::string& path) {
  using Read = Result<std::shared_ptr<const SharedPlan>>;
  const Result<recording::Source> source = recording::Source::look(path);
  if (!source) return Read::failure(source.error());
  std::vector<std::uint8_t> buffer;
  std::string problem;
  const std::string_view text = recording::text_of((*source).read(0, kLongestFile, buffer, problem));
  if (!problem.empty()) return Read::failure(problem);
  Result<OneSidedPlan> plan = parse_one_sided_plan(text, (*source).name());
  if (!plan) return Read::failure(plan.error());
  if (const std::string wrong = problem_of_plan(*plan); !wrong.empty()) return Read::failure(wrong);
  return std::make_shared<const SharedPlan>(std::move(*plan));
}

std::vector<std::string> notes_of_plan() {
  return {
      "reductions and copies on a GPU take no time",
      "what GPUs write, read and signal over channels of memory and ports are messages of the backend alike: "
      "a signal has 8 bytes, packets have their flags, and a read is asked for"};
}

Result<std::optional<Program>> open_one_sided(const Candidate& candidate) {
  using Opened = Result<std::optional<Program>>;
  const auto named = sized_algorithm(candidate, begins_as_plan);
  if (!named) return Opened::failure(named.error());
  if (!*named) return std::optional<Program>();
  const auto plan = read_shared_plan((*named)->path);
  if (!plan) return Opened::failure(plan.error());
  const std::uint64_t whole = (*named)->bytes;
  if (const std::string refusal = (*plan)->plan().refusal(whole); !refusal.empty())
    return Opened::failure(fmt::format("{}: {} bytes: {}", (*plan)->plan().file, whole, refusal));
  Program program =
      program_of_graphs(candidate.name, static_cast<int>((*plan)->plan().gpus.size()),
                        [shared = *plan, whole](int rank) { return shared->graph(rank, whole); });
  program.notes = notes_of_plan();
  return std::optional(std::move(program));
}

}  // namespace

Result<std::optional<Algorithm>> read_mscclpp_algorithm(const std::string& path, std::string_view begin) {
  using Read = Result<std::optional<Algorithm>>;
  if (!begins_as_plan(begin)) return std::optional<Algorithm>();
  const auto read = read_shared_plan(path);
  if (!read) return Read::failure(read.error());
  const std::shared_ptr<const SharedPlan>& shared = *read;
  const OneSidedPlan& plan = shared->plan();
  Algorithm algorithm;
  algorithm.ranks = static_cast<int>(plan.gpus.size());
  algorithm.collective = plan.collective;
  algorithm.place = fmt::format("{}: collective", plan.file);
  algorithm.graph = [shared](int rank, std::uint64_t bytes) { return shared->graph(rank, bytes); };
  algorithm.takes = [shared](std::uint64_t bytes) { return shared->plan().refusal(bytes).empty(); };
  algorithm.notes = notes_of_plan();
  algorithm.notes.push_back(fmt::format(
      "collectives of a size that the plan does not take stay those of the backend: {}", plan.sizes()));
  return std::optional(std::move(algorithm));
}

const Opener kMscclppPlans = {
    .kind = "MSCCL++ plan", .origin = "MSCCL++'s JSON, FILE:BYTES", .open = open_one_sided};

}  // namespace offramp::trace
