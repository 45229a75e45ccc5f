// Advice about one program: which hardware suits it, how sure that is, what would change the answer, the best
// mix of hardware, and what the plain host could do better. All of it comes from replays of the program;
// nothing is fitted or guessed.
//
//   Advisor advisor(configuration, registry, source, options);
//   advisor.rank_backends();
//   advisor.weigh();
//   advisor.find_algorithms(); advisor.find_mix(); advisor.find_influences();
//   ReportAnswer answer = answer_of(advisor, ...);   // answer_of.hpp
//
// One thread. Each search repeats replays with other settings. `until` ends a search; its results up to then
// stay.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/answers/replay/free_communication.hpp"
#include "lib/answers/replay/replay.hpp"
#include "lib/answers/report/carried.hpp"
#include "lib/base/configuration/configuration.hpp"

namespace offramp {

/// A gain of a smaller part of the run is not worth a word.
inline constexpr double kWorthwhile = 0.01;

/// A model's error counts as at most this part of a time.
inline constexpr double kLargestError = 0.9;

/// 1 where there is nothing to divide by.
inline double ratio_of(Time time, Time base) {
  return base > Time() ? time.seconds() / base.seconds() : 1;
}

/// Replays over one backend.
struct Candidate {
  const BackendDescription* backend = nullptr;
  std::string refused;          // why there is no result; empty: there is one
  ReplayResult result;          // without the program's computing
  std::optional<WholeRun> run;  // with it, if the recording has any
  CarriedTime carried;  // the baseline's time of the operations that this hardware carries or declines
  std::string why_not;  // why the hardware does not carry the program; empty: it does
  // With the baseline's rate out of a node. `nullopt`: the own rate is not higher, or not a parameter.
  std::optional<Time> at_equal_link;         // end()
  std::optional<ReplayResult> equal_result;  // result

  /// The end of the run, or of the communication if no computing is known.
  [[nodiscard]] Time end() const { return run ? run->end : result.modelled_time; }
  [[nodiscard]] Time fair_end() const { return at_equal_link.value_or(end()); }
  [[nodiscard]] const ReplayResult& fair_result() const { return equal_result ? *equal_result : result; }
  [[nodiscard]] bool counts() const { return refused.empty() && why_not.empty(); }
};

/// Why the hardware does not carry the program, by the operations' times in `carried`. Empty: it does.
std::string why_not_carried(std::string_view backend, const CarriedTime& carried, const Counters& counters);
inline std::string why_not_carried(std::string_view backend, const Counters& counters) {
  return why_not_carried(backend, CarriedTime{counters.times}, counters);
}

/// The ends of a run over each side of a comparison. `nullopt`: not known.
struct Sides {
  Time baseline;                 // as it is
  std::optional<Time> tuned;     // the baseline with its fastest algorithms
  std::optional<Time> threaded;  // the baseline with a thread that makes progress
  std::optional<Time> free;      // with communication that takes no time
  std::optional<Time> hardware;  // the best hardware at the baseline's link
  std::optional<Time> own_link;  // the best hardware at its own link

  /// The better of what costs nothing: other algorithms, or the thread.
  [[nodiscard]] std::optional<Time> at_no_cost() const { return is_by_thread() ? threaded : tuned; }
  [[nodiscard]] bool is_by_thread() const { return threaded && (!tuned || *threaded < *tuned); }
};

/// What the answer recommends.
enum class AnswerKind : std::uint8_t {
  kUnknown,    // nothing can be compared
  kNothing,    // not even free communication would save anything
  kBaseline,   // the baseline as it is
  kLink,       // a faster link: the hardware gains nothing else
  kAlgorithm,  // the baseline with other algorithms, or with a thread that makes progress
  kHardware
};
AnswerKind kind_of(const Sides& sides);

/// A ratio of two times, where the models of both sides are wrong: the lowest and the highest.
struct RatioRange {
  double low = 1;
  double high = 1;
};

/// What all sides together say.
struct Weighing {
  AnswerKind kind = AnswerKind::kUnknown;
  Sides sides;
  const Candidate* hardware = nullptr;  // the best at equal links; null: none counts
  std::optional<Time> progressing;  // the baseline if its NIC made progress by itself; only where it does not
  std::optional<RatioRange> range =
      {};  // of the recommended side, or of the best hardware, over the baseline
  /// That range with the slowest and the fastest node memory of the baseline's class. `nullopt`: the user set
  /// the memory, no rank shares a node, or there was no time.
  std::optional<RatioRange> memory = {};
  bool holds = false;  // both ends of the ranges give the same answer
};

/// One parameter with other values than its own: the time of the best hardware over that of the host.
struct Influence {
  std::string key;  // "cclo.link"
  std::string
      value;  // with its unit; behind a default of 0 the plausible value, which stands for twice of it
  std::string source;
  double at_half = 0;
  double at_twice = 0;
  // At 10 % less and at 10 % more. `nullopt`: not tried.
  std::optional<double> at_less = {};
  std::optional<double> at_more = {};

  [[nodiscard]] double span(double now) const;
  /// The better of the two sides is another one at one of the values.
  [[nodiscard]] bool turns_round(double now) const;
};

/// Routes of operations to hardware, and the run with them.
struct Mix {
  std::string backend;  // carries what no route names
  std::vector<Route> routes;
  Time end;
};

/// One collective at one size over the host.
struct AlgorithmChoice {
  OperationKind kind = OperationKind::kBarrier;
  int ranks = 0;
  std::size_t bytes = 0;    // as in Operation
  std::uint64_t calls = 0;  // of each rank, on the average
  Time usual;               // a call as the host's settings choose
  std::string best;         // the name of the fastest algorithm
  Time fastest;

  [[nodiscard]] Time gain() const {
    return Time::ps((usual.count() - fastest.count()) * static_cast<std::int64_t>(calls));
  }
};

/// Relative errors of a backend's figures against published ones.
struct ModelError {
  double median = 0;
  double nine_tenths = 0;  // nine tenths of the errors are not larger
  double largest = 0;
  std::size_t figures = 0;
};
/// Figures that a parameter was fitted to do not count. `nullopt`: there are no others.
struct ModelErrors {
  std::optional<ModelError> all;
  std::optional<ModelError> operations;  // of whole messages and collectives alone
  std::size_t fitted_operations = 0;     // measured operations that a parameter was fitted to
};
/// Computed once, which takes seconds for some backends.
const ModelErrors& model_errors(const BackendDescription& backend);

/// How far a model is off in whole messages and collectives. Known without computing for built-in backends.
struct OperationErrors {
  std::size_t measured = 0;  // operations with a published time
  std::size_t compared = 0;  // those of them that no parameter was fitted to
  double nine_tenths = 0;    // nine tenths of the errors are not larger
};
OperationErrors operation_errors(const BackendDescription& backend);

/// The source of a parameter's default says that no document has it: assumed, inferred or fitted.
bool is_open(std::string_view source);

class Advisor {
 public:
  using Clock = std::chrono::steady_clock;
  struct Options {
    ReplayOptions replay;                             // its compute and partial; the rest is the advisor's
    std::vector<const BackendDescription*> backends;  // the baseline among them
    Clock::time_point until = Clock::time_point::max();
    /// Called before each replay, with its purpose. False: no more replays.
    std::function<bool(const std::string& what)> progress;
    /// One replay over each backend, with the computing, which Candidate::result has then.
    bool runs_alone = false;
  };

  /// Configuration and registry outlive the advisor.
  Advisor(const Configuration& configuration, const Registry& registry, ReplaySource source, Options options);

  // In this order; the searches need rank_backends().
  /// Replays over all backends: the baseline first, then a short turn for each, then those that need longer,
  /// the cheapest first.
  void rank_backends();
  /// Compares the sides, and finds how sure the answer is.
  void weigh();
  void find_algorithms();
  void find_mix();
  void find_influences();

  /// Those that count, the fastest first; then the others.
  [[nodiscard]] const std::vector<Candidate>& candidates() const { return candidates_; }
  /// Backends for which there was no time.
  [[nodiscard]] const std::vector<const BackendDescription*>& untried() const { return untried_; }
  /// Null: it has no result.
  [[nodiscard]] const Candidate* baseline() const;
  /// The best at equal links. Null: no hardware counts.
  [[nodiscard]] const Candidate* best_hardware() const;
  /// After weigh().
  [[nodiscard]] const Weighing& weighing() const { return weighing_; }
  /// Where the recording has computing.
  [[nodiscard]] const std::optional<ProgramTimes>& program() const { return program_; }
  /// With all results, which leave the advisor.
  [[nodiscard]] std::vector<Candidate> release_candidates() { return std::move(candidates_); }
  /// The five that move the answer most, first those that turn it round.
  [[nodiscard]] const std::vector<Influence>& influences() const { return influences_; }
  /// Parameters that were tried.
  [[nodiscard]] std::size_t tried_count() const { return tried_; }
  /// At equal links. `nullopt`: no mix is faster than the best single backend by more than half a percent.
  [[nodiscard]] const std::optional<Mix>& mix() const { return mix_; }
  /// Collectives that are slower than need be, the largest gain first.
  [[nodiscard]] const std::vector<AlgorithmChoice>& algorithms() const { return algorithms_; }
  /// Whether an empty mix means that there is none: false where the search did not come to its end, or the
  /// program has routes of its own, to which none are added.
  [[nodiscard]] bool knows_mix() const { return knows_mix_; }
  [[nodiscard]] bool knows_algorithms() const { return knows_algorithms_; }
  [[nodiscard]] bool has_computing() const { return has_computing_; }
  /// Time or the user ended a search.
  [[nodiscard]] bool cut_short() const { return cut_short_; }

 private:
  struct Traffic {
    std::uint64_t calls = 0;  // of all ranks
    Operation operation;      // the first of them
  };

  [[nodiscard]] bool may_go_on(const std::string& what);
  bool try_backend(const BackendDescription& backend, Clock::time_point until);
  bool compare_carried(Candidate& candidate, const WorldSetting& setting);
  bool equalize_link(const BackendDescription& backend, std::int64_t wanted);
  /// communication: takes so many times as long as the models say.
  std::optional<Time> end_of(const WorldSetting& setting, double communication = 1);
  std::optional<Time> end_of(const Configuration& configuration, const BackendDescription& backend);
  /// At equal links.
  [[nodiscard]] Result<WorldSetting> setting_of(const BackendDescription& backend) const;
  /// The baseline with one of its choices set to a value.
  [[nodiscard]] std::optional<WorldSetting> baseline_with(std::string_view choice, const char* value) const;
  void find_memory_range(const WorldSetting& side);
  void find_range(const WorldSetting& side, const BackendDescription& model);
  std::optional<double> ratio_with(const WorldSetting& best, const WorldSetting& host,
                                   const Parameter& parameter, bool of_host, double value);
  void read_traffic();
  void read_traffic_of(int rank);
  void try_routes(Mix& best, OperationKind kind, std::size_t min_bytes, std::size_t max_bytes);
  void find_fastest(const Traffic& traffic);

  const Configuration& configuration_;
  Configuration equal_links_;  // the configuration, but no hardware has a faster link than the baseline
  const Registry& registry_;
  const BackendDescription& baseline_;
  ReplaySource source_;
  Options options_;
  WholeRuns runs_;
  Clock::time_point until_ = Clock::time_point::max();  // of the current replay
  std::uint64_t events_ = 0;                            // that it has replayed
  bool has_computing_ = false;
  bool cut_short_ = false;
  std::vector<Candidate> candidates_;
  std::vector<const BackendDescription*> untried_;
  std::optional<ProgramTimes> program_;
  Weighing weighing_;
  std::vector<Influence> influences_;
  std::size_t tried_ = 0;
  std::optional<Mix> mix_;
  bool knows_mix_ = false;
  bool has_sought_algorithms_ = false;
  bool knows_algorithms_ = false;
  std::vector<AlgorithmChoice> algorithms_;
  std::vector<Traffic> traffic_;
  bool traffic_is_read_ = false;
};

}  // namespace offramp
