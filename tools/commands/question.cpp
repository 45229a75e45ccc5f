// Names are parsed with the functions of the model, so MPI's spellings work everywhere. Elements are set last
// (set_elements()), because a sweep changes the size first. The host's settings serve for bands alone:
// setting.host stays null, since one operation that the hardware declines is an answer by itself.
#include "tools/commands/question.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>

#include "lib/base/text_format.hpp"

namespace offramp::tool {
namespace {

template <typename T, typename Parse>
T parse_name(const std::string& word, std::string_view what, int count, Parse parse) {
  if (const std::optional<T> value = parse(word)) return *value;
  std::vector<std::string_view> names;
  names.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) names.push_back(to_string(static_cast<T>(i)));
  throw Misuse{fmt::format("unknown {} {}{}", what, in_quotes(word), suggestion(word, names))};
}

/// MPI_Iallreduce is the nonblocking form of the same operation.
OperationKind parse_kind(const std::string& word) {
  const std::size_t letter = word.starts_with("MPI_") ? 4 : 0;
  if (!parse_operation(word) && letter < word.size() && (word[letter] == 'I' || word[letter] == 'i')) {
    const std::string blocking = word.substr(letter + 1);
    if (const std::optional<OperationKind> kind = parse_operation(blocking))
      throw Misuse{fmt::format("unknown operation {}; its time until completion is that of {}",
                               in_quotes(word), to_string(*kind))};
  }
  return parse_name<OperationKind>(word, "operation", static_cast<int>(OperationKind::kCount),
                                   parse_operation);
}

}  // namespace

QuestionOptions::QuestionOptions(CLI::App& app, Asked& asked) : asked_(asked), keys_(app, kWorldKeys) {
  add_backends(app, asked.backends);
  add_ranks(app, asked.ranks, "number of ranks")->capture_default_str();
  add_value(app, "--bytes", asked.bytes, "SIZE",
            "size of the message, or of one rank's block, such as 8, 64K, or 1MiB (powers of 1024)")
      ->capture_default_str();
  add_value(app, "--root", asked.root, "RANK",
            "the root; for send, the sender, whose message goes to the next rank")
      ->capture_default_str();
  add_value(app, "--type", asked.type, "TYPE",
            "element type (float64, double, MPI_DOUBLE); by default int32 for reductions, else byte");
  add_value(app, "--function", asked.function, "FUNCTION",
            "reduction function (max, maximum, MPI_MAX); by default sum");
}

std::string QuestionOptions::collect() {
  return keys_.collect(asked_.backends, asked_.overrides);
}

std::size_t parse_bytes(const std::string& text) {
  const std::optional<double> value = parse_quantity(text, "B");
  if (!value || *value < 0 || *value > 0x1p46 || *value != std::floor(*value))
    throw Misuse{fmt::format("{} is not a number of bytes; write 65536, 64K, or 1MiB (units: {})",
                             in_quotes(text), units_beside("B"))};
  return static_cast<std::size_t>(*value);
}

int parse_ranks(const std::string& text) {
  const std::optional<double> value = parse_quantity(text, "");
  if (!value || *value < 1 || *value > 1 << 20 || *value != std::floor(*value))
    throw Misuse{fmt::format("{} is not a number of ranks", in_quotes(text))};
  return static_cast<int>(*value);
}

Operation operation_of(const Asked& asked) {
  Operation operation;
  operation.kind = parse_kind(asked.operation);
  operation.element = reduces(operation.kind) ? ElementType::kInt32 : ElementType::kByte;
  if (!asked.type.empty())
    operation.element = parse_name<ElementType>(asked.type, "type", static_cast<int>(ElementType::kMixed) + 1,
                                                parse_element_type);
  if (!reduces(operation.kind) && !asked.function.empty())
    throw Misuse{fmt::format("a {} is not a reduction: it has no function", to_string(operation.kind))};
  if (reduces(operation.kind)) {
    operation.function = ReduceFunction::kSum;
    if (!asked.function.empty())
      operation.function = parse_name<ReduceFunction>(
          asked.function, "function", static_cast<int>(ReduceFunction::kUser) + 1, parse_reduce_function);
  }
  operation.ranks = asked.ranks;
  operation.root = has_root(operation.kind) ? asked.root : 0;
  const std::size_t bytes = parse_bytes(asked.bytes);
  operation.bytes = operation.kind == OperationKind::kBarrier ? 0 : bytes;
  return operation;
}

void set_elements(Operation& operation) {
  const std::size_t size = element_bytes(operation.element);
  if (operation.bytes % size != 0)
    throw Misuse{fmt::format("{} bytes are not a whole number of {} elements ({} bytes each)",
                             operation.bytes, to_string(operation.element), size)};
  operation.elements = operation.bytes / size;
}

ForecastSetting setting_of(const Setup& setup, const BackendDescription& backend, int ranks, bool check) {
  Result<Settings> settings = setup.configuration->settings_for(backend);
  if (!settings) throw Misuse{settings.error()};
  const MachineOptions& machine = setup.configuration->machine;
  if (const Result<void> fits = machine.fits(ranks); !fits) throw Misuse{fits.error()};
  ForecastSetting setting{backend, std::move(*settings), setup.configuration->faults, machine.layout(ranks)};
  setting.check = check;
  Result<Settings> host = setup.configuration->settings_for(setup.registry.baseline());
  if (!host) throw Misuse{host.error()};
  setting.host_settings = std::move(*host);  // for bands only: setting.host stays null
  set_network(setting, *setup.configuration, ranks);
  setting.stragglers = setup.configuration->stragglers;
  return setting;
}

}  // namespace offramp::tool
