// Finds the parameters of the host backend with which its messages take what was measured. What was timed
// directly becomes a parameter directly; the others are searched with the backend itself. Messages between
// two ranks of a node say nothing of the NIC: they become the parameters of memory, and only messages between
// nodes become those of the NIC. Collectives are never fitted to.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/answers/replay/forecast.hpp"
#include "offramp/model/backend.hpp"
#include "tools/calibrate/measurement.hpp"

namespace offramp::tool {

/// A measured time beside that of the fitted host.
struct Comparison {
  Measured measured;
  double modelled = 0;  // s
  bool fitted = false;  // to this figure

  [[nodiscard]] double error() const { return modelled / measured.seconds - 1; }
};

/// A parameter that was found or given, as it is written in a file, and from what.
struct Found {
  const Parameter* parameter = nullptr;
  std::string text;
  std::string basis;
};

struct MessageKeys;

class Fit {
 public:
  using Keys = std::set<std::string, std::less<>>;

  /// known: keys that have their values in the settings and stay as they are. Throws Misuse where the
  /// measurement lacks what no fit can do without.
  Fit(const BackendDescription& host, const Measurement& measured, Settings settings, Keys known);

  [[nodiscard]] const Measurement& measured() const { return measured_; }
  [[nodiscard]] std::vector<Comparison> comparisons() const;
  /// Whether several pairs were measured with long messages.
  [[nodiscard]] bool has_rate_of_pairs(std::string_view place) const { return !long_rates(place).empty(); }
  /// In the order of the host's parameters.
  [[nodiscard]] std::vector<Found> values() const;
  /// Keys of the machine that the figures say nothing of: these have their defaults.
  [[nodiscard]] std::vector<std::string_view> undetermined() const;

 private:
  [[nodiscard]] const Measured& figure(std::string_view place, std::string_view name) const;
  [[nodiscard]] std::vector<const Measured*> rows(std::string_view place, std::string_view name) const;
  /// What all pairs at once move of long messages.
  [[nodiscard]] std::vector<const Measured*> long_rates(std::string_view place) const;
  /// Of one pair.
  [[nodiscard]] std::vector<const Measured*> long_messages(std::string_view place) const;
  /// Messages to and fro, and in windows.
  [[nodiscard]] std::vector<const Measured*> transfers(std::string_view place) const;
  [[nodiscard]] const Measured& smallest(std::string_view place) const;
  [[nodiscard]] const Measured& latency_figure(std::string_view place) const;

  [[nodiscard]] bool is_open(std::string_view name) const { return !known_.contains(name); }
  void set(std::string_view name, double value);
  void directly(const char* name, double value);
  void fit(const MessageKeys& keys);
  void fit_node_rates();
  void fit_nic_rate();
  void fit_overhead(const MessageKeys& keys);
  void fit_latency(const MessageKeys& keys);
  void fit_rate(const char* name, const std::vector<const Measured*>& figures);
  void search_size(const MessageKeys& keys, std::string_view name);
  void search_value(const MessageKeys& keys, std::string_view name);
  [[nodiscard]] const char* bandwidth_of(const MessageKeys& keys);
  [[nodiscard]] std::vector<std::string_view> searched(const MessageKeys& keys);
  [[nodiscard]] bool is_determined(const MessageKeys& keys, std::string_view name);
  void explain_bases(const MessageKeys& keys, const char* bandwidth,
                     const std::vector<std::string_view>& names);

  [[nodiscard]] double modelled(const Measured& one) const;
  [[nodiscard]] double collective(const Measured& one, OperationKind kind) const;
  [[nodiscard]] ForecastSetting setting_of(int ranks_per_node) const;
  /// Squares of the logarithms of modelled over measured, of a place's transfers.
  [[nodiscard]] double misfit(std::string_view place) const;
  /// The mean of those logarithms.
  [[nodiscard]] double error_of(const std::vector<const Measured*>& figures) const;

  const BackendDescription& host_;
  const Measurement& measured_;
  Settings settings_;
  Keys known_;
  std::map<std::string, std::string, std::less<>> bases_;  // of what was found
  Keys shaped_;                                            // places whose messages are all fitted to
};

}  // namespace offramp::tool
