// Routes between boards are in dimension order. A flit costs its share of a full packet with the packet's
// overhead and gap, rounded up, so a full packet costs the link's time for it.
#include "simulators/tinsel/spec.hpp"

#include <cstdlib>

namespace offramp::tinsel {

int Mesh::neighbour(int board, Direction direction) const {
  const int to_x = x(board) + (direction == Direction::kEast ? 1 : direction == Direction::kWest ? -1 : 0);
  const int to_y = y(board) + (direction == Direction::kNorth ? 1 : direction == Direction::kSouth ? -1 : 0);
  return has(to_x, to_y) ? at(to_x, to_y) : -1;
}

int Mesh::distance(int a, int b) const {
  return std::abs(x(a) - x(b)) + std::abs(y(a) - y(b));
}

Direction first_step(const Mesh& mesh, int from, int to, DimensionOrder order) {
  const int dx = mesh.x(to) - mesh.x(from);
  const int dy = mesh.y(to) - mesh.y(from);
  const bool along_y = order == DimensionOrder::kYFirst ? dy != 0 : dx == 0;
  if (along_y) return dy > 0 ? Direction::kNorth : Direction::kSouth;
  return dx > 0 ? Direction::kEast : Direction::kWest;
}

Time MachineSpec::link_flit() const {
  // Flits cross packet boundaries, so a flit costs its share of a full packet.
  const Time packet = link.bytes(packet_bytes + packet_overhead) + cycles(packet_gap_cycles);
  return Time::ps((packet.count() * flit_link_bytes + packet_bytes - 1) / packet_bytes);
}

}  // namespace offramp::tinsel
