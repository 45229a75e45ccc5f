// The life of a message: carry() finds its route; begin_next() cuts off a train once the previous one has
// passed the first link; approach() schedules the train at its next link; step() sends it over that link;
// end() collects trains until the message is complete. A link is only the time at which it is next idle, not
// a queue: the world calls step() in order of time, so trains come in order.
#include "simulators/network/trains.hpp"

#include <algorithm>
#include <utility>

#include "offramp/kernel/prefetch.hpp"

namespace offramp {
namespace {

/// The share of `span` that corresponds to `bytes` of `all`.
Time part(Time span, std::size_t bytes, std::size_t all) {
  if (bytes == 0) return {};
  // The product of picoseconds and bytes can exceed 64 bits.
  const auto exact = static_cast<detail::Wide>(span.count()) * static_cast<detail::Wide>(bytes);
  return Time::ps(static_cast<std::int64_t>(exact / static_cast<detail::Wide>(all)));
}

}  // namespace

TrainNetwork::TrainNetwork(NetworkSetting setting) : RoutedNetwork(std::move(setting)) {}

void TrainNetwork::carry(const Parcel& parcel, NetworkWorld& world) {
  Parcel slowed = parcel;
  Passing& message = passing_.acquire();
  const PathLatency path = this->path(slowed, message.route);
  if (message.route.empty()) {
    passing_.release(message);
    return pass(slowed, path, world);
  }
  message.parcel = slowed;
  message.begun = message.there = 0;
  message.alone =
      later(slowed.left, slowed.leaves + serial(slowest(message.route), slowed.bytes)) + path.latency;
  message.apart = path.apart;
  begin_next(message, world);
}

Time TrainNetwork::serial(Bandwidth rate, std::size_t bytes) {
  const auto trains = static_cast<std::int64_t>(bytes / kTrainBytes);
  const Time rest = rate.bytes(static_cast<std::int64_t>(bytes % kTrainBytes));
  return trains > 0 ? rate.bytes(kTrainBytes) * trains + rest : rest;
}

/// The train arrives at the first link as the sender's port releases it.
void TrainNetwork::begin_next(Passing& message, NetworkWorld& world) {
  const Parcel& parcel = message.parcel;
  const std::size_t bytes = std::min(kTrainBytes, parcel.bytes - message.begun);
  const Time span = parcel.left - parcel.leaves;
  const Time first = parcel.leaves + part(span, message.begun, parcel.bytes);
  message.begun += bytes;
  const bool is_last = message.begun == parcel.bytes;
  const Time last = is_last ? parcel.left : parcel.leaves + part(span, message.begun, parcel.bytes);
  Train& train = trains_.acquire();
  train = {&message, static_cast<std::uint32_t>(bytes), is_last, 0, 0, Time(), first, last};
  approach(train, world);
}

void TrainNetwork::approach(Train& train, NetworkWorld& world) {
  train.link = train.message->route[train.hop];
  train.taken = rate(train.link).bytes(train.bytes);
  world.call(later(world.now(), whole(train)), train.message->parcel, &train);
}

void TrainNetwork::prefetch(const void* what) const {
  const Train& train = *static_cast<const Train*>(what);
  fetch_ahead(train.message, sizeof(Passing));
  fetch_line(&carried(train.link));
}

void TrainNetwork::step(void* what, NetworkWorld& world) {
  Train& train = *static_cast<Train*>(what);
  Passing& message = *train.message;
  Carried& use = carried(train.link);
  const Time taken = train.taken;
  const Time asked = whole(train);
  const Time start = later(asked, use.free);
  const Time waited = start - asked;
  use.free = start + taken;
  if (taken > Time()) world.carries(train.link, start, start + taken, rate(train.link));
  use.busy += taken;
  use.bytes += train.bytes;
  if (train.is_last) {
    use.waited += waited;
    use.longest = later(use.longest, waited);
  }
  if (train.hop == 0 && message.begun < message.parcel.bytes) begin_next(message, world);
  train.first += waited + latency(train.link);
  train.last = start + taken + latency(train.link);
  if (++train.hop < message.route.size()) return approach(train, world);
  end(train, world);
}

void TrainNetwork::end(Train& train, NetworkWorld& world) {
  Passing& message = *train.message;
  if (message.there == 0) message.first = train.first;
  message.there += train.bytes;
  const Time last = train.last + message.apart;
  trains_.release(train);
  if (message.there < message.parcel.bytes) return;
  const Time latency = message.parcel.latency;
  world.arrived(message.parcel, message.first + message.apart + latency, last + latency,
                later(last - message.alone, {}));
  passing_.release(message);
}

}  // namespace offramp
