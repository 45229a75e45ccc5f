// Traces of DUMPI as dumpi2ascii writes them: one file for each rank; a call is a line when it begins, a line
// for each argument, and a line when it returns.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "lib/trace/lines.hpp"
#include "lib/trace/mpi_calls.hpp"
#include "lib/trace/openers.hpp"
#include "lib/trace/rank_files.hpp"

namespace offramp::trace {
namespace {

constexpr std::string_view kEntering = " entering at walltime ";
constexpr std::string_view kReturning = " returning at walltime ";

/// By DUMPI's numbers (types.h), with sizes as on x86-64. From 28 on a program made them.
constexpr auto kDumpiTypes = [] {
  using enum ElementType;
  return std::array<Datatype, 28>{
      {{0, kByte},   {0, kByte},    {1, kInt8},    {1, kInt8},           {1, kUint8},  {1, kByte},
       {4, kInt32},  {2, kInt16},   {2, kUint16},  {4, kInt32},          {4, kUint32}, {8, kInt64},
       {8, kUint64}, {4, kFloat32}, {8, kFloat64}, {16, kFloatExtended}, {8, kInt64},  {8, kUint64},
       {8, kInt64},  {1, kByte},    {0, kByte},    {0, kByte},           {8, kPair},   {12, kPair},
       {12, kPair},  {6, kPair},    {8, kPair},    {20, kPair}}};
}();
constexpr std::array<ReduceFunction, 14> kDumpiFunctions = {ReduceFunction::kUser,
                                                            ReduceFunction::kMaximum,
                                                            ReduceFunction::kMinimum,
                                                            ReduceFunction::kSum,
                                                            ReduceFunction::kProduct,
                                                            ReduceFunction::kLogicalAnd,
                                                            ReduceFunction::kBitAnd,
                                                            ReduceFunction::kLogicalOr,
                                                            ReduceFunction::kBitOr,
                                                            ReduceFunction::kLogicalXor,
                                                            ReduceFunction::kBitXor,
                                                            ReduceFunction::kMinimumLocation,
                                                            ReduceFunction::kMaximumLocation,
                                                            ReduceFunction::kReplace};

/// By number, those that the program made.
using TypeSizes = std::map<std::uint64_t, std::uint64_t>;

/// "1296777956.737669000": nanoseconds.
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

/// "Datatype 28 (user-defined) has size 24", of the last lines, where dumpi2ascii -X writes them.
TypeSizes sizes_at_end(const std::shared_ptr<const recording::Source>& source) {
  constexpr std::uint64_t kLookedThrough = std::uint64_t{1} << 20U;
  TypeSizes sizes;
  Lines lines(source, source->size() > kLookedThrough ? source->size() - kLookedThrough : 0);
  std::vector<std::string_view> words;
  for (std::string_view line; lines.next(line);) {
    if (!line.starts_with("Datatype ")) continue;
    split(line, words);
    const auto number = words.size() > 2 ? number_in<std::uint64_t>(words[1]) : std::nullopt;
    const auto size = number_in<std::uint64_t>(words.back());
    if (number && size) sizes[*number] = *size;
  }
  return sizes;
}

class DumpiCalls final : public Calls {
 public:
  explicit DumpiCalls(const std::shared_ptr<const recording::Source>& source)
      : lines_(source), types_(sizes_at_end(source)) {}

  bool next() final {
    std::string_view line;
    while (error_.empty() && lines_.next(line)) {
      const std::size_t entering = line.find(kEntering);
      if (entering == std::string_view::npos) continue;
      function_ = line.substr(0, entering);
      begun_ = wall_time_in(line.substr(entering + kEntering.size()));
      if (!read_arguments()) return false;
      learn_type();
      return true;
    }
    if (error_.empty()) error_ = lines_.error();
    return false;
  }
  [[nodiscard]] std::string_view function() const final { return function_; }
  [[nodiscard]] std::optional<std::uint64_t> begun() const final { return begun_; }
  [[nodiscard]] std::optional<std::uint64_t> ended() const final { return ended_; }
  [[nodiscard]] const std::string& error() const final { return error_; }
  [[nodiscard]] std::string at(std::string_view what) const final { return lines_.at(what); }

  /// "9 (MPI_INT)".
  std::optional<std::int64_t> integer(std::string_view name) final {
    const auto text = argument(name);
    return text ? number_in<std::int64_t>(text->substr(0, std::min(text->find(' '), text->size())))
                : std::nullopt;
  }
  /// "[1, 2]".
  std::optional<std::vector<std::int64_t>> integers(std::string_view name) final {
    auto text = argument(name);
    if (!text || !text->starts_with('[') || !text->ends_with(']')) return std::nullopt;
    std::string_view left = text->substr(1, text->size() - 2);
    std::vector<std::int64_t> values;
    while (!left.empty()) {
      const std::size_t end = std::min(left.find(','), left.size());
      const auto value = number_in<std::int64_t>(left.substr(0, end));
      if (!value) return std::nullopt;
      values.push_back(*value);
      left.remove_prefix(std::min(end + 1, left.size()));
      if (left.starts_with(' ')) left.remove_prefix(1);
    }
    return values;
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
  /// Up to the line that it returns on.
  bool read_arguments() {
    constexpr std::size_t kMostArguments = 64;
    arguments_.clear();
    for (std::string_view line; lines_.next(line);) {
      if (const std::size_t returning = line.find(kReturning); returning != std::string_view::npos) {
        ended_ = wall_time_in(line.substr(returning + kReturning.size()));
        if (line.substr(0, returning) == function_ && begun_ && ended_) return true;
        error_ = lines_.at(fmt::format("{} returns, or has no walltime, and {} was entered",
                                       line.substr(0, std::min<std::size_t>(returning, 60)),
                                       std::string_view(function_).substr(0, 60)));
        return false;
      }
      if (const std::size_t entering = line.find(kEntering); entering != std::string_view::npos) {
        error_ = lines_.at(fmt::format("{} is entered before {} returns",
                                       line.substr(0, std::min<std::size_t>(entering, 60)),
                                       std::string_view(function_).substr(0, 60)));
        return false;
      }
      // "int sendcounts[4]=[1, 1, 1, 1]", "MPI_Comm comm=2 (MPI_COMM_WORLD)"
      const std::size_t equals = line.find('=');
      if (equals == std::string_view::npos) continue;
      std::string_view name = line.substr(0, std::min(equals, line.find('[')));
      name = name.substr(name.rfind(' ') == std::string_view::npos ? 0 : name.rfind(' ') + 1);
      arguments_.emplace_back(name, line.substr(equals + 1));
      if (arguments_.size() > kMostArguments) {
        error_ = lines_.at("more than 64 arguments");
        return false;
      }
    }
    error_ = lines_.error().empty() ? lines_.at(fmt::format("{} never returns", function_.substr(0, 60)))
                                    : lines_.error();
    return false;
  }

  std::optional<std::string_view> argument(std::string_view name) const {
    for (const auto& [known, value] : arguments_) {
      if (known == name) return value;
    }
    return std::nullopt;
  }

  std::optional<Datatype> type(std::uint64_t number) const {
    if (const auto made = types_.find(number); made != types_.end())
      return Datatype{made->second,
                      number < kDumpiTypes.size() ? kDumpiTypes[number].element : ElementType::kMixed};
    return number > 1 && number < kDumpiTypes.size() ? std::optional(kDumpiTypes[number]) : std::nullopt;
  }

  /// The size of a type that is made of others.
  void learn_type() {
    if (!function_.starts_with("MPI_Type_")) return;
    const auto made = handle(function_ == "MPI_Type_size" ? "datatype" : "newtype");
    if (!made) return;
    const auto old = datatype("oldtype");
    const std::int64_t count = integer("count").value_or(0);
    std::uint64_t elements = 1;
    if (function_ == "MPI_Type_size") {
      if (const auto size = handle("size")) types_[*made] = *size;
      return;
    }
    if (function_ == "MPI_Type_contiguous") {
      elements = static_cast<std::uint64_t>(count);
    } else if (function_ == "MPI_Type_vector" || function_ == "MPI_Type_hvector") {
      elements =
          static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(integer("blocklength").value_or(0));
    } else if (const auto lengths = integers("lengths")) {
      elements = 0;
      for (const std::int64_t length : *lengths) elements += static_cast<std::uint64_t>(length);
      if (function_ == "MPI_Type_struct") return learn_struct(*made, *lengths);
    } else if (function_ != "MPI_Type_dup") {
      return;
    }
    std::uint64_t bytes = 0;
    if (old && !__builtin_mul_overflow(elements, old->bytes, &bytes)) types_[*made] = bytes;
  }
  /// "[9 (MPI_INT), 14 (MPI_DOUBLE)]".
  void learn_struct(std::uint64_t made, const std::vector<std::int64_t>& lengths) {
    const auto text = argument("oldtypes");
    if (!text || !text->starts_with('[')) return;
    std::string_view left = text->substr(1);
    std::uint64_t bytes = 0;
    for (const std::int64_t length : lengths) {
      const std::size_t digits = std::min(left.find_first_not_of("0123456789"), left.size());
      const auto number = number_in<std::uint64_t>(left.substr(0, digits));
      const auto of = number ? type(*number) : std::nullopt;
      std::uint64_t part = 0;
      if (!of || __builtin_mul_overflow(static_cast<std::uint64_t>(length), of->bytes, &part) ||
          __builtin_add_overflow(bytes, part, &bytes))
        return;
      left.remove_prefix(std::min(left.find(", "), left.size()));
      left.remove_prefix(std::min<std::size_t>(2, left.size()));
    }
    types_[made] = bytes;
  }

  Lines lines_;
  TypeSizes types_;
  std::string function_;
  std::vector<std::pair<std::string, std::string>> arguments_;
  std::optional<std::uint64_t> begun_;
  std::optional<std::uint64_t> ended_;
  std::string error_;
};

Result<std::optional<Program>> open_dumpi(const Candidate& candidate) {
  const std::size_t entering = candidate.begin.find(kEntering);
  if (!candidate.is_text() || entering == std::string::npos) return std::optional<Program>();
  const std::size_t line = candidate.begin.rfind('\n', entering);
  const std::size_t first = line == std::string::npos ? 0 : line + 1;
  if (!std::string_view(candidate.begin).substr(first).starts_with("MPI")) return std::optional<Program>();
  Result<RankFiles> files = rank_files(candidate.name);
  if (!files) return Result<std::optional<Program>>::failure(files.error());
  const auto shared = std::make_shared<const RankFiles>(std::move(*files));
  const auto open = [shared](int rank) -> std::unique_ptr<Calls> {
    return std::make_unique<DumpiCalls>((*shared)[static_cast<std::size_t>(rank)]);
  };
  return program_of_calls(
      candidate.name, static_cast<int>(shared->size()), open,
      {"computing is the wall time between calls", "calls of several threads go on one after the other",
       "receives from any rank do not say whom they took: statuses are not read"});
}

}  // namespace

const Opener kDumpiTraces = {.kind = "DUMPI trace", .origin = "dumpi2ascii", .open = open_dumpi};

}  // namespace offramp::trace
