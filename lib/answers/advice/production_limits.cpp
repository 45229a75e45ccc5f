// What limits the best hardware in production. All limits come from supports() and order() of its model,
// asked about the program's operations with other sizes, elements, and functions, so that they cannot differ
// from what the model does. What no model covers is named as such.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <variant>

#include "lib/answers/advice/advice.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text_format.hpp"
#include "simulators/network/make_network.hpp"

namespace offramp {
namespace {

class Member final : public TeamMembers {
 public:
  Member(int rank, int size) : TeamMembers(rank, size) {}
};

/// A backend that is asked, but carries nothing.
class Asked {
 public:
  Asked(const WorldSetting& setting, int ranks) : ranks_(ranks), settings_(setting.settings) {
    MachineLayout machine = setting.machine;
    machine.switches = switches_of(setting.network, ranks, machine);
    const Settings* const host = setting.host_settings ? &*setting.host_settings : nullptr;
    backend_ = setting.backend.create({0, ranks, settings_, setting.faults, nullptr, nullptr, machine, host});
  }

  [[nodiscard]] Operation operation(OperationKind kind, std::size_t bytes,
                                    ElementType element = ElementType::kFloat64,
                                    ReduceFunction function = ReduceFunction::kSum) const {
    Operation one;
    one.kind = kind;
    one.bytes = kind == OperationKind::kBarrier ? 0 : bytes;
    one.ranks = kind == OperationKind::kSend ? 2 : ranks_;
    one.element = reduces(kind) ? element : ElementType::kByte;
    one.function = reduces(kind) ? function : ReduceFunction::kNone;
    one.elements = reduces(kind) ? bytes / element_bytes(element) : 0;
    one.commutative = function != ReduceFunction::kUser;
    return one;
  }
  [[nodiscard]] bool carries(const Operation& operation) const { return backend_->supports(operation).yes(); }
  [[nodiscard]] std::optional<ReductionOrder> order(const Operation& operation, int rank) const {
    return backend_->order(operation, Member(rank, ranks_));
  }

 private:
  int ranks_;
  Settings settings_;  // the backend refers to it
  std::unique_ptr<Backend> backend_;
};

constexpr std::size_t kShortest = 8;
constexpr std::size_t kLongest = std::size_t{1} << 30;

/// The shortest power of 2 that is carried; 0: none.
std::size_t shortest_carried(const Asked& asked, OperationKind kind) {
  for (std::size_t bytes = kShortest; bytes <= kLongest; bytes *= 2)
    if (asked.carries(asked.operation(kind, bytes))) return bytes;
  return 0;
}

/// "allreduce to 4 KiB and from 16 KiB on"; "no gather". Empty if all sizes are carried.
std::string sizes_text(const Asked& asked, OperationKind kind) {
  std::vector<std::string> ranges;
  std::size_t begin = 0;  // of the range; 0: not in one
  const auto end_at = [&](std::size_t last) {
    const std::string to = last < kLongest ? " to " + bytes_text(std::uint64_t{last}) : " on";
    const bool from_first = begin == kShortest;
    if (!from_first || last < kLongest)
      ranges.push_back(from_first ? to : fmt::format(" from {}{}", bytes_text(std::uint64_t{begin}), to));
    begin = 0;
  };
  bool is_any_carried = false;
  for (std::size_t bytes = kShortest; bytes <= kLongest; bytes *= 2) {
    const bool carries = asked.carries(asked.operation(kind, bytes));
    is_any_carried = is_any_carried || carries;
    if (carries && begin == 0) begin = bytes;
    if (!carries && begin != 0) end_at(bytes / 2);
  }
  if (begin != 0) end_at(kLongest);
  if (!is_any_carried) return fmt::format("no {}", to_string(kind));
  return ranges.empty() ? "" : fmt::format("{}{}", to_string(kind), fmt::join(ranges, " and"));
}

/// Names of what the reductions decline, with other elements or functions.
std::string declined_text(const auto& all, const auto& is_carried) {
  std::vector<std::string_view> names;
  for (const auto value : all)
    if (!is_carried(value))
      names.push_back(to_string(value) == "user" ? "the program's own" : to_string(value));
  return fmt::format("{}", fmt::join(names, ", "));
}

bool is_same(const Fold& a, const Fold& b) {
  if (a.parent != b.parent || a.children() != b.children()) return false;
  for (std::size_t i = 0; i < a.children(); ++i)
    if (a.child(i) != b.child(i)) return false;
  return true;
}

/// True if both combine the contributions of all ranks in the same order.
bool is_same_order(const Asked& a, const Asked& b, const Operation& operation) {
  for (int rank = 0; rank < operation.ranks; ++rank) {
    const auto one = a.order(operation, rank);
    const auto other = b.order(operation, rank);
    if (!one || !other || one->index() != other->index()) return false;
    const Fold* const fold = std::get_if<Fold>(&*one);
    if (fold != nullptr && !is_same(*fold, std::get<Fold>(*other))) return false;
    if (fold == nullptr && std::get<Ring>(*one).pass != std::get<Ring>(*other).pass) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> Advisor::production_limits() const {
  using enum ElementType;
  using enum ReduceFunction;
  constexpr std::array kElements = {kInt8,   kInt16,  kInt32,   kInt64,   kUint8,         kUint16,
                                    kUint32, kUint64, kFloat32, kFloat64, kFloatExtended, kComplex};
  constexpr std::array kOfDoubles = {kSum, kProduct, kMaximum, kMinimum, kUser};
  const Candidate* const best = best_hardware();
  const auto hardware = best == nullptr ? failure("none counts") : setting_of(*best->description);
  const auto host = setting_of(baseline_);
  if (!hardware || !host) return {};
  const Asked asked(*hardware, source_.ranks);
  OperationSet kinds = {};
  for (const std::string& function : best->result->functions) {
    const std::string name = in_lower_case(function).substr(std::string_view("MPI_").size());
    auto kind = kind_of_function(name);
    if (!kind && name.starts_with('i')) kind = kind_of_function(name.substr(1));
    if (kind) kinds = kinds | OperationSet{*kind};
  }
  std::vector<std::string> limits;
  std::vector<std::string> sizes;
  std::optional<Operation> reduction;  // carried: what the other questions are about
  for (std::size_t i = 0; i < static_cast<std::size_t>(OperationKind::kCount); ++i) {
    const auto kind = static_cast<OperationKind>(i);
    if (!kinds.contains(kind) || has_blocks_of_different_sizes(kind)) continue;
    if (std::string text = sizes_text(asked, kind); !text.empty()) sizes.push_back(std::move(text));
    const std::size_t bytes = reduces(kind) && !reduction ? shortest_carried(asked, kind) : 0;
    if (bytes > 0) reduction = asked.operation(kind, bytes);
  }
  if (!sizes.empty()) limits.push_back(fmt::format("sizes: it carries {}", fmt::join(sizes, ", ")));
  if (reduction) {
    const auto other = [&](ElementType element, ReduceFunction function) {
      return asked.carries(asked.operation(reduction->kind, reduction->bytes, element, function));
    };
    const std::string kind(to_string(reduction->kind));
    std::string text = declined_text(kElements, [&](ElementType one) { return other(one, kSum); });
    if (!text.empty()) limits.push_back(fmt::format("types: no {} of sums of {}", kind, text));
    text = declined_text(kOfDoubles, [&](ReduceFunction one) { return other(kFloat64, one); });
    if (!text.empty()) limits.push_back(fmt::format("functions: no {} of doubles with {}", kind, text));
    limits.push_back(is_same_order(asked, Asked(*host, source_.ranks), *reduction)
                         ? "reproducibility: sums have the bits that the plain NIC gives"
                         : "reproducibility: sums are combined in another order than over the plain NIC, so "
                           "their last bits may differ");
  }
  limits.emplace_back(
      hardware->backend.is_one_machine
          ? "other jobs: it is one machine, which jobs use one after the other"
          : "other jobs: offramp replay --job FILE shows how far two programs delay each other");
  limits.emplace_back("not in any model: failures of the hardware, encryption, and limits per user");
  return limits;
}

}  // namespace offramp
