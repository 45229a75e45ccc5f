// Reads traces of liballprof, the input of LogGOPSim's Schedgen: one file per rank, one line per call.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/base/printable.hpp"
#include "lib/programs/import/line_calls.hpp"
#include "lib/programs/import/openers.hpp"

namespace offramp::trace {
namespace {

struct Prototype {
  std::string_view functions;  // separated by blanks
  std::string_view arguments;  // in order; "_" for addresses, which are not used
};
/// A line contains the arguments of the C function in order.
constexpr Prototype kPrototypes[] = {
    {"MPI_Send MPI_Ssend MPI_Bsend MPI_Rsend", "_ count datatype dest tag comm"},
    {"MPI_Isend MPI_Issend MPI_Ibsend MPI_Irsend MPI_Send_init MPI_Ssend_init MPI_Bsend_init MPI_Rsend_init",
     "_ count datatype dest tag comm request"},
    {"MPI_Recv", "_ count datatype source tag comm _"},
    {"MPI_Irecv MPI_Recv_init", "_ count datatype source tag comm request"},
    {"MPI_Start MPI_Cancel MPI_Request_free", "request"},
    {"MPI_Startall", "count requests"},
    {"MPI_Sendrecv", "_ sendcount sendtype dest sendtag _ recvcount recvtype source recvtag comm _"},
    {"MPI_Sendrecv_replace", "_ count datatype dest sendtag source recvtag comm _"},
    {"MPI_Wait", "request _"},
    {"MPI_Waitall", "count requests _"},
    {"MPI_Waitany MPI_Testall", "count requests _ _"},
    {"MPI_Waitsome MPI_Testany MPI_Testsome", "count requests _ _ _"},
    {"MPI_Test", "request _ _"},
    {"MPI_Probe", "source tag comm _"},
    {"MPI_Iprobe", "source tag comm _ _"},
    {"MPI_Barrier", "comm"},
    {"MPI_Bcast", "_ count datatype root comm"},
    {"MPI_Reduce", "_ _ count datatype op root comm"},
    {"MPI_Allreduce MPI_Scan MPI_Exscan", "_ _ count datatype op comm"},
    {"MPI_Reduce_scatter", "_ _ recvcounts datatype op comm"},
    {"MPI_Reduce_scatter_block", "_ _ recvcount datatype op comm"},
    {"MPI_Gather MPI_Scatter", "_ sendcount sendtype _ recvcount recvtype root comm"},
    {"MPI_Allgather MPI_Alltoall", "_ sendcount sendtype _ recvcount recvtype comm"},
    {"MPI_Gatherv", "_ sendcount sendtype _ recvcounts displs recvtype root comm"},
    {"MPI_Scatterv", "_ sendcounts displs sendtype _ recvcount recvtype root comm"},
    {"MPI_Allgatherv", "_ sendcount sendtype _ recvcounts displs recvtype comm"},
    {"MPI_Alltoallv", "_ sendcounts displs sendtype _ recvcounts displs recvtype comm"},
    {"MPI_Comm_rank MPI_Comm_size MPI_Comm_group", "comm _"},
    {"MPI_Comm_dup", "oldcomm _"},
    {"MPI_Comm_split", "oldcomm color key _"},
    {"MPI_Comm_create", "oldcomm group _"},
    {"MPI_Cart_create", "oldcomm _ _ _ _ _"},
    {"MPI_Cart_sub", "oldcomm _ _"},
};

/// The arguments of a function. A nonblocking collective has those of the blocking one and a request.
std::vector<std::string_view> arguments_of(std::string_view function) {
  std::vector<std::string_view> arguments;
  const auto find = [](std::string_view name) {
    std::vector<std::string_view> functions;
    for (const Prototype& one : kPrototypes) {
      split(one.functions, functions);
      if (std::find(functions.begin(), functions.end(), name) != functions.end()) return one.arguments;
    }
    return std::string_view();
  };
  if (const std::string_view known = find(function); !known.empty()) {
    split(known, arguments);
    return arguments;
  }
  constexpr std::string_view kNonblocking = "MPI_I";
  if (!function.starts_with(kNonblocking) || function.size() == kNonblocking.size()) return arguments;
  std::string blocking = "MPI_";
  // MPI_Iallreduce has the arguments of MPI_Allreduce: the letter after I becomes a capital again.
  const char first = function[kNonblocking.size()];
  blocking += first >= 'a' && first <= 'z' ? static_cast<char>(first - 'a' + 'A') : first;
  blocking += function.substr(kNonblocking.size() + 1);
  split(find(blocking), arguments);
  if (!arguments.empty()) arguments.push_back("request");
  return arguments;
}

/// By liballprof's numbers (numbers.h). Larger numbers are handles of derived types.
constexpr auto kAllprofElements = [] {
  using enum ElementType;
  return std::array{kMixed,   kInt32,   kInt32,   kInt64,   kInt16,         kUint32,  kUint64, kUint16,
                    kFloat32, kFloat32, kFloat64, kFloat64, kFloatExtended, kByte,    kPair,   kPair,
                    kPair,    kPair,    kPair,    kPair,    kLogical,       kComplex, kComplex};
}();
constexpr std::uint64_t kCharacterOrComplex = 21;
constexpr auto kAllprofFunctions = [] {
  using enum ReduceFunction;
  return std::array{kUser,   kMinimum, kMaximum,    kSum,    kProduct,         kLogicalAnd,     kLogicalOr,
                    kBitAnd, kBitOr,   kLogicalXor, kBitXor, kMinimumLocation, kMaximumLocation};
}();

/// Converts microseconds with decimals to nanoseconds.
std::optional<std::uint64_t> nanoseconds_in(std::string_view word) {
  const std::size_t point = std::min(word.find('.'), word.size());
  const auto whole = number_in<std::uint64_t>(word.substr(0, point));
  // Further decimals are below a nanosecond, and are cut off.
  constexpr std::size_t kDecimals = 3;
  std::uint64_t nanoseconds = 0;
  if (!whole || __builtin_mul_overflow(*whole, std::uint64_t{1000}, &nanoseconds)) return std::nullopt;
  std::uint64_t part = 0;
  for (std::size_t i = 0; i < kDecimals; ++i) {
    const std::size_t at = point + 1 + i;
    const char digit = at < word.size() ? word[at] : '0';
    if (digit < '0' || digit > '9') return std::nullopt;
    part = part * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  return nanoseconds + part;
}

class AllprofCalls final : public LineCalls {
 public:
  using LineCalls::LineCalls;
  [[nodiscard]] bool has_library_values() const final { return true; }

  std::optional<std::int64_t> integer(std::string_view name) final {
    const auto text = field(name);
    return text ? number_in<std::int64_t>(*text) : std::nullopt;
  }
  std::optional<std::vector<std::int64_t>> integers(std::string_view name) final {
    const auto text = field(name);
    return text ? numbers_in(*text) : std::nullopt;
  }
  /// "id,size,extent"; old versions omit the extent or write an invalid one.
  std::optional<Datatype> datatype(std::string_view name) final {
    const auto text = field(name);
    if (!text) return std::nullopt;
    const std::size_t comma = text->find(',');
    if (comma == std::string_view::npos) return std::nullopt;
    const std::string_view size = text->substr(comma + 1);
    const auto id = number_in<std::uint64_t>(text->substr(0, comma));
    const auto bytes = number_in<std::uint64_t>(size.substr(0, std::min(size.find(','), size.size())));
    if (!id || !bytes) return std::nullopt;
    // Versions of liballprof use this number for two types, which their sizes distinguish.
    if (*id == kCharacterOrComplex && *bytes == 1) return Datatype{1, ElementType::kInt8};
    return Datatype{*bytes, *id < kAllprofElements.size() ? kAllprofElements[*id] : ElementType::kMixed};
  }
  /// "handle,rank,size".
  std::optional<CommunicatorName> communicator(std::string_view name) final {
    const auto text = field(name);
    if (!text) return std::nullopt;
    const std::size_t first = text->find(',');
    const std::size_t second = first == std::string_view::npos ? first : text->find(',', first + 1);
    if (second == std::string_view::npos) return std::nullopt;
    const auto handle = number_in<std::uint64_t>(text->substr(0, first));
    const auto rank = number_in<int>(text->substr(first + 1, second - first - 1));
    const auto size = number_in<int>(text->substr(second + 1));
    if (!handle || !rank || !size || *rank < 0 || *size < 1) return std::nullopt;
    return CommunicatorName{*handle, *rank, *size};
  }
  std::optional<std::uint64_t> handle(std::string_view name) final {
    const auto text = field(name);
    return text ? number_in<std::uint64_t>(*text) : std::nullopt;
  }
  ReduceFunction reduce_function() final {
    const auto number = integer("op");
    const auto index = static_cast<std::size_t>(number.value_or(0));
    return number && index < kAllprofFunctions.size() ? kAllprofFunctions[index] : ReduceFunction::kUser;
  }
  std::optional<Requests> requests(std::string_view name, std::size_t) final {
    const auto address = handle(name);
    if (!address) return std::nullopt;
    // The trace has the address of the first request only.
    return Requests{{*address}, true};
  }

 private:
  bool read(std::string_view line) final {
    if (line.empty() || line.starts_with('#')) return false;
    fields_.clear();
    for (std::size_t begin = 0; begin <= line.size();) {
      const std::size_t end = std::min(line.find(':', begin), line.size());
      fields_.push_back(line.substr(begin, end - begin));
      begin = end + 1;
    }
    return is_call() || fail("this line is not MPI_NAME:START:ARGUMENTS:END");
  }
  bool is_call() {
    constexpr std::string_view kNoTime = "-";
    if (fields_.size() < 3 || !fields_[0].starts_with("MPI_")) return false;
    // Calls of one function often follow each other, so its argument names are kept.
    if (function() != fields_[0]) arguments_ = arguments_of(fields_[0]);
    begin(fields_[0], nanoseconds_in(fields_[1]));
    end(nanoseconds_in(fields_.back()));
    return (begun() || fields_[1] == kNoTime) && (ended() || fields_.back() == kNoTime);
  }
  /// An array of counts is written as its address and, after another colon, its values.
  std::optional<std::string_view> field(std::string_view name) {
    std::size_t at = 2;
    for (const std::string_view argument : arguments_) {
      const bool is_list = argument.ends_with("counts") || argument == "displs";
      if (is_list) ++at;
      if (at + 1 >= fields_.size()) return std::nullopt;
      if (argument == name) return fields_[at];
      ++at;
    }
    return std::nullopt;
  }

  std::vector<std::string_view> fields_;
  std::vector<std::string_view> arguments_;  // of the function, by position
};

/// Returns true if the first line that is no comment is a call.
bool is_allprof(std::string_view begin) {
  while (!begin.empty()) {
    const std::size_t end = std::min(begin.find('\n'), begin.size());
    const std::string_view line = begin.substr(0, end);
    begin.remove_prefix(std::min(end + 1, begin.size()));
    if (line.empty() || line == "\r" || line.starts_with('#')) continue;
    const std::size_t colon = line.find(':');
    if (!line.starts_with("MPI_") || colon == std::string_view::npos) return false;
    const std::string_view start = line.substr(colon + 1, line.find(':', colon + 1) - colon - 1);
    return start == "-" || nanoseconds_in(start).has_value();
  }
  return false;
}

Result<std::optional<Program>> open_allprof(const Candidate& candidate) {
  if (!candidate.is_text() || !is_allprof(candidate.begin)) return std::optional<Program>();
  // liballprof writes addresses as decimal numbers.
  if (candidate.begin.find(":0x") != std::string::npos)
    return failure(
        fmt::format("cannot read {}: it is a trace of liballprof2, which has no sizes of types: "
                    "trace the program with liballprof, or record it with offramp record",
                    printable(candidate.name)));
  return program_of_lines<AllprofCalls>(
      candidate,
      {"computing is the time between calls",
       "requests are identified by the address of their variable: waits on copies of a request are ignored",
       "among communicators with the same size and own rank, the first one used is the first one created",
       "the outcome of tests is not recorded: they take no time"});
}

}  // namespace

const Opener kAllprofTraces = {
    .kind = "liballprof trace", .origin = "liballprof of LogGOPSim", .open = open_allprof};

}  // namespace offramp::trace
