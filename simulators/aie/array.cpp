// The geometry on which plans depend. A core reaches four modules, fewer at the border, and the side of the
// fourth alternates with the row. Two kernels can share a window only in a module that both reach
// (common_modules()).
#include "simulators/aie/array.hpp"

#include <cstdlib>

namespace offramp::aie {

std::string_view to_string(Direction direction) {
  static constexpr std::array<std::string_view, 4> kNames = {"east", "west", "north", "south"};
  return kNames[static_cast<std::size_t>(direction)];
}

// Six channels northward, four in each other direction [am009].
int ArraySpec::channels(Direction direction) const {
  return direction == Direction::kNorth ? 6 : 4;
}

std::string ArraySpec::reserved() const {
  std::string text =
      std::to_string(stack_bytes + heap_bytes + sync_bytes) + " B of stack, heap and synchronisation";
  if (user_bytes > 0) text += " and " + std::to_string(user_bytes) + " B of the program's kernels";
  return text;
}

bool Modules::has(Tile tile) const {
  return std::find(begin(), end(), tile) != end();
}

Modules reachable_modules(const ArraySpec& array, Tile core) {
  // The modules of a row are all on one side of their cores.
  const int sideways = core.row % 2 == 0 ? core.column - 1 : core.column + 1;
  Modules modules;
  for (const Tile tile :
       {core, Tile{core.column, core.row - 1}, Tile{core.column, core.row + 1}, Tile{sideways, core.row}}) {
    if (array.contains(tile)) modules.add(tile);
  }
  return modules;
}

Modules common_modules(const ArraySpec& array, Tile a, Tile b) {
  const Modules others = reachable_modules(array, b);
  Modules common;
  for (const Tile tile : reachable_modules(array, a)) {
    if (others.has(tile)) common.add(tile);
  }
  return common;
}

int distance(Tile a, Tile b) {
  return std::abs(a.column - b.column) + std::abs(a.row - b.row);
}

Tile neighbour(Tile tile, Direction direction) {
  switch (direction) {
    case Direction::kEast:
      return {tile.column + 1, tile.row};
    case Direction::kWest:
      return {tile.column - 1, tile.row};
    case Direction::kNorth:
      return {tile.column, tile.row + 1};
    default:
      return {tile.column, tile.row - 1};
  }
}

}  // namespace offramp::aie
