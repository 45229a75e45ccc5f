// A forecast is a world in which every rank issues one operation, once or several times in a row. With
// stragglers, a second world yields the time without them. If the hardware declines, ruling_on() finds the
// reason, and apply_remedies() tries the remedies that the verdicts name, for `offramp predict`.
#include "lib/answers/replay/forecast.hpp"

#include <fmt/format.h>

#include <cctype>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "simulators/world/benchmarks.hpp"

namespace offramp {
namespace {

/// The MPI function that a program would call.
/// For observers only, which expect the names of functions.
std::string name_of_call(const Operation& operation, bool receives) {
  if (operation.kind == OperationKind::kSend) return receives ? "MPI_Recv" : "MPI_Send";
  std::string name(to_string(operation.kind));
  name.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(name.front())));
  return "MPI_" + name;
}

// Ranks beyond the two of a message do nothing.
Task<void> one_operation(RankHandle& rank, const Operation& operation, Outcome& outcome) {
  Outcome own = Outcome::kOk;
  const int to = (operation.root + 1) % operation.ranks;
  if (operation.kind != OperationKind::kSend) {
    own = co_await rank.collective(operation);
  } else if (rank.rank() == operation.root) {
    own = co_await rank.send(to, operation.bytes, operation.tag, operation.element);
  } else if (rank.rank() == to) {
    own = (co_await rank.receive(operation.root, operation.bytes)).outcome;
  }
  if (own != Outcome::kOk) outcome = own;
}

Task<void> one_call(RankHandle& rank, const Operation& operation, Outcome& outcome,
                    ReplayObserver& observer) {
  // Idle ranks have no call to observe.
  const bool takes_part = operation.kind != OperationKind::kSend || rank.rank() == operation.root ||
                          rank.rank() == (operation.root + 1) % operation.ranks;
  if (!takes_part) co_return;
  const bool receives = rank.rank() != operation.root;
  const Time begin = rank.clock();
  observer.enter(rank.rank());
  co_await one_operation(rank, operation, outcome);
  // The two ends of a message are different functions.
  const std::uint16_t function = operation.kind == OperationKind::kSend && receives ? 1 : 0;
  observer.leave(rank.rank(), function, name_of_call(operation, receives), {}, begin, rank.clock());
}

Task<void> one_rank(RankHandle& rank, const Operation& operation, int repeat, Outcome& outcome,
                    ReplayObserver* observer) {
  for (int i = 0; i < repeat; ++i) {
    if (observer == nullptr) {
      co_await one_operation(rank, operation, outcome);
    } else {
      co_await one_call(rank, operation, outcome, *observer);
    }
  }
}

Result<Forecast> in_one_world(const ForecastSetting& setting, const Operation& operation, int repeat,
                              ReplayObserver* observer) {
  // Without an observer, the world logs nothing, which is faster.
  WorldOptions observed;
  if (observer != nullptr) {
    observed.spans = observer->spans();
    observed.packets = observer->packets();
    observed.log = observer;
  }
  auto made = make_world(setting, operation.ranks, observed);
  if (!made) return failure(made.error());
  const std::unique_ptr<World> world = std::move(*made);
  Outcome outcome = Outcome::kOk;
  const std::string stuck =
      world->run([&](RankHandle& rank) { return one_rank(rank, operation, repeat, outcome, observer); });
  // Checked first: a declined operation also leaves ranks stuck.
  if (!world->declined().empty()) return failure(world->declined());
  if (!stuck.empty()) return failure("the model does not finish:\n" + stuck);
  if (outcome != Outcome::kOk) return failure("the modelled protocol could not recover from a fault");
  // Empty unless the setting asks for checks.
  if (const std::vector<std::string> broken = world->violations(); !broken.empty())
    return failure(fmt::format("the simulation violates its invariants:\n{}", fmt::join(broken, "\n")));
  Forecast forecast;
  forecast.time = world->end();
  forecast.engine = world->engine_time();
  forecast.wire = world->wire();
  return forecast;
}

/// With stragglers, the note contains the time without them.
Result<Forecast> in_world(const ForecastSetting& setting, const Operation& operation, int repeat,
                          ReplayObserver* observer) {
  Result<Forecast> result = in_one_world(setting, operation, repeat, observer);
  if (!result || !setting.stragglers.any()) return result;
  ForecastSetting undisturbed = setting;
  undisturbed.stragglers = {};
  Result<Forecast> without = in_one_world(undisturbed, operation, repeat, nullptr);
  if (!without) return without;
  result->note =
      fmt::format("{} of {} bytes on {} ranks: {:.3f} us without stragglers", to_string(operation.kind),
                  operation.bytes, operation.ranks, without->time.nanoseconds() / 1000);
  return result;
}

/// A copy of a verdict that outlives its backend.
struct Ruling {
  std::string declined;  // the reason; empty: supported
  std::optional<Remedy> remedy;
};

}  // namespace

static Ruling ruling_on(const ForecastSetting& setting, const Operation& operation) {
  const std::unique_ptr<Backend> backend = asked_backend(setting, operation.ranks);
  Operation asked = operation;
  if (asked.kind == OperationKind::kSend) {  // as in the engine's query
    asked.ranks = 2;
    asked.on_one_node =
        setting.machine.is_within_node(operation.root, (operation.root + 1) % operation.ranks);
  }
  const Verdict verdict = backend->supports(asked);
  Ruling ruling{std::string(verdict.reason), {}};
  if (verdict.remedy != nullptr) ruling.remedy = *verdict.remedy;
  return ruling;
}

/// Applies the remedy of `ruling` to `setting`, and repeats with the new ruling until it has none or the
/// remedy is out of range. Returns the notes of the applied remedies.
static std::string apply_remedies(ForecastSetting& setting, const Operation& operation, Ruling& ruling) {
  std::vector<std::string> done;
  while (ruling.remedy) {
    const Remedy remedy = *ruling.remedy;
    const Parameter* const parameter = find_parameter(setting.backend.parameters, remedy.parameter);
    if (parameter == nullptr || remedy.value > parameter->maximum ||
        // A remedy that does not increase the value would be tried forever.
        remedy.value <= setting.settings.real(std::string(remedy.parameter)))
      break;
    setting.settings.set(remedy.parameter, {remedy.value, {}});
    done.push_back(remedy.note);
    ruling = ruling_on(setting, operation);
  }
  return fmt::format("{}", fmt::join(done, ", "));
}

Result<Time> mean_of_calls(const ForecastSetting& setting, const Operation& operation) {
  std::vector<int> members(static_cast<std::size_t>(operation.ranks));
  std::iota(members.begin(), members.end(), 0);
  const auto world = make_world(setting, operation.ranks);
  if (!world) return failure(world.error());
  const Time time =
      mean_of_calls(**world, members, operation, [&](int rank) { return sizes_of(operation, rank); });
  if (!(*world)->declined().empty()) return failure((*world)->declined());
  return time;
}

bool could_be_larger(const ForecastSetting& setting, const Operation& operation) {
  ForecastSetting larger = setting;
  Ruling ruling = ruling_on(setting, operation);
  return !apply_remedies(larger, operation, ruling).empty() && ruling.declined.empty();
}

Result<Forecast> forecast(const ForecastSetting& setting, const Operation& operation, int repeat,
                          bool what_if, ReplayObserver* observer) {
  if (has_blocks_of_different_sizes(operation.kind))
    return failure(fmt::format("{} has blocks of different sizes, which a single size cannot describe",
                               to_string(operation.kind)));
  const int least = operation.kind == OperationKind::kSend ? 2 : 1;
  if (operation.ranks < least)
    return failure(fmt::format("{} needs {} ranks", to_string(operation.kind), least));
  if (operation.root < 0 || operation.root >= operation.ranks)
    return failure(
        fmt::format("root {} does not exist: the ranks are 0 to {}", operation.root, operation.ranks - 1));

  Ruling ruling = ruling_on(setting, operation);
  if (ruling.declined.empty()) return in_world(setting, operation, repeat, observer);
  const std::string reason = ruling.declined;
  ForecastSetting larger = setting;
  const std::string done = what_if ? apply_remedies(larger, operation, ruling) : std::string();
  if (!ruling.declined.empty()) {  // another reason after the remedies
    Forecast declined;
    declined.declined = ruling.declined;
    return declined;
  }
  Result<Forecast> result = in_world(larger, operation, repeat, observer);
  if (result) {
    result->what_if = true;
    const std::string note = fmt::format("what if: {}: {}", reason, done);
    result->note = result->note.empty() ? note : note + "; " + result->note;
  }
  return result;
}

std::optional<std::int64_t> engine_cycles(const ForecastSetting& setting, const Forecast& forecast) {
  if (setting.backend.clock_parameter.empty()) return std::nullopt;
  const Frequency clock = setting.settings.megahertz(std::string(setting.backend.clock_parameter));
  return clock.cycles_in(forecast.engine);
}

}  // namespace offramp
