// The baseline's model beside the user's own run: a recording's native times, and a replay over the host on
// the machine on which it was recorded. Both are shown side by side and never mixed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/answers/replay/replay.hpp"
#include "lib/answers/report/answer.hpp"
#include "lib/base/configuration/configuration.hpp"
#include "lib/base/registry/registry.hpp"
#include "lib/programs/recording/native_times.hpp"

namespace offramp {

/// The times of one function at one call site, over all ranks.
struct NativeSite {
  recording::CallTimes native;
  Time modelled;
};

struct NativeComparison {
  recording::NativeTimes native;
  std::string why_not;           // why there is no modelled time; empty: there is one
  std::optional<Time> modelled;  // the run over the host, where the program was recorded
  std::vector<NativeSite> sites;

  /// The modelled run over the native one. `nullopt` without a modelled time.
  [[nodiscard]] std::optional<double> ratio() const;
  /// The ratio differs from 1 by more than a quarter.
  [[nodiscard]] bool is_off() const;
};

/// Replays the recording once over the host. `nullopt` if it has no native times. sites: also compares call
/// sites. source: of the whole recording.
std::optional<NativeComparison> compare_with_native(const Configuration& configuration,
                                                    const Registry& registry,
                                                    const recording::Recording& recording,
                                                    const ReplaySource& source, ReplayOptions options,
                                                    bool sites);

/// Adds the comparison to an answer: its line, and what follows from a model that is off.
void add_native(ReportAnswer& answer, const NativeComparison& comparison);
/// A table of call sites. Empty without any.
std::string native_sites_text(const NativeComparison& comparison);

}  // namespace offramp
