// Fits the parameters of the host backend to measured times of messages. A parameter that was timed directly
// is set directly; the others are searched by simulating the messages with the backend itself. Messages
// within a node determine the parameters of memory, and messages between nodes those of the NIC. Collectives
// are only compared, never fitted.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/answers/replay/forecast.hpp"
#include "offramp/model/backend.hpp"
#include "tools/calibrate/measurement.hpp"

namespace offramp::tool {

/// A measured time and the fitted host's.
struct Comparison {
  Measured measured;
  double modelled = 0;  // s
  bool fitted = false;  // true: the fit used this figure

  std::string cause = {};  // if the model is further off than it should be

  [[nodiscard]] double error() const { return modelled / measured.seconds - 1; }
};

/// A fitted or given parameter, its value as in a configuration file, and the basis of the value.
struct Found {
  const Parameter* parameter = nullptr;
  std::string text;
  std::string basis;
};

struct MessageKeys;

class Fit {
 public:
  using Keys = std::set<std::string, std::less<>>;

  /// Fits at once. known: keys whose values in the settings stay unchanged. Throws Misuse if the measurement
  /// lacks an indispensable figure.
  Fit(const BackendDescription& host, const Measurement& measured, Settings settings, Keys known);

  [[nodiscard]] const Measurement& measured() const { return measured_; }
  /// The figures that the host's model can be compared with.
  [[nodiscard]] std::vector<Comparison> comparisons() const;
  /// True if several pairs were measured with long messages.
  [[nodiscard]] bool has_rate_of_pairs(std::string_view place) const { return !long_rates(place).empty(); }
  /// Ordered as the host's parameters.
  [[nodiscard]] std::vector<Found> values() const;
  /// Keys of the machine that these figures do not determine; they keep their defaults.
  [[nodiscard]] std::vector<std::string_view> undetermined() const;
  /// The relative error that the model should not exceed: nine tenths of its errors against published
  /// figures.
  [[nodiscard]] double expected_error() const;

 private:
  [[nodiscard]] const Measured& figure(std::string_view place, std::string_view name) const;
  [[nodiscard]] std::vector<const Measured*> rows(std::string_view place, std::string_view name) const;
  /// Rates of long messages when all pairs send at once.
  [[nodiscard]] std::vector<const Measured*> long_rates(std::string_view place) const;
  /// Long transfers of one pair.
  [[nodiscard]] std::vector<const Measured*> long_messages(std::string_view place) const;
  /// Messages of one pair: round trips, and windows. If all ranks of a node exchange messages at once, those.
  [[nodiscard]] std::vector<const Measured*> transfers(std::string_view place) const;
  /// True if all ranks of a node were measured together.
  [[nodiscard]] bool is_full_node(std::string_view place) const;
  [[nodiscard]] bool shows_latency(std::string_view place) const;
  [[nodiscard]] const Measured& smallest(std::string_view place) const;
  [[nodiscard]] const Measured& latency_figure(std::string_view place) const;

  [[nodiscard]] bool is_open(std::string_view name) const { return !known_.contains(name); }
  void set(std::string_view name, double value);
  void directly(const char* name, double value);
  void fit(const MessageKeys& keys);
  void fit_node_rates();
  void fit_nic_rate();
  void fit_both_ways();
  void fit_overhead(const MessageKeys& keys);
  void fit_latency(const MessageKeys& keys);
  void fit_rate(const char* name, const std::vector<const Measured*>& figures);
  [[nodiscard]] bool is_at_end(const char* name) const;
  [[noreturn]] void refuse(const char* name) const;
  void search_size(const MessageKeys& keys, std::string_view name);
  void search_value(const MessageKeys& keys, std::string_view name);
  [[nodiscard]] const char* bandwidth_of(const MessageKeys& keys);
  [[nodiscard]] std::vector<std::string_view> searched(const MessageKeys& keys);
  [[nodiscard]] bool is_determined(const MessageKeys& keys, std::string_view name);
  [[nodiscard]] bool is_buffered_at_length();
  [[nodiscard]] bool is_sharp(const MessageKeys& keys, std::string_view name);
  [[nodiscard]] std::string cause_of(const Comparison& row) const;
  void explain_bases(const MessageKeys& keys, const char* bandwidth,
                     const std::vector<std::string_view>& names);

  [[nodiscard]] double modelled(const Measured& one) const;
  /// Times of several figures. Equal operations are simulated once.
  [[nodiscard]] std::vector<double> modelled(const std::vector<const Measured*>& figures) const;
  [[nodiscard]] double collective(const Measured& one, OperationKind kind) const;
  [[nodiscard]] ForecastSetting setting_of(int ranks_per_node) const;
  /// The sum of squares of log(modelled / measured) over the transfers of a place.
  [[nodiscard]] double misfit(std::string_view place) const;
  /// The mean of log(modelled / measured).
  [[nodiscard]] double error_of(const std::vector<const Measured*>& figures) const;

  const BackendDescription& host_;
  const Measurement& measured_;
  Settings settings_;
  Keys known_;
  std::map<std::string, std::string, std::less<>> bases_;  // basis of each fitted value
  bool both_ways_are_faster_ = false;                      // than long messages one way, between nodes
  mutable std::optional<double> expected_error_;
  Keys shaped_;  // places whose messages were all used in the fit
};

}  // namespace offramp::tool
