// Parameters described together with the variables that have their values: one row for the table and for
// reading. The table's defaults are the values of the variables.
//
//   void describe(ParameterRows& rows, Spec& spec) {
//     rows(spec.latency, "latency", "ns", {0, 1e9}, "assumed", "first bit out to first bit in");
//   }
//   rows_of<Spec>(describe)                                   the table
//   ParameterRows rows(settings); describe(rows, spec);       reads the settings into spec
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "offramp/model/parameter.hpp"

namespace offramp {

/// One object either collects the table or reads settings; describe() is the same for both.
class ParameterRows {
 public:
  /// Collects the table.
  ParameterRows() = default;
  /// Reads settings, which must outlive the object.
  explicit ParameterRows(const Settings& settings) : settings_(&settings) {}

  /// A Time, Bandwidth, or Frequency in the unit; a double; or a whole number.
  template <typename T>
  void operator()(T& value, std::string_view name, std::string_view unit, Parameter::Range range,
                  std::string_view source, std::string_view description) {
    if (settings_ != nullptr) return read(value, name, unit);
    add(real(name, unit, in_unit(value, unit), range, source, description));
    if (std::is_integral_v<T>) table_.back().kind = ParameterKind::kInteger;
  }
  /// A parameter whose least value, the default, selects that of the variable (a preset's).
  template <typename T>
  void preset(T& value, std::string_view name, std::string_view unit, Parameter::Range range,
              std::string_view source, std::string_view description) {
    if (settings_ == nullptr) {
      in_force_.emplace_back(name, in_unit(value, unit));
      return add(real(name, unit, range.minimum, range, source, description));
    }
    // A count of 0 or a rate of 0 would have no meaning, so they select the variable's value, too. A time may
    // be 0 where its range begins below 0.
    const double least = std::is_integral_v<T> ? 1 : std::is_same_v<T, Bandwidth> ? 1e-9 : 0;
    const double number = settings_->real(std::string(name));
    if (number > range.minimum && number >= least) read(value, name, unit);
  }
  /// A boolean.
  void flag(bool& value, std::string_view name, std::string_view source, std::string_view description) {
    if (settings_ != nullptr) value = settings_->flag(std::string(name));
    add(offramp::flag(name, value, source, description));
  }
  /// A choice among named values of the variable's type. The default is the variable's value.
  template <typename T>
  void choice(T& value, std::string_view name, std::initializer_list<std::pair<std::string_view, T>> names,
              std::string_view source, std::string_view description) {
    Parameter row = offramp::choice(name, {}, {}, source, description);
    for (const auto& [word, meaning] : names) {
      if (settings_ != nullptr && settings_->choice(std::string(name)) == word) value = meaning;
      if (meaning == value) row.default_choice = word;
      row.choices.push_back(word);
    }
    add(std::move(row));
  }
  /// Sets Parameter::plausible of the last row.
  void plausible(double value) {
    if (settings_ == nullptr) table_.back() = with_plausible(value, std::move(table_.back()));
  }
  /// A row that is read elsewhere.
  void add(Parameter row) {
    if (settings_ == nullptr) table_.push_back(std::move(row));
  }

  /// The rows collected so far; empty if the object reads settings.
  [[nodiscard]] std::vector<Parameter>& table() { return table_; }
  /// The variable's value of a preset() row. nullopt for other rows.
  [[nodiscard]] std::optional<double> in_force(std::string_view name) const {
    for (const auto& [own, value] : in_force_) {
      if (own == name) return value;
    }
    return std::nullopt;
  }

 private:
  /// Picoseconds, bits per second, or hertz of a unit.
  static double factor_of(std::string_view unit) {
    if (unit == "ns") return 1e3;
    if (unit == "us" || unit == "MHz") return 1e6;
    return unit == "GB/s" ? 8e9 : 1e9;  // ms, Gb/s
  }
  template <typename T>
  static double in_unit(const T& value, std::string_view unit) {
    if constexpr (std::is_arithmetic_v<T>)
      return static_cast<double>(value);
    else
      return static_cast<double>(value.count()) / factor_of(unit);
  }
  template <typename T>
  void read(T& value, std::string_view name, std::string_view unit) const {
    const double number = settings_->real(std::string(name));
    if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(static_cast<std::int64_t>(number));
    } else if constexpr (std::is_same_v<T, double>) {
      value = number;
    } else {
      const auto scaled = static_cast<std::int64_t>(number * factor_of(unit) + 0.5);
      if constexpr (std::is_same_v<T, Time>) value = Time::ps(scaled);
      if constexpr (std::is_same_v<T, Bandwidth>) value = Bandwidth::bits_per_second(scaled);
      if constexpr (std::is_same_v<T, Frequency>) value = Frequency::hertz(scaled);
    }
  }

  const Settings* settings_ = nullptr;
  std::vector<Parameter> table_;
  std::vector<std::pair<std::string_view, double>> in_force_;
};

/// The table of parameters that describe() binds to a specification.
template <typename Spec>
std::vector<Parameter> rows_of(void (*describe)(ParameterRows&, Spec&)) {
  Spec spec;
  ParameterRows rows;
  describe(rows, spec);
  return std::move(rows.table());
}

}  // namespace offramp
