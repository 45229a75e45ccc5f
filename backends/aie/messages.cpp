#include "backends/aie/messages.hpp"

#include <cstdlib>

namespace offramp::aie {

Connection Messages::connection(int source, int destination) const {
  Connection connection;
  connection.shared = std::abs(source - destination) == 1;
  if (connection.shared) return connection;
  connection.source = snake_tile(setup_.array, source);
  connection.target = snake_tile(setup_.array, destination);
  connection.route.assign(static_cast<std::size_t>(distance(connection.source, connection.target)),
                          Direction::kEast);  // only their number counts
  return connection;
}

Message Messages::simulate(int source, int destination, std::size_t bytes) const {
  const Connection way = connection(source, destination);
  const std::size_t carried = bytes == 0 ? 1 : bytes;  // an empty message is a window with nothing in it
  return run_message(setup_.timing, way, {carried, window(bytes)}, setup_.copies,
                     setup_.host_data ? &setup_.host : nullptr, way.shared ? 0 : 1);
}

const Message& Messages::between(int source, int destination, std::size_t bytes) {
  const bool shared = std::abs(source - destination) == 1;
  const int hops =
      shared ? 0 : distance(snake_tile(setup_.array, source), snake_tile(setup_.array, destination));
  return messages_.get({bytes, hops}, [&] { return simulate(source, destination, bytes); });
}

}  // namespace offramp::aie
