// Memory banks. Published: two neighbours of a module together serve an access of 256 bits, one per cycle.
// The tools' placement of buffers in them is not published. Assumed here: a kernel's data begins at the start
// of its module, and each buffer is where the fewest others are in use at the same time.
#include <algorithm>
#include <array>
#include <tuple>

#include "simulators/aie/plan.hpp"

namespace offramp::aie {
namespace {

/// First and second buffers of windows, which kernels use alternately.
enum Phase : std::size_t { kPing, kPong, kPhases };

/// Double banks, numbered across all modules.
/// Counts how much of each double bank is free, and how many buffers it has.
class Banks {
 public:
  explicit Banks(const ArraySpec& array)
      : each_(array.double_banks()), free_(at(array.tiles() * each_), array.memory_bytes / each_) {
    used_.fill(std::vector<int>(free_.size(), 0));
  }

  /// Reserves space after the module's earlier allocations.
  void reserve(int module, int bytes) { fill(first_free(module), (module + 1) * each_, bytes); }
  /// Reserves space for data. Returns its first bank.
  int place_data(int module, int bytes) {
    const int bank = first_free(module);
    reserve(module, bytes);
    for (std::vector<int>& used : used_) ++used[at(bank)];
    return bank;
  }
  int place_buffer(int module, int bytes, Phase phase) {
    // In this order: room, buffers of the same phase, of the other phase, free space.
    const auto crowd = [&](int bank) {
      return std::tuple(free_[at(bank)] < bytes, used_[phase][at(bank)], used_[1 - phase][at(bank)],
                        -free_[at(bank)]);
    };
    int best = module * each_;
    for (int bank = best + 1; bank < (module + 1) * each_; ++bank) {
      if (crowd(bank) < crowd(best)) best = bank;
    }
    ++used_[phase][at(best)];
    // What exceeds the bank continues in others of its module.
    fill(module * each_, (module + 1) * each_, bytes - occupy(best, bytes));
    return best;
  }

 private:
  [[nodiscard]] int first_free(int module) const {
    int bank = module * each_;
    while (bank + 1 < (module + 1) * each_ && free_[at(bank)] == 0) ++bank;
    return bank;
  }
  void fill(int begin, int end, int bytes) {
    for (int bank = begin; bank < end && bytes > 0; ++bank) bytes -= occupy(bank, bytes);
  }
  int occupy(int bank, int bytes) {
    const int taken = std::min(bytes, free_[at(bank)]);
    free_[at(bank)] -= taken;
    return taken;
  }

  int each_;
  std::vector<int> free_;
  std::array<std::vector<int>, kPhases> used_;
};

/// The double banks that a kernel's step accesses, by phase.
using Step = std::array<std::vector<int>, kPhases>;

// The number of accesses to the busiest bank. Sorts the list.
int most_alike(std::vector<int>& banks) {
  std::sort(banks.begin(), banks.end());
  std::ptrdiff_t most = 1;
  for (auto i = banks.begin(); i != banks.end();) {
    const auto end = std::upper_bound(i, banks.end(), *i);
    most = std::max(most, end - i);
    i = end;
  }
  return static_cast<int>(most);
}

}  // namespace

void count_meeting(const ArraySpec& array, const Graph& graph, Plan& plan) {
  Banks banks(array);
  std::vector<Step> steps(at(graph.kernels));
  std::vector<bool> has_kernel(at(array.tiles()));
  for (int kernel = 0; kernel < graph.kernels; ++kernel) {
    const int own = array.index(plan.tiles[at(kernel)]);
    has_kernel[at(own)] = true;
    banks.reserve(own, array.own_bytes());
    if (graph.data_bytes == 0) continue;
    const int data = banks.place_data(own, graph.data_bytes);
    for (std::vector<int>& phase : steps[at(kernel)]) phase.push_back(data);
  }
  // Modules without a kernel still have the program's own data.
  for (int tile = 0; tile < array.tiles(); ++tile) {
    if (!has_kernel[at(tile)]) banks.reserve(tile, array.user_bytes);
  }
  const auto place = [&](Tile module, std::initializer_list<int> kernels) {
    for (const Phase phase : {kPing, kPong}) {
      const int bank = banks.place_buffer(array.index(module), graph.window_bytes, phase);
      for (const int kernel : kernels) steps[at(kernel)][phase].push_back(bank);
    }
  };
  for (std::size_t i = 0; i < graph.to_host.size(); ++i) place(plan.to_host[i], {graph.to_host[i]});
  for (std::size_t i = 0; i < graph.from_host.size(); ++i) place(plan.from_host[i], {graph.from_host[i]});
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    const Connection& connection = plan.connections[i];
    const Edge edge = graph.edges[i];
    if (connection.shared) {
      place(connection.source, {edge.from, edge.to});
      continue;
    }
    if (!graph.multicast || i == 0) place(connection.source, {edge.from});
    place(connection.target, {edge.to});
  }
  plan.meeting.clear();
  for (Step& step : steps) plan.meeting.push_back(std::max(most_alike(step[kPing]), most_alike(step[kPong])));
}

}  // namespace offramp::aie
