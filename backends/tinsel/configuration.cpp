// Software costs are counts of instructions. A thread executes one instruction per pass of the pipeline;
// work() divides them among the rank's threads, up to the 32 that fill four cores. If the ranks do not fit
// the boards, the object is complete but `fits` is false. Counts for types in software are assumed.
#include "backends/tinsel/configuration.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace offramp::tinsel {
namespace {

constexpr int kMostWorkers = 32;  // four cores with eight instructions in flight

Layout layout_named(const std::string& name, int ranks) {
  if (name == "spread") return layout_of(Policy::kSpread);
  if (name == "apart") return layout_of(Policy::kApart);
  if (name == "per_core") return layout_of(Policy::kPerCore);
  return name == "dense" ? layout_of(Policy::kDense) : roomiest(ranks);
}

/// Instructions per element: load both, operate, store. Threads have single precision and 32-bit integers;
/// wider types are in software (counts assumed).
std::uint64_t instructions_for(ElementType element) {
  switch (element) {
    case ElementType::kInt64:
    case ElementType::kUint64:
      return 10;
    case ElementType::kFloat64:
      return 60;
    case ElementType::kFloatExtended:
      return 200;
    case ElementType::kComplex:
      return 120;
    case ElementType::kPair:
    case ElementType::kMixed:
      return 20;
    default:
      return 4;
  }
}

}  // namespace

Configuration::Configuration(const Settings& settings, int world_ranks)
    : ranks(world_ranks), layout(layout_named(settings.choice("placement"), world_ranks)) {
  const std::string& shape = settings.choice("mesh");
  const auto smallest = smallest_mesh(ranks, layout);
  // If nothing fits, the largest machine shows by how much.
  machine.mesh = smallest.value_or(Mesh{kMaximumColumns, kMaximumRows});
  if (shape != "auto") machine.mesh = {shape[0] - '0', shape[2] - '0'};
  const int room = machine.mesh.boards() * layout.per_board;
  fits = ranks <= room;
  too_many = fmt::format("{} boards hold {} ranks with this placement, but the program has {}",
                         machine.mesh.boards(), room, ranks);
  ParameterRows rows(settings);
  describe(rows, *this);
  // Executed by one thread: one instruction per pass of the pipeline.
  const auto thread = [&](const char* name) {
    return machine.cycles(settings.integer(name) * software.pipeline);
  };
  send_call = thread("send_call");
  receive_call = thread("receive_call");
  wake = thread("wake");
}

Time Configuration::work(std::uint64_t instructions) const {
  const auto team = static_cast<std::uint64_t>(std::min(workers(), kMostWorkers));
  const std::uint64_t cycles =
      // Rounded up: the slowest thread decides.
      (instructions * static_cast<std::uint64_t>(software.pipeline) + team - 1) / team;
  return machine.cycles(static_cast<std::int64_t>(cycles));
}

Time Configuration::copy(std::uint64_t bytes) const {
  return work((bytes + 3) / 4 * static_cast<std::uint64_t>(software.copy_word));
}

Time Configuration::combine(const Operation& operation, std::uint64_t bytes) const {
  // A barrier combines no data.
  if (operation.bytes == 0) return {};
  const std::uint64_t size =
      std::max<std::uint64_t>(1, operation.bytes / std::max<std::size_t>(1, operation.elements));
  return work(bytes / size * instructions_for(operation.element));
}

}  // namespace offramp::tinsel
