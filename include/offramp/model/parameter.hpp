// Parameters of a backend: described once, as data. From the table come the configuration's checks, `offramp
// info`, the documentation and the values that the model reads.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace offramp {

enum class ParameterKind : std::uint8_t { kInteger, kReal, kBoolean, kChoice };

/// Texts are literals. For kChoice the default and the allowed values are names; otherwise they are numbers
/// (booleans: 0 or 1) between minimum and maximum, both allowed.
struct Parameter {
  std::string_view name;
  ParameterKind kind = ParameterKind::kInteger;
  std::string_view unit;  // "ns", "bit", "1" for pure numbers
  double default_number = 0;
  double minimum = 0;
  double maximum = 0;
  std::string_view default_choice;
  std::vector<std::string_view> choices;
  std::string_view source;       // where the default comes from: document and place, or "assumed"
  std::string_view description;  // one line
};

/// The values of one backend's parameters: complete (defaults filled in) and checked against its table.
/// Reading a name that is not in the table is a bug of the backend and throws std::out_of_range at creation.
class Settings {
 public:
  struct Value {
    double number = 0;
    std::string text;
  };

  [[nodiscard]] std::int64_t integer(const std::string& name) const {
    return static_cast<std::int64_t>(values_.at(name).number);
  }
  [[nodiscard]] double real(const std::string& name) const { return values_.at(name).number; }
  [[nodiscard]] bool flag(const std::string& name) const { return values_.at(name).number != 0; }
  [[nodiscard]] const std::string& choice(const std::string& name) const { return values_.at(name).text; }
  void set(std::string_view name, Value value) { values_[std::string(name)] = std::move(value); }

  /// All defaults of a table.
  static Settings defaults(std::span<const Parameter> table) {
    Settings settings;
    for (const Parameter& p : table) settings.set(p.name, {p.default_number, std::string(p.default_choice)});
    return settings;
  }

 private:
  std::map<std::string, Value> values_;
};

}  // namespace offramp
