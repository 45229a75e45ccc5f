// Between tiles that are not neighbours only the number of hops affects the time, so a message of the same
// size and distance is simulated once. compute_load() is arithmetic instead: it runs for each message, and
// counts what the message occupies rather than how long it takes.
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
                          Direction::kEast);  // only the length is used
  return connection;
}

MessageTiming Messages::simulate(int source, int destination, std::size_t bytes) const {
  const Connection way = connection(source, destination);
  return run_message(setup_.timing, way, chunks(bytes), setup_.copies,
                     setup_.host_data ? &setup_.host : nullptr, way.shared ? 0 : kHeaderWords);
}

Messages::Load Messages::compute_load(std::size_t bytes) const {
  const Timing& timing = setup_.timing;
  const Costs& costs = timing.costs();
  const Chunks cut = chunks(bytes);
  const int ends = setup_.host_data ? 2 : 1;  // of windows that a kernel acquires and releases
  const auto windows = static_cast<std::int64_t>(cut.count());
  return {.windows = cut.count(),
          .window = cut.window,
          .core = timing.cycles(costs.call_head) + timing.copy(setup_.copies, cut.bytes, true) +
                  timing.cycles((costs.acquire_single + costs.release) * ends) * windows,
          .stream = timing.stream(cut.window, kHeaderWords) * windows};
}

const MessageTiming& Messages::between(int source, int destination, std::size_t bytes) {
  const bool shared = std::abs(source - destination) == 1;
  const int hops =
      shared ? 0 : distance(snake_tile(setup_.array, source), snake_tile(setup_.array, destination));
  return messages_.get({bytes, hops}, [&] { return simulate(source, destination, bytes); });
}

}  // namespace offramp::aie
