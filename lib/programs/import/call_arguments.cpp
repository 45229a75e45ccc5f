// A trace is untrusted: each value is checked for its range and for overflow before it is used. A negative
// rank that is not the library's MPI_ANY_SOURCE is MPI_PROC_NULL. A negative tag of a receive is MPI_ANY_TAG
// in every library.
#include "lib/programs/import/call_arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "offramp/model/message.hpp"

namespace offramp::trace {

using recording::Event;

std::int64_t CallArguments::integer(std::string_view name, std::int64_t least, std::int64_t most) {
  const auto value = calls_->integer(name);
  if (!value || *value < least || *value > most) reject(fmt::format("its {} is invalid", name));
  return is_valid() ? *value : 0;
}

std::uint64_t CallArguments::count(std::string_view name) {
  return static_cast<std::uint64_t>(integer(name, 0, INT64_MAX));
}

Datatype CallArguments::datatype(std::string_view name) {
  const auto type = calls_->datatype(name);
  if (!type) reject(fmt::format("the size of its {} is not known", name));
  return type.value_or(Datatype());
}

ElementType CallArguments::element(std::string_view name) {
  const auto type = calls_->datatype(name);
  return type ? type->element : ElementType::kByte;
}

std::uint64_t CallArguments::bytes_of(std::uint64_t elements, const Datatype& type) {
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(elements, type.bytes, &bytes)) reject("its size exceeds 64 bits");
  return bytes;
}

std::uint64_t CallArguments::bytes(std::string_view count_name, std::string_view type_name) {
  const std::uint64_t elements = count(count_name);
  return is_valid() ? bytes_of(elements, datatype(type_name)) : 0;
}

Event CallArguments::block(OperationKind operation, std::string_view own, std::string_view other) {
  const auto elements = calls_->integer(fmt::format("{}count", own));
  const auto type = calls_->datatype(fmt::format("{}type", own));
  const std::string_view side = elements && *elements > 0 && type && type->bytes > 0 ? own : other;
  return sized(operation, fmt::format("{}count", side), fmt::format("{}type", side));
}

Event CallArguments::sized(OperationKind operation, std::string_view count_name, std::string_view type_name) {
  const std::uint64_t all = bytes(count_name, type_name);
  return {.element = element(type_name), .operation = operation, .bytes = all};
}

std::uint32_t CallArguments::communicator() {
  const auto named = calls_->communicator("comm");
  const auto number = named ? communicators_.find(*named) : std::nullopt;
  if (!number) reject("the members of its communicator are not in the trace");
  return number.value_or(0);
}

int CallArguments::root(std::uint32_t communicator) {
  return static_cast<int>(
      integer("root", 0, static_cast<std::int64_t>(communicators_.size(communicator)) - 1));
}

int CallArguments::own_rank(std::uint32_t communicator) const {
  if (communicator < recording::kFirstMade) return communicator == recording::kWorld ? rank_ : 0;
  const std::vector<int>& members = *communicators_.members(communicator);
  return static_cast<int>(std::find(members.begin(), members.end(), rank_) - members.begin());
}

std::vector<std::uint64_t> CallArguments::counts(std::string_view name, std::uint32_t communicator) {
  const auto values = calls_->integers(name);
  std::vector<std::uint64_t> counts;
  if (!values || values->size() != communicators_.size(communicator)) {
    reject(fmt::format("its {} do not list one value for each of the {} ranks", name,
                       communicators_.size(communicator)));
    return counts;
  }
  for (const std::int64_t value : *values) {
    if (value < 0) reject(fmt::format("one of its {} is negative", name));
    counts.push_back(static_cast<std::uint64_t>(value));
  }
  return counts;
}

std::vector<std::uint64_t> CallArguments::blocks(std::string_view name, std::string_view type,
                                                 std::uint32_t communicator) {
  std::vector<std::uint64_t> values = counts(name, communicator);
  if (!is_valid()) return values;
  const Datatype of = datatype(type);
  for (std::uint64_t& value : values) value = bytes_of(value, of);
  return values;
}

int CallArguments::peer(std::string_view name, std::uint32_t communicator, bool sends, bool& none) {
  const std::int64_t value = integer(name, INT32_MIN, INT32_MAX);
  none = value < 0 && (sends || value != library_.any_source);
  if (none) return 0;
  if (value >= static_cast<std::int64_t>(communicators_.size(communicator)))
    reject(fmt::format("its communicator has no rank {}", value));
  return value < 0 ? kAnySource : static_cast<int>(value);
}

int CallArguments::tag(std::string_view name, bool sends) {
  const std::int64_t value = integer(name, sends ? 0 : INT32_MIN, INT32_MAX);
  return value < 0 ? kAnyTag : static_cast<int>(value);
}

}  // namespace offramp::trace
