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
  Route links = route(parcel.source, parcel.destination, parcel.number);
  if (links.empty()) return pass(parcel, world);
  const Time alone = later(parcel.left, parcel.leaves + serial(parcel.bytes)) +
                     hop() * static_cast<std::int64_t>(links.size());
  begin_next(passing_.take(parcel, std::move(links), std::size_t{0}, std::size_t{0}, Time(), alone), world);
}

Time TrainNetwork::serial(std::size_t bytes) const {
  const auto trains = static_cast<std::int64_t>(bytes / kTrainBytes);
  return rate().bytes(kTrainBytes) * trains + rate().bytes(static_cast<std::int64_t>(bytes % kTrainBytes));
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

Time TrainNetwork::whole(const Train& train) const {
  return later(train.first, train.last - rate().bytes(static_cast<std::int64_t>(train.bytes)));
}

void TrainNetwork::approach(Train& train, NetworkWorld& world) {
  world.call(later(world.now(), whole(train)), train.message->parcel, &train);
}

void TrainNetwork::step(void* what, NetworkWorld& world) {
  Train& train = *static_cast<Train*>(what);
  Passing& message = *train.message;
  const std::size_t link = message.route[train.hop];
  const Time asked = whole(train);
  const Time taken = rate().bytes(static_cast<std::int64_t>(train.bytes));
  const Time start = later(asked, free_[link]);
  const Time waited = start - asked;
  free_[link] = start + taken;
  if (taken > Time()) world.carries(link, start, start + taken, rate());
  Carried& use = carried(link);
  use.busy += taken;
  use.bytes += train.bytes;
  if (train.is_last) {
    use.waited += waited;
    use.longest = later(use.longest, waited);
  }
  if (train.hop == 0 && message.begun < message.parcel.bytes) begin_next(message, world);
  train.first += waited + hop();
  train.last = start + taken + hop();
  if (++train.hop < message.route.size()) return approach(train, world);
  end(train, world);
}

void TrainNetwork::end(Train& train, NetworkWorld& world) {
  Passing& message = *train.message;
  if (message.there == 0) message.first = train.first;
  message.there += train.bytes;
  const Time last = train.last;
  trains_.give_back(train);
  if (message.there < message.parcel.bytes) return;
  const Time latency = message.parcel.latency;
  world.arrived(message.parcel, message.first + latency, last + latency, later(last - message.alone, {}));
  passing_.give_back(message);
}

}  // namespace offramp
