// The datatypes of SMPI's traces, by the numbers that its tracer writes.
#pragma once

#include <cstdint>
#include <span>

#include "lib/programs/import/datatype.hpp"

namespace offramp::trace {

/// The default type after "init" with an argument.
inline constexpr std::size_t kSmpiDouble = 0;
/// The default type otherwise.
inline constexpr std::size_t kSmpiByte = 6;

/// In SMPI's order. Larger numbers are derived types, which its replayer treats as the default type.
std::span<const Datatype> smpi_types();

/// The number of a type with these elements, for a reduction. kSmpiByte if the format has none.
std::size_t smpi_type_of(ElementType element, std::uint64_t bytes);

}  // namespace offramp::trace
