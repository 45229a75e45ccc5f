// What limits the best hardware in production. Its model is asked about the program's most frequent operation
// of each kind: with other sizes, elements, and functions (supports()), and on other nodes (order()). So no
// limit differs from what the model does. What no model covers is named as such.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <variant>

#include "lib/answers/advice/advice.hpp"
#include "lib/base/format.hpp"
#include "lib/base/registry/registry.hpp"

namespace offramp {
namespace {

class Member final : public TeamMembers {
 public:
  Member(int rank, int size) : TeamMembers(rank, size) {}
};

Operation of_size(Operation operation, std::size_t bytes) {
  if (operation.kind == OperationKind::kBarrier) return operation;
  operation.bytes = bytes;
  if (reduces(operation.kind)) operation.elements = bytes / element_bytes(operation.element);
  return operation;
}

constexpr std::size_t kShortest = 8;
constexpr std::size_t kLongest = std::size_t{1} << 30;

/// "allreduce to 4 KiB and from 16 KiB on"; "no gather". Empty if all powers of 2 between the limits are
/// carried.
std::string sizes_text(const Backend& hardware, const Operation& operation) {
  std::vector<std::string> ranges;
  std::size_t begin = 0;  // of the range; 0: not in one
  bool is_any_declined = false;
  for (std::size_t bytes = kShortest; bytes <= 2 * kLongest; bytes *= 2) {
    const bool is_end = bytes > kLongest;
    const bool carries = !is_end && hardware.supports(of_size(operation, bytes)).yes();
    is_any_declined = is_any_declined || (!carries && !is_end);
    if (carries && begin == 0) begin = bytes;
    if (carries || begin == 0) continue;
    const std::string from =
        begin > kShortest ? " from " + bytes_text(static_cast<std::uint64_t>(begin)) : std::string();
    ranges.push_back(from + (is_end ? " on" : " to " + bytes_text(static_cast<std::uint64_t>(bytes / 2))));
    begin = 0;
  }
  if (!is_any_declined) return {};
  const std::string_view kind = to_string(operation.kind);
  return ranges.empty() ? fmt::format("no {}", kind) : fmt::format("{}{}", kind, fmt::join(ranges, " and"));
}

/// Names of the elements with which the reduction is declined.
std::string declined_elements(const Backend& hardware, Operation operation) {
  std::vector<std::string_view> names;
  for (int i = static_cast<int>(ElementType::kInt8); i <= static_cast<int>(ElementType::kComplex); ++i) {
    operation.element = static_cast<ElementType>(i);
    operation.elements = operation.bytes / element_bytes(operation.element);
    if (!hardware.supports(operation).yes()) names.push_back(to_string(operation.element));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Names of the functions with which the reduction is declined, of those that its elements have.
std::string declined_functions(const Backend& hardware, Operation operation) {
  std::vector<std::string_view> names;
  for (int i = static_cast<int>(ReduceFunction::kSum); i <= static_cast<int>(ReduceFunction::kBitXor); ++i) {
    operation.function = static_cast<ReduceFunction>(i);
    if (!is_integer(operation.element) && (is_logical(operation.function) || is_bitwise(operation.function)))
      continue;
    if (!hardware.supports(operation).yes()) names.push_back(to_string(operation.function));
  }
  operation.function = ReduceFunction::kUser;
  if (!hardware.supports(operation).yes()) names.emplace_back("functions of the program");
  return fmt::format("{}", fmt::join(names, ", "));
}

bool is_same(const Fold& a, const Fold& b) {
  if (a.parent != b.parent || a.children() != b.children()) return false;
  for (std::size_t i = 0; i < a.children(); ++i)
    if (a.child(i) != b.child(i)) return false;
  return true;
}

/// Where the bits of a sum come from. elsewhere: the same hardware with the ranks on other nodes.
std::string order_text(Backend& hardware, Backend& elsewhere, const Operation& operation) {
  for (int rank = 0; rank < operation.ranks; ++rank) {
    const auto here = hardware.order(operation, Member(rank, operation.ranks));
    const auto there = elsewhere.order(operation, Member(rank, operation.ranks));
    if (!here || !there) return "the host's software combines, as over the plain NIC";
    const Fold* const fold = std::get_if<Fold>(&*here);
    const Fold* const other = std::get_if<Fold>(&*there);
    if ((fold == nullptr) != (other == nullptr) || (fold != nullptr && !is_same(*fold, *other)))
      return "the order of sums, and with it their last bits, changes with the nodes of the ranks";
  }
  return "the hardware has an order of sums of its own, which does not depend on the nodes of the ranks";
}

std::string value_text(const BackendDescription& backend, const Settings& settings,
                       const Parameter& parameter) {
  const std::string name(parameter.name);
  if (parameter.kind == ParameterKind::kChoice) return settings.choice(name);
  if (parameter.kind == ParameterKind::kBoolean) return settings.flag(name) ? "true" : "false";
  return in_unit(fmt::format("{:g}", value_in_force(backend, settings, parameter)), parameter.unit);
}

}  // namespace

void Advisor::find_production_limits() {
  const Candidate* const best = best_hardware();
  if (best == nullptr || !may_go_on("limits in production")) return;
  const BackendDescription& backend = *best->description;
  Configuration moved = equal_links_;
  moved.machine.ranks_per_node = moved.machine.layout(source_.ranks).ranks_per_node > 1 ? 1 : 2;
  moved.machine.nodes = 0;
  const Result<WorldSetting> setting = setting_of(backend);
  const Result<WorldSetting> other = world_setting(moved, registry_, backend, source_.ranks);
  if (!setting || !other) return;
  const std::unique_ptr<Backend> hardware = asked_backend(*setting, source_.ranks);
  const std::unique_ptr<Backend> elsewhere = asked_backend(*other, source_.ranks);
  read_traffic();
  std::vector<std::string> sizes;
  std::optional<Operation> reduction;  // that is carried
  OperationSet seen = {};
  for (const Traffic& traffic : traffic_) {
    Operation operation = traffic.operation;
    if (operation.kind == OperationKind::kSend) operation.ranks = 2;  // as a run asks
    if (!reduction && reduces(operation.kind) && hardware->supports(operation).yes()) reduction = operation;
    if (seen.contains(operation.kind) || has_blocks_of_different_sizes(operation.kind)) continue;
    seen = seen | OperationSet{operation.kind};
    if (std::string text = sizes_text(*hardware, operation); !text.empty()) sizes.push_back(std::move(text));
  }
  std::vector<std::string>& limits = production_limits_;
  if (!sizes.empty()) limits.push_back(fmt::format("sizes: it carries {}", fmt::join(sizes, ", ")));
  if (reduction) {
    const std::string_view kind = to_string(reduction->kind);
    if (const std::string names = declined_elements(*hardware, *reduction); !names.empty())
      limits.push_back(
          fmt::format("types: no {} with {} of {}", kind, to_string(reduction->function), names));
    if (const std::string names = declined_functions(*hardware, *reduction); !names.empty())
      limits.push_back(
          fmt::format("functions: no {} of {} with {}", kind, to_string(reduction->element), names));
    limits.push_back("reproducibility: " + order_text(*hardware, *elsewhere, *reduction));
  }
  for (const std::string_view name : backend.in_production) {
    const Parameter* const parameter = find_parameter(backend.parameters, name);
    if (parameter != nullptr)
      limits.push_back(fmt::format("{}.{} = {}: {}", backend.name, name,
                                   value_text(backend, setting->settings, *parameter),
                                   parameter->description));
  }
  limits.emplace_back("other jobs: offramp replay --job FILE shows how far two programs delay each other");
  limits.emplace_back("not in any model: devices that fail, encryption, and limits per user");
}

}  // namespace offramp
