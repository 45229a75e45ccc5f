// Reads traces of DUMPI in the text form of dumpi2ascii: one file per rank. A call has one line at its
// beginning, one per argument, and one at its return.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "lib/programs/import/line_calls.hpp"
#include "lib/programs/import/openers.hpp"

namespace offramp::trace {
namespace {

constexpr std::string_view kEntering = " entering at walltime ";
constexpr std::string_view kReturning = " returning at walltime ";
constexpr std::string_view kIgnoredText = " times and ignored ";
constexpr std::string_view kTypeSize = "Datatype ";  // added by dumpi2ascii -X

/// By DUMPI's numbers (types.h), with sizes on x86-64. Numbers from 28 on are derived types.
constexpr auto kDumpiTypes = [] {
  using enum ElementType;
  return std::array<Datatype, 28>{
      {{0, kByte},   {0, kByte},    {1, kInt8},    {1, kInt8},           {1, kUint8},  {1, kByte},
       {4, kInt32},  {2, kInt16},   {2, kUint16},  {4, kInt32},          {4, kUint32}, {8, kInt64},
       {8, kUint64}, {4, kFloat32}, {8, kFloat64}, {16, kFloatExtended}, {8, kInt64},  {8, kUint64},
       {8, kInt64},  {1, kByte},    {0, kByte},    {0, kByte},           {8, kPair},   {12, kPair},
       {12, kPair},  {6, kPair},    {8, kPair},    {20, kPair}}};
}();
constexpr auto kDumpiFunctions = [] {
  using enum ReduceFunction;
  return std::array{kUser,      kMaximum, kMinimum,    kSum,    kProduct,         kLogicalAnd,      kBitAnd,
                    kLogicalOr, kBitOr,   kLogicalXor, kBitXor, kMinimumLocation, kMaximumLocation, kReplace};
}();

/// Sizes of derived types by number.
using TypeSizes = std::map<std::uint64_t, std::uint64_t>;

/// Converts "1296777956.737669000" to nanoseconds.
std::optional<std::uint64_t> wall_time_in(std::string_view text) {
  constexpr std::size_t kDecimals = 9;
  const std::size_t point = text.find('.');
  if (point == std::string_view::npos || text.size() < point + 1 + kDecimals) return std::nullopt;
  const auto seconds = number_in<std::uint64_t>(text.substr(0, point));
  const auto part = number_in<std::uint64_t>(text.substr(point + 1, kDecimals));
  std::uint64_t time = 0;
  if (!seconds || !part || __builtin_mul_overflow(*seconds, std::uint64_t{1000000000}, &time))
    return std::nullopt;
  return time + *part;
}

/// Reads "Datatype 28 (user-defined) has size 24" from the last lines, written by dumpi2ascii -X.
TypeSizes sizes_at_end(const std::shared_ptr<const recording::Source>& source) {
  constexpr std::uint64_t kLookedThrough = std::uint64_t{1} << 20U;
  TypeSizes sizes;
  // The list is at the end of a file that may be long, so only the end is searched.
  Lines lines(source, source->size() > kLookedThrough ? source->size() - kLookedThrough : 0);
  std::vector<std::string_view> words;
  for (std::string_view line; lines.next(line);) {
    if (!line.starts_with(kTypeSize)) continue;
    split(line, words);
    const auto number = words.size() > 2 ? number_in<std::uint64_t>(words[1]) : std::nullopt;
    const auto size = number_in<std::uint64_t>(words.back());
    if (number && size) sizes[*number] = *size;
  }
  return sizes;
}

class DumpiCalls final : public LineCalls {
 public:
  explicit DumpiCalls(const std::shared_ptr<const recording::Source>& source)
      : LineCalls(source), listed_(sizes_at_end(source)) {}

  /// "9 (MPI_INT)".
  std::optional<std::int64_t> integer(std::string_view name) final {
    const auto text = argument(name);
    return text ? number_in<std::int64_t>(text->substr(0, std::min(text->find(' '), text->size())))
                : std::nullopt;
  }
  /// "[1, 2]".
  std::optional<std::vector<std::int64_t>> integers(std::string_view name) final {
    const auto text = argument(name);
    if (!text || !text->starts_with('[') || !text->ends_with(']')) return std::nullopt;
    return numbers_in(text->substr(1, text->size() - 2));
  }
  std::optional<Datatype> datatype(std::string_view name) final {
    const auto number = handle(name);
    return number ? type(*number) : std::nullopt;
  }
  std::optional<CommunicatorName> communicator(std::string_view name) final {
    constexpr std::uint64_t kNull = 1;
    constexpr std::uint64_t kWorld = 2;
    constexpr std::uint64_t kSelf = 3;
    const auto number = handle(name);
    if (!number || *number <= kNull) return std::nullopt;
    return CommunicatorName{*number == kWorld  ? recording::kWorld
                            : *number == kSelf ? recording::kSelf
                                               : *number,
                            -1, -1};
  }
  std::optional<std::uint64_t> handle(std::string_view name) final {
    const auto number = integer(name);
    return number && *number >= 0 ? std::optional(static_cast<std::uint64_t>(*number)) : std::nullopt;
  }
  ReduceFunction reduce_function() final {
    const auto number = handle("op");
    return number && *number < kDumpiFunctions.size() ? kDumpiFunctions[*number] : ReduceFunction::kUser;
  }
  std::optional<Requests> requests(std::string_view name, std::size_t count) final {
    const auto numbers = integers(name);
    if (!numbers || numbers->size() != count) return std::nullopt;
    Requests requests;
    for (const std::int64_t number : *numbers) requests.keys.push_back(static_cast<std::uint64_t>(number));
    return requests;
  }

 private:
  bool read(std::string_view line) final {
    const std::size_t entering = line.find(kEntering);
    if (entering == std::string_view::npos) {
      if (const std::size_t returning = line.find(kReturning); returning != std::string_view::npos)
        return fail(fmt::format("{} returns but was not entered",
                                line.substr(0, std::min<std::size_t>(returning, 60))));
      // Lines around the calls belong to the tracer, except lines about ignored calls.
      const bool is_between = !function().empty() && function() != "MPI_Finalize";
      if (is_between || (line.find(kIgnoredText) != std::string_view::npos &&
                         line.find(" ignored 0 times") == std::string_view::npos))
        leave_out(line);
      return false;
    }
    begin(line.substr(0, entering), wall_time_in(line.substr(entering + kEntering.size())));
    if (!read_arguments()) return false;
    learn_type();
    return true;
  }
  /// Reads up to the line of the return.
  bool read_arguments() {
    constexpr std::size_t kMostArguments = 64;
    arguments_.clear();
    const auto short_name = [](std::string_view name) { return name.substr(0, 60); };
    for (std::string_view line; next_line(line);) {
      if (const std::size_t returning = line.find(kReturning); returning != std::string_view::npos) {
        end(wall_time_in(line.substr(returning + kReturning.size())));
        if (line.substr(0, returning) == function() && begun() && ended()) return true;
        return fail(fmt::format("{} returns or has no walltime, but {} was entered",
                                short_name(line.substr(0, returning)), short_name(function())));
      }
      if (const std::size_t entering = line.find(kEntering); entering != std::string_view::npos)
        return fail(fmt::format("{} is entered before {} returns", short_name(line.substr(0, entering)),
                                short_name(function())));
      // "int sendcounts[4]=[1, 1, 1, 1]", "MPI_Comm comm=2 (MPI_COMM_WORLD)"
      const std::size_t equals = line.find('=');
      if (equals == std::string_view::npos) {
        leave_out(line);
        continue;
      }
      std::string_view name = line.substr(0, std::min(equals, line.find('[')));
      name = name.substr(name.rfind(' ') == std::string_view::npos ? 0 : name.rfind(' ') + 1);
      arguments_.emplace_back(name, line.substr(equals + 1));
      if (arguments_.size() > kMostArguments) return fail("more than 64 arguments");
    }
    return fail(fmt::format("{} never returns", short_name(function())));
  }

  std::optional<std::string_view> argument(std::string_view name) const {
    for (const auto& [known, value] : arguments_) {
      if (known == name) return value;
    }
    return std::nullopt;
  }

  std::optional<Datatype> type(std::uint64_t number) const {
    // A type that the calls have made goes before the list, which has the last type of each number.
    for (const TypeSizes* const sizes : {&learned_, &listed_}) {
      if (const auto made = sizes->find(number); made != sizes->end())
        return Datatype{made->second,
                        number < kDumpiTypes.size() ? kDumpiTypes[number].element : ElementType::kMixed};
    }
    // The first two numbers are errors and null types.
    return number > 1 && number < kDumpiTypes.size() ? std::optional(kDumpiTypes[number]) : std::nullopt;
  }

  /// Computes the size of a derived type. Older calls have "lengths", newer ones "blocklengths".
  void learn_type() {
    const std::string_view name = function();
    if (!name.starts_with("MPI_Type_")) return;
    if (name == "MPI_Type_size") {
      const auto sized = handle("datatype");
      const auto size = handle("size");
      if (sized && size) learned_[*sized] = *size;
      return;
    }
    const auto made = handle("newtype");
    if (!made) return;
    // Numbers are reused after a type is freed: the old size must not remain if the new one is unknown.
    learned_.erase(*made);
    const auto bytes = name == "MPI_Type_struct" || name == "MPI_Type_create_struct"
                           ? bytes_of_struct()
                           : bytes_of_elements(name);
    if (bytes) learned_[*made] = *bytes;
  }
  std::optional<std::vector<std::int64_t>> block_lengths() {
    if (integer("count") == 0) return std::vector<std::int64_t>();
    auto lengths = integers("blocklengths");
    return lengths ? lengths : integers("lengths");
  }
  static std::optional<std::uint64_t> product(std::optional<std::int64_t> a, std::optional<std::uint64_t> b) {
    std::uint64_t both = 0;
    if (!a || !b || *a < 0 || __builtin_mul_overflow(static_cast<std::uint64_t>(*a), *b, &both))
      return std::nullopt;
    return both;
  }
  std::optional<std::uint64_t> bytes_of_elements(std::string_view name) {
    const auto old = datatype("oldtype");
    if (!old) return std::nullopt;
    if (name == "MPI_Type_dup" || name == "MPI_Type_create_resized") return old->bytes;
    if (name == "MPI_Type_contiguous") return product(integer("count"), old->bytes);
    // MPI_Type_vector, hvector, create_hvector, create_indexed_block and create_hindexed_block
    if (const auto length = integer("blocklength"))
      return product(integer("count"), product(length, old->bytes));
    std::optional<std::uint64_t> bytes;
    if (const auto lengths = block_lengths()) {  // indexed, hindexed and create_hindexed
      bytes = 0;
      for (const std::int64_t length : *lengths) bytes = sum(bytes, product(length, old->bytes));
    } else if (const auto sides = integers("subsizes")) {  // create_subarray
      bytes = old->bytes;
      for (const std::int64_t side : *sides) bytes = product(side, bytes);
    }
    return bytes;
  }
  static std::optional<std::uint64_t> sum(std::optional<std::uint64_t> a, std::optional<std::uint64_t> b) {
    std::uint64_t both = 0;
    if (!a || !b || __builtin_add_overflow(*a, *b, &both)) return std::nullopt;
    return both;
  }
  /// "[9, 14]", or "[9 (MPI_INT), 14 (MPI_DOUBLE)]".
  std::optional<std::uint64_t> bytes_of_struct() {
    const auto lengths = block_lengths();
    const auto text = argument("oldtypes");
    if (!lengths || !text || !text->starts_with('[')) return std::nullopt;
    std::string_view left = text->substr(1);
    std::optional<std::uint64_t> bytes = 0;
    for (const std::int64_t length : *lengths) {
      const std::size_t digits = std::min(left.find_first_not_of("0123456789"), left.size());
      const auto number = number_in<std::uint64_t>(left.substr(0, digits));
      const auto of = number ? type(*number) : std::nullopt;
      bytes = sum(bytes, of ? product(length, of->bytes) : std::nullopt);
      left.remove_prefix(std::min(left.find(", "), left.size()));
      left.remove_prefix(std::min<std::size_t>(2, left.size()));
    }
    return bytes;
  }

  TypeSizes listed_;   // at the file's end
  TypeSizes learned_;  // from the calls so far
  std::vector<std::pair<std::string, std::string>> arguments_;
};

Result<std::optional<Program>> open_dumpi(const Candidate& candidate) {
  const std::size_t entering = candidate.begin.find(kEntering);
  if (!candidate.is_text() || entering == std::string::npos) return std::optional<Program>();
  const std::size_t line = candidate.begin.rfind('\n', entering);
  const std::size_t first = line == std::string::npos ? 0 : line + 1;
  if (!std::string_view(candidate.begin).substr(first).starts_with("MPI")) return std::optional<Program>();
  return program_of_lines<DumpiCalls>(
      candidate,
      {"computing is the wall time between calls", "calls of several threads run one after the other",
       "sources of receives from any rank are not known: statuses are not read"});
}

}  // namespace

const Opener kDumpiTraces = {.kind = "DUMPI trace", .origin = "dumpi2ascii", .open = open_dumpi};

}  // namespace offramp::trace
