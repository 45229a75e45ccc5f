// Text formats: names of the enums of backend.hpp, values with units, and suggestions for misspelled names.
//
// All functions accept untrusted text: any bytes, any length. They are pure: any thread may call them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lib/base/printable.hpp"
#include "offramp/model/backend.hpp"

namespace offramp {

/// ASCII letters only, in any locale.
std::string in_lower_case(std::string_view text);

/// The inverse of to_string, ignoring case. Also accepts MPI's names (MPI_Allreduce, MPI_DOUBLE, MPI_MAX), C
/// types, and common words (double, maximum). nullopt for other words.
std::optional<OperationKind> parse_operation(std::string_view word);
std::optional<ElementType> parse_element_type(std::string_view word);
std::optional<ReduceFunction> parse_reduce_function(std::string_view word);

/// Reads a finite number with an optional unit of the same dimension as `unit`, and converts it to `unit`:
/// "2.5us" is 2500 if the unit is ns. nullopt for other texts. Units:
/// - times ps ns us ms s min; frequencies Hz kHz MHz GHz
/// - sizes B K KB KiB M MB MiB G GB GiB (K is 1024)
/// - rates b/s kb/s Mb/s Gb/s Tb/s, with B for bytes, also bps or bit/s
/// - case matters only for b and B in rates; any other unit accepts itself only
std::optional<double> parse_quantity(std::string_view text, std::string_view unit);

/// The units accepted in place of this one, for messages; empty if there are no others.
std::string_view units_beside(std::string_view unit);

/// true, yes, y, on, 1 and their opposites, in any case.
std::optional<bool> parse_boolean(std::string_view text);

/// The candidate with the smallest edit distance, ignoring case: at most three edits, fewer for short words.
/// Empty if none is near enough.
std::string_view closest(std::string_view word, std::span<const std::string_view> candidates);

/// "; did you mean ...?", or the list of candidates if none is near.
std::string suggestion(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace offramp
