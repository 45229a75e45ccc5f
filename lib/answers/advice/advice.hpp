// Advice about one program: which hardware suits it, what would turn that round, the best mix of hardware,
// and what the plain host could do better. All of it by replays of the program; nothing is fitted or guessed.
//
//   Advisor advisor(configuration, registry, played, options);
//   advisor.rank_backends(); advisor.find_influences(); advisor.find_mix(); advisor.find_algorithms();
//
// One thread. Replays are repeated with other settings, so a program that takes long to replay takes as many
// times longer: `until` ends each search where it is, and what was found so far stands.
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

#include "lib/answers/replay/replay.hpp"
#include "lib/answers/report/carried.hpp"
#include "lib/base/configuration/configuration.hpp"

namespace offramp {

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
  CarriedTime carried;
  std::string why_not;  // why the hardware does not carry the program; empty: it does

  /// What counts: the end of the run, or of the communication if no computing is known.
  [[nodiscard]] Time end() const { return run ? run->end : result.modelled_time; }
  [[nodiscard]] bool counts() const { return refused.empty() && why_not.empty(); }
};

/// Of a replay over the backend. Empty: it carries the program.
std::string why_not_carried(std::string_view backend, const Counters& counters);

/// One parameter with other values than its own: the time of the best hardware over that of the host.
struct Influence {
  std::string key;  // "cclo.link"
  std::string value;
  std::string source;
  double at_half = 0;
  double at_twice = 0;
  // At 10 % less and more of it; nothing: the search was cut short before.
  std::optional<double> at_less = {};
  std::optional<double> at_more = {};

  [[nodiscard]] double span(double now) const;
  /// The better of the two sides is another one then.
  [[nodiscard]] bool turns_round(double now) const;
};

/// Routes of operations to hardware, and what the program takes with them.
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
  Time usual;               // as the host's settings choose, a call
  std::string best;         // the name of the fastest algorithm
  Time fastest;

  [[nodiscard]] Time gain() const {
    return Time::ps((usual.count() - fastest.count()) * static_cast<std::int64_t>(calls));
  }
};

/// How far the figures of a backend's validation are from the published ones, but for those that it is fitted
/// to: the median and the largest of the relative errors. Nothing: there are none.
struct ModelError {
  double median = 0;
  double nine_tenths = 0;  // nine tenths of them are not larger
  double largest = 0;
  std::size_t figures = 0;
};
/// It is computed once; of some backends that takes seconds.
std::optional<ModelError> model_error(const BackendDescription& backend);
/// The same, as far as a search came to it.
struct FoundError {
  bool found = false;
  std::optional<ModelError> error = {};
};

/// The source of a parameter's default says that no document has it: assumed, inferred or fitted.
bool is_open(std::string_view source);

class Advisor {
 public:
  using Clock = std::chrono::steady_clock;
  struct Options {
    ReplayOptions replay;                             // its compute and partial; the rest is the advisor's
    std::vector<const BackendDescription*> backends;  // among them the host
    Clock::time_point until = Clock::time_point::max();
    /// Called before each replay, with what it is for. False: no more of them.
    std::function<bool(const std::string& what)> progress;
  };

  /// Configuration and registry outlive it.
  Advisor(const Configuration& configuration, const Registry& registry, ReplaySource source, Options options);

  // In this order; each after the first needs rank_backends(), which also finds the errors of the host and of
  // the best hardware.
  void rank_backends();
  /// How far the model is off. One that is begun is brought to its end, whatever the time.
  void find_error(const BackendDescription& backend);
  void find_influences();
  void find_mix();
  void find_algorithms();

  /// Those that count, the fastest first; then the others.
  [[nodiscard]] const std::vector<Candidate>& candidates() const { return candidates_; }
  [[nodiscard]] const Candidate* host() const;
  /// Null: only the host counts, or nothing does.
  [[nodiscard]] const Candidate* best_hardware() const;
  [[nodiscard]] FoundError error_of(const BackendDescription& backend) const;
  /// Where the recording has computing.
  [[nodiscard]] const std::optional<ProgramTimes>& program() const { return program_; }
  /// With all results, which are no longer here then.
  [[nodiscard]] std::vector<Candidate> take_candidates() { return std::move(candidates_); }
  /// The five that move the answer most.
  [[nodiscard]] const std::vector<Influence>& influences() const { return influences_; }
  /// Of parameters tried.
  [[nodiscard]] std::size_t tried() const { return tried_; }
  /// Nothing: no mix is faster than the best single one by more than half a percent.
  [[nodiscard]] const std::optional<Mix>& mix() const { return mix_; }
  /// Those that are slower than need be, the largest gain first.
  [[nodiscard]] const std::vector<AlgorithmChoice>& algorithms() const { return algorithms_; }
  /// The host's run with the fastest algorithm everywhere.
  [[nodiscard]] std::optional<Time> host_at_its_best() const { return host_at_its_best_; }
  /// Whether nothing means that there is none: false where the search did not come to its end, or the program
  /// has routes of its own, to which none are added.
  [[nodiscard]] bool knows_mix() const { return knows_mix_; }
  [[nodiscard]] bool knows_algorithms() const { return knows_algorithms_; }
  /// A search was ended by time or by the user.
  [[nodiscard]] bool cut_short() const { return cut_short_; }

 private:
  struct Traffic {
    std::uint64_t calls = 0;  // of all ranks
    Operation operation;      // the first of them
  };

  [[nodiscard]] bool may_go_on(const std::string& what);
  std::optional<Time> end_of(const WorldSetting& setting);
  std::optional<Time> end_of(const Configuration& configuration, const BackendDescription& backend);
  [[nodiscard]] Result<WorldSetting> setting_of(const BackendDescription& backend) const;
  std::optional<double> ratio_with(const WorldSetting& best, const WorldSetting& host,
                                   const Parameter& parameter, bool of_host, double factor);
  void read_traffic();
  void read_traffic_of(int rank);
  void try_routes(Mix& best, OperationKind kind, std::size_t min_bytes, std::size_t max_bytes);
  void find_fastest(const Traffic& traffic);

  const Configuration& configuration_;
  const Registry& registry_;
  ReplaySource source_;
  Options options_;
  bool has_computing_ = false;
  bool cut_short_ = false;
  std::vector<Candidate> candidates_;
  std::map<const BackendDescription*, FoundError> errors_;
  std::optional<ProgramTimes> program_;
  std::vector<Influence> influences_;
  std::size_t tried_ = 0;
  std::optional<Mix> mix_;
  bool knows_mix_ = false;
  bool knows_algorithms_ = false;
  std::vector<AlgorithmChoice> algorithms_;
  std::optional<Time> host_at_its_best_;
  std::vector<Traffic> traffic_;
  bool traffic_is_read_ = false;
};

}  // namespace offramp
