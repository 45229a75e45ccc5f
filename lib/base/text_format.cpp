// Tables of names, in the order of their enums, and of units. Case is significant for b and B in rates only
// (bits and bytes). Suggestions use the edit distance with transpositions, up to half the length of a short
// word.
#include "lib/base/text_format.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

namespace offramp {
namespace {

using std::string_view;

// In the order of the enums.
constexpr std::array<string_view, kOperationKinds.size()> kOperations = [] {
  std::array<string_view, kOperationKinds.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kOperationKinds[i].name;
  return names;
}();

constexpr std::array<string_view, 16> kElementTypes = {
    "byte",   "int8",    "int16",   "int32",          "int64",   "uint8",   "uint16", "uint32",
    "uint64", "float32", "float64", "float_extended", "complex", "logical", "pair",   "mixed"};
static_assert(kElementTypes.size() == static_cast<std::size_t>(ElementType::kMixed) + 1);

constexpr std::array<string_view, 15> kReduceFunctions = {"none", "sum",    "prod",   "max",     "min",
                                                          "land", "lor",    "lxor",   "band",    "bor",
                                                          "bxor", "maxloc", "minloc", "replace", "user"};
static_assert(kReduceFunctions.size() == static_cast<std::size_t>(ReduceFunction::kUser) + 1);

template <typename Enum, std::size_t N>
string_view word_of(Enum value, const std::array<string_view, N>& words) {
  const auto index = static_cast<std::size_t>(value);
  return index < N ? words[index] : "unknown";
}

// Names in MPI, C, and Fortran, in lower case and without MPI_.
template <typename Enum>
struct Alias {
  string_view word;
  Enum value;
};
// In addition to MPI's functions: see kind_of_function().
constexpr Alias<OperationKind> kOperationAliases[] = {{"broadcast", OperationKind::kBcast}};
constexpr Alias<ElementType> kTypeAliases[] = {
    {"char", ElementType::kInt8},       {"signed_char", ElementType::kInt8},
    {"short", ElementType::kInt16},     {"int", ElementType::kInt32},
    {"integer", ElementType::kInt32},   {"long", ElementType::kInt64},
    {"long_long", ElementType::kInt64}, {"unsigned_char", ElementType::kUint8},
    {"unsigned", ElementType::kUint32}, {"unsigned_short", ElementType::kUint16},
    {"float", ElementType::kFloat32},   {"unsigned_long", ElementType::kUint64},
    {"real", ElementType::kFloat32},    {"double", ElementType::kFloat64},
    {"fp32", ElementType::kFloat32},    {"double_precision", ElementType::kFloat64},
    {"fp64", ElementType::kFloat64},    {"long_double", ElementType::kFloatExtended},
    {"c_bool", ElementType::kLogical},
};
constexpr Alias<ReduceFunction> kFunctionAliases[] = {
    {"maximum", ReduceFunction::kMaximum},
    {"minimum", ReduceFunction::kMinimum},
    {"product", ReduceFunction::kProduct},
    {"add", ReduceFunction::kSum},
};

enum class Dimension : std::uint8_t { kTime, kSize, kFrequency, kRate };

// Factors are integer multiples of the smallest unit, so that 2.5us is exactly 2500ns. Names are normalised
// as by find_unit().
struct Unit {
  string_view name;
  Dimension dimension;
  double factor;
};
constexpr std::array kUnits = {
    Unit{"ps", Dimension::kTime, 1},          Unit{"ns", Dimension::kTime, 1e3},
    Unit{"us", Dimension::kTime, 1e6},        Unit{"usec", Dimension::kTime, 1e6},
    Unit{"\xc2\xb5s", Dimension::kTime, 1e6}, Unit{"\xce\xbcs", Dimension::kTime, 1e6},
    Unit{"ms", Dimension::kTime, 1e9},        Unit{"s", Dimension::kTime, 1e12},
    Unit{"min", Dimension::kTime, 60e12},     Unit{"b", Dimension::kSize, 1},
    Unit{"byte", Dimension::kSize, 1},        Unit{"bytes", Dimension::kSize, 1},
    Unit{"k", Dimension::kSize, 0x1p10},      Unit{"kb", Dimension::kSize, 0x1p10},
    Unit{"kib", Dimension::kSize, 0x1p10},    Unit{"m", Dimension::kSize, 0x1p20},
    Unit{"mb", Dimension::kSize, 0x1p20},     Unit{"mib", Dimension::kSize, 0x1p20},
    Unit{"g", Dimension::kSize, 0x1p30},      Unit{"gb", Dimension::kSize, 0x1p30},
    Unit{"gib", Dimension::kSize, 0x1p30},    Unit{"hz", Dimension::kFrequency, 1},
    Unit{"khz", Dimension::kFrequency, 1e3},  Unit{"mhz", Dimension::kFrequency, 1e6},
    Unit{"ghz", Dimension::kFrequency, 1e9},  Unit{"b/s", Dimension::kRate, 1},
    Unit{"kb/s", Dimension::kRate, 1e3},      Unit{"Mb/s", Dimension::kRate, 1e6},
    Unit{"Gb/s", Dimension::kRate, 1e9},      Unit{"Tb/s", Dimension::kRate, 1e12},
    Unit{"B/s", Dimension::kRate, 8},         Unit{"kB/s", Dimension::kRate, 8e3},
    Unit{"MB/s", Dimension::kRate, 8e6},      Unit{"GB/s", Dimension::kRate, 8e9},
    Unit{"TB/s", Dimension::kRate, 8e12},
};

// ASCII only, in any locale.
constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Normalises a rate: the case of b and B is significant, that of the prefix is not.
std::string plain_rate(string_view suffix) {
  std::string rate(suffix);
  constexpr std::pair<string_view, string_view> kEndings[] = {{"bits/s", "b/s"}, {"bit/s", "b/s"},
                                                              {"bps", "b/s"},    {"bytes/s", "B/s"},
                                                              {"byte/s", "B/s"}, {"Bps", "B/s"}};
  for (const auto& [ending, plain] : kEndings) {
    if (!rate.ends_with(ending)) continue;
    rate.replace(rate.size() - ending.size(), ending.size(), plain);
    break;
  }
  // Rates without a prefix have three letters.
  if (rate.size() != 4) return rate;
  rate[0] = lower(rate[0]);
  if (rate[0] != 'k') rate[0] = static_cast<char>(rate[0] - 'a' + 'A');
  return rate;
}

/// Finds a unit; case is significant in rates only.
const Unit* find_unit(string_view name, Dimension dimension) {
  // Longer texts are no unit; they are not copied.
  constexpr std::size_t kLongest = 16;
  if (name.size() > kLongest) return nullptr;
  const std::string plain = dimension == Dimension::kRate ? plain_rate(name) : in_lower_case(name);
  const auto* found = std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& u) {
    return u.dimension == dimension && u.name == plain;
  });
  return found == kUnits.end() ? nullptr : found;
}

// nullopt for units that accept themselves only.
std::optional<Dimension> dimension_of(string_view unit) {
  for (const Dimension d : {Dimension::kTime, Dimension::kSize, Dimension::kFrequency, Dimension::kRate}) {
    if (find_unit(unit, d) != nullptr) return d;
  }
  return std::nullopt;
}

/// Finds a value by name or alias, ignoring case.
template <typename Enum, std::size_t N, std::size_t M>
std::optional<Enum> value_of(string_view word, const std::array<string_view, N>& words,
                             const Alias<Enum> (&aliases)[M]) {
  constexpr std::size_t kLongest = 40;
  if (word.size() > kLongest) return std::nullopt;
  std::string plain = in_lower_case(word);
  std::replace(plain.begin(), plain.end(), ' ', '_');
  if (plain.starts_with("mpi_")) plain.erase(0, 4);
  for (const std::string& candidate :
       {plain, plain.ends_with("_t") ? plain.substr(0, plain.size() - 2) : plain}) {
    if (const auto found = std::find(words.begin(), words.end(), candidate); found != words.end())
      return static_cast<Enum>(found - words.begin());
  }
  for (const Alias<Enum>& alias : aliases) {
    if (alias.word == plain) return alias.value;
  }
  return std::nullopt;
}

string_view trimmed(string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Edit distance with insertions, deletions, substitutions, and transpositions. Both words are short.
std::size_t edit_distance(string_view a, string_view b) {
  // The last three rows of the table are enough.
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1;
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + change});
      const bool swapped =
          i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

}  // namespace

std::string in_lower_case(string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

string_view to_string(ElementType type) {
  return word_of(type, kElementTypes);
}
string_view to_string(ReduceFunction function) {
  return word_of(function, kReduceFunctions);
}

std::optional<OperationKind> parse_operation(string_view word) {
  if (const auto kind = value_of(word, kOperations, kOperationAliases)) return kind;
  const std::string plain = in_lower_case(word);
  return kind_of_function(string_view(plain).substr(plain.starts_with("mpi_") ? 4 : 0));
}
std::optional<ElementType> parse_element_type(string_view word) {
  return value_of(word, kElementTypes, kTypeAliases);
}
std::optional<ReduceFunction> parse_reduce_function(string_view word) {
  return value_of(word, kReduceFunctions, kFunctionAliases);
}

std::optional<double> parse_quantity(string_view text, string_view unit) {
  text = trimmed(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  const string_view suffix = trimmed(text.substr(static_cast<std::size_t>(end - text.data())));
  // A unit without a dimension here is accepted literally.
  if (suffix.empty() || suffix == unit) return number;
  const std::optional<Dimension> dimension = dimension_of(unit);
  const Unit* from = dimension ? find_unit(suffix, *dimension) : nullptr;
  if (from == nullptr) return std::nullopt;
  // The product of integers is exact for usual values.
  const double converted = number * from->factor / find_unit(unit, *dimension)->factor;
  return std::isfinite(converted) ? std::optional(converted) : std::nullopt;
}

string_view units_beside(string_view unit) {
  // In the order of Dimension.
  constexpr string_view kUnitNames[] = {"ps, ns, us, ms, s, min", "B, K, KiB, M, MiB, G, GiB",
                                        "Hz, kHz, MHz, GHz",
                                        "b/s, kb/s, Mb/s, Gb/s, Tb/s, B/s, kB/s, MB/s, GB/s"};
  const std::optional<Dimension> dimension = dimension_of(unit);
  return dimension ? kUnitNames[static_cast<std::size_t>(*dimension)] : string_view();
}

std::optional<bool> parse_boolean(string_view text) {
  // No word is longer.
  const std::string word = in_lower_case(trimmed(text).substr(0, 8));
  constexpr string_view kYes[] = {"true", "yes", "y", "on", "1"};
  constexpr string_view kNo[] = {"false", "no", "n", "off", "0"};
  const bool is_yes = std::ranges::find(kYes, word) != std::end(kYes);
  return is_yes || std::ranges::find(kNo, word) != std::end(kNo) ? std::optional(is_yes) : std::nullopt;
}

string_view closest(string_view word, std::span<const string_view> candidates) {
  constexpr std::size_t kMostEdits = 3;
  // A short word may differ in half its letters; otherwise "fast" would suggest "wall".
  std::size_t limit = std::min(kMostEdits, (word.size() + 1) / 2);
  string_view best;
  for (const string_view candidate : candidates) {
    const std::size_t longer = std::max(word.size(), candidate.size());
    if (longer - std::min(word.size(), candidate.size()) > kMostEdits) continue;  // also bounds the work
    const std::size_t distance = edit_distance(word, candidate);
    // The first of several equally near names is suggested.
    if (distance > limit || (!best.empty() && distance == limit)) continue;
    limit = distance;
    best = candidate;
  }
  return best;
}

/// The only candidate of another section with the same last part: for "dpu.nodes" and "nodes",
/// "machine.nodes"; for OFFRAMP_NODES, OFFRAMP_MACHINE_NODES. Empty if there is none, or more than one.
static std::string_view same_end(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr std::string_view kVariable = "OFFRAMP_";
  std::string end;
  if (word.starts_with(kVariable)) {
    end = fmt::format("_{}", word.substr(kVariable.size()));
  } else {
    const std::size_t dot = word.rfind('.');
    end = fmt::format(".{}", word.substr(dot == std::string_view::npos ? 0 : dot + 1));
  }
  std::string_view found;
  for (const std::string_view candidate : candidates) {
    if (end.size() < 3 || !candidate.ends_with(end)) continue;
    if (!found.empty()) return {};
    found = candidate;
  }
  return found;
}

std::string suggestion(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string_view near = closest(word, candidates);
  if (!near.empty()) return fmt::format("; did you mean {}?", in_quotes(near));
  const std::string_view whole = same_end(word, candidates);
  if (!whole.empty()) return fmt::format("; did you mean {}?", in_quotes(whole));
  // Names in one message.
  constexpr std::size_t kMostListed = 20;
  if (candidates.empty()) return {};
  if (candidates.size() > kMostListed) return "; offramp info -c lists the known ones";
  return fmt::format("; known: {}", fmt::join(candidates, ", "));
}

}  // namespace offramp
