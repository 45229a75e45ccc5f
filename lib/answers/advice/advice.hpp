// Advice about one program: which hardware suits it, how certain that is, what would change the answer, the
// best mix of hardware, and how the plain host could become faster. All results come from replays of the
// program.
//
//   Advisor advisor(configuration, registry, source, options);
//   advisor.rank_backends();
//   advisor.weigh();
//   advisor.find_algorithms(); advisor.find_mix(); advisor.find_influences();
//   ReportAnswer answer = answer_of(advisor, ...);   // answer_of.hpp
//
// Use it from one thread. Each search repeats replays with other settings. Options::until ends a search, and
// keeps its results so far.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/answers/advice/held_out.hpp"
#include "lib/answers/replay/free_communication.hpp"
#include "lib/answers/replay/replay.hpp"
#include "lib/answers/report/report.hpp"
#include "lib/base/configuration/configuration.hpp"

namespace offramp {

/// Smaller gains, as a share of the run, are not reported.
inline constexpr double kWorthwhile = 0.01;
/// ratio: of the run to the one without the change.
constexpr bool pays(double ratio) {
  return ratio < 1 - kWorthwhile;
}
/// A mix of hardware is recommended if it saves this share of the best other side's time.
inline constexpr double kMixWorthwhile = 0.03;

/// From so many nodes on, hardware has to beat the host's fastest algorithms as well: a bad choice of the MPI
/// library grows with the machine.
inline constexpr int kManyNodes = 128;
/// The host with its fastest algorithms.
inline constexpr std::string_view kTunedHost = "host tuned";
/// No operation on more ranks is forecast.
inline constexpr int kLargestForecast = 1024;

/// 1 if `base` is 0.
inline double ratio_of(Time time, Time base) {
  return base > Time() ? time.seconds() / base.seconds() : 1;
}

/// The replays over one backend. Its `time` is the baseline's, of the operations that this hardware carries
/// or declines.
struct Candidate : Settled {
  const BackendDescription* description = nullptr;
  /// At the baseline's rate per node. `nullopt` if the hardware's own rate is not higher, or has no
  /// parameter.
  std::optional<Settled> at_equal_link = {};

  [[nodiscard]] const Settled& fair() const { return at_equal_link ? *at_equal_link : *this; }
};

/// The end of a run over each side of a comparison. `nullopt` if unknown.
struct Sides {
  Time baseline;                 // unchanged
  std::optional<Time> tuned;     // the baseline with its fastest algorithms
  std::optional<Time> threaded;  // the baseline with a progress thread
  std::optional<Time> free;      // communication takes no time
  std::optional<Time> hardware;  // the best hardware at the baseline's link rate
  std::optional<Time> own_link;  // the best hardware at its own link rate
  std::optional<Time> mix;       // the best mix of hardware, all at the baseline's link rate

  /// The better of the options without cost: other algorithms, or a progress thread.
  [[nodiscard]] std::optional<Time> at_no_cost() const { return is_by_thread() ? threaded : tuned; }
  /// True if a progress thread is the better one of these.
  [[nodiscard]] bool is_by_thread() const { return threaded && (!tuned || *threaded < *tuned); }
};

/// What the answer recommends.
enum class AnswerKind : std::uint8_t {
  kUnknown,    // no comparison is possible
  kNothing,    // even communication without cost would save nothing
  kBaseline,   // the unchanged baseline
  kLink,       // a faster link: the hardware has no other advantage
  kAlgorithm,  // the baseline with other algorithms, or with a progress thread
  kHardware,
  kMix  // operations routed to several backends
};
AnswerKind kind_of(const Sides& sides);
/// As in ReportAnswer::kind.
std::string_view name_of(AnswerKind kind);
/// True if the answer recommends a change that saves time at the baseline's link rate.
constexpr bool saves_time(AnswerKind kind) {
  return kind >= AnswerKind::kAlgorithm;
}

/// The lowest and highest ratio of two times, given the errors of both models.
struct RatioRange {
  double low = 1;
  double high = 1;

  /// True if both ends are on the same side of a gain that is worthwhile.
  [[nodiscard]] bool agrees(bool gains) const { return pays(gains ? high : low) == gains; }
};

/// The comparison of all sides.
struct Weighing {
  AnswerKind kind = AnswerKind::kUnknown;
  Sides sides;
  const Candidate* hardware = nullptr;  // the best at equal link rates; null: none counts
  /// The errors of the models. `nullopt` if nothing is compared.
  std::optional<RatioError> error;
  /// What the recommended side is compared with in `range`: the baseline, or a free change of it that is
  /// faster.
  Time reference;
  std::string than;         // "host with ring"; empty: the baseline
  double thread_share = 0;  // of each core, that a progress thread takes
  /// The baseline with a NIC that makes progress by itself. `nullopt` if its NIC already does.
  std::optional<Time> progressing;
  /// The recommended side, or the best hardware, over the reference, with the models' errors.
  /// It includes the noise of recorded computing.
  std::optional<RatioRange> range = {};
  /// Nine tenths of the ratios of other runs are within this share of it. `nullopt`: nothing varies, or it is
  /// not known.
  std::optional<double> noise = {};
  bool is_noise_unknown = false;  // computing was recorded, and too little of it is repeated
  /// That ratio with the slowest and the fastest node memory of the baseline's class. `nullopt` if the
  /// user set the memory, no rank shares a node, or time ran out.
  std::optional<RatioRange> memory = {};
  bool holds = false;  // both ends of the ranges give the same answer
};

/// The effect of one parameter: the time of the best hardware over that of the host, at other values.
struct Influence {
  std::string key;    // "cclo.link"
  std::string value;  // with its unit; for a default of 0, the plausible value behind at_twice
  std::string source;
  bool is_zero = false;  // now
  double at_half = 0;
  double at_twice = 0;
  // At -10 % and at +10 %. `nullopt`: not tried.
  std::optional<double> at_less = {};
  std::optional<double> at_more = {};

  /// The size of the effect: the larger logarithm of the two ratios to `now`, the present ratio.
  [[nodiscard]] double span(double now) const;
  /// True if the hardware pays at one of the values and does not now, or the other way round.
  [[nodiscard]] bool turns_round(double now) const;
};

/// A run whose operations are routed to several backends.
struct Mix {
  std::string backend;  // carries all operations without a route
  std::vector<Route> routes;
  Time end;

  /// Each backend once, in the order of the routes.
  [[nodiscard]] std::vector<std::string> backends() const;
};

/// A collective of one size over the host.
struct AlgorithmChoice {
  OperationKind kind = OperationKind::kBarrier;
  int ranks = 0;
  std::size_t bytes = 0;    // as in Operation
  std::uint64_t calls = 0;  // per rank, on average
  Time usual;               // per call, with the host's algorithm selection
  std::string best;         // the fastest algorithm
  Time fastest;
  std::size_t segment = 0;  // bytes, with which it is the fastest; 0: not segmented

  /// The time that all calls of a rank save together.
  [[nodiscard]] Time gain() const {
    return Time::ps((usual.count() - fastest.count()) * static_cast<std::int64_t>(calls));
  }
};

/// The value of a parameter at which the comparison with the best hardware has another result.
struct BreakEven {
  std::string key;
  double value = 0;  // in force
  double at = 0;     // of the break-even, or the farthest that was tried
  std::string unit;
  std::string source;
  bool rises = false;     // `at` is above `value`
  bool is_ahead = false;  // the hardware pays now
  bool is_reached = false;

  /// "dpu pays while dpu.service_time is below 2.9 us (now 2, assumed)"
  [[nodiscard]] std::string text() const;
};

/// The measurement on the user's own machine that decides.
struct DecisiveTest {
  OperationKind kind = OperationKind::kBarrier;
  std::size_t bytes = 0;
  int ranks = 0;
  Time modelled;    // over the baseline
  Time pays_above;  // the hardware saves kWorthwhile of the run if the baseline takes longer, all else as
                    // modelled
  std::string backend;

  /// "osu_allreduce of 8 B on 128 ranks decides: sharp pays if it takes more than 3.4 us (the model: 6.0 us)"
  [[nodiscard]] std::string text() const;
};

/// Relative errors of a backend's figures against published ones.
struct ModelError {
  double median = 0;
  double nine_tenths = 0;  // 90 % of the errors are not larger
  double largest = 0;
  std::size_t figures = 0;
};
/// Without figures to which a parameter was fitted. `nullopt`: none remain.
std::optional<ModelError> model_error(const ValidationRows& rows);

/// True if no document states the parameter's default: its source is assumed, inferred, or fitted.
bool is_open(std::string_view source);

class Advisor {
 public:
  using Clock = std::chrono::steady_clock;
  struct Options {
    ReplayOptions replay;  // the advisor uses its compute and partial, and sets the rest
    std::vector<const BackendDescription*> backends;  // must include the baseline
    /// Further recordings of the same program, for the noise of its computing.
    std::vector<ReplaySource> repetitions = {};
    Clock::time_point until = Clock::time_point::max();
    /// Called before each replay, with its purpose. False: no further replays.
    std::function<bool(const std::string& what)> progress;
    /// Replays each backend once, with the computing; Candidate::result includes it.
    bool runs_alone = false;
  };

  /// Configuration and registry must outlive the advisor.
  Advisor(const Configuration& configuration, const Registry& registry, ReplaySource source, Options options);

  // Call these in this order; the searches need rank_backends().
  /// Replays the program over all backends: the baseline, then each of the others within a short limit, then
  /// those that exceeded it, the cheapest first.
  void rank_backends();
  /// Compares the sides, and determines the certainty of the answer.
  void weigh();
  /// Finds collectives of the program that are faster with another algorithm of the baseline.
  void find_algorithms();
  /// Weighs again if a mix is better than every other side.
  void find_mix();
  /// Replays with half and twice the value of parameters of the best hardware and the baseline: those with an
  /// open source (is_open()), and those that both sides have in some form, such as the latency.
  void find_influences();
  /// Changes of the baseline that cost nothing and are worthwhile, the best first, and then all together.
  void find_free_changes();
  /// After find_influences(): for what no document states of the best hardware.
  void find_break_even();
  void find_decisive_test();
  /// What limits the best hardware in production, by its model. Replays nothing.
  void find_production_limits();
  /// The baseline with its fastest algorithms. `nullopt` if it has them, or for too many ranks.
  [[nodiscard]] std::optional<Time> end_of_tuned();

  /// The ratio of a candidate to the baseline at equal link rates, with the errors of both models and the
  /// noise of computing. `nullopt`: not known, or no time.
  [[nodiscard]] std::optional<RatioRange> range_of(const Candidate& candidate);

  /// The configuration in which no hardware's link is faster than the baseline's.
  [[nodiscard]] const Configuration& equal_links() const { return equal_links_; }
  /// Candidates that count, the fastest at equal link rates first; then the others.
  [[nodiscard]] const std::vector<Candidate>& candidates() const { return candidates_; }
  /// Backends for which there was no time.
  [[nodiscard]] const std::vector<const BackendDescription*>& untried() const { return untried_; }
  /// Null if the baseline has no result.
  [[nodiscard]] const Candidate* baseline() const;
  /// The best at equal link rates. Null if no hardware counts.
  [[nodiscard]] const Candidate* best_hardware() const;
  /// After weigh().
  [[nodiscard]] const Weighing& weighing() const { return weighing_; }
  /// `nullopt` if no computing was recorded.
  [[nodiscard]] const std::optional<ProgramTimes>& program() const { return program_; }
  /// Moves the candidates, with all results, out of the advisor.
  [[nodiscard]] std::vector<Candidate> release_candidates() { return std::move(candidates_); }
  /// The five with the largest effect; those that change the answer come first.
  [[nodiscard]] const std::vector<Influence>& influences() const { return influences_; }
  [[nodiscard]] const std::vector<ReportFreeChange>& free_changes() const { return free_changes_; }
  [[nodiscard]] const std::vector<BreakEven>& break_evens() const { return break_evens_; }
  /// `nullopt` if the hardware carries no blocking collective of the program, or pays however fast that is.
  [[nodiscard]] const std::optional<DecisiveTest>& decisive_test() const { return decisive_; }
  /// One sentence each. Empty if no hardware counts.
  [[nodiscard]] const std::vector<std::string>& production_limits() const { return production_limits_; }
  /// The number of parameters tried.
  [[nodiscard]] std::size_t tried_count() const { return tried_; }
  /// At equal link rates. `nullopt` if no mix saves more than 0.5 % over the best single backend.
  [[nodiscard]] const std::optional<Mix>& mix() const { return mix_; }
  /// Collectives with a faster algorithm, the largest gain first.
  [[nodiscard]] const std::vector<AlgorithmChoice>& algorithms() const { return algorithms_; }
  /// True if an empty mix() means that no mix is faster. False if the search was cut short, or if the
  /// configuration has routes of its own.
  [[nodiscard]] bool knows_mix() const { return knows_mix_; }
  /// True if an empty algorithms() means that none is faster. False if the search was cut short.
  [[nodiscard]] bool knows_algorithms() const { return knows_algorithms_; }
  /// True if the times of runs include the program's computing.
  [[nodiscard]] bool has_computing() const { return has_computing_; }
  /// The time limit or the user ended a search.
  [[nodiscard]] bool cut_short() const { return cut_short_; }

 private:
  struct Traffic {
    std::uint64_t calls = 0;  // over all ranks
    Operation operation;      // the first one
  };

  /// What came of replaying the program over one backend within a time limit.
  struct Turn {
    const BackendDescription* backend = nullptr;
    std::optional<Candidate> candidate = {};  // `nullopt`: the turn was too short
    std::optional<RawValue> link = {};        // makes the hardware's rate that of the baseline
    bool has_computing = false;
    std::uint64_t events = 0;  // replayed
  };
  /// A replay to find its end.
  struct Trial {
    std::string what;
    std::optional<WorldSetting> setting;  // `nullopt`: has no end
    double communication = 1;             // factor by which it takes longer than modelled
  };

  [[nodiscard]] bool may_go_on(const std::string& what);
  void take_turn(Turn& turn, Clock::time_point until);
  /// Keeps the results of turns in their order. Returns the turns that were too short.
  std::vector<Turn> keep(std::vector<Turn> turns);
  bool compare_carried(Candidate& candidate, const WorldSetting& setting, ReplayOptions how) const;
  /// Sets the hardware's link to the wanted rate per node. `nullopt` if no parameter does that.
  std::optional<WorldSetting> equalize_link(Turn& turn, std::int64_t wanted) const;
  [[nodiscard]] std::optional<Time> end_of(const WorldSetting& setting, ReplayOptions how,
                                           double communication = 1) const;
  std::optional<Time> end_of(const WorldSetting& setting) { return ends_of({{"", setting}}).front(); }
  /// The ends of trials, simulated side by side. `nullopt` where a replay failed, or for lack of time.
  std::vector<std::optional<Time>> ends_of(const std::vector<Trial>& trials);
  /// By pair: the ratio of the first trial to the second one, or to the baseline as it is if the second one
  /// has no setting. `nullopt` without an end.
  std::vector<std::optional<double>> ratios_of(const std::vector<Trial>& pairs);
  [[nodiscard]] std::optional<WorldSetting> setting_with(const Configuration& configuration,
                                                         const BackendDescription& backend) const;
  /// At equal link rates.
  [[nodiscard]] Result<WorldSetting> setting_of(const BackendDescription& backend) const;
  /// The baseline with one choice changed. `nullopt` if it has no such value, or uses it already.
  [[nodiscard]] std::optional<WorldSetting> baseline_with(std::string_view choice, const char* value) const;
  [[nodiscard]] std::optional<WorldSetting> tuned_setting() const;
  void find_memory_range(const WorldSetting& side);
  [[nodiscard]] RatioError error_of(std::string_view hardware) const;
  void find_range(const WorldSetting& side, std::string_view hardware, double share = 1);
  /// now: the ratio of the two sides. share: see find_range().
  [[nodiscard]] std::optional<RatioRange> range_of_errors(const WorldSetting& side, const WorldSetting& host,
                                                          double now, const RatioError& error, double share);
  void add_noise(RatioRange& range, const WorldSetting& side, const WorldSetting& host, double now);
  void weigh_mix(const WorldSetting& mixed);
  /// The two sides with one parameter changed, as a pair. The host's parameters also affect the operations
  /// that the hardware declines.
  static std::vector<Trial> sides_with(const std::string& what, const WorldSetting& best,
                                       const WorldSetting& host, const Parameter& parameter, bool of_host,
                                       double value);
  void read_traffic();
  void read_traffic_of(int rank);
  void try_routes(Mix& best, OperationKind kind, std::size_t min_bytes, std::size_t max_bytes);
  void find_fastest(const Traffic& traffic);

  const Configuration& configuration_;
  Configuration equal_links_;  // the configuration with no hardware's link faster than the baseline's
  const Registry& registry_;
  const BackendDescription& baseline_;
  ReplaySource source_;
  Options options_;
  WholeRuns runs_;
  std::mutex mutex_;  // for Options::progress and cut_short_ while replays are simulated side by side
  bool has_computing_ = false;
  bool cut_short_ = false;
  std::vector<Candidate> candidates_;
  std::vector<const BackendDescription*> untried_;
  std::optional<ProgramTimes> program_;
  Weighing weighing_;
  std::vector<Influence> influences_;
  std::size_t tried_ = 0;
  std::vector<ReportFreeChange> free_changes_;
  std::vector<BreakEven> break_evens_;
  std::optional<DecisiveTest> decisive_;
  std::vector<std::string> production_limits_;
  std::optional<Mix> mix_;
  bool knows_mix_ = false;
  bool has_sought_algorithms_ = false;
  bool knows_algorithms_ = false;
  std::vector<AlgorithmChoice> algorithms_;
  std::vector<Traffic> traffic_;
  bool traffic_is_read_ = false;
};

}  // namespace offramp
