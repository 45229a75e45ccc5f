// A table of values by rank that are created on first use, so that memory grows with the ranks in use and not
// with the size of the world.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace offramp {

/// Open addressing with the rank as its own hash: a table with all ranks behaves like an array. References
/// stay valid. for_each() visits values in the order of first use.
template <typename T>
class RankTable {
 public:
  /// The value of a rank (not negative), created on first use.
  T& operator[](int rank) {
    for (std::size_t slot = home(rank);; slot = next(slot)) {
      const Slot& known = slots_[slot];
      if (known.entry == nullptr) return insert(rank, slot);
      if (known.rank == rank) return known.entry->value;
    }
  }

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  template <typename Visitor>
  void for_each(Visitor visit) {
    for (const auto& entry : entries_) visit(entry->value);
  }
  template <typename Visitor>
  void for_each(Visitor visit) const {
    for (const auto& entry : entries_) visit(std::as_const(entry->value));
  }

 private:
  struct Entry {
    int rank = 0;
    T value{};
  };
  struct Slot {
    int rank = 0;  // copy of the entry's, so that a search stays within the slots
    Entry* entry = nullptr;
  };
  static constexpr std::size_t kFirstSlots = 8;  // a power of two, as are all sizes here

  [[nodiscard]] std::size_t home(int rank) const {
    return static_cast<std::size_t>(rank) & (slots_.size() - 1);
  }
  [[nodiscard]] std::size_t next(std::size_t slot) const { return (slot + 1) & (slots_.size() - 1); }

  [[gnu::noinline]] T& insert(int rank, std::size_t slot) {
    Entry& entry = *entries_.emplace_back(std::make_unique<Entry>());
    entry.rank = rank;
    slots_[slot] = {rank, &entry};
    if (entries_.size() == slots_.size()) grow();  // at least one slot stays empty, which ends a search
    return entry.value;
  }

  void grow() {
    slots_.assign(2 * slots_.size(), {});
    for (const auto& entry : entries_) {
      std::size_t slot = home(entry->rank);
      while (slots_[slot].entry != nullptr) slot = next(slot);
      slots_[slot] = {entry->rank, entry.get()};
    }
  }

  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<Slot> slots_ = std::vector<Slot>(kFirstSlots);
};

}  // namespace offramp
