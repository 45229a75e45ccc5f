// A trace names a type by its number only: size and class of its elements follow from this table. Several
// numbers have equal entries, and smpi_type_of() returns the first.
#include "lib/programs/import/smpi_types.hpp"

#include <algorithm>
#include <array>

namespace offramp::trace {
namespace {

using enum ElementType;

// Sizes on x86-64; from SimGrid's smpi_datatype.cpp.
constexpr std::array<Datatype, 58> kSmpiTypes = {{
    {8, kFloat64},                     // 0 MPI_DOUBLE
    {4, kInt32},                       // 1 MPI_INT
    {1, kInt8},                        // 2 MPI_CHAR
    {2, kInt16},                       // 3 MPI_SHORT
    {8, kInt64},                       // 4 MPI_LONG
    {4, kFloat32},                     // 5 MPI_FLOAT
    {1, kByte},                        // 6 MPI_BYTE
    {8, kInt64},                       // 7 MPI_LONG_LONG
    {1, kInt8},                        // 8 MPI_SIGNED_CHAR
    {1, kUint8},                       // 9 MPI_UNSIGNED_CHAR
    {2, kUint16},                      // 10 MPI_UNSIGNED_SHORT
    {4, kUint32},                      // 11 MPI_UNSIGNED
    {8, kUint64},                      // 12 MPI_UNSIGNED_LONG
    {8, kUint64},                      // 13 MPI_UNSIGNED_LONG_LONG
    {16, kFloatExtended},              // 14 MPI_LONG_DOUBLE
    {4, kInt32},                       // 15 MPI_WCHAR
    {1, kLogical},                     // 16 MPI_C_BOOL
    {1, kInt8},                        // 17 MPI_INT8_T
    {2, kInt16},                       // 18 MPI_INT16_T
    {4, kInt32},                       // 19 MPI_INT32_T
    {8, kInt64},                       // 20 MPI_INT64_T
    {1, kUint8},                       // 21 MPI_UINT8_T
    {2, kUint16},                      // 22 MPI_UINT16_T
    {4, kUint32},                      // 23 MPI_UINT32_T
    {8, kUint64},                      // 24 MPI_UINT64_T
    {8, kComplex},                     // 25 MPI_C_FLOAT_COMPLEX
    {16, kComplex},                    // 26 MPI_C_DOUBLE_COMPLEX
    {32, kComplex},                    // 27 MPI_C_LONG_DOUBLE_COMPLEX
    {8, kInt64},                       // 28 MPI_AINT
    {8, kInt64},                       // 29 MPI_OFFSET
    {8, kPair},                        // 30 MPI_FLOAT_INT
    {16, kPair},                       // 31 MPI_LONG_INT
    {16, kPair},                       // 32 MPI_DOUBLE_INT
    {8, kPair},                        // 33 MPI_SHORT_INT
    {8, kPair},                        // 34 MPI_2INT
    {8, kPair},                        // 35 MPI_2FLOAT
    {16, kPair},                       // 36 MPI_2DOUBLE
    {16, kPair},                       // 37 MPI_2LONG
    {4, kFloat32},                     // 38 MPI_REAL
    {4, kFloat32},                     // 39 MPI_REAL4
    {8, kFloat64},                     // 40 MPI_REAL8
    {16, kFloatExtended},              // 41 MPI_REAL16
    {8, kComplex},                     // 42 MPI_COMPLEX8
    {16, kComplex},                    // 43 MPI_COMPLEX16
    {32, kComplex},                    // 44 MPI_COMPLEX32
    {1, kInt8},                        // 45 MPI_INTEGER1
    {2, kInt16},                       // 46 MPI_INTEGER2
    {4, kInt32},                       // 47 MPI_INTEGER4
    {8, kInt64},                       // 48 MPI_INTEGER8
    {16, kMixed},                      // 49 MPI_INTEGER16
    {32, kPair},                       // 50 MPI_LONG_DOUBLE_INT
    {1, kLogical},                     // 51 MPI_CXX_BOOL
    {8, kComplex},                     // 52 MPI_CXX_FLOAT_COMPLEX
    {16, kComplex},                    // 53 MPI_CXX_DOUBLE_COMPLEX
    {32, kComplex},                    // 54 MPI_CXX_LONG_DOUBLE_COMPLEX
    {1, kByte},                        // 55, 56: not written by its tracer
    {1, kByte},           {1, kByte},  // 57 MPI_PACKED
}};

}  // namespace

std::span<const Datatype> smpi_types() {
  return kSmpiTypes;
}

std::size_t smpi_type_of(ElementType element, std::uint64_t bytes) {
  const auto* const found = std::find_if(kSmpiTypes.begin(), kSmpiTypes.end(), [&](const Datatype& type) {
    return type.element == element && type.bytes == bytes;
  });
  return found != kSmpiTypes.end() ? static_cast<std::size_t>(found - kSmpiTypes.begin()) : kSmpiByte;
}

}  // namespace offramp::trace
