// Parameters of a backend, described once in a table. The configuration's checks, `offramp info`, the
// documentation, and the model's values are derived from it.
//
//   real("latency", "ns", 1000, {0, 1e9}, "assumed", "first bit out to first bit in")   a row of the table
//   settings.nanoseconds("latency")                                                     its value, as a Time
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "offramp/kernel/time.hpp"

namespace offramp {

/// kInteger and kReal have a range, kBoolean is 0 or 1, kChoice is one of `choices`.
enum class ParameterKind : std::uint8_t { kInteger, kReal, kBoolean, kChoice };

/// Texts are literals. For kChoice the default and the allowed values are names; otherwise they are numbers
/// (booleans: 0 or 1) from minimum to maximum, inclusive.
struct Parameter {
  /// Both ends are allowed values.
  struct Range {
    double minimum = 0;
    double maximum = 0;
  };

  std::string_view name;
  ParameterKind kind = ParameterKind::kInteger;
  std::string_view unit;  // "ns", "bit", "1" for pure numbers
  double default_number = 0;
  double minimum = 0;
  double maximum = 0;
  std::string_view default_choice;
  std::vector<std::string_view> choices;
  std::string_view
      source;  // origin of the default: a key of `offramp info --sources` and a place, or "assumed"
  std::string_view description;  // one line
  /// A plausible value if the default is 0 because nothing is published. advise tries it; `source` has its
  /// origin.
  double plausible = 0;
};

// Constructors of table rows.
// Each returns one row; the arguments are the members of Parameter with these names.
inline Parameter real(std::string_view name, std::string_view unit, double value, Parameter::Range range,
                      std::string_view source, std::string_view description) {
  return {name, ParameterKind::kReal, unit, value, range.minimum, range.maximum, {}, {}, source, description};
}
/// The row with a plausible value (Parameter::plausible).
inline Parameter with_plausible(double value, Parameter parameter) {
  parameter.plausible = value;
  return parameter;
}
inline Parameter integer(std::string_view name, std::string_view unit, std::int64_t value,
                         Parameter::Range range, std::string_view source, std::string_view description) {
  return {name,
          ParameterKind::kInteger,
          unit,
          static_cast<double>(value),
          range.minimum,
          range.maximum,
          {},
          {},
          source,
          description};
}
inline Parameter flag(std::string_view name, bool value, std::string_view source,
                      std::string_view description) {
  return {name, ParameterKind::kBoolean, "", value ? 1.0 : 0.0, 0, 1, {}, {}, source, description};
}
inline Parameter choice(std::string_view name, std::string_view value, std::vector<std::string_view> choices,
                        std::string_view source, std::string_view description, std::string_view unit = "") {
  return {name, ParameterKind::kChoice, unit, 0, 0, 0, value, std::move(choices), source, description};
}

// Convert a value of a simulator's specification to a parameter's unit. A default is written once: in the
// specification if it has the value, else in the table.
constexpr double in_nanoseconds(Time time) {
  return static_cast<double>(time.count()) / 1e3;
}
constexpr double in_microseconds(Time time) {
  return static_cast<double>(time.count()) / 1e6;
}
constexpr double in_milliseconds(Time time) {
  return static_cast<double>(time.count()) / 1e9;
}
constexpr double in_gigabits(Bandwidth rate) {
  return static_cast<double>(rate.count()) / 1e9;
}
constexpr double in_megahertz(Frequency clock) {
  return static_cast<double>(clock.count()) / 1e6;
}

/// The values of one backend's parameters: complete (defaults filled in) and checked against its table.
/// Reading a name outside the table is a bug of the backend and throws std::out_of_range at creation.
class Settings {
 public:
  /// A number in the parameter's unit, or the name of a choice. The other member is unused.
  struct Value {
    double number = 0;
    std::string text;
  };

  // Values of the named parameters, as numbers in their units or as texts.
  [[nodiscard]] std::int64_t integer(const std::string& name) const {
    return static_cast<std::int64_t>(values_.at(name).number);
  }
  [[nodiscard]] double real(const std::string& name) const { return values_.at(name).number; }
  [[nodiscard]] bool flag(const std::string& name) const { return values_.at(name).number != 0; }
  [[nodiscard]] const std::string& choice(const std::string& name) const { return values_.at(name).text; }

  // Values in the named units, rounded to a picosecond, a bit per second, a hertz.
  [[nodiscard]] Time nanoseconds(const std::string& name) const { return Time::ps(scaled(name, 1e3)); }
  [[nodiscard]] Time microseconds(const std::string& name) const { return Time::ps(scaled(name, 1e6)); }
  [[nodiscard]] Time milliseconds(const std::string& name) const { return Time::ps(scaled(name, 1e9)); }
  [[nodiscard]] Bandwidth gigabits(const std::string& name) const {
    return Bandwidth::bits_per_second(scaled(name, 1e9));
  }
  [[nodiscard]] Frequency megahertz(const std::string& name) const {
    return Frequency::hertz(scaled(name, 1e6));
  }

  /// Stores a value without a check: the configuration has checked it.
  void set(std::string_view name, Value value) { values_[std::string(name)] = std::move(value); }

  /// The defaults of a table.
  static Settings defaults(std::span<const Parameter> table) {
    Settings settings;
    for (const Parameter& p : table) settings.set(p.name, {p.default_number, std::string(p.default_choice)});
    return settings;
  }

 private:
  /// Rounds to the nearest unit: values are not negative.
  [[nodiscard]] std::int64_t scaled(const std::string& name, double factor) const {
    return static_cast<std::int64_t>(real(name) * factor + 0.5);
  }

  std::map<std::string, Value> values_;
};

}  // namespace offramp
