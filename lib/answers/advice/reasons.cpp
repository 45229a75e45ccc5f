// The reason for a difference is its largest part.
//
// For runs over the baseline and over the hardware:
//   hidden  the baseline's communication alone, times the difference of the hidden shares
//   speed   the difference of the communication alone, as far as it prolongs the run
// For speed, the size class with the largest difference names the cause: bandwidth for large operations;
// latency, or rounds in collectives, for small ones.
//
// For one operation: the time of one element (latency or rounds), and of the other bytes (bandwidth).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lib/answers/advice/answer_parts.hpp"
#include "lib/base/format.hpp"

namespace offramp {
namespace {

/// Average bytes from which bandwidth dominates an operation.
constexpr double kLong = 16384;

/// A part of the time that the hardware saves.
struct Contribution {
  double seconds;
  std::string text;
};

/// The texts of the parts that make the whole shorter (or longer, if it does not gain), the largest first.
std::vector<std::string> largest_first(std::vector<Contribution> parts, bool gains) {
  const double sign = gains ? 1 : -1;
  std::ranges::stable_sort(parts, [sign](const Contribution& a, const Contribution& b) {
    return sign * a.seconds > sign * b.seconds;
  });
  std::vector<std::string> texts;
  for (const Contribution& part : parts) {
    if (sign * part.seconds > 0) texts.push_back(part.text);
  }
  return texts;
}

/// The time of one size class of operations over both sides, all ranks together.
struct SizeDifference {
  std::size_t kind = 0;
  double bytes = 0;
  double calls = 0;
  double baseline = 0;  // seconds
  double hardware = 0;

  [[nodiscard]] double gain() const { return baseline - hardware; }
};

/// The size class with the largest gain, or the largest loss. `nullopt` without operations.
std::optional<SizeDifference> largest_difference(const ReplayResult& baseline, const ReplayResult& hardware,
                                                 bool gains) {
  const auto sum = [](const ReplayResult& result, std::size_t kind, std::size_t size) {
    SizeTable::Entry all;
    for (const ReplayedRank& rank : result.ranks) {
      if (rank.sizes == nullptr) continue;
      const SizeTable::Entry& one = rank.sizes->entry(kind, size);
      all.count += one.count;
      all.bytes += one.bytes;
      all.modelled += one.modelled;
    }
    return all;
  };
  std::optional<SizeDifference> largest;
  for (std::size_t kind = 0; kind < SizeTable::kKinds; ++kind) {
    for (std::size_t size = 0; size < SizeTable::kClasses; ++size) {
      const SizeTable::Entry here = sum(baseline, kind, size);
      const SizeTable::Entry there = sum(hardware, kind, size);
      if (here.count == 0) continue;
      const auto calls = static_cast<double>(here.count);
      const SizeDifference one{kind, static_cast<double>(here.bytes) / calls, calls, here.modelled.seconds(),
                               there.modelled.seconds()};
      const double sign = gains ? 1 : -1;
      if (!largest || sign * one.gain() > sign * largest->gain()) largest = one;
    }
  }
  return largest;
}

/// "collectives of 4 B". Those without data are barriers, also that of MPI_Win_fence.
std::string operations_text(const SizeDifference& one, bool collective) {
  if (collective && one.bytes == 0) return "barriers";
  constexpr std::array kKinds = {"sends", "receives", "collectives", "accesses"};
  return fmt::format("{} of {}", kKinds.at(one.kind), bytes_text(std::round(one.bytes)));
}

std::string speed_text(const ReplayResult& baseline, const ReplayResult& hardware, bool gains) {
  const auto one = largest_difference(baseline, hardware, gains);
  if (!one || (one->gain() > 0) != gains) return {};
  const bool collective = one->kind == static_cast<std::size_t>(SizeTable::OperationClass::kCollective);
  const double nanoseconds = 1e9 / one->calls;
  return fmt::format("{}: {} take {} instead of {}",
                     one->bytes >= kLong ? "bandwidth"
                     : collective        ? "rounds"
                                         : "latency",
                     operations_text(*one, collective), time_text(one->hardware * nanoseconds),
                     time_text(one->baseline * nanoseconds));
}

}  // namespace

std::vector<std::string> reasons_of(const Settled& baseline, const Settled& hardware,
                                    const std::optional<ProgramTimes>& program) {
  const bool gains = hardware.end() < baseline.end();
  const Time own = baseline.result->modelled_time;
  const Time other = hardware.result->modelled_time;
  double hidden = 0;
  double speed = (own - other).seconds();
  std::string overlap;
  if (program && baseline.run && hardware.run) {
    const double here = hidden_share(own, *baseline.run, program->free);
    const double there = hidden_share(other, *hardware.run, program->free);
    hidden = own.seconds() * (there - here);
    speed *= 1 - there;
    overlap = fmt::format("{} of communication is hidden ({}: {})", share_text(there), baseline.backend,
                          share_text(here));
  }
  return largest_first({{hidden, overlap}, {speed, speed_text(*baseline.result, *hardware.result, gains)}},
                       gains);
}

std::vector<std::string> reasons_of(const ForecastSide& baseline, const ForecastSide& hardware,
                                    const Operation& operation) {
  if (!baseline.shortest || !hardware.shortest) return {};
  const std::string_view steps =
      operation.kind != OperationKind::kSend && operation.ranks > 2 ? "rounds" : "latency";
  if (operation.bytes <= element_bytes(operation.element))
    return {fmt::format("{}; bandwidth plays no part at this size", steps)};
  const auto rest = [](const ForecastSide& side) {
    return side.forecast.time - earlier(side.forecast.time, *side.shortest);
  };
  const auto gain = [](Time one, Time other) { return one.seconds() - other.seconds(); };
  return largest_first(
      {{gain(*baseline.shortest, *hardware.shortest),
        fmt::format("{}: one element takes {}", steps, ends_text(*hardware.shortest, *baseline.shortest))},
       {gain(rest(baseline), rest(hardware)),
        fmt::format("bandwidth: the bytes themselves take {}", ends_text(rest(hardware), rest(baseline)))}},
      hardware.forecast.time < baseline.forecast.time);
}

}  // namespace offramp
