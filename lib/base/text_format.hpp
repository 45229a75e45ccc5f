// Words: names of the enums of backend.hpp, values spelled with a unit, and suggestions for misspelled names.
//
// Everything here takes hostile text: any bytes, any length. Functions are pure and may be called from any
// thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lib/base/printable.hpp"
#include "offramp/model/backend.hpp"

namespace offramp {

std::string_view to_string(Outcome outcome);

/// The inverse of to_string, in any case; MPI's own names (MPI_Allreduce, MPI_DOUBLE, MPI_MAX) and those of C
/// types and common words (double, maximum) mean the same. Nothing for any other word.
std::optional<OperationKind> parse_operation(std::string_view word);
std::optional<ElementType> parse_element_type(std::string_view word);
std::optional<ReduceFunction> parse_reduce_function(std::string_view word);

/// A finite number, optionally followed by a unit of the same dimension as `unit`, converted to `unit`:
/// "2.5us" is 2500 when the unit is ns. Times ps ns us ms s min; sizes B K KB KiB M MB MiB G GB GiB (K is
/// 1024); frequencies Hz kHz MHz GHz; rates b/s kb/s Mb/s Gb/s Tb/s, the same with B for bytes, bps or bit/s.
/// Case is free but for that of b and B in rates. Other units only accept themselves. Nothing when the text
/// is not such a number.
std::optional<double> parse_quantity(std::string_view text, std::string_view unit);

/// The units that may stand where a value of this one is wanted, for messages; empty: none but itself.
std::string_view units_beside(std::string_view unit);

/// true, yes, y, on, 1 and their opposites, in any case.
std::optional<bool> parse_boolean(std::string_view text);

/// The candidate nearest to a word, or an empty text: at most three edits, fewer for short words (letter case
/// is free).
std::string_view closest(std::string_view word, std::span<const std::string_view> candidates);

/// "; did you mean ...?", or the candidates when none is near.
std::string suggestion(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace offramp
