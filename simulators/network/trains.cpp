#include "simulators/network/trains.hpp"

#include <algorithm>
#include <utility>

namespace offramp {
namespace {

/// bytes of all, as a part of a span.
Time part(Time span, std::size_t bytes, std::size_t all) {
  if (all == 0) return {};
  const auto exact = static_cast<detail::Wide>(span.count()) * static_cast<detail::Wide>(bytes);
  return Time::ps(static_cast<std::int64_t>(exact / static_cast<detail::Wide>(all)));
}

}  // namespace

TrainNetwork::TrainNetwork(NetworkSetting setting) : RoutedNetwork(std::move(setting)), free_(size()) {}

void TrainNetwork::carry(const Parcel& parcel, NetworkWorld& world) {
  Parcel slowed = parcel;
  Way way = this->way(slowed);
  if (way.links.empty()) return pass(slowed, way, world);
  const Time alone =
      later(slowed.left, slowed.leaves + serial(slowest(way.links), slowed.bytes)) + way.latency;
  begin_next(
      passing_.take(slowed, std::move(way.links), std::size_t{0}, std::size_t{0}, Time(), alone, way.apart),
      world);
}

Time TrainNetwork::serial(Bandwidth rate, std::size_t bytes) {
  const auto trains = static_cast<std::int64_t>(bytes / kTrainBytes);
  return rate.bytes(kTrainBytes) * trains + rate.bytes(static_cast<std::int64_t>(bytes % kTrainBytes));
}

/// A train comes to the first link as the sender's port lets it go.
void TrainNetwork::begin_next(Passing& message, NetworkWorld& world) {
  const Parcel& parcel = message.parcel;
  const std::size_t bytes = std::min(kTrainBytes, parcel.bytes - message.begun);
  const Time span = parcel.left - parcel.leaves;
  const Time first = parcel.leaves + part(span, message.begun, parcel.bytes);
  message.begun += bytes;
  const bool is_last = message.begun == parcel.bytes;
  const Time last = is_last ? parcel.left : parcel.leaves + part(span, message.begun, parcel.bytes);
  Train& train = trains_.take(&message, bytes, is_last, std::size_t{0}, first, last);
  approach(train, world);
}

Time TrainNetwork::whole(const Train& train, Time taken) {
  return later(train.first, train.last - taken);
}

void TrainNetwork::approach(Train& train, NetworkWorld& world) {
  world.call(later(world.now(), whole(train, taken_by(train))), train.message->parcel, &train);
}

void TrainNetwork::step(void* what, NetworkWorld& world) {
  Train& train = *static_cast<Train*>(what);
  Passing& message = *train.message;
  const std::size_t link = message.route[train.hop];
  const Time taken = taken_by(train);
  const Time asked = whole(train, taken);
  const Time start = later(asked, free_[link]);
  const Time waited = start - asked;
  free_[link] = start + taken;
  if (taken > Time()) world.carries(link, start, start + taken, rate(link));
  Carried& use = carried(link);
  use.busy += taken;
  use.bytes += train.bytes;
  if (train.is_last) {
    use.waited += waited;
    use.longest = later(use.longest, waited);
  }
  if (train.hop == 0 && message.begun < message.parcel.bytes) begin_next(message, world);
  train.first += waited + latency(link);
  train.last = start + taken + latency(link);
  if (++train.hop < message.route.size()) return approach(train, world);
  end(train, world);
}

void TrainNetwork::end(Train& train, NetworkWorld& world) {
  Passing& message = *train.message;
  if (message.there == 0) message.first = train.first;
  message.there += train.bytes;
  const Time last = train.last + message.apart;
  trains_.give_back(train);
  if (message.there < message.parcel.bytes) return;
  const Time latency = message.parcel.latency;
  world.arrived(message.parcel, message.first + message.apart + latency, last + latency,
                later(last - message.alone, {}));
  passing_.give_back(message);
}

}  // namespace offramp
